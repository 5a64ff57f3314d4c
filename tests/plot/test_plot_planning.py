"""Charts for those who plan: the points are those of the tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from chart_rows import rows_with, titles
from report_pages import simulated
from shardwise.core.errors import InputError
from shardwise.core.variance_components import VarianceComponents
from shardwise.lab.simulate_collection import simulate_collection
from shardwise.methods.mixed.fit import mixed
from shardwise.methods.mixed.posterior import posterior
from shardwise.planning.plans import design_curve, p_value_spread, plan_shards, reach_curve
from shardwise.planning.pools import plan_pools
from shardwise.planning.simulated import simulated_power
from shardwise.planning.variances import generalizability, variance
from shardwise.plot.fits import component_chart, posterior_chart
from shardwise.plot.lab import truth_chart
from shardwise.plot.planning import (
    generalizability_chart,
    p_spread_chart,
    pool_chart,
    reach_chart,
    shard_design_chart,
    simulated_power_chart,
    topics_chart,
    variance_chart,
)


@pytest.fixture(scope="module")
def table() -> xr.DataArray:
    return simulated(5, topics=20, shards=3).mean("shard").rename("AP")


def test_simulated_power(table: xr.DataArray) -> None:
    result = simulated_power(table, topics=[10, 20], min_diff=0.05, systems=3, repetitions=50, seed=1)
    chart = simulated_power_chart(result)
    (rows,) = rows_with(chart, "topics", "what", "share")
    shown = {(row["what"].split()[0], row["topics"]): row["share"] for row in rows}
    for row in result.table.itertuples():
        assert shown["a", row.topics] == row.power
        assert shown["equal", row.topics] == row.false_alarms
    (limits,) = rows_with(chart, "low", "high")
    assert [row["low"] for row in limits] == result.table["power_low"].tolist()


def test_shards_with_and_without_an_answer() -> None:
    parts = VarianceComponents({"topic:system": 0.0064, "system:shard": 0.0004, "error": 0.0036})
    design = plan_shards(parts, min_diff=0.03, shards=[1, 2, 5, 20], generalize=("topic", "shard"))
    missing = design.table["topics"].isna().to_numpy()
    assert missing.any()
    assert not missing.all()
    chart = shard_design_chart(design)
    (known,) = rows_with(chart, "shards", "se")
    assert [row["topics"] for row in known] == design.table.loc[~missing, "topics"].tolist()
    (never,) = rows_with(chart, "shards", "why")
    assert [row["shards"] for row in never] == design.table.loc[missing, "shards"].tolist()
    assert "no number of topics is enough" in titles(chart)


def test_generalizability(table: xr.DataArray) -> None:
    result = generalizability(table)
    (rows,) = rows_with(generalizability_chart(result), "topics", "coefficient")
    limits = result.intervals(50)
    own = {row["coefficient"][0]: row for row in rows if row["topics"] == 50}
    for letter, name in (("E", "erho_sq"), ("Φ", "phi")):
        drawn = [own[letter][column] for column in ("value", "low", "high")]
        assert drawn == pytest.approx(limits.loc[name].tolist())
    assert result.topics in {row["topics"] for row in rows}


def test_a_table_without_error_has_no_limits() -> None:
    exact = np.add.outer(np.arange(4.0), np.arange(3.0))
    (rows,) = rows_with(generalizability_chart(generalizability(exact)), "coefficient", "low")
    assert {row["low"] for row in rows} == {None}
    assert {row["value"] for row in rows if row["coefficient"].startswith("E")} == {1.0}


def test_designs_of_sakai(table: xr.DataArray) -> None:
    """S14 Fig. 1-3."""
    named = {"AP": table, "P": 2 * table}
    methods = pd.DataFrame(
        {
            method: {name: float(variance(each, method)) for name, each in named.items()}
            for method in ("percentile95", "one-way", "two-way", "residual")
        }
    )
    (rows,) = rows_with(variance_chart(methods), "measure", "method", "variance")
    assert {(row["measure"], row["method"]): row["variance"] for row in rows} == {
        (measure, method): methods.loc[measure, method]
        for measure in methods.index
        for method in methods.columns
    }
    curve = design_curve({"Q": 0.0387, "AP": 0.053}, systems=[10, 200], method="sakai")
    (rows,) = rows_with(topics_chart(curve), "systems", "topics", "measure")
    assert pd.DataFrame(rows)[list(curve.columns)].to_dict() == curve.to_dict()
    reach = reach_curve(variance(table), topics=[20, 50])
    (rows,) = rows_with(reach_chart(reach), "topics", "goal", "value")
    assert [row["value"] for row in rows] == reach["value"].tolist()
    assert rows[0]["goal"] == "min_diff, 2 systems"
    (rows,) = rows_with(reach_chart(variance(table), topics=[20, 50]), "goal")
    assert [row["value"] for row in rows] == reach["value"].tolist()


def test_one_measure_without_a_name() -> None:
    (rows,) = rows_with(variance_chart(pd.DataFrame({"residual": [0.25]}, index=[""])), "measure")
    assert {row["measure"] for row in rows} == {"score"}


def test_pools() -> None:
    """S14 Fig. 4, for either goal."""
    made = simulate_collection(topics=8, systems=3, depth=40, corpus=2000, relevant=20, seed=2)
    study = plan_pools(made.collection(), depths=[10, 40], measure="AP")
    for goal in ("power", "interval"):
        (rows,) = rows_with(pool_chart(study, goal), "pooled", "topics")
        assert [row["topics"] for row in rows] == study.table[f"topics_{goal}"].tolist()
        assert [row["judgments"] for row in rows] == study.table[f"judgments_{goal}"].tolist()
    only = plan_pools(made.collection(), depths=[10, 40], measure="AP", min_diff=None)
    assert "width" in titles(only.plot())
    with pytest.raises(InputError, match="no column 'topics_power'"):
        only.plot(goal="power")
    spent = plan_pools(made.collection(), depths=[10, 40], judgments=500)
    (rows,) = rows_with(spent.plot(), "min_diff", "topics")
    assert [row["topics"] for row in rows] == spent.table["topics"].tolist()
    quality, difficulty = rows_with(truth_chart(made), "value")[-2:]
    assert [row["value"] for row in quality] == made.quality.tolist()
    assert [row["value"] for row in difficulty] == sorted(made.difficulty.tolist(), reverse=True)


def test_instances() -> None:
    rng = np.random.default_rng(1)
    topics = rng.normal(0.4, 0.2, 20)
    a = pd.DataFrame(topics[:, None] + rng.normal(0.02, 0.05, (20, 5)))
    spread = p_value_spread(a, pd.Series(topics), sizes=[2, 5], repeats=10)
    (rows,) = rows_with(p_spread_chart(spread), "instances", "median")
    assert pd.DataFrame(rows)[list(spread.columns)].equals(spread)
    with pytest.raises(InputError, match="no column 'share'"):
        p_spread_chart(spread.drop(columns="share"))


def test_components() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(0, 0.2, 15) + rng.normal(0, 0.1, (2, 1, 15)) + rng.normal(0, 0.05, (2, 4, 15))
    fit = mixed(xr.DataArray(y, dims=("system", "instance", "topic"), coords={"system": ["a", "b"]}))
    (rows,) = rows_with(component_chart(fit), "component", "share")
    assert {row["component"]: row["variance"] for row in rows} == fit.variance_components
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    drawn = posterior(fit, draws=200, seed=1)
    (rows,) = rows_with(posterior_chart(drawn, level=0.9), "component", "sd")
    assert np.array_equal(
        [[row["sd"], row["lower"], row["upper"]] for row in rows], drawn.components_table(0.9)
    )
