"""What numbers of topics give in simulation."""

from __future__ import annotations

import altair as alt

from shardwise.planning.simulated import SimulatedPower
from shardwise.plot.theme import (
    COLOURS,
    PLAIN,
    SIZE,
    bare,
    colour,
    data,
    legend,
    level_line,
    numbers,
    records,
    shape,
    words,
)


def simulated_power_chart(result: SimulatedPower) -> alt.LayerChart:
    """Draw power with its Monte-Carlo limits, and the share of false alarms, against the number of topics.

    Parameters
    ----------
    result : SimulatedPower
        The result of `shardwise.planning.simulated_power`.
    """
    found, false = f"a difference of {result.min_diff:g} is found", "equal systems are told apart"
    names = [found, false]
    rows = [
        {"topics": row["topics"], "share": row[column], "what": name}
        for row in records(result.table)
        for name, column in ((found, "power"), (false, "false_alarms"))
    ]
    limits = [
        {"topics": row["topics"], "low": row["power_low"], "high": row["power_high"]}
        for row in records(result.table)
    ]
    key = legend(names, direction="vertical", **PLAIN)
    x = alt.X("topics:Q", title="topics", scale=alt.Scale(zero=False))
    base = alt.Chart(data(rows)).encode(
        x=x,
        y=alt.Y(
            "share:Q", title="share of simulations", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
        ),
        color=colour("what", names, key),
        tooltip=[*words("what"), *numbers("topics", format="d"), *numbers("share", format=".1%")],
    )
    bars = (
        alt.Chart(data(limits))
        .mark_rule(color=COLOURS[0], strokeWidth=2)
        .encode(x=x, y="low:Q", y2="high:Q", tooltip=numbers("low", "high", format=".1%"))
    )
    lines = base.mark_line(strokeWidth=1.5)
    points = base.mark_point(filled=True, size=50, opacity=1).encode(shape=shape("what", names, key))
    layers = [bars, lines, points, level_line(result.alpha, "y")]
    title = f"{result.systems} systems, dashed: alpha {result.alpha:g}; claim: {result.claim}"
    return bare(alt.LayerChart(layer=layers).properties(title=title, **SIZE))
