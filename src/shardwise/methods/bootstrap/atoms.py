"""Small cases: every value that a sum of draws can take, with its probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from shardwise.core.arrays import Floats
from shardwise.methods.bootstrap.draws import Draws

MOST_ATOMS = 1 << 18
MOST_PRODUCTS = 1 << 20  # pairs of atoms to be merged at a time
FEW = 64  # distinct residuals; with so few, many sums may coincide, and listing is worth a try
MOST_DISTINCT = 2048
ALIKE = 1e-9  # values closer than this share of the range are one


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """A distribution of separate points."""

    values: Floats  # ascending
    shares: Floats

    @property
    def span(self) -> tuple[float, float]:
        """Outermost values."""
        return float(self.values[0]), float(self.values[-1])

    @property
    def _value_tolerance(self) -> float:
        return 4.0 * ALIKE * max(float(np.abs(self.values).max()), 1e-300)

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""
        total = np.concatenate([[0.0], np.cumsum(self.shares)])
        k = np.searchsorted(self.values, np.asarray(x) + self._value_tolerance, "right")
        return np.asarray(np.minimum(total[k], 1.0))

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""
        total = np.concatenate([np.cumsum(self.shares[::-1])[::-1], [0.0]])
        k = np.searchsorted(self.values, np.asarray(x) - self._value_tolerance, "left")
        return np.asarray(np.minimum(total[k], 1.0))

    def density(self, x: Floats) -> Floats:
        """Height of a histogram of 64 bars at x."""
        low, high = self.span
        if high <= low:
            return np.zeros(np.shape(x))
        heights, edges = np.histogram(self.values, 64, weights=self.shares, density=True)
        bar = np.clip(np.searchsorted(edges, x, "right") - 1, 0, 63)
        return np.where((np.asarray(x) < low) | (np.asarray(x) > high), 0.0, heights[bar])


def enumerate_sums(draws: Draws) -> Atoms | None:
    """Return the distribution of a sum of draws point by point, or None where the points are too many to list."""
    pool = draws.pool.values
    if draws.pool.reach == 0.0:
        return Atoms(np.zeros(1), np.ones(1))
    distinct = np.unique(pool[:MOST_DISTINCT]).size
    if distinct > FEW and _log_combinations(distinct, draws.counts) > np.log(MOST_PRODUCTS):
        return None
    values, shares = merge_values(pool, np.full(pool.size, 1.0 / pool.size), ALIKE * draws.pool.reach)
    total = Atoms(np.zeros(1), np.ones(1))
    for weight, count in zip(draws.weights, draws.counts, strict=True):
        part = _sum_copies(Atoms(values, shares), int(count))
        if part is None:
            return None
        scaled = Atoms(part.values * weight, part.shares)
        together = _add_atoms(total, scaled)
        if together is None:
            return None
        total = together
    return total


def _log_combinations(distinct: int, counts: Floats) -> float:
    """Logarithm of the number of ways to draw so many of distinct values, if no two sums coincide."""
    ways = gammaln(distinct + counts) - gammaln(distinct) - gammaln(counts + 1.0)
    return float(ways.sum())


def _sum_copies(atoms: Atoms, count: int) -> Atoms | None:
    """The distribution of a sum of independent copies, by doubling."""
    total: Atoms | None = Atoms(np.zeros(1), np.ones(1))
    doubled: Atoms | None = atoms
    while count:
        if doubled is None or total is None:
            return None
        if count & 1:
            total = _add_atoms(total, doubled)
        count >>= 1
        doubled = _add_atoms(doubled, doubled) if count else None
    return total


def _add_atoms(first: Atoms, second: Atoms) -> Atoms | None:
    if first.values.size * second.values.size > MOST_PRODUCTS:
        return None
    values = np.add.outer(first.values, second.values).ravel()
    shares = np.multiply.outer(first.shares, second.shares).ravel()
    reach = float(np.abs(values).max())
    merged, probability = merge_values(values, shares, ALIKE * reach)
    return None if merged.size > MOST_ATOMS else Atoms(merged, probability)


def merge_values(values: Floats, shares: Floats, alike: float) -> tuple[Floats, Floats]:
    """Put values together that differ by rounding only, in ascending order.

    >>> merge_values(np.array([2.0, 1.0, 2.0 + 1e-14]), np.array([0.25, 0.5, 0.25]), 1e-12)
    (array([1., 2.]), array([0.5, 0.5]))
    """
    order = np.argsort(values, kind="stable")
    values, shares = values[order], shares[order]
    new = np.concatenate([[True], np.diff(values) > alike])
    starts = np.flatnonzero(new)
    return values[starts], np.add.reduceat(shares, starts)
