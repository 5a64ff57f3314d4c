"""What the laboratory found: error rates and power of methods, reversals on held-out topics, a simulated truth."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.core.text import escape_controls, shorten_name, shorten_names
from shardwise.lab.calibrate import Calibration
from shardwise.lab.holdout.checks import PredictiveCheck
from shardwise.lab.simulate_collection import SimulatedCollection
from shardwise.plot.theme import (
    COLOURS,
    CROWDED,
    DASH,
    ON_AXIS,
    PLAIN,
    chart_width,
    check_columns,
    encode_colour,
    encode_dash,
    encode_shape,
    finish_chart,
    level_line,
    list_records,
    make_data,
    make_legend,
    name_axis,
    number_tips,
    system_axis,
    text_tips,
)

RATES = ("method", "claim", "error_rate", "rate", "low", "high", "nominal")
POWERS = ("method", "difference", "power", "low", "high")
LOW_TICKS = [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1]
HIGH_TICKS = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99]
LOW = alt.Scale(type="sqrt", domain=[0, 1])
HIGH = alt.Scale(type="pow", exponent=6, domain=[0, 1])
VERDICTS = ("below the level", "contains the level", "above the level")
SHADES = (COLOURS[0], "#606060", COLOURS[1])
SHAPES = ("triangle-left", "circle", "triangle-right")


def error_rate_chart(rates: pd.DataFrame | Calibration) -> alt.VConcatChart:
    """Draw the error rate of each method with its Monte-Carlo interval, and the level it promises.

    One panel a claim; the dashed line is the nominal level. The axis is stretched near 0, so that .05 and .99 both
    read, and near 1 where the level is high, as for coverage. A method that makes several promises has a panel for
    each.

    Parameters
    ----------
    rates : Calibration or DataFrame
        The result of `shardwise.calibrate`, or a table with the columns ``method, claim, error_rate, rate, low, high,
        nominal``.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    if isinstance(rates, Calibration):
        rates = rates.table.assign(nominal=rates.alpha)
    check_columns(rates, *RATES)
    single = not rates.duplicated(["claim", "method"]).any()
    groups = ["claim"] if single else ["claim", "error_rate"]
    kinds = list(dict.fromkeys(map(str, rates["error_rate"])))
    rows: dict[str, list[alt.LayerChart]] = {}
    for (claim, *error_rate), of_claim in rates.groupby(groups, sort=False):
        title = "; ".join(shorten_name(str(part), 80) for part in (*error_rate, claim))
        drawn = _draw_claim(list_records(of_claim[list(RATES)]), title, named=single and len(kinds) > 1)
        rows.setdefault(str(claim), []).append(drawn)
    panels = [alt.hconcat(*row, spacing=30) for row in rows.values()]
    finished: alt.VConcatChart = alt.vconcat(*panels, spacing=24)
    return finish_chart(finished)


def power_chart(
    powers: pd.DataFrame | Calibration, *, measure: str = "score"
) -> alt.LayerChart | alt.HConcatChart:
    """Draw the power of each method over the size of the difference, with Monte-Carlo bands.

    Parameters
    ----------
    powers : Calibration or DataFrame
        The result of `shardwise.calibrate`, of which the methods meant for a claim are drawn, or a table with the
        columns ``method, difference, power, low, high``; where it has ``claim`` or ``null`` too, each of these has a
        panel.
    measure : str
        What the differences are in.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    if isinstance(powers, Calibration):
        powers = powers.power[powers.power["meant"]]
    check_columns(powers, *POWERS)
    names = shorten_names(map(str, powers["method"]))
    groups = [name for name in ("claim", "null") if name in powers and powers[name].nunique() > 1]
    if not groups:
        return finish_chart(_draw_power_curves(powers, names, measure).properties(width=460, height=300))
    panels = [
        _draw_power_curves(rows, names, measure).properties(
            width=320, height=260, title="; ".join(shorten_name(str(part), 60) for part in parts)
        )
        for parts, rows in powers.groupby(groups, sort=False)
    ]
    return finish_chart(alt.hconcat(*panels, spacing=30))


def _draw_power_curves(powers: pd.DataFrame, names: dict[str, str], measure: str) -> alt.LayerChart:
    methods = list(names.values())
    rows = [row | {"method": names[str(row["method"])]} for row in list_records(powers[list(POWERS)])]
    key = make_legend(methods, columns=4, **PLAIN)
    base = alt.Chart(make_data(rows)).encode(
        x=alt.X("difference:Q", title=f"true difference in {shorten_name(measure)}"),
        color=encode_colour("method", methods, key),
        description="method:N",
        tooltip=[
            *text_tips("method"),
            *number_tips("difference"),
            *number_tips("power", "low", "high", format=".1%"),
        ],
    )
    y = alt.Y("low:Q", title="power", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    bands = base.mark_area(opacity=0.15).encode(y=y, y2="high:Q")
    lines = base.mark_line(strokeWidth=1.8).encode(
        y="power:Q", strokeDash=encode_dash("method", methods, None)
    )
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        y="power:Q", shape=encode_shape("method", methods, key)
    )
    return alt.LayerChart(layer=[bands, lines, points])


def _draw_claim(rows: list[dict[str, Any]], title: str, named: bool) -> alt.LayerChart:
    """One claim; where methods promise different things, the promise stands beside the name."""
    label = {
        str(row["method"]): f"{row['method']} ({row['error_rate']})" if named else str(row["method"])
        for row in rows
    }
    names = shorten_names(label.values())
    marked = [
        row | {"method": names[label[str(row["method"])]], "verdict": _decide_verdict(row)} for row in rows
    ]
    methods = list(names.values())
    levels = list(dict.fromkeys(float(row["nominal"]) for row in rows))
    scale, ticks = (LOW, LOW_TICKS) if min(levels) <= 0.5 else (HIGH, HIGH_TICKS)
    step = 20 if len(methods) <= 40 else 8
    axis = alt.Axis(values=ticks, format=".2~f", labelOverlap=False)
    axis_of_names = alt.Axis(
        labelLimit=0, labelPadding=8, ticks=False, domain=False, grid=False, labelOverlap=True
    )
    key = alt.Legend(title="interval", orient="top", titleOrient="left", symbolOpacity=1)
    tips = [
        *text_tips("method", "claim", "error_rate", ("verdict", "interval")),
        *number_tips("rate", "low", "high", "nominal"),
    ]
    base = alt.Chart(make_data(marked)).encode(
        y=alt.Y("method:N", scale=alt.Scale(domain=methods), title=None, axis=axis_of_names),
        color=alt.Color("verdict:N", scale=alt.Scale(domain=list(VERDICTS), range=list(SHADES)), legend=key),
        tooltip=tips,
    )
    x = alt.X("low:Q", title="rate, with Monte-Carlo interval", scale=scale, axis=axis)
    bars = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    form = alt.Shape("verdict:N", scale=alt.Scale(domain=list(VERDICTS), range=list(SHAPES)), legend=key)
    points = base.mark_point(filled=True, size=64 if step > 8 else 20, opacity=1).encode(
        x=alt.X("rate:Q", scale=scale, axis=axis), shape=form
    )
    drawn = alt.LayerChart(
        layer=[bars, points, *(level_line(level, "x", scale=scale, axis=axis) for level in levels)]
    )
    return drawn.properties(width=340, height=step * len(methods), title=title)


def _decide_verdict(row: dict[str, Any]) -> str:
    if row["high"] < row["nominal"]:
        return VERDICTS[0]
    return VERDICTS[2] if row["low"] > row["nominal"] else VERDICTS[1]


SIDE = 300
MOST = 0.5  # no order is predicted to be reversed more often than not
KINDS = {"observed": "reversal", "predicted": "predicted_reversal"}


def prediction_chart(check: PredictiveCheck) -> alt.HConcatChart:
    """Draw reversals observed against predicted, and by procedure; on the dashed line a prediction is right.

    Bars are the spread between repeats, a standard deviation either side.

    Parameters
    ----------
    check : PredictiveCheck
        The result of `shardwise.holdout.split_half` or `shardwise.holdout.across_collections`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    both = alt.hconcat(_draw_reversals(check), _draw_procedures(check), spacing=50)
    apart: alt.HConcatChart = both.resolve_scale(color="independent", shape="independent")
    return finish_chart(apart)


def _draw_reversals(check: PredictiveCheck) -> alt.LayerChart:
    rows = []
    for row in list_records(check.curve):
        spread = 0.0 if pd.isna(row["spread"]) else row["spread"]  # of one repeat there is none
        limits = {"low": max(row["observed"] - spread, 0.0), "high": row["observed"] + spread}
        rows.append(row | limits | {"prediction": _name_source(row, "prediction")})
    kinds = list(dict.fromkeys(row["prediction"] for row in rows))
    key = make_legend(kinds, direction="vertical")
    highest = max(MOST, *(row["high"] for row in rows))
    x = alt.X("predicted:Q", title="predicted reversals", axis=alt.Axis(format="%"), scale=_scale_up_to(MOST))
    y = alt.Y(
        "observed:Q", title="observed reversals", axis=alt.Axis(format="%"), scale=_scale_up_to(highest)
    )
    base = alt.Chart(make_data(rows)).encode(x=x, y=y, color=encode_colour("prediction", kinds, key))
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        shape=encode_shape("prediction", kinds, key),
        tooltip=[
            *text_tips("prediction"),
            *number_tips("predicted", "observed", "spread", format=".1%"),
            *number_tips(("pairs", "pairs a sample"), format=".1f"),
        ],
    )
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", scale=_scale_up_to(highest)), y2="high:Q")
    ends = alt.Chart(make_data([{"p": 0.0}, {"p": MOST}]))
    right = ends.mark_line(strokeDash=DASH, strokeWidth=1, color="black", aria=False).encode(x="p:Q", y="p:Q")
    layers = [right, base.mark_line(strokeWidth=1.5), bars, points]
    title = "all pairs" if len(kinds) > 1 else f"all pairs; {kinds[0]}"
    return alt.LayerChart(layer=layers).properties(width=SIDE, height=SIDE, title=title)


def _draw_procedures(check: PredictiveCheck) -> alt.LayerChart:
    detections = [row for row in list_records(check.table.reset_index()) if row["found"] > 0]
    rows = [
        {"procedure": _name_source(row, "procedure"), "kind": kind, "share": row[column]}
        | {name: row[name] for name in ("found", "found_share")}
        for row in detections
        for kind, column in KINDS.items()
    ]
    order = list(dict.fromkeys(row["procedure"] for row in rows))
    key = make_legend(list(KINDS))
    base = alt.Chart(make_data(rows)).encode(
        x=alt.X("share:Q", title="of the pairs found, in the opposite order", axis=alt.Axis(format=".1~%")),
        y=name_axis("procedure", order),
        tooltip=[
            *text_tips("procedure", "kind"),
            *number_tips("share", format=".2%"),
            *number_tips(("found", "pairs found"), format=".1f"),
            *number_tips(("found_share", "of all pairs"), format=".1%"),
        ],
    )
    marks = base.mark_point(filled=True, size=60, opacity=1)
    points = marks.encode(
        color=encode_colour("kind", list(KINDS), key), shape=encode_shape("kind", list(KINDS), key)
    )
    lines = base.mark_line(color="grey", strokeWidth=1).encode(detail="procedure:N")
    height = max(60, min(SIDE, 26 * len(order)))
    return alt.LayerChart(layer=[lines, points]).properties(width=SIDE, height=height, title="pairs found")


def _name_source(row: dict[str, Any], field: str) -> str:
    """A name, with the collection that was decided on where there are two."""
    where = f", from {escape_controls(row['decided_on'])}" if "decided_on" in row else ""
    return f"{row[field]}{where}"


def _scale_up_to(highest: float) -> alt.Scale:
    return alt.Scale(domain=[0.0, highest])


def truth_chart(made: SimulatedCollection) -> alt.HConcatChart:
    """Draw the true quality of each system, and the difficulty of each topic, hardest first.

    Parameters
    ----------
    made : SimulatedCollection
        The result of `shardwise.simulate.collection`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    order = np.argsort(-made.difficulty, kind="stable")
    halves = (
        (made.systems, made.quality, "system", "true quality", "circle", COLOURS[0]),
        (
            [made.topics[k] for k in order],
            made.difficulty[order],
            "topic",
            "difficulty",
            "diamond",
            COLOURS[1],
        ),
    )
    panels = []
    for names, values, what, title, form, shade in halves:
        labels = shorten_names(names, ON_AXIS)
        rows = [{what: labels[name], "value": value} for name, value in zip(names, values, strict=True)]
        crowded = len(rows) > CROWDED
        points = (
            alt.Chart(make_data(rows))
            .mark_point(filled=True, shape=form, size=14 if crowded else 44, color=shade, opacity=1)
            .encode(
                x=system_axis(
                    list(labels.values()), f"{what}, {'best' if what == 'system' else 'hardest'} first", what
                ),
                y=alt.Y("value:Q", title=f"{title} (units of the document score)"),
                tooltip=[*text_tips(what), *number_tips(("value", title))],
            )
        )
        layers = [level_line(0.0, "y"), points]
        panels.append(
            alt.LayerChart(layer=layers).properties(width=min(520, chart_width(len(rows), 14)), height=240)
        )
    return finish_chart(alt.hconcat(*panels, spacing=40))
