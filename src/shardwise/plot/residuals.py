"""Whether what a model leaves over looks like noise: quantiles against the normal law, spread against level."""

from __future__ import annotations

import altair as alt
import numpy as np
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.fits.anova import AnovaFit
from shardwise.plot.theme import COLOURS, bare, data

MOST_POINTS = 200


def residual_chart(fit: AnovaFit) -> alt.HConcatChart:
    """Draw a normal Q-Q plot of the residuals, and residuals against fitted values as a map of counts.

    Parameters
    ----------
    fit : AnovaFit
        The result of `shardwise.anova`.
    """
    residuals, fitted = _defined(fit)
    return bare(alt.hconcat(_quantiles(residuals), _map(fitted, residuals), spacing=40))


def normal_quantiles(residuals: Floats, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Quantiles of the standard normal law and of the standardised residuals at the same probabilities.

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


def _quantiles(residuals: Floats) -> alt.LayerChart:
    expected, found = normal_quantiles(residuals)
    rows = [{"expected": float(x), "found": float(y)} for x, y in zip(expected, found, strict=True)]
    end = float(np.abs(expected).max())
    points = (
        alt.Chart(data(rows))
        .mark_point(filled=True, size=16, opacity=0.9, color=COLOURS[0])
        .encode(
            x=alt.X("expected:Q", title="expected of the normal law (sd)"),
            y=alt.Y("found:Q", title="residual (sd)"),
            tooltip=[alt.Tooltip("expected:Q", format=".2f"), alt.Tooltip("found:Q", format=".2f")],
        )
    )
    line = (
        alt.Chart(data([{"expected": -end, "found": -end}, {"expected": end, "found": end}]))
        .mark_line(strokeDash=[4, 3], color=COLOURS[1], strokeWidth=1.5, aria=False)
        .encode(x="expected:Q", y="found:Q")
    )
    return alt.LayerChart(layer=[line, points]).properties(width=330, height=270)


def _map(fitted: Floats, residuals: Floats, across: int = 36, down: int = 28) -> alt.Chart:
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
        alt.Chart(data(rows))
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


def _defined(fit: AnovaFit) -> tuple[Floats, Floats]:
    fitted = np.asarray(fit.fitted.values, np.float64)
    residuals = np.asarray(fit.scores.values, np.float64) - fitted
    there = np.isfinite(residuals)
    return residuals[there], fitted[there]
