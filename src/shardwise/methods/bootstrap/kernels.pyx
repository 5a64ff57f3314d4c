"""Sums over a pool of residuals: means of resamples, and the characteristic function of the pool."""

from libc.math cimport cbrt, fabs
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from shardwise.stats.resampling cimport start_state


cdef extern from "pool.h" nogil:
    const int LANES
    double sum_draws(const double* pool, uint64_t size, int64_t count, uint64_t* state)
    double step_chebyshev(const double* x, double* before, double* now, int64_t count)


cdef enum:
    # values that stay in the first-level cache through all orders
    CHEBYSHEV_BLOCK = 512


def means_of_draws(
    const double[::1] pool not None,
    const double[::1] weights not None,
    const int64_t[::1] counts not None,
    uint64_t key,
    int64_t first,
    double[:, ::1] out not None,
):
    """Fill rows first, first + 1, … of the replicates: for each system a weighted sum of fresh draws.

    The generator counts up from a start that depends on (key, replicate); each 64 bits give two draws.
    """
    cdef uint64_t state
    cdef int64_t i, j, g
    cdef double total
    with nogil:
        for i in range(out.shape[0]):
            state = start_state(key, first + i)
            for j in range(out.shape[1]):
                total = 0.0
                for g in range(weights.shape[0]):
                    total += weights[g] * sum_draws(&pool[0], pool.shape[0], counts[g], &state)
                out[i, j] = total


def chebyshev_moments(const double[::1] x not None, int64_t order):
    """Return the mean of T_k(x) for k below the order, by T_k+1 = 2 x T_k - T_k-1 on blocks that stay in the cache."""
    sums = np.zeros(order)
    cdef double[::1] total = sums
    cdef double[::1] part = np.empty(CHEBYSHEV_BLOCK)
    cdef double[::1] before = np.empty(CHEBYSHEV_BLOCK), now = np.empty(CHEBYSHEV_BLOCK)
    cdef int64_t start = 0, n, full, k, i
    with nogil:
        while start < x.shape[0]:
            n = min(<int64_t>CHEBYSHEV_BLOCK, x.shape[0] - start)
            # the rest of the last block stays 0 throughout: before and now are 0 there
            full = (n + LANES - 1) // LANES * LANES
            for i in range(full):
                part[i] = now[i] = x[start + i] if i < n else 0.0
                before[i] = 1.0 if i < n else 0.0
            total[0] += n
            for k in range(1, order):
                total[k] += step_chebyshev(&part[0], &before[0], &now[0], full)
            start += n
    return sums / len(x)


def jacobi_anger(const double[::1] moments not None, const double[::1] z not None, double complex[::1] out not None):
    """Sum the expansion for each z, with Bessel functions by Miller's backward recurrence."""
    cdef int64_t f, k, top
    cdef double a, above, here, next_here, norm, real, imaginary, weight, sign
    with nogil:
        for f in range(z.shape[0]):
            a = fabs(z[f])
            if a < 1e-12:
                out[f] = 1.0 + (a * moments[1] if z[f] > 0 else -a * moments[1]) * 1j
                continue
            top = <int64_t>(a + 14.0 * cbrt(a)) + 19
            above, here = 0.0, 1e-290
            norm = real = imaginary = 0.0
            for k in range(top + 16, -1, -1):
                if k <= top:
                    weight = here if k == 0 else 2.0 * here
                    sign = -1.0 if (k // 2) % 2 else 1.0
                    if k % 2 == 0:
                        real += sign * weight * moments[k]
                    else:
                        imaginary += sign * weight * moments[k]
                # J_0 + 2 J_2 + 2 J_4 + … = 1
                if k % 2 == 0:
                    norm += here if k == 0 else 2.0 * here
                next_here = 2.0 * <double>k / a * here - above
                above, here = here, next_here
                if fabs(here) > 1e200:
                    above, here = above * 1e-200, here * 1e-200
                    norm, real, imaginary = norm * 1e-200, real * 1e-200, imaginary * 1e-200
            out[f] = real / norm + ((imaginary if z[f] > 0 else -imaginary) / norm) * 1j
