"""Charts for people about to build a test collection: topics, reach, variance, and what pools cost."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from shardwise.errors import InputError
from shardwise.plot.intervals import COLOURS
from shardwise.study.pools import PoolStudy

_WIDTH, _HEIGHT = 420, 300
TITLES = {
    "systems": "number of systems to compare",
    "min_diff": "smallest range to be found",
    "width": "width of the interval",
    "variance": "variance of a system's score",
    "topics": "topics needed",
    "value": "difference",
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
        named = curve.assign(goal=curve["measure"].astype(str) + ": " + curve["goal"].astype(str))
    return _lines(named, "topics", "value", "goal", "linear")


def variance_chart(table: pd.DataFrame) -> alt.LayerChart:
    """Draw the variance of each measure by each way to estimate it (S14 Fig. 1), as of ``variance_table``."""
    long = (
        table.rename_axis("measure").reset_index().melt("measure", var_name="method", value_name="variance")
    )
    methods = [str(method) for method in table.columns]
    bars = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            x=alt.X("measure:N", sort=[str(name) for name in table.index], title=None),
            xOffset=alt.XOffset("method:N", sort=methods),
            y=alt.Y("variance:Q", title=TITLES["variance"]),
            color=_colour("method", methods),
            tooltip=["measure:N", "method:N", alt.Tooltip("variance:Q", format=".4f")],
        )
    )
    return alt.LayerChart(layer=[bars]).properties(width=_WIDTH, height=_HEIGHT)


def pool_chart(study: PoolStudy, goal: str = "power") -> alt.LayerChart:
    """Draw topics needed against documents to judge per topic, one line a measure (S14 Fig. 4).

    A point is a pool depth, written beside it; the larger, the more judgments the design takes in all.
    """
    _check(study.table, f"topics_{goal}")
    columns = {f"topics_{goal}": "topics", f"judgments_{goal}": "judgments"}
    frame = study.table.rename(columns=columns)[["measure", "depth", "pooled", "topics", "judgments"]]
    names = list(dict.fromkeys(frame["measure"]))
    base = alt.Chart(frame).encode(
        x=alt.X("pooled:Q", title="documents to judge per topic", scale=alt.Scale(zero=False, padding=20)),
        y=alt.Y("topics:Q", title=TITLES["topics"], scale=alt.Scale(zero=False, padding=28)),
        color=_colour("measure", names),
        tooltip=[
            "measure:N",
            alt.Tooltip("depth:Q", title="pool depth"),
            alt.Tooltip("pooled:Q", format=".1f"),
            "topics:Q",
            alt.Tooltip("judgments:Q", format=","),
        ],
    )
    lines = base.mark_line(strokeWidth=1.5)
    size = alt.Size("judgments:Q", title="judgments in all", scale=alt.Scale(range=[30, 500]))
    points = base.mark_point(filled=True, opacity=0.9).encode(size=size)
    labels = base.mark_text(dy=-16, fontSize=10).encode(text="depth:Q")
    title = study.goals[0 if goal == "power" else -1]
    return alt.LayerChart(layer=[lines, points, labels]).properties(width=_WIDTH, height=_HEIGHT, title=title)


def _lines(frame: pd.DataFrame, x: str, y: str, colour: str, kind: Any) -> alt.LayerChart:
    names = [str(name) for name in dict.fromkeys(frame[colour])]
    base = alt.Chart(frame.assign(**{colour: frame[colour].astype(str)})).encode(
        x=alt.X(f"{x}:Q", title=TITLES.get(x, x), scale=alt.Scale(type=kind, zero=False, nice=False)),
        y=alt.Y(f"{y}:Q", title=TITLES.get(y, y), scale=alt.Scale(type=kind, zero=kind == "linear")),
        color=_colour(colour, names),
        tooltip=[f"{colour}:N", f"{x}:Q", f"{y}:Q"],
    )
    layers = [base.mark_line(strokeWidth=2), base.mark_point(filled=True, size=14, opacity=0.6)]
    return alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT)


def _colour(column: str, names: list[str]) -> alt.Color:
    shades = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    legend = alt.Legend(title=None, orient="top", labelLimit=700, columns=4) if len(names) > 1 else None
    return alt.Color(f"{column}:N", sort=names, scale=alt.Scale(domain=names, range=shades), legend=legend)


def _check(frame: pd.DataFrame, *columns: str) -> None:
    for column in columns:
        if column not in frame.columns:
            have = ", ".join(map(str, frame.columns))
            raise InputError(f"there is no column {column!r} to draw", remedy=f"the table has {have}")
