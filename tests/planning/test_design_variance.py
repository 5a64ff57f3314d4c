"""Variance estimates and their pooling, against statsmodels, brute force and S14 Table 3."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm

from shardwise.core.errors import InputError
from shardwise.planning.variances import (
    TWO_WAY,
    VarianceEstimate,
    mean_squares,
    variance,
)

GOLD = Path(__file__).parent.parent / "gold"


def scores(seed: int = 1, topics: int = 12, systems: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = (
        rng.beta(1, 3, (topics, 1))
        + rng.normal(0, 0.05, (1, systems))
        + rng.normal(0, 0.1, (topics, systems))
    )
    return pd.DataFrame(y, index=[f"t{i}" for i in range(topics)], columns=[f"s{j}" for j in range(systems)])


def long(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename_axis(index="topic", columns="system").stack().rename("score").reset_index()


def test_mean_squares_are_those_of_statsmodels() -> None:
    table = anova_lm(smf.ols("score ~ topic + system", long(scores())).fit())
    ms = mean_squares(scores().to_numpy(), TWO_WAY)
    np.testing.assert_allclose(
        [ms["topic"], ms["system"], ms["error"]],
        table.loc[["topic", "system", "Residual"], "mean_sq"],
        rtol=1e-10,
    )


def test_anova_estimates_follow_from_the_mean_squares_of_statsmodels() -> None:
    n, m = scores().shape
    two = anova_lm(smf.ols("score ~ topic + system", long(scores())).fit())["mean_sq"]
    one = anova_lm(smf.ols("score ~ system", long(scores())).fit())["mean_sq"]
    expected = {
        "two-way": (m - 1) / (m * n) * (two["system"] - two["Residual"])
        + (two["topic"] - two["Residual"]) / m
        + two["Residual"],
        "one-way": (m - 1) / (m * n) * (one["system"] - one["Residual"]) + one["Residual"],
        "residual": two["Residual"],
    }
    for method, value in expected.items():
        assert variance(scores(), method).sigma_sq == pytest.approx(value, rel=1e-10)


def test_percentile_is_that_of_all_pairs_one_by_one() -> None:
    y = scores(systems=9).to_numpy()
    each = sorted(np.var(y[:, a] - y[:, b], ddof=1) for a, b in combinations(range(9), 2))
    assert len(each) == 36
    estimate = variance(y, "percentile95")
    # 95 % of 36 pairs are 34.2, so the 35th in order is the first with at least that share at or below it
    assert 2 * estimate.sigma_sq == pytest.approx(each[34], rel=1e-10)
    assert estimate.sigma_sq == pytest.approx(each[34] / 2, rel=1e-10)


def test_residual_is_half_the_mean_variance_of_a_difference() -> None:
    y = scores(systems=6).to_numpy()
    each = [np.var(y[:, a] - y[:, b], ddof=1) for a, b in combinations(range(6), 2)]
    assert 2 * variance(y, "residual").sigma_sq == pytest.approx(np.mean(each), rel=1e-10)


@given(
    shift=st.floats(-5, 5),
    scale=st.floats(0.1, 10),
    method=st.sampled_from(["two-way", "one-way", "residual"]),
)
def test_variance_ignores_the_origin_and_goes_with_the_square_of_the_unit(
    shift: float, scale: float, method: str
) -> None:
    y = scores().to_numpy()
    assert variance(y * scale + shift, method).sigma_sq == pytest.approx(
        variance(y, method).sigma_sq * scale**2, rel=1e-6
    )


def test_labelled_arrays_in_either_order_and_datasets_give_the_same() -> None:
    table = scores()
    array = xr.DataArray(table.to_numpy(), dims=("topic", "system"), name="AP")
    alone = variance(table)
    assert (alone.topics, alone.systems, alone.df, alone.measure) == (12, 5, 11, "")
    assert variance(array.transpose("system", "topic")).sigma_sq == pytest.approx(alone.sigma_sq)
    both = xr.Dataset({"AP": array, "P@10": array * 2})
    first, other = (variance(both, measure=name) for name in both.data_vars)
    assert float(other) == pytest.approx(4 * float(first))
    assert first.measure == "AP"
    assert alone.sigma_sq < variance(table, "two-way").sigma_sq


def test_pooling_reproduces_table_3() -> None:
    for row in pd.read_csv(GOLD / "design_s14_table3.csv", comment="#").itertuples():
        parts = [
            VarianceEstimate(row.sigma_sq_1, row.topics_1, row.systems_1, row.topics_1 - 1, "two-way"),
            VarianceEstimate(row.sigma_sq_2, row.topics_2, row.systems_2, row.topics_2 - 1, "two-way"),
        ]
        # both the parts and the result are printed to four places
        assert float(parts[0].pool(parts[1])) == pytest.approx(row.pooled, abs=1.01e-4)


def test_pooling_and_its_weights() -> None:
    few, many = scores(1, topics=6), scores(2, topics=40)
    pooled = variance(few).pool(variance(many))
    assert pooled.sigma_sq == pytest.approx((5 * float(variance(few)) + 39 * float(variance(many))) / 44)
    assert (pooled.topics, pooled.df) == (46, 44)
    assert "pooled over 2 collections" in str(pooled)
    assert variance(few).pool() == variance(few)


def test_real_scores_show_what_pairing_by_topic_is_worth(trec3: Path) -> None:
    table = pd.read_csv(trec3)
    ms = mean_squares(table.to_numpy(), TWO_WAY)
    rounded = [round(ms[name], digits) for name, digits in (("system", 5), ("topic", 5), ("error", 6))]
    assert rounded == [0.36926, 0.91661, 0.01092]
    assert float(variance(table, "one-way")) < float(variance(table, "two-way"))  # S14 §5.1
    assert float(variance(table, "percentile95")) < float(variance(table, "one-way"))
    assert float(variance(table, "residual")) < 0.4 * float(variance(table, "two-way"))


@pytest.mark.parametrize(
    ("table", "method", "reason"),
    [
        (np.zeros((1, 3)), "two-way", "have 1 topic; give at least 2"),
        (np.zeros(3), "two-way", "1 dimensions"),
        (np.array([["a", "b"], ["c", "d"]]), "two-way", "something other than numbers"),
        (np.array([[0.1, np.nan], [0.1, 0.2]]), "two-way", "topic 0, system 1"),
        (scores(), "three-way", "choose one of residual"),
        (xr.DataArray(np.zeros((2, 2, 2)), dims=("topic", "system", "shard")), "two-way", "mean"),
    ],
)
def test_refusals(table: np.ndarray, method: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        variance(table, method)


def test_pooling_refuses_unlike_things() -> None:
    with pytest.raises(InputError, match="different methods"):
        variance(scores()).pool(variance(scores(), "one-way"))


@pytest.mark.parametrize(("topics", "systems"), [(40, 2), (40, 8), (120, 4)])
def test_normal_scores_are_worth_the_degrees_of_the_residual(topics: int, systems: int) -> None:
    """Var(MS) = 2σ⁴/((n-1)(m-1)); the jackknife finds it on average over tables (cut at the most there can be)."""
    rng = np.random.default_rng(5)
    tables = [rng.normal(0, 1, (topics, 1)) + rng.normal(0, 0.3, (topics, systems)) for _ in range(200)]
    found = [variance(table) for table in tables]
    doubt = np.mean([1 / one.effective_df for one in found])
    most = (topics - 1) * (systems - 1)
    assert 1.0 <= doubt * most < 1.25
    spread = np.var([one.sigma_sq for one in found])
    # the standard error of a variance out of 200 is a tenth of it
    assert 2 * 0.3**4 * doubt == pytest.approx(spread, rel=0.35)


def test_systems_that_err_together_are_worth_fewer_degrees() -> None:
    rng = np.random.default_rng(6)
    twins = rng.normal(0, 1, (100, 2)).repeat(10, axis=1) + rng.normal(0, 1e-3, (100, 20))
    assert variance(twins).effective_df == pytest.approx(99, rel=0.4)  # as of two systems, not (n-1)·19
    few = variance(rng.normal(0, 1, (3, 2)))
    assert np.isnan(few.effective_df)


def test_pooled_doubt_is_that_of_the_weighted_sum() -> None:
    rng = np.random.default_rng(7)
    parts = [variance(rng.normal(0, 1, (n, 3))) for n in (20, 60)]
    pooled = parts[0].pool(parts[1])
    weights = [19 / 78, 59 / 78]
    doubt = sum((w * p.sigma_sq) ** 2 * 2 / p.effective_df for w, p in zip(weights, parts, strict=True))
    assert 2 * pooled.sigma_sq**2 / pooled.effective_df == pytest.approx(doubt)
    assert pooled.paired is True
