"""One conclusion from many splits: unanimity, majority, combined p-values, and the tables over splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shardwise.comparing.compare import compare
from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.stability import (
    agreement_matrix,
    agreement_over_splits,
    combined_p,
    found_over_splits,
    half_width,
    majority,
    over_splits,
    summary_over_splits,
    unanimous,
    within_across,
)
from shardwise.core.errors import InputError
from shardwise.core.model import MD1, MD2, MD3, MD6
from shardwise.methods.anova.fit import anova
from shardwise.methods.bootstrap.method import bootstrap_anova
from shardwise.methods.pairs import Means
from shardwise.stats.corrections import _harmonic_factor, cauchy_p, harmonic_mean_p


def some_scores(splits: int = 5, systems: int = 8, seed: int = 2, spread: float = 0.03) -> xr.DataArray:
    rng = np.random.default_rng(seed)
    values = (
        rng.normal(0.3, 0.2, (1, 20, 1, 1))
        + rng.normal(0.0, spread, (1, 1, systems, 1))
        + rng.normal(0.0, 0.05, (1, 20, systems, 1))
        + rng.normal(0.0, 0.06, (splits, 20, systems, 2))
    )
    names = [f"s{k}" for k in range(systems)]
    return xr.DataArray(values, dims=("split", "topic", "system", "shard"), coords={"system": names})


def told(values: Sequence[float], p: Sequence[float]) -> Comparisons:
    """Comparisons of systems x, y, z with given means and p-values of the pairs xy, xz, yz."""
    means = Means(("x", "y", "z"), np.array(values, float), 1e-3, 10.0, "exactly these 3 topics")
    one = compare(means, "none")
    names = one.to_frame()[["a", "b"]].to_numpy()
    known = dict(zip(("xy", "xz", "yz"), p, strict=True))
    own = np.array([known["".join(sorted(pair))] for pair in names])
    pairs = replace(one.pairs, p=own, p_adjusted=own)
    return replace(one, pairs=pairs, title="told")


def test_unanimous_and_majority_by_hand() -> None:
    splits = [
        told([3, 2, 1], [0.01, 0.001, 0.20]),
        told([3, 2, 1], [0.02, 0.001, 0.01]),
        told([2, 3, 1], [0.03, 0.004, 0.02]),  # y before x here: no support for x over y
    ]
    every, most = unanimous(splits), majority(splits)
    assert every.names == ("x", "y", "z")
    assert dict(zip(every.to_frame()["b"] + every.to_frame()["a"], every.p_adjusted, strict=True)) == {
        "yx": 1.0,
        "zx": 0.004,
        "zy": 0.20,
    }
    assert most.p_adjusted.tolist() == [0.02, 0.001, 0.02]
    assert every.reject(0.05).tolist() == [False, True, False]
    assert most.reject(0.05).tolist() == [True, True, True]
    assert "in each of these 3 splits" in every.claim
    assert every.best() == ("x", "y")
    assert most.best() == ("x",)
    table = agreement_over_splits(splits, alphas=[0.05])
    assert table[0.05, "pairs"].to_dict() == {"0:3": 1.0, "1:2": 2.0, "divided": 2.0}
    square = agreement_matrix(splits)
    assert square.loc["x", "y"] == 1
    assert square.loc["z", "x"] == 0
    found = found_over_splits(splits, alphas=[0.05])
    assert found.loc[0.05, ["pairs", "least", "most", "majority", "unanimous"]].tolist() == [3, 2, 3, 3, 1]


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), alpha=st.sampled_from([0.05, 0.01, 0.2]))
def test_unanimity_is_the_intersection_of_all_splits(seed: int, alpha: float) -> None:
    found = over_splits(some_scores(3, 6, seed, spread=0.02), MD3)
    pairs = [
        {(a, b) for a, b, r in zip(c.to_frame()["a"], c.to_frame()["b"], c.reject(alpha), strict=True) if r}
        for c in found
    ]
    together = unanimous(found)
    frame = together.to_frame()[together.reject(alpha)]
    assert set(zip(frame["a"], frame["b"], strict=True)) == set.intersection(*pairs)
    counts = pd.Series([pair for one in pairs for pair in one]).value_counts()
    by_most = majority(found)
    most = by_most.to_frame()[by_most.reject(alpha)]
    assert set(zip(most["a"], most["b"], strict=True)) <= set(counts[counts >= 2].index)
    assert together.reject(alpha).sum() <= by_most.reject(alpha).sum()
    total = agreement_over_splits(found, [alpha])[alpha, "pairs"]
    assert total.drop("divided").sum() == 15


def test_splits_are_the_single_fits() -> None:
    scores = some_scores()
    calls: list[tuple[int, int]] = []
    found = over_splits(
        scores, MD6, "bh", generalize=("topic",), progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(k, 5) for k in range(1, 6)]
    for i, one in enumerate(found):
        alone = compare(anova(scores.isel(split=i), MD6), "bh", generalize=("topic",))
        pd.testing.assert_frame_equal(one.to_frame(), alone.to_frame())
    boot = over_splits(scores, MD3, "bh", fit="bootstrap", null="marginal", tails=1)
    alone = compare(bootstrap_anova(scores.isel(split=3), MD3), "bh", null="marginal", tails=1)
    pd.testing.assert_frame_equal(boot[3].to_frame(), alone.to_frame())
    drawn = over_splits(scores, MD3, "bh", fit="bootstrap", n_resamples=500, seed=1)
    again = over_splits(scores.isel(split=[0, 1]), MD3, "bh", fit="bootstrap", n_resamples=500, seed=1)
    np.testing.assert_array_equal(drawn[1].p, again[1].p)
    own = over_splits(scores, MD3, "bh", fit=lambda one, model: anova(one, model))
    assert len(own) == 5


def test_bad_input_names_the_split() -> None:
    scores = some_scores()
    with pytest.raises(InputError, match="no dimension split"):
        over_splits(scores.isel(split=0), MD3)
    with pytest.raises(InputError, match="n_resamples is for"):
        over_splits(scores, MD3, n_resamples=10)
    with pytest.raises(InputError, match="unknown fit 'magic'"):
        over_splits(scores, MD3, fit="magic")  # type: ignore[arg-type]
    broken = scores.copy()
    broken[2, 0, 1, 0] = np.nan
    with pytest.raises(InputError, match=r"^split 2: "):
        over_splits(broken, MD2, "bh", fit="bootstrap")
    with pytest.raises(InputError, match="no comparisons"):
        unanimous([])
    first, second = over_splits(scores.isel(split=[0, 1]), MD3)
    with pytest.raises(InputError, match="not of the same systems"):
        unanimous([first, compare(anova(scores.isel(split=1, system=slice(1, None)), MD3))])
    with pytest.raises(InputError, match="not of the same pairs"):
        unanimous([first, compare(anova(scores.isel(split=1), MD3), baseline="s0")])
    with pytest.raises(InputError, match="unknown combination 'fisher'"):
        combined_p([first, second], "fisher")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one split"):
        summary_over_splits([first])


def rearranged(k: int, points: int = 3000) -> float:
    """Factor that the worst dependence of k p-values asks for, by rearrangement (Puccetti & Rüschendorf 2012)."""
    column = points / np.arange(points, 0.0, -1.0)
    x = np.random.default_rng(0).permuted(np.tile(column, (k, 1)), axis=1)
    for _ in range(30):
        for j in range(k):
            x[j, np.argsort(x[j] - x.sum(axis=0), kind="stable")] = column
    return float(x.sum(axis=0).min() / k)


@pytest.mark.parametrize("k", [2, 3, 5, 11])
def test_harmonic_factor_is_the_least_that_is_valid(k: int) -> None:
    assert _harmonic_factor(k) == pytest.approx(rearranged(k), rel=5e-3)
    assert _harmonic_factor(1) == 1.0


@pytest.mark.parametrize("how", [harmonic_mean_p, cauchy_p])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
def test_combined_p_values_keep_their_level(how: object, correlation: float) -> None:
    rng = np.random.default_rng(4)
    z = np.sqrt(correlation) * rng.normal(size=40_000) + np.sqrt(1 - correlation) * rng.normal(
        size=(11, 40_000)
    )
    p = how(2 * stats.norm.sf(np.abs(z)))  # type: ignore[operator]
    for alpha in (0.05, 0.01):
        assert np.mean(p <= alpha) <= alpha + 3 * np.sqrt(alpha / 40_000) + (
            0.2 * alpha if how is cauchy_p else 0
        )


def test_combinations_by_hand() -> None:
    p = np.array([0.01, 0.2, 0.05])
    expected = 0.5 - np.arctan(np.mean(np.tan((0.5 - p) * np.pi))) / np.pi
    assert cauchy_p(p) == pytest.approx(expected)
    assert harmonic_mean_p(p) == pytest.approx(_harmonic_factor(3) * stats.hmean(p))
    assert cauchy_p(np.array([1e-200, 1e-200])) == pytest.approx(1e-200)
    assert cauchy_p(np.array([0.0, 1.0])) < 1e-15
    assert harmonic_mean_p(np.array([0.0, 1.0])) == 0.0
    splits = over_splits(some_scores(), MD3)
    both = [combined_p(splits, how) for how in ("harmonic", "cauchy")]  # type: ignore[arg-type]
    for one in both:
        np.testing.assert_allclose(one.p_adjusted, stats.false_discovery_control(one.p), atol=1e-12)
        assert "for any of these 5 splits" in one.claim
    small = both[0].p < 0.2
    assert small.sum() > 10
    assert (both[1].p[small] <= both[0].p[small]).all()
    assert cauchy_p(np.array([1e-6, 1.0, 0.5])) < 1e-5


def test_summary_over_splits_is_what_numpy_says() -> None:
    scores = some_scores(6)
    found = over_splits(scores, MD6)
    whole = scores.mean(("split", "topic", "shard"))
    table = summary_over_splits(found, whole)
    significant = [int(c.reject().sum()) for c in found]
    assert table.loc["significant", "mean"] == pytest.approx(np.mean(significant))
    interval = stats.t.interval(0.95, 5, np.mean(significant), stats.sem(significant))
    assert table.loc["significant", "half_width"] == pytest.approx((interval[1] - interval[0]) / 2)
    taus = [
        stats.kendalltau(whole.to_numpy(), scores.isel(split=i).mean(("topic", "shard")).to_numpy()).statistic
        for i in range(6)
    ]
    assert table.loc["tau", "mean"] == pytest.approx(np.mean(taus))
    assert table.loc["tau", ["least", "most"]].tolist() == pytest.approx([min(taus), max(taus)])
    width = [2 * (c.intervals(kind="comparison")["upper"] - c.means).iloc[0] for c in found]
    assert table.loc["interval_width", "mean"] == pytest.approx(np.mean(width))
    assert table.loc["common", "mean"] == unanimous(found).reject().sum()
    assert table.loc["share_significant", "mean"] == pytest.approx(np.mean(significant) / 28)
    assert np.isnan(half_width(np.array([1.0])))
    with pytest.raises(InputError, match="mean per system"):
        summary_over_splits(found, scores.isel(split=0, topic=0))


def test_within_and_across() -> None:
    scores = some_scores(1, 9, spread=0.05).isel(split=0)
    sets = {"one": ["s0", "s1", "s2"], "two": ["s5", "s8"]}
    result = within_across(scores, sets, null="marginal", tails=1)
    assert list(result.widths.index) == ["across", "confined", "within"]
    assert list(result.widths.columns) == ["MD2", "MD3"]
    assert len(result.decisions) == 4
    everything = bootstrap_anova(scores, MD3)
    inside = compare(everything, "bh", only=sets["one"], null="marginal", tails=1)
    rows = result.decisions[result.decisions["set"] == "one"]
    assert (rows["confined"] != 0).sum() == inside.reject().sum()
    alone = bootstrap_anova(scores.sel(system=sets["two"]), MD3)
    frame = alone.intervals()
    width = (frame["upper"] - frame["lower"]).mean()
    other = bootstrap_anova(scores.sel(system=sets["one"]), MD3).intervals()
    expected = (3 * (other["upper"] - other["lower"]).mean() + 2 * width) / 5
    assert result.widths.loc["within", "MD3"] == pytest.approx(expected)
    overall = everything.intervals()
    assert result.widths.loc["across", "MD3"] == pytest.approx((overall["upper"] - overall["lower"]).mean())
    agreement = result.agreement()
    assert agreement.loc["across / within", "pairs"] == 4
    by_anova = within_across(scores, sets, (MD2, MD6), bootstrap=False, method="hsd")
    assert list(by_anova.widths.columns) == ["MD2", "MD6"]
    with pytest.raises(InputError, match="fewer than two"):
        within_across(scores, {"lonely": ["s0"]})
    with pytest.raises(InputError, match="unknown system 'x'"):
        within_across(scores, {"odd": ["s0", "x"]})
    with pytest.raises(InputError, match="no sets"):
        within_across(scores, {})


def test_whole_collection_splits_need_no_shards() -> None:
    """A split dimension over topics alone: any replicates of the experiment can be compared this way."""
    scores = some_scores().mean("shard")
    assert len(over_splits(scores, MD1)) == 5
