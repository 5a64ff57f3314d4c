"""The critical-difference diagram: systems on one axis, those that are not told apart joined by bars."""

from __future__ import annotations

from typing import Any

import altair as alt

from shardwise.comparing.comparisons import Comparisons
from shardwise.core.errors import Either, InputError
from shardwise.core.text import shorten_names
from shardwise.plot.rows import WIDTH, estimate_width, label_measure
from shardwise.plot.theme import COLOURS, INK, finish_chart, make_data

MOST = 30  # systems whose names and bars can still be told apart
ON_SIDE = 24  # characters of a name beside the axis
BAR, LINE, ROW = 0.45, 0.8, 1.0  # distances of bars, from the last bar to the first name, and of names


def critical_chart(
    comparisons: Comparisons, *, alpha: float = 0.05, measure: str = "mean score"
) -> alt.LayerChart:
    """Draw means on an axis and a bar over each homogeneous group, as Demšar (2006) draws mean ranks.

    A bar joins the systems that have a point on it: where each pair has its own variance, a system between them may be
    told from one of the group.

    Parameters
    ----------
    comparisons : Comparisons
        Comparisons of all pairs of up to 30 systems.
    alpha : float
        Level at which pairs are told apart.
    measure : str
        What the means are of.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    names = comparisons.names
    if len(names) > MOST:
        raise InputError(
            f"{len(names)} systems cannot be named on one axis",
            remedy=Either(
                "draw kind='matrix', or compare fewer with only=[...]", "compare fewer, with --only"
            ),
        )
    values = comparisons.means
    position = {name: k for k, name in enumerate(comparisons.estimates.labels)}
    mean = {name: float(values[position[name]]) for name in names}
    labels = shorten_names(names, ON_SIDE)
    groups = [group for group in comparisons.groups(alpha) if len(group) > 1]
    low, high = min(mean.values()), max(mean.values())
    room = 0.04 * (high - low) or 0.5
    # the best system is on the right, also where its mean is the lowest
    turned = comparisons.lower_is_better
    ends = (low - room, high + room) if turned else (high + room, low - room)
    start = BAR * len(groups) + LINE
    right = (len(names) + 1) // 2
    rows: list[dict[str, Any]] = []
    for k, name in enumerate(names):
        better = k < right  # the best half is named on the right, the best of all on top
        depth = start + ROW * (k if better else len(names) - 1 - k)
        rows.append(
            {
                "system": labels[name],
                "mean": mean[name],
                "depth": depth,
                "side": ends[0] if better else ends[1],
            }
            | {"end": "right" if better else "left", "top": 0.0}
        )
    bars = [
        {"bar": BAR * (j + 1), "from": min(mean[n] for n in group), "to": max(mean[n] for n in group)}
        for j, group in enumerate(groups)
    ]
    dots = [
        {"bar": BAR * (j + 1), "mean": mean[name], "system": labels[name]}
        for j, group in enumerate(groups)
        for name in group
    ]
    deepest = max(row["depth"] for row in rows)
    title = f"{label_measure(measure, turned)}; joined by a bar: tied at {alpha:g}"
    axis = alt.Axis(orient="top", grid=False, titleAnchor="start", tickCount=6, labelFlush=True)
    scale = alt.Scale(domain=[low - room, high + room], nice=False, zero=False, reverse=turned)
    x = alt.X("mean:Q", scale=scale, axis=axis, title=title)
    y = alt.Y("depth:Q", scale=alt.Scale(domain=[0.0, deepest + 0.5], reverse=True, nice=False), axis=None)
    base = alt.Chart(make_data(rows)).encode(description="system:N")
    down = base.mark_rule(color=INK, strokeWidth=1, aria=False).encode(
        x=x, y=alt.Y("top:Q", axis=None), y2="depth:Q"
    )
    across = base.mark_rule(color=INK, strokeWidth=1, aria=False).encode(x=x, x2="side:Q", y=y)
    worst = base.transform_filter(alt.datum.end == "left").mark_text(align="right", dx=-4)
    best = base.transform_filter(alt.datum.end == "right").mark_text(align="left", dx=4)
    end = alt.X("side:Q", scale=scale, axis=axis, title=title)
    named = [side.encode(x=end, y=y, text="system:N") for side in (worst, best)]
    layers: list[alt.Chart] = [down, across, *named]
    if groups:
        joined = alt.Chart(make_data(bars)).mark_rule(color=COLOURS[0], strokeWidth=4, aria=False)
        layers.append(
            joined.encode(
                x=alt.X("from:Q", scale=scale, axis=axis, title=title), x2="to:Q", y=alt.Y("bar:Q", axis=None)
            )
        )
        points = alt.Chart(make_data(dots)).mark_point(color=COLOURS[0], filled=True, size=60, opacity=1)
        layers.append(
            points.encode(x=x, y=alt.Y("bar:Q", axis=None), tooltip=["system:N"], description="system:N")
        )
    height = int(22 * (deepest + 0.5))
    # Names on the sides may be wider in the font of the reader.
    extent = max(estimate_width(label, 11) for label in labels.values())
    side = 15 + int(0.2 * extent)
    drawn = alt.LayerChart(layer=layers, padding={"left": side, "right": side, "top": 5, "bottom": 5})
    return finish_chart(drawn.properties(width=max(260.0, WIDTH - 2.0 * extent), height=height))
