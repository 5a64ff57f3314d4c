"""Resampling over topics, compiled: all pairs of systems in one pass, every replicate from (seed, index) alone.

Scores come as whole numbers of a unit far below their precision, so that sums are exact and "at least as large"
means it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from shardwise.core.arrays import Floats, Ints, Words

SLACK = 2  # units a topic by which rounding may part two equal sums
EXACT_TOPICS = 20  # up to this many non-zero differences all sign flips are listed
EXACT_RANKS = 50  # up to this many non-zero differences the law of the rank sum is exact

Counts = npt.NDArray[np.int64]


def key_of(seed: int) -> np.uint64:
    """The 64 bits from which a seed's replicates are derived."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


@njit(cache=True, nogil=True)
def mix(x: np.uint64) -> np.uint64:
    """Steele, Lea & Flood's (2014) 64-bit finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def start(key: np.uint64, replicate: int, state: Words) -> None:
    """Put the state of a replicate's random numbers where (key, replicate) says."""
    state[0] = mix(key ^ mix(np.uint64(replicate) + np.uint64(0x9E3779B97F4A7C15)))


@njit(cache=True, nogil=True)
def next_word(state: Words) -> np.uint64:
    """Draw 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return mix(state[0])


@njit(cache=True, nogil=True)
def below(n: int, state: Words) -> int:
    """A whole number from 0 to n - 1."""
    return int(((next_word(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def sign_flips(y: Ints, target: Ints, key: np.uint64, n_resamples: int) -> Counts:
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
def all_sign_flips(d: Ints, n: int) -> float:
    """Exact two-sided p-value of a mean difference under all 2^n flips of the first n, non-zero, differences.

    One sign stays, for the other half mirrors it; the rest go through in Gray-code order, one change a step.
    """
    if n == 0:
        return 1.0
    total = 0
    for k in range(n):
        total += d[k]
    target = abs(total) - SLACK * n
    sign = np.ones(n, dtype=np.int64)
    count = 1
    for step in range(1, 1 << (n - 1)):
        k = 0
        while not (step >> k) & 1:
            k += 1
        total -= 2 * sign[k] * d[k]
        sign[k] = -sign[k]
        count += abs(total) >= target
    return count / (1 << (n - 1))


@njit(cache=True, nogil=True)
def exact_flips(y: Ints, ia: Ints, ib: Ints) -> Floats:
    """Exact p-values of the pairs with few enough non-zero differences, NaN for the others."""
    out = np.empty(ia.size)
    d = np.empty(y.shape[0], dtype=np.int64)
    for k in range(ia.size):
        n = 0
        for t in range(y.shape[0]):
            d[n] = y[t, ia[k]] - y[t, ib[k]]
            n += abs(d[n]) > SLACK
        out[k] = all_sign_flips(d, n) if n <= EXACT_TOPICS else np.nan
    return out


@njit(cache=True, nogil=True)
def topic_counts(topics: int, key: np.uint64, first: int, n: int) -> Floats:
    """(n, T) how often each topic was drawn in the bootstrap samples first … first + n - 1."""
    counts = np.zeros((n, topics))
    state = np.empty(1, dtype=np.uint64)
    for i in range(n):
        start(key, first + i, state)
        for _ in range(topics):
            counts[i, below(topics, state)] += 1.0
    return counts


@njit(cache=True, nogil=True)
def count_as_large(
    mean: Floats, squares: Floats, shift: Floats, t: Floats, topics: int, counts: Counts
) -> None:
    """Add to counts, pair by pair, the samples with |t*| >= |t|, from their means and mean squares.

    The comparison is free of divisions, so that samples without spread need no special care.
    """
    for i in range(mean.shape[0]):
        for k in range(mean.shape[1]):
            variance = max(squares[i, k] - mean[i, k] * mean[i, k], 0.0) / (topics - 1)
            away = mean[i, k] - shift[k]
            counts[k] += away * away >= t[k] * t[k] * variance


@njit(cache=True, nogil=True)
def permuted_ranges(y: Ints, key: np.uint64, n_resamples: int) -> Ints:
    """(B,) largest minus smallest sum of scores when systems are shuffled within every topic (Carterette 2012)."""
    topics, r = y.shape
    out = np.empty(n_resamples, dtype=np.int64)
    state = np.empty(1, dtype=np.uint64)
    row = np.empty(r, dtype=np.int64)
    sums = np.empty(r, dtype=np.int64)
    for i in range(n_resamples):
        start(key, i, state)
        for a in range(r):
            sums[a] = 0
        for t in range(topics):
            for a in range(r):
                row[a] = y[t, a]
            for a in range(r - 1, -1, -1):
                b = below(a + 1, state)
                sums[a] += row[b]
                row[b] = row[a]
        high = low = sums[0]
        for a in range(1, r):
            high = max(high, sums[a])
            low = min(low, sums[a])
        out[i] = high - low
    return out


@njit(cache=True, nogil=True)
def signed_ranks(d: Ints, statistic: Floats, p: Floats, z: Floats) -> None:
    """Wilcoxon's signed ranks: the smaller rank sum, its exact p-value for few topics, else its normal score z.

    `d` is (pairs, T), each row in ascending order of size. Zero differences are left out, tied ones share their mean
    rank; the exact law is that of the ranks as tied. The normal score has the tie-corrected variance and no
    correction for continuity.
    """
    topics = d.shape[1]
    twice = np.empty(topics, dtype=np.int64)  # doubled mean ranks, whole numbers
    for k in range(d.shape[0]):
        zeros = 0
        while zeros < topics and d[k, zeros] == 0:
            zeros += 1
        n = topics - zeros
        ties = 0.0
        plus = 0
        first = zeros
        while first < topics:
            last = first
            while last + 1 < topics and abs(d[k, last + 1]) == abs(d[k, first]):
                last += 1
            for m in range(first, last + 1):
                twice[m - zeros] = first + last + 2 - 2 * zeros
                if d[k, m] > 0:
                    plus += twice[m - zeros]
            width = last - first + 1
            ties += width**3 - width
            first = last + 1
        smaller = min(plus, n * (n + 1) - plus)
        statistic[k] = smaller / 2
        z[k] = 0.0
        if n <= EXACT_RANKS:
            p[k] = min(1.0, 2.0 * _rank_sum_cdf(twice[:n], smaller))
        else:
            variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48
            z[k] = (n * (n + 1) / 4 - smaller / 2) / np.sqrt(variance)
            p[k] = np.nan


@njit(cache=True, nogil=True)
def _rank_sum_cdf(ranks: Ints, w: int) -> float:
    """P(sum of a random half-chance subset of the ranks <= w)."""
    share = np.zeros(w + 1)
    share[0] = 1.0
    for rank in ranks:
        for s in range(w, -1, -1):
            share[s] = 0.5 * (share[s] + (share[s - rank] if s >= rank else 0.0))
    return float(share.sum())
