"""Results in a notebook: a sentence, a table and a chart that shows offline, whatever systems are called."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

import pytest
import xarray as xr

import shardwise as sw
from report_pages import HOSTILE, simulated
from shardwise.analysis.gate import gate
from shardwise.plot.dispatch import CHARTS
from shardwise.writing.notebook import MOST_ROWS

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
