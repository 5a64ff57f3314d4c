"""What a resampled system mean is made of, and the distribution of any contrast of such means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shardwise.core.arrays import Bools, Floats
from shardwise.methods.bootstrap.spectrum import Complex, Pool

STEPS, PARTS = 10, 64  # an interval cut into 64 parts ten times over is down to rounding
FAR = 1.0 - 1e-6  # from here on 1 - P(X ≤ x) loses digits that P(X ≥ x) keeps


class Spread(Protocol):
    """A distribution around zero, that of an effect or of a difference."""

    @property
    def span(self) -> tuple[float, float]:
        """An interval that holds all of it, or all but what a double can tell."""

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""

    def density(self, x: Floats) -> Floats:
        """Density at x; for a distribution of separate points, that of its histogram."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """A sum of independent draws from one pool: `counts[i]` draws are taken `weights[i]` times each."""

    pool: Pool
    weights: Floats
    counts: Floats

    def subtract_mean(self, systems: int) -> Draws:
        """Return the effect of this mean: itself less the mean of as many such means as there are systems."""
        own_weight, others = 1.0 - 1.0 / systems, -1.0 / systems
        weights = np.concatenate([own_weight * self.weights, others * self.weights])
        return Draws(self.pool, weights, np.concatenate([self.counts, (systems - 1.0) * self.counts]))

    def difference_of_two(self) -> Draws:
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
        sizes, inverse = np.unique(np.abs(self.weights), return_inverse=True)
        grid = np.multiply.outer(sizes, frequencies)
        phi = self.pool.characteristic(grid.ravel()).reshape(grid.shape)[inverse]
        phi = np.where(self.weights[:, None] < 0, phi.conj(), phi)
        with np.errstate(divide="ignore"):
            logs = np.log(phi)
        logs.real = np.maximum(logs.real, -1e4)  # φ = 0: any small number, but not -∞, which times 0 is none
        return np.asarray(np.exp(np.einsum("w,wf->f", self.counts, logs)))


def first_where(holds: Callable[[Floats], Bools], low: float, high: float) -> float:
    """Return where a condition that stays true once it is true begins to hold, which it does at the upper end."""
    for _ in range(STEPS):
        points = np.linspace(low, high, PARTS + 1)
        k = int(np.argmax(np.append(holds(points[1:-1]), True)))
        low, high = float(points[k]), float(points[k + 1])
    return high


def find_quantiles(distribution: Spread, p: Floats) -> Floats:
    """Return where P(X ≤ x) reaches each p."""

    def find_quantile(share: float) -> float:
        def is_reached(x: Floats) -> Bools:
            reached = distribution.at_most(x) >= share
            return reached | (distribution.at_least(x) <= 1.0 - share) if share > FAR else reached

        return first_where(is_reached, *distribution.span)

    p = np.asarray(p, np.float64)
    return np.array([find_quantile(share) for share in p.ravel().tolist()]).reshape(p.shape)
