"""Largest |t| of all pairs under sign flips of topics: each pair its own variance, all pairs their joint distribution.

Systems are moved to equal means, and what each topic did to all of them takes a random sign, one sign a topic: a
scenario in which no pair differs, every pair keeps its own variance, and pairs depend on each other as they do (a wild
bootstrap, Wu 1986, with the largest statistic of Westfall & Young 1993). Instead of t stands u = t² / (t² + T - 1),
which rises with |t|. Under flips w of centred differences z it is (Σ w z)² / (T Σ z²), whose denominator no flip
changes: nothing is to be divided, and flips without spread, where t would be infinite, need no special care.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from shardwise.core.arguments import CHUNKS, borrow_executor, map_parallel
from shardwise.core.arrays import Floats, Ints
from shardwise.methods.paired.kernels import count_flips
from shardwise.stats.stepdown import TIE, adjust_counts, find_critical, order_targets
from shardwise.stats.student import t_statistic

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
