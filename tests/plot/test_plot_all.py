"""Every result draws itself, in every format, whatever its systems are called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import altair as alt
import numpy as np
import pytest
import xarray as xr

import shardwise as sw
from chart_rows import expressions
from report_pages import HOSTILE, simulated
from shardwise.methods.bootstrap.method import BootstrapFit
from shardwise.plot.dispatch import CHARTS

STARTS = {
    ".html": b"<!DOCTYPE html>",
    ".png": b"\x89PNG",
    ".svg": b"<svg",
    ".pdf": b"%PDF",
    ".json": b"{",
}
# what is read, chosen or handed on, not found out
NOT_DRAWN = {
    "Claim",
    "Clause",
    "Design",
    "Scenario",
    "ScenarioKind",
    "Pairs",
    "Method",
    "StatementCheck",
    "Collection",
    "Means",
    "InstanceRuns",
    "Measure",
    "Study",
    "Model",
    "Procedure",
    "Repeats",
    "ScoreMoments",
    "Replication",
    "PaperExperiment",
    "PaperData",
    "PaperClaim",
    "Evidence",
    "Form",
    "OpenQuestions",
    "Shape",
    "F19",
    "FF21",
    "J15",
    "S14",
    "V17",
    "Splits",
    "Verdict",
}
# results of other parts, with tests of their own
ELSEWHERE = {"Analysis", "Calibration", "Exhibit", "PredictiveCheck"}
NAMES = [*HOSTILE, "zz';alert(1);'zz", 'zz"+alert(1)+"zz', "y" * 299 + "1", "y" * 299 + "2"]
MARKS = ("alert", "zz", "onerror", "yyyy")


@cache
def scores(names: bool = False) -> xr.DataArray:
    return simulated(len(NAMES) if names else 4, topics=8, shards=2, names=NAMES if names else None)


@cache
def seeds() -> xr.DataArray:
    rng = np.random.default_rng(1)
    y = rng.normal(0.4, 0.2, 15) + rng.normal(0, 0.1, (2, 1, 15)) + rng.normal(0, 0.05, (2, 4, 15))
    coords = {"system": [NAMES[0], NAMES[-1]]}
    return xr.DataArray(y, dims=("system", "instance", "topic"), coords=coords, name="nDCG@10")


@cache
def compared() -> sw.Comparisons:
    return sw.compare_instances(*(seeds().isel(system=k) for k in (0, 1)))


@cache
def collection() -> sw.simulate.SimulatedCollection:
    return sw.simulate.collection(topics=8, systems=3, depth=40, corpus=2000, relevant=20, seed=2)


def table() -> xr.DataArray:
    return scores().mean("shard").rename("AP")


RESULTS: dict[str, Callable[[], Any]] = {
    "AnovaFit": lambda: sw.anova(scores(), sw.MD6),
    "BootstrapFit": lambda: sw.bootstrap_anova(scores(), sw.MD3),
    "MixedFit": lambda: sw.mixed(seeds()),
    "Comparisons": lambda: sw.compare(sw.anova(scores(), sw.MD6)),
    "Stability": lambda: sw.stability.between_splits(simulated(4, topics=8, shards=2, splits=3), sw.MD3),
    "WithinAcross": lambda: sw.stability.within_across(scores(), {"team": ["run000", "run001"]}),
    "Equivalence": lambda: sw.equivalence(sw.compare(sw.anova(scores(), sw.MD6)), 0.05),
    "SettingSeries": lambda: sw.instances.smallest_setting({1: compared(), 2: compared()}, 0.05),
    "VarianceEstimate": lambda: sw.planning.variance(table()),
    "Generalizability": lambda: sw.planning.generalizability(table()),
    "VarianceComponents": lambda: sw.planning.variance_components(scores()),
    "Plan": lambda: sw.planning.plan_shards(scores(), min_diff=0.1, generalize=()),
    "SimulatedCollection": collection,
    "Posterior": lambda: sw.instances.posterior(sw.mixed(seeds()), draws=200),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_it_draws_itself_in_every_format(name: str, tmp_path: Path) -> None:
    result = RESULTS[name]()
    assert type(result).__name__ == name
    chart = result.plot()
    assert isinstance(chart, alt.TopLevelMixin)
    for ending, start in STARTS.items():
        path = tmp_path / f"chart{ending}"
        sw.plot.save_chart(chart, path)
        assert path.read_bytes().lstrip().startswith(start)


def test_no_result_is_left_out() -> None:
    spaces = [sw, *(found for name in sw.__all__ if isinstance(found := getattr(sw, name), ModuleType))]
    public = {name: getattr(space, name) for space in spaces for name in space.__all__}
    classes = {name: one for name, one in public.items() if isinstance(one, type) and is_dataclass(one)}
    undrawn = {name for name, one in classes.items() if not hasattr(one, "plot")}
    assert undrawn <= NOT_DRAWN
    assert set(CHARTS) == set(RESULTS) | ELSEWHERE


@cache
def pairs() -> sw.Comparisons:
    return sw.compare(sw.anova(scores(True), sw.MD6))


@cache
def boot() -> BootstrapFit:
    return sw.bootstrap_anova(scores(True), sw.MD3)


def two(one: Any) -> dict[str, Any]:
    return {NAMES[0]: one, NAMES[-1]: one}


@cache
def analysed() -> sw.Analysis:
    return sw.analyze(scores(True).rename(NAMES[1]), calibration=0)


@cache
def repeated() -> sw.Analysis:
    return sw.analyze(seeds().rename(NAMES[1]), calibration=0)


DRAWN: dict[str, Callable[[], Any]] = {
    "forest": lambda: analysed().plot(),
    "forest, baseline": lambda: analysed().plot("forest", baseline=NAMES[0]),
    "ranks": lambda: analysed().plot("ranks"),
    "cd": lambda: analysed().plot("cd"),
    "power": lambda: analysed().plot("power"),
    "heatmap": lambda: analysed().plot("heatmap"),
    "items": lambda: analysed().plot("items", a=NAMES[0], b=NAMES[-1]),
    "repeats": lambda: repeated().plot("repeats"),
    "intervals": lambda: sw.plot.chart(two(pairs()), "intervals", measure=NAMES[1]),
    "matrix": lambda: sw.plot.chart(two(pairs()), "matrix"),
    "p-values": lambda: sw.plot.chart(two(pairs()), "p-values"),
    "models": lambda: sw.plot.chart(two(pairs()), "models", measure=NAMES[1]),
    "kinds": lambda: sw.plot.chart(two(pairs()), "kinds"),
    "effects": lambda: sw.plot.chart(two(boot()), "effects"),
    "densities": lambda: boot().plot(pair=(NAMES[-1], NAMES[-2])),
    "agreement": lambda: sw.plot.agreement_chart([pairs(), pairs()], names=(NAMES[0], NAMES[-1])),
    "pairs": lambda: sw.plot.chart(
        sw.equivalence(sw.compare(boot().anova, only=NAMES[-4:])), measure=NAMES[0]
    ),
    "squares": lambda: sw.plot.chart(sw.equivalence(pairs(), 0.01)),
    "instances": lambda: compared().plot("difference", margin=0.1, measure=NAMES[0]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_names_are_shown_and_never_run(name: str, tmp_path: Path) -> None:
    chart = DRAWN[name]()
    run = "\n".join(expressions(chart))
    assert not [mark for mark in MARKS if mark in run]
    sw.plot.save_chart(chart, tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert "y" * 100 not in text


def test_two_long_names_stay_two_systems() -> None:
    drawn = sw.plot.chart(sw.compare(sw.anova(scores(True), sw.MD6)), "intervals").to_dict()
    (rows,) = drawn["datasets"].values()
    assert len({row["system"] for row in rows}) == len(NAMES)
    assert max(len(row["system"]) for row in rows) <= 60
