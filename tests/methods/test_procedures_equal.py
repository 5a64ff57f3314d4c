"""Batched procedures say of every table what the package says of it by itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from procedure_tables import ALPHA, Answer, answer, assert_same, decide_all, each, labelled, seeds_of, tables
from shardwise.comparing.compare import compare, paired_tests
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.instances import compare_instances
from shardwise.comparing.stability import combined_p, majority, over_splits, unanimous
from shardwise.core.arrays import Floats
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import READINGS, USUAL_READINGS, bootstrap_anova
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.names import list_procedures as procedures
from shardwise.methods.names import parse_procedure
from shardwise.stats.corrections import CORRECTIONS, STEPWISE

SHARDS = ("topic", "system", "shard")
INSTANCES = ("topic", "system", "instance")
SPLITS = ("split", "topic", "system", "shard")
DRAWS = 99
METHODS = tuple(name for name in CORRECTIONS if name != "dunnett")
READ: dict[str, dict[str, object]] = {
    "difference": {"null": "difference"},
    "marginal-1": {"null": "marginal", "tails": 1},
    "marginal-2": {"null": "marginal", "tails": 2},
    "kde-1": {"null": "marginal", "tails": 1, "density": "kde"},
    "kde-2": {"null": "marginal", "tails": 2, "density": "kde"},
}


def claims_of(model: str) -> list[str]:
    """The claims that procedures of a model are there for, as they stand at the end of a name."""
    end = f"{model} holm"
    return [name.removeprefix(end).strip() for name in procedures(SHARDS) if name.startswith(end)]


@pytest.mark.parametrize("model", ["MD1", "MD2", "MD3", "MD4", "MD5", "MD6"])
def test_anova(model: str) -> None:
    y = tables(1, 7, 5, 3)
    known = procedures(SHARDS)
    scores = [labelled(table, *SHARDS) for table in y]
    fits = [anova(one.mean("shard") if model == "MD1" else one, model) for one in scores]
    names = [f"{model} {method} {claim}".strip() for claim in claims_of(model) for method in METHODS]
    decisions = decide_all([known[name] for name in names], y, SHARDS, ALPHA)
    for name, found in zip(names, decisions, strict=True):
        _, method, *claim = name.split()
        over = tuple(claim[0].split("+")) if claim else ()
        assert_same(found, [answer(compare(fit, method, generalize=over)) for fit in fits])
        assert known[name].claim.over == over


def test_models_have_the_claims_that_they_support() -> None:
    found = {model: claims_of(model) for model in ("MD1", "MD2", "MD3", "MD4", "MD5", "MD6")}
    assert found == {
        "MD1": ["", "topic"],
        "MD2": [""],
        "MD3": ["", "topic"],
        "MD4": ["", "topic"],
        "MD5": ["", "topic", "shard"],
        "MD6": ["", "topic", "shard", "topic+shard"],
    }


def test_a_variance_below_zero_counts_as_zero() -> None:
    y = np.random.default_rng(2).normal(0.4, 0.1, (40, 9, 4, 3))  # no interaction in truth
    fits = [anova(labelled(table, *SHARDS), "MD6") for table in y]
    words = [fit.estimates(generalize=("topic", "shard")).error for fit in fits]
    assert len({"below zero" in one for one in words}) == 2
    (found,) = decide_all([procedures(SHARDS)["MD6 hsd topic+shard"]], y, SHARDS, ALPHA)
    assert_same(found, [answer(compare(fit, "hsd", generalize=("topic", "shard"))) for fit in fits])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["MD1", "MD2", "MD3", "MD6"])
def test_bootstrap_anova(model: str) -> None:
    y = tables(3, 6, 4, 3)[:3]
    scores = [labelled(table, *SHARDS) for table in y]
    fits = [bootstrap_anova(one.mean("shard") if model == "MD1" else one, model) for one in scores]
    assert set(READ) == set(USUAL_READINGS)
    for reading, how in READ.items():
        estimates = [fit.estimates(**how) for fit in fits]  # type: ignore[arg-type]
        for method in ("bh", "holm", "none"):
            name = f"banova {model} {reading} {method}"
            (found,) = decide_all([procedures(SHARDS)[name]], y, SHARDS, ALPHA)
            assert_same(found, [answer(compare(one, method)) for one in estimates])


@pytest.mark.parametrize(
    "name", ["banova MD6 difference drawn bh", "banova MD3 kde-2 drawn none", "banova MD6 difference-1 by"]
)
def test_bootstrap_anova_by_resamples_and_in_unusual_readings(name: str) -> None:
    y = tables(3, 6, 4, 3)[:3]
    procedure = parse_procedure(name)
    assert parse_procedure(procedure.name) == procedure
    (found,) = decide_all([procedure], y, SHARDS, ALPHA, 17, 40)
    _, model, reading, *_, method = name.split()
    null, tails, density = READINGS[reading]
    expected = []
    for table, seed in zip(y, seeds_of(len(y), 17, 40), strict=True):
        draws = DRAWS if "drawn" in name else None
        fit = bootstrap_anova(labelled(table, *SHARDS), model, n_resamples=draws, seed=seed)
        expected.append(answer(compare(fit, method, null=null, tails=tails, density=density)))
    assert_same(found, expected)


def test_bootstrap_anova_of_large_pools_and_small_tails() -> None:
    y = tables(4, 30, 6, 3, effect=0.05)[:2]
    for reading in ("difference", "marginal-2"):
        (found,) = decide_all([procedures(SHARDS)[f"banova MD6 {reading} holm"]], y, SHARDS, ALPHA)
        fits = [bootstrap_anova(labelled(table, *SHARDS), "MD6") for table in y]
        expected = [answer(compare(fit, "holm", **READ[reading])) for fit in fits]
        assert_same(found, expected)
        assert found.p.min() < 1e-30
        wanted = np.stack([one[1] for one in expected])
        # far tails are joined on where the grid has 1e-8 left, of which rounding in the residuals takes its share
        np.testing.assert_allclose(found.p, wanted, rtol=1e-5)


@pytest.mark.parametrize("topics", [6, 13, 26, 60])
def test_paired_tests(topics: int) -> None:
    y = tables(5, topics, 4, 2)
    seeds = seeds_of(len(y), 17, 40)
    tests = ("t", "unpaired-t", "wilcoxon", "sign", "randomization", "bootstrap")
    names = [f"{test} {method}" for test in tests for method in STEPWISE]
    for name, found in zip(names, decide_all(names, y, SHARDS, ALPHA, 17, 40), strict=True):
        test, method = name.split()

        def make(i: int, table: Floats, test: str = test, method: str = method) -> Comparisons:
            return paired_tests(
                labelled(table, *SHARDS), test, correction=method, n_resamples=DRAWS, seed=seeds[i],
                average=("shard",),
            )  # fmt: skip

        assert_same(found, each(y, make))


def test_randomised_tukey() -> None:
    y = tables(6, 12, 5, 2)
    (found,) = decide_all(["tukey"], y, SHARDS, ALPHA, 3, 5)
    seeds = seeds_of(len(y), 3, 5)

    def make(i: int, table: Floats) -> Comparisons:
        scores = labelled(table, *SHARDS)
        return paired_tests(scores, "tukey", n_resamples=DRAWS, seed=seeds[i], average=("shard",))

    assert_same(found, each(y, make))


@pytest.mark.parametrize(
    "inner", ["MD3 bh", "MD6 hsd topic", "MD6 holm topic+shard", "banova MD3 marginal-1 bh"]
)
def test_splits(inner: str) -> None:
    rng = np.random.default_rng(7)
    y = tables(7, 8, 4, 3)[:3, None] + rng.normal(0, 0.05, (3, 5, 8, 4, 3))
    known = procedures(SPLITS)
    *head, method, claim = [*inner.split(), ""] if "topic" not in inner else inner.split()
    fit = "bootstrap" if head[0] == "banova" else "anova"
    how = READ[head[2]] if fit == "bootstrap" else {"generalize": tuple(claim.split("+")) if claim else ()}
    model = head[1] if fit == "bootstrap" else head[0]
    found: list[tuple[Comparisons, ...]] = [
        over_splits(labelled(table, *SPLITS), model, method, fit=fit, **how)
        for table in y  # type: ignore[arg-type]
    ]
    names = ["unanimous", "majority", "first"]
    decisions = decide_all([known[f"{rule} {inner}"] for rule in names], y, SPLITS, ALPHA)
    assert_same(decisions[0], [_without_interval(unanimous(one)) for one in found])
    assert_same(decisions[1], [_without_interval(majority(one)) for one in found])
    assert_same(decisions[2], [answer(one[0]) for one in found])
    after = " ".join([*head, "bh", claim]).strip()
    for rule in ("harmonic", "cauchy"):
        (one,) = decide_all([known[f"{rule} {after}"]], y, SPLITS, ALPHA)
        assert_same(one, [_without_interval(combined_p(c, rule, "bh")) for c in found])  # type: ignore[arg-type]


def _without_interval(found: Comparisons) -> Answer:
    difference, p, p_adjusted, *_ = answer(found)
    nothing = np.full(p.shape, np.nan)
    return difference, p, p_adjusted, nothing, nothing


def instances(fixed: bool) -> Floats:
    """Tables of three systems with five instances; the last system may be deterministic."""
    rng = np.random.default_rng(8)
    y = 0.4 + rng.normal(0, 0.2, (6, 12, 1, 1)) + rng.normal(0, 0.1, (6, 12, 3, 1))
    odd = (np.arange(6) % 2)[:, None, None, None]  # every other table has instances that differ in truth
    y = y + odd * rng.normal(0, 0.03, (6, 1, 3, 5))
    y = y + rng.normal(0, 0.08, (6, 12, 3, 5))
    y[2:4] += 0.1 * np.arange(3)[:, None]
    if fixed:
        y[:, :, 2] = y[:, :, 2, :1]
    return np.asarray(y)


def one_pair(table: Floats, a: int, b: int, fixed: bool, **how: object) -> Comparisons:
    def system(k: int) -> xr.DataArray:
        if fixed and k == 2:
            return xr.DataArray(table[:, k, 0], dims=("topic",), name=str(k))
        return xr.DataArray(table[:, k].T, dims=("instance", "topic"), name=str(k))

    return compare_instances(system(a), system(b), **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("test", ["unified", "mixed paper", "mixed satterthwaite", "mixed auto", "t-single",
                                  "bootstrap pooled", "bootstrap per-instance", "bootstrap", "t"])  # fmt: skip
def test_instances(test: str, fixed: bool) -> None:
    # beyond 0 to 1, so that intervals are Student's
    y = 2.0 + instances(fixed)
    seeds = seeds_of(len(y), 5, 9)
    known = procedures(INSTANCES)
    plain, holm, bh = decide_all(
        [known[f"{test} {m}"] for m in ("none", "holm", "bh")], y, INSTANCES, ALPHA, 5, 9
    )
    pairs = list(combinations(range(3), 2))
    for i, table in enumerate(y):
        for k, (a, b) in enumerate(pairs):
            kind, *rest = test.split()
            how: dict[str, object] = {"method": "bootstrap", "n_resamples": DRAWS, "seed": seeds[i]}
            if kind == "mixed":
                design = "crossed" if fixed and b == 2 else "nested"
                how = {"design": design, "df": rest[0]}
            elif kind == "bootstrap":
                how["reading"] = rest[0] if rest else "averaged"
            else:
                how = {"method": {"unified": "mixed", "t": "t-means"}.get(kind, kind)}
            found = one_pair(table, a, b, fixed, **how)
            assert plain.difference[i, k] == pytest.approx(found.difference[0], abs=1e-12)
            assert plain.p[i, k] == pytest.approx(found.p[0], rel=1e-7, abs=1e-9)
            if np.isfinite(found.df[0]):
                low, high = found.interval(1.0 - ALPHA)
                assert plain.lower[i, k] == pytest.approx(low, abs=1e-9)
                assert plain.upper[i, k] == pytest.approx(high, abs=1e-9)
            else:
                assert np.isnan(plain.lower[i, k])
        np.testing.assert_allclose(holm.p_adjusted[i], STEPWISE["holm"].adjust(plain.p[i]))
        np.testing.assert_allclose(bh.p_adjusted[i], STEPWISE["bh"].adjust(plain.p[i]))


def test_paper_design_is_crossed_only_against_a_deterministic_system() -> None:
    for fixed in (False, True):
        y = instances(fixed)
        (found,) = decide_all([procedures(INSTANCES)["mixed paper none"]], y, INSTANCES, ALPHA)
        for i, table in enumerate(y):
            for k, (a, b) in enumerate(combinations(range(3), 2)):
                assert found.p[i, k] == pytest.approx(
                    one_pair(table, a, b, fixed, design="paper").p[0], rel=1e-7
                )


def test_one_mixed_model_of_all_systems() -> None:
    y = instances(False)
    known = procedures(INSTANCES)
    fits = [mixed(labelled(table, *INSTANCES)) for table in y]
    for method in METHODS:
        (found,) = decide_all([known[f"joint mixed {method}"]], y, INSTANCES, ALPHA)
        assert_same(found, [answer(compare(fit, method)) for fit in fits])


def test_all_instances_as_independent() -> None:
    y = instances(False)
    (found,) = decide_all([procedures(INSTANCES)["t-independent none"]], y, INSTANCES, ALPHA)
    for i, table in enumerate(y):
        for k, (a, b) in enumerate(combinations(range(3), 2)):
            wanted = stats.ttest_rel(table[:, a].ravel(), table[:, b].ravel())
            assert found.p[i, k] == pytest.approx(wanted.pvalue, rel=1e-9)
            low, high = wanted.confidence_interval(1.0 - ALPHA)
            assert (found.lower[i, k], found.upper[i, k]) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize("name", ["MD1 dunnett topic", "MD6 dunnett", "MD6 dunnett topic+shard"])
def test_dunnett_compares_with_the_first_system_only(name: str) -> None:
    y = tables(1, 7, 5, 3)
    model, _, *claim = name.split()
    (found,) = decide_all([procedures(SHARDS)[name]], y, SHARDS, ALPHA)
    for k, table in enumerate(y):
        scores = labelled(table, *SHARDS)
        fit = anova(scores.mean("shard") if model == "MD1" else scores, model)
        first = str(scores["system"].to_numpy()[0])
        over = tuple(claim[0].split("+")) if claim else ()
        wanted = compare(fit, "dunnett", baseline=first, generalize=over)
        frame = wanted.to_frame(1 - ALPHA)
        for j, other in enumerate(scores["system"].to_numpy()[1:]):
            row = frame[(frame["a"] == other) | (frame["b"] == other)].iloc[0]
            turned = row["a"] == other
            low, high = (-row["upper"], -row["lower"]) if turned else (row["lower"], row["upper"])
            got = (found.p[k, j], found.p_adjusted[k, j], found.lower[k, j], found.upper[k, j])
            assert got == pytest.approx((row["p"], row["p_adjusted"], low, high), rel=1e-7, abs=1e-8)
    assert found.p_adjusted.shape == (len(y), 4)
