"""Systems by descending mean with their intervals, one row of marks a claim."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import altair as alt
import pandas as pd

from shardwise.compare.comparisons import Comparisons
from shardwise.errors import InputError
from shardwise.plot.labels import visible

# Okabe and Ito's colours, told apart by colour-blind readers and in grey print
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
ENDINGS = (".html", ".png", ".svg", ".pdf", ".json")
CROWDED = 60  # systems; from here on marks and labels shrink

Chart = alt.Chart | alt.LayerChart | alt.HConcatChart
ChartKind = TypeVar("ChartKind", alt.Chart, alt.LayerChart, alt.HConcatChart)


def interval_chart(
    comparisons: Comparisons | Mapping[str, Comparisons], *, level: float = 0.95, measure: str = "mean score"
) -> alt.LayerChart:
    """Draw each system's mean and interval (F19 Fig. 3-5); several comparisons, by name, in several colours.

    For Tukey's intervals two systems differ exactly when their intervals do not overlap (F19 eq. 3).
    """
    given = comparisons if isinstance(comparisons, Mapping) else {comparisons.claim: comparisons}
    named = {visible(name): pairs for name, pairs in given.items()}
    frame = pd.concat(
        [pairs.intervals(level).reset_index().assign(claim=name) for name, pairs in named.items()],
        ignore_index=True,
    )
    frame["system"] = frame["system"].map(visible)
    order = list(dict.fromkeys(frame["system"]))
    width = max(360, min(1100, 26 * len(order)))
    crowded = len(order) > CROWDED
    colour = alt.Color(
        "claim:N",
        sort=list(named),
        scale=alt.Scale(domain=list(named), range=list(COLOURS[: len(named)])),
        legend=alt.Legend(title=None, orient="top", labelLimit=700) if len(named) > 1 else None,
    )
    names = alt.Axis(
        labelAngle=-90,
        labelOverlap=True,
        labelLimit=120,
        labelFontSize=7 if crowded else 10,
        ticks=not crowded,
    )
    x = alt.X("system:N", sort=order, title="system, best first", axis=names)
    shift = alt.XOffset("claim:N", sort=list(named))
    tips = [
        alt.Tooltip("system:N"),
        alt.Tooltip("claim:N"),
        alt.Tooltip("estimate:Q", format=".4f"),
        alt.Tooltip("lower:Q", format=".4f"),
        alt.Tooltip("upper:Q", format=".4f"),
    ]
    base = alt.Chart(frame).encode(x=x, xOffset=shift, color=colour, tooltip=tips)
    scale = alt.Scale(zero=False)
    bars = base.mark_rule(strokeWidth=1 if crowded else 2).encode(
        y=alt.Y("lower:Q", title=f"{visible(measure)}, {100 * level:g}% intervals", scale=scale), y2="upper:Q"
    )
    points = base.mark_point(filled=True, size=8 if crowded else 32, opacity=1).encode(
        y=alt.Y("estimate:Q", scale=scale)
    )
    drawn = alt.LayerChart(layer=[bars, points]).properties(width=width, height=320)
    return bare(drawn)


def bare(chart: ChartKind) -> ChartKind:
    """Take the frame off a finished chart."""
    unframed: ChartKind = chart.configure_view(stroke=None)
    return unframed


def save_chart(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write a chart as HTML, PNG, SVG, PDF or JSON, by the ending of the file; HTML needs no network."""
    target = Path(path)
    if target.suffix not in ENDINGS:
        raise InputError(
            f"no chart is written as '{target.suffix}'",
            where=str(path),
            remedy=f"choose one of {', '.join(ENDINGS)}",
        )
    if target.suffix == ".html":
        chart.save(str(target), inline=True)
    elif target.suffix == ".png":
        chart.save(str(target), ppi=144)
    else:
        chart.save(str(target))
