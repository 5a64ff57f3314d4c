"""Differences on these topics: the units are the T·S cells of topics by shards, their errors the residuals of MD6.

A pair's own variance is s²_k = Σ (e_a - e_b)² / ν over all cells, ν = (T - 1)(S - 1), and s̄² is twice MS(error); what
holds for topics with T - 1 degrees of freedom then holds for cells with ν.

Residuals hang together, as they sum to zero over the shards of a topic and the topics of a shard: n = T·S of them say
no more than ν free ones. A resample therefore takes ν of them, so that its variance is as uncertain as the real one.
With two shards, where each residual has its mirror image, that is half of them.

The alternative has a variance for each pair *and* topic (a topic with few relevant documents has unsteady scores), and
no joint law: a t with Satterthwaite's degrees of freedom for each pair, for Holm's correction.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from shardwise.core.arrays import Floats, Ints
from shardwise.numerics.moderated.draws import Centred, count_draws
from shardwise.numerics.moderated.law import Law, law_of
from shardwise.numerics.moderated.noise import NO_LINES
from shardwise.numerics.moderated.statistics import D0, Statistics, moderate, own_share, pairs_of
from shardwise.numerics.student import NOISE


def residuals(y: Floats) -> Floats:
    """Residuals of MD6 of full scores (…, T, R, S), as cells by systems (…, T·S, R); rounding is set to 0.

    Parameters
    ----------
    y
        (…, T, R, S) scores.

    >>> y = np.arange(8.0).reshape(2, 2, 2) ** 2
    >>> residuals(y)
    array([[0., 0.],
           [0., 0.],
           [0., 0.],
           [0., 0.]])
    """
    topics, systems, shards = y.shape[-3:]
    z = y - y.mean(axis=-2, keepdims=True)
    z = z - z.mean(axis=-1, keepdims=True)
    z = z - z.mean(axis=-3, keepdims=True)
    size = np.abs(y).max(axis=(-3, -2, -1), keepdims=True, initial=0.0)
    z = np.where(np.abs(z) <= NOISE * size, 0.0, z)
    return np.ascontiguousarray(np.swapaxes(z, -1, -2)).reshape(*y.shape[:-3], topics * shards, systems)


def cell_statistics(
    y: Floats, ia: Ints | None = None, ib: Ints | None = None, *, d0: float = D0
) -> Statistics:
    """Moderated statistics of pairs of systems for differences on these topics.

    Parameters
    ----------
    y
        (…, T, R, S) scores.
    ia, ib
        Systems of each pair, as numbers; all pairs a < b by default. s̄² is of all pairs in any case.
    d0
        Degrees of freedom that the common variance counts for; ∞ is the error term of HSD on MD6.

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


def cell_law(
    y: Floats,
    ia: Ints,
    ib: Ints,
    found: Statistics,
    key: np.uint64,
    n_resamples: int,
    *,
    flips: bool = False,
    jobs: int | None = None,
) -> Law:
    """The joint law of a table's cell statistics: ν of its residuals drawn with replacement, or all given random signs.

    Parameters
    ----------
    y
        (T, R, S) scores.
    ia, ib
        Systems of each pair, as numbers.
    found
        Their statistics, by :func:`cell_statistics`.
    key
        Of the random numbers (:func:`~shardwise.numerics.resampling.key_of`).
    n_resamples
        B, the draws.
    flips
        Signs in place of draws.
    jobs
        Threads, all processors by default. The result does not depend on it.
    """
    topics, systems, shards = y.shape
    df = (topics - 1) * (shards - 1)
    world = Centred(
        np.ascontiguousarray(residuals(y).T),
        NOISE * float(np.abs(y).max(initial=0.0)),
        topics * shards if flips else df,
        float(own_share(np.asarray(float(df)), found.d0)),
        flips,
        NO_LINES,
    )
    return law_of(partial(count_draws, world), systems, ia, ib, found.t, key, n_resamples, jobs)


def stratified(y: Floats, ia: Ints | None = None, ib: Ints | None = None) -> tuple[Floats, Floats, Floats]:
    """Difference, standard error and Satterthwaite df of pairs, each with a variance of its own on every topic.

    With e the residuals of MD6, topic t has s²_t = Σ_shards (e_a - e_b)² · T / ((T - 1)(S - 1)), the difference of
    means has variance Σ s²_t / (T² S), and df = (Σ s²_t)² / Σ (s⁴_t / (S + 1)), as s⁴ / (S + 1) is unbiased for
    σ⁴ / (S - 1).

    Parameters
    ----------
    y
        (…, T, R, S) scores.
    ia, ib
        Systems of each pair, as numbers; all pairs a < b by default.
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
