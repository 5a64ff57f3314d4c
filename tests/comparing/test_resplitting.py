"""Means averaged over splits: the variance that this leaves, how many splits are enough, quantiles of p-values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from bench.resplit import ResplitScenario
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import shardwise as sw
from procedure_tables import labelled
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.names import parse_procedure
from shardwise.methods.splits import remaining_share, removable_share, satterthwaite_df, splits_enough
from shardwise.methods.tables import SPLITS, Tables
from shardwise.stats.corrections import quantile_p

SD = VarianceComponents.of({"topic": 0.20, "topic:system": 0.08, "error": 0.06}, kind="sd")


def table(share: float, shape: tuple[int, ...] = (6, 20, 5, 4), seed: int = 1) -> xr.DataArray:
    scenario = ResplitScenario(0.4 + 0.01 * np.arange(shape[2]), SD, shape, share)
    return labelled(scenario.draw(0, 1, seed)[0], *SPLITS)


def by_hand(y: np.ndarray) -> tuple[np.ndarray, float, float]:
    """System means over splits, the variance of one of them under MD6, and its df, from residuals and nothing else."""
    j, t, r, s = y.shape
    mean = {
        axes: y.mean(axis=axes, keepdims=True)
        for axes in [(3,), (2,), (1,), (2, 3), (1, 3), (1, 2), (1, 2, 3)]
    }
    residual = y - mean[3,] - mean[2,] - mean[1,] + mean[2, 3] + mean[1, 3] + mean[1, 2] - mean[1, 2, 3]
    df = (t - 1) * (r - 1) * (s - 1)
    v = float(np.mean((residual**2).sum(axis=(1, 2, 3)) / df)) / (t * s)
    system = y.mean(axis=(1, 3))
    centred = system - system.mean(axis=1, keepdims=True)
    b = float(((centred - centred.mean(axis=0)) ** 2).sum()) / ((j - 1) * (r - 1))
    taken = (1 - 1 / j) * min(b / v, 0.5)
    return (
        system.mean(axis=0),
        v * (1 - taken),
        (1 - taken) ** 2 / (1 / df + taken**2 / ((j - 1) * (r - 1))),
    )


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_the_mean_over_splits_is_what_numpy_says(share: float) -> None:
    scores = table(share)
    means, variance, df = by_hand(scores.to_numpy())
    found = sw.compare(scores, "mean MD6 hsd")
    names = {str(k): value for k, value in enumerate(means)}
    assert dict(zip(found.estimates.labels, found.estimates.values, strict=True)) == pytest.approx(names)
    assert found.estimates.variance == pytest.approx(variance)
    assert found.estimates.df == pytest.approx(df)
    q = found.difference / np.sqrt(variance)
    assert found.p_adjusted == pytest.approx(stats.studentized_range.sf(q, 5, df), abs=1e-6)
    assert found.claim == "exactly these 20 topics, any split (6 seen)"


def test_a_test_of_pairs_is_averaged_like_a_model() -> None:
    scores = table(0.2)
    each = [sw.compare(scores.isel(split=i), "moderated holm these") for i in range(6)]
    found = sw.compare(scores, "mean moderated holm these").to_frame().set_index(["a", "b"])
    noise = sw.stability.split_noise(each)
    assert noise is not None
    frames = [one.to_frame() for one in each]
    for (a, b), row in found.iterrows():
        rows = [f[(f["a"].isin([a, b])) & (f["b"].isin([a, b]))].iloc[0] for f in frames]
        assert row["difference"] == pytest.approx(
            np.mean([x["difference"] * (1 if x["a"] == a else -1) for x in rows])
        )
        assert row["se"] == pytest.approx(np.sqrt(np.mean([x["se"] ** 2 for x in rows]) * noise.left))


def test_gaps_are_left_out_split_by_split() -> None:
    scores = table(0.2)
    scores[2, 3, :, 1] = np.nan
    found = sw.compare(scores, "mean MD6 hsd topic")
    each = [sw.compare(sw.anova(scores.isel(split=i), sw.MD6), generalize="topic") for i in range(6)]
    means = [dict(zip(c.estimates.labels, c.estimates.values, strict=True)) for c in each]
    for name, value in zip(found.estimates.labels, found.estimates.values, strict=True):
        assert value == pytest.approx(np.mean([one[name] for one in means]))
    assert np.isfinite(found.p_adjusted).all()


@given(st.floats(0, 1), st.integers(2, 200), st.integers(2, 50), st.floats(5, 1e4))
def test_averaging_removes_no_more_than_there_is(share: float, splits: int, systems: int, df: float) -> None:
    kept = float(remaining_share(np.array(share), splits))
    assert max(1 / splits, 0.5) - 1e-12 <= kept <= 1.0
    assert kept >= 1.0 - share * (1 - 1 / splits) - 1e-12
    assert 0.0 < float(satterthwaite_df(df, np.array(share), splits, systems)) <= df * (1 + 1e-12)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_variance_left_is_that_of_the_mean_over_splits(share: float) -> None:
    """Over fresh documents: the mean over splits varies as V - (1 - 1/J) B says, and one split as V."""
    shape = (5, 12, 4, 3)
    y = ResplitScenario(np.full(4, 0.4), SD, shape, share).draw(0, 1500, 3)
    system = y.mean(axis=(2, 4))
    ia, ib = np.triu_indices(4, 1)
    d = system[..., ia] - system[..., ib]
    one, mean = d[:, 0].var(), d.mean(axis=1).var()
    # 1500 tables with 3 free differences each: a variance is known to 2 %, the ratio to less as both share tables
    assert mean / one == pytest.approx(1 - (1 - 1 / 5) * share, abs=0.05)
    found = removable_share(np.moveaxis(d, 1, 0), np.full(d.shape, 2 * 0.06**2 / 36).swapaxes(0, 1))
    assert found.mean() == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(("share", "p"), [(0.02, 0.01), (0.13, 0.001), (0.3, 0.05)])
def test_enough_splits_make_p_values_steady(share: float, p: float) -> None:
    """Twenty sets of splits, drawn 4000 times: .95 of the largest p-values are less than twice the smallest."""
    many = splits_enough(share, p=p)
    kept = 1 - share * (1 - 1 / many)
    rng = np.random.default_rng(5)
    t = stats.norm.isf(p / 2) + rng.normal(0, np.sqrt(share / many / kept), (4000, 20))
    drawn = 2 * stats.norm.sf(t)
    steady = float(np.mean(drawn.max(axis=1) < 2 * drawn.min(axis=1)))
    # .95 by a straight line for log p, whose slope grows with t: a point is lost; 4000 draws know it to .01
    assert steady == pytest.approx(0.95, abs=0.025)
    assert splits_enough(share, p=p, factor=4) < many


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=40))
def test_quantile_p_is_the_least_over_all_quantiles(values: list[float]) -> None:
    p = np.array(values)
    grid = np.linspace(0.0500001, 1.0, 4001)
    exact = np.union1d(grid, np.arange(1, p.size + 1) / p.size)
    exact = exact[exact >= 0.05]
    places = np.maximum(np.ceil(exact * p.size - 1e-9).astype(int), 1)
    least = min(1.0, (1 - np.log(0.05)) * min(1.0, float(np.min(np.sort(p)[places - 1] / exact))))
    assert float(quantile_p(p)) == pytest.approx(least)


@pytest.mark.calibration
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_rules_keep_their_level_and_the_mean_finds_most(share: float) -> None:
    """MD6 with Tukey HSD, where splits share their documents and where they do not."""
    shape, count = (11, 20, 5, 4), 600
    rules = ("first", "mean", "unanimous", "majority")
    equal = Tables(ResplitScenario(np.full(5, 0.4), SD, shape, share).draw(0, count, 1), SPLITS)
    apart = Tables(ResplitScenario(0.4 + 0.01 * np.arange(5), SD, shape, share).draw(0, 200, 2), SPLITS)
    error = {
        r: float((parse_procedure(f"{r} MD6 hsd").decide(equal).p_adjusted <= 0.05).any(axis=1).mean())
        for r in rules
    }
    power = {
        r: float((parse_procedure(f"{r} MD6 hsd").decide(apart).p_adjusted <= 0.05).mean()) for r in rules
    }
    for rate in error.values():
        assert rate < 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)
    assert power["mean"] >= power["unanimous"]
    if share:
        assert power["mean"] > max(power["first"], power["majority"], power["unanimous"])
    for rule in ("quantile", "harmonic", "cauchy"):
        rate = float(
            (parse_procedure(f"{rule} MD6 holm").decide(equal).p_adjusted <= 0.05).any(axis=1).mean()
        )
        assert rate < 0.05 + 3 * np.sqrt(0.05 * 0.95 / count)


@pytest.mark.full
def test_the_best_two_of_trec_covid_are_told_alike_by_any_splits(data: Path, covid_runs: Path) -> None:
    """One split is a lottery; with as many as are said to be enough, 20 sets of splits agree within a factor 2."""
    qrels = data / "trec-covid-r1" / "qrels.covid-round1.txt"
    everyone = sw.score(sw.read_collection(covid_runs, qrels, names="file"), ["P@10"])["P@10"].mean("topic")
    runs = sw.read_collection([covid_runs / name for name in everyone.to_series().nlargest(15).index], qrels)
    first = sw.fill_undefined(
        sw.score(runs, ["P@10"], sw.split(runs, 5, n_splits=20, seed=99))["P@10"], "zero"
    )
    each = [sw.compare(first.isel(split=i), "MD6 none") for i in range(20)]
    noise = sw.stability.split_noise(each)
    assert noise is not None
    best = each[0].names[:2]
    alone = [_p(one, best) for one in each]
    assert max(alone) > 4 * min(alone)
    together = []
    for seed in range(20):
        cut = sw.split(runs, 5, n_splits=noise.enough, seed=seed)
        scores = sw.fill_undefined(sw.score(runs, ["P@10"], cut)["P@10"], "zero")
        together.append(_p(sw.compare(scores, "mean MD6 none"), best))
    assert max(together) < 2 * min(together)


def _p(found: sw.Comparisons, pair: tuple[str, ...]) -> float:
    frame = found.to_frame()
    return float(frame.loc[frame["a"].isin(pair) & frame["b"].isin(pair), "p"].iloc[0])


def test_several_splits_are_averaged_unless_another_rule_is_named() -> None:
    scores = table(0.2)
    found = sw.analyze(scores, method="hsd")
    assert [one.procedure.name for one in found.claims] == ["mean MD6 hsd", "mean MD6 hsd topic"]
    assert found.splits[0].noise is not None
    usual = sw.analyze(scores, n_resamples=199)
    assert [one.procedure.name for one in usual.claims] == ["mean moderated holm these", "moderated"]
    named = sw.analyze(scores, method="unanimous MD6 hsd topic")
    each = sw.stability.over_splits(scores, sw.MD6, "hsd", generalize="topic")
    assert named.lead.n_significant == int(sw.stability.unanimous(each).reject().sum())
    assert (
        parse_procedure("banova MD3 marginal-1 bh").for_layout(SPLITS).name
        == "quantile banova MD3 marginal-1 bh"
    )
    with pytest.raises(InputError, match="cannot take scores by topic, system, shard"):
        sw.compare(scores.isel(split=0), "unanimous MD6 hsd")
    with pytest.raises(InputError, match="one split shows no spread"):
        sw.stability.split_noise(each[:1])
    assert sw.stability.split_noise([sw.stability.unanimous(each)] * 2) is None
