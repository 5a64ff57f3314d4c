"""Differences on these topics: the units are the T·S cells of topics by shards, their errors the residuals of MD6.

A pair's own variance is s²_k = Σ (e_a - e_b)² / ν over all cells, ν = (T - 1)(S - 1), and s̄² is twice MS(error); what
holds for topics with T - 1 degrees of freedom then holds for cells with ν.

No law drawn from the residuals holds its level everywhere (docs/moderated.md); `cell_statistics(y).p` with Holm's
correction does. So does `stratified`, where each pair has a variance of its own on every topic (one with few relevant
documents has unsteady scores).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.numerics.balanced import all_terms, decompose
from shardwise.numerics.moderated.statistics import D0, Statistics, moderate, pairs_of
from shardwise.numerics.student import NOISE

SHARDS = ("topic", "system", "shard")


def residuals(y: Floats) -> Floats:
    """Residuals of MD6 of full scores (…, T, R, S), as cells by systems (…, T·S, R); rounding is set to 0.

    >>> y = np.arange(8.0).reshape(2, 2, 2) ** 2
    >>> residuals(y)
    array([[0., 0.],
           [0., 0.],
           [0., 0.],
           [0., 0.]])
    """
    topics, systems, shards = y.shape[-3:]
    found = decompose(y, SHARDS, all_terms(SHARDS))
    if found is None:
        raise InputError("scores are missing", remedy="leave out or fill the topics that lack them")
    size = np.abs(y).max(axis=(-3, -2, -1), keepdims=True, initial=0.0)
    left = found.residuals(y)
    left = np.where(np.abs(left) <= NOISE * size, 0.0, left)
    return np.ascontiguousarray(np.swapaxes(left, -1, -2)).reshape(*y.shape[:-3], topics * shards, systems)


def cell_statistics(
    y: Floats, ia: Ints | None = None, ib: Ints | None = None, *, d0: float = D0
) -> Statistics:
    """Moderated statistics of pairs of systems for differences on these topics, from scores (…, T, R, S).

    The pairs are all a < b by default, s̄² is of all in any case, and d0 = ∞ is the error term of HSD on MD6.

    >>> y = np.random.default_rng(1).normal(size=(10, 3, 4))
    >>> cell_statistics(y, d0=np.inf).df  # those of MD6's error
    array([54., 54., 54.])
    """
    topics, systems, shards = y.shape[-3:]
    ia, ib = pairs_of(systems, ia, ib)
    e = residuals(y)
    mean = y.mean(axis=(-3, -1))
    df = (topics - 1.0) * (shards - 1.0)
    every = (e**2).sum(axis=-2)
    across = np.swapaxes(e, -1, -2) @ e
    own = np.maximum(every[..., ia] + every[..., ib] - 2.0 * across[..., ia, ib], 0.0) / df
    full = np.full(own.shape, 1.0)
    return moderate(
        mean[..., ia] - mean[..., ib],
        topics * shards * full,
        df * full,
        own,
        2.0 * every.sum(axis=-1) / (df * (systems - 1.0)),
        df * (systems - 2.0) * full,
        d0,
    )


def stratified(y: Floats, ia: Ints | None = None, ib: Ints | None = None) -> tuple[Floats, Floats, Floats]:
    """Difference, standard error and Satterthwaite df of pairs, each with a variance of its own on every topic.

    With e the residuals of MD6, topic t has s²_t = Σ_shards (e_a - e_b)² · T / ((T - 1)(S - 1)), the difference of
    means has variance Σ s²_t / (T² S), and df = (Σ s²_t)² / Σ (s⁴_t / (S + 1)), as s⁴ / (S + 1) is unbiased for
    σ⁴ / (S - 1). Scores are (…, T, R, S), pairs all a < b by default.
    """
    topics, systems, shards = y.shape[-3:]
    ia, ib = pairs_of(systems, ia, ib)
    e = residuals(y).reshape(-1, topics, shards, systems)
    total, squares = sums_by_topic(e, ia, ib)
    scale = topics / ((topics - 1.0) * (shards - 1.0))
    shape = (*y.shape[:-3], ia.size)
    mean = y.mean(axis=(-3, -1))
    se = np.sqrt(scale * total / (topics**2 * shards)).reshape(shape)
    simplest = np.full(total.shape, shards - 1.0)
    df = np.divide(total**2 * (shards + 1.0), squares, out=simplest, where=squares > 0.0).reshape(shape)
    return mean[..., ia] - mean[..., ib], se, np.minimum(df, (topics - 1.0) * (shards - 1.0))


@njit(cache=True, nogil=True)
def sums_by_topic(e: Floats, ia: Ints, ib: Ints) -> tuple[Floats, Floats]:
    """Σ_t q_t and Σ_t q²_t of each pair, q_t the sum over shards of its squared differences on topic t."""
    count, topics, shards, _ = e.shape
    total, squares = np.zeros((count, ia.size)), np.zeros((count, ia.size))
    for i in range(count):
        for t in range(topics):
            for k in range(ia.size):
                q = 0.0
                for s in range(shards):
                    d = e[i, t, s, ia[k]] - e[i, t, s, ib[k]]
                    q += d * d
                total[i, k] += q
                squares[i, k] += q * q
    return total, squares
