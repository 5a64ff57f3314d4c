"""The figures of published experiments: lines, points or bars with bands, in panels."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from shardwise.core.errors import InputError
from shardwise.papers.exhibit import Exhibit
from shardwise.plot.theme import (
    check_columns,
    encode_colour,
    encode_dash,
    finish_chart,
    list_records,
    make_data,
    make_legend,
)

WIDTH, HEIGHT = 380, 240
MOST_PANELS = 2  # beside each other


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
    form = exhibit.form
    if form is None:
        raise InputError(
            f"{exhibit.label} is a table, not a figure", remedy="draw a figure, or read its data"
        )
    frame = exhibit.data
    wanted = [form.x, form.y, *(form.band or ()), *filter(None, (form.series, form.panel))]
    check_columns(frame, *wanted)
    names = list(map(str, dict.fromkeys(frame[form.series]))) if form.series else []
    kind = "Q" if pd.api.types.is_numeric_dtype(frame[form.x]) else "N"
    x = alt.X(f"{form.x}:{kind}", title=form.titles[0], sort=None)
    key = make_legend(names, direction="vertical" if len(names) > 4 else None)
    inks: dict[str, Any] = {"color": encode_colour(form.series, names, key)} if names else {}
    scale = alt.Scale(zero=form.mark == "bar")
    y = alt.Y(f"{form.y}:Q", title=form.titles[1], scale=scale)
    base = alt.Chart().encode(x=x, **inks)
    layers = []
    if form.band is not None:
        low, high = form.band
        edges = {"y": alt.Y(f"{low}:Q", title=form.titles[1], scale=scale), "y2": alt.Y2(f"{high}:Q")}
        layers.append(
            base.mark_area(opacity=0.25).encode(**edges)
            if form.mark == "line"
            else base.mark_rule().encode(**edges)
        )
    if form.mark == "line":
        lines = {"strokeDash": encode_dash(form.series, names, key)} if names else {}
        layers.append(base.mark_line(strokeWidth=1.2).encode(y=y, **lines))
    elif form.mark == "point":
        layers.append(base.mark_point(filled=True, size=18).encode(y=y))
    else:
        layers.append(base.mark_bar().encode(y=y))
    # reference lines, such as 0 and a margin
    for value in form.rules:
        rule = alt.Chart().mark_rule(strokeDash=[4, 3], color="#555").encode(y=alt.datum(value))
        layers.append(rule)
    rows = make_data(list_records(frame[list(dict.fromkeys(wanted))]))
    if not form.panel:
        return finish_chart(alt.LayerChart(layer=layers, data=rows, width=WIDTH, height=HEIGHT))
    panels = list(map(str, dict.fromkeys(frame[form.panel])))
    facet = alt.Facet(f"{form.panel}:N", title=None, sort=panels)
    drawn = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    whole = alt.FacetChart(data=rows, spec=drawn, facet=facet, columns=min(len(panels), MOST_PANELS))
    return (
        whole.resolve_scale(y="independent")
        .configure_view(stroke=None)
        .configure_axis(gridColor="#e6e6e6", titleFontWeight="normal")
    )
