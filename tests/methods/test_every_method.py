"""The common suite that every registered method passes, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from shardwise.comparing.compare import make_tables, run_procedure
from shardwise.comparing.comparisons import Comparisons
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.scores import as_scores
from shardwise.io.votes import Votes, Way
from shardwise.lab import trial
from shardwise.methods.judges.method import with_human
from shardwise.methods.method import Method
from shardwise.methods.names import DEFAULTS, Procedure, list_methods, list_procedures, parse_procedure
from shardwise.methods.pairs import JOINT
from shardwise.methods.tables import LAYOUTS, SPLITS, TABLE, Dims
from shardwise.methods.votes.scores import score_votes
from shardwise.writing.methods import find_source

METHODS = {method.name: method for method in list_methods()}
RESAMPLES = 499
SIZES = {"topic": 24, "system": 4, "shard": 3, "instance": 3, "split": 2}
CASES = [
    pytest.param(method, claim, dims, id=f"{name}-{claim.name}-{'-'.join(dims)}")
    for name, method in METHODS.items()
    for claim in method.claims
    for dims in method.layouts_for(claim)
]


@cache
def scores_of(dims: Dims, right_or_wrong: bool = False) -> xr.DataArray:
    """A table of a layout with some true differences; with right and wrong answers for tests of these."""
    rng = np.random.default_rng(17)
    shape = [SIZES[dim] for dim in dims]
    effects = np.linspace(0.0, 0.3, SIZES["system"]).reshape([-1 if d == "system" else 1 for d in dims])
    topics = rng.normal(0.0, 0.2, [SIZES["topic"] if d == "topic" else 1 for d in dims])
    values = 2.0 + effects + topics + rng.normal(0.0, 0.1, shape)
    if right_or_wrong:
        values = (values > np.median(values)).astype(float)
    names = {dim: [f"{dim}{k}" for k in range(SIZES[dim])] for dim in dims}
    return xr.DataArray(values, dims=dims, coords=names, name="score")


@cache
def scores_of_votes() -> xr.DataArray:
    """Strengths fitted to votes of 24 prompts and 12 voters, with some true differences."""
    rng = np.random.default_rng(5)
    n, systems = 600, SIZES["system"]
    first = rng.integers(0, systems, n)
    second = (first + rng.integers(1, systems, n)) % systems
    outcome = np.sign(np.round(0.4 * (first - second) + rng.logistic(0.0, 1.0, n)))
    names = tuple(f"system{k}" for k in range(systems))
    prompt = Way.of_labels((f"topic{k}" for k in rng.permutation(n) % SIZES["topic"]), "topic")
    voter = Way.of_labels((f"voter{k}" for k in rng.integers(0, 30, n)), "voter")
    return score_votes(Votes("votes", names, first, second, outcome, prompt, voter))["strength"].to_xarray()


def table_for(method: Method, dims: Dims) -> xr.DataArray:
    if method.uses_votes:
        return scores_of_votes()
    table = scores_of(dims, method.name == "mcnemar")
    return with_human(table, table.isel(topic=slice(0, 21))) if method.uses_people else table


def first_correction(method: Method, claim: sw.Claim) -> str:
    return next(name for name in method.corrections_for(claim) if name != "dunnett")


def compare_by(procedure: Procedure, table: xr.DataArray, **options: object) -> Comparisons:
    return run_procedure(procedure, as_scores(table), n_resamples=RESAMPLES, seed=3, **options)  # type: ignore[arg-type]


def by_pair(pairs: Comparisons) -> dict[frozenset[str], tuple[float, float]]:
    """|difference| and corrected p of each pair, whatever the order of systems."""
    frame = pairs.to_frame()
    rows = zip(frame["a"], frame["b"], frame["difference"], frame["p_adjusted"], strict=True)
    return {frozenset((a, b)): (abs(d), p) for a, b, d, p in rows}


def assert_same(pairs: Comparisons, others: Comparisons, scale: float = 1.0, *, drawn: bool) -> None:
    """Differences agree; p-values do too where nothing is drawn in an order that the change touches."""
    ours, theirs = by_pair(pairs), by_pair(others)
    assert ours.keys() == theirs.keys()
    for pair, (difference, p) in ours.items():
        assert theirs[pair][0] == pytest.approx(scale * difference, rel=1e-7, abs=1e-9)
        assert theirs[pair][1] == pytest.approx(p, rel=1e-5, abs=0.12 if drawn else 1e-6)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_facts_are_complete(method: Method) -> None:
    assert method.name
    assert method.title[:1].isalnum()
    assert method.claims
    assert method.default_claim in method.claims
    assert set(method.layouts) <= set(LAYOUTS)
    words = {
        f"{word}{end}": word
        for word in ("topic", "system", "instance", "shard", "split")
        for end in ("", "s")
    }
    assert method.reason.format(**words, resamples="99")
    for claim in method.claims:
        assert method.layouts_for(claim)
        for correction in method.corrections_for(claim):
            procedure = Procedure(method, correction, claim)
            assert parse_procedure(procedure.name) == procedure
            assert procedure.error_rate in ("family", "discovery", "pair")
            assert method.default_resamples(10) > 0
            for systems in (2, 5):
                clause = procedure.clause(systems)
                text = clause.text.format(**words, resamples="99")
                assert text
                assert not text.endswith(".")
                for key in clause.citations:
                    assert find_source(key).citation


@pytest.mark.parametrize(("method", "claim", "dims"), CASES)
def test_it_runs_on_each_layout_that_it_declares(method: Method, claim: sw.Claim, dims: Dims) -> None:
    pairs = compare_by(Procedure(method, first_correction(method, claim), claim), table_for(method, dims))
    assert len(pairs) == 6
    assert np.isfinite(pairs.difference).all()
    assert ((pairs.p_adjusted >= 0.0) & (pairs.p_adjusted <= 1.0)).all()
    assert list(pairs.means) == sorted(pairs.means, reverse=not pairs.lower_is_better)
    best, ranks, letters = pairs.best(), pairs.ranks(), pairs.letters()
    assert best == tuple(ranks.index[ranks["rank_best"] == 1])
    significant = {pair for pair, rejected in zip(by_pair(pairs), pairs.reject(), strict=True) if rejected}
    for a in pairs.names:
        for b in pairs.names:
            shared = set(letters.loc[a, "letters"]) & set(letters.loc[b, "letters"])
            assert bool(shared) == (frozenset((a, b)) not in significant or a == b)
    if pairs.has_comparison_intervals:
        bars = pairs.intervals(kind="comparison")
        assert (bars["lower"] <= bars["upper"]).all()


@pytest.mark.parametrize(("method", "claim", "dims"), CASES)
def test_nothing_depends_on_order_names_or_scale(method: Method, claim: sw.Claim, dims: Dims) -> None:
    procedure = Procedure(method, first_correction(method, claim), claim)
    table = table_for(method, dims)
    pairs = compare_by(procedure, table)
    drawn = procedure.draws
    turned = table.isel(topic=slice(None, None, -1), system=[2, 0, 3, 1])
    assert_same(pairs, compare_by(procedure, turned), drawn=drawn)
    # right and wrong answers, and votes, have a scale of their own
    if method.name == "mcnemar" or method.uses_votes:
        return

    def changed(function: Callable[[Floats], Floats]) -> xr.DataArray:
        values = table.copy(data=function(table.to_numpy()))
        if method.uses_people:
            values = values.assign_coords(human=(values.dims, function(table["human"].to_numpy())))
        return values

    factor = 1.0 if method.of_ranks else 3.0
    assert_same(pairs, compare_by(procedure, changed(lambda y: 3.0 * y + 5.0)), factor, drawn=drawn)
    paired = method.name != "unpaired-t" and not method.takes_single_items
    if paired and not method.uses_people:
        shape = [-1 if d == "topic" else 1 for d in dims]
        shift = np.linspace(-1.0, 1.0, SIZES["topic"]).reshape(shape)
        assert_same(pairs, compare_by(procedure, changed(lambda y: y + shift)), drawn=drawn)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_other_layouts_are_refused_in_one_line(method: Method) -> None:
    procedure = Procedure(method, first_correction(method, method.default_claim), method.default_claim)
    for dims in set(LAYOUTS) - set(procedure.layouts):
        with pytest.raises(InputError) as refusal:
            compare_by(procedure, scores_of(dims))
        assert "\n" not in str(refusal.value)
        assert procedure.name in str(refusal.value)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_baseline_and_chosen_systems(method: Method) -> None:
    claim = method.default_claim
    procedure = Procedure(method, first_correction(method, claim), claim)
    table = table_for(method, procedure.layouts[0])
    against = compare_by(procedure, table, baseline="system1")
    assert len(against) == 3
    assert set(against.to_frame()["b"]) == {"system1"}
    some = compare_by(procedure, table, only=["system0", "system2", "system3"])
    assert set(some.names) == {"system0", "system2", "system3"}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_gaps_are_taken_as_declared(method: Method) -> None:
    claim = method.default_claim
    procedure = Procedure(method, first_correction(method, claim), claim)
    table = table_for(method, procedure.layouts[0]).copy(deep=True)
    first = {str(d): 0 for d in table.dims if d not in TABLE}
    table[{"topic": 3, "system": 1, **first}] = np.nan
    if method.takes_gaps_for(claim):
        assert np.isfinite(compare_by(procedure, table).difference).all()
    else:
        with pytest.raises(InputError) as refusal:
            compare_by(procedure, table)
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("dims", LAYOUTS, ids="-".join)
def test_the_laboratory_and_compare_run_the_same_functions(dims: Dims) -> None:
    """The same table decided in a batch of one and by `compare` has the same figures, method by method."""
    for name in DEFAULTS[dims].shown:
        procedure = parse_procedure(name)
        table = scores_of(dims)
        pairs = compare_by(procedure, table)
        ordered = as_scores(table.sel(system=list(pairs.names)))
        tables = make_tables(procedure, ordered, n_resamples=RESAMPLES, seed=3)
        decisions = procedure.decide(tables)
        np.testing.assert_allclose(np.ravel(decisions.p_adjusted), pairs.p_adjusted, rtol=1e-9, atol=1e-12)
    assert trial.decide_chunk.__globals__["Procedure"] is Procedure


def assert_consistent(pairs: Comparisons) -> None:
    """Pairs, letters, rank ranges and best set are one statement."""
    ranks = pairs.ranks()
    assert pairs.best() == tuple(ranks.index[ranks["rank_best"] == 1])
    above = dict.fromkeys(pairs.names, 0)
    below = dict.fromkeys(pairs.names, 0)
    frame = pairs.to_frame()
    for a, b, sign in zip(frame["a"], frame["b"], pairs.directions(), strict=True):
        better, worse = (a, b) if sign > 0 else (b, a)
        if sign:
            above[worse] += 1
            below[better] += 1
    r = len(pairs.names)
    assert (ranks["rank_best"] == [1 + above[name] for name in pairs.names]).all()
    assert (ranks["rank_worst"] == [r - below[name] for name in pairs.names]).all()


@pytest.mark.slow
def test_no_statement_contradicts_another_on_real_tables(data: object, trec3: object) -> None:
    """300 random tables of ten runs of TREC-8 and TREC-3, every method that ranks in turn."""
    rng = np.random.default_rng(2026)
    tables = [
        np.genfromtxt(f"{data}/trec8/adhoc8_ap.csv", delimiter=",", skip_header=1),
        sw.read_scores(str(trec3)).to_numpy(),
    ]
    ranked = [name for name in DEFAULTS[TABLE].shown if not name.startswith(("banova", "randomization"))]
    for k in range(300):
        whole = tables[k % 2]
        y: Floats = whole[:, rng.choice(whole.shape[1], 10, replace=False)]
        table = xr.DataArray(y, dims=TABLE, coords={"system": [f"s{j}" for j in range(10)]})
        assert_consistent(compare_by(parse_procedure(ranked[k % len(ranked)]), table))


def test_every_procedure_knows_its_facts_without_being_asked_its_class() -> None:
    for procedure in list_procedures().values():
        assert procedure.plain_title
        assert procedure.for_layout(SPLITS).method == procedure.method
        assert isinstance(procedure.draws, bool)
        assert replace(procedure).name == procedure.name
        assert procedure.correction == JOINT or procedure.correction in procedure.method.corrections
