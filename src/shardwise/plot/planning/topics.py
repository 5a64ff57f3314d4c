"""How many topics: what they can find, and the variance that decides it (S14 Fig. 1-3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from shardwise.core.text import short
from shardwise.planning.tables import reach_curve
from shardwise.planning.variances import VarianceEstimate
from shardwise.plot.labels import distinct
from shardwise.plot.theme import (
    SIZE,
    bare,
    check_columns,
    colour,
    dash,
    data,
    legend,
    numbers,
    records,
    shape,
    words,
)

TOPICS = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400)
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

    Both axes are logarithmic unless the systems vary: halving a difference takes four times the topics, a straight
    line.

    Parameters
    ----------
    curve : DataFrame
        Columns ``topics`` and those named by `x` and `colour`, as `shardwise.planning.design_curve` gives them.
    x : str
        The column that varies from left to right, such as systems, min_diff or width.
    colour : str
        The column that tells lines apart.
    """
    check_columns(curve, x, "topics", colour)
    kind = "linear" if x == "systems" else "log"
    return _lines(curve, x, "topics", colour, kind)


def reach_chart(
    curve: pd.DataFrame | VarianceEstimate, *, topics: Sequence[int] | None = None
) -> alt.LayerChart:
    """Draw what a number of topics can find and how narrow its intervals are (S14 Fig. 3).

    Parameters
    ----------
    curve : DataFrame or VarianceEstimate
        What `shardwise.planning.reach_curve` gives, or a variance to compute it from.
    topics : sequence of int, optional
        The numbers of topics for a variance, 10 to 400 by default; a table has its own.
    """
    if isinstance(curve, VarianceEstimate):
        curve = reach_curve(curve, topics=TOPICS if topics is None else topics)
    elif topics is not None:
        check_columns(curve, "topics")
        curve = curve[curve["topics"].isin(topics)]
    check_columns(curve, "topics", "value", "goal", "measure")
    named = curve
    if curve["measure"].nunique() > 1:
        goals = [
            f"{short(str(measure))}: {goal}"
            for measure, goal in zip(curve["measure"], curve["goal"], strict=True)
        ]
        named = curve.assign(goal=goals)
    return _lines(named, "topics", "value", "goal", "linear")


def variance_chart(table: pd.DataFrame) -> alt.LayerChart:
    """Draw the variance of each measure by each way to estimate it (S14 Fig. 1).

    Parameters
    ----------
    table : DataFrame
        One row a measure, one column a way, as `shardwise.planning.variance_table` gives it.
    """
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
    return bare(alt.LayerChart(layer=[bars, points]).properties(width=width, height=SIZE["height"]))


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
    points = base.mark_point(
        size=40, opacity=0
    )  # for the numbers under the mouse; seen, they would fray dashes
    return bare(alt.LayerChart(layer=[lines, points]).properties(**SIZE))
