"""What simulations and experiments found: error rates, power, reversals on held-out topics, truth, and papers."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from shardwise.core.errors import InputError
from shardwise.core.text import escape_controls, shorten_name, shorten_names
from shardwise.lab.calibrate import Calibration
from shardwise.lab.holdout import PredictiveCheck
from shardwise.lab.simulate_collection import SimulatedCollection
from shardwise.papers.exhibit import Exhibit
from shardwise.plot import forms
from shardwise.plot.theme import (
    COLOURS,
    CROWDED,
    DASH,
    ON_AXIS,
    chart_width,
    check_columns,
    finish_chart,
    list_records,
    make_data,
)

RATES = ("method", "claim", "error_rate", "rate", "low", "high", "nominal")
POWERS = ("method", "difference", "power", "low", "high")
# Scales stretched near 0 and near 1, with the labels of their axes.
LOW = {"type": "sqrt", "domain": [0, 1]}, [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1]
HIGH = {"type": "pow", "exponent": 6, "domain": [0, 1]}, [0.5, 0.7, 0.8, 0.9, 0.95, 0.99]
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
    several = single and rates["error_rate"].nunique() > 1
    panels: dict[str, list[alt.LayerChart]] = {}
    for (claim, *error_rate), of_claim in rates.groupby(groups, sort=False):
        title = "; ".join(shorten_name(str(part), 80) for part in (*error_rate, claim))
        drawn = _draw_claim(list_records(of_claim[list(RATES)]), title, named=several)
        panels.setdefault(str(claim), []).append(drawn)
    finished: alt.VConcatChart = alt.vconcat(
        *(alt.hconcat(*row, spacing=30) for row in panels.values()), spacing=24
    )
    return finish_chart(finished)


def _draw_claim(rows: list[dict[str, Any]], title: str, named: bool) -> alt.LayerChart:
    """One claim; where methods promise different things, the promise stands beside the name."""
    labels = [f"{row['method']} ({row['error_rate']})" if named else str(row["method"]) for row in rows]
    names = shorten_names(labels)
    for k, (row, label) in enumerate(zip(rows, labels, strict=True)):
        below, above = row["high"] < row["nominal"], row["low"] > row["nominal"]
        rows[k] = row | {"method": names[label], "verdict": VERDICTS[1 - below + above]}
    levels = list(dict.fromkeys(float(row["nominal"]) for row in rows))
    scale, ticks = LOW if min(levels) <= 0.5 else HIGH
    numbers = {"scale": scale, "axis": {"values": ticks, "format": ".2~f", "labelOverlap": False}}
    key = {"title": "interval", "orient": "top", "titleOrient": "left", "symbolOpacity": 1}
    shown = forms.tips(
        "method", "claim", "error_rate", "verdict=interval", "rate:.4f", "low:.4f", "high:.4f", "nominal:.4f"
    )
    few = len(names) <= 40
    layers = forms.draw_intervals(
        rows,
        forms.name_rows("method", names.values(), labelPadding=8, labelOverlap=True),
        numbers | {"title": "rate, with Monte-Carlo interval"},
        ("rate", "low", "high"),
        shown,
        series=forms.Series("verdict", VERDICTS, key, SHADES, SHAPES),
        size=64 if few else 20,
        named=False,
    )
    lines = [forms.draw_level(level, "x", **numbers) for level in levels]
    return forms.layer([*layers, *lines], 340, (20 if few else 8) * len(names), title)


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
    groups = [group for group in ("claim", "null") if group in powers and powers[group].nunique() > 1]
    if not groups:
        return forms.finish_layers(_draw_power_curves(powers, names, measure), 460, 300)
    panels = []
    for parts, rows in powers.groupby(groups, sort=False):
        title = "; ".join(shorten_name(str(part), 60) for part in parts)
        panels.append(forms.layer(_draw_power_curves(rows, names, measure), 320, 260, title))
    return finish_chart(alt.hconcat(*panels, spacing=30))


def _draw_power_curves(powers: pd.DataFrame, names: dict[str, str], measure: str) -> list[alt.Chart]:
    """A curve a method, with its Monte-Carlo band."""
    methods = list(names.values())
    rows = [row | {"method": names[str(row["method"])]} for row in list_records(powers[list(POWERS)])]
    x = forms.number("difference", f"true difference in {shorten_name(measure)}")
    y = forms.number("power", "power", axis={"format": "%"}, scale={"domain": [0, 1]})
    series = forms.Series("method", methods, forms.make_legend(methods, columns=4, **forms.PLAIN))
    shown = forms.tips("method", "difference:.4f", "power:.1%", "low:.1%", "high:.1%")
    return forms.draw_curves(rows, x, y, series, shown, band=("low", "high"), points=40)


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
    """Reversals observed against predicted, and the line on which these are equal."""
    rows = []
    for row in list_records(check.curve):
        spread = 0.0 if pd.isna(row["spread"]) else row["spread"]  # of one repeat there is none
        limits = {"low": max(row["observed"] - spread, 0.0), "high": row["observed"] + spread}
        rows.append(row | limits | {"prediction": _name_source(row, "prediction")})
    kinds = list(dict.fromkeys(row["prediction"] for row in rows))
    series = forms.Series("prediction", kinds, forms.make_legend(kinds, direction="vertical"))
    x = forms.number("predicted", "predicted reversals", axis={"format": "%"}, scale={"domain": [0.0, MOST]})
    highest = max(MOST, *(row["high"] for row in rows))
    up = {"title": "observed reversals", "axis": {"format": "%"}, "scale": {"domain": [0.0, highest]}}
    ends = {"x": x, "y": forms.number("low", **up), "y2": {"field": "high"}} | series.encode("color")
    equal = [{"predicted": 0.0, "observed": 0.0}, {"predicted": MOST, "observed": MOST}]
    y = forms.number("observed", **up)
    shown = forms.tips(
        "prediction", "predicted:.1%", "observed:.1%", "spread:.1%", "pairs:.1f=pairs a sample"
    )
    layers = [
        forms.draw(
            "line", equal, {"x": x, "y": y}, strokeDash=DASH, strokeWidth=1, color="black", aria=False
        ),
        forms.draw("rule", rows, ends, opacity=0.5, aria=False),
        *forms.draw_curves(rows, x, y, series, shown, points=45),
    ]
    title = "all pairs" if len(kinds) > 1 else f"all pairs; {kinds[0]}"
    return forms.layer(layers, SIDE, SIDE, title)


def _draw_procedures(check: PredictiveCheck) -> alt.LayerChart:
    """Reversals of the pairs that each procedure found, observed and predicted."""
    rows = [
        {"procedure": _name_source(row, "procedure"), "kind": kind, "share": row[column]}
        | {field: row[field] for field in ("found", "found_share")}
        for row in list_records(check.table.reset_index())
        for kind, column in KINDS.items()
        if row["found"] > 0
    ]
    order = list(dict.fromkeys(row["procedure"] for row in rows))
    channels = {
        "x": forms.number("share", "of the pairs found, in the opposite order", axis={"format": ".1~%"}),
        "y": forms.name_rows("procedure", order),
        "tooltip": forms.tips(
            "procedure", "kind", "share:.2%", "found:.1f=pairs found", "found_share:.1%=of all pairs"
        ),
    }
    marks = forms.Series("kind", KINDS, forms.make_legend(list(KINDS))).encode("color", "shape")
    joined = channels | {"detail": forms.name_field("procedure")}
    layers = [
        forms.draw("line", rows, joined, color="grey", strokeWidth=1),
        forms.draw("point", rows, channels | marks, filled=True, size=60, opacity=1),
    ]
    return forms.layer(layers, SIDE, max(60, min(SIDE, 26 * len(order))), "pairs found")


def _name_source(row: dict[str, Any], field: str) -> str:
    """A name, with the collection that was decided on where there are two."""
    where = f", from {escape_controls(row['decided_on'])}" if "decided_on" in row else ""
    return f"{row[field]}{where}"


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
    topics = [made.topics[k] for k in order]
    panels = []
    for names, values, what, first, title, shape, shade in (
        (made.systems, made.quality, "system", "best", "true quality", "circle", COLOURS[0]),
        (topics, made.difficulty[order], "topic", "hardest", "difficulty", "diamond", COLOURS[1]),
    ):
        labels = shorten_names(names, ON_AXIS)
        rows = [{what: labels[each], "value": value} for each, value in zip(names, values, strict=True)]
        channels = {
            "x": forms.name_columns(what, list(labels.values()), f"{what}, {first} first"),
            "y": forms.number("value", f"{title} (units of the document score)"),
            "tooltip": forms.tips(what, f"value:.4f={title}"),
        }
        size = 14 if len(rows) > CROWDED else 44
        points = forms.draw(
            "point", rows, channels, filled=True, shape=shape, size=size, color=shade, opacity=1
        )
        panels.append(
            forms.layer([forms.draw_level(0.0, "y"), points], min(520, chart_width(len(rows), 14)), 240)
        )
    return finish_chart(alt.hconcat(*panels, spacing=40))


WIDTH, HEIGHT = 380, 240
MOST_PANELS = 2  # beside each other
LIGHTEST = 80.0  # percent of white in the first shade of an ordered series


def exhibit_chart(exhibit: Exhibit) -> Any:
    """Draw a figure of a replicated paper: one mark a row, a colour a series, a panel a value of the panel's column.

    Parameters
    ----------
    exhibit : Exhibit
        A figure of a `Replication`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    form, frame = exhibit.form, exhibit.data
    if form is None:
        raise InputError(
            f"{exhibit.label} is a table, not a figure", remedy="draw a figure, or read its data"
        )
    wanted = [form.x, form.y, *(form.band or ()), *filter(None, (form.series, form.panel))]
    check_columns(frame, *wanted)
    names = list(map(str, dict.fromkeys(frame[form.series]))) if form.series else []
    key = forms.make_legend(names, **({"direction": "vertical"} if len(names) > 4 else {}))
    shades = [f"hsl(0, 0%, {level:.0f}%)" for level in np.linspace(LIGHTEST, 0.0, max(len(names), 1))]
    series = forms.Series(form.series or "", names, key, shades if form.ordered else None)
    numeric = pd.api.types.is_numeric_dtype(frame[form.x])
    # no ticks between whole numbers
    axes = {
        name: {"tickMinStep": int(pd.api.types.is_integer_dtype(frame[name]))} for name in (form.x, form.y)
    }
    x = {
        "field": form.x,
        "type": "quantitative" if numeric else "nominal",
        "title": form.titles[0],
        "sort": None,
        "axis": axes[form.x],
    }
    common = {"x": x} | (series.encode("color") if names else {})
    up = {"title": form.titles[1], "scale": {"zero": form.mark == "bar"}, "axis": axes[form.y]}
    data = make_data(list_records(frame[list(dict.fromkeys(wanted))]))
    layers = []
    if form.band is not None:
        low, high = form.band
        ends = common | {"y": forms.number(low, **up), "y2": {"field": high}}
        if form.mark == "line":
            # thin edges: areas of several series blend to one colour
            edges = [common | {"y": forms.number(edge, **up)} for edge in form.band]
            layers += [forms.draw("line", data, edge, strokeWidth=0.6, opacity=0.8) for edge in edges]
        else:
            layers.append(forms.draw("rule", data, ends))
    dashes = series.encode("strokeDash") if names and form.mark == "line" and not form.ordered else {}
    styles: dict[str, Any] = {"line": {"strokeWidth": 1.2}, "point": {"filled": True, "size": 18}, "bar": {}}
    layers.append(
        forms.draw(form.mark, data, common | {"y": forms.number(form.y, **up)} | dashes, **styles[form.mark])
    )
    levels = [forms.draw_level(value, "y", **up) for value in form.rules]
    if not form.panel:
        return forms.finish_layers([*layers, *levels], WIDTH, HEIGHT)
    # a layer with data of its own would draw the rows of all panels in each
    for each in layers:
        each.data = alt.Undefined
    drawn = forms.layer([*layers, *levels], WIDTH, HEIGHT)
    panels = list(map(str, dict.fromkeys(frame[form.panel])))
    facet = alt.Facet(f"{form.panel}:N", title=None, sort=panels)
    whole = alt.FacetChart(data=data, spec=drawn, facet=facet, columns=min(len(panels), MOST_PANELS))
    # axes of their own, so that none stands below a place without a panel
    return (
        whole.resolve_scale(y="independent")
        .resolve_axis(x="independent")
        .configure_view(stroke=None)
        .configure_axis(gridColor="#e6e6e6", titleFontWeight="normal")
    )
