"""Random numbers of compiled code: every replicate from (seed, index) alone, whatever the number of workers."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats, Words
from shardwise.core.compiled import njit


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
def topic_counts(topics: int, key: np.uint64, first: int, n: int) -> Floats:
    """(n, T) how often each topic was drawn in the bootstrap samples first … first + n - 1."""
    counts = np.zeros((n, topics))
    state = np.empty(1, dtype=np.uint64)
    for i in range(n):
        start(key, first + i, state)
        for _ in range(topics):
            counts[i, below(topics, state)] += 1.0
    return counts
