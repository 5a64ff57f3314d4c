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
from shardwise.methods.bootstrap.method import BootstrapFit
from shardwise.methods.mixed.fit import MixedFit
from shardwise.methods.mixed.posterior import Posterior
from shardwise.plot import forms
from shardwise.plot.theme import COLOURS, CROWDED, DASH, ON_AXIS, chart_width, finish_chart, list_records


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
    shown = ("ss:.4g=sum of squares", "df:d")
    return _draw_shares(rows, "term", "share of the total sum of squares", *shown)


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
        {"component": translate_term(term, nouns or {}), "share": v / total if total > 0 else 0.0}
        | {"variance": v, "sd": v**0.5}
        for term, v in variances.items()
    ]
    shown = ("variance:.4g", "sd:.4g=standard deviation")
    return _draw_shares(rows, "component", "share of the variance of a score", *shown)


def _draw_shares(rows: list[dict[str, Any]], field: str, title: str, *shown: str) -> alt.LayerChart:
    """Bars of shares, one a name."""
    x = {"title": title, "axis": {"format": "%", "tickCount": 8}}
    layers = forms.draw_bars(rows, field, "share", x, ".1%", forms.tips(field, "share:.1%", *shown))
    return forms.finish_layers(layers, 520, 28 * len(rows))


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
    names = [str(component) for component in table.index]
    rows = [
        {"component": component, "sd": sd, "lower": low, "upper": high}
        for component, (sd, low, high) in zip(names, table.to_numpy(), strict=True)
    ]
    numbers = {"title": f"standard deviation (units of the score), {100 * level:g}% intervals"}
    shown = forms.tips("component", "sd:.4f=standard deviation", "lower:.4f", "upper:.4f")
    y = forms.name_rows("component", names)
    fields = ("sd", "lower", "upper")
    layers = forms.draw_intervals(rows, y, numbers, fields, shown, thick=2.5, size=60, named=False)
    return forms.finish_layers(layers, 420, 34 * len(rows))


MOST_POINTS = 200
CELLS = (36, 28)  # of a map of counts, across and down


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
    fitted = np.asarray(fit.fit_values(), np.float64)
    residuals = np.asarray(fit.scores.values, np.float64) - fitted
    finite = np.isfinite(residuals)
    fitted, residuals = fitted[finite], residuals[finite]
    expected, actual = normal_quantiles(residuals)
    rows = [{"expected": x, "found": y} for x, y in zip(expected, actual, strict=True)]
    end = float(np.abs(expected).max())
    ends = [{"expected": -end, "found": -end}, {"expected": end, "found": end}]
    channels = {
        "x": forms.number("expected", "expected of a normal distribution (sd)"),
        "y": forms.number("found", "residual (sd)"),
    }
    shown = {"tooltip": forms.tips("expected:.2f", "found:.2f")}
    quantiles = [
        forms.draw("line", ends, channels, strokeDash=DASH, color=COLOURS[1], strokeWidth=1.5, aria=False),
        forms.draw("point", rows, channels | shown, filled=True, size=16, opacity=0.9, color=COLOURS[0]),
    ]
    counts, x, y = np.histogram2d(fitted, residuals, bins=CELLS)
    cells = [
        {"x": x[i], "x2": x[i + 1], "y": y[j], "y2": y[j + 1], "n": int(counts[i, j])}
        for i, j in np.argwhere(counts > 0)
    ]
    scale = {"type": "log", "domain": [1, max(2.0, counts.max())], "range": [0.18, 1]}
    shades = {
        "x": forms.number("x", "fitted score", scale={"zero": False}),
        "x2": {"field": "x2"},
        "y": forms.number("y", "residual"),
        "y2": {"field": "y2"},
        "opacity": forms.number("n", scale=scale, legend=None),
        "tooltip": forms.tips("n:d=scores"),
    }
    density = [forms.draw("rect", cells, shades, color=COLOURS[0])]
    panels = (forms.layer(layers, 330, 270) for layers in (quantiles, density))
    return finish_chart(alt.hconcat(*panels, spacing=40))


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
        row | {"system": systems[str(system)], "model": kinds[model]}
        for model, fit in named.items()
        for system, row in zip(
            fit.effects.index,
            list_records(fit.intervals(level, **options)[["estimate", "lower", "upper"]]),
            strict=True,
        )
    ]
    names, crowded = list(kinds.values()), len(systems) > CROWDED
    series = forms.Series("model", names, forms.make_legend(names, **forms.STROKE))
    measure = shorten_name(first.anova.scores.measure.name)
    numbers = {"title": f"effect on {measure}, {100 * level:g}% intervals", "scale": {"zero": False}}
    x = {"x": forms.name_columns("system", list(systems.values()), f"{shorten_name(first.of)}, best first")}
    shown = forms.tips("system", "model", "estimate:.4f", "lower:.4f", "upper:.4f")
    common = x | {"tooltip": shown, "description": forms.name_field("system")}
    # One bar inside the other, the widest with ends.
    widths = [thick / 2 if crowded else thick for thick in THICK[: len(names)]]
    bars = series.encode("color", strokeWidth=widths)
    bars |= {"y": forms.number("lower", **numbers), "y2": {"field": "upper"}}
    widest = [row for row in rows if row["model"] == names[0]]
    cap = {"color": COLOURS[0], "size": 5 if crowded else 10, "thickness": 1.5, "aria": False}
    centre = {"y": forms.number("estimate", **numbers)}
    layers = [
        forms.draw("rule", rows, common | bars),
        *(
            forms.draw("tick", widest, x | {"y": forms.number(end, **numbers)}, **cap)
            for end in ("lower", "upper")
        ),
        forms.draw(
            "point", rows, common | centre, filled=True, size=8 if crowded else 26, opacity=1, color="black"
        ),
    ]
    return forms.finish_layers(layers, chart_width(len(systems)), 320)


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
    distributions = {system: fit.effect_distribution(system, residuals=residuals) for system in (a, b)}
    better, worse = sorted(distributions, key=lambda system: -distributions[system].estimate)
    shown = shorten_names((better, worse), most=40)
    curves = {system: distributions[system].curve(POINTS) for system in (better, worse)}
    rows = [row | {"system": shown[system]} for system in curves for row in list_records(curves[system])]
    start, values = distributions[better].estimate, curves[worse]["value"].to_numpy(float)
    tail = np.linspace(max(start, values[0]), max(start, values[-1]), POINTS)
    density = distributions[worse].density(tail)
    shaded = [{"value": x, "density": y} for x, y in zip(tail, density, strict=True)]
    p = float(distributions[worse].sf(np.array([start]))[0])
    measure = shorten_name(fit.anova.scores.measure.name)
    x = forms.number("value", f"effect on {measure}", scale={"zero": False}, axis={"tickCount": 6})
    y = forms.number("density", f"density (per unit of {measure})")
    names = list(shown.values())
    series = forms.Series("system", names, forms.make_legend(names, **forms.STROKE))
    means = [{"system": shown[system], "value": distributions[system].estimate} for system in curves]
    bars = {
        "x": x,
        "tooltip": forms.tips("system", "value:.4f=effect"),
        "description": forms.name_field("system"),
    }
    bars |= series.encode("color", "strokeDash")
    layers = [
        forms.draw("area", shaded, {"x": x, "y": y}, color="#8c8c8c", opacity=0.55, aria=False),
        *forms.draw_curves(rows, x, y, series, forms.tips("system", "value:.4f", "density:.4f", "cdf:.4f")),
        forms.draw("rule", means, bars, strokeWidth=1.5),
    ]
    return forms.finish_layers(layers, 460, 260, f"shaded: p = {p:.3g}, one tail, not corrected")
