"""How methods keep their promises: error rates against the level they name, and power."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from shardwise.core.text import short
from shardwise.lab.calibrate import Calibration
from shardwise.plot.labels import distinct
from shardwise.plot.theme import (
    COLOURS,
    PLAIN,
    bare,
    check_columns,
    colour,
    dash,
    data,
    legend,
    level_line,
    numbers,
    records,
    shape,
    words,
)

RATES = ("method", "claim", "promise", "rate", "low", "high", "nominal")
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
        The result of `shardwise.calibrate`, or a table with the columns ``method, claim, promise, rate, low, high,
        nominal``.
    """
    if isinstance(rates, Calibration):
        rates = rates.table.assign(nominal=rates.alpha)
    check_columns(rates, *RATES)
    single = not rates.duplicated(["claim", "method"]).any()
    groups = ["claim"] if single else ["claim", "promise"]
    kinds = list(dict.fromkeys(map(str, rates["promise"])))
    rows: dict[str, list[alt.LayerChart]] = {}
    for (claim, *promise), own in rates.groupby(groups, sort=False):
        title = "; ".join(short(str(part), 80) for part in (*promise, claim))
        drawn = _panel(records(own[list(RATES)]), title, named=single and len(kinds) > 1)
        rows.setdefault(str(claim), []).append(drawn)
    panels = [alt.hconcat(*row, spacing=30) for row in rows.values()]
    finished: alt.VConcatChart = alt.vconcat(*panels, spacing=24)
    return bare(finished)


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
    """
    if isinstance(powers, Calibration):
        powers = powers.power[powers.power["meant"]]
    check_columns(powers, *POWERS)
    names = distinct(map(str, powers["method"]))
    groups = [name for name in ("claim", "null") if name in powers and powers[name].nunique() > 1]
    if not groups:
        return bare(_curves(powers, names, measure).properties(width=460, height=300))
    panels = [
        _curves(own, names, measure).properties(
            width=320, height=260, title="; ".join(short(str(part), 60) for part in parts)
        )
        for parts, own in powers.groupby(groups, sort=False)
    ]
    return bare(alt.hconcat(*panels, spacing=30))


def _curves(powers: pd.DataFrame, names: dict[str, str], measure: str) -> alt.LayerChart:
    methods = list(names.values())
    rows = [row | {"method": names[str(row["method"])]} for row in records(powers[list(POWERS)])]
    key = legend(methods, columns=4, **PLAIN)
    base = alt.Chart(data(rows)).encode(
        x=alt.X("difference:Q", title=f"true difference in {short(measure)}"),
        color=colour("method", methods, key),
        description="method:N",
        tooltip=[*words("method"), *numbers("difference"), *numbers("power", "low", "high", format=".1%")],
    )
    y = alt.Y("low:Q", title="power", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    bands = base.mark_area(opacity=0.15).encode(y=y, y2="high:Q")
    lines = base.mark_line(strokeWidth=1.8).encode(y="power:Q", strokeDash=dash("method", methods, None))
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        y="power:Q", shape=shape("method", methods, key)
    )
    return alt.LayerChart(layer=[bands, lines, points])


def _panel(rows: list[dict[str, Any]], title: str, named: bool) -> alt.LayerChart:
    """One claim; where methods promise different things, the promise stands beside the name."""
    label = {
        str(row["method"]): f"{row['method']} ({row['promise']})" if named else str(row["method"])
        for row in rows
    }
    names = distinct(label.values())
    marked = [row | {"method": names[label[str(row["method"])]], "verdict": _verdict(row)} for row in rows]
    methods = list(names.values())
    levels = list(dict.fromkeys(float(row["nominal"]) for row in rows))
    scale, ticks = (LOW, LOW_TICKS) if min(levels) <= 0.5 else (HIGH, HIGH_TICKS)
    step = 20 if len(methods) <= 40 else 8
    axis = alt.Axis(values=ticks, format=".2~f", labelOverlap=False)
    axis_of_names = alt.Axis(
        labelLimit=300, labelPadding=8, ticks=False, domain=False, grid=False, labelOverlap=True
    )
    key = alt.Legend(title="interval", orient="top", titleOrient="left", symbolOpacity=1)
    tips = [
        *words("method", "claim", "promise", ("verdict", "interval")),
        *numbers("rate", "low", "high", "nominal"),
    ]
    base = alt.Chart(data(marked)).encode(
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


def _verdict(row: dict[str, Any]) -> str:
    if row["high"] < row["nominal"]:
        return VERDICTS[0]
    return VERDICTS[2] if row["low"] > row["nominal"] else VERDICTS[1]
