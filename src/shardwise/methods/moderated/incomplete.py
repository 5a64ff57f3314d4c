"""The joint law where systems lack topics: each pair on the topics that both have, in the table and in every draw.

A pair is centred by its own mean over its n_k common topics. A draw takes topics of the whole table; the pair then has
n*_k of them, with n*_k in place of T, and s̄²* is Σ (n*_k - 1) s²*_k / Σ (n*_k - 1) over all pairs. A draw in which a
pair has no topic says nothing of it. Every draw goes twice over the pairs, for s̄²* is needed before any t*.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Singles
from shardwise.core.compiled import njit
from shardwise.methods.moderated.draws import ROUNDING, count_from, note, weigh
from shardwise.methods.moderated.law import BLOCK, Tally, Targets
from shardwise.stats.resampling import topic_counts


class Incomplete(NamedTuple):
    """A table with holes, as compiled code takes it."""

    y: Floats  # (R, T), NaN where a score is missing
    floor: float  # differences up to this are rounding
    d0: float


@njit(cache=True, nogil=True, error_model="numpy")
def count_incomplete(
    table: Incomplete, targets: Targets, key: np.uint64, first: int, stop: int, tally: Tally, maxima: Floats
) -> None:
    """Add to the tally the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    systems, topics = table.y.shape
    values, totals, counts = np.empty((2, topics)), np.empty((2, BLOCK)), np.empty((2, BLOCK))
    there = np.empty((2, topics))
    weights, common, df = np.empty((topics, BLOCK), dtype=np.float32), np.empty(BLOCK), np.empty(BLOCK)
    left = np.empty((2, systems, BLOCK), dtype=np.float32)
    for at in range(first, stop):
        drawn = min(BLOCK, maxima.size - at * BLOCK)
        weights[:] = 0.0
        drawn_topics = topic_counts(topics, key, at * BLOCK, drawn)
        for i in range(drawn):
            for t in range(topics):
                weights[t, i] = drawn_topics[i, t]
        common[:] = 0.0
        df[:] = 0.0
        for a in range(systems):
            for b in range(a + 1, systems):
                weigh_pair(table, a, b, weights, values, there, totals, counts)
                for i in range(BLOCK):
                    common[i] += own_squares(totals[0, i], totals[1, i], counts[0, i])
                    df[i] += max(counts[0, i] - 1.0, 0.0)
        for i in range(BLOCK):
            common[i] /= max(df[i], 1.0)
        peaks = maxima[at * BLOCK : at * BLOCK + drawn]
        peaks[:] = 0.0
        left[:] = 0.0
        for k in range(targets.ia.size - 1, -1, -1):
            a, b = targets.ia[k], targets.ib[k]
            weigh_pair(table, a, b, weights, values, there, totals, counts)
            for i in range(drawn):
                n = counts[0, i]
                gap = totals[0, i] / max(n, 1.0)
                if math.isinf(table.d0):
                    v = common[i]
                else:
                    own = own_squares(totals[0, i], totals[1, i], n)
                    v = (own + table.d0 * common[i]) / max(n - 1.0 + table.d0, 1.0)
                d = gap if abs(gap) > table.floor else 0.0
                squared = n * d * d / v if v > 0.0 else (np.inf if d != 0.0 else 0.0)
                note(targets, a, b, i, gap, squared, peaks, left, tally)
            tally.falling[k] += count_from(peaks, targets.pairs[k])


@njit(cache=True, nogil=True, error_model="numpy")
def weigh_pair(
    table: Incomplete,
    a: int,
    b: int,
    weights: Singles,
    values: Floats,
    there: Floats,
    totals: Floats,
    counts: Floats,
) -> None:
    """Sums and sums of squares of a pair's centred differences in each draw, and how many topics it has there."""
    one, other = table.y[a], table.y[b]
    n, total = 0, 0.0
    for t in range(one.size):
        d = one[t] - other[t]
        there[:, t] = 0.0
        if d == d:
            there[:, t] = 1.0
            n += 1
            total += d
    for t in range(one.size):
        d = one[t] - other[t] - total / max(n, 1) if there[0, t] > 0.0 else 0.0
        values[0, t] = d if abs(d) > table.floor else 0.0
        values[1, t] = values[0, t] * values[0, t]
    weigh(values, weights, totals)
    weigh(there, weights, counts)


@njit(cache=True, nogil=True, error_model="numpy")
def own_squares(total: float, squares: float, n: float) -> float:
    """Sum of squares about the mean, 0 where it is rounding."""
    own = squares - total * total / max(n, 1.0)
    return own if own > ROUNDING * squares else 0.0
