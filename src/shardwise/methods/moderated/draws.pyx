"""Draws of whole tables: every pair's moderated t anew in each of them.

Draw i depends on (key, i) only. Systems are moved to equal means first, so that no pair differs in the scenario that is
drawn from. With w_t the times that topic t was drawn and δ_t a pair's centred differences, a draw needs Σ w δ and
Σ w δ² of each pair. The first is a difference of system means. The second is needed only where t²
can be the largest of the draw so far. As no term of Σ w δ² is negative, the few
topics with the largest δ² bound it from below and t² from above, and nineteen in twenty draws of a pair need no more.
Bounds are in single precision, with room for its rounding; what is compared with them is not. Draws come in blocks, so
that tables of them stay in the processor's cache, and nothing larger than a block is kept.

`count_incomplete` does the same where systems lack topics: each pair on the topics that both have, in the table and in
every draw. A pair is centred by its own mean over its n_k common topics. A draw takes topics of the whole table; the
pair then has n*_k of them, with n*_k in place of T, and s̄²* is the mean of s²*_k over the pooled pairs that have two
topics or more. A draw in which a pair has fewer says nothing of it: t* is 0. Every draw goes twice over the pairs, for
s̄²* is needed before any t*. `count_normal` draws means from their normal limit.
"""

from libc.math cimport INFINITY, fabs, isinf, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from shardwise.stats.resampling cimport draw_below, draw_chi_squared, draw_normal, start_state


cdef extern from "lanes.h" nogil:
    const int BLOCK
    const int LARGEST
    const double SINGLE
    void weigh(
        const double* first, const double* second, int64_t units, const float* weights, double* one, double* other
    )
    double weigh_one(const double* values, const float* counts, int64_t units)
    void bound_gaps(const float* one, const float* other, float slack, float* gap)
    void bound_variances(
        const int32_t* topics,
        const float* squares,
        const float* weights,
        const float* gap,
        const float* common,
        float part,
        float* least,
    )
    void add_variances(const float* one, const float* other, float* least)
    void mark_largest(const float* gap, const float* least, const float* largest, uint8_t* seen)


BLOCK_SIZE = BLOCK
# share of a sum of squares that may be left of it where there is no spread
cdef double ROUNDING = 1e-12
# where no difference is larger, all of its draws are looked at: 2^-40
cdef double LITTLE = 9.094947017729282e-13


cdef struct Noise:
    # a chance effect on each system's mean, as in `shardwise.methods.moderated.statistics`; no systems where there is none
    int64_t systems
    const double* upper
    const double* lower
    const double* upper_df
    const double* lower_df
    const double* size
    bint shared


cdef inline int64_t count_from(const double[::1] values, int64_t size, double least) noexcept nogil:
    """How many of the first values are at least so large."""
    cdef int64_t i, count = 0
    for i in range(size):
        count += values[i] >= least
    return count


cdef void square_gaps(
    const double[:, ::1] z, double floor, int64_t a, int64_t b, double[::1] out
) noexcept nogil:
    """Squared differences of two systems topic by topic, 0 where they are rounding."""
    cdef double gap
    cdef int64_t t
    for t in range(out.shape[0]):
        gap = z[a, t] - z[b, t]
        out[t] = gap * gap if fabs(gap) > floor else 0.0


cdef void draw_effects(const Noise* noise, uint64_t* state, double* effect, double* variance) noexcept nogil:
    """Draw a chance effect on every system's mean, and the variance that one would estimate for it.

    Takes the random numbers of a draw where its topics left off: all effects, then the mean squares.
    """
    cdef int64_t a
    cdef double up = 1.0, down = 1.0
    for a in range(noise.systems):
        effect[a] = sqrt(max(noise.upper[a] - noise.lower[a], 0.0) / noise.size[a]) * draw_normal(state)
    for a in range(noise.systems):
        variance[a] = 0.0
        if noise.upper[a] > noise.lower[a]:
            if a == 0 or not noise.shared:
                up = draw_chi_squared(noise.upper_df[a], state) / noise.upper_df[a]
            if a == 0 and noise.shared:
                down = draw_chi_squared(noise.lower_df[a], state) / noise.lower_df[a]
            if noise.shared:
                variance[a] = max(noise.upper[a] * up - noise.lower[a] * down, 0.0) / noise.size[a]
            else:
                variance[a] = (noise.upper[a] - noise.lower[a]) * up / noise.size[a]


cdef Noise noise_of(
    const double[::1] upper,
    const double[::1] lower,
    const double[::1] upper_df,
    const double[::1] lower_df,
    const double[::1] size,
    bint shared,
) noexcept nogil:
    cdef Noise noise = Noise(size.shape[0], NULL, NULL, NULL, NULL, NULL, shared)
    if noise.systems > 0:
        noise.upper, noise.lower, noise.size = &upper[0], &lower[0], &size[0]
        noise.upper_df, noise.lower_df = &upper_df[0], &lower_df[0]
    return noise


def draw_noise(noise, uint64_t[::1] state not None, double[::1] effect not None, double[::1] variance not None):
    """Draw a chance effect on every system's mean, and the variance that one would estimate for it."""
    cdef Noise c_noise = noise_of(noise.upper, noise.lower, noise.upper_df, noise.lower_df, noise.size, noise.shared)
    draw_effects(&c_noise, &state[0], &effect[0], &variance[0])


def largest_gaps(scenario, const int64_t[::1] ia not None, const int64_t[::1] ib not None):
    """Return the topics with the largest squared differences of each pair (P, LARGEST), and their parts in its variance."""
    cdef const double[:, ::1] z = scenario.z
    cdef double floor = scenario.floor, square
    cdef int64_t topics = z.shape[1], k, t, j
    cdef double part = scenario.share / max(topics * (topics - 1.0), 1.0)
    largest, parts = np.zeros((ia.shape[0], LARGEST), dtype=np.int32), np.zeros((ia.shape[0], LARGEST), np.float32)
    cdef int32_t[:, ::1] at = largest
    cdef float[:, ::1] top = parts
    cdef double[::1] squares = np.empty(topics)
    with nogil:
        for k in range(ia.shape[0]):
            square_gaps(z, floor, ia[k], ib[k], squares)
            for t in range(topics):
                square, j = part * squares[t], LARGEST - 1
                if square > top[k, j]:
                    while j > 0 and square > top[k, j - 1]:
                        at[k, j], top[k, j] = at[k, j - 1], top[k, j - 1]
                        j -= 1
                    at[k, j], top[k, j] = <int32_t>t, <float>square
    return largest, parts


def count_draws(
    scenario, largest, targets, uint64_t key, int64_t first_block, int64_t stop_block, int64_t[::1] falling not None, double[::1] maxima not None
):
    """Add to `falling` the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    cdef const double[:, ::1] z = scenario.z
    cdef double floor = scenario.floor, share = scenario.share, pooling = scenario.pooling
    cdef const double[::1] upper = scenario.noise.upper, lower = scenario.noise.lower, size = scenario.noise.size
    cdef const double[::1] upper_df = scenario.noise.upper_df, lower_df = scenario.noise.lower_df
    cdef Noise noise = noise_of(upper, lower, upper_df, lower_df, size, scenario.noise.shared)
    cdef bint noisy = noise.systems > 0
    cdef const int32_t[:, ::1] large_topics = largest[0]
    cdef const float[:, ::1] large_squares = largest[1]
    cdef const int64_t[::1] ia = targets.ia, ib = targets.ib
    cdef const double[::1] pair_target = targets.pairs
    cdef int64_t systems = z.shape[0], topics = z.shape[1]

    # a block of draws: times that each topic was drawn; means, the same with chance effects, and their variances
    cdef float[:, ::1] counts = np.empty((BLOCK, topics), dtype=np.float32)
    cdef double[:, ::1] means = np.empty((systems, BLOCK))
    cdef double[:, ::1] moved = np.empty((systems, BLOCK))
    cdef double[:, ::1] variances = np.empty((systems, BLOCK))
    # what s̄² adds to the variance of every difference
    cdef double[::1] common = np.empty(BLOCK)
    # the block in single precision; the last axis is the draw
    cdef float[:, ::1] weights = np.empty((topics, BLOCK), dtype=np.float32)
    cdef float[:, ::1] short_means = np.empty((systems, BLOCK), dtype=np.float32)
    cdef float[:, ::1] short_moved = np.empty((systems, BLOCK), dtype=np.float32)
    cdef float[:, ::1] short_variances = np.empty((systems, BLOCK), dtype=np.float32)
    cdef float[::1] short_common = np.empty(BLOCK, dtype=np.float32)
    cdef float[::1] short_peaks = np.empty(BLOCK, dtype=np.float32)
    # room for one pair
    cdef double[::1] squares = np.empty(topics)
    cdef float[::1] gap = np.empty(BLOCK, dtype=np.float32)
    cdef float[::1] least = np.empty(BLOCK, dtype=np.float32)
    cdef uint8_t[::1] seen = np.empty(BLOCK, dtype=np.uint8)
    cdef uint64_t[::1] seen_words = np.asarray(seen).view(np.uint64)
    # room to draw in
    cdef double[:, ::1] values = np.empty((2, topics))
    cdef double[:, ::1] totals = np.empty((2, BLOCK))
    cdef double[::1] effect = np.zeros(systems + 1)
    cdef double[::1] variance = np.zeros(systems + 1)
    cdef double[::1] peaks
    cdef uint64_t state
    cdef int64_t block, drawn, a, b, i, k, t, word
    cdef double top, mean, own, total, difference, v, d, squared, size_of_means
    cdef float slack, part = <float>(share / (topics - 1.0))
    cdef bint squared_gaps

    for block in range(first_block, stop_block):
        drawn = min(<int64_t>BLOCK, maxima.shape[0] - block * BLOCK)
        peaks = maxima[block * BLOCK : block * BLOCK + drawn]
        with nogil:
            # times that topics are drawn; then the chance effects, from the same random numbers
            counts[:] = 0.0
            moved[:] = 0.0
            variances[:] = 0.0
            for i in range(drawn):
                state = start_state(key, block * BLOCK + i)
                for t in range(topics):
                    counts[i, draw_below(topics, &state)] += 1.0
                if noisy:
                    draw_effects(&noise, &state, &effect[0], &variance[0])
                    for a in range(systems):
                        moved[a, i], variances[a, i] = effect[a], variance[a]
            for t in range(topics):
                for i in range(BLOCK):
                    weights[t, i] = counts[i, t]

            # means, and the common variance: the squares of all pairs asked for are those of all systems
            common[:] = 0.0
            for a in range(systems):
                for t in range(topics):
                    values[0, t] = z[a, t]
                    values[1, t] = z[a, t] * z[a, t]
                weigh(&values[0, 0], &values[1, 0], topics, &weights[0, 0], &totals[0, 0], &totals[1, 0])
                for i in range(BLOCK):
                    mean = totals[0, i] / topics
                    means[a, i] = mean
                    moved[a, i] += mean
                    own = totals[1, i] - topics * mean * mean
                    common[i] += own if own > ROUNDING * totals[1, i] else 0.0
            for i in range(BLOCK):
                common[i] *= (1.0 - share) / topics * pooling / (topics - 1.0)

            # nothing has been seen of the block; how much rounding may have changed the sketch of a difference
            peaks[:] = 0.0
            short_peaks[:] = 0.0
            size_of_means = LITTLE
            for a in range(systems):
                for i in range(BLOCK):
                    short_means[a, i] = <float>means[a, i]
                    short_moved[a, i] = <float>moved[a, i]
                    short_variances[a, i] = <float>variances[a, i]
                    size_of_means = max(size_of_means, fabs(means[a, i]))
                    size_of_means = max(size_of_means, fabs(moved[a, i]))
            for i in range(BLOCK):
                short_common[i] = <float>common[i]
            slack = <float>(SINGLE * size_of_means)
            top = 0.0

            for k in range(ia.shape[0] - 1, -1, -1):
                # bounds of the pair's squared difference and of its variance in every draw
                a, b = ia[k], ib[k]
                bound_gaps(&short_means[a, 0], &short_means[b, 0], slack, &gap[0])
                bound_variances(
                    &large_topics[k, 0], &large_squares[k, 0], &weights[0, 0], &gap[0], &short_common[0], part, &least[0]
                )
                if noisy:
                    add_variances(&short_variances[a, 0], &short_variances[b, 0], &least[0])
                    bound_gaps(&short_moved[a, 0], &short_moved[b, 0], slack, &gap[0])

                # draws in which the pair may have the largest t² so far
                mark_largest(&gap[0], &least[0], &short_peaks[0], &seen[0])

                # t² of these; without any spread 0 for equal systems and ∞ for unequal ones
                squared_gaps = False
                for word in range(BLOCK // 8):
                    if seen_words[word] == 0:
                        continue
                    if not squared_gaps:
                        square_gaps(z, floor, a, b, squares)
                        squared_gaps = True
                    for i in range(8 * word, min(8 * word + 8, drawn)):
                        if not seen[i]:
                            continue
                        difference = means[a, i] - means[b, i]
                        total = weigh_one(&squares[0], &counts[i, 0], topics)
                        own = total - topics * difference * difference
                        own = own if own > ROUNDING * total else 0.0
                        v = share / (topics * (topics - 1.0)) * own + common[i]
                        if noisy:
                            v += variances[a, i] + variances[b, i]
                            difference = moved[a, i] - moved[b, i]
                        d = difference if fabs(difference) > floor else 0.0
                        squared = d * d / v if v > 0.0 else (INFINITY if d != 0.0 else 0.0)
                        peaks[i] = max(peaks[i], squared)
                        short_peaks[i] = <float>peaks[i]
                        top = max(top, squared)
                if top >= pair_target[k]:
                    falling[k] += count_from(peaks, drawn, pair_target[k])


cdef inline double own_squares(double total, double squares, double n) noexcept nogil:
    """Sum of squares about the mean, 0 where it is rounding."""
    cdef double own = squares - total * total / max(n, 1.0)
    return own if own > ROUNDING * squares else 0.0


cdef void weigh_pair(
    const double[:, ::1] y,
    const double[::1] floors,
    int64_t a,
    int64_t b,
    const float[:, ::1] weights,
    double[:, ::1] values,
    double[:, ::1] present,
    double[:, ::1] totals,
    double[:, ::1] counts,
) noexcept nogil:
    """Sums and sums of squares of a pair's centred differences in each draw, and how many topics it has there."""
    cdef int64_t t, n = 0, topics = y.shape[1]
    cdef double d, total = 0.0, floor = max(floors[a], floors[b])
    for t in range(topics):
        d = y[a, t] - y[b, t]
        present[0, t] = present[1, t] = 0.0
        if d == d:
            present[0, t] = present[1, t] = 1.0
            n += 1
            total += d
    for t in range(topics):
        d = y[a, t] - y[b, t] - total / <double>max(n, 1) if present[0, t] > 0.0 else 0.0
        values[0, t] = d if fabs(d) > floor else 0.0
        values[1, t] = values[0, t] * values[0, t]
    weigh(&values[0, 0], &values[1, 0], topics, &weights[0, 0], &totals[0, 0], &totals[1, 0])
    weigh(&present[0, 0], &present[1, 0], topics, &weights[0, 0], &counts[0, 0], &counts[1, 0])


def count_incomplete(
    table, targets, uint64_t key, int64_t first_block, int64_t stop_block, int64_t[::1] falling not None, double[::1] maxima not None
):
    """Add to `falling` the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    cdef const double[:, ::1] y = table.y
    cdef const double[::1] floors = table.floors
    cdef double floor, d0 = table.d0
    cdef const int64_t[::1] ia = targets.ia, ib = targets.ib, pooled_a = table.pooled[0], pooled_b = table.pooled[1]
    cdef const double[::1] pair_target = targets.pairs
    cdef int64_t topics = y.shape[1]
    cdef double[:, ::1] values = np.empty((2, topics)), present = np.empty((2, topics))
    cdef double[:, ::1] totals = np.empty((2, BLOCK)), counts = np.empty((2, BLOCK))
    cdef double[::1] common = np.empty(BLOCK), known = np.empty(BLOCK)
    cdef float[:, ::1] weights = np.empty((topics, BLOCK), dtype=np.float32)
    cdef double[::1] peaks
    cdef uint64_t state
    cdef int64_t block, drawn, i, k, t
    cdef double n, gap, v, d, squared
    for block in range(first_block, stop_block):
        drawn = min(<int64_t>BLOCK, maxima.shape[0] - block * BLOCK)
        peaks = maxima[block * BLOCK : block * BLOCK + drawn]
        with nogil:
            weights[:] = 0.0
            for i in range(drawn):
                state = start_state(key, block * BLOCK + i)
                for t in range(topics):
                    weights[draw_below(topics, &state), i] += 1.0

            # the common variance of each draw: the mean over the pooled pairs that have two topics in it
            common[:] = 0.0
            known[:] = 0.0
            for k in range(pooled_a.shape[0]):
                weigh_pair(y, floors, pooled_a[k], pooled_b[k], weights, values, present, totals, counts)
                for i in range(BLOCK):
                    n = counts[0, i]
                    if n >= 2.0:
                        common[i] += own_squares(totals[0, i], totals[1, i], n) / (n - 1.0)
                        known[i] += 1.0
            for i in range(BLOCK):
                common[i] /= max(known[i], 1.0)

            peaks[:] = 0.0
            for k in range(ia.shape[0] - 1, -1, -1):
                weigh_pair(y, floors, ia[k], ib[k], weights, values, present, totals, counts)
                floor = max(floors[ia[k]], floors[ib[k]])
                for i in range(drawn):
                    n = counts[0, i]
                    if n < 2.0:
                        continue
                    gap = totals[0, i] / n
                    if isinf(d0):
                        v = common[i]
                    else:
                        v = own_squares(totals[0, i], totals[1, i], n)
                        v = (v + d0 * common[i]) / max(n - 1.0 + d0, 1.0)
                    d = gap if fabs(gap) > floor else 0.0
                    squared = n * d * d / v if v > 0.0 else (INFINITY if d != 0.0 else 0.0)
                    peaks[i] = max(peaks[i], squared)
                falling[k] += count_from(peaks, drawn, pair_target[k])


def count_normal(
    scenario, targets, uint64_t key, int64_t first_block, int64_t stop_block, int64_t[::1] falling not None, double[::1] maxima not None
):
    """Add to `falling` the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    cdef const double[:, ::1] root = scenario.root, precision = scenario.precision
    cdef const int64_t[::1] ia = targets.ia, ib = targets.ib
    cdef const double[::1] pair_target = targets.pairs
    cdef int64_t systems = root.shape[0]
    cdef double[:, ::1] normals = np.zeros((systems, BLOCK)), means = np.empty((systems, BLOCK))
    cdef double[::1] peaks
    cdef uint64_t state
    cdef int64_t block, drawn, a, b, i, j, k
    cdef double gap
    for block in range(first_block, stop_block):
        drawn = min(<int64_t>BLOCK, maxima.shape[0] - block * BLOCK)
        peaks = maxima[block * BLOCK : block * BLOCK + drawn]
        with nogil:
            for i in range(drawn):
                state = start_state(key, block * BLOCK + i)
                for j in range(systems):
                    normals[j, i] = draw_normal(&state)
            # summed in the order of the systems, on every machine
            means[:] = 0.0
            for a in range(systems):
                for j in range(systems):
                    for i in range(BLOCK):
                        means[a, i] += root[a, j] * normals[j, i]
            peaks[:] = 0.0
            for k in range(ia.shape[0] - 1, -1, -1):
                a, b = ia[k], ib[k]
                for i in range(drawn):
                    gap = means[a, i] - means[b, i]
                    peaks[i] = max(peaks[i], gap * gap * precision[a, b])
                falling[k] += count_from(peaks, drawn, pair_target[k])
