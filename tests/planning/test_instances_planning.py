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
from shardwise.planning.plans import p_value_spread, plan_budget, plan_equivalence
from shardwise.planning.variances import variance_components
from shardwise.stats.power import equivalence_power

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
    table = plan_budget(
        c,
        budget,
        topic_cost=per_topic,
        repeat_cost=per_instance,
        answer_cost=per_run,
        most_repeats=40,
        most_topics=300,
    )
    plan = table.nsmallest(1, "half_width").iloc[0]
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
    (lambda: plan_budget(C, 10, answer_cost=0), "costs must not be negative"),
    (lambda: plan_budget(C, 3, topic_cost=5, answer_cost=0), "does not pay for 2 topics, which cost 10"),
    (lambda: plan_equivalence(C, margin=0.02, topics=[1]), "topics must be a whole number, 2 or more"),
    (lambda: p_value_spread(FRAME, pd.Series(np.ones(3)), [5], replace=False), "fewer than 5"),
    (lambda: variance_components(pd.Series(np.zeros(3)), pd.Series(np.ones(3))), "no repeats"),
])  # fmt: skip
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_crossed_models_are_no_base_for_planning() -> None:
    y = np.random.default_rng(1).normal(size=(2, 3, 8))
    with pytest.raises(InputError, match="how much repeats of a system vary"):
        plan_equivalence(mixed(xr.DataArray(y, dims=("system", "instance", "topic")), "crossed"), margin=0.1)


def test_the_power_of_equivalence_is_that_of_a_simulation() -> None:
    """Two one-sided tests at .05 of normal means, 20,000 draws: the Monte-Carlo error is .0035."""
    g = np.random.default_rng(1)
    se, df, margin, size = 0.01, 12.0, 0.03, 20_000
    for difference in (0.0, 0.01):
        mean, own = g.normal(difference, se, size), se * np.sqrt(g.chisquare(df, size) / df)
        held = np.abs(mean) + stats.t.isf(0.05, df) * own < margin
        found = equivalence_power(margin, difference, np.array([se]), np.array([df]), 0.05)
        assert found[0] == pytest.approx(held.mean(), abs=0.012)


def test_plans_of_equivalence() -> None:
    parts = VarianceComponents({"topic:system": 0.001, "system:instance": 0.0001, "error": 0.0064})
    plan = plan_equivalence(parts, margin=0.02, topics=[10, 50, 100])
    assert plan["instances"].isna().tolist() == [True, False, False]
    assert (plan["power"].dropna() >= 0.8).all()
    nearer = plan_equivalence(parts, margin=0.02, difference=0.005, topics=[100])
    assert nearer["instances"].iloc[0] > plan["instances"].iloc[2]
    with pytest.raises(InputError, match="not within a margin"):
        plan_equivalence(parts, margin=0.02, difference=0.03)
