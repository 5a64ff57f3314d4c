"""Systems by descending mean with their intervals, one row of marks a claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.text import short
from shardwise.plot.labels import ON_AXIS, distinct
from shardwise.plot.theme import (
    CROWDED,
    across,
    bare,
    colour,
    data,
    legend,
    numbers,
    records,
    shape,
    system_axis,
    words,
)


def interval_chart(
    comparisons: Comparisons | Mapping[str, Comparisons],
    *,
    level: float = 0.95,
    measure: str = "mean score",
    kind: str | None = None,
) -> alt.LayerChart:
    """Draw each system's mean and interval; several comparisons, by name, side by side.

    For Tukey's intervals two systems differ exactly when their intervals do not overlap (F19 eq. 3).

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several by name.
    level : float
        Confidence level of the intervals.
    measure : str
        What the means are of.
    kind : str, optional
        Which intervals: that of `Comparisons.intervals`.
    """
    named = comparisons if isinstance(comparisons, Mapping) else {comparisons.claim: comparisons}
    rows = [
        row | {"claim": name}
        for name, pairs in named.items()
        for row in records(pairs.intervals(level, kind).reset_index())
    ]
    title = f"{short(measure)}, {100 * level:g}% intervals"
    return bare(beside(rows, "claim", title))


def beside(
    rows: list[dict[str, Any]], field: str, title: str, order: list[str] | None = None
) -> alt.LayerChart:
    """Draw rows of `system, estimate, lower, upper` as points with intervals, those of a system side by side.

    `field` tells the rows of a system apart by colour and shape; systems come in the order of `order`, or as given.
    """
    systems = distinct(order or [str(row["system"]) for row in rows], ON_AXIS)
    names = distinct([str(row[field]) for row in rows], most=120)
    labels = list(systems.values())
    kinds = list(names.values())
    place = {name: number for number, name in enumerate(names)}
    marked = [
        row
        | {
            "system": systems[str(row["system"])],
            field: names[str(row[field])],
            "place": place[str(row[field])],
        }
        for row in rows
    ]
    marks = len(labels) * len(names)
    key = legend(kinds)
    base = alt.Chart(data(marked)).encode(
        x=system_axis(labels, "system, best first"),
        color=colour(field, kinds, key),
        description="system:N",
        tooltip=[*words("system", field), *numbers("estimate", "lower", "upper")],
    )
    if len(kinds) > 1:
        base = base.encode(xOffset=alt.XOffset("place:O", sort="ascending"))
    scale = alt.Scale(zero=False)
    bars = base.mark_rule(strokeWidth=1 if marks > CROWDED else 2).encode(
        y=alt.Y("lower:Q", title=title, scale=scale), y2="upper:Q"
    )
    points = base.mark_point(
        filled=True, size=40 if marks <= CROWDED else 22 if marks <= 2 * CROWDED else 10, opacity=1
    ).encode(y=alt.Y("estimate:Q", scale=scale), shape=shape(field, kinds, key))
    return alt.LayerChart(layer=[bars, points]).properties(width=across(len(labels)), height=320)
