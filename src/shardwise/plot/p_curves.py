"""How sharply systems are told apart: sorted p-values."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np

from shardwise.compare.comparisons import Comparisons
from shardwise.compare.rankings import discriminative_power
from shardwise.plot.intervals import COLOURS, bare
from shardwise.plot.labels import visible

MOST_POINTS = 200  # of a curve; more do not show


def p_curve_chart(
    comparisons: Comparisons | Mapping[str, Comparisons],
    *,
    alpha: float = 0.05,
    column: str = "p_adjusted",
    highest: float = 0.2,
) -> alt.LayerChart:
    """Draw p-values in ascending order against the share of pairs (Sakai 2006), with a line at alpha.

    Where a curve crosses that line is the share of pairs told apart.
    """
    given = comparisons if isinstance(comparisons, Mapping) else {comparisons.claim: comparisons}
    named = {visible(name): pairs for name, pairs in given.items()}
    rows = []
    for name, frame in discriminative_power(named, column=column).groupby("name", sort=False):
        share, p = frame["share"].to_numpy(np.float64), frame["p"].to_numpy(np.float64)
        shown = np.unique(np.linspace(0, int(np.searchsorted(p, highest)), MOST_POINTS).astype(int))
        shown = shown[shown < p.size]
        rows += [{"claim": str(name), "share": float(share[k]), "p": float(p[k])} for k in shown]
    colour = alt.Color(
        "claim:N",
        sort=list(named),
        scale=alt.Scale(domain=list(named), range=list(COLOURS[: len(named)])),
        legend=alt.Legend(
            title=None,
            orient="top",
            direction="vertical",
            symbolType="stroke",
            symbolStrokeWidth=3,
            symbolOpacity=1,
            labelLimit=500,
        )
        if len(named) > 1
        else None,
    )
    title = "p-value" if column == "p" else "corrected p-value"
    x = alt.X("share:Q", title="share of pairs", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("p:Q", title=title, scale=alt.Scale(domain=[0, highest]))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y, color=colour)
    lines = base.mark_line(clip=True, strokeWidth=2)
    points = base.mark_point(clip=True, size=60, opacity=0).encode(
        tooltip=[
            alt.Tooltip("claim:N"),
            alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("p:Q", format=".3g"),
        ]
    )
    level = alt.Chart(alt.InlineData(values=[{"alpha": alpha}])).mark_rule(strokeDash=[4, 3], aria=False)
    layers = [lines, points, level.encode(y="alpha:Q")]
    return bare(alt.LayerChart(layer=layers).properties(width=520, height=240))
