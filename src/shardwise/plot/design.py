"""Charts for people about to build a test collection: topics, reach, variance, and what pools cost."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from shardwise.core.errors import InputError
from shardwise.core.text import short
from shardwise.planning.pools import PoolStudy
from shardwise.plot.labels import distinct
from shardwise.plot.theme import PLAIN, bare, colour, dash, data, legend, numbers, records, shape, words

_WIDTH, _HEIGHT = 420, 300
TITLES = {
    "systems": "number of systems to compare",
    "min_diff": "smallest range to be found (units of the score)",
    "width": "width of the interval (units of the score)",
    "variance": "variance of a system's score over topics",
    "topics": "topics",
    "value": "difference (units of the score)",
    "needed": "topics needed",
}


def topics_chart(curve: pd.DataFrame, x: str = "systems", colour: str = "measure") -> alt.LayerChart:
    """Draw topics needed against whatever varies, one line a measure (S14 Fig. 2).

    ``curve`` has the columns ``topics``, ``x`` and ``colour``, as ``design_curve`` gives them. Both axes are
    logarithmic unless the systems vary: halving a difference takes four times the topics, a straight line.
    """
    _check(curve, x, "topics", colour)
    kind = "linear" if x == "systems" else "log"
    return _lines(curve, x, "topics", colour, kind)


def reach_chart(curve: pd.DataFrame) -> alt.LayerChart:
    """Draw what a number of topics can find and how narrow its intervals are (S14 Fig. 3), as of ``reach_curve``."""
    _check(curve, "topics", "value", "goal", "measure")
    named = curve
    if curve["measure"].nunique() > 1:
        goals = [
            f"{short(str(measure))}: {goal}"
            for measure, goal in zip(curve["measure"], curve["goal"], strict=True)
        ]
        named = curve.assign(goal=goals)
    return _lines(named, "topics", "value", "goal", "linear")


def variance_chart(table: pd.DataFrame) -> alt.LayerChart:
    """Draw the variance of each measure by each way to estimate it (S14 Fig. 1), as of ``variance_table``."""
    measures = distinct([str(name) or "score" for name in table.index])
    methods = distinct(map(str, table.columns))
    rows = [
        {"measure": measures[str(name) or "score"], "method": methods[str(method)], "variance": value}
        | {"place": place}
        for name, values in zip(table.index, table.to_numpy(float), strict=True)
        for place, (method, value) in enumerate(zip(table.columns, values, strict=True))
    ]
    names, ways = list(measures.values()), list(methods.values())
    key = legend(ways)
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "measure:N", scale=alt.Scale(domain=names), title=None, axis=alt.Axis(labelAngle=0, grid=False)
        ),
        xOffset=alt.XOffset("place:O", sort="ascending"),
        y=alt.Y("variance:Q", title=TITLES["variance"]),
        color=colour("method", ways, key),
        tooltip=[*words("measure", "method"), *numbers("variance")],
    )
    bars = base.mark_bar(opacity=0.75)
    points = base.mark_point(filled=True, size=50, opacity=1).encode(shape=shape("method", ways, key))
    width = max(300, min(900, 26 * len(rows)))
    return bare(alt.LayerChart(layer=[bars, points]).properties(width=width, height=_HEIGHT))


def pool_chart(study: PoolStudy, goal: str = "power") -> alt.LayerChart:
    """Draw topics needed against documents to judge per topic, one line a measure (S14 Fig. 4).

    A point is a pool depth, written beside it; the larger, the more judgments the design takes in all.
    """
    _check(study.table, f"topics_{goal}")
    columns = {f"topics_{goal}": "topics", f"judgments_{goal}": "judgments"}
    frame = study.table.rename(columns=columns)[["measure", "depth", "pooled", "topics", "judgments"]]
    named = distinct(map(str, frame["measure"]))
    names = list(named.values())
    key = legend(names, **PLAIN)
    base = alt.Chart(data(row | {"measure": named[str(row["measure"])]} for row in records(frame))).encode(
        x=alt.X("pooled:Q", title="documents to judge per topic", scale=alt.Scale(zero=False, padding=20)),
        y=alt.Y("topics:Q", title=TITLES["needed"], scale=alt.Scale(zero=False, padding=28)),
        color=colour("measure", names, key),
        tooltip=[
            *words("measure"),
            *numbers(("depth", "pool depth"), "topics", format="d"),
            *numbers("pooled", format=".1f"),
            *numbers("judgments", format=","),
        ],
    )
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=dash("measure", names, None))
    size = alt.Size("judgments:Q", title="judgments in all", scale=alt.Scale(range=[30, 500]))
    points = base.mark_point(filled=True, opacity=0.9).encode(size=size, shape=shape("measure", names, key))
    labels = base.mark_text(dy=-16, fontSize=10).encode(text="depth:Q")
    title = alt.Title(
        study.goals[0 if goal == "power" else -1], subtitle="numbers beside the points: pool depth"
    )
    drawn = alt.LayerChart(layer=[lines, points, labels])
    return bare(drawn.properties(width=_WIDTH, height=_HEIGHT, title=title))


def _lines(frame: pd.DataFrame, x: str, y: str, field: str, kind: Any) -> alt.LayerChart:
    named = distinct(map(str, frame[field]))
    names = list(named.values())
    rows = [row | {field: named[str(row[field])]} for row in records(frame[[x, y, field]])]
    key = legend(names, symbolType="stroke", symbolSize=300)
    base = alt.Chart(data(rows)).encode(
        x=alt.X(f"{x}:Q", title=TITLES.get(x, x), scale=alt.Scale(type=kind, zero=False, nice=False)),
        y=alt.Y(
            f"{y}:Q",
            title=TITLES["needed" if y == "topics" else y],
            scale=alt.Scale(type=kind, zero=kind == "linear"),
        ),
        color=colour(field, names, key),
        tooltip=[*words(field), *numbers(x, y, format="~g")],
    )
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=dash(field, names, key))
    points = base.mark_point(filled=True, size=14, opacity=0.6)
    return bare(alt.LayerChart(layer=[lines, points]).properties(width=_WIDTH, height=_HEIGHT))


def _check(frame: pd.DataFrame, *columns: str) -> None:
    for column in columns:
        if column not in frame.columns:
            have = ", ".join(map(str, frame.columns))
            raise InputError(f"there is no column {column!r} to draw", remedy=f"the table has {have}")
