"""Charts of an analysis: what is offered can be drawn in every layout, and shows the numbers of the analysis."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import shardwise as sw
from chart_rows import rows_with, titles
from report_pages import simulated
from shardwise.analysis.power import find_present_design
from shardwise.core.errors import InputError
from shardwise.plot import saving
from shardwise.plot.forms import MOST_ROWS
from shardwise.plot.items import MOST_BARS, MOST_CELLS

GOLD = Path(__file__).parent.parent / "gold"
EVERYWHERE = {"forest", "intervals", "p-values"}
PAIRS = EVERYWHERE | {"ranks", "matrix"}
ITEMS = {"heatmap", "items"}


def table(systems: int, topics: int = 30) -> xr.DataArray:
    return simulated(systems, topics=topics, shards=1).isel(shard=0, drop=True)


def repeated(kind: str) -> xr.DataArray:
    rng = np.random.default_rng(1)
    y = rng.normal(0.5, 0.1, (30, 1, 1)) + rng.normal(0, 0.1, (30, 3, 1)) + rng.normal(0, 0.1, (30, 3, 4))
    return xr.DataArray(
        y, dims=("question", "model", kind), coords={"model": ["a", "b", "c"]}, name="accuracy"
    )


def with_gaps() -> xr.DataArray:
    scores = table(4).copy()
    scores[3, 1] = scores[7, 2] = np.nan
    return scores


def with_tasks() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = [(f"q{k}", f"task {k % 3}", m, rng.random()) for k in range(45) for m in ("new", "old", "older")]
    return pd.DataFrame(rows, columns=["question", "task", "model", "score"])


def unpaired() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = [(f"u{k}", "AB"[k % 2], rng.normal(0.5 + 0.1 * (k % 2), 0.1)) for k in range(60)]
    return pd.DataFrame(rows, columns=["user", "variant", "score"])


# layout -> what is analysed, how, and the kinds of charts that it has
LAYOUTS: dict[str, tuple[Callable[[], Any], dict[str, Any], set[str]]] = {
    "table": (lambda: table(6), {}, PAIRS | ITEMS | {"cd", "power"}),
    "shards": (lambda: simulated(4), {}, PAIRS | ITEMS | {"cd", "power"}),
    "splits": (lambda: simulated(4, splits=3), {}, PAIRS | ITEMS | {"cd", "power"}),
    "seeds": (lambda: repeated("seed"), {}, PAIRS | ITEMS | {"cd", "power", "repeats"}),
    "samples": (lambda: repeated("sample"), {}, PAIRS | ITEMS | {"cd", "power", "repeats"}),
    "baseline": (lambda: table(6), {"baseline": "run002"}, EVERYWHERE | ITEMS | {"matrix", "power"}),
    "two baselines": (
        lambda: table(6),
        {"baseline": ["run002", "run004"]},
        EVERYWHERE | ITEMS | {"matrix", "power"},
    ),
    "two systems": (lambda: table(2), {}, PAIRS | ITEMS | {"cd", "power", "difference"}),
    "no intervals": (lambda: table(4), {"method": "wilcoxon holm"}, PAIRS | ITEMS | {"cd", "power"}),
    "many": (lambda: table(126), {"method": "MD1 hsd"}, PAIRS | ITEMS | {"power"}),
    "hundreds": (
        lambda: table(500, 10),
        {"method": "MD1 hsd"},
        EVERYWHERE | ITEMS | {"ranks", "power"},
    ),
    "votes": (lambda: GOLD / "votes.csv", {"n_resamples": 199}, PAIRS | {"cd"}),
    "gaps": (with_gaps, {}, PAIRS | ITEMS | {"cd", "power"}),
    "tasks": (with_tasks, {}, PAIRS | ITEMS | {"cd", "power"}),
    "unpaired": (unpaired, {}, PAIRS | {"cd", "difference", "kinds"}),
}


@cache
def analysed(layout: str) -> sw.Analysis:
    data, options, _ = LAYOUTS[layout]
    return sw.analyze(data(), calibration=0, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_offered_is_drawn_and_the_rest_is_refused_in_one_line(layout: str) -> None:
    analysis = analysed(layout)
    kinds = sw.plot.list_charts(analysis)
    assert kinds[0] == "forest"
    assert set(kinds) == LAYOUTS[layout][2]
    for kind in kinds:
        assert analysis.plot(kind).to_dict()["$schema"]
    for kind in {
        "ranks",
        "cd",
        "power",
        "heatmap",
        "items",
        "repeats",
        "matrix",
        "kinds",
        "difference",
    } - set(kinds):
        with pytest.raises(InputError) as refused:
            analysis.plot(kind)
        line = str(refused.value)
        assert line.startswith(f"chart '{kind}' needs ")
        assert line.endswith(f"choose {', '.join(kinds[:-1])} or {kinds[-1]}")
        assert "\n" not in line


def test_comparisons_offer_what_they_can_show() -> None:
    fit = sw.anova(table(5), sw.MD1)
    assert set(sw.plot.list_charts(sw.compare(fit))) == PAIRS | {"cd", "kinds"}
    some = sw.compare(fit, "holm", only=[("run000", "run001"), ("run002", "run003")])
    assert set(sw.plot.list_charts(some)) == EVERYWHERE | {"matrix", "kinds"}
    rows = rows_with(some.plot(), "difference", "verdict")[-1]
    assert sorted(row["system"] for row in rows) == sorted(
        f"{a} − {b}" for a, b in some.to_frame()[["a", "b"]].values
    )


def test_a_forest_against_the_best_shows_its_leads() -> None:
    analysis = analysed("table")
    (rows,) = rows_with(analysis.plot(), "difference", "verdict")[-1:]
    best = analysis.systems[0]
    table_of_pairs = analysis.comparisons.intervals(0.95, "difference")
    expected = table_of_pairs[table_of_pairs["a"] == best]
    assert [row["system"] for row in rows] == list(expected["b"])
    for name in ("difference", "lower", "upper"):
        assert [row[name] for row in rows] == expected[name].tolist()
    significant = [row["system"] for row in rows if row["verdict"] == "best significantly better"]
    assert significant == [name for name in analysis.systems if name not in analysis.comparisons.best()]
    assert f"difference in AP, {best} − each system (95% CI)" in titles(analysis.plot())


@pytest.mark.parametrize("base", ["run002", "run005"])
def test_a_forest_against_a_baseline_shows_the_others_less_it(base: str) -> None:
    """A baseline that was compared, and one that is chosen for the chart alone, from all pairs."""
    analysis = analysed("baseline" if base == "run002" else "table")
    chart = analysis.plot() if base == "run002" else analysis.plot(baseline=base)
    rows = rows_with(chart, "difference", "verdict")[-1]
    frame = analysis.comparisons.to_frame(0.95)
    pairs = {
        (a, b): (d, low, high)
        for a, b, d, low, high in frame[["a", "b", "difference", "lower", "upper"]].values
    }
    assert [row["system"] for row in rows] == [name for name in analysis.systems if name != base]
    for row in rows:
        shown = (row["difference"], row["lower"], row["upper"])
        if (row["system"], base) in pairs:
            assert shown == pairs[row["system"], base]
        else:
            d, low, high = pairs[base, row["system"]]
            assert shown == (-d, -high, -low)


def test_each_baseline_has_a_panel() -> None:
    panels = analysed("two baselines").plot().to_dict()["vconcat"]
    assert [
        re.findall(r"− (run\d+)", str(panel["layer"][0]["encoding"]["x"]["title"])) for panel in panels
    ] == [
        ["run002"],
        ["run004"],
    ]
    scales = [panel["layer"][-1]["encoding"]["color"]["scale"] for panel in panels]
    assert scales[0] == scales[1]


def test_ranks_are_those_of_the_comparisons() -> None:
    analysis = analysed("table")
    (rows,) = rows_with(analysis.plot("ranks"), "rank_best")
    expected = analysis.comparisons.ranks(0.95)
    assert [row["system"] for row in rows] == list(expected.index)
    for name in ("rank", "rank_best", "rank_worst"):
        assert [row[name] for row in rows] == expected[name].tolist()
    best = [row["system"] for row in rows if row["group"] == "may be the best"]
    assert tuple(best) == analysis.comparisons.best()


def test_the_level_is_that_of_the_analysis() -> None:
    analysis = sw.analyze(table(3), calibration=0, alpha=0.1)
    rows = rows_with(analysis.plot("intervals"), "estimate")[-1]
    assert [row["lower"] for row in rows] == analysis.comparisons.intervals(0.9)["lower"].tolist()
    assert "AP, mean and 90% CI" in titles(analysis.plot("intervals"))
    assert "(90% CI)" in titles(analysis.plot())


def test_many_systems_are_cut_with_a_note() -> None:
    analysis = analysed("hundreds")
    for kind in ("forest", "ranks", "intervals"):
        chart = analysis.plot(kind)
        assert f"the first {MOST_ROWS} of {500 - (kind == 'forest')} systems" in titles(chart)
        assert len({row["system"] for rows in rows_with(chart, "system") for row in rows}) == MOST_ROWS
    whole = analysis.plot("ranks", most=500)
    assert len(rows_with(whole, "rank")[0]) == 500
    assert "the first" not in titles(whole)


def test_the_power_curve_passes_through_what_is_detectable() -> None:
    for layout in ("table", "seeds", "samples"):
        analysis = analysed(layout)
        chart = analysis.plot("power", differences=[0.1])
        curve, points = sorted(rows_with(chart, "power"), key=len, reverse=True)
        counts = np.array([row["items"] for row in curve])
        present = find_present_design(analysis)
        assert present is not None
        planned = replace(present, topics=counts, min_diff=0.1).power
        assert [row["power"] for row in curve] == pytest.approx(planned.tolist())
        assert replace(present, min_diff=present.detectable).power == pytest.approx(0.8, abs=1e-6)
        assert [(row["items"], row["difference"]) for row in points] == [(analysis.topics, "0.1")]
    analysis = analysed("table")
    assert analysis.power is not None
    present = find_present_design(analysis)
    assert present is not None
    assert analysis.power.detectable == present.detectable
    with pytest.raises(InputError, match="above 0"):
        analysis.plot("power", differences=[0.0])


def test_a_heat_map_of_few_items_has_every_score() -> None:
    analysis = analysed("gaps")
    matrix = analysis.item_matrix()
    (rows,) = rows_with(analysis.plot("heatmap"), "score")
    drawn = {(row["item"], row["system"]): row["score"] for row in rows}
    expected = matrix.scores.stack()
    assert drawn == {(str(item), str(system)): value for (item, system), value in expected.dropna().items()}
    assert "grey: no score" in titles(analysis.plot("heatmap"))
    scale = analysis.plot("heatmap").to_dict()["layer"][0]["encoding"]
    assert scale["y"]["scale"]["domain"] == list(matrix.systems)
    assert scale["x"]["scale"]["domain"] == [str(item) for item in matrix.scores.index]


def answers() -> sw.Analysis:
    rng = np.random.default_rng(4)
    y = (rng.random((5000, 10)) < np.linspace(0.7, 0.5, 10) + rng.normal(0, 0.2, (5000, 1))).astype(float)
    frame = pd.DataFrame(y, columns=[f"m{k}" for k in range(10)])
    return sw.analyze(frame, calibration=0, method="t holm")


def test_many_cells_and_items_are_averaged_and_add_up(tmp_path: Path) -> None:
    for analysis in (answers(), analysed("many"), analysed("hundreds")):
        heat, strip = analysis.plot("heatmap"), analysis.plot("items")
        (cells,) = rows_with(heat, "score")
        assert len(cells) <= MOST_CELLS
        scores = analysis.item_matrix().scores
        wide = {row["from"]: row["to"] - row["from"] for row in cells}
        assert sum(wide.values()) == len(scores)
        if len({row["system"] for row in cells}) == len(analysis.systems):
            for name in analysis.systems[:3]:
                mean = sum(row["score"] * wide[row["from"]] for row in cells if row["system"] == name) / len(
                    scores
                )
                assert mean == pytest.approx(scores[name].mean())
        items = analysis.items()
        bars = max(rows_with(strip, "difference", "outcome"), key=len)
        assert len(bars) <= MOST_BARS + 3
        total = sum((row["to"] - row["from"]) * row["difference"] for row in bars)
        assert total / len(items) == pytest.approx(items.difference)
        for outcome, start in (("win", items.a), ("tie", "tie"), ("loss", items.b)):
            drawn = sum(row["to"] - row["from"] for row in bars if row["outcome"].startswith(start))
            assert drawn == items.counts[outcome]
            assert f"{items.counts[outcome]:,}" in titles(strip)
        if len(scores) == 5000:
            for name, chart, most in (("heat", heat, 500_000), ("strip", strip, 100_000)):
                sw.plot.save_chart(chart, tmp_path / f"{name}.svg")
                assert (tmp_path / f"{name}.svg").stat().st_size < most


def test_a_strip_of_two_chosen_systems_is_sorted() -> None:
    analysis = analysed("table")
    items = analysis.items("run001", "run004", margin=0.02)
    chart = analysis.plot("items", a="run001", b="run004", margin=0.02)
    bars = max(rows_with(chart, "difference", "outcome"), key=len)
    assert [row["difference"] for row in bars] == items.table["difference"].tolist()
    words = [
        f"run001 better: {items.counts['win']}",
        f"tie: {items.counts['tie']}",
        f"run004 better: {items.counts['loss']}",
    ]
    assert chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"] == words
    with pytest.raises(InputError, match="unknown system 'x'"):
        analysis.plot("items", a="x")


def test_a_chart_shows_itself_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    chart = analysed("two systems").plot().properties(height=50)
    shown = chart._repr_mimebundle_()
    assert set(shown) == {"text/html", "text/plain"}
    assert shown["text/html"].startswith('<img alt="chart"')
    assert "data:image/svg+xml;base64," in shown["text/html"]
    assert "http" not in shown["text/html"]
    monkeypatch.setattr(saving, "read_space_limit", lambda: 1 << 30)
    refused = chart._repr_mimebundle_()["text/html"]
    assert re.fullmatch(r"<p>drawings of charts[^<\n]*ulimit[^<\n]*</p>", refused)


def test_another_renderer_is_respected() -> None:
    import altair as alt

    with alt.renderers.enable("json"):
        assert "application/json" in analysed("two systems").plot()._repr_mimebundle_()[0]
