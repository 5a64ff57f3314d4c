"""Random numbers of compiled code: every replicate from (seed, index) alone, whatever the number of workers."""

from libc.stdint cimport int64_t, uint64_t

import numpy as np

from shardwise.stats.resampling cimport draw_below, draw_chi_squared, draw_normal, start_state


def key_of(seed):
    """Return the 64 bits from which a seed's replicates are derived."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def topic_counts(int64_t topics, uint64_t key, int64_t first, int64_t n):
    """Return (n, T) how often each topic was drawn in the bootstrap samples first … first + n - 1."""
    counts = np.zeros((n, topics))
    cdef double[:, ::1] out = counts
    cdef uint64_t state
    cdef int64_t i, t
    with nogil:
        for i in range(n):
            state = start_state(key, first + i)
            for t in range(topics):
                out[i, draw_below(topics, &state)] += 1.0
    return counts


def start(uint64_t key, int64_t replicate, uint64_t[::1] state not None):
    """Put the state of a replicate's random numbers where (key, replicate) says; kernels do the same by themselves."""
    state[0] = start_state(key, replicate)


def below(int64_t n, uint64_t[::1] state not None):
    """Draw a whole number from 0 to n - 1."""
    return draw_below(n, &state[0])


def normal(uint64_t[::1] state not None):
    """Draw a standard normal number."""
    return draw_normal(&state[0])


def chi_squared(double df, uint64_t[::1] state not None):
    """Draw a χ² number."""
    return draw_chi_squared(df, &state[0])
