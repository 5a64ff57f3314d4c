"""Classic tests on topics, compiled: all pairs of many tables in one pass.

Tables are (B, T, R), pairs (a, b) index systems, results are (B, P). `coarse` is, for every pair of every table, the
step to which differences are rounded so that ties show. Where sums must be exact, scores come as whole numbers of a
unit far below their precision, so that "at least as large" means it.
"""

from __future__ import annotations

import math

import numpy as np

from shardwise.core.arrays import Floats, Ints, Words
from shardwise.core.compiled import njit
from shardwise.stats.resampling import below, next_word, start, topic_counts

SLACK = 2  # units a topic by which rounding may part two equal sums
EXACT_TOPICS = 20  # up to this many non-zero differences all sign flips are listed
EXACT_RANKS = 50  # up to this many non-zero differences the law of the rank sum is exact
TILE = 256  # pairs whose differences stay in the cache together


@njit(cache=True, nogil=True)
def topic_differences(y: Floats, coarse: Floats, ia: Ints, ib: Ints, z: Floats) -> None:
    """(T, P) differences per topic of one table, those of mere rounding set to 0."""
    for t in range(y.shape[0]):
        for k in range(ia.size):
            d = y[t, ia[k]] - y[t, ib[k]]
            z[t, k] = 0.0 if abs(d) <= 0.5 * coarse[k] else d


@njit(cache=True, nogil=True)
def scale(coarse: float) -> float:
    """The power of two near a step, by which differences are divided so that their squares are numbers."""
    return float(2.0 ** math.floor(math.log2(coarse)))


@njit(cache=True, nogil=True)
def means_and_errors(y: Floats, coarse: Floats, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> None:
    """Mean of the differences of every pair and sd / sqrt(T)."""
    topics = y.shape[1]
    z = np.empty((topics, ia.size))
    unit = np.empty(ia.size)
    for i in range(y.shape[0]):
        topic_differences(y[i], coarse[i], ia, ib, z)
        for k in range(ia.size):
            mean[i, k] = 0.0
            se[i, k] = 0.0
            unit[k] = scale(coarse[i, k])
        for t in range(topics):
            for k in range(ia.size):
                mean[i, k] += z[t, k]
        for k in range(ia.size):
            mean[i, k] /= topics
        for t in range(topics):
            for k in range(ia.size):
                away = (z[t, k] - mean[i, k]) / unit[k]
                se[i, k] += away * away
        for k in range(ia.size):
            se[i, k] = unit[k] * math.sqrt(se[i, k] / (topics - 1) / topics)


@njit(cache=True, nogil=True)
def wins(y: Floats, coarse: Floats, ia: Ints, ib: Ints, won: Ints, lost: Ints) -> None:
    """Topics won and lost by the first system of every pair."""
    for i in range(y.shape[0]):
        for t in range(y.shape[1]):
            for k in range(ia.size):
                d = y[i, t, ia[k]] - y[i, t, ib[k]]
                if abs(d) > 0.5 * coarse[i, k]:
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
def _rank_sum_cdf(ranks: Ints, w: int) -> float:
    """P(sum of a random half-chance subset of the ranks <= w)."""
    share = np.zeros(w + 1)
    share[0] = 1.0
    for rank in ranks:
        for s in range(w, -1, -1):
            share[s] = 0.5 * (share[s] + (share[s - rank] if s >= rank else 0.0))
    return float(share.sum())


@njit(cache=True, nogil=True)
def signed_rank(d: Ints, laws: Floats) -> tuple[float, float]:
    """Smaller rank sum of differences in ascending order of size, and its two-sided p-value.

    Zero differences are left out, tied ones share their mean rank. For few topics the law is exact, that of the ranks
    as tied; else it is normal, with the tie-corrected variance and no correction for continuity.
    """
    zeros = 0
    while zeros < d.size and d[zeros] == 0:
        zeros += 1
    d = d[zeros:]
    n = d.size
    twice = np.empty(n, dtype=np.int64)  # doubled mean ranks, whole numbers
    ties, plus, first = 0.0, 0, 0
    while first < n:
        last = first
        while last + 1 < n and abs(d[last + 1]) == abs(d[first]):
            last += 1
        for m in range(first, last + 1):
            twice[m] = first + last + 2
            if d[m] > 0:
                plus += twice[m]
        width = last - first + 1
        ties += width**3 - width
        first = last + 1
    smaller = min(plus, n * (n + 1) - plus)
    if n > EXACT_RANKS:
        variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48
        z = (n * (n + 1) / 4 - smaller / 2) / math.sqrt(variance)
        return smaller / 2, math.erfc(z / math.sqrt(2.0))
    at_most = laws[n, smaller // 2] if ties == 0.0 else _rank_sum_cdf(twice, smaller)
    return smaller / 2, min(1.0, 2.0 * at_most)


@njit(cache=True, nogil=True)
def wilcoxon(y: Floats, coarse: Floats, ia: Ints, ib: Ints, laws: Floats, smaller: Floats, p: Floats) -> None:
    """Smaller rank sums and two-sided p-values of signed ranks; `laws` are those without ties."""
    d = np.empty(y.shape[1], dtype=np.int64)
    for i in range(y.shape[0]):
        for k in range(ia.size):
            for t in range(d.size):
                d[t] = np.int64(np.rint((y[i, t, ia[k]] - y[i, t, ib[k]]) / coarse[i, k]))
            smaller[i, k], p[i, k] = signed_rank(d[np.argsort(np.abs(d))], laws)


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
def sign_flips(y: Ints, target: Ints, key: np.uint64, n_resamples: int) -> Ints:
    """(R, R) counts of flips whose difference of sums is at least the target, the observed one, for each pair a < b.

    Swapping the two scores of a topic at random is a sign flip of their difference; as the flipped sum of
    differences is the difference of flipped sums, one pass over the systems serves all pairs.
    """
    topics, r = y.shape
    counts = np.zeros((r, r), dtype=np.int64)
    flipped = np.empty(r, dtype=np.int64)
    state = np.empty(1, dtype=np.uint64)
    for i in range(n_resamples):
        start(key, i, state)
        for a in range(r):
            flipped[a] = 0
        word = np.uint64(0)
        for t in range(topics):
            if t % 64 == 0:
                word = next_word(state)
            sign = np.int64(1) - np.int64(2) * np.int64(word & np.uint64(1))
            word >>= np.uint64(1)
            for a in range(r):
                flipped[a] += sign * y[t, a]
        for a in range(r):
            one = flipped[a]
            for b in range(a + 1, r):
                counts[a, b] += abs(one - flipped[b]) >= target[a, b]
    return counts


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
                    a, b = min(ia[k], ib[k]), max(ia[k], ib[k])  # counted once a pair
                    p[i, k] = (counts[a, b] + 1) / (n_resamples + 1)


@njit(cache=True, nogil=True)
def as_large(z: Floats, t: Floats, counts: Floats, found: Ints) -> None:
    """Add to `found`, pair by pair, the bootstrap samples of topics with |t*| ≥ |t|.

    z is (T, P); row i of `counts` says how often sample i has each topic. Samples are recentred by the mean of their
    means (J15 Algorithm 1); nothing is divided by their spread, which may be 0. Means and mean squares of a tile of
    pairs and samples are two matrix products.
    """
    topics, pairs = z.shape
    shares = counts / topics
    drawn = counts.sum(axis=0) / (counts.shape[0] * topics)
    for begin in range(0, pairs, TILE):
        width = min(TILE, pairs - begin)
        centred = np.empty((topics, width))
        squares = np.empty((topics, width))
        shift = np.zeros(width)
        for k in range(width):
            centre = z[:, begin + k].mean()
            for u in range(topics):
                centred[u, k] = z[u, begin + k] - centre
                squares[u, k] = centred[u, k] ** 2
                shift[k] += drawn[u] * centred[u, k]
        for first in range(0, counts.shape[0], TILE):
            block = shares[first : first + TILE]
            mean = np.dot(block, centred)
            square = np.dot(block, squares)
            for i in range(block.shape[0]):
                for k in range(width):
                    variance = max(square[i, k] - mean[i, k] * mean[i, k], 0.0) / (topics - 1)
                    away = mean[i, k] - shift[k]
                    found[begin + k] += away * away >= t[begin + k] * t[begin + k] * variance


@njit(cache=True, nogil=True)
def bootstrap(
    y: Floats, coarse: Floats, ia: Ints, ib: Ints, t: Floats, keys: Words, n_resamples: int, found: Ints
) -> None:
    """Bootstrap samples with |t*| ≥ |t| for every pair of every table."""
    z = np.empty((y.shape[1], ia.size))
    for i in range(y.shape[0]):
        topic_differences(y[i], coarse[i], ia, ib, z)
        for k in range(ia.size):
            unit = scale(coarse[i, k])
            for topic in range(y.shape[1]):
                z[topic, k] /= unit
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
    exact = np.zeros(ia.size)
    for i in range(y.shape[0]):
        for m in range(instances):
            topic_differences(y[i, m], exact, ia, ib, z)
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
    """(B, n_resamples) largest less smallest sum when systems are shuffled within every topic (Carterette 2012)."""
    topics, r = units.shape[1:]
    state = np.empty(1, dtype=np.uint64)
    row, sums = np.empty(r, dtype=np.int64), np.empty(r, dtype=np.int64)
    for table in range(units.shape[0]):
        y = units[table]
        for i in range(n_resamples):
            start(keys[table], i, state)
            sums[:] = 0
            for t in range(topics):
                for a in range(r):
                    row[a] = y[t, a]
                for a in range(r - 1, -1, -1):
                    b = below(a + 1, state)
                    sums[a] += row[b]
                    row[b] = row[a]
            out[table, i] = sums.max() - sums.min()
