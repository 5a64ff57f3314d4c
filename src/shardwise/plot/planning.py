"""How many topics: what they can find, how far a ranking would repeat, shards, simulations (S14 Fig. 1-3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from shardwise.core.text import shorten_name, shorten_names
from shardwise.planning.generalizing import Generalizability
from shardwise.planning.plans import Plan, reach_curve
from shardwise.planning.variances import VarianceEstimate
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
        Columns ``topics`` and those named by `x` and `colour`, such as the answers of
        `shardwise.planning.topics_for_power`.
    x : str
        The column that varies from left to right, such as systems, min_diff or width.
    colour : str
        The column that tells lines apart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    check_columns(curve, x, "topics", colour)
    kind = "linear" if x == "systems" else "log"
    return _draw_lines(curve, x, "topics", colour, kind)


def reach_chart(
    curve: pd.DataFrame | VarianceEstimate, *, topics: Sequence[int] | None = None
) -> alt.LayerChart:
    """Draw what a number of topics can find and how narrow its intervals are (S14 Fig. 3).

    Parameters
    ----------
    curve : DataFrame or VarianceEstimate
        Columns ``measure``, ``topics``, ``goal`` and ``value``, or a variance to compute them from.
    topics : sequence of int, optional
        The numbers of topics for a variance, 10 to 400 by default; a table has its own.

    Returns
    -------
    Chart
        The chart, an altair object.
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
            f"{shorten_name(str(measure))}: {goal}"
            for measure, goal in zip(curve["measure"], curve["goal"], strict=True)
        ]
        named = curve.assign(goal=goals)
    return _draw_lines(named, "topics", "value", "goal", "linear")


def variance_chart(table: pd.DataFrame) -> alt.LayerChart:
    """Draw the variance of each measure by each way to estimate it (S14 Fig. 1).

    Parameters
    ----------
    table : DataFrame
        One row a measure, one column a way, as `shardwise.planning.variance` estimates it.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    measures = shorten_names([str(name) or "score" for name in table.index])
    methods = shorten_names(map(str, table.columns))
    rows = [
        {"measure": measures[str(name) or "score"], "method": methods[str(method)], "variance": value}
        | {"place": position}
        for name, values in zip(table.index, table.to_numpy(float), strict=True)
        for position, (method, value) in enumerate(zip(table.columns, values, strict=True))
    ]
    names, ways = list(measures.values()), list(methods.values())
    key = make_legend(ways)
    base = alt.Chart(make_data(rows)).encode(
        x=alt.X(
            "measure:N", scale=alt.Scale(domain=names), title=None, axis=alt.Axis(labelAngle=0, grid=False)
        ),
        xOffset=alt.XOffset("place:O", sort="ascending"),
        y=alt.Y("variance:Q", title=TITLES["variance"]),
        color=encode_colour("method", ways, key),
        tooltip=[*text_tips("measure", "method"), *number_tips("variance")],
    )
    bars = base.mark_bar(opacity=0.75)
    points = base.mark_point(filled=True, size=50, opacity=1).encode(shape=encode_shape("method", ways, key))
    width = max(300, min(900, 26 * len(rows)))
    return finish_chart(alt.LayerChart(layer=[bars, points]).properties(width=width, height=SIZE["height"]))


def _draw_lines(frame: pd.DataFrame, x: str, y: str, field: str, kind: Any) -> alt.LayerChart:
    named = shorten_names(map(str, frame[field]))
    names = list(named.values())
    rows = [row | {field: named[str(row[field])]} for row in list_records(frame[[x, y, field]])]
    key = make_legend(names, symbolType="stroke", symbolSize=300)
    base = alt.Chart(make_data(rows)).encode(
        x=alt.X(f"{x}:Q", title=TITLES.get(x, x), scale=alt.Scale(type=kind, zero=False, nice=False)),
        y=alt.Y(
            f"{y}:Q",
            title=TITLES["needed" if y == "topics" else y],
            scale=alt.Scale(type=kind, zero=kind == "linear"),
        ),
        color=encode_colour(field, names, key),
        tooltip=[*text_tips(field), *number_tips(x, y, format="~g")],
    )
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=encode_dash(field, names, key))
    points = base.mark_point(
        size=40, opacity=0
    )  # for the numbers under the mouse; seen, they would fray dashes
    return finish_chart(alt.LayerChart(layer=[lines, points]).properties(**SIZE))


def generalizability_chart(
    result: Generalizability, *, topics: Sequence[int] = TOPICS, level: float = 0.95
) -> alt.LayerChart:
    """Draw Eρ² and Φ with their confidence limits against the number of topics; the dashed line is today's number.

    Parameters
    ----------
    result : Generalizability
        The result of `shardwise.planning.generalizability`.
    topics : sequence of int
        The numbers of topics to draw; today's is added.
    level : float
        Confidence level of the limits.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    names = {"erho_sq": "Eρ², differences", "phi": "Φ, scores"}
    counts = sorted({*map(int, topics), result.topics})
    rows = []
    for n in counts:
        if result.components["error"] > 0:
            table = result.intervals(n, level)
            limits = {name: table.loc[name, ["low", "high"]].to_numpy(float).tolist() for name in names}
        else:
            limits = {name: [float("nan"), float("nan")] for name in names}
        for name, value in (("erho_sq", result.erho_sq(n)), ("phi", result.phi(n))):
            low, high = limits[name]
            rows.append({"topics": n, "coefficient": names[name], "value": value, "low": low, "high": high})
    shown = list(names.values())
    key = make_legend(shown, symbolType="stroke", symbolSize=300)
    x = alt.X("topics:Q", title="topics", scale=alt.Scale(type="log", nice=False))
    base = alt.Chart(make_data(rows)).encode(
        x=x,
        color=encode_colour("coefficient", shown, key),
        tooltip=[
            *text_tips("coefficient"),
            *number_tips("topics", format="d"),
            *number_tips("value", "low", "high", format=".3f"),
        ],
    )
    band = base.mark_area(opacity=0.18).encode(
        y=alt.Y("low:Q", title="coefficient (0 to 1)", scale=alt.Scale(zero=False)), y2="high:Q"
    )
    lines = base.mark_line(strokeWidth=2).encode(
        y="value:Q", strokeDash=encode_dash("coefficient", shown, key)
    )
    points = base.mark_point(size=40, opacity=0).encode(y="value:Q")
    today = level_line(result.topics, "x")
    title = f"{result.systems} systems; bands: {100 * level:g}% limits"
    layers = [band, lines, points, today]
    return finish_chart(alt.LayerChart(layer=layers).properties(title=title, **SIZE))


def shard_design_chart(design: Plan) -> alt.LayerChart:
    """Draw the topics needed against the number of shards; a cross where no number of topics is enough.

    Parameters
    ----------
    design : Plan
        The result of `shardwise.planning.plan_shards`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    known = design.table["topics"].notna().to_numpy(bool)
    rows = list_records(design.table)
    top = max((int(row["topics"]) for row, ok in zip(rows, known, strict=True) if ok), default=1)
    x = alt.X("shards:Q", title="shards", scale=alt.Scale(zero=False, nice=False, padding=12),
              axis=alt.Axis(tickMinStep=1, format="d"))  # fmt: skip
    y = alt.Y("topics:Q", title="topics needed", scale=alt.Scale(domain=[0, 1.08 * top], nice=False))
    enough = alt.Chart(make_data(row for row, ok in zip(rows, known, strict=True) if ok)).encode(
        x=x,
        y=y,
        tooltip=[
            *number_tips("shards", "topics", format="d"),
            *number_tips("se", format=".4g"),
            *number_tips("df", format=".1f"),
        ],
    )
    why = f"more than {design.facts['most_topics']} topics, or none"
    never = alt.Chart(
        make_data({"shards": row["shards"], "topics": top, "why": why}
             for row, ok in zip(rows, known, strict=True) if not ok)
    )  # fmt: skip
    layers = [
        enough.mark_line(strokeWidth=1.5, color=COLOURS[0]),
        enough.mark_point(filled=True, size=50, color=COLOURS[0], opacity=1),
        never.mark_point(shape="cross", size=80, color=COLOURS[1], filled=True, opacity=1, angle=45).encode(
            x=x, y=y, tooltip=[*number_tips("shards", format="d"), *text_tips(("why", "topics"))]
        ),
    ]
    note = "" if known.all() else "; ×: no number of topics is enough"
    goal, claim = design.lines
    title = alt.Title(f"{goal}{note}", subtitle=claim)
    return finish_chart(alt.LayerChart(layer=layers).properties(title=title, **SIZE))


def simulated_power_chart(result: Plan) -> alt.LayerChart:
    """Draw power with its Monte-Carlo limits, and the share of false alarms, against the number of topics.

    Parameters
    ----------
    result : Plan
        The result of `shardwise.planning.simulated_power`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    detected, false = (
        f"a difference of {result.facts['min_diff']:g} is detected",
        "equal systems differ significantly",
    )
    names = [detected, false]
    rows = [
        {"topics": row["topics"], "share": row[column], "what": name}
        for row in list_records(result.table)
        for name, column in ((detected, "power"), (false, "false_alarms"))
    ]
    limits = [
        {"topics": row["topics"], "low": row["power_low"], "high": row["power_high"]}
        for row in list_records(result.table)
    ]
    key = make_legend(names, direction="vertical", **PLAIN)
    x = alt.X("topics:Q", title="topics", scale=alt.Scale(zero=False))
    base = alt.Chart(make_data(rows)).encode(
        x=x,
        y=alt.Y(
            "share:Q", title="share of simulations", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
        ),
        color=encode_colour("what", names, key),
        tooltip=[*text_tips("what"), *number_tips("topics", format="d"), *number_tips("share", format=".1%")],
    )
    bars = (
        alt.Chart(make_data(limits))
        .mark_rule(color=COLOURS[0], strokeWidth=2)
        .encode(x=x, y="low:Q", y2="high:Q", tooltip=number_tips("low", "high", format=".1%"))
    )
    lines = base.mark_line(strokeWidth=1.5)
    points = base.mark_point(filled=True, size=50, opacity=1).encode(shape=encode_shape("what", names, key))
    layers = [bars, lines, points, level_line(result.facts["alpha"], "y")]
    facts = result.facts
    title = f"{facts['systems']} systems, dashed: alpha {facts['alpha']:g}; {result.lines[-1]}"
    return finish_chart(alt.LayerChart(layer=layers).properties(title=title, **SIZE))
