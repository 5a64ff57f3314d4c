"""Where the spread of scores comes from: what each term of a model explains, and variance components."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from shardwise.core.variance_components import VarianceComponents
from shardwise.fits.anova import AnovaFit
from shardwise.fits.mixed import MixedFit
from shardwise.fits.posterior import Posterior
from shardwise.plot.theme import COLOURS, bare, bars_with_numbers, data, name_axis, numbers, words


def variance_share_chart(fit: AnovaFit) -> alt.LayerChart:
    """Draw the share of the total sum of squares of each term and of the error, one bar a term.

    On unbalanced data sums of squares are of type III and the shares need not add up to one.

    Parameters
    ----------
    fit : AnovaFit
        The result of `shardwise.anova`.

    >>> import numpy as np, xarray as xr
    >>> from shardwise.fits.anova import anova
    >>> fit = anova(xr.DataArray(np.eye(3), dims=("topic", "system")), "topic + system")
    >>> (rows,) = variance_share_chart(fit).to_dict()["datasets"].values()
    >>> {row["term"]: row["share"] for row in rows}
    {'topic': 0.0, 'system': 0.0, 'error': 1.0}
    """
    *terms, _ = (str(term) for term in fit.table.index)
    *squares, total = fit.table["ss"].to_numpy(np.float64).tolist()
    rows = [
        {"term": term, "share": one / total if total > 0 else 0.0, "ss": one, "df": int(df)}
        for term, one, df in zip(terms, squares, fit.table["df"], strict=False)
    ]
    tips = [*numbers(("ss", "sum of squares"), format=".4g"), *numbers("df", format="d")]
    return _shares(rows, "term", "share of the total sum of squares", tips)


def component_chart(source: MixedFit | VarianceComponents) -> alt.LayerChart:
    """Draw variance components as shares of their sum.

    Parameters
    ----------
    source : MixedFit or VarianceComponents
        A mixed model, or the components of a score.
    """
    found = source.variance_components if isinstance(source, MixedFit) else source
    variances = dict(found) or {"error": 0.0}
    total = sum(variances.values())
    rows = [
        {"component": name, "share": v / total if total > 0 else 0.0, "variance": v, "sd": v**0.5}
        for name, v in variances.items()
    ]
    tips = numbers("variance", ("sd", "standard deviation"), format=".4g")
    return _shares(rows, "component", "share of the variance of a score", tips)


def posterior_chart(posterior: Posterior, *, level: float = 0.95) -> alt.LayerChart:
    """Draw the standard deviation of each component: posterior median and equal-tailed interval.

    Parameters
    ----------
    posterior : Posterior
        The result of `shardwise.instances.posterior`.
    level : float
        Probability that an interval holds.
    """
    table = posterior.components_table(level)
    names = [str(name) for name in table.index]
    rows = [
        {"component": name, "sd": sd, "lower": low, "upper": high}
        for name, (sd, low, high) in zip(names, table.to_numpy(), strict=True)
    ]
    base = alt.Chart(data(rows)).encode(
        y=name_axis("component", names),
        tooltip=[*words("component"), *numbers(("sd", "standard deviation"), "lower", "upper")],
    )
    x = alt.X("lower:Q", title=f"standard deviation (units of the score), {100 * level:g}% intervals")
    bars = base.mark_rule(strokeWidth=2.5, color=COLOURS[0]).encode(x=x, x2="upper:Q")
    points = base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(x="sd:Q")
    return bare(alt.LayerChart(layer=[bars, points]).properties(width=420, height=34 * len(rows)))


def _shares(rows: list[dict[str, Any]], field: str, title: str, tips: list[alt.Tooltip]) -> alt.LayerChart:
    scale = alt.Scale(domain=[0, 1.15 * max(float(row["share"]) for row in rows) or 1.0])
    base = alt.Chart(data(rows)).encode(
        y=name_axis(field, [row[field] for row in rows]),
        x=alt.X("share:Q", title=title, axis=alt.Axis(format="%", tickCount=8), scale=scale),
        tooltip=[*words(field), *numbers("share", format=".1%"), *tips],
    )
    layers = bars_with_numbers(base, "share", ".1%")
    return bare(alt.LayerChart(layer=layers).properties(width=520, height=28 * len(rows)))
