"""Results in a notebook: a sentence, a table and a chart that shows offline, whatever systems are called."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

import pytest
import xarray as xr

import shardwise as sw
from chart_rows import rows_with, titles
from report_pages import HOSTILE, simulated
from shardwise.analysis.gate import gate
from shardwise.plot import saving
from shardwise.plot.dispatch import CHARTS
from shardwise.writing.answer import write_answer
from shardwise.writing.notebook import MOST_DRAWN, MOST_ROWS
from shardwise.writing.numbers import format_interval, format_signed

NAMES = HOSTILE[:6]


def whole(names: list[str] | None = None) -> xr.DataArray:
    return simulated(6, shards=1, names=names).isel(shard=0, drop=True)


def result(name: str) -> Any:
    table = simulated(6, names=NAMES)
    flat = whole(NAMES)
    fit = sw.anova(table, sw.MD6)
    made: dict[str, Any] = {
        "Comparisons": lambda: sw.compare(fit),
        "AnovaFit": lambda: fit,
        "Equivalence": lambda: sw.equivalence(sw.compare(fit)),
        "Analysis": lambda: sw.analyze(flat, method="t holm"),
        "Analysis, baseline": lambda: sw.analyze(flat, method="t holm", baseline=NAMES[1]),
        "Leaderboard": lambda: sw.analyze(flat, method="t holm").leaderboard(),
        "VarianceEstimate": lambda: sw.planning.variance(whole()),
        "VarianceComponents": lambda: sw.planning.variance_components(whole()),
        "Generalizability": lambda: sw.planning.generalizability(whole()),
        "Gate": lambda: gate(NAMES[0], NAMES[1], scores=flat),
    }
    return made[name]()


@pytest.mark.parametrize(
    "name",
    ["Comparisons", "AnovaFit", "Equivalence", "Analysis", "Analysis, baseline", "Leaderboard", "VarianceEstimate",
     "VarianceComponents", "Generalizability", "Gate"],
)  # fmt: skip
def test_results_show_themselves(name: str) -> None:
    found = result(name)
    shown = found._repr_html_()
    assert "<p" in shown
    assert len(re.sub("<[^>]*>", "", shown)) > 30
    if name not in ("Leaderboard", "Gate"):
        assert 'src="data:image/svg+xml;base64,' in shown
    assert "<script>alert" not in shown
    assert "onerror=alert(1)>" not in shown.replace("&gt;", "")
    assert "\u202e" not in shown
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", shown)
    assert len(repr(found)) < 1000


def test_long_tables_are_cut() -> None:
    shown = sw.compare(whole())._repr_html_()
    assert shown.count("<tr") == MOST_ROWS + 1
    assert "and 5 more rows" in shown


def test_every_result_that_has_a_chart_shows_itself() -> None:
    kinds: dict[str, Any] = {}
    for module in pkgutil.walk_packages(sw.__path__, "shardwise."):
        if not module.name.startswith(("shardwise.app", "shardwise.__main__")):
            found = vars(importlib.import_module(module.name))
            kinds |= {name: one for name, one in found.items() if name in CHARTS and isinstance(one, type)}
    assert set(kinds) == set(CHARTS)
    assert [name for name, one in kinds.items() if not hasattr(one, "_repr_html_")] == []


@pytest.mark.parametrize("baseline", [None, "run003"])
def test_text_and_chart_show_the_same_intervals_under_the_same_name(baseline: str | None) -> None:
    """The differences of the answer, and those of the table against a baseline, are bars of the forest."""
    analysis = sw.analyze(whole(), baseline=baseline, calibration=0)
    shown = re.sub(r"<img[^>]*>", " ", analysis._repr_html_())
    chart = analysis.plot("forest", most=MOST_DRAWN)
    bars = {
        f"{format_signed(row['difference'], analysis.decimals)}, 95% CI "
        f"{format_interval(row['lower'], row['upper'], analysis.decimals)}"
        for rows in rows_with(chart, "lower", "verdict")
        for row in rows
    }
    told = set(re.findall(r"[+−][\d.]+, 95% CI [−\d.]+ to [−\d.]+", shown))
    assert told
    assert told <= bars
    assert "(95% CI)" in titles(chart)
    assert "95% CI" in shown
    if baseline is not None:
        cells = re.findall(r"<td>([+−]?[\d.]+)</td>\s*<td>([−\d.]+ to [−\d.]+)</td>", shown)
        assert {f"{difference}, 95% CI {interval}" for difference, interval in cells} == bars
    means = rows_with(analysis.plot("intervals"), "estimate")[-1]
    intervals = {format_interval(row["lower"], row["upper"], analysis.decimals) for row in means}
    assert baseline is not None or intervals <= set(re.findall(r"<td>([−\d.]+ to [−\d.]+)</td>", shown))
    assert "mean and 95% CI" in titles(analysis.plot("intervals"))


def test_long_names_that_differ_in_the_middle_stay_apart_in_text_and_table() -> None:
    names = [
        f"organization-name/very-long-family-of-models-{k:03d}-instruct-evaluated-with-tools"
        for k in range(6)
    ]
    analysis = sw.analyze(whole(names), method="t holm", calibration=0)
    words = re.sub("<[^>]*>", " ", re.sub(r"<img[^>]*>", " ", analysis._repr_html_()))
    shown = [word for word in words.split() if word.startswith("organization")]
    assert len(shown) > len(names)
    assert all(re.search(r"\d{3}", word) for word in shown)
    first, second = analysis.systems[:2]
    assert f"{names.index(first):03d}" in write_answer(analysis)
    assert f"{names.index(second):03d}" in write_answer(analysis)


def test_where_memory_is_limited_a_line_says_how_to_lift_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "read_space_limit", lambda: 1 << 30)
    shown = sw.analyze(whole(), method="t holm", calibration=0)._repr_html_()
    assert "<table" in shown
    assert re.search(r"<p>drawings of charts[^<]*ulimit[^<]*</p>", shown)
