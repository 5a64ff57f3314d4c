"""The power of an analysis by its number of items, with the number at hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.power import POWER, find_present_design, list_round_differences, round_below
from shardwise.core.errors import InputError
from shardwise.core.text import shorten_name
from shardwise.plot.rows import WIDTH, list_round_ticks, wrap_text
from shardwise.plot.theme import (
    INK,
    encode_colour,
    encode_dash,
    finish_chart,
    level_line,
    make_data,
    number_tips,
    text_tips,
)

POINTS = 60
"""Numbers of items of a curve."""
MOST_TIMES = 20.0
"""Largest number of items drawn, in units of the number at hand."""


def power_curve_chart(
    analysis: Analysis, *, differences: list[float] | None = None, width: float = WIDTH
) -> alt.LayerChart:
    """Draw the power to detect a difference against the number of items; points mark the number at hand.

    Power is that of a `shardwise.planning.Design` for the default test of one pair, all pairs corrected, with the
    variances of the analysis; where scores have repeats, their number stays.

    Parameters
    ----------
    analysis : Analysis
        The result of `shardwise.analyze`.
    differences : list of float, optional
        True differences, a curve each; without them the one that is detected here with 80% power, a smaller round one,
        and that of the closest tie.
    width : float
        Pixels of the whole chart.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    present = find_present_design(analysis)
    assert present is not None
    now, detectable = present.topics, float(present.detectable)
    if differences is None:
        tie = analysis.open_tie()
        smaller = list_round_differences(round_below(0.7 * detectable))[1:3]
        near = [tie.difference] if tie is not None and tie.difference > 0.1 * detectable else []
        chosen = {float(f"{detectable:.2g}"), *smaller, *near}
        differences = sorted(chosen, reverse=True)
    if not differences or min(differences) <= 0.0:
        raise InputError("a difference to detect must be above 0", remedy="give numbers such as 0.05")
    # As far as the smallest difference needs, within reason.
    reach = now * min(max(2.0, 1.2 * (detectable / min(differences)) ** 2), MOST_TIMES)
    counts = np.unique(np.append(np.geomspace(max(min(now / 4.0, 10.0), 3.0), reach, POINTS).round(), now))
    labels = [f"{d:g}" for d in differences]
    rows = [
        {"items": float(n), "power": float(p), "difference": label}
        for label, d in zip(labels, differences, strict=True)
        for n, p in zip(counts, replace(present, topics=counts, min_diff=d).power, strict=True)
        if np.isfinite(p)
    ]
    points = [row for row in rows if row["items"] == now]
    measure = shorten_name(analysis.measure, 40)
    title = f"true difference in {measure}"
    key = alt.Legend(
        title=title,
        orient="top",
        direction="horizontal",
        columns=max(int(width // 110), 1),
        symbolType="stroke",
        symbolSize=300,
        symbolStrokeWidth=2,
        labelLimit=0,
        titleLimit=0,
        columnPadding=20,
    )
    wide = width - 70.0
    systems = analysis.format_count(len(analysis.systems), "system")
    corrected = f", all pairs of {systems} corrected" if len(analysis.systems) > 2 else ""
    below = f"{analysis.nouns_for('topic')}{corrected}; marked: the {now:,} at hand"
    ticks = list_round_ticks(float(counts[0]), float(counts[-1]))
    x: dict[str, Any] = {
        "scale": alt.Scale(type="log", nice=False, domain=[float(counts[0]), float(counts[-1])]),
        "axis": alt.Axis(titleAnchor="start", titleFontSize=11.5, format=",d", values=ticks),
        "title": wrap_text(below, wide, 11.5),
    }
    y: dict[str, Any] = {
        "scale": alt.Scale(domain=[0, 1], nice=False),
        "axis": alt.Axis(format="%", values=[0, 0.2, 0.4, 0.6, 0.8, 1], titleFontSize=11.5),
        "title": f"power; dashed: {POWER:.0%}",
    }
    colour = encode_colour("difference", labels, key)
    tips = [*text_tips("difference"), *number_tips("items", format=",d"), *number_tips("power", format=".1%")]
    base = alt.Chart(make_data(rows)).encode(
        x=alt.X("items:Q", **x),
        y=alt.Y("power:Q", **y),
        color=colour,
        tooltip=tips,
        description="difference:N",
    )
    lines = base.mark_line(strokeWidth=2, aria=False).encode(
        strokeDash=encode_dash("difference", labels, key)
    )
    marks = alt.Chart(make_data(points)).mark_point(filled=True, size=90, opacity=1, stroke="white")
    present = alt.Chart(make_data([{"items": now}])).mark_rule(color=INK, opacity=0.5, aria=False)
    layers = [
        level_line(POWER, "y", **y),
        present.encode(x=alt.X("items:Q", **x)),
        lines,
        marks.encode(
            x=alt.X("items:Q", **x),
            y=alt.Y("power:Q", **y),
            color=colour,
            tooltip=tips,
            description="difference:N",
        ),
    ]
    return finish_chart(alt.LayerChart(layer=layers).properties(width=wide, height=260))
