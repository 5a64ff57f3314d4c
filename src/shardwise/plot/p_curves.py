"""How sharply systems are told apart: sorted p-values."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np

from shardwise.comparing.comparisons import Comparisons
from shardwise.comparing.rankings import discriminative_power
from shardwise.plot.labels import distinct
from shardwise.plot.theme import bare, colour, dash, data, legend, level_line, numbers, words

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

    Parameters
    ----------
    comparisons : Comparisons or mapping of str to Comparisons
        One result of `shardwise.compare`, or several by name.
    alpha : float
        The level to mark.
    column : {"p_adjusted", "p"}
        Which p-values.
    highest : float
        Where the axis ends.
    """
    given = comparisons if isinstance(comparisons, Mapping) else {comparisons.claim: comparisons}
    labels = distinct(given, most=120)
    named = {labels[name]: pairs for name, pairs in given.items()}
    rows = []
    for name, frame in discriminative_power(named, column=column).groupby("name", sort=False):
        share, p = frame["share"].to_numpy(np.float64), frame["p"].to_numpy(np.float64)
        shown = np.unique(np.linspace(0, int(np.searchsorted(p, highest)), MOST_POINTS).astype(int))
        shown = shown[shown < p.size]
        rows += [{"claim": str(name), "share": float(share[k]), "p": float(p[k])} for k in shown]
    names = list(named)
    key = legend(names, direction="vertical", symbolType="stroke", symbolSize=300)
    title = "p-value" if column == "p" else "corrected p-value"
    x = alt.X("share:Q", title="share of pairs", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("p:Q", title=title, scale=alt.Scale(domain=[0, highest]))
    base = alt.Chart(data(rows)).encode(x=x, y=y, color=colour("claim", names, key))
    lines = base.mark_line(clip=True, strokeWidth=2).encode(strokeDash=dash("claim", names, key))
    points = base.mark_point(clip=True, size=60, opacity=0).encode(
        tooltip=[*words("claim"), *numbers("share", format=".1%"), *numbers("p", format=".3g")]
    )
    layers = [lines, points, level_line(alpha, "y")]
    return bare(alt.LayerChart(layer=layers).properties(width=520, height=240))
