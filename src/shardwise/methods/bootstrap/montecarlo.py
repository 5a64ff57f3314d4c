"""The bootstrap by resampling: compiled, parallel, each replicate from (seed, index) alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from shardwise.core.arguments import CHUNKS, Progress, borrow_executor, map_parallel
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.methods.bootstrap.draws import Draws
from shardwise.methods.bootstrap.ideal import kernel_bandwidth
from shardwise.methods.bootstrap.kernels import means_of_draws
from shardwise.stats.resampling import key_of

BLOCK = 250  # replicates of one task
GRID = 16384  # points of a smoothed distribution


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A distribution known by draws from it; probabilities are (r + 1)/(B + 1), never 0."""

    values: Floats  # ascending

    @property
    def span(self) -> tuple[float, float]:
        """Outermost draws."""
        return float(self.values[0]), float(self.values[-1])

    def at_most(self, x: Floats) -> Floats:
        """(draws ≤ x, and one) / (all draws, and one)."""
        return np.asarray((np.searchsorted(self.values, x, "right") + 1.0) / (self.values.size + 1.0))

    def at_least(self, x: Floats) -> Floats:
        """(draws ≥ x, and one) / (all draws, and one)."""
        r = self.values.size - np.searchsorted(self.values, x, "left")
        return np.asarray((r + 1.0) / (self.values.size + 1.0))

    def density(self, x: Floats) -> Floats:
        """Gaussian kernel density, as for ``density="kde"``."""
        return smooth_draws(self.values, self.values.size).density(x)


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Draws blurred by a Gaussian kernel, on a fine grid."""

    low: float
    step: float
    pdf: Floats
    cdf: Floats
    bandwidth: float

    @property
    def span(self) -> tuple[float, float]:
        """Ends of the grid."""
        return self.low, self.low + self.step * (self.cdf.size - 1)

    @property
    def _grid_points(self) -> Floats:
        return self.low + self.step * np.arange(self.cdf.size, dtype=np.float64)

    def at_most(self, x: Floats) -> Floats:
        """P(X ≤ x)."""
        return np.asarray(np.interp(x, self._grid_points, self.cdf, 0.0, 1.0), np.float64)

    def at_least(self, x: Floats) -> Floats:
        """P(X ≥ x)."""
        return np.asarray(np.interp(x, self._grid_points, 1.0 - self.cdf, 1.0, 0.0), np.float64)

    def density(self, x: Floats) -> Floats:
        """Density at x."""
        return np.asarray(np.interp(x, self._grid_points, self.pdf, 0.0, 0.0), np.float64)


def smooth_draws(draws: Floats, n: int) -> Smoothed:
    """Blur draws by a Gaussian kernel whose bandwidth is that of n of them.

    >>> distribution = smooth_draws(np.linspace(-1.0, 1.0, 201), 201)
    >>> round(distribution.bandwidth, 4), round(float(distribution.at_most(np.array([0.0]))[0]), 4)
    (0.2719, 0.5)
    """
    h = kernel_bandwidth(float(np.median(np.abs(draws - np.median(draws)))), n)
    low, high = float(draws.min()), float(draws.max())
    margin = max(9.0 * h, 1e-9 * max(abs(low), abs(high), 1e-300))
    low, high = low - margin, high + margin
    step = (high - low) / (GRID - 1)
    position = (draws - low) / step
    k = position.astype(np.int64)
    right = position - k
    mass = np.bincount(k, 1.0 - right, GRID + 1) + np.bincount(k + 1, right, GRID + 1)
    spectrum = np.fft.rfft(mass[:GRID] / draws.size, 2 * GRID)
    t = np.pi / (step * GRID) * np.arange(GRID + 1)
    pdf = np.maximum(np.fft.irfft(spectrum * np.exp(-0.5 * (h * t) ** 2), 2 * GRID)[:GRID], 0.0)
    cdf = np.cumsum(pdf) - 0.5 * pdf
    return Smoothed(low, step, pdf / step, np.minimum(cdf, 1.0), h)


def resample_means(
    draws: Draws, systems: int, n_resamples: int, seed: int, jobs: int | None, progress: Progress | None
) -> Floats:
    """Return (n_resamples, systems) means of residuals drawn anew; memory never holds more than that and the pool."""
    if n_resamples < 1 or seed < 0:
        raise InputError((Option("n_resamples"), " must be at least 1 and ", Option("seed"), " at least 0"))
    if draws.pool.values.size >= 1 << 31:
        raise InputError(
            "more than two thousand million residuals cannot be resampled",
            remedy="use the ideal distribution",
        )
    counts = np.rint(draws.counts).astype(np.int64)
    work = partial(_resample_rows, draws.pool.values, draws.weights, counts, key_of(seed), systems)
    executor = None if jobs == 1 else borrow_executor()
    step = BLOCK if executor is None else max(BLOCK, -(-n_resamples // CHUNKS))
    ranges = [(first, min(first + step, n_resamples)) for first in range(0, n_resamples, step)]
    parts = map_parallel(
        work, ranges, jobs=jobs, executor=executor, progress=progress, steps=lambda rows: rows[1] - rows[0]
    )
    out = np.empty((n_resamples, systems))
    for (first, stop), part in zip(ranges, parts, strict=True):
        out[first:stop] = part
    return out


def _resample_rows(
    pool: Floats, weights: Floats, counts: Ints, key: np.uint64, systems: int, rows: tuple[int, int]
) -> Floats:
    """Some rows of the replicates."""
    out = np.empty((rows[1] - rows[0], systems))
    means_of_draws(pool, weights, counts, key, rows[0], out)
    return out
