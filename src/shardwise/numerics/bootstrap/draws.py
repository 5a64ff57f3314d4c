"""What a resampled system mean is made of, and the law of any contrast of such means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.numerics.bootstrap.spectrum import Complex, Pool

STEPS = 60  # halvings that bring an interval down to rounding
FAR = 1.0 - 1e-6  # from here on 1 - P(X ≤ x) loses digits that P(X ≥ x) keeps


class Spread(Protocol):
    """A law around zero, that of an effect or of a difference."""

    @property
    def span(self) -> tuple[float, float]:
        """An interval that holds all of it, or all but what a double can tell."""

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""

    def density(self, x: Floats) -> Floats:
        """Density at x; for a law of separate points, that of its histogram."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """A sum of independent draws from one pool: `counts[i]` draws are taken `weights[i]` times each."""

    pool: Pool
    weights: Floats
    counts: Floats

    def minus(self, systems: int) -> Draws:
        """Return the effect of this mean: itself less the mean of as many such means as there are systems."""
        own, others = 1.0 - 1.0 / systems, -1.0 / systems
        weights = np.concatenate([own * self.weights, others * self.weights])
        return Draws(self.pool, weights, np.concatenate([self.counts, (systems - 1.0) * self.counts]))

    def twice(self) -> Draws:
        """Return the difference of two such means."""
        weights = np.concatenate([self.weights, -self.weights])
        return Draws(self.pool, weights, np.concatenate([self.counts, self.counts]))

    @property
    def variance(self) -> float:
        """Variance of the sum."""
        return self.pool.variance * float(np.sum(self.counts * self.weights**2))

    @property
    def support(self) -> tuple[float, float]:
        """Least and greatest value that the sum can take."""
        low, high = float(self.pool.values.min()), float(self.pool.values.max())
        ends = np.stack([self.weights * low, self.weights * high])
        return float(np.sum(self.counts * ends.min(axis=0))), float(np.sum(self.counts * ends.max(axis=0)))

    def characteristic(self, frequencies: Floats) -> Complex:
        """Product of φ(w t)^c over the weights w and counts c: the characteristic function of the sum."""
        sizes, place = np.unique(np.abs(self.weights), return_inverse=True)
        grid = np.multiply.outer(sizes, frequencies)
        phi = self.pool.characteristic(grid.ravel()).reshape(grid.shape)[place]
        phi = np.where(self.weights[:, None] < 0, phi.conj(), phi)
        with np.errstate(divide="ignore"):
            logs = np.log(phi)
        logs.real = np.maximum(
            logs.real, -1e4
        )  # φ = 0: no matter how small, but not -∞, which times 0 is no number
        return np.asarray(np.exp(np.einsum("w,wf->f", self.counts, logs)))


def quantiles(law: Spread, p: Floats) -> Floats:
    """Return where P(X ≤ x) reaches each p, by halving."""
    p = np.asarray(p, np.float64)
    low, high = (np.full(p.shape, end) for end in law.span)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        reached = (law.at_most(middle) >= p) | ((p > FAR) & (law.at_least(middle) <= 1.0 - p))
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high
