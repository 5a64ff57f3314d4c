"""Classic tests on topics for any number of tables: arrays (B, T, R) in, figures (B, P) of pairs (ia, ib) out."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import scipy

from shardwise.core.arrays import Floats, Ints, Words
from shardwise.methods.paired import kernels
from shardwise.stats.student import NOISE


def sizes_of(y: Floats) -> Floats:
    """(B, R) largest absolute score of every system."""
    return np.asarray(np.abs(y).max(axis=1))


def units_of(size: Floats) -> Floats:
    """For every size a power of ten far below any difference that matters; decimal, as most scores are.

    >>> units_of(np.array([0.7, 1.0, 40.0]))
    array([1.e-12, 1.e-12, 1.e-10])
    """
    return np.asarray(10.0 ** (np.ceil(np.log10(np.where(size > 0.0, size, 1.0))) - 12.0))


def larger_figure(each: Floats, ia: Ints, ib: Ints) -> Floats:
    """(B, P) the larger figure of the two systems of a pair: a pair is judged on its own scale, not on another's."""
    return np.ascontiguousarray(np.maximum(each[:, ia], each[:, ib]))


def coarse_of(y: Floats, ia: Ints, ib: Ints) -> Floats:
    """(B, P) the step to which the differences of a pair are rounded so that ties show."""
    return 100.0 * units_of(larger_figure(sizes_of(y), ia, ib))


def whole_units(y: Floats, unit: Floats) -> Ints:
    """Scores in whole units (B,), in which sums are exact."""
    return np.ascontiguousarray(np.rint(y / unit[:, None, None]).astype(np.int64))


def free_of_noise(se: Floats, y: Floats, ia: Ints, ib: Ints) -> Floats:
    """Standard errors with those of mere rounding set to 0."""
    return np.where(se <= NOISE * larger_figure(sizes_of(y), ia, ib), 0.0, se)


def pair_moments(y: Floats, ia: Ints, ib: Ints) -> tuple[Floats, Floats]:
    """Mean difference of every pair and its standard error over topics, sd / sqrt(T) (J15 eq. 3).

    >>> y = np.array([[[0.5, 0.4], [0.6, 0.4], [0.7, 0.6]]])
    >>> mean, se = pair_moments(y, np.array([0]), np.array([1]))
    >>> mean.round(4).tolist(), se.round(4).tolist()
    ([[0.1333]], [[0.0333]])
    """
    y = np.ascontiguousarray(y, dtype=np.float64)
    mean, se = np.empty((len(y), ia.size)), np.empty((len(y), ia.size))
    kernels.means_and_errors(y, coarse_of(y, ia, ib), ia, ib, mean, se)
    return mean, free_of_noise(se, y, ia, ib)


def unpaired_errors(y: Floats, ia: Ints, ib: Ints) -> Floats:
    """Standard errors of Student's two-sample t with pooled variance, 2T - 2 df (V17 Table 2)."""
    variance = y.var(axis=1, ddof=1)
    return free_of_noise(np.sqrt((variance[:, ia] + variance[:, ib]) / y.shape[1]), y, ia, ib)


def wilcoxon_p(y: Floats, ia: Ints, ib: Ints) -> tuple[Floats, Floats]:
    """Smaller rank sum and p-value of signed ranks without the zero differences.

    Exact up to 50 differences, beyond by the normal distribution with the variance of tied ranks.
    """
    y = np.ascontiguousarray(y, dtype=np.float64)
    smaller, p = np.empty((len(y), ia.size)), np.empty((len(y), ia.size))
    kernels.wilcoxon(y, coarse_of(y, ia, ib), ia, ib, _rank_laws(), smaller, p)
    return smaller, p


@lru_cache(maxsize=1)
def _rank_laws() -> Floats:
    return kernels.rank_sum_laws()


def sign_p(y: Floats, ia: Ints, ib: Ints) -> tuple[Floats, Floats]:
    """Topics won by the first system of a pair, and p-value of the binomial test, ties left out."""
    y = np.ascontiguousarray(y, dtype=np.float64)
    won, lost = (np.zeros((len(y), ia.size), dtype=np.int64) for _ in range(2))
    kernels.wins(y, coarse_of(y, ia, ib), ia, ib, won, lost)
    count = np.arange(y.shape[1] + 1)
    distribution = np.minimum(2.0 * scipy.stats.binom.cdf(count[None, :], count[:, None], 0.5), 1.0)
    return won.astype(np.float64), np.asarray(distribution[won + lost, np.minimum(won, lost)])


def randomization_p(y: Floats, ia: Ints, ib: Ints, keys: Words, n_resamples: int) -> Floats:
    """p-values of Fisher's two-sided randomization test of the mean difference.

    All sign flips for few non-zero differences, else a sample of them, (r + 1)/(B + 1). Pairs of one unit are tested
    together, whatever the scale of others.
    """
    p = np.empty((len(y), ia.size))
    for i, unit in enumerate(units_of(larger_figure(sizes_of(y), ia, ib))):
        for number in np.unique(unit):
            pairs = np.flatnonzero(unit == number)
            members, columns = np.unique([ia[pairs], ib[pairs]], return_inverse=True)
            a, b = np.ascontiguousarray(columns.reshape(2, -1))
            whole = whole_units(y[i : i + 1, :, members], np.array([number]))
            p_values = np.empty((1, pairs.size))
            kernels.randomization(whole, a, b, keys[i : i + 1], n_resamples, p_values)
            p[i, pairs] = p_values[0]
    return p


def bootstrap_p(
    y: Floats, ia: Ints, ib: Ints, t: Floats, se: Floats, keys: Words, n_resamples: int
) -> Floats:
    """p-values of the studentised bootstrap of topics, recentred by the mean of all bootstrap means (J15 Alg. 1)."""
    y = np.ascontiguousarray(y, dtype=np.float64)
    exceedances = np.zeros(t.shape, dtype=np.int64)
    kernels.bootstrap(
        y, coarse_of(y, ia, ib), ia, ib, np.ascontiguousarray(t), keys, n_resamples, exceedances
    )
    certain = np.where(t == 0.0, n_resamples, 0)  # all differences alike
    return np.asarray((np.where(se == 0.0, certain, exceedances) + 1) / (n_resamples + 1))


def permuted_ranges(y: Floats, keys: Words, n_resamples: int, sign: int = 1) -> tuple[Floats, Floats]:
    """(B, n_resamples) ranges of means with systems shuffled within topics, ascending; what rounding may add (B,).

    The shuffles depend on the order of systems, which is that of their means, the best first.
    """
    order = np.argsort(-sign * y.mean(axis=1), axis=1, kind="stable")
    unit = units_of(sizes_of(y).max(axis=1))
    units = whole_units(np.take_along_axis(y, order[:, None, :], axis=2), unit)
    out = np.empty((len(y), n_resamples), dtype=np.int64)
    kernels.ranges(units, keys, n_resamples, out)
    return np.sort(out, axis=1) * unit[:, None] / y.shape[1], 2.0 * unit


def range_p(ranges: Floats, size: Floats, noise: Floats) -> Floats:
    """(r + 1) / (B + 1), r the permutations whose range is at least as large as a difference."""
    below = np.stack([np.searchsorted(row, d) for row, d in zip(ranges, size - noise[:, None], strict=True)])
    n = ranges.shape[1]
    return np.asarray((n - below + 1) / (n + 1))


def range_critical(ranges: Floats, noise: Floats, alpha: float) -> Floats:
    """(B, 1) smallest differences significant at alpha; ∞ if there are too few permutations for it."""
    k = math.floor(alpha * (ranges.shape[1] + 1) * (1 + 1e-12))
    if k < 1:
        return np.full((len(ranges), 1), np.inf)
    return np.asarray(ranges[:, -k] + 2.0 * noise)[:, None]
