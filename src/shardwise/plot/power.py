"""The power of an analysis by its number of items, with the number at hand."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from shardwise.analysis.analysis import Analysis
from shardwise.analysis.power import POWER, list_round_differences, round_below
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.core.text import shorten_name
from shardwise.planning.repeats import evaluate_design, repeat_power
from shardwise.planning.topics import power_at
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

    Power is that of the default test of one pair, all pairs corrected: ``planning.power_at`` with the variance of the
    analysis, or ``planning.repeat_power`` where scores have repeats, whose number stays.

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
    now, detectable = find_present_design(analysis)
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
        for n, p in zip(counts, power_by_items(analysis, counts, d), strict=True)
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


def find_present_design(analysis: Analysis) -> tuple[int, float]:
    """Return the number of items at hand, and the difference that they detect with 80% power.

    Parameters
    ----------
    analysis : Analysis
        The result of `shardwise.analyze`.

    Returns
    -------
    tuple of int and float
        Items, or clusters where these are the units, and the difference.
    """
    if analysis.repeats is not None and analysis.repeats.components is not None:
        design = evaluate_design(
            analysis.repeats.components,
            analysis.repeats.kind,
            items=analysis.topics,
            repeats=(analysis.instances or (1, 1))[0],
            systems=len(analysis.systems),
            min_diff=1.0,
            alpha=analysis.alpha,
        )
        return analysis.topics, design.detectable
    assert analysis.power is not None
    return analysis.power.topics, analysis.power.detectable


def power_by_items(analysis: Analysis, counts: Floats, difference: float) -> Floats:
    """Compute the power that numbers of items would have, with the variances of an analysis.

    Parameters
    ----------
    analysis : Analysis
        The result of `shardwise.analyze`.
    counts : array
        Numbers of items.
    difference : float
        True difference of two systems.

    Returns
    -------
    array
        Power of each number.
    """
    systems, alpha = len(analysis.systems), analysis.alpha
    if analysis.repeats is not None and analysis.repeats.components is not None:
        repeats = np.full(counts.shape, float((analysis.instances or (1, 1))[0]))
        return repeat_power(
            analysis.repeats.components,
            counts,
            repeats,
            difference,
            systems=systems,
            kind=analysis.repeats.kind,
            alpha=alpha,
        )
    assert analysis.power is not None
    variance = analysis.power.sigma_sq
    power = power_at(
        n=counts, min_diff=difference, variance=variance, systems=systems, alpha=alpha, method="moderated"
    )
    return np.asarray(power, dtype=float)
