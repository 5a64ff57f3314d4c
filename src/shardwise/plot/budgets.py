"""What a budget buys: instances, topics, and the depth of a pool (S14 Fig. 4, J15 Fig. 9)."""

from __future__ import annotations

from typing import Literal

import altair as alt
import pandas as pd

from shardwise.core.claim import pluralize_noun
from shardwise.core.text import shorten_names
from shardwise.planning.plans import Plan
from shardwise.plot.theme import (
    COLOURS,
    PLAIN,
    SIZE,
    check_columns,
    encode_colour,
    encode_dash,
    encode_shape,
    finish_chart,
    level_line,
    list_records,
    make_data,
    make_legend,
    number_tips,
    text_tips,
)

SMALL_P = [0, 0.01, 0.05, 0.1, 0.2, 0.5, 1]  # labels of an axis stretched near 0


def p_spread_chart(spread: pd.DataFrame, *, alpha: float = 0.05, noun: str = "instance") -> alt.LayerChart:
    """Draw how much the p-value depends on which instances one has (J15 Fig. 9), as of `p_value_spread`.

    The line is the median, the band holds the middle 90 % of the p-values; the axis is stretched near 0.

    Parameters
    ----------
    spread : DataFrame
        What `shardwise.instances.p_value_spread` returns.
    alpha : float
        The level to mark.
    noun : str
        The user's word for an instance.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    check_columns(spread, "instances", "median", "lower", "upper", "share")
    scale = alt.Scale(type="sqrt", domain=[0, 1])
    axis = alt.Axis(values=SMALL_P, format=".2~f", labelOverlap=False)
    base = alt.Chart(make_data(list_records(spread))).encode(
        x=alt.X("instances:Q", title=pluralize_noun(noun), scale=alt.Scale(type="log", nice=False)),
        tooltip=[
            *number_tips(("instances", pluralize_noun(noun)), format="d"),
            *number_tips("median", "lower", "upper", format=".3g"),
            *number_tips(("share", "share p ≤ .05"), format=".0%"),
        ],
    )
    band = base.mark_area(opacity=0.25, color=COLOURS[0]).encode(
        y=alt.Y("lower:Q", title="p-value", scale=scale, axis=axis), y2="upper:Q"
    )
    y = alt.Y("median:Q", scale=scale, axis=axis)
    line = base.mark_line(strokeWidth=2, color=COLOURS[0]).encode(y=y)
    points = base.mark_point(filled=True, size=40, color=COLOURS[0], opacity=1).encode(y=y)
    layers = [band, line, points, level_line(alpha, "y", scale=scale, axis=axis)]
    title = f"line: median; band: 5% to 95% of the p-values; dashed: {alpha:g}"
    return finish_chart(alt.LayerChart(layer=layers).properties(title=title, **SIZE))


def pool_chart(study: Plan, goal: Literal["power", "interval"] | None = None) -> alt.LayerChart:
    """Draw topics needed against documents to judge per topic, one line a measure (S14 Fig. 4).

    A point is a pool depth, written beside it; the larger, the more judgments the design takes in all.

    Parameters
    ----------
    study : Plan
        The result of `shardwise.planning.plan_pools`.
    goal : {"power", "interval"}, optional
        What the topics are for; by default power where the study has it.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    wanted = goal or ("power" if "topics_power" in study.table else "interval")
    check_columns(study.table, f"topics_{wanted}")
    columns = {f"topics_{wanted}": "topics", f"judgments_{wanted}": "judgments"}
    frame = study.table.rename(columns=columns)[["measure", "depth", "pooled", "topics", "judgments"]]
    counts = sorted({int(float(f"{value:.2g}")) for value in frame["judgments"].quantile([0, 0.5, 1])})
    size = alt.Size(
        "judgments:Q",
        scale=alt.Scale(range=[30, 500]),
        legend=alt.Legend(title="judgments in all", values=counts, format=",.0f"),
    )
    x = alt.X("pooled:Q", title="documents to judge per topic", scale=alt.Scale(zero=False, padding=20))
    y = alt.Y("topics:Q", title="topics needed", scale=alt.Scale(zero=False, padding=28))
    lines, points, labels = _draw_depths(frame, x, y, number_tips("judgments", format=","))
    layers = [lines, points.mark_point(filled=True, opacity=0.9).encode(size=size),
              labels.mark_text(dy=-20, fontSize=10).encode(text="depth:Q")]  # fmt: skip
    title = alt.Title(
        study.lines[0 if wanted == "power" else -1], subtitle="numbers beside the points: pool depth"
    )
    return finish_chart(alt.LayerChart(layer=layers).properties(title=title, **SIZE))


def _draw_depths(
    frame: pd.DataFrame, x: alt.X, y: alt.Y, tips: list[alt.Tooltip]
) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """Return the line of each measure over the depths of its pool, and what points and labels are made of."""
    named = shorten_names(map(str, frame["measure"]))
    names = list(named.values())
    key = make_legend(names, **PLAIN)
    rows = (row | {"measure": named[str(row["measure"])]} for row in list_records(frame))
    base = alt.Chart(make_data(rows)).encode(
        x=x,
        y=y,
        color=encode_colour("measure", names, key),
        tooltip=[
            *text_tips("measure"),
            *number_tips(("depth", "pool depth"), "topics", format="d"),
            *number_tips("pooled", format=".1f"),
            *tips,
        ],
    )
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=encode_dash("measure", names, None))
    return lines, base.encode(shape=encode_shape("measure", names, key)), base


def judgment_chart(plan: Plan) -> alt.LayerChart:
    """Draw the smallest difference that a number of judgments finds against the depth of the pool, one line a measure.

    The number beside a point is how many topics the judgments pay for at that depth.

    Parameters
    ----------
    plan : Plan
        The result of `shardwise.planning.plan_pools` with a number of judgments.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    columns = ["measure", "depth", "pooled", "topics", "min_diff", "min_diff_assured", "width"]
    frame = plan.table.loc[plan.table["min_diff"].notna(), columns]
    x = alt.X("depth:Q", title="depth of the pool", scale=alt.Scale(type="log", padding=20, nice=False))
    y = alt.Y(
        "min_diff:Q",
        title="smallest difference found (units of the score)",
        scale=alt.Scale(zero=True, padding=20),
    )
    lines, points, labels = _draw_depths(frame, x, y, number_tips("min_diff", "min_diff_assured", "width"))
    layers = [lines, points.mark_point(filled=True, size=50, opacity=1),
              labels.mark_text(dy=-14, fontSize=10).encode(text="topics:Q")]  # fmt: skip
    title = alt.Title(
        f"{plan.facts['judgments']:,.0f} judgments: the smallest difference found with power {plan.facts['power']:g}",
        subtitle="numbers beside the points: topics",
    )
    return finish_chart(alt.LayerChart(layer=layers).properties(title=title, **SIZE))
