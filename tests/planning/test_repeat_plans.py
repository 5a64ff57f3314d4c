"""Plans for items and repeats: equal to other paths to the same figures, and reached when tried."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from command_line import shardwise
from designs import min_diff_at, power_at
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.names import parse_procedure
from shardwise.methods.tables import Tables
from shardwise.planning.design import Design, topics_for_power
from shardwise.planning.plans import RepeatPlan, design_repeats, plan_budget, plan_more, plan_repeats
from shardwise.planning.variances import repeat_components

PARTS = VarianceComponents({"topic:system": 0.01, "error": 0.2})


def plan_from_components(parts: VarianceComponents, kind: str, **sizes: Any) -> RepeatPlan:
    now = design_repeats(parts, kind, **sizes)
    return RepeatPlan(kind, now, *plan_more(now))


@pytest.mark.parametrize("systems", [2, 5])
def test_samples_are_planned_as_the_mean_of_samples(systems: int) -> None:
    """With M samples a score varies by σ²_ts + σ²_w/M, and the plan is that of one score an item."""
    plan = plan_from_components(PARTS, "samples", topics=60, repeats=4, systems=systems, min_diff=0.08)
    how = {"variance": 0.01 + 0.2 / 4, "systems": systems, "method": "moderated"}
    assert plan.now.power == pytest.approx(power_at(n=60, min_diff=0.08, **how))
    assert plan.now.detectable == pytest.approx(min_diff_at(n=60, power=0.8, **how))
    assert plan.more_items is not None
    assert plan.more_items.topics == topics_for_power(min_diff=0.08, power=0.8, **how)


def test_seeds_are_planned_as_by_the_unified_test() -> None:
    parts = VarianceComponents({"topic:system": 0.01, "system:instance": 0.0009, "error": 0.0064})
    variance, df = parts.variance_of_difference(("topic", "instance"), {"topic": 50, "instance": 5})
    critical, away = stats.t.isf(0.025, df), 0.05 / np.sqrt(variance)
    both_directions = stats.nct.sf(critical, df, away) + stats.nct.cdf(-critical, df, away)
    design = design_repeats(parts, "seeds", topics=50, repeats=5, min_diff=0.05)
    assert design.power == pytest.approx(float(both_directions), abs=1e-9)
    plan = plan_from_components(parts, "seeds", topics=50, repeats=2, systems=2, min_diff=0.02)
    assert plan.more_items is None
    assert plan.cheapest is not None
    assert plan.cheapest.repeats > 2


def test_components_of_samples_equal_an_analysis_of_variance() -> None:
    """One-way within cells and two-way between them, by plain numpy."""
    rng = np.random.default_rng(3)
    y = (rng.random((30, 3, 4)) < rng.random((30, 3, 1))).astype(float)
    table = xr.DataArray(y, dims=("topic", "system", "instance"))
    parts, kind = repeat_components(table, "samples")
    within = y.var(axis=2, ddof=1).mean()
    m = y.mean(axis=2)
    rest = m - m.mean(axis=0) - m.mean(axis=1, keepdims=True) + m.mean()
    assert kind == "samples"
    assert parts["error"] == pytest.approx(within)
    assert parts["topic:system"] == pytest.approx((rest**2).sum() / (29 * 2) - within / 4)
    gaps = table.copy(data=np.where(rng.random(y.shape) < 0.05, np.nan, y))
    assert repeat_components(gaps, "samples")[0]["error"] == pytest.approx(within, rel=0.2)


@settings(max_examples=25, deadline=None)
@given(
    between=st.floats(0.001, 0.1),
    error=st.floats(0.01, 0.3),
    items=st.integers(10, 300),
    repeats=st.integers(2, 12),
    difference=st.floats(0.02, 0.3),
    topic_cost=st.floats(0.0, 20.0),
)
def test_plans_reach_the_power_and_no_less_does(
    between: float, error: float, items: int, repeats: int, difference: float, topic_cost: float
) -> None:
    parts = VarianceComponents({"topic:system": between, "error": error})
    plan = plan_from_components(
        parts, "samples", topics=items, repeats=repeats, systems=3, min_diff=difference, topic_cost=topic_cost
    )
    if plan.now.power >= plan.now.target:
        assert plan.more_items == plan.now
        return
    assert plan.more_items is not None
    assert plan.cheapest is not None
    for one, fewer in (
        (plan.more_items, (plan.more_items.topics - 1, repeats)),
        (plan.more_repeats, (items, plan.more_repeats.repeats - 1 if plan.more_repeats else 0)),
    ):
        if one is not None:
            assert one.power >= 0.8
            short = Design(parts, fewer[0], 3, repeats=fewer[1], min_diff=difference)
            assert short.power < 0.8
            assert plan.cheapest.cost <= one.cost + 1e-6
    assert plan.cheapest.power >= 0.8


def test_answers_are_spent_within_the_budget() -> None:
    frame = plan_budget(PARTS, 1000, systems=3, topic_cost=2.0)
    assert (frame["cost"] <= 1000).all()
    assert (frame["topics"] == (1000 // (2 + 3 * frame["instances"])).astype(int)).all()
    # Without costs of an item, one sample of many items detects most.
    free = plan_budget(PARTS, 1000)
    assert free["detectable"].idxmin() == 0


@pytest.mark.calibration
def test_planned_power_is_reached() -> None:
    """400 normal tables: within 3 points and two Monte-Carlo standard errors."""
    plan = plan_from_components(PARTS, "samples", topics=40, repeats=5, systems=3, min_diff=0.15)
    assert plan.more_items is not None
    n, m = plan.more_items.topics, plan.more_items.repeats
    rng = np.random.default_rng(0)
    y = rng.normal(0.0, 0.1, (400, n, 3)) + rng.normal(0.0, np.sqrt(0.2 / m), (400, n, 3))
    y += np.array([0.075, -0.075, 0.0])
    decided = parse_procedure("moderated").decide(Tables(y, ("topic", "system"), 0, n_resamples=399))
    reached = float((decided.p_adjusted[:, 0] <= 0.05).mean())
    assert abs(reached - plan.more_items.power) <= 0.03 + 2 * np.sqrt(0.16 / 400)


def write_samples(path: Path, models: int = 2) -> None:
    rng = np.random.default_rng(7)
    right = rng.random((30, models, 3)) < rng.random((30, 1, 1))
    grid = np.indices(right.shape).reshape(3, -1)
    frame = pd.DataFrame(
        {"question": grid[0], "model": grid[1], "sample": grid[2], "score": right.ravel() * 1}
    )
    frame = frame.assign(question="q" + frame["question"].astype(str), model="m" + frame["model"].astype(str))
    frame.to_csv(path, index=False)


@pytest.mark.parametrize("models", [2, 4])
def test_every_command_has_one_plan_for_a_file(models: int, tmp_path: Path) -> None:
    """`design repeats`, `design power` and Python: the systems of the file, whoever is asked."""
    path = tmp_path / "samples.csv"
    write_samples(path, models)
    plans = {
        name: json.loads(shardwise("design", name, str(path), "--min-diff", "0.1", "-f", "json").stdout)
        for name in ("repeats", "power")
    }
    assert plans["repeats"]["systems"] == plans["power"]["systems"] == models
    assert plans["repeats"]["rows"] == plans["power"]["rows"]
    frame = plan_repeats(path, min_diff=0.1).to_frame()
    assert [row["topics"] for row in plans["power"]["rows"]] == frame["topics"].tolist()
    three = [
        json.loads(shardwise("design", name, str(path), "--systems", "3", "-f", "json").stdout)["systems"]
        for name in plans
    ]
    assert three == [3, 3]
    assert f"any two of {models} models" in shardwise("design", "power", str(path)).stdout or models == 2


def test_one_command_says_more_questions_or_more_samples(tmp_path: Path) -> None:
    path = tmp_path / "samples.csv"
    write_samples(path)
    done = shardwise("design", "repeats", str(path), "--min-diff", "0.1")
    assert done.returncode == 0, done.stderr
    assert "more questions (" in done.stdout
    assert "more samples of each question (" in done.stdout
    budget = shardwise("design", "budget", str(path), "--budget", "500")
    assert "500 answers are best spent on" in budget.stdout, budget.stderr
    priced = shardwise("design", "repeats", str(path), "--min-diff", "0.1", "--cost", "answer=0.5")
    assert "costing" in priced.stdout


@pytest.mark.parametrize("command", ["power", "interval", "table", "repeats", "budget", "equivalence"])
def test_plans_speak_the_words_of_the_table(command: str, tmp_path: Path) -> None:
    """Questions and models in sentences, headings and notes; the names of the package stay in files."""
    path = tmp_path / "samples.csv"
    write_samples(path, 3)
    if command in ("interval", "table"):
        frame = pd.read_csv(path).groupby(["question", "model"])["score"].mean().reset_index()
        frame.to_csv(path, index=False)
    more = {"budget": ("--budget", "500"), "equivalence": ("--margin", "0.3")}.get(command, ())
    done = shardwise("design", command, str(path), *more)
    assert done.returncode == 0, done.stderr
    words = set(re.findall(r"[a-z]+", done.stdout + done.stderr))
    assert "questions" in words
    assert not words & {"topic", "topics", "system", "systems", "instance", "instances"}


def test_scores_without_repeats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    pd.DataFrame({"question": ["a", "b", "c"], "x": [1, 0, 1], "y": [0, 0, 1]}).to_csv(path, index=False)
    refused = shardwise("design", "repeats", str(path))
    assert refused.returncode == 2
    assert "so repeats cannot be planned; give repeated scores" in refused.stderr
    with pytest.raises(
        InputError, match="min_diff = 0: the smallest difference worth finding must be above 0"
    ):
        plan_from_components(PARTS, "samples", topics=5, repeats=2, systems=2, min_diff=0.0)


def test_real_logs_have_plans(data: Path) -> None:
    for name, measure in (("humaneval", None), ("inspect/logs_eval", "match")):
        from shardwise.core.scores import as_scores

        plan = plan_repeats(as_scores(data / "doors" / name, measure=measure), min_diff=0.1)
        assert plan.kind == "samples"
        assert plan.more_items is not None
        assert plan.more_items.power >= 0.8
