"""A law by Fourier inversion of its characteristic function, with saddlepoint tails: compiled reading of its tables."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.core.compiled import njit


class Tail(NamedTuple):
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
    upper: Tail
    lower: Tail  # of -X

    @property
    def span(self) -> tuple[float, float]:
        """Outermost values."""
        return -self.lower.support, self.upper.support

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""
        return _each(np.asarray(x, np.float64), self, False)

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""
        return _each(np.asarray(x, np.float64), self, True)

    def density(self, x: Floats) -> Floats:
        """Density at x."""
        x = np.asarray(x, np.float64)
        out = np.empty(x.size)
        _densities(x.ravel(), self, out)
        return out.reshape(x.shape)


def _each(x: Floats, law: Inverted, above: bool) -> Floats:
    out = np.empty(x.size)
    _probabilities(x.ravel(), law, above, out)
    return out.reshape(x.shape)


@njit(cache=True, nogil=True)
def beyond(v: float, tail: Tail) -> float:
    """P(X ≥ v) for v from the start of the tail on; beyond its last point log P goes on as a straight line."""
    if tail.x.size == 0 or v > tail.support:
        return 0.0
    inside = min(max(v, tail.x[0]), tail.x[-1])
    k = min(max(np.searchsorted(tail.x, inside) - 1, 0), tail.x.size - 2)
    width = tail.x[k + 1] - tail.x[k]
    s = (inside - tail.x[k]) / width
    rise = tail.log[k + 1] - tail.log[k]
    a, b = tail.slope[k] * width - rise, rise - tail.slope[k + 1] * width
    value = tail.log[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s) + tail.slope[-1] * (v - inside)
    return math.exp(min(value, 0.0))


@njit(cache=True, nogil=True)
def _inner(v: float, law: Inverted) -> tuple[float, float]:
    """Distribution function and density on the grid by cubic Hermite interpolation, the density being the slope.

    Slopes are held between 0 and three times the rise, within which a cubic cannot fall (Fritsch & Carlson 1980).
    """
    step = 2.0 * law.half / law.cdf.size
    place = min(max((v + law.half) / step, 0.0), law.cdf.size - 1 - 1e-9)
    k = int(place)
    s = place - k
    rise = law.cdf[k + 1] - law.cdf[k]
    a = min(max(law.pdf[k] * step, 0.0), 3.0 * rise) - rise
    b = rise - min(max(law.pdf[k + 1] * step, 0.0), 3.0 * rise)
    value = law.cdf[k] + s * rise + s * (1.0 - s) * (a * (1.0 - s) + b * s)
    slope = (rise + (1.0 - 2.0 * s) * (a * (1.0 - s) + b * s) + s * (1.0 - s) * (b - a)) / step
    return min(max(value, 0.0), 1.0), slope


@njit(cache=True, nogil=True)
def at_most(v: float, law: Inverted) -> float:
    """P(X ≤ v)."""
    if -v > law.lower.start:
        return beyond(-v, law.lower)
    return 1.0 - beyond(v, law.upper) if v > law.upper.start else _inner(v, law)[0]


@njit(cache=True, nogil=True)
def at_least(v: float, law: Inverted) -> float:
    """P(X ≥ v)."""
    if v > law.upper.start:
        return beyond(v, law.upper)
    return 1.0 - (beyond(-v, law.lower) if -v > law.lower.start else _inner(v, law)[0])


@njit(cache=True, nogil=True)
def _probabilities(x: Floats, law: Inverted, above: bool, out: Floats) -> None:
    for k in range(x.size):
        out[k] = at_least(x[k], law) if above else at_most(x[k], law)


@njit(cache=True, nogil=True)
def _densities(x: Floats, law: Inverted, out: Floats) -> None:
    for k in range(x.size):
        out[k] = max(_inner(x[k], law)[1], 0.0) if abs(x[k]) < law.half else 0.0
