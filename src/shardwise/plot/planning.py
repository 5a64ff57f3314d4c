"""What topics, shards, instances and judgments buy (S14 Fig. 1-4, J15 Fig. 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import pandas as pd

from shardwise.core.claim import pluralize_noun
from shardwise.core.text import shorten_name, shorten_names
from shardwise.planning.plans import Plan, reach_curve
from shardwise.planning.variances import Generalizability, VarianceEstimate
from shardwise.plot import forms
from shardwise.plot.theme import COLOURS, SIZE, check_columns, list_records

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
        Columns ``topics`` and those named by `x` and `colour`, a row for each.
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
    return _draw_lines(curve, x, "topics", colour, "linear" if x == "systems" else "log")


def reach_chart(
    curve: pd.DataFrame | VarianceEstimate, *, topics: Sequence[int] | None = None
) -> alt.LayerChart:
    """Draw what a number of topics can find and how narrow its intervals are (S14 Fig. 3).

    Parameters
    ----------
    curve : DataFrame or VarianceEstimate
        Columns ``measure, topics, goal, value``, or a variance to compute them from.
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
    if curve["measure"].nunique() > 1:
        goals = [
            f"{shorten_name(str(measure))}: {goal}"
            for measure, goal in zip(curve["measure"], curve["goal"], strict=True)
        ]
        curve = curve.assign(goal=goals)
    return _draw_lines(curve, "topics", "value", "goal", "linear")


def _draw_lines(frame: pd.DataFrame, x: str, y: str, field: str, kind: str) -> alt.LayerChart:
    """One line a name, on two axes of a kind."""
    rows, series = _name_series(frame[[x, y, field]], field, **forms.STROKE)
    across = forms.number(x, TITLES.get(x, x), scale={"type": kind, "zero": False, "nice": False})
    title = TITLES["needed" if y == "topics" else y]
    up = forms.number(y, title, scale={"type": kind, "zero": kind == "linear"})
    layers = forms.draw_curves(rows, across, up, series, forms.tips(field, f"{x}:~g", f"{y}:~g"))
    return forms.finish_layers(layers, **SIZE)


def _name_series(frame: pd.DataFrame, field: str, **legend: Any) -> tuple[list[dict[str, Any]], forms.Series]:
    """Rows with short names in a field, and the series of these."""
    short = shorten_names(map(str, frame[field]))
    names = list(short.values())
    rows = [row | {field: short[str(row[field])]} for row in list_records(frame)]
    return rows, forms.Series(field, names, forms.make_legend(names, **legend))


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
    measures = shorten_names([str(measure) or "score" for measure in table.index])
    methods = shorten_names(map(str, table.columns))
    rows = [
        {"measure": measure, "method": method, "variance": value, "place": place}
        for measure, values in zip(measures.values(), table.to_numpy(float), strict=True)
        for place, (method, value) in enumerate(zip(methods.values(), values, strict=True))
    ]
    ways = list(methods.values())
    series = forms.Series("method", ways, forms.make_legend(ways))
    channels = {
        "x": forms.name("measure", measures.values(), labelAngle=0, grid=False),
        "xOffset": forms.PLACE,
        "y": forms.number("variance", TITLES["variance"]),
        "tooltip": forms.tips("measure", "method", "variance:.4f"),
        **series.encode("color"),
    }
    layers = [
        forms.draw("bar", rows, channels, opacity=0.75),
        forms.draw("point", rows, channels | series.encode("shape"), filled=True, size=50, opacity=1),
    ]
    return forms.finish_layers(layers, max(300, min(900, 26 * len(rows))), SIZE["height"])


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
    today = result.topics
    rows = []
    for n in sorted({*map(int, topics), today}):
        limits = result.intervals(n, level) if result.components["error"] > 0 else None
        for coefficient, label in names.items():
            row = {"topics": n, "coefficient": label, "value": getattr(result, coefficient)(n)}
            for end in ("low", "high"):
                row[end] = float("nan") if limits is None else float(limits[end][coefficient])
            rows.append(row)
    labels = list(names.values())
    series = forms.Series("coefficient", labels, forms.make_legend(labels, **forms.STROKE))
    x = forms.number("topics", "topics", scale={"type": "log", "nice": False})
    y = forms.number("value", "coefficient (0 to 1)", scale={"zero": False})
    shown = forms.tips("coefficient", "topics:d", "value:.3f", "low:.3f", "high:.3f")
    layers = [
        *forms.draw_curves(rows, x, y, series, shown, band=("low", "high")),
        forms.draw_level(today, "x"),
    ]
    title = f"{result.systems} systems; bands: {100 * level:g}% limits"
    return forms.finish_layers(layers, **SIZE, title=title)


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
    known = design.table["topics"].notna()
    top = int(design.table["topics"].max()) if known.any() else 1
    x = forms.number(
        "shards",
        "shards",
        scale={"zero": False, "nice": False, "padding": 12},
        axis={"tickMinStep": 1, "format": "d"},
    )
    places = {
        "x": x,
        "y": forms.number("topics", "topics needed", scale={"domain": [0, 1.08 * top], "nice": False}),
    }
    enough = list_records(design.table[known])
    shown = {"tooltip": forms.tips("shards:d", "topics:d", "se:.4g", "df:.1f")}
    why = f"more than {design.facts['most_topics']} topics, or none"
    never = [{"shards": n, "topics": top, "why": why} for n in design.table["shards"][~known]]
    refused = {"tooltip": forms.tips("shards:d", "why=topics")}
    cross = {"shape": "cross", "size": 80, "color": COLOURS[1], "angle": 45}
    layers = [
        forms.draw("line", enough, places | shown, strokeWidth=1.5, color=COLOURS[0]),
        forms.draw("point", enough, places | shown, filled=True, size=50, color=COLOURS[0], opacity=1),
        forms.draw("point", never, places | refused, filled=True, opacity=1, **cross),
    ]
    note = "" if known.all() else "; ×: no number of topics is enough"
    goal, claim = design.lines
    return forms.finish_layers(layers, **SIZE, title={"text": f"{goal}{note}", "subtitle": claim})


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
    columns = {
        f"a difference of {result.facts['min_diff']:g} is detected": "power",
        "equal systems differ significantly": "false_alarms",
    }
    table = list_records(result.table)
    rows = [
        {"topics": row["topics"], "share": row[column], "what": what}
        for row in table
        for what, column in columns.items()
    ]
    limits = [{"topics": row["topics"], "low": row["power_low"], "high": row["power_high"]} for row in table]
    x = forms.number("topics", "topics", scale={"zero": False})
    numbers = {"title": "share of simulations", "axis": {"format": "%"}, "scale": {"domain": [0, 1]}}
    ends: forms.Channel = {"x": x, "y": forms.number("low", **numbers), "y2": {"field": "high"}}
    ends |= {"tooltip": forms.tips("low:.1%", "high:.1%")}
    series = forms.Series(
        "what", columns, forms.make_legend(list(columns), **forms.PLAIN | {"direction": "vertical"})
    )
    shown = forms.tips("what", "topics:d", "share:.1%")
    layers = [
        forms.draw("rule", limits, ends, color=COLOURS[0], strokeWidth=2),
        *forms.draw_curves(rows, x, forms.number("share", **numbers), series, shown, points=50),
        forms.draw_level(result.facts["alpha"], "y"),
    ]
    facts = result.facts
    title = f"{facts['systems']} systems, dashed: alpha {facts['alpha']:g}; {result.lines[-1]}"
    return forms.finish_layers(layers, **SIZE, title=title)


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
    up: forms.Channel = {
        "scale": {"type": "sqrt", "domain": [0, 1]},
        "axis": {"values": SMALL_P, "format": ".2~f", "labelOverlap": False},
    }
    x = forms.number("instances", pluralize_noun(noun), scale={"type": "log", "nice": False})
    figures = ("median:.3g", "lower:.3g", "upper:.3g", "share:.0%=share p ≤ .05")
    rows = [row | {"figure": "median"} for row in list_records(spread)]
    layers = forms.draw_curves(
        rows,
        x,
        forms.number("median", "p-value", **up),
        forms.Series("figure", ["median"]),
        forms.tips(f"instances:d={pluralize_noun(noun)}", *figures),
        band=("lower", "upper"),
        points=40,
    )
    title = f"line: median; band: 5% to 95% of the p-values; dashed: {alpha:g}"
    return forms.finish_layers([*layers, forms.draw_level(alpha, "y", **up)], **SIZE, title=title)


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
    key = {"title": "judgments in all", "values": counts, "format": ",.0f"}
    size = {"size": forms.number("judgments", scale={"range": [30, 500]}, legend=key)}
    x = forms.number("pooled", "documents to judge per topic", scale={"zero": False, "padding": 20})
    y = forms.number("topics", "topics needed", scale={"zero": False, "padding": 28})
    layers = _draw_depths(frame, x, y, ["judgments:,"], "depth", size, -20)
    title = study.lines[0 if wanted == "power" else -1]
    subtitle = "numbers beside the points: pool depth"
    return forms.finish_layers(layers, **SIZE, title={"text": title, "subtitle": subtitle})


def _draw_depths(
    frame: pd.DataFrame,
    x: forms.Channel,
    y: forms.Channel,
    shown: list[str],
    label: str,
    size: forms.Channel,
    up: int,
) -> list[alt.Chart]:
    """The line of each measure over the depths of its pool, with a number above each point."""
    rows, series = _name_series(frame, "measure", **forms.PLAIN)
    figures = forms.tips("measure", "depth:d=pool depth", "topics:d", "pooled:.1f", *shown)
    common = {"x": x, "y": y, "tooltip": figures} | series.encode("color")
    dashes = series.encode("strokeDash", legend=False)
    return [
        forms.draw("line", rows, common | dashes, strokeWidth=1.5),
        forms.draw("point", rows, common | series.encode("shape") | size, filled=True, opacity=0.9),
        forms.draw("text", rows, common | {"text": forms.number(label)}, dy=up, fontSize=10),
    ]


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
    x = forms.number("depth", "depth of the pool", scale={"type": "log", "padding": 20, "nice": False})
    y = forms.number(
        "min_diff", "smallest difference found (units of the score)", scale={"zero": True, "padding": 20}
    )
    shown = ["min_diff:.4f", "min_diff_assured:.4f", "width:.4f"]
    layers = _draw_depths(frame, x, y, shown, "topics", {"size": {"value": 50}}, -14)
    judgments, power = plan.facts["judgments"], plan.facts["power"]
    title = f"{judgments:,.0f} judgments: the smallest difference found with power {power:g}"
    return forms.finish_layers(
        layers, **SIZE, title={"text": title, "subtitle": "numbers beside the points: topics"}
    )
