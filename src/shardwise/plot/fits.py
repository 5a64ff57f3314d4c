"""Charts of fits: sources of variance, residuals, and bootstrap distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.core.claim import translate_term
from shardwise.core.errors import InputError
from shardwise.core.text import shorten_name, shorten_names
from shardwise.core.variance_components import VarianceComponents
from shardwise.methods.anova.fit import AnovaFit
from shardwise.methods.bootstrap.fit import BootstrapFit
from shardwise.methods.mixed.fit import MixedFit
from shardwise.methods.mixed.posterior import Posterior
from shardwise.plot.theme import (
    COLOURS,
    CROWDED,
    ON_AXIS,
    bars_with_numbers,
    chart_width,
    encode_colour,
    encode_dash,
    finish_chart,
    list_records,
    make_data,
    make_legend,
    name_axis,
    number_tips,
    system_axis,
    text_tips,
)


def variance_share_chart(fit: AnovaFit) -> alt.LayerChart:
    """Draw the share of the total sum of squares of each term and of the error, one bar a term.

    On unbalanced data sums of squares are of type III and the shares need not add up to one.

    Parameters
    ----------
    fit : AnovaFit
        The result of `shardwise.anova`.

    Returns
    -------
    Chart
        The chart, an altair object.

    >>> import numpy as np, xarray as xr
    >>> from shardwise.methods.anova.fit import anova
    >>> fit = anova(xr.DataArray(np.eye(3), dims=("topic", "system")), "topic + system")
    >>> (rows,) = variance_share_chart(fit).to_dict()["datasets"].values()
    >>> {row["term"]: row["share"] for row in rows}
    {'topic': 0.0, 'system': 0.0, 'error': 1.0}
    """
    *terms, _ = (str(term) for term in fit.table.index)
    *squares, total = fit.table["ss"].to_numpy(np.float64).tolist()
    rows = [
        {"term": term, "share": square / total if total > 0 else 0.0, "ss": square, "df": int(df)}
        for term, square, df in zip(terms, squares, fit.table["df"], strict=False)
    ]
    tips = [*number_tips(("ss", "sum of squares"), format=".4g"), *number_tips("df", format="d")]
    return _draw_shares(rows, "term", "share of the total sum of squares", tips)


def component_chart(
    source: MixedFit | VarianceComponents, *, nouns: Mapping[str, str] | None = None
) -> alt.LayerChart:
    """Draw variance components as shares of their sum.

    Parameters
    ----------
    source : MixedFit or VarianceComponents
        A mixed model, or the components of a score.
    nouns : mapping, optional
        The user's own words for dimensions.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    components = source.variance_components if isinstance(source, MixedFit) else source
    variances = dict(components) or {"error": 0.0}
    total = sum(variances.values())
    rows = [
        {
            "component": translate_term(name, nouns or {}),
            "share": v / total if total > 0 else 0.0,
            "variance": v,
            "sd": v**0.5,
        }
        for name, v in variances.items()
    ]
    tips = number_tips("variance", ("sd", "standard deviation"), format=".4g")
    return _draw_shares(rows, "component", "share of the variance of a score", tips)


def posterior_chart(posterior: Posterior, *, level: float = 0.95) -> alt.LayerChart:
    """Draw the standard deviation of each component: posterior median and equal-tailed interval.

    Parameters
    ----------
    posterior : Posterior
        The result of `shardwise.instances.posterior`.
    level : float
        Probability that an interval holds.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    table = posterior.components_table(level)
    names = [str(name) for name in table.index]
    rows = [
        {"component": name, "sd": sd, "lower": low, "upper": high}
        for name, (sd, low, high) in zip(names, table.to_numpy(), strict=True)
    ]
    base = alt.Chart(make_data(rows)).encode(
        y=name_axis("component", names),
        tooltip=[*text_tips("component"), *number_tips(("sd", "standard deviation"), "lower", "upper")],
    )
    x = alt.X("lower:Q", title=f"standard deviation (units of the score), {100 * level:g}% intervals")
    bars = base.mark_rule(strokeWidth=2.5, color=COLOURS[0]).encode(x=x, x2="upper:Q")
    points = base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(x="sd:Q")
    return finish_chart(alt.LayerChart(layer=[bars, points]).properties(width=420, height=34 * len(rows)))


def _draw_shares(
    rows: list[dict[str, Any]], field: str, title: str, tips: list[alt.Tooltip]
) -> alt.LayerChart:
    scale = alt.Scale(domain=[0, 1.15 * max(float(row["share"]) for row in rows) or 1.0])
    base = alt.Chart(make_data(rows)).encode(
        y=name_axis(field, [row[field] for row in rows]),
        x=alt.X("share:Q", title=title, axis=alt.Axis(format="%", tickCount=8), scale=scale),
        tooltip=[*text_tips(field), *number_tips("share", format=".1%"), *tips],
    )
    layers = bars_with_numbers(base, "share", ".1%")
    return finish_chart(alt.LayerChart(layer=layers).properties(width=520, height=28 * len(rows)))


MOST_POINTS = 200


def residual_chart(fit: AnovaFit) -> alt.HConcatChart:
    """Draw a normal Q-Q plot of the residuals, and residuals against fitted values as a map of counts.

    Parameters
    ----------
    fit : AnovaFit
        The result of `shardwise.anova`.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    residuals, fitted = _list_finite_residuals(fit)
    return finish_chart(
        alt.hconcat(_draw_quantiles(residuals), _draw_density_map(fitted, residuals), spacing=40)
    )


def normal_quantiles(residuals: Floats, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Quantiles of the standard normal distribution and of the standardised residuals at the same probabilities.

    >>> expected, found = normal_quantiles(np.array([-1.0, 0.0, 1.0]))
    >>> expected.round(2).tolist(), found.round(2).tolist()
    ([-0.97, 0.0, 0.97], [-1.22, 0.0, 1.22])
    """
    ordered = np.sort(residuals)
    n = ordered.size
    # evenly on the normal scale, so that the tails, where a deviation shows, keep their points
    low = special.ndtri(0.5 / n)
    places = np.arange(n) if n <= most else special.ndtr(np.linspace(low, -low, most)) * n - 0.5
    chosen = np.unique(np.clip(np.rint(places), 0, n - 1).astype(np.int64))
    scale = float(residuals.std()) or 1.0
    return np.asarray(special.ndtri((chosen + 0.5) / n)), np.asarray(
        (ordered[chosen] - residuals.mean()) / scale
    )


def _draw_quantiles(residuals: Floats) -> alt.LayerChart:
    expected, observed = normal_quantiles(residuals)
    rows = [{"expected": float(x), "found": float(y)} for x, y in zip(expected, observed, strict=True)]
    end = float(np.abs(expected).max())
    points = (
        alt.Chart(make_data(rows))
        .mark_point(filled=True, size=16, opacity=0.9, color=COLOURS[0])
        .encode(
            x=alt.X("expected:Q", title="expected of a normal distribution (sd)"),
            y=alt.Y("found:Q", title="residual (sd)"),
            tooltip=[alt.Tooltip("expected:Q", format=".2f"), alt.Tooltip("found:Q", format=".2f")],
        )
    )
    line = (
        alt.Chart(make_data([{"expected": -end, "found": -end}, {"expected": end, "found": end}]))
        .mark_line(strokeDash=[4, 3], color=COLOURS[1], strokeWidth=1.5, aria=False)
        .encode(x="expected:Q", y="found:Q")
    )
    return alt.LayerChart(layer=[line, points]).properties(width=330, height=270)


def _draw_density_map(fitted: Floats, residuals: Floats, across: int = 36, down: int = 28) -> alt.Chart:
    counts, x, y = np.histogram2d(fitted, residuals, bins=(across, down))
    rows = [
        {
            "x": float(x[i]),
            "x2": float(x[i + 1]),
            "y": float(y[j]),
            "y2": float(y[j + 1]),
            "n": int(counts[i, j]),
        }
        for i, j in np.argwhere(counts > 0)
    ]
    drawn: alt.Chart = (
        alt.Chart(make_data(rows))
        .mark_rect(color=COLOURS[0])
        .encode(
            x=alt.X("x:Q", title="fitted score", scale=alt.Scale(zero=False)),
            x2="x2:Q",
            y=alt.Y("y:Q", title="residual"),
            y2="y2:Q",
            opacity=alt.Opacity(
                "n:Q",
                scale=alt.Scale(type="log", domain=[1, max(2, counts.max())], range=[0.18, 1]),
                legend=None,
            ),
            tooltip=[alt.Tooltip("n:Q", title="scores")],
        )
        .properties(width=330, height=270)
    )
    return drawn


def _list_finite_residuals(fit: AnovaFit) -> tuple[Floats, Floats]:
    fitted = np.asarray(fit.fitted.values, np.float64)
    residuals = np.asarray(fit.scores.values, np.float64) - fitted
    finite = np.isfinite(residuals)
    return residuals[finite], fitted[finite]


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

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    named = fits if isinstance(fits, Mapping) else {fits.model.title: fits}
    if len(named) > len(THICK):
        raise InputError(f"{len(named)} fits are not nested", remedy=f"choose {len(THICK)}")
    kinds = shorten_names(named, most=120)
    first = next(iter(named.values()))
    order = first.effects.sort_values(ascending=first.means.lower_is_better, kind="stable").index
    systems = shorten_names(map(str, order), ON_AXIS)
    rows = [
        row | {"system": systems[str(system)], "model": kinds[name]}
        for name, fit in named.items()
        for system, row in zip(
            fit.effects.index,
            list_records(fit.intervals(level, **options)[["estimate", "lower", "upper"]]),
            strict=True,
        )
    ]
    names, crowded = list(kinds.values()), len(systems) > CROWDED
    widths = [t / 2 if crowded else t for t in THICK[: len(names)]]
    key = make_legend(names, symbolType="stroke", symbolSize=300)
    base = alt.Chart(make_data(rows)).encode(
        x=system_axis(list(systems.values()), f"{shorten_name(first.of)}, best first"),
        color=encode_colour("model", names, key),
        description="system:N",
        tooltip=[*text_tips("system", "model"), *number_tips("estimate", "lower", "upper")],
    )
    measure = shorten_name(str(first.anova.scores.name or "score"))
    y = alt.Y(
        "lower:Q", title=f"effect on {measure}, {100 * level:g}% intervals", scale=alt.Scale(zero=False)
    )
    thickness = alt.StrokeWidth("model:N", scale=alt.Scale(domain=names, range=widths), legend=key)
    bars = base.mark_rule().encode(y=y, y2="upper:Q", strokeWidth=thickness)
    ends = alt.Chart(make_data(row for row in rows if row["model"] == names[0])).mark_tick(
        color=COLOURS[0], size=5 if crowded else 10, thickness=1.5, aria=False
    )
    caps = [ends.encode(x="system:N", y=f"{end}:Q") for end in ("lower", "upper")]
    points = base.mark_point(filled=True, size=8 if crowded else 26, opacity=1).encode(
        y="estimate:Q", color=alt.value("black")
    )
    drawn = alt.LayerChart(layer=[bars, *caps, points])
    return finish_chart(drawn.properties(width=chart_width(len(systems)), height=320))


def density_chart(fit: BootstrapFit, a: str, b: str, *, residuals: Any = "raw") -> alt.LayerChart:
    """Draw the bootstrap distributions of two systems' effects, the p-value as the shaded tail (V17 Fig. 3).

    Shaded is the probability, under the distribution of the worse system, of an effect as large as that of the better
    one: V17's one-tailed p-value, not corrected for other pairs.

    Parameters
    ----------
    fit : BootstrapFit
        The result of `shardwise.bootstrap_anova`.
    a, b : str
        The two systems.
    residuals : {"raw", "scaled"}
        Which residuals the distribution is of; V17 has the raw ones.

    Returns
    -------
    Chart
        The chart, an altair object.
    """
    if a == b:
        raise InputError(f"system {a!r} cannot be compared with itself", remedy="name two systems")
    distributions = {name: fit.effect_distribution(name, residuals=residuals) for name in (a, b)}
    better, worse = sorted(distributions, key=lambda name: -distributions[name].estimate)
    shown = shorten_names((better, worse), most=40)
    names = list(shown.values())
    curves = {name: distribution.curve(POINTS) for name, distribution in distributions.items()}
    rows = [
        {"system": shown[name], **row} for name in (better, worse) for row in list_records(curves[name])
    ]  # fmt: skip
    start, low = distributions[better].estimate, float(curves[worse]["value"].iloc[0])
    tail = np.linspace(max(start, low), max(start, float(curves[worse]["value"].iloc[-1])), POINTS)
    shaded = [
        {"value": x, "density": y} for x, y in zip(tail, distributions[worse].density(tail), strict=True)
    ]  # fmt: skip
    p = float(distributions[worse].sf(np.array([start]))[0])
    measure = shorten_name(str(fit.anova.scores.name or "score"))
    x = alt.X(
        "value:Q", title=f"effect on {measure}", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6)
    )
    y = alt.Y("density:Q", title=f"density (per unit of {measure})")
    key = make_legend(names, symbolType="stroke", symbolSize=300)
    base = alt.Chart(make_data(rows)).encode(
        x=x, color=encode_colour("system", names, key), description="system:N"
    )
    tips = [*text_tips("system"), *number_tips("value", "density", "cdf")]
    lines = base.mark_line(strokeWidth=2).encode(
        y=y, strokeDash=encode_dash("system", names, key), tooltip=tips
    )
    area = alt.Chart(make_data(shaded)).mark_area(color="#8c8c8c", opacity=0.55, aria=False).encode(x=x, y=y)
    means = [{"system": shown[name], "value": distributions[name].estimate} for name in (better, worse)]
    bars = (
        alt.Chart(make_data(means))
        .mark_rule(strokeWidth=1.5)
        .encode(
            x=x,
            color=encode_colour("system", names, key),
            strokeDash=encode_dash("system", names, key),
            description="system:N",
            tooltip=[*text_tips("system"), *number_tips(("value", "effect"))],
        )
    )
    title = f"shaded: p = {p:.3g}, one tail, not corrected"
    return finish_chart(
        alt.LayerChart(layer=[area, lines, bars]).properties(width=460, height=260, title=title)
    )
