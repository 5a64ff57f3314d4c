"""Classic tests on topics: all pairs of many tables in one pass.

Tables are (B, T, R), pairs (a, b) index systems, results are (B, P). `coarse` is, for every pair of every table, the
step to which differences are rounded so that ties show. Where sums must be exact, scores come as whole numbers of a
unit far below their precision, so that "at least as large" means it.
"""

from libc.math cimport NAN, erfc, exp2, fabs, floor, isnan, log2, rint, sqrt
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from shardwise.stats.resampling cimport draw_below, next_word, start_state

from shardwise.stats.resampling import topic_counts


cdef extern from "flips.h" nogil:
    void add_row(int64_t* sums, const int64_t* row, int64_t sign, int64_t count)
    void add_scores(double* sums, const double* row, double sign, int64_t count)
    void count_reached(int64_t one, const int64_t* sums, const int64_t* target, int64_t* counts, int64_t count)
    void count_as_large(
        const double* mean,
        const double* square,
        const double* shift,
        const double* squared_t,
        double df,
        int64_t* found,
        int64_t count,
    )


cdef enum:
    # units a topic by which rounding may part two equal sums
    SLACK = 2
    # up to this many non-zero differences all sign flips are listed
    MOST_LISTED = 20
    # up to this many non-zero differences the distribution of the rank sum is exact
    MOST_RANKED = 50
    # pairs whose differences stay in the cache together
    TILE = 256

EXACT_TOPICS = MOST_LISTED


cdef inline int64_t magnitude(int64_t x) noexcept nogil:
    """Absolute value."""
    return -x if x < 0 else x


cdef inline double power_near(double coarse) noexcept nogil:
    """The power of two near a step, by which differences are divided so that their squares are numbers."""
    return exp2(floor(log2(coarse)))


cdef void fill_differences(
    const double* y,
    int64_t systems,
    const double* coarse,
    const int64_t[::1] ia,
    const int64_t[::1] ib,
    double[:, ::1] z,
) noexcept nogil:
    """(T, P) differences per topic of one table, those of mere rounding set to 0; no coarse: all are kept."""
    cdef int64_t t, k
    cdef double d
    for t in range(z.shape[0]):
        for k in range(ia.shape[0]):
            d = y[t * systems + ia[k]] - y[t * systems + ib[k]]
            z[t, k] = 0.0 if coarse is not NULL and fabs(d) <= 0.5 * coarse[k] else d


def means_and_errors(
    const double[:, :, ::1] y not None,
    const double[:, ::1] coarse not None,
    const int64_t[::1] ia not None,
    const int64_t[::1] ib not None,
    double[:, ::1] mean not None,
    double[:, ::1] se not None,
):
    """Fill in the mean of the differences of every pair and sd / sqrt(T)."""
    cdef int64_t topics = y.shape[1], pairs = ia.shape[0], i, k, t
    cdef double[:, ::1] z = np.empty((topics, pairs))
    cdef double[::1] unit = np.empty(pairs)
    cdef double away
    if pairs == 0 or topics == 0:
        return
    with nogil:
        for i in range(y.shape[0]):
            fill_differences(&y[i, 0, 0], y.shape[2], &coarse[i, 0], ia, ib, z)
            for k in range(pairs):
                mean[i, k] = 0.0
                se[i, k] = 0.0
                unit[k] = power_near(coarse[i, k])
            for t in range(topics):
                for k in range(pairs):
                    mean[i, k] += z[t, k]
            for k in range(pairs):
                mean[i, k] /= topics
            for t in range(topics):
                for k in range(pairs):
                    away = (z[t, k] - mean[i, k]) / unit[k]
                    se[i, k] += away * away
            for k in range(pairs):
                se[i, k] = unit[k] * sqrt(se[i, k] / (topics - 1) / topics)


def wins(
    const double[:, :, ::1] y not None,
    const double[:, ::1] coarse not None,
    const int64_t[::1] ia not None,
    const int64_t[::1] ib not None,
    int64_t[:, ::1] won not None,
    int64_t[:, ::1] lost not None,
):
    """Count topics won and lost by the first system of every pair."""
    cdef int64_t i, t, k
    cdef double d
    with nogil:
        for i in range(y.shape[0]):
            for t in range(y.shape[1]):
                for k in range(ia.shape[0]):
                    d = y[i, t, ia[k]] - y[i, t, ib[k]]
                    if fabs(d) > 0.5 * coarse[i, k]:
                        won[i, k] += d > 0
                        lost[i, k] += d < 0


def rank_sum_laws():
    """Return P(W ≤ w) of the signed-rank sum without ties, for n = 0 … MOST_RANKED and all w."""
    cdef int64_t most = MOST_RANKED * (MOST_RANKED + 1) // 2, n, w
    every = np.ones((MOST_RANKED + 1, most + 1))
    cdef double[:, ::1] distributions = every
    cdef double[::1] share = np.zeros(most + 1)
    cdef double total
    share[0] = 1.0
    for n in range(1, MOST_RANKED + 1):
        for w in range(n * (n + 1) // 2, -1, -1):
            share[w] = 0.5 * (share[w] + (share[w - n] if w >= n else 0.0))
        total = 0.0
        for w in range(n * (n + 1) // 2 + 1):
            total += share[w]
            distributions[n, w] = total
    return every


cdef double rank_sum_cdf(const int64_t* ranks, int64_t count, int64_t w, double* share) noexcept nogil:
    """P(sum of a random half-chance subset of the ranks ≤ w); ``share`` has room for w + 1."""
    cdef int64_t k, s
    cdef double total = 0.0
    for s in range(w + 1):
        share[s] = 0.0
    share[0] = 1.0
    for k in range(count):
        for s in range(w, -1, -1):
            share[s] = 0.5 * (share[s] + (share[s - ranks[k]] if s >= ranks[k] else 0.0))
    for s in range(w + 1):
        total += share[s]
    return total


cdef void sort_by_size(int64_t* d, int64_t n, int64_t* spare) noexcept nogil:
    """Sort by absolute value: stretches of 16 by insertion, then merged."""
    cdef int64_t low, middle, high, i, j, k, value, width
    cdef int64_t* source = d
    cdef int64_t* target = spare
    low = 0
    while low < n:
        for i in range(low + 1, min(low + 16, n)):
            value = d[i]
            j = i
            while j > low and magnitude(d[j - 1]) > magnitude(value):
                d[j] = d[j - 1]
                j -= 1
            d[j] = value
        low += 16
    width = 16
    while width < n:
        low = 0
        while low < n:
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and magnitude(source[i]) <= magnitude(source[j])):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
            low = high
        source, target = target, source
        width *= 2
    if source is not d:
        memcpy(d, source, n * sizeof(int64_t))


cdef double signed_rank(
    const int64_t* d, int64_t n, const double[:, ::1] distributions, int64_t* twice, double* share, double* p
) noexcept nogil:
    """Return the smaller rank sum of differences in ascending order of size; put its two-sided p-value into ``p``.

    Zero differences are left out, tied ones share their mean rank. For few topics the distribution is exact, that of
    the ranks as tied; else it is normal, with the tie-corrected variance and no correction for continuity. ``twice`` is
    room for the doubled mean ranks, which are whole numbers.
    """
    cdef int64_t plus = 0, first = 0, last, m, width, smaller
    cdef double ties = 0.0, variance, z, at_most
    while n > 0 and d[0] == 0:
        d += 1
        n -= 1
    while first < n:
        last = first
        while last + 1 < n and magnitude(d[last + 1]) == magnitude(d[first]):
            last += 1
        for m in range(first, last + 1):
            twice[m] = first + last + 2
            if d[m] > 0:
                plus += twice[m]
        width = last - first + 1
        ties += <double>(width * width * width - width)
        first = last + 1
    smaller = min(plus, n * (n + 1) - plus)
    if n > MOST_RANKED:
        variance = <double>(n * (n + 1) * (2 * n + 1)) / 24.0 - ties / 48.0
        z = (<double>(n * (n + 1)) / 4.0 - <double>smaller / 2.0) / sqrt(variance)
        p[0] = erfc(z / sqrt(2.0))
    else:
        at_most = distributions[n, smaller // 2] if ties == 0.0 else rank_sum_cdf(twice, n, smaller, share)
        p[0] = min(1.0, 2.0 * at_most)
    return <double>smaller / 2.0


def wilcoxon(
    const double[:, :, ::1] y not None,
    const double[:, ::1] coarse not None,
    const int64_t[::1] ia not None,
    const int64_t[::1] ib not None,
    const double[:, ::1] distributions not None,
    double[:, ::1] smaller not None,
    double[:, ::1] p not None,
):
    """Fill in smaller rank sums and two-sided p-values of signed ranks; `distributions` are those without ties."""
    cdef int64_t topics = y.shape[1], i, k, t
    cdef int64_t[::1] d = np.empty(topics + 1, dtype=np.int64), spare = np.empty(topics + 1, dtype=np.int64)
    cdef double[::1] share = np.empty(MOST_RANKED * (MOST_RANKED + 1) + 1)
    with nogil:
        for i in range(y.shape[0]):
            for k in range(ia.shape[0]):
                for t in range(topics):
                    d[t] = <int64_t>rint((y[i, t, ia[k]] - y[i, t, ib[k]]) / coarse[i, k])
                sort_by_size(&d[0], topics, &spare[0])
                smaller[i, k] = signed_rank(&d[0], topics, distributions, &spare[0], &share[0], &p[i, k])


cdef int64_t list_sums(const int64_t* d, int64_t count, int64_t* out, int64_t* spare) noexcept nogil:
    """All sums of ±d[0] … ±d[count - 1], in ascending order; return how many."""
    cdef int64_t k, size = 1, i, j, m, step
    out[0] = 0
    for k in range(count):
        # both halves are in order, so that they merge
        step = magnitude(d[k])
        i, j = 0, 0
        for m in range(2 * size):
            if j >= size or (i < size and out[i] - step <= out[j] + step):
                spare[m] = out[i] - step
                i += 1
            else:
                spare[m] = out[j] + step
                j += 1
        size *= 2
        memcpy(out, spare, size * sizeof(int64_t))
    return size


cdef double share_of_flips(const int64_t* d, int64_t n, int64_t[:, ::1] room) noexcept nogil:
    """Share of all 2^n sign flips with a sum at least as large: those of one half meet those of the other."""
    cdef int64_t target = 0, t, n_first, n_second, j, i, count = 0
    for t in range(n):
        target += d[t]
    target = magnitude(target) - SLACK * n
    if target <= 0:
        return 1.0
    n_first = list_sums(d, n // 2, &room[0, 0], &room[2, 0])
    n_second = list_sums(d + n // 2, n - n // 2, &room[1, 0], &room[2, 0])
    j = n_second
    for i in range(n_first):
        while j > 0 and room[0, i] + room[1, j - 1] >= target:
            j -= 1
        count += n_second - j
    # the sums lie evenly about 0
    return 2.0 * <double>count / <double>(<int64_t>1 << n)


def all_flips(const int64_t[::1] d not None, int64_t n):
    """Return the share of all sign flips of the first n differences, 20 at most, with a sum at least as large."""
    if n > MOST_LISTED:
        raise ValueError(f"{n} differences are too many to list all flips")
    cdef int64_t[:, ::1] room = np.empty((3, 1 << (MOST_LISTED // 2 + 1)), dtype=np.int64)
    return share_of_flips(&d[0], n, room) if n else 1.0


cdef void count_flips_of_sums(
    const int64_t[:, ::1] y,
    const int64_t[:, ::1] target,
    uint64_t key,
    int64_t n_resamples,
    int64_t[::1] flipped,
    int64_t[:, ::1] counts,
) noexcept nogil:
    """Count, for each pair a < b, the flips whose difference of sums is at least the target, the observed one.

    Swapping the two scores of a topic at random is a sign flip of their difference; as the flipped sum of differences
    is the difference of flipped sums, one pass over the systems serves all pairs.
    """
    cdef int64_t topics = y.shape[0], r = y.shape[1], i, t, a
    cdef uint64_t state, word = 0
    for i in range(n_resamples):
        state = start_state(key, i)
        flipped[:] = 0
        for t in range(topics):
            if t % 64 == 0:
                word = next_word(&state)
            add_row(&flipped[0], &y[t, 0], 1 - 2 * <int64_t>(word & 1), r)
            word >>= 1
        for a in range(r - 1):
            count_reached(flipped[a], &flipped[a + 1], &target[a, a + 1], &counts[a, a + 1], r - a - 1)


def sign_flips(
    const int64_t[:, ::1] y not None, const int64_t[:, ::1] target not None, uint64_t key, int64_t n_resamples
):
    """Return (R, R) counts of flips whose difference of sums is at least the target, for each pair a < b."""
    counts = np.zeros((y.shape[1], y.shape[1]), dtype=np.int64)
    cdef int64_t[:, ::1] out = counts
    cdef int64_t[::1] flipped = np.empty(y.shape[1], dtype=np.int64)
    with nogil:
        count_flips_of_sums(y, target, key, n_resamples, flipped, out)
    return counts


def randomization(
    const int64_t[:, :, ::1] units not None,
    const int64_t[::1] ia not None,
    const int64_t[::1] ib not None,
    const uint64_t[::1] keys not None,
    int64_t n_resamples,
    double[:, ::1] p not None,
):
    """Fisher's randomization test: all flips of pairs with few differences, else a sample of flips."""
    cdef int64_t topics = units.shape[1], r = units.shape[2], i, k, t, n, a, b
    cdef int64_t[::1] d = np.empty(topics + 1, dtype=np.int64), sums = np.empty(r, dtype=np.int64)
    cdef int64_t[:, ::1] room = np.empty((3, 1 << (MOST_LISTED // 2 + 1)), dtype=np.int64)
    cdef int64_t[:, ::1] target = np.empty((r, r), dtype=np.int64), counts = np.empty((r, r), dtype=np.int64)
    cdef bint rest
    with nogil:
        for i in range(units.shape[0]):
            rest = False
            for k in range(ia.shape[0]):
                n = 0
                for t in range(topics):
                    d[n] = units[i, t, ia[k]] - units[i, t, ib[k]]
                    n += magnitude(d[n]) > SLACK
                p[i, k] = share_of_flips(&d[0], n, room) if n <= MOST_LISTED else NAN
                rest = rest or n > MOST_LISTED
            if not rest:
                continue
            sums[:] = 0
            for t in range(topics):
                for a in range(r):
                    sums[a] += units[i, t, a]
            for a in range(r):
                for b in range(r):
                    target[a, b] = magnitude(sums[a] - sums[b]) - SLACK * topics
            counts[:] = 0
            count_flips_of_sums(units[i], target, keys[i], n_resamples, sums, counts)
            for k in range(ia.shape[0]):
                if isnan(p[i, k]):
                    # counted once a pair
                    a, b = min(ia[k], ib[k]), max(ia[k], ib[k])
                    p[i, k] = <double>(counts[a, b] + 1) / <double>(n_resamples + 1)


cdef int count_large(double[:, ::1] z, const double[::1] t, counts, int64_t[::1] found) except -1:
    """Add to `found`, pair by pair, the bootstrap samples of topics with |t*| ≥ |t|.

    z is (T, P); row i of `counts` says how often sample i has each topic. Samples are recentred by the mean of their
    means (J15 Algorithm 1); nothing is divided by their spread, which may be 0. Means and mean squares of a tile of
    pairs and samples are two matrix products.
    """
    cdef int64_t topics = z.shape[0], pairs = z.shape[1], begin, width, k, u, i, rows
    cdef double[::1] drawn = counts.sum(axis=0) / (counts.shape[0] * topics)
    cdef double[::1] shift = np.empty(TILE), squared_t = np.empty(TILE)
    cdef double[:, ::1] centred, squares, mean, square
    cdef double centre
    shares = counts / topics
    for begin in range(0, pairs, TILE):
        width = min(<int64_t>TILE, pairs - begin)
        centred_tile, squares_tile = np.empty((topics, width)), np.empty((topics, width))
        centred, squares = centred_tile, squares_tile
        with nogil:
            for k in range(width):
                centre = 0.0
                for u in range(topics):
                    centre += z[u, begin + k]
                centre /= topics
                shift[k] = 0.0
                squared_t[k] = t[begin + k] * t[begin + k]
                for u in range(topics):
                    centred[u, k] = z[u, begin + k] - centre
                    squares[u, k] = centred[u, k] * centred[u, k]
                    shift[k] += drawn[u] * centred[u, k]
        for first in range(0, len(shares), TILE):
            block = shares[first : first + TILE]
            rows = len(block)
            mean, square = np.dot(block, centred_tile), np.dot(block, squares_tile)
            with nogil:
                for i in range(rows):
                    count_as_large(
                        &mean[i, 0], &square[i, 0], &shift[0], &squared_t[0], topics - 1.0, &found[begin], width
                    )
    return 0


def bootstrap(
    const double[:, :, ::1] y not None,
    const double[:, ::1] coarse not None,
    const int64_t[::1] ia not None,
    const int64_t[::1] ib not None,
    const double[:, ::1] t not None,
    const uint64_t[::1] keys not None,
    int64_t n_resamples,
    int64_t[:, ::1] found not None,
):
    """Count bootstrap samples with |t*| ≥ |t| for every pair of every table."""
    cdef int64_t i, k, topic, topics = y.shape[1]
    cdef double[:, ::1] z = np.empty((topics, ia.shape[0]))
    cdef double unit
    if ia.shape[0] == 0:
        return
    for i in range(y.shape[0]):
        with nogil:
            fill_differences(&y[i, 0, 0], y.shape[2], &coarse[i, 0], ia, ib, z)
            for k in range(ia.shape[0]):
                unit = power_near(coarse[i, k])
                for topic in range(topics):
                    z[topic, k] /= unit
        count_large(z, t[i], topic_counts(topics, keys[i], 0, n_resamples), found[i])


def pooled_bootstrap(
    const double[:, :, :, ::1] y not None,
    const int64_t[::1] ia not None,
    const int64_t[::1] ib not None,
    const double[:, :, ::1] t not None,
    const uint64_t[::1] keys not None,
    int64_t n_resamples,
    int64_t[:, ::1] found not None,
):
    """J15 Algorithm 2: count samples of every instance with |t*| ≥ |t|; y is (B, M, T, R) and t (B, M, P).

    Differences of an instance that are all alike are certain either way.
    """
    cdef int64_t topics = y.shape[2], i, m, k, u
    cdef double[:, ::1] z = np.empty((topics, ia.shape[0]))
    counted = np.empty(ia.shape[0], dtype=np.int64)
    cdef int64_t[::1] as_large = counted
    cdef bint alike
    if ia.shape[0] == 0:
        return
    for i in range(y.shape[0]):
        for m in range(y.shape[1]):
            fill_differences(&y[i, m, 0, 0], y.shape[3], NULL, ia, ib, z)
            counted[:] = 0
            count_large(z, t[i, m], topic_counts(topics, keys[i], m * n_resamples, n_resamples), as_large)
            for k in range(ia.shape[0]):
                alike = True
                for u in range(topics):
                    alike = alike and z[u, k] == z[0, k]
                if not alike:
                    found[i, k] += as_large[k]
                elif t[i, m, k] == 0.0:
                    found[i, k] += n_resamples


def ranges(
    const int64_t[:, :, ::1] units not None,
    const uint64_t[::1] keys not None,
    int64_t n_resamples,
    int64_t[:, ::1] out not None,
):
    """Fill in (B, n_resamples) largest less smallest sum when systems are shuffled within topics (Carterette 2012)."""
    cdef int64_t topics = units.shape[1], r = units.shape[2], table, i, t, a, b, least, most
    cdef int64_t[::1] row = np.empty(r, dtype=np.int64), sums = np.empty(r, dtype=np.int64)
    cdef uint64_t state
    with nogil:
        for table in range(units.shape[0]):
            for i in range(n_resamples):
                state = start_state(keys[table], i)
                sums[:] = 0
                for t in range(topics):
                    for a in range(r):
                        row[a] = units[table, t, a]
                    for a in range(r - 1, -1, -1):
                        b = draw_below(a + 1, &state)
                        sums[a] += row[b]
                        row[b] = row[a]
                least, most = sums[0], sums[0]
                for a in range(1, r):
                    least, most = min(least, sums[a]), max(most, sums[a])
                out[table, i] = most - least


def count_flips(
    const double[:, ::1] d not None,
    const int64_t[::1] ia not None,
    const int64_t[::1] ib not None,
    const double[::1] weight not None,
    const double[::1] target not None,
    uint64_t key,
    int64_t first,
    int64_t[::1] own not None,
    int64_t[::1] falling not None,
    double[::1] maxima not None,
):
    """Count the flips in which u* of a pair, and the largest u* of it and all later pairs, reach its target.

    d is (T, R) without system means. As the flipped sum of differences is the difference of flipped sums, one pass over
    the systems serves all pairs. Flip i depends on (key, i) only; the largest u* of flip first + i goes to maxima[i].
    """
    cdef int64_t topics = d.shape[0], r = d.shape[1], i, t, k
    cdef double[::1] flipped = np.empty(r)
    cdef uint64_t state, word = 0
    cdef double away, u, largest
    with nogil:
        for i in range(maxima.shape[0]):
            state = start_state(key, first + i)
            flipped[:] = 0.0
            for t in range(topics):
                if t % 64 == 0:
                    word = next_word(&state)
                add_scores(&flipped[0], &d[t, 0], 1.0 - 2.0 * <double>(word & 1), r)
                word >>= 1
            largest = 0.0
            for k in range(ia.shape[0] - 1, -1, -1):
                away = flipped[ia[k]] - flipped[ib[k]]
                u = away * away * weight[k]
                own[k] += u >= target[k]
                largest = max(largest, u)
                falling[k] += largest >= target[k]
            maxima[i] = largest
