"""Names of procedures, what they promise, and what may not change their decisions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from procedure_tables import Shown, decide_all, tables
from shardwise.comparing.compare import compare
from shardwise.core.arrays import Floats
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.methods.judges.method import with_human
from shardwise.methods.names import DEFAULTS, Procedure
from shardwise.methods.names import list_procedures as procedures
from shardwise.methods.names import parse_procedure as parse_procedure
from shardwise.methods.paired import kernels
from shardwise.methods.paired.method import METHODS, estimate_means
from shardwise.methods.pairs import Means
from shardwise.methods.tables import INSTANCES, LAYOUTS, SHARDS, SPLITS, TABLE, Dims, Tables
from shardwise.stats import studentized_range
from shardwise.stats.corrections import STEPWISE

FIELDS = ("difference", "p", "p_adjusted", "lower", "upper")
FEW = 49  # resamples
TOPICS = (
    17  # of fewer, a bootstrap first tries to list all its sums, which takes long and has tests of its own
)


def batch_of(dims: Dims, seed: int) -> Floats:
    """Three tables of a layout: 4 systems, 3 of everything else, some true differences."""
    y = tables(seed, TOPICS, 4, 3)[[0, 1, 3]]
    if dims == TABLE:
        return np.ascontiguousarray(y[..., 0])
    if dims == SPLITS:
        return y[:, None] + np.random.default_rng(seed).normal(0, 0.03, (len(y), 3, TOPICS, 4, 3))
    return y


def run(names: list[str], y: Floats, dims: Dims, first: int = 0) -> list[Shown]:
    return decide_all(names, y, dims, 0.1, 3, first, FEW)


def test_every_name_is_read_back_and_every_promise_known() -> None:
    for dims in LAYOUTS:
        for name, one in procedures(dims).items():
            assert parse_procedure(f"  {name.upper()} ".replace(" ", "  ")) == one
            assert one.name == name
            assert one.error_rate in {"family", "discovery", "pair"}
            assert dims in one.layouts
            assert set(one.claim) <= {"topic", "shard", "instance"}
        assert len({one.title for one in procedures(dims).values()}) == len(procedures(dims))


def test_promises_follow_the_correction() -> None:
    wanted = {"hsd": "family", "scheffe": "family", "bonferroni": "family", "holm": "family", "bh": "discovery",
              "by": "discovery", "none": "pair"}  # fmt: skip
    for dims in LAYOUTS:
        for name, one in procedures(dims).items():
            words = [word for word in name.split() if word in wanted]
            assert one.error_rate == (wanted[words[-1]] if words else "family")


def test_defaults_exist() -> None:
    for dims, count in {TABLE: 17, SHARDS: 20, INSTANCES: 17, SPLITS: 19}.items():
        assert set(DEFAULTS[dims].shown) <= set(procedures(dims))
        assert len(set(DEFAULTS[dims].shown)) == count


def test_an_unknown_name_is_told_its_neighbours() -> None:
    with pytest.raises(InputError, match=r"unknown method 'MD6 hds topic'.*'MD6 hsd topic'"):
        parse_procedure("MD6 hds topic")
    with pytest.raises(InputError, match="examples are"):
        parse_procedure("#")
    with pytest.raises(InputError, match="0 resamples"):
        Tables(batch_of(TABLE, 1), TABLE, n_resamples=0)


def test_bad_batches_are_refused() -> None:
    one = procedures(SHARDS)["MD6 hsd"]
    y = batch_of(SHARDS, 1)
    with pytest.raises(InputError, match="MD6 hsd cannot take topic × system"):
        one.decide(Tables(y[..., 0], TABLE))
    with pytest.raises(InputError, match="unknown layout topic, shard"):
        procedures(("topic", "shard"))
    with pytest.raises(InputError, match="no layout is topic, shard"):
        Tables(y[..., 0], ("topic", "shard"))
    with pytest.raises(InputError, match="4 axes is not a batch of topic × system"):
        Tables(y, TABLE)
    with pytest.raises(InputError, match="1 system and"):
        Tables(y[:, :, :1], SHARDS)
    y[0, 0, 0, 0] = np.inf
    with pytest.raises(InputError, match="infinite"):
        Tables(y, SHARDS)
    y[0, 0, 0, 0] = np.nan
    with pytest.raises(InputError, match="one by one"):
        one.decide(Tables(y, SHARDS))
    with pytest.raises(
        InputError, match="1 scores are missing or undefined, and the paired t-test needs them all"
    ):
        parse_procedure("t holm").decide(Tables(y, SHARDS))
    with pytest.raises(InputError, match="a single instance"):
        procedures(INSTANCES)["unified none"].decide(Tables(batch_of(SHARDS, 1)[..., :1], INSTANCES))
    fixed = batch_of(SHARDS, 1)
    fixed[:, :, 1] = fixed[:, :, 1, :1]
    with pytest.raises(InputError, match="deterministic"):
        procedures(INSTANCES)["joint mixed hsd"].decide(Tables(fixed, INSTANCES))


@pytest.mark.slow
def test_public_calls_and_the_laboratory_run_the_same_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fit estimates a claim by one function, whoever asks; corrections come after it."""
    calls: list[tuple[str, str, int]] = []
    once = Procedure._estimate_once

    def estimate(self: Procedure, tables: Tables) -> Means:
        calls.append((self.claim.name, self.method.name, len(tables)))
        return once(self, tables)

    monkeypatch.setattr(Procedure, "_estimate_once", estimate)
    for dims in (TABLE, SHARDS, INSTANCES):
        y = batch_of(dims, 4)
        for one in {(one.method, one.claim): one for one in procedures(dims).values()}.values():
            if one.method.uses_votes:  # tables of scores have none behind them
                continue
            if one.method.name == "mcnemar":  # of right and wrong answers
                y = (y > np.median(y)).astype(float)
            judged = one.method.uses_people  # people saw everything, twenty items at least
            y = np.concatenate([y, y], axis=1) if judged else y
            calls.clear()
            one.decide(Tables(y, dims, n_resamples=9, human=y if judged else None))
            in_batch = [call[:2] for call in calls]
            calls.clear()
            labels = [str(k) for k in range(4)]
            scores = xr.DataArray(y[0], dims=dims, coords={"system": labels})
            scores = with_human(scores, scores) if judged else scores
            compare(scores, one, baseline="0" if one.correction == "dunnett" else None, n_resamples=9)
            # once more where sorting systems by plain means did not sort them by their estimates
            assert {call[:2] for call in calls} == set(in_batch), one.name
            assert {call[2] for call in calls} == {1}, one.name


def test_a_procedure_of_ones_own() -> None:
    """Any method with estimates makes a procedure."""

    def find_nothing(tables: Tables, claim: Claim) -> Means:
        found = estimate_means(tables)
        return replace(found, values=0.0 * found.values, variance=np.ones(len(tables)), df=9.0)

    never = replace(METHODS[0], name="never", title="never", means=find_nothing, pairs=None)
    mine = Procedure(never, "holm", Claim("topic"))
    found, other = decide_all([mine, "t none"], batch_of(SHARDS, 1), SHARDS)
    assert found.p.shape == other.p.shape
    assert (found.p_adjusted == 1).all()


@pytest.mark.parametrize("dims", LAYOUTS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_all_systems_share_on_a_topic_changes_nothing(dims: Dims, seed: int) -> None:
    names = [name for name in DEFAULTS[dims].shown if not name.startswith("unpaired")]
    place = 1 + dims.index("topic")
    # topics differ in any case: a mixed model whose topic variance is 0 shares its mean square with topic:system
    y = batch_of(dims, seed)
    y = y + np.arange(float(TOPICS)).reshape([TOPICS if k == place else 1 for k in range(y.ndim)])
    shared = np.random.default_rng(seed).normal(0, 0.3, (len(y), TOPICS))
    moved = y + shared.reshape([*(TOPICS if k == place else len(y) if k == 0 else 1 for k in range(y.ndim))])
    for name, one, other in zip(names, run(names, y, dims), run(names, moved, dims), strict=True):
        for field in FIELDS:
            np.testing.assert_allclose(
                getattr(one, field), getattr(other, field), rtol=1e-6, atol=1e-9, err_msg=f"{name} {field}"
            )


@pytest.mark.parametrize("dims", LAYOUTS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(4)))
def test_decisions_follow_the_systems(dims: Dims, seed: int, order: list[int]) -> None:
    names = list(DEFAULTS[dims].shown)
    y = batch_of(dims, seed)
    moved = np.take(y, order, axis=1 + dims.index("system"))
    a, b = np.triu_indices(4, 1)
    before = np.zeros((4, 4), dtype=int)
    before[a, b] = before[b, a] = np.arange(6)
    u, v = np.array(order)[a], np.array(order)[b]
    place, turned = before[u, v], u > v
    for name, one, other in zip(names, run(names, y, dims), run(names, moved, dims), strict=True):
        swapped = {
            "difference": np.where(turned, -one.difference[:, place], one.difference[:, place]),
            "p": one.p[:, place],
            "p_adjusted": one.p_adjusted[:, place],
            "lower": np.where(turned, -one.upper[:, place], one.lower[:, place]),
            "upper": np.where(turned, -one.lower[:, place], one.upper[:, place]),
        }
        for field in FIELDS:
            np.testing.assert_allclose(
                getattr(other, field), swapped[field], rtol=1e-6, atol=1e-9, err_msg=f"{name} {field}"
            )


@pytest.mark.parametrize("dims", LAYOUTS)
def test_a_replicate_depends_on_its_number_and_not_on_its_batch(dims: Dims) -> None:
    names = list(DEFAULTS[dims].shown)
    y = batch_of(dims, 11)
    whole = run(names, y, dims, first=7)
    with ThreadPoolExecutor(3) as workers:
        parts = list(workers.map(lambda i: run(names, y[i : i + 1], dims, first=7 + i), range(len(y))))
    for k, name in enumerate(names):
        for field in FIELDS:
            together = np.concatenate([getattr(part[k], field) for part in parts])
            np.testing.assert_allclose(getattr(whole[k], field), together, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.slow
def test_sharing_a_batch_changes_nothing() -> None:
    y = batch_of(SHARDS, 12)
    names = [name for name in procedures(SHARDS) if "kde" not in name]
    for name, shared in zip(names, run(names, y, SHARDS), strict=True):
        (alone,) = run([name], y, SHARDS)
        for field in FIELDS:
            np.testing.assert_array_equal(getattr(shared, field), getattr(alone, field), err_msg=name)


@pytest.mark.parametrize(
    ("method", "theirs"),
    [("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")],
)
@settings(max_examples=10)
@given(p=st.lists(st.floats(0, 1), min_size=3, max_size=40))
def test_corrections_are_those_of_statsmodels(method: str, theirs: str, p: list[float]) -> None:
    rows = np.array([p, p[::-1]])
    wanted = np.array([multipletests(row, method=theirs)[1] for row in rows])
    np.testing.assert_allclose(STEPWISE[method].adjust(rows), wanted, rtol=1e-12, atol=1e-300)


def _by_quadrature(q: Floats, r: int, df: Floats) -> Floats:
    tail = studentized_range.range_tail(r)
    return studentized_range.ratio_sf(q.ravel(), np.repeat(df, q.shape[1]), tail).reshape(q.shape)


@pytest.mark.slow
@pytest.mark.parametrize("systems", [2, 3, 20, 143])
def test_studentized_range_of_many_degrees_of_freedom(systems: int) -> None:
    rng = np.random.default_rng(systems)
    df = np.exp(rng.uniform(0.0, np.log(2e4), (60, 1)))
    df[:3] = [[0.8], [1.0], [1e7]]  # below, at and beyond the ends of the tables
    q = np.abs(rng.normal(0, 5, (60, 40)))
    q[5, 0], q[6, 0] = 1e4, 0.0  # beyond the tables, and no difference
    found = studentized_range.sf(q, systems, df)
    some = np.arange(0, 60, 12)
    wanted = stats.studentized_range.sf(q[some, :3], systems, np.maximum(df[some], 0.8))
    np.testing.assert_allclose(found[some, :3], wanted, atol=1e-6)  # scipy's own quadrature is no better
    by_itself = _by_quadrature(q, systems, df[:, 0])
    np.testing.assert_allclose(found, by_itself, atol=1e-8)
    critical = studentized_range.isf(0.05, systems, df)
    back = _by_quadrature(critical, systems, df[:, 0])
    np.testing.assert_allclose(back, 0.05, rtol=1e-7)


@settings(max_examples=50)
@given(data=st.data(), n=st.integers(1, 11))
def test_all_flips_are_those_of_scipy(data: st.DataObject, n: int) -> None:
    d = np.array(data.draw(st.lists(st.integers(-50, 50), min_size=n, max_size=n)), dtype=np.int64) * 1000
    if not d.any():
        assert kernels.all_flips(d, n) == 1.0
        return
    signs = 1 - 2 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
    assert kernels.all_flips(d, n) == pytest.approx(np.mean(np.abs(signs @ d) >= abs(d.sum())))


def test_rank_sum_distributions_are_those_of_scipy() -> None:
    distributions = kernels.rank_sum_laws()
    rng = np.random.default_rng(4)
    for n in (1, 2, 7, 24, 50):
        d = rng.normal(0.2, 1.0, n)
        ranks = stats.rankdata(np.abs(d))
        smaller = int(min(ranks[d > 0].sum(), ranks[d < 0].sum()))
        wanted = stats.wilcoxon(d, method="exact").pvalue
        assert min(1.0, 2.0 * distributions[n, smaller]) == pytest.approx(wanted, rel=1e-9)


def test_t_tests_and_intervals_are_those_of_scipy() -> None:
    y = batch_of(TABLE, 13)
    paired, unpaired = run(["t none", "unpaired-t none"], y, TABLE)
    for i, table in enumerate(y):
        for k, (a, b) in enumerate(zip(*np.triu_indices(4, 1), strict=True)):
            wanted = stats.ttest_rel(table[:, a], table[:, b])
            low, high = wanted.confidence_interval(0.9)
            assert paired.p[i, k] == pytest.approx(wanted.pvalue, rel=1e-9)
            assert (paired.lower[i, k], paired.upper[i, k]) == (pytest.approx(low), pytest.approx(high))
            assert unpaired.p[i, k] == pytest.approx(
                stats.ttest_ind(table[:, a], table[:, b]).pvalue, rel=1e-9
            )


@pytest.mark.calibration
def test_error_rates_of_hsd_follow_the_claim(repetitions: float) -> None:
    """Equal systems, topics a sample: MD1 and MD6 for topics like these hold 5 %, the fixed MD6 does not at all."""
    count = int(400 * repetitions)
    rng = np.random.default_rng(14)
    errors = {"MD1 hsd": 0, "MD6 hsd topic": 0, "MD6 hsd": 0, "MD2 hsd": 0, "MD3 hsd": 0}
    for _ in range(count // 50):
        y = rng.normal(0, 0.2, (50, 50, 1, 1)) + rng.normal(0, 0.08, (50, 50, 10, 1))
        y = y + rng.normal(0, 0.1, (50, 50, 1, 5)) + rng.normal(0, 0.005, (50, 1, 10, 5))
        y = y + rng.normal(0, 0.06, (50, 50, 10, 5))
        found = decide_all(errors, y, SHARDS, 0.05)
        for name, one in zip(errors, found, strict=True):
            errors[name] += int((one.p_adjusted <= 0.05).any(axis=1).sum())
    rate = {name: found / count for name, found in errors.items()}
    known = {"MD1 hsd": 0.05, "MD2 hsd": 0.45, "MD3 hsd": 0.64, "MD6 hsd": 0.995, "MD6 hsd topic": 0.05}
    for name, wanted in known.items():
        # four standard errors of the difference of two runs of this length, and the rounding of the rates known
        error = np.sqrt(2.0 * wanted * (1.0 - wanted) / count)
        assert abs(rate[name] - wanted) < 4.0 * error + 0.005


def test_intervals_of_holm_are_those_of_bonferroni() -> None:
    """However many pairs are significant: only then do they hold at once."""
    rng = np.random.default_rng(6)
    y = rng.normal(size=(1, 20, 4)) + np.array([0.0, 0.0, 3.0, 3.0])
    holm = parse_procedure("t holm").decide(Tables(y, TABLE))
    assert 0 < (holm.p_adjusted <= 0.05).sum() < 6
    critical = stats.t.isf(0.05 / 6 / 2, holm.df)
    np.testing.assert_allclose(holm.half_widths(0.05), critical * holm.se, rtol=1e-12)
