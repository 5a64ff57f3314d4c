"""What topics, shards and instances buy: curves for those who plan an experiment."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from shardwise.core.errors import InputError
from shardwise.planning.generalizing import Generalizability
from shardwise.planning.instances import InstanceComponents, variance_grid
from shardwise.planning.shards import ShardDesign
from shardwise.planning.simulated import SimulatedPower
from shardwise.planning.tables import reach_curve
from shardwise.planning.variances import VarianceEstimate
from shardwise.plot.design import reach_chart
from shardwise.plot.theme import (
    COLOURS,
    PLAIN,
    bare,
    colour,
    dash,
    data,
    legend,
    level_line,
    numbers,
    records,
    shape,
    words,
)

_WIDTH, _HEIGHT = 420, 280
TOPICS = (10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400)
INSTANCES = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)
SMALL_P = [0, 0.01, 0.05, 0.1, 0.2, 0.5, 1]  # labels of an axis stretched near 0


def simulated_power_chart(result: SimulatedPower) -> alt.LayerChart:
    """Draw power with its Monte-Carlo limits, and the share of false alarms, against the number of topics."""
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
    return bare(alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=title))


def shard_design_chart(design: ShardDesign) -> alt.LayerChart:
    """Draw the topics needed against the number of shards; a cross where no number of topics is enough."""
    known = design.table["topics"].notna().to_numpy(bool)
    rows = records(design.table)
    top = max((int(row["topics"]) for row, ok in zip(rows, known, strict=True) if ok), default=1)
    x = alt.X("shards:Q", title="shards", scale=alt.Scale(zero=False, nice=False, padding=12),
              axis=alt.Axis(tickMinStep=1, format="d"))  # fmt: skip
    y = alt.Y("topics:Q", title="topics needed", scale=alt.Scale(domain=[0, 1.08 * top], nice=False))
    enough = alt.Chart(data(row for row, ok in zip(rows, known, strict=True) if ok)).encode(
        x=x,
        y=y,
        tooltip=[
            *numbers("shards", "topics", format="d"),
            *numbers("se", format=".4g"),
            *numbers("df", format=".1f"),
        ],
    )
    never = alt.Chart(
        data({"shards": row["shards"], "topics": top, "why": f"more than {design.most_topics} topics, or none"}
             for row, ok in zip(rows, known, strict=True) if not ok)
    )  # fmt: skip
    layers = [
        enough.mark_line(strokeWidth=1.5, color=COLOURS[0]),
        enough.mark_point(filled=True, size=50, color=COLOURS[0], opacity=1),
        never.mark_point(shape="cross", size=80, color=COLOURS[1], filled=True, opacity=1, angle=45).encode(
            x=x, y=y, tooltip=[*numbers("shards", format="d"), *words(("why", "topics"))]
        ),
    ]
    note = "" if known.all() else "; ×: no number of topics is enough"
    title = alt.Title(f"{design.goal}{note}", subtitle=f"claim: {design.claim}")
    return bare(alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=title))


def generalizability_chart(
    result: Generalizability, *, topics: Sequence[int] = TOPICS, level: float = 0.95
) -> alt.LayerChart:
    """Draw Eρ² and Φ with their confidence limits against the number of topics; the dashed line is today's number."""
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
    return bare(alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=title))


def reach_of_variance_chart(estimate: VarianceEstimate, *, topics: Sequence[int] = TOPICS) -> alt.LayerChart:
    """Draw what numbers of topics can reach with scores of this variance (S14 Fig. 3)."""
    return reach_chart(reach_curve(estimate, topics=topics))


def instance_plan_chart(
    components: InstanceComponents,
    *,
    instances: Sequence[int] = INSTANCES,
    topics: Sequence[int] = (25, 50, 100, 200),
) -> alt.LayerChart:
    """Draw the standard error of a difference against the number of instances, one line a number of topics."""
    grid = variance_grid(components, instances, topics)
    names = [f"{n} topics" for n in topics]
    rows = [
        {"instances": m, "topics": name, "se": se}
        for m, errors in zip(instances, grid.to_numpy(), strict=True)
        for name, se in zip(names, errors, strict=True)
    ]
    key = legend(names, **PLAIN)
    base = alt.Chart(data(rows)).encode(
        x=alt.X("instances:Q", title="instances of each system", scale=alt.Scale(type="log", nice=False)),
        y=alt.Y(
            "se:Q", title="standard error of the difference (units of the score)", scale=alt.Scale(zero=True)
        ),
        color=colour("topics", names, key),
        tooltip=[*words("topics"), *numbers("instances", format="d"), *numbers(("se", "standard error"))],
    )
    lines = base.mark_line(strokeWidth=1.5).encode(strokeDash=dash("topics", names, None))
    points = base.mark_point(filled=True, size=40, opacity=1).encode(shape=shape("topics", names, key))
    return bare(alt.LayerChart(layer=[lines, points]).properties(width=_WIDTH, height=_HEIGHT))


def p_spread_chart(spread: pd.DataFrame, *, alpha: float = 0.05) -> alt.LayerChart:
    """Draw how much the p-value depends on which instances one has (J15 Fig. 9), as of `p_value_spread`.

    The line is the median, the band holds the middle 90 % of the p-values; the axis is stretched near 0.
    """
    missing = [name for name in ("instances", "median", "lower", "upper", "share") if name not in spread]
    if missing:
        raise InputError(
            f"there is no column {missing[0]!r} to draw", remedy="give what p_value_spread returns"
        )
    scale = alt.Scale(type="sqrt", domain=[0, 1])
    axis = alt.Axis(values=SMALL_P, format=".2~f", labelOverlap=False)
    base = alt.Chart(data(records(spread))).encode(
        x=alt.X("instances:Q", title="instances", scale=alt.Scale(type="log", nice=False)),
        tooltip=[
            *numbers("instances", format="d"),
            *numbers("median", "lower", "upper", format=".3g"),
            *numbers(("share", "share p ≤ .05"), format=".0%"),
        ],
    )
    band = base.mark_area(opacity=0.25, color=COLOURS[0]).encode(
        y=alt.Y("lower:Q", title="p-value", scale=scale, axis=axis), y2="upper:Q"
    )
    y = alt.Y("median:Q", scale=scale, axis=axis)
    line = base.mark_line(strokeWidth=2, color=COLOURS[0]).encode(y=y)
    points = base.mark_point(filled=True, size=40, color=COLOURS[0], opacity=1).encode(y=y)
    layers = [band, line, points, level_line(alpha, "y", scale=scale, axis=axis)]
    title = f"line: median; band: 5% to 95% of the p-values; dashed: {alpha:g}"
    return bare(alt.LayerChart(layer=layers).properties(width=_WIDTH, height=_HEIGHT, title=title))
