"""Scores of simulated tables: tails of normal scores, quantiles of margins, draws from a vine."""

from libc.math cimport INFINITY, M_PI, erfc, exp, sqrt
from libc.stdint cimport int64_t

import numpy as np

cdef enum:
    N_GUIDES = 512
    N_KNOTS = 1025

GUIDES, KNOTS = N_GUIDES, N_KNOTS
# of tabulated tails
REACH = 9.0
# from this spread on, cubics between the knots err by less than 2e-6
SMOOTH = 0.1

cdef double C_REACH = REACH, C_SMOOTH = SMOOTH, STEP = 2.0 * REACH / (N_KNOTS - 1)


def tabulate_tails(
    const double[:, ::1] latent not None,
    const double[::1] spread not None,
    double[:, ::1] value not None,
    double[:, ::1] slope not None,
):
    """Fill in P(z > x) and its slope at the knots, for systems whose spread is smooth enough."""
    cdef int64_t n = latent.shape[0], c = latent.shape[1], j, k, i
    cdef double x, total, density, u
    with nogil:
        for j in range(n):
            if spread[j] < C_SMOOTH:
                continue
            for k in range(N_KNOTS):
                x = -C_REACH + <double>k * STEP
                total, density = 0.0, 0.0
                for i in range(c):
                    u = (x - latent[j, i]) / spread[j]
                    total += 0.5 * erfc(u / sqrt(2.0))
                    density += exp(-0.5 * u * u)
                value[j, k] = total / c
                slope[j, k] = -density / (c * spread[j] * sqrt(2.0 * M_PI))


def read_tails(
    const int64_t[::1] rows not None,
    const double[:, ::1] x not None,
    const double[:, ::1] value not None,
    const double[:, ::1] slope not None,
    double[:, ::1] out not None,
):
    """Read tabulated tails, by the cubic between two knots with their values and slopes."""
    cdef int64_t i, j, m, k
    cdef double place, s, here, after, first, last, bend, twist
    with nogil:
        for i in range(rows.shape[0]):
            j = rows[i]
            for m in range(x.shape[1]):
                place = (x[i, m] + C_REACH) / STEP
                k = min(<int64_t>place, N_KNOTS - 2)
                s = place - <double>k
                here, after = value[j, k], value[j, k + 1]
                first, last = slope[j, k] * STEP, slope[j, k + 1] * STEP
                bend = 3.0 * (after - here) - 2.0 * first - last
                twist = 2.0 * (here - after) + first + last
                out[i, m] = here + s * (first + s * (bend + s * twist))


def to_scores(
    double[:, ::1] z not None,
    const int64_t[::1] row not None,
    const double[:, ::1] cut not None,
    const int64_t[:, ::1] guide not None,
    const double[::1] low not None,
    const double[::1] high not None,
):
    """Turn (B, n) normal scores into scores in place: quantiles of the margin row[i] at each place i."""
    cdef int64_t last = low.shape[0] - 1, b, i, j, k
    cdef double u, width
    with nogil:
        for b in range(z.shape[0]):
            for i in range(z.shape[1]):
                u = 0.5 * erfc(-z[b, i] / sqrt(2.0))
                j = row[i]
                k = guide[j, <int64_t>(u * N_GUIDES)]
                while k < last and cut[j, k + 1] <= u:
                    k += 1
                width = high[k] - low[k]
                z[b, i] = low[k]
                if width > 0.0:
                    z[b, i] += width * min(1.0, (u - cut[j, k]) / (cut[j, k + 1] - cut[j, k]))


def draw_quantiles(vine, const double[:, ::1] place not None, const double[:, ::1] noise not None):
    """Draw (n, C) quantiles, uniform in each column, from (n, C + 1) uniform and normal numbers."""
    # (C + 1, T), so that a column is read in order
    cdef const double[:, ::1] scores = np.ascontiguousarray(vine.scores.T)
    cdef const int64_t[::1] order = vine.order
    cdef const int64_t[:, ::1] parents = vine.parents
    cdef const double[:, :, ::1] precision = vine.precision
    cdef const double[:, ::1] slope = vine.slope
    cdef const double[::1] spread = vine.spread
    cdef double h = vine.width, least, total
    cdef int64_t t = scores.shape[1], columns = scores.shape[0], most = parents.shape[1], n = place.shape[0]
    cdef int64_t k, o, j, size, i, a, b, p
    quantiles = np.empty((n, columns - 1))
    cdef double[:, ::1] out = quantiles
    cdef double[::1] far = np.empty(t), cumulated = np.empty(t), drawn = np.empty(columns), gap = np.empty(most + 1)
    with nogil:
        for k in range(n):
            for o in range(order.shape[0]):
                # how far each topic seen is from what has been drawn
                j = order[o]
                size = 0
                while size < most and parents[j, size] >= 0:
                    size += 1
                least = INFINITY
                for i in range(t):
                    for a in range(size):
                        p = parents[j, a]
                        gap[a] = drawn[p] - scores[p, i]
                    total = 0.0
                    for a in range(size):
                        for b in range(size):
                            total += precision[j, a, b] * gap[a] * gap[b]
                    far[i] = total / (2.0 * h * h)
                    least = min(least, far[i])

                # one of them, by its kernel's weight
                total = 0.0
                for i in range(t):
                    total += exp(least - far[i])
                    cumulated[i] = total
                i = 0
                while i < t - 1 and cumulated[i] < place[k, j] * total:
                    i += 1
                drawn[j] = scores[j, i] + h * spread[j] * noise[k, j]
                for a in range(size):
                    p = parents[j, a]
                    drawn[j] += slope[j, a] * (drawn[p] - scores[p, i])

            # its quantile in the kernel estimate of its own margin
            for j in range(columns - 1):
                total = 0.0
                for i in range(t):
                    total += 0.5 * erfc((scores[j, i] - drawn[j]) / (h * sqrt(2.0)))
                out[k, j] = total / t
    return quantiles
