"""Intervals of comparisons that use the range of the scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import shardwise as sw
from shardwise.core.scores import as_scores
from shardwise.methods.tables import find_range
from shardwise.stats import intervals


def answers(items: int = 40, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=(items, 1))
    y = 0.8 * hard + 0.6 * rng.normal(size=(items, 3)) < [1.0, 1.3, 2.0]
    return pd.DataFrame(y.astype(float), columns=["x", "y", "z"])


def test_means_of_answers_are_wilsons_with_students_t() -> None:
    """statsmodels' interval at the level whose normal point is Student's."""
    table = answers()
    found = sw.compare(table).intervals()
    level = 2 * stats.norm.sf(stats.t.isf(0.025, 39))
    for name in table:
        theirs = proportion_confint(table[name].sum(), 40, level, method="wilson")
        assert found.loc[name, ["lower", "upper"]].to_numpy(float) == pytest.approx(theirs, abs=1e-12)


def test_always_right_has_an_interval() -> None:
    table = answers().assign(always=1.0)
    found = sw.compare(table).intervals()
    assert found.loc["always", "upper"] == 1.0
    assert 0.85 < found.loc["always", "lower"] < 0.95
    assert (found["lower"] >= 0.0).all()
    assert (found["upper"] <= 1.0).all()


def test_two_systems_that_agree_are_not_known_to_be_equal() -> None:
    table = pd.DataFrame({"a": np.ones(20), "b": np.ones(20)})
    row = sw.compare(table).to_frame().iloc[0]
    c = stats.t.isf(0.025, 19)
    assert [-row["lower"], row["upper"]] == pytest.approx([c**2 / (20 + c**2)] * 2, rel=1e-9)


def test_sparse_differences_have_score_limits() -> None:
    table = answers()
    found = sw.compare(table, "t none").to_frame()
    for row in found.itertuples():
        moments = intervals.pair_moments(table[row.a].to_numpy(), table[row.b].to_numpy())
        lower, upper = intervals.difference_limits(moments, stats.t.isf(0.025, 39))
        if row.p <= 0.05:
            lower = max(lower, 0.0)
        assert [row.lower, row.upper] == pytest.approx([float(lower), float(upper)], abs=1e-9)


def test_dense_differences_keep_their_width() -> None:
    rng = np.random.default_rng(2)
    y = rng.beta(3, 3, (40, 1)) * 0.6 + rng.uniform(0, 0.4, (40, 3))
    found = sw.compare(pd.DataFrame(y, columns=list("abc")), "t none").to_frame()
    half = stats.t.isf(0.025, 39) * found["se"]
    assert (found["upper"] - found["difference"]).to_numpy() == pytest.approx(half.to_numpy())


def test_limits_do_not_contradict_the_test() -> None:
    for seed in range(12):
        found = sw.compare(answers(30, seed)).to_frame()
        significant = found["p_adjusted"] <= 0.05
        assert (found.loc[significant, "lower"] >= 0.0).all()


def test_clusters_widen_both() -> None:
    table = answers(60)
    scores = xr.DataArray(table, dims=("topic", "system"), coords={"system": list(table)})
    clustered = scores.assign_coords(cluster=("topic", np.repeat(np.arange(12), 5)))
    plain, wide = (sw.compare(one) for one in (scores, clustered))
    widths = [one.intervals()["upper"] - one.intervals()["lower"] for one in (plain, wide)]
    assert (widths[1] > widths[0]).all()
    gaps = [one.to_frame()["upper"] - one.to_frame()["lower"] for one in (plain, wide)]
    assert gaps[1].mean() > gaps[0].mean()


def test_seeds_add_to_the_items() -> None:
    rng = np.random.default_rng(7)
    y = (rng.random((40, 2, 4)) < 0.9 + rng.normal(0, 0.05, (1, 2, 4))).astype(float)
    scores = xr.DataArray(y, dims=("topic", "system", "instance"), coords={"system": ["a", "b"]})
    seeds, samples = (sw.compare(scores, repeats=kind).intervals() for kind in ("seeds", "samples"))
    assert ((seeds["upper"] - seeds["lower"]) >= (samples["upper"] - samples["lower"]) - 1e-12).all()


def test_declared_ranges_scale() -> None:
    table = answers()
    unit = sw.compare(table).to_frame()
    scaled = sw.as_scores(4.0 * table + 1.0, range=(1.0, 5.0))
    found = sw.compare(scaled).to_frame()
    for name in ("difference", "lower", "upper"):
        assert found[name].to_numpy() == pytest.approx(4.0 * unit[name].to_numpy(), abs=1e-9)
    with pytest.raises(sw.InputError, match="outside the range"):
        sw.compare(table, range=(0.2, 0.8))


@pytest.mark.parametrize("side", ["both", "lower"])
def test_margins_are_tested_within_the_range(side: str) -> None:
    table = answers()[["x", "y"]]
    found = sw.equivalence(sw.compare(table, "t none", baseline="x"), 0.1, side).table.iloc[0]
    moments = intervals.pair_moments(table["y"].to_numpy(), table["x"].to_numpy())
    p = [float(intervals.one_sided_p(moments, sign * -0.1, sign=sign)) for sign in (1.0, -1.0)]
    assert found["p"] == pytest.approx(max(p) if side == "both" else p[0])
    limits = intervals.difference_limits(moments, stats.t.isf(0.05, 39))
    assert [found["lower"], found["upper"]] == pytest.approx([float(x) for x in limits])


def test_twenty_right_answers_are_not_equivalent_within_a_hundredth() -> None:
    found = sw.equivalence(sw.compare(pd.DataFrame({"a": np.ones(20), "b": np.ones(20)})), 0.01)
    assert not found.holds
    assert found.smallest_margin > 0.1


def test_a_measure_without_bounds_is_not_taken_for_a_share(tmp_path: Path) -> None:
    """DCG of one shallow rank lies in [0, 1] here, and would not with other grades; AP never leaves it."""
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{q} 0 d{d} {int(d < 2)}\n" for q in range(6) for d in range(5))
    )
    for name, shift in (("a", 0), ("b", 1)):
        lines = (
            f"{q} Q0 d{(d + shift * (q % 2)) % 5} 0 {9 - d} {name}\n" for q in range(6) for d in range(5)
        )
        (tmp_path / f"{name}.run").write_text("".join(lines))
    runs = sw.read_collection([tmp_path / "a.run", tmp_path / "b.run"], tmp_path / "qrels.txt")
    scores = sw.score(runs, ["AP", "DCG@1"])
    assert float(scores["DCG@1"].max()) <= 1.0
    assert find_range(as_scores(scores["AP"])) is not None
    assert find_range(as_scores(scores["DCG@1"])) is None


def test_the_half_width_of_an_unequal_interval_is_its_longer_side() -> None:
    pairs = sw.compare(answers().assign(always=1.0))
    lower, upper = pairs.limits()
    sides = np.stack([pairs.difference - lower, upper - pairs.difference])
    assert (np.ptp(sides, axis=0) > 1e-3).any()
    np.testing.assert_array_equal(pairs.half_widths(), sides.max(axis=0))
