"""Sums over topics of the differences of pairs of systems."""

from libc.math cimport NAN, fabs
from libc.stdint cimport int64_t

import numpy as np

from shardwise.stats.student import NOISE

cdef double SHARE_OF_ROUNDING = NOISE


def pair_moments(
    const double[:, :, ::1] tables not None, const int64_t[::1] ia not None, const int64_t[::1] ib not None
):
    """Return (N, P) common topics, mean difference and its variance over them of each pair.

    The variance has ddof 1, and is 0 for a single topic.
    """
    cdef int64_t count = tables.shape[0], topics = tables.shape[1], systems = tables.shape[2]
    cdef int64_t i, k, t, a, n
    cdef double floor, d, total, centre, squares, rest
    shape = (count, ia.shape[0])
    all_units, all_means, all_variances = np.empty(shape), np.empty(shape), np.empty(shape)
    cdef double[:, ::1] units = all_units, mean = all_means, variance = all_variances
    cdef double[:, ::1] y = np.empty((systems, topics))
    cdef double[::1] size = np.empty(systems)
    with nogil:
        for i in range(count):
            # systems by topics, so that a pair is read in order; comparisons with NaN are false: it does not count
            for a in range(systems):
                size[a] = 0.0
            for t in range(topics):
                for a in range(systems):
                    y[a, t] = tables[i, t, a]
                    if fabs(y[a, t]) > size[a]:
                        size[a] = fabs(y[a, t])
            for k in range(ia.shape[0]):
                # what counts as rounding depends on the scores of the pair alone, not on those of other systems
                floor = SHARE_OF_ROUNDING * max(size[ia[k]], size[ib[k]])
                n, total = 0, 0.0
                for t in range(topics):
                    d = y[ia[k], t] - y[ib[k], t]
                    if d == d:
                        n += 1
                        total += d
                centre = total / <double>n if n > 0 else NAN
                squares, rest = 0.0, 0.0
                for t in range(topics):
                    d = y[ia[k], t] - y[ib[k], t] - centre
                    if d == d:
                        squares += d * d
                        rest += d
                units[i, k] = <double>n
                mean[i, k] = 0.0 if fabs(centre) <= floor else centre
                if n < 2 or squares <= <double>n * floor * floor:
                    variance[i, k] = 0.0
                else:
                    variance[i, k] = (squares - rest * rest / <double>n) / <double>(n - 1)
    return all_units, all_means, all_variances


def sums_by_topic(
    const double[:, :, :, ::1] e not None, const int64_t[::1] ia not None, const int64_t[::1] ib not None
):
    """Return Σ_t q_t and Σ_t q²_t of each pair, q_t the sum over shards of its squared differences on topic t."""
    cdef int64_t i, t, k, s
    cdef double q, d
    shape = (e.shape[0], ia.shape[0])
    totals, total_squares = np.zeros(shape), np.zeros(shape)
    cdef double[:, ::1] total = totals, squares = total_squares
    with nogil:
        for i in range(e.shape[0]):
            for t in range(e.shape[1]):
                for k in range(ia.shape[0]):
                    q = 0.0
                    for s in range(e.shape[2]):
                        d = e[i, t, s, ia[k]] - e[i, t, s, ib[k]]
                        q += d * d
                    total[i, k] += q
                    squares[i, k] += q * q
    return totals, total_squares
