"""What the bootstrap says of system effects: intervals with and without interaction, and two laws side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from shardwise.core.errors import InputError
from shardwise.core.text import short
from shardwise.fits.bootstrap import BootstrapFit
from shardwise.plot.labels import ON_AXIS, distinct
from shardwise.plot.theme import (
    COLOURS,
    CROWDED,
    across,
    bare,
    colour,
    dash,
    data,
    legend,
    numbers,
    records,
    system_axis,
    words,
)

THICK = (1.5, 5.0, 9.0)  # of the intervals of each fit, the first the widest
POINTS = 201


def effect_chart(
    fits: BootstrapFit | Mapping[str, BootstrapFit], *, level: float = 0.95, **options: Any
) -> alt.LayerChart:
    """Draw the effects of the systems with their bootstrap intervals, one fit inside the other (V17 Fig. 2).

    Give the model with the widest intervals, that without interaction, first.

    Parameters
    ----------
    fits : BootstrapFit or mapping of str to BootstrapFit
        One result of `shardwise.bootstrap_anova`, or up to three by name.
    level : float
        Confidence level of the intervals.
    **options
        Those of `BootstrapFit.intervals`.
    """
    named = fits if isinstance(fits, Mapping) else {fits.model.title: fits}
    if len(named) > len(THICK):
        raise InputError(f"{len(named)} fits do not fit into each other", remedy=f"choose {len(THICK)}")
    kinds = distinct(named, most=120)
    first = next(iter(named.values()))
    order = first.effects.sort_values(ascending=False, kind="stable").index
    systems = distinct(map(str, order), ON_AXIS)
    rows = [
        row | {"system": systems[str(system)], "model": kinds[name]}
        for name, fit in named.items()
        for system, row in zip(
            fit.effects.index,
            records(fit.intervals(level, **options)[["estimate", "lower", "upper"]]),
            strict=True,
        )
    ]
    names, crowded = list(kinds.values()), len(systems) > CROWDED
    widths = [t / 2 if crowded else t for t in THICK[: len(names)]]
    key = legend(names, symbolType="stroke", symbolSize=300)
    base = alt.Chart(data(rows)).encode(
        x=system_axis(list(systems.values()), f"{short(first.of)}, best first"),
        color=colour("model", names, key),
        description="system:N",
        tooltip=[*words("system", "model"), *numbers("estimate", "lower", "upper")],
    )
    measure = short(str(first.anova.scores.name or "score"))
    y = alt.Y(
        "lower:Q", title=f"effect on {measure}, {100 * level:g}% intervals", scale=alt.Scale(zero=False)
    )
    thickness = alt.StrokeWidth("model:N", scale=alt.Scale(domain=names, range=widths), legend=key)
    bars = base.mark_rule().encode(y=y, y2="upper:Q", strokeWidth=thickness)
    ends = alt.Chart(data(row for row in rows if row["model"] == names[0])).mark_tick(
        color=COLOURS[0], size=5 if crowded else 10, thickness=1.5, aria=False
    )
    caps = [ends.encode(x="system:N", y=f"{end}:Q") for end in ("lower", "upper")]
    points = base.mark_point(filled=True, size=8 if crowded else 26, opacity=1).encode(
        y="estimate:Q", color=alt.value("black")
    )
    drawn = alt.LayerChart(layer=[bars, *caps, points])
    return bare(drawn.properties(width=across(len(systems)), height=320))


def density_chart(fit: BootstrapFit, a: str, b: str, *, residuals: Any = "raw") -> alt.LayerChart:
    """Draw the bootstrap laws of two systems' effects, the p-value as the shaded tail (V17 Fig. 3).

    Shaded is the probability, under the law of the worse system, of an effect as large as that of the better
    one: V17's one-tailed p-value, not corrected for other pairs.

    Parameters
    ----------
    fit : BootstrapFit
        The result of `shardwise.bootstrap_anova`.
    a, b : str
        The two systems.
    residuals : {"raw", "scaled"}
        Which residuals the law is of; V17 has the raw ones.
    """
    if a == b:
        raise InputError(f"system {a!r} is to be compared with itself", remedy="name two systems")
    laws = {name: fit.effect_law(name, residuals=residuals) for name in (a, b)}
    better, worse = sorted(laws, key=lambda name: -laws[name].estimate)
    shown = distinct((better, worse), most=40)
    names = list(shown.values())
    curves = {name: law.curve(POINTS) for name, law in laws.items()}
    rows = [
        {"system": shown[name], **row} for name in (better, worse) for row in records(curves[name])
    ]  # fmt: skip
    start, low = laws[better].estimate, float(curves[worse]["value"].iloc[0])
    tail = np.linspace(max(start, low), max(start, float(curves[worse]["value"].iloc[-1])), POINTS)
    shaded = [
        {"value": x, "density": y} for x, y in zip(tail, laws[worse].density(tail), strict=True)
    ]  # fmt: skip
    p = float(laws[worse].sf(np.array([start]))[0])
    measure = short(str(fit.anova.scores.name or "score"))
    x = alt.X(
        "value:Q", title=f"effect on {measure}", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)
    )
    y = alt.Y("density:Q", title=f"density (per unit of {measure})")
    key = legend(names, symbolType="stroke", symbolSize=300)
    base = alt.Chart(data(rows)).encode(x=x, color=colour("system", names, key), description="system:N")
    tips = [*words("system"), *numbers("value", "density", "cdf")]
    lines = base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash("system", names, key), tooltip=tips)
    area = alt.Chart(data(shaded)).mark_area(color="#8c8c8c", opacity=0.55, aria=False).encode(x=x, y=y)
    means = [{"system": shown[name], "value": laws[name].estimate} for name in (better, worse)]
    bars = (
        alt.Chart(data(means))
        .mark_rule(strokeWidth=1.5)
        .encode(
            x=x,
            color=colour("system", names, key),
            strokeDash=dash("system", names, key),
            description="system:N",
            tooltip=[*words("system"), *numbers(("value", "effect"))],
        )
    )
    title = f"shaded: p = {p:.3g}, one tail, not corrected"
    return bare(alt.LayerChart(layer=[area, lines, bars]).properties(width=460, height=260, title=title))
