"""A distribution by Fourier inversion of its characteristic function, with saddlepoint tails, read off its tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats


class SaddlepointTail(NamedTuple):
    """log P(X ≥ x) far out, by saddlepoint, at points that cubics join."""

    start: float
    support: float  # nothing lies beyond
    x: Floats
    log: Floats
    slope: Floats


class Inverted(NamedTuple):
    """Density and distribution function on a grid from -half to half, and the tails beyond."""

    half: float
    pdf: Floats
    cdf: Floats
    upper: SaddlepointTail
    lower: SaddlepointTail  # of -X

    @property
    def span(self) -> tuple[float, float]:
        """Outermost values."""
        return -self.lower.support, self.upper.support

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""
        x = np.asarray(x, np.float64)
        below, above = -x > self.lower.start, x > self.upper.start
        out = np.empty(x.shape)
        out[below] = tail_probability(-x[below], self.lower)
        out[above & ~below] = 1.0 - tail_probability(x[above & ~below], self.upper)
        out[~below & ~above] = _read_grid(x[~below & ~above], self)[0]
        return out

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""
        x = np.asarray(x, np.float64)
        below, above = -x > self.lower.start, x > self.upper.start
        out = np.empty(x.shape)
        out[above] = tail_probability(x[above], self.upper)
        out[below & ~above] = 1.0 - tail_probability(-x[below & ~above], self.lower)
        out[~below & ~above] = 1.0 - _read_grid(x[~below & ~above], self)[0]
        return out

    def density(self, x: Floats) -> Floats:
        """Density at x."""
        x = np.asarray(x, np.float64)
        return np.where(np.abs(x) < self.half, np.maximum(_read_grid(x, self)[1], 0.0), 0.0)


def tail_probability(v: Floats, tail: SaddlepointTail) -> Floats:
    """P(X ≥ v) for v from the start of the tail on; beyond its last point log P goes on as a straight line."""
    if tail.x.size == 0:
        return np.zeros(v.shape)
    inside = np.clip(v, tail.x[0], tail.x[-1])
    k = np.clip(np.searchsorted(tail.x, inside) - 1, 0, tail.x.size - 2)
    width = tail.x[k + 1] - tail.x[k]
    s = (inside - tail.x[k]) / width
    rise = tail.log[k + 1] - tail.log[k]
    a, b = tail.slope[k] * width - rise, rise - tail.slope[k + 1] * width
    value = tail.log[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s) + tail.slope[-1] * (v - inside)
    return np.where(v > tail.support, 0.0, np.exp(np.minimum(value, 0.0)))


def _read_grid(v: Floats, distribution: Inverted) -> tuple[Floats, Floats]:
    """Distribution function and density on the grid by cubic Hermite interpolation, the density being the slope.

    Slopes are held between 0 and three times the rise, within which a cubic cannot fall (Fritsch & Carlson 1980).
    """
    step = 2.0 * distribution.half / distribution.cdf.size
    position = np.clip((v + distribution.half) / step, 0.0, distribution.cdf.size - 1 - 1e-9)
    k = position.astype(np.int64)
    s = position - k
    rise = distribution.cdf[k + 1] - distribution.cdf[k]
    a = np.clip(distribution.pdf[k] * step, 0.0, 3.0 * rise) - rise
    b = rise - np.clip(distribution.pdf[k + 1] * step, 0.0, 3.0 * rise)
    value = distribution.cdf[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s)
    slope = (rise + (1.0 - 2.0 * s) * (a * (1.0 - s) + b * s) + s * (1.0 - s) * (b - a)) / step
    return np.clip(value, 0.0, 1.0), slope
