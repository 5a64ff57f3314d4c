"""The bootstrap fit: estimates for comparisons, missing scores, V17's intervals, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats

from shardwise.comparing.compare import compare
from shardwise.comparing.stability import voorhees_bh
from shardwise.core.errors import InputError
from shardwise.core.model import MD2, MD3, MD4, MD5, MD6, Model
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import bootstrap_anova
from shardwise.scoring.undefined import fill_undefined
from shardwise.stats.corrections import step_up


def scores_of(
    topics: int = 12, systems: int = 6, shards: int = 3, seed: int = 1, error: float = 0.06
) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    values = (
        rng.normal(0.3, 0.2, (topics, 1, 1))
        + rng.normal(0.0, 0.03, (1, systems, 1))
        + rng.normal(0.0, 0.05, (topics, systems, 1))
        + rng.normal(0.0, 0.08, (topics, 1, shards))
        + rng.normal(0.0, error, (topics, systems, shards))
    )
    names = [f"s{k}" for k in range(systems)]
    return xr.DataArray(values, dims=("topic", "system", "shard"), coords={"system": names})


@pytest.mark.parametrize("model", [MD2, MD3, MD4, MD5, MD6], ids=lambda model: model.name)
def test_default_is_the_t_test_but_for_the_shape_of_the_errors(model: Model) -> None:
    """On normal errors and many degrees of freedom, both tests say the same."""
    scores = scores_of(40, 6, 5)
    boot, plain = bootstrap_anova(scores, model), anova(scores, model)
    ours, theirs = compare(boot, "none"), compare(plain, "none")
    assert boot.estimates().variance == pytest.approx(plain.estimates().variance)
    np.testing.assert_allclose(ours.se, theirs.se)
    np.testing.assert_allclose(ours.p, theirs.p, atol=4e-3)
    assert ours.claim == theirs.claim == "exactly these 40 topics and 5 shards"
    assert "residuals ×" in str(ours)
    raw = boot.estimates(residuals="raw")
    ratio = plain.table.loc["error", "ss"] / scores.size / plain.table.loc["error", "ms"]
    assert raw.variance / plain.estimates().variance == pytest.approx(ratio)


def test_marginal_distribution_is_narrower_by_root_two() -> None:
    boot = bootstrap_anova(scores_of(30, 20, 4), MD3)
    difference = boot.measure_pairs("difference", 2, "exact", "raw")
    marginal = boot.measure_pairs("marginal", 2, "exact")
    ratio = difference.critical(0.05) / marginal.critical(0.05)
    assert ratio == pytest.approx(np.sqrt(2 / (1 - 1 / 20)), rel=2e-3)  # near-normal by now
    one = boot.measure_pairs("marginal", 1, "exact")
    d = np.linspace(0.0, 0.02, 9)
    distribution = boot.effect_distribution("s3")
    np.testing.assert_allclose(one.p_values(d), distribution.sf(distribution.estimate + d), atol=1e-12)
    both = distribution.sf(distribution.estimate + d) + distribution.cdf(distribution.estimate - d)
    np.testing.assert_allclose(marginal.p_values(d), np.minimum(both, 1.0), atol=1e-12)


@pytest.mark.slow
@settings(max_examples=15)
@given(fill=st.floats(-3.0, 3.0), seed=st.integers(0, 1000), missing=st.integers(1, 6))
def test_md6_does_not_see_what_undefined_cells_are_filled_with(fill: float, seed: int, missing: int) -> None:
    scores = scores_of(10, 5, 4, seed)
    rng = np.random.default_rng(seed)
    for t, k in zip(rng.integers(0, 10, missing), rng.integers(0, 4, missing), strict=True):
        scores[t, :, k] = np.nan
    first, second = fill_undefined(scores, "zero"), fill_undefined(scores, fill)
    for options in ({}, {"null": "marginal", "tails": 1}, {"null": "marginal", "tails": 2}):
        one = compare(bootstrap_anova(first, MD6), "bh", **options)
        other = compare(bootstrap_anova(second, MD6), "bh", **options)
        np.testing.assert_allclose(one.p, other.p, atol=1e-9)
        assert list(one.to_frame()["a"]) == list(other.to_frame()["a"])


def weighted_refit(
    scores: NDArray[np.float64], model_columns: NDArray[np.float64], pool: NDArray[np.float64], repeats: int
) -> NDArray[np.float64]:
    """Resample residuals of an incomplete table and refit by numpy's least squares: system parameters."""
    rng = np.random.default_rng(9)
    kept = ~np.isnan(scores)
    design = model_columns[kept.ravel()]
    solver = np.linalg.pinv(design)
    return np.array([solver @ rng.choice(pool, int(kept.sum())) for _ in range(repeats)])


@pytest.mark.parametrize("model", [MD2, MD4, MD6], ids=lambda model: model.name)
def test_scores_missing_for_all_systems_alike(model: Model) -> None:
    """V17 §7's unbalanced case: the distribution is that of refitting by least squares the cells that are there."""
    scores = scores_of(8, 3, 4, seed=5)
    for t, k in [(0, 1), (2, 3), (2, 0), (5, 2)]:
        scores[t, :, k] = np.nan
    fit = bootstrap_anova(scores, model)
    plain = anova(scores, model)
    assert fit.estimates().variance == pytest.approx(plain.estimates().variance)
    np.testing.assert_allclose(compare(fit, "none").difference, compare(plain, "none").difference)
    # sum-to-zero coding, so that the system columns are the effects
    codes = np.indices(scores.shape).reshape(3, -1)
    size = dict(zip(scores.dims, scores.shape, strict=True))
    main = {
        d: np.eye(size[d])[codes[a]][:, :-1] - (codes[a] == size[d] - 1)[:, None]
        for a, d in enumerate(scores.dims)
    }
    columns = [main["system"], np.ones((codes.shape[1], 1))]
    for term in model.terms:
        if term == "system":
            continue
        one, *other = term.split(":")
        block = main[one]
        if other:
            block = (block[:, :, None] * main[other[0]][:, None, :]).reshape(len(block), -1)
        columns.append(block)
    effects = weighted_refit(scores.to_numpy(), np.hstack(columns), fit.draws.pool.values, 1500)[:, :2]
    for j in range(2):
        assert stats.kstest(effects[:, j], fit.effect_distribution(f"s{j}").spread.at_most).pvalue > 1e-3
    distribution = fit.measure_pairs("difference", 1, "exact", "raw")
    difference = effects[:, 0] - effects[:, 1]
    assert stats.kstest(difference, lambda x: 1.0 - distribution.p_values(x)).pvalue > 1e-3
    drawn = bootstrap_anova(scores, model, n_resamples=4000, seed=1)
    assert drawn.replicates is not None
    assert stats.kstest(drawn.replicates[:, 1], fit.effect_distribution("s1").spread.at_most).pvalue > 1e-3


def test_a_single_missing_score_is_refused_with_the_remedy() -> None:
    scores = scores_of()
    scores[1, 2, 0] = np.nan
    with pytest.raises(InputError, match=r"lack different scores.*keep the topics that all have"):
        bootstrap_anova(scores, MD2)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"generalize": ("topic",)}, "resamples residuals, not topics.*use anova with generalize"),
        ({"generalize": "shard"}, "not shards"),
        ({"null": "sharp"}, "unknown null 'sharp'"),
        ({"tails": 3}, "unknown number of tails 3"),
        ({"density": "spline"}, "unknown density 'spline'"),
        ({"residuals": "student"}, "unknown residuals 'student'"),
    ],
)
def test_what_the_bootstrap_cannot_say_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        bootstrap_anova(scores_of(), MD3).estimates(**options)


def test_unknown_systems_levels_and_trims_are_refused() -> None:
    fit = bootstrap_anova(scores_of(), MD3)
    with pytest.raises(InputError, match="unknown system 'x'"):
        fit.effect_distribution("x")
    with pytest.raises(InputError, match=r"level 95"):
        fit.intervals(95)
    with pytest.raises(InputError, match="unknown trim 'none'"):
        fit.intervals(trim="none")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="quantile"):
        fit.effect_distribution("s0").quantile(0.0)
    with pytest.raises(InputError, match="needs Student's t"):
        compare(fit, "hsd")


def test_unasked_a_bootstrap_is_corrected_as_in_the_papers() -> None:
    fit = bootstrap_anova(scores_of(), MD3)
    pd.testing.assert_frame_equal(compare(fit).to_frame(), compare(fit, "bh").to_frame())


def test_curves_for_drawing_densities() -> None:
    fit = bootstrap_anova(scores_of(), MD3)
    curves = fit.curves(["s1", "s4"], points=401)
    assert list(curves.columns) == ["system", "value", "density", "cdf"]
    for system, one in curves.groupby("system"):
        area = np.trapezoid(one["density"], one["value"])
        assert area == pytest.approx(1.0, abs=1e-3)
        middle = np.interp(0.5, one["cdf"], one["value"])
        assert middle == pytest.approx(fit.effects[system], abs=2e-3)
    simulated = bootstrap_anova(scores_of(), MD3, n_resamples=500).curves(["s1"])
    assert simulated["cdf"].is_monotonic_increasing


def test_other_dimensions_can_be_compared() -> None:
    scores = scores_of()
    fit = bootstrap_anova(scores, MD4, of="shard")
    assert len(fit.effects) == 3
    assert compare(fit, "holm").names == tuple(fit.effects.sort_values(ascending=False).index)


@settings(max_examples=60)
@given(p=arrays(float, st.integers(1, 40), elements=st.floats(0.0, 1.0)), alpha=st.floats(0.001, 0.3))
def test_step_up_number_is_scipys(p: NDArray[np.float64], alpha: float) -> None:
    found = stats.false_discovery_control(p, method="bh") <= alpha
    threshold = stats.false_discovery_control(p, method="bh")
    if np.abs(threshold - alpha).min() > 1e-12:
        assert step_up(p, alpha) == found.sum()


def test_voorhees_correction_decides_as_bh_does() -> None:
    pairs = compare(bootstrap_anova(scores_of(10, 14, 2), MD3), "bh", null="marginal", tails=1)
    for alpha in (0.05, 0.01):
        corrected = voorhees_bh(pairs, alpha)
        np.testing.assert_array_equal(corrected.reject(alpha), pairs.reject(alpha))
        k = int(pairs.reject(alpha).sum())
        np.testing.assert_allclose(corrected.p_adjusted, np.minimum(pairs.p * len(pairs) / k, 1.0))
    nothing = voorhees_bh(compare(bootstrap_anova(scores_of(3, 3, 2, error=3.0), MD2), "bh"), 1e-9)
    assert (nothing.p_adjusted == 1.0).all()


def test_intervals_of_v17() -> None:
    scores = scores_of(15, 12, 3)
    ideal = bootstrap_anova(scores, MD3)
    drawn = bootstrap_anova(scores, MD3, n_resamples=10_000, seed=6)
    assert drawn.replicates is not None
    pairs = compare(drawn, "bh", null="marginal", tails=1)
    share = 0.05 * int(pairs.reject(0.05).sum()) / (2 * len(pairs))
    one = drawn.intervals()
    for j, system in enumerate(drawn.effects.index):
        estimates = np.sort(drawn.replicates[:, j] + drawn.effects[system])
        cut = int(share * 10_000)
        assert one.loc[system, "lower"] == pytest.approx(estimates[cut])
        assert one.loc[system, "upper"] == pytest.approx(estimates[-1 - cut])
    counted = drawn.intervals(trim="count")
    ends = np.ptp(drawn.replicates, axis=0)
    np.testing.assert_allclose(counted["upper"] - counted["lower"], ends)
    few = drawn.intervals(trim="percent")  # FF21's code: at most 2 of 10,000 at either end
    ordered, cut = np.sort(drawn.replicates, axis=0), int(share / 100 * 10_000)
    assert cut in (1, 2)
    np.testing.assert_allclose(few["upper"] - few["lower"], ordered[-1 - cut] - ordered[cut])
    for trim in ("share", "percent", "count"):
        a, b = ideal.intervals(trim=trim), drawn.intervals(trim=trim)  # type: ignore[arg-type]
        ratio = (a["upper"] - a["lower"]).mean() / (b["upper"] - b["lower"]).mean()
        assert ratio == pytest.approx(1.0, abs=0.05)
    wide = ideal.intervals(residuals="scaled")
    narrow = ideal.intervals(residuals="raw")
    assert ((wide["upper"] - wide["lower"]) > (narrow["upper"] - narrow["lower"])).all()


def null_scores(rng: np.random.Generator, shards: int, *, fixed: bool, skewed: bool) -> xr.DataArray:
    """Scores without system differences; ``fixed``: none on these very topics and shards either."""
    t, r = 50, 10
    topic_system = rng.normal(0.0, 0.08, (t, r, 1))
    system_shard = rng.normal(0.0, 0.005, (1, r, shards))
    topic_system -= topic_system.mean(axis=0)
    if fixed:
        system_shard -= system_shard.mean(axis=2, keepdims=True)
    error = rng.gamma(0.25, 0.12, (t, r, shards)) if skewed else rng.normal(0.0, 0.06, (t, r, shards))
    rest = rng.normal(0.0, 0.2, (t, 1, 1)) + rng.normal(0.0, 0.1, (t, 1, shards))
    return xr.DataArray(rest + topic_system + system_shard + error, dims=("topic", "system", "shard"))


@pytest.mark.calibration
@pytest.mark.parametrize(("shards", "skewed"), [(2, True), (5, False)])
def test_difference_distribution_errs_five_times_in_a_hundred(
    shards: int, skewed: bool, repetitions: float
) -> None:
    rng = np.random.default_rng(100 * shards + skewed)
    rates = []
    for _ in range(int(120 * repetitions)):
        fit = bootstrap_anova(null_scores(rng, shards, fixed=True, skewed=skewed), MD6)
        rates.append(np.mean(compare(fit, "none").p <= 0.05))
    error = np.std(rates) / np.sqrt(len(rates))
    assert abs(np.mean(rates) - 0.05) <= 3.5 * error


@pytest.mark.calibration
def test_the_papers_distribution_is_as_liberal_as_documented(repetitions: float) -> None:
    """V17's one-tailed marginal p-values reject .42 of true nulls at .05 in this simulation (MD6)."""
    rng = np.random.default_rng(17)
    rates: dict[str, list[float]] = {"one": [], "two": [], "raw": [], "default": []}
    for _ in range(int(100 * repetitions)):
        fit = bootstrap_anova(null_scores(rng, 5, fixed=False, skewed=False), MD6)
        for name, options in {
            "one": {"null": "marginal", "tails": 1},
            "two": {"null": "marginal", "tails": 2},
            "raw": {"residuals": "raw"},
            "default": {},
        }.items():
            rates[name].append(float(np.mean(compare(fit, "none", **options).p <= 0.05)))
    error = np.std(rates["one"]) / np.sqrt(len(rates["one"]))
    assert abs(np.mean(rates["one"]) - 0.42) <= 3.5 * error + 0.01
    # sd of the truth: error and what system:shard leaves on five shards; of the distribution: raw residuals, one system
    truth = np.sqrt(2 * (0.06**2 / 250 + 0.005**2 / 5))
    distribution = np.sqrt(0.06**2 * (49 * 9 * 4) / 2500 / 250)
    predicted = {
        "two": 2 * stats.norm.sf(1.96 * distribution * np.sqrt(0.9) / truth),
        "raw": 2 * stats.norm.sf(1.96 * distribution * np.sqrt(2.0) / truth),
        "default": 2 * stats.norm.sf(1.96 * np.sqrt(2 * 0.06**2 / 250) / truth),
    }
    for name, rate in predicted.items():
        assert abs(np.mean(rates[name]) - rate) <= 4 * np.std(rates[name]) / np.sqrt(len(rates[name]))
