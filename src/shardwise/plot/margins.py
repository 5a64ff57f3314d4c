"""Differences with their intervals against a margin that matters (J15 Fig. 3, 12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from shardwise.comparing.comparisons import Comparisons, describe_size
from shardwise.comparing.equivalence import Equivalence, SettingSeries
from shardwise.core.errors import Either, InputError
from shardwise.core.text import shorten_name, shorten_names
from shardwise.plot.matrix import draw_square
from shardwise.plot.rows import label_measure
from shardwise.plot.theme import (
    COLOURS,
    CROWDED,
    INK,
    ON_AXIS,
    finish_chart,
    list_records,
    make_data,
    number_tips,
    text_tips,
)

MOST_ROWS = 45  # pairs; more, unless all have one system in common, are drawn as a square of systems
DECIDED = {  # what the interval shows, given the margin: the claim, nothing, or its contrary
    "both": ("equivalent", "undecided", "different"),
    "lower": ("no worse", "undecided", "worse"),
    "superior": ("better", "undecided", "not better"),
}
SHADES = (COLOURS[2], COLOURS[4], COLOURS[1])
SHAPES = ("circle", "diamond", "cross")
FILLS = ("#0072B2", "#E69F00", "#ececec")  # of cells, which have no shape: apart in grey print


def margin_chart(
    result: Equivalence | SettingSeries | Mapping[str, SettingSeries], *, measure: str = "score"
) -> alt.LayerChart | alt.HConcatChart:
    """Draw differences with their intervals against the margin, by colour, shape and word of the verdict.

    One row a pair of systems; of more pairs than fit, a square of systems with the verdicts. A series of settings runs
    from left to right (J15 Fig. 12; with numbers of topics for settings, Fig. 3); several series, by name, are
    several panels.

    Parameters
    ----------
    result : Equivalence, SettingSeries or mapping of str to SettingSeries
        The result of `shardwise.equivalence` or `shardwise.instances.smallest_setting`.
    measure : str
        What the differences are in.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    if isinstance(result, Equivalence):
        many = len(result.table) > MOST_ROWS and _find_common_system(result) is None
        return _draw_verdicts(result) if many else finish_chart(_draw_pairs(result, measure))
    if isinstance(result, SettingSeries):
        return finish_chart(_draw_series(result, measure).properties(title=_describe_answer(result)))
    if not result:
        raise InputError("there are no series to draw", remedy="give one or more by name")
    names = shorten_names(result)
    panels = [
        _draw_series(series, names[name]).properties(width=max(180, min(300, 34 * len(series.table))))
        for name, series in result.items()
    ]
    row: alt.HConcatChart = alt.hconcat(*panels, spacing=40)
    if (
        len({series.side for series in result.values()}) > 1
    ):  # other words for the verdicts, so another legend
        row = row.resolve_scale(color="independent", shape="independent")
    return finish_chart(row)


def difference_chart(
    result: Comparisons, *, level: float = 0.95, margin: float | None = None, measure: str = "score"
) -> alt.LayerChart:
    """Draw the difference of two systems with its interval, or ± one standard error where there is none.

    Parameters
    ----------
    result : Comparisons
        One pair, such as the result of `shardwise.compare_instances`.
    level : float
        Confidence level of the interval.
    margin : float, optional
        A difference that matters, marked either side of 0.
    measure : str
        What the difference is in.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    if len(result) != 1:
        raise InputError(
            f"there are {len(result)} pairs",
            remedy=("draw one", Either(", as in compare(…, only=[(a, b)])", "")),
        )
    pair = result.to_frame(level).iloc[0]
    difference, low, high = (float(pair[name]) for name in ("difference", "lower", "upper"))
    spread = f"{100 * level:g}% interval"
    if not np.isfinite(low):
        low, high = difference - float(pair["se"]), difference + float(pair["se"])
        spread = "± 1 standard error"
    a, b = shorten_names((pair["a"], pair["b"]), most=40).values()
    p, effect = float(pair["p"]), float(pair["effect_size"])
    row = {
        "pair": f"{a} − {b}",
        "difference": difference,
        "lower": low,
        "upper": high,
        "p": p,
        "effect": effect,
    }
    tips = [
        *text_tips("pair"),
        *number_tips("difference", "lower", "upper"),
        *number_tips("p", ("effect", "effect size"), format=".3g"),
    ]
    title = f"difference in {shorten_name(measure)}, {spread}"
    names = alt.Axis(labelLimit=0, labelPadding=8, ticks=False, domain=False)
    base = alt.Chart(make_data([row])).encode(
        y=alt.Y("pair:N", title=None, axis=names), tooltip=tips, description="pair:N"
    )
    x = alt.X("lower:Q", title=title, scale=alt.Scale(zero=True, padding=14), axis=alt.Axis(tickCount=7))
    bar = base.mark_rule(strokeWidth=3, color=COLOURS[0]).encode(x=x, x2="upper:Q")
    point = base.mark_point(filled=True, size=80, opacity=1, color=COLOURS[0]).encode(x="difference:Q")
    edges = _draw_edges([0.0] if margin is None else [-margin, 0.0, margin], "x")
    subtitle = f"p = {p:.3g}, effect size {effect:.2f} ({describe_size(effect)})"
    drawn = alt.LayerChart(layer=[edges, bar, point]).properties(width=460, height=60, title=subtitle)
    return finish_chart(drawn)


def _draw_pairs(result: Equivalence, measure: str) -> alt.LayerChart:
    names = shorten_names([*result.table["a"], *result.table["b"]], most=32)
    rows = [
        row
        | {"a": names[row["a"]], "b": names[row["b"]], "pair": f"{names[row['a']]} − {names[row['b']]}"}
        | {"verdict": _decide_verdict(row, result)}
        for row in list_records(result.table)
    ]
    title = f"difference in {label_measure(measure, result.lower_is_better)}"
    step = 22 if len(rows) <= 40 else max(6, 900 // len(rows))
    axis = alt.Axis(labelLimit=0, ticks=False, domain=False, grid=False, labelOverlap=True, labelPadding=8,
                    labelFontSize=10 if step > 10 else 7)  # fmt: skip
    y = alt.Y("pair:N", scale=alt.Scale(domain=[row["pair"] for row in rows]), title=None, axis=axis)
    x = alt.X(
        "lower:Q",
        title=f"{title}, {100 * result.level:.4g}% intervals",
        scale=alt.Scale(zero=True, padding=14),
    )
    tips = [
        *text_tips("a", "b", "verdict"),
        *number_tips("difference", "lower", "upper"),
        *number_tips("p", format=".3g"),
    ]
    base = alt.Chart(make_data(rows)).encode(y=y, tooltip=tips, description="pair:N")
    layers = [
        _draw_zone(result.margin, result.side, "x"),
        _draw_edges(_list_margins(result), "x"),
        *_draw_marks(base, result.side, x, "x", small=step <= 10),
    ]
    if len(rows) <= 40:
        labels = alt.Chart(make_data(rows)).mark_text(align="left", dx=6, fontSize=10, color=INK, aria=False)
        layers.append(labels.encode(y=y, x="upper:Q", text="verdict:N"))
    return alt.LayerChart(layer=layers).properties(
        width=460, height=step * len(rows), title=_describe_goal(result)
    )


def _draw_series(result: SettingSeries, measure: str) -> alt.LayerChart:
    settings = shorten_names(map(str, result.table["setting"]))
    rows = [
        row
        | {
            "setting": settings[str(row["setting"])],
            "verdict": _decide_verdict(row, result),
        }
        for row in list_records(result.table)
    ]
    labels = [row["setting"] for row in rows]
    x = alt.X(
        "setting:N", scale=alt.Scale(domain=labels), title="setting", axis=alt.Axis(labelAngle=0, grid=False)
    )
    title = f"difference in {label_measure(measure, result.lower_is_better)}"
    y = alt.Y("lower:Q", title=title, scale=alt.Scale(zero=True))
    tips = [
        *text_tips("setting", "verdict"),
        *number_tips("difference", "lower", "upper"),
        *number_tips("p", format=".3g"),
    ]
    base = alt.Chart(make_data(rows)).encode(x=x, tooltip=tips, description="setting:N")
    layers = [
        _draw_zone(result.margin, result.side, "y"),
        _draw_edges(_list_margins(result), "y"),
        *_draw_marks(base, result.side, y, "y", small=False),
    ]
    width = max(240, min(900, 40 * len(rows)))
    return alt.LayerChart(layer=layers).properties(width=width, height=280)


def _draw_verdicts(result: Equivalence) -> alt.LayerChart:
    """The verdicts on many pairs as a square; the systems that come first most often stand first."""
    wins = Counter(result.table["a"])
    order = sorted({*result.table["a"], *result.table["b"]}, key=lambda name: (-wins[name], name))
    labels = shorten_names(order, ON_AXIS)
    rows = [
        {
            "a": labels[row["a"]],
            "b": labels[row["b"]],
            "kind": _decide_verdict(row, result),
        }
        | {name: row[name] for name in ("difference", "lower", "upper")}
        for row in list_records(result.table)
    ]
    marks = ("", "circle" if len(order) <= CROWDED else "", "")
    kinds = dict(zip(DECIDED[result.side], zip(FILLS, marks, strict=True), strict=True))
    tips = [*text_tips("a", "b", ("kind", "verdict")), *number_tips("difference", "lower", "upper")]
    drawn = draw_square(
        rows, list(labels.values()), kinds, "verdict", tips, ("second system", "first system")
    )
    return drawn.properties(title=_describe_goal(result))


def _draw_marks(base: alt.Chart, side: str, along: Any, axis: str, small: bool) -> list[alt.Chart]:
    names = list(DECIDED[side])
    key = alt.Legend(title=None, orient="top", labelLimit=400)
    shade = alt.Color("verdict:N", scale=alt.Scale(domain=names, range=list(SHADES)), legend=key)
    form = alt.Shape("verdict:N", scale=alt.Scale(domain=names, range=list(SHAPES)), legend=key)
    coloured = base.encode(color=shade)
    bar = coloured.mark_rule(strokeWidth=1.2 if small else 2.5)
    point = coloured.mark_point(filled=True, size=16 if small else 70, opacity=1).encode(shape=form)
    if axis == "x":
        return [bar.encode(x=along, x2="upper:Q"), point.encode(x="difference:Q")]
    return [bar.encode(y=along, y2="upper:Q"), point.encode(y="difference:Q")]


def _decide_verdict(row: Mapping[str, Any], result: Equivalence | SettingSeries) -> str:
    yes, open_, no = DECIDED[result.side]
    if row["holds"]:
        return yes
    margin, (lowest, highest) = result.margin, (row["lower"], row["upper"])
    if result.lower_is_better:
        lowest, highest = -highest, -lowest
    contrary = {
        "both": lowest > margin or highest < -margin,
        "lower": highest < -margin,
        "superior": highest < margin,
    }[result.side]
    return no if contrary else open_


def _list_margins(result: Equivalence | SettingSeries) -> list[float]:
    """Return where lines are drawn: at 0 and at the margin, on its other side where lower is better."""
    margin = -result.margin if result.lower_is_better else result.margin
    sides = {"both": [-margin, 0.0, margin], "lower": [-margin, 0.0], "superior": [0.0, margin]}
    return sides[result.side]


def _draw_edges(values: list[float], axis: str) -> alt.Chart:
    rows = [{"at": value, "kind": "zero" if value == 0 else "margin"} for value in values]
    lines = alt.StrokeDash(
        "kind:N", scale=alt.Scale(domain=["zero", "margin"], range=[[1, 0], [4, 3]]), legend=None
    )
    mark = alt.Chart(make_data(rows)).mark_rule(color=INK, strokeWidth=1, aria=False)
    drawn: alt.Chart = mark.encode(strokeDash=lines, **{axis: "at:Q"})
    return drawn


def _draw_zone(margin: float, side: str, axis: str) -> alt.Chart:
    """The differences that the claim allows, as far as they have two ends."""
    rows = [{"from": -margin, "to": margin}] if side == "both" else []
    mark = alt.Chart(make_data(rows)).mark_rect(color="#bdbdbd", opacity=0.3, aria=False)
    drawn: alt.Chart = mark.encode(**{axis: "from:Q", f"{axis}2": "to:Q"})
    return drawn


def _describe_goal(result: Equivalence) -> str:
    met = int(result.table["holds"].sum())
    word = {
        "both": f"equivalent within ±{result.margin:g}",
        "lower": f"not worse by {result.margin:g} or more",
        "superior": f"better by more than {result.margin:g}",
    }[result.side]
    return f"{met} of {len(result.table)} {word}"


def _describe_answer(result: SettingSeries) -> str:
    word = f"{DECIDED[result.side][0]} (margin {result.margin:g})"
    if result.smallest is None:
        return f"no setting from which on all are {word}"
    return f"from {shorten_name(str(result.smallest))} on, all are {word}"


def _find_common_system(result: Equivalence) -> str | None:
    """A system that is in every pair."""
    pairs = zip(result.table["a"], result.table["b"], strict=True)
    return next(iter(set.intersection(*map(set, pairs))), None)
