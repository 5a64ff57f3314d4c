"""Classic tests on topics for many tables at once, compiled: what `paired_kernels` does for one.

Tables are (B, T, R), pairs (a, b) index systems, results are (B, P). `coarse` is, for every table, the step to which
differences are rounded so that ties show.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shardwise.core.arrays import Floats, Ints, Words
from shardwise.numerics.resampling import (
    EXACT_RANKS,
    EXACT_TOPICS,
    SLACK,
    permuted_ranges,
    sign_flips,
    signed_ranks,
    topic_counts,
)

TILE = 256  # pairs whose differences stay in the cache together


@njit(cache=True, nogil=True)
def topic_differences(y: Floats, coarse: float, ia: Ints, ib: Ints, z: Floats) -> None:
    """(T, P) differences per topic of one table, those of mere rounding set to 0."""
    for t in range(y.shape[0]):
        for k in range(ia.size):
            d = y[t, ia[k]] - y[t, ib[k]]
            z[t, k] = 0.0 if abs(d) <= 0.5 * coarse else d


@njit(cache=True, nogil=True)
def means_and_errors(y: Floats, coarse: Floats, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> None:
    """Mean of the differences of every pair and sd / sqrt(T)."""
    topics = y.shape[1]
    z = np.empty((topics, ia.size))
    for i in range(y.shape[0]):
        topic_differences(y[i], coarse[i], ia, ib, z)
        for k in range(ia.size):
            mean[i, k] = 0.0
            se[i, k] = 0.0
        for t in range(topics):
            for k in range(ia.size):
                mean[i, k] += z[t, k]
        for k in range(ia.size):
            mean[i, k] /= topics
        for t in range(topics):
            for k in range(ia.size):
                away = z[t, k] - mean[i, k]
                se[i, k] += away * away
        for k in range(ia.size):
            se[i, k] = math.sqrt(se[i, k] / (topics - 1) / topics)


@njit(cache=True, nogil=True)
def wins(y: Floats, coarse: Floats, ia: Ints, ib: Ints, won: Ints, lost: Ints) -> None:
    """Topics won and lost by the first system of every pair."""
    for i in range(y.shape[0]):
        for t in range(y.shape[1]):
            for k in range(ia.size):
                d = y[i, t, ia[k]] - y[i, t, ib[k]]
                if abs(d) > 0.5 * coarse[i]:
                    won[i, k] += d > 0
                    lost[i, k] += d < 0


@njit(cache=True, nogil=True)
def rank_sum_laws() -> Floats:
    """P(W ≤ w) of the signed-rank sum without ties, for n = 0 … EXACT_RANKS and all w."""
    most = EXACT_RANKS * (EXACT_RANKS + 1) // 2
    laws = np.ones((EXACT_RANKS + 1, most + 1))
    share = np.zeros(most + 1)
    share[0] = 1.0
    for n in range(1, EXACT_RANKS + 1):
        for w in range(n * (n + 1) // 2, -1, -1):
            share[w] = 0.5 * (share[w] + (share[w - n] if w >= n else 0.0))
        total = 0.0
        for w in range(n * (n + 1) // 2 + 1):
            total += share[w]
            laws[n, w] = total
    return laws


@njit(cache=True, nogil=True)
def wilcoxon(y: Floats, coarse: Floats, ia: Ints, ib: Ints, laws: Floats, p: Floats) -> None:
    """Two-sided p-values of signed ranks: by the law without ties where there are none, else by `signed_ranks`."""
    topics = y.shape[1]
    d = np.empty(topics, dtype=np.int64)
    row = np.empty((1, topics), dtype=np.int64)
    statistic = np.empty(1)
    exact = np.empty(1)
    z = np.empty(1)
    for i in range(y.shape[0]):
        for k in range(ia.size):
            for t in range(topics):
                d[t] = np.int64(np.rint((y[i, t, ia[k]] - y[i, t, ib[k]]) / coarse[i]))
            order = np.argsort(np.abs(d))
            for t in range(topics):
                row[0, t] = d[order[t]]
            zeros = 0
            while zeros < topics and row[0, zeros] == 0:
                zeros += 1
            n = topics - zeros
            tied = False
            plus = 0
            for t in range(zeros, topics):
                tied = tied or (t > zeros and abs(row[0, t]) == abs(row[0, t - 1]))
                if row[0, t] > 0:
                    plus += t - zeros + 1
            if n <= EXACT_RANKS and not tied:
                p[i, k] = min(1.0, 2.0 * laws[n, min(plus, n * (n + 1) // 2 - plus)])
            else:
                signed_ranks(row, statistic, exact, z)
                p[i, k] = math.erfc(z[0] / math.sqrt(2.0)) if math.isnan(exact[0]) else exact[0]


@njit(cache=True, nogil=True)
def _sums(d: Ints, first: int, last: int) -> Ints:
    """All sums of ±d[first] … ±d[last - 1], in ascending order."""
    out = np.zeros(1 << (last - first), dtype=np.int64)
    size = 1
    for k in range(first, last):
        for j in range(size):
            out[size + j] = out[j] + d[k]
            out[j] -= d[k]
        size *= 2
    return np.sort(out)


@njit(cache=True, nogil=True)
def all_flips(d: Ints, n: int) -> float:
    """Share of all 2^n sign flips with a sum at least as large: those of one half meet those of the other."""
    target = abs(d[:n].sum()) - SLACK * n
    if target <= 0:
        return 1.0
    one, other = _sums(d, 0, n // 2), _sums(d, n // 2, n)
    count = 0
    j = other.size
    for a in one:
        while j > 0 and a + other[j - 1] >= target:
            j -= 1
        count += other.size - j
    return 2.0 * count / float(1 << n)  # the sums lie evenly about 0


@njit(cache=True, nogil=True)
def randomization(units: Ints, ia: Ints, ib: Ints, keys: Words, n_resamples: int, p: Floats) -> None:
    """Fisher's randomization test: all flips of pairs with few differences, else a sample of flips."""
    topics, r = units.shape[1], units.shape[2]
    d = np.empty(topics, dtype=np.int64)
    target = np.empty((r, r), dtype=np.int64)
    for i in range(units.shape[0]):
        left = False
        for k in range(ia.size):
            n = 0
            for t in range(topics):
                d[n] = units[i, t, ia[k]] - units[i, t, ib[k]]
                n += abs(d[n]) > SLACK
            p[i, k] = all_flips(d, n) if n <= EXACT_TOPICS else np.nan
            left = left or n > EXACT_TOPICS
        if left:
            sums = units[i].sum(axis=0)
            for a in range(r):
                for b in range(r):
                    target[a, b] = abs(sums[a] - sums[b]) - SLACK * topics
            counts = sign_flips(units[i], target, keys[i], n_resamples)
            for k in range(ia.size):
                if math.isnan(p[i, k]):
                    p[i, k] = (counts[ia[k], ib[k]] + 1) / (n_resamples + 1)


@njit(cache=True, nogil=True)
def as_large(z: Floats, t: Floats, counts: Floats, found: Ints) -> None:
    """Add to `found`, pair by pair, the bootstrap samples of topics with |t*| ≥ |t|.

    z is (T, P); row i of `counts` says how often sample i has each topic. Samples are recentred by the mean of their
    means (J15 Algorithm 1); nothing is divided by their spread, which may be 0.
    """
    topics, pairs = z.shape
    drawn = counts.sum(axis=0) / (counts.shape[0] * topics)
    centred = np.empty((topics, TILE))
    squares = np.empty((topics, TILE))
    shift = np.empty(TILE)
    mean = np.empty(TILE)
    square = np.empty(TILE)
    for start in range(0, pairs, TILE):
        width = min(TILE, pairs - start)
        for k in range(width):
            centre = z[:, start + k].mean()
            shift[k] = 0.0
            for u in range(topics):
                centred[u, k] = z[u, start + k] - centre
                squares[u, k] = centred[u, k] ** 2
                shift[k] += drawn[u] * centred[u, k]
        for i in range(counts.shape[0]):
            for k in range(width):
                mean[k] = 0.0
                square[k] = 0.0
            for u in range(topics):
                share = counts[i, u] / topics
                if share > 0.0:
                    for k in range(width):
                        mean[k] += share * centred[u, k]
                        square[k] += share * squares[u, k]
            for k in range(width):
                variance = max(square[k] - mean[k] * mean[k], 0.0) / (topics - 1)
                away = mean[k] - shift[k]
                found[start + k] += away * away >= t[start + k] * t[start + k] * variance


@njit(cache=True, nogil=True)
def bootstrap(
    y: Floats, coarse: Floats, ia: Ints, ib: Ints, t: Floats, keys: Words, n_resamples: int, found: Ints
) -> None:
    """Bootstrap samples with |t*| ≥ |t| for every pair of every table."""
    z = np.empty((y.shape[1], ia.size))
    for i in range(y.shape[0]):
        topic_differences(y[i], coarse[i], ia, ib, z)
        counts = topic_counts(y.shape[1], keys[i], 0, n_resamples)
        as_large(z, t[i], counts, found[i])


@njit(cache=True, nogil=True)
def pooled_bootstrap(
    y: Floats, ia: Ints, ib: Ints, t: Floats, keys: Words, n_resamples: int, found: Ints
) -> None:
    """J15 Algorithm 2: samples of every instance with |t*| ≥ |t|; y is (B, M, T, R) and t (B, M, P).

    Differences of an instance that are all alike are certain either way.
    """
    instances, topics = y.shape[1], y.shape[2]
    z = np.empty((topics, ia.size))
    one = np.empty(ia.size, dtype=np.int64)
    for i in range(y.shape[0]):
        for m in range(instances):
            topic_differences(y[i, m], 0.0, ia, ib, z)
            counts = topic_counts(topics, keys[i], m * n_resamples, n_resamples)
            one[:] = 0
            as_large(z, t[i, m], counts, one)
            for k in range(ia.size):
                if np.any(z[:, k] != z[0, k]):
                    found[i, k] += one[k]
                elif t[i, m, k] == 0.0:
                    found[i, k] += n_resamples


@njit(cache=True, nogil=True)
def ranges(units: Ints, keys: Words, n_resamples: int, out: Ints) -> None:
    """(B, n_resamples) ranges of sums over systems shuffled within topics."""
    for i in range(units.shape[0]):
        out[i] = permuted_ranges(units[i], keys[i], n_resamples)
