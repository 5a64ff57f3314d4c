"""Planning: variances by simulation, power by scipy, budgets by brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import instance_results as tests
from shardwise.comparing.instances import compare_instances
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.mixed.fit import mixed
from shardwise.planning.components import variance_components
from shardwise.planning.instances import (
    equivalence_power,
    p_value_spread,
    plan_budget,
    plan_equivalence,
    plan_instances,
    two_sided_power,
    variance_grid,
    what_next,
)

FRAME = pd.DataFrame(np.eye(3))
C = VarianceComponents({"topic:system": 0.01, "system:instance": 0.0009, "error": 0.0064})
CLAIM = ("topic", "instance")


def precision(parts: VarianceComponents, m: Any, n: Any) -> tuple[np.ndarray, np.ndarray]:
    return parts.variance_of_difference(CLAIM, {"topic": n, "instance": m})


def systems(size: int, m: int, n: int, effect: float = 0.0, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    topic = rng.normal(0, 0.2, (size, 1, n))
    y = [
        topic
        + rng.normal(0, 0.1, (size, 1, n))
        + rng.normal(0, 0.03, (size, m, 1))
        + rng.normal(0, 0.08, (size, m, n))
        for _ in range(2)
    ]
    return y[0] + effect, y[1]


@pytest.mark.parametrize(("m", "n"), [(3, 20), (10, 40)])
def test_variance_and_df_are_those_of_the_unified_test(m: int, n: int) -> None:
    a, b = systems(3000, m, n)
    found = tests.unified(a, b)
    variance, df = precision(C, m, n)
    assert found.difference.var() == pytest.approx(float(variance), rel=0.1)
    assert found.variance.mean() == pytest.approx(float(variance), rel=0.05)
    assert np.median(found.df) == pytest.approx(float(df), rel=0.25)


def test_power_is_scipys_and_is_reached() -> None:
    power = two_sided_power(0.05, np.array([0.02]), np.array([30.0]), 0.05)
    critical = stats.t.isf(0.025, 30)
    gold = stats.nct.sf(critical, 30, 2.5) + stats.nct.cdf(-critical, 30, 2.5)
    assert power[0] == pytest.approx(gold)
    assert two_sided_power(0.05, np.array([0.0]), np.array([30.0]), 0.05)[0] == 1.0
    plan = plan_instances(C, min_diff=0.06, topics=[60]).iloc[0]
    a, b = systems(1500, int(plan["instances"]), 60, 0.06)
    reached = (tests.unified(a, b).p <= 0.05).mean()
    assert reached == pytest.approx(plan["power"], abs=0.05)


def test_instances_cannot_make_up_for_topics() -> None:
    plan = plan_instances(C, min_diff=0.05, topics=[20, 200, 400])
    assert plan["instances"].isna().tolist() == [True, False, False]
    assert plan["instances"].iloc[1] >= plan["instances"].iloc[2]
    grid = variance_grid(C, [2, 10, 100], [10, 100])
    assert (np.diff(grid.to_numpy(), axis=0) < 0).all()
    assert (np.diff(grid.to_numpy(), axis=1) < 0).all()
    assert grid.loc[10, 100] == pytest.approx(np.sqrt(0.02 / 100 + 2 * (0.0009 / 10 + 0.0064 / 1000)))


@settings(max_examples=25)
@given(
    st.integers(200, 3000),
    st.integers(1, 20),
    st.integers(1, 20),
    st.floats(0.0, 0.2),
    st.sampled_from([1, 2]),
)
def test_no_other_split_of_the_budget_is_better(
    budget: int, per_topic: int, per_instance: int, per_run: float, random: int
) -> None:
    c = replace(C, random=random)
    plan = plan_budget(c, budget, per_topic=per_topic, per_instance=per_instance, per_run=per_run,
                       most_instances=40, most_topics=300)  # fmt: skip
    m, n = np.meshgrid(np.arange(2.0, 41), np.arange(2.0, 301), indexing="ij")
    cost = per_topic * n + random * m * (per_instance + per_run * n)
    variance, df = precision(c, m, n)
    half = np.where(cost <= budget, stats.t.isf(0.025, df) * np.sqrt(variance), np.inf)
    assert plan.cost <= budget * (1 + 1e-9)
    assert plan.half_width == pytest.approx(half.min(), rel=0.01)


def test_components_from_results() -> None:
    a, b = (y[0] for y in systems(1, 30, 400))
    frames = pd.DataFrame(a.T), pd.DataFrame(b.T)
    for found in (
        variance_components(*frames),
        variance_components(mixed(xr.DataArray(np.stack((a, b)), dims=("system", "instance", "topic")))),
    ):
        assert found.random == 2
        assert found["topic:system"] == pytest.approx(0.01, rel=0.2)
        assert found["instance"] == pytest.approx(0.0009, rel=0.5)
        assert found["residual"] == pytest.approx(0.0064, rel=0.05)
        se = np.sqrt(float(precision(found, 30, 400)[0]))
        assert se == pytest.approx(compare_instances(*frames).se, rel=1e-6)


def test_p_values_settle_with_more_instances() -> None:
    """J15 Fig. 9."""
    a, b = (y[0] for y in systems(1, 100, 50, effect=0.02, seed=4))
    frame, base = pd.DataFrame(a.T), pd.Series(b[0])
    table = p_value_spread(frame, base, [2, 10, 50], seed=1, repeats=200)
    width = (table["upper"] - table["lower"]).to_numpy()
    assert width[0] > 1.2 * width[1] > 1.4 * width[2]
    assert table.equals(p_value_spread(frame, base, [2, 10, 50], seed=1, repeats=200))
    every = p_value_spread(frame, base, [100], replace=False, repeats=3).iloc[0]
    gold = compare_instances(frame, base).p[0]
    assert (every["lower"], every["median"], every["upper"]) == pytest.approx((gold, gold, gold))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: VarianceComponents({"topic:system": -1.0}), "cannot be below 0"),
    (lambda: VarianceComponents({"error": 1.0}, random=3), "3 of two systems"),
    (lambda: plan_instances(C, min_diff=0), "min_diff = 0: it must be positive"),
    (lambda: plan_budget(C, 10), "costs must not be negative"),
    (lambda: plan_budget(C, 3, per_topic=5), "does not pay for 2 instances and 2 topics, which cost 10"),
    (lambda: variance_grid(C, [0], [10]), "instances must be whole and at least 1"),
    (lambda: p_value_spread(FRAME, pd.Series(np.ones(3)), [5], replace=False), "fewer than 5"),
    (lambda: variance_components(pd.Series(np.zeros(3)), pd.Series(np.ones(3))), "no repeats"),
])  # fmt: skip
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_crossed_models_are_no_base_for_planning() -> None:
    y = np.random.default_rng(1).normal(size=(2, 3, 8))
    with pytest.raises(InputError, match="how much repeats of a system vary"):
        plan_instances(mixed(xr.DataArray(y, dims=("system", "instance", "topic")), "crossed"), min_diff=0.1)


def test_the_power_of_equivalence_is_that_of_a_simulation() -> None:
    """Two one-sided tests at .05 of normal means, 20,000 draws: the Monte-Carlo error is .0035."""
    g = np.random.default_rng(1)
    se, df, margin, size = 0.01, 12.0, 0.03, 20_000
    for difference in (0.0, 0.01):
        mean, own = g.normal(difference, se, size), se * np.sqrt(g.chisquare(df, size) / df)
        held = np.abs(mean) + stats.t.isf(0.05, df) * own < margin
        found = equivalence_power(margin, difference, np.array([se]), np.array([df]), 0.05)
        assert found[0] == pytest.approx(held.mean(), abs=0.012)


def test_what_comes_next_is_the_grid_of_errors() -> None:
    parts = VarianceComponents({"topic:system": 0.01, "system:instance": 0.0009, "error": 0.0064})
    found = what_next(parts, 5, 50, min_diff=0.05, more_instances=3, more_topics=30)
    grid = variance_grid(parts, [5, 8], [50, 80])
    assert list(found["se"]) == pytest.approx(
        [grid.loc[5, 50], grid.loc[8, 50], grid.loc[5, 80], grid.loc[8, 80]]
    )
    assert found["power"].iloc[3] == found["power"].max()
    needed = plan_instances(parts, min_diff=0.05, topics=[80], power=float(found["power"].iloc[3]))
    assert needed["instances"].iloc[0] == 8


def test_plans_of_equivalence() -> None:
    parts = VarianceComponents({"topic:system": 0.001, "system:instance": 0.0001, "error": 0.0064})
    plan = plan_equivalence(parts, margin=0.02, topics=[10, 50, 100])
    assert plan["instances"].isna().tolist() == [True, False, False]
    assert (plan["power"].dropna() >= 0.8).all()
    nearer = plan_equivalence(parts, margin=0.02, difference=0.005, topics=[100])
    assert nearer["instances"].iloc[0] > plan["instances"].iloc[2]
    with pytest.raises(InputError, match="not within a margin"):
        plan_equivalence(parts, margin=0.02, difference=0.03)
