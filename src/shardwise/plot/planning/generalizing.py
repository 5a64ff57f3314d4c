"""How far a ranking would repeat, by the number of topics."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from shardwise.planning.generalizing import Generalizability
from shardwise.plot.planning.topics import TOPICS
from shardwise.plot.theme import (
    SIZE,
    bare,
    colour,
    dash,
    data,
    legend,
    level_line,
    numbers,
    words,
)


def generalizability_chart(
    result: Generalizability, *, topics: Sequence[int] = TOPICS, level: float = 0.95
) -> alt.LayerChart:
    """Draw Eρ² and Φ with their confidence limits against the number of topics; the dashed line is today's number.

    Parameters
    ----------
    result : Generalizability
        The result of `shardwise.planning.generalizability`.
    topics : sequence of int
        The numbers of topics to draw; today's is added.
    level : float
        Confidence level of the limits.
    """
    names = {"erho_sq": "Eρ², differences", "phi": "Φ, scores"}
    counts = sorted({*map(int, topics), result.mean_squares.topics})
    rows = []
    for n in counts:
        if result.error > 0:
            table = result.intervals(n, level)
            limits = {name: table.loc[name, ["low", "high"]].to_numpy(float).tolist() for name in names}
        else:
            limits = {name: [float("nan"), float("nan")] for name in names}
        for name, value in (("erho_sq", result.erho_sq(n)), ("phi", result.phi(n))):
            low, high = limits[name]
            rows.append({"topics": n, "coefficient": names[name], "value": value, "low": low, "high": high})
    shown = list(names.values())
    key = legend(shown, symbolType="stroke", symbolSize=300)
    x = alt.X("topics:Q", title="topics", scale=alt.Scale(type="log", nice=False))
    base = alt.Chart(data(rows)).encode(
        x=x,
        color=colour("coefficient", shown, key),
        tooltip=[
            *words("coefficient"),
            *numbers("topics", format="d"),
            *numbers("value", "low", "high", format=".3f"),
        ],
    )
    band = base.mark_area(opacity=0.18).encode(
        y=alt.Y("low:Q", title="coefficient (0 to 1)", scale=alt.Scale(zero=False)), y2="high:Q"
    )
    lines = base.mark_line(strokeWidth=2).encode(y="value:Q", strokeDash=dash("coefficient", shown, key))
    points = base.mark_point(size=40, opacity=0).encode(y="value:Q")
    today = level_line(result.mean_squares.topics, "x")
    title = f"{result.mean_squares.systems} systems; bands: {100 * level:g}% limits"
    layers = [band, lines, points, today]
    return bare(alt.LayerChart(layer=layers).properties(title=title, **SIZE))
