"""Classic tests on topics for any number of tables: arrays (B, T, R) in, figures (B, P) of pairs (ia, ib) out.

Largest |t| of all pairs under sign flips of topics: each pair its own variance, all pairs their joint distribution.

Systems are moved to equal means, and what each topic did to all of them takes a random sign, one sign a topic: a
scenario in which no pair differs, every pair keeps its own variance, and pairs depend on each other as they do (a wild
bootstrap, Wu 1986, with the largest statistic of Westfall & Young 1993). Instead of t stands u = t² / (t² + T - 1),
which rises with |t|. Under flips w of centred differences z it is (Σ w z)² / (T Σ z²), whose denominator no flip
changes: nothing is to be divided, and flips without spread, where t would be infinite, need no special care.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import scipy

from shardwise.core.arguments import CHUNKS, borrow_executor, map_parallel
from shardwise.core.arrays import Floats, Ints, Words
from shardwise.methods.paired import kernels
from shardwise.methods.paired.kernels import count_flips
from shardwise.methods.pairs import KNOWN_DF
from shardwise.stats.stepdown import TIE, adjust_counts, find_critical, order_targets
from shardwise.stats.student import NOISE, t_statistic


def units_of(size: Floats) -> Floats:
    """For every size a power of ten far below any difference that matters; decimal, as most scores are.

    >>> units_of(np.array([0.7, 1.0, 40.0]))
    array([1.e-12, 1.e-12, 1.e-10])
    """
    return np.asarray(10.0 ** (np.ceil(np.log10(np.where(size > 0.0, size, 1.0))) - 12.0))


def sizes_of(y: Floats, ia: Ints, ib: Ints) -> Floats:
    """(B, P) largest absolute score of the two systems of a pair, which is judged on its own scale alone."""
    each = np.abs(y).max(axis=1)
    return np.ascontiguousarray(np.maximum(each[:, ia], each[:, ib]))


def coarse_of(y: Floats, ia: Ints, ib: Ints) -> Floats:
    """(B, P) the step to which the differences of a pair are rounded so that ties show."""
    return 100.0 * units_of(sizes_of(y, ia, ib))


def whole_units(y: Floats, unit: Floats) -> Ints:
    """Scores in whole units (B,), in which sums are exact."""
    return np.ascontiguousarray(np.rint(y / unit[:, None, None]).astype(np.int64))


def free_of_noise(se: Floats, y: Floats, ia: Ints, ib: Ints) -> Floats:
    """Standard errors with those of mere rounding set to 0."""
    return np.where(se <= NOISE * sizes_of(y, ia, ib), 0.0, se)


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


@lru_cache(maxsize=1)
def rank_laws() -> Floats:
    """Distributions of the smaller rank sum, of every number of differences."""
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
    for i, unit in enumerate(units_of(sizes_of(y, ia, ib))):
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
    unit = units_of(np.abs(y).max(axis=(1, 2)))
    units = whole_units(np.take_along_axis(y, order[:, None, :], axis=2), unit)
    out = np.empty((len(y), n_resamples), dtype=np.int64)
    kernels.ranges(units, keys, n_resamples, out)
    return np.sort(out, axis=1) * unit[:, None] / y.shape[1], 2.0 * unit


FEWEST = 256  # flips that are worth a task of their own


@dataclass(frozen=True, slots=True, eq=False)
class Flips:
    """What the flips of one table say of its pairs."""

    p: Floats  # (P,) each pair by itself
    p_adjusted: Floats  # (P,) step-down
    maxima: Floats  # (B,) largest u of all pairs in every flip, ascending


def flip_topics(
    y: Floats,
    ia: Ints,
    ib: Ints,
    difference: Floats,
    se: Floats,
    key: np.uint64,
    n_resamples: int,
    jobs: int | None = 1,
) -> Flips:
    """Test the pairs (ia, ib) of a (T, R) table, of which difference and se are the mean and its standard error.

    An executor that was lent draws, or else threads; with one job neither. Flip i depends on (key, i) only.

    Step-down (Westfall & Young 1993): pairs by falling |t|, each against the largest |t*| of itself and
    those after it. Pairs without spread have t* = 0; they are told apart if their means differ, else not.
    """
    topics = len(y)
    # what systems share goes, as far as rounding may see it; a median, as one system may be far from all others
    d = y - np.median(y, axis=1, keepdims=True)
    d = np.ascontiguousarray(d - d.mean(axis=0))
    squares = topics * (topics - 1.0) * se**2
    weight = np.where(squares > 0.0, 1.0 / np.where(squares > 0.0, topics * squares, 1.0), 0.0)
    u = u_of(t_statistic(difference, se), topics)
    order, target = order_targets(u)
    executor = None if jobs == 1 else borrow_executor()
    step = max(FEWEST, -(-n_resamples // CHUNKS))
    ranges = [(first, min(first + step, n_resamples)) for first in range(0, n_resamples, step)]
    work = partial(_count_flips, d, ia[order], ib[order], weight[order], target, key)
    owns, fallings, peaks = zip(*map_parallel(work, ranges, jobs=jobs, executor=executor), strict=True)
    own_counts, falling, maxima = sum(owns), sum(fallings), np.concatenate(peaks)
    p = np.empty(u.size)
    p[order] = (own_counts + 1) / (n_resamples + 1)
    return Flips(p, adjust_counts(falling, order, n_resamples, u.size), np.sort(maxima))


def _count_flips(
    d: Floats, ia: Ints, ib: Ints, weight: Floats, target: Floats, key: np.uint64, flips: tuple[int, int]
) -> tuple[Ints, Ints, Floats]:
    """Counts of some flips, and the largest u* of each."""
    own_counts, falling = (np.zeros(target.size, dtype=np.int64) for _ in range(2))
    maxima = np.empty(flips[1] - flips[0])
    count_flips(d, ia, ib, weight, target, key, flips[0], own_counts, falling, maxima)
    return own_counts, falling, maxima


def u_of(t: Floats, topics: int) -> Floats:
    """u = t² / (t² + T - 1), 1 where t is infinite.

    >>> u_of(np.array([0.0, -3.0, np.inf]), 10)
    array([0. , 0.5, 1. ])
    """
    finite = np.isfinite(t)
    squared = np.where(finite, t, 0.0) ** 2
    return np.where(finite, squared / (squared + (topics - 1.0)), 1.0)


def critical_t(maxima: Floats, alpha: float, topics: int) -> float:
    """The |t| above which a pair is told apart in a single step; ∞ if there are too few flips or topics for it."""
    u = find_critical(maxima, alpha) / (1.0 - TIE)
    return math.inf if u >= 1.0 else math.sqrt((topics - 1.0) * u / (1.0 - u))


def friedman_statistic(ranks: Floats) -> Floats:
    """(…,) Friedman's chi-squared of (…, T, R) ranks, corrected for ties; NaN where every topic ties all systems.

    (R - 1)(Σ S_j² - T·C)/(A - C) with S_j the sums of ranks, A the sum of squared ranks and C = T·R·(R + 1)²/4 (Conover
    1999).

    >>> round(float(friedman_statistic(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [2.0, 1.0, 3.0]]))), 3)
    4.667
    """
    topics, systems = ranks.shape[-2:]
    constant = topics * systems * (systems + 1.0) ** 2 / 4.0
    spread = (ranks**2).sum(axis=(-2, -1)) - constant
    between = (systems - 1.0) * ((ranks.sum(axis=-2) ** 2).sum(axis=-1) - topics * constant)
    return np.asarray(np.divide(between, spread, out=np.full(spread.shape, np.nan), where=spread > 0.0))


def rank_variance(ranks: Floats, test: str) -> tuple[Floats, float]:
    """(…,) variance of a mean of (…, T, R) ranks, and its degrees of freedom.

    That of random ranks, R(R + 1)/(12T), which is known, for "nemenyi"; what systems leave of it for "conover" (1999).
    """
    topics, systems = ranks.shape[-2:]
    if test == "nemenyi":
        return np.full(ranks.shape[:-2], systems * (systems + 1.0) / (12.0 * topics)), KNOWN_DF
    df = (topics - 1.0) * (systems - 1.0)
    spread = (ranks**2).sum(axis=(-2, -1)) - topics * systems * (systems + 1.0) ** 2 / 4.0
    share = 1.0 - friedman_statistic(ranks) / (topics * (systems - 1.0))
    return np.asarray(spread * share / (topics * df)), df
