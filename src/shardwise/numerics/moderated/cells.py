"""Differences on these topics: the units are the T·S cells of topics by shards, their errors the residuals of MD6.

A pair's own variance is s²_k = Σ (e_a - e_b)² / ν over all cells, ν = (T - 1)(S - 1), and s̄² is twice MS(error); what
holds for topics with T - 1 degrees of freedom then holds for cells with ν.

The joint law, three ways:

- drawn: ν of the n = T·S residuals with replacement (they sum to zero over the shards of a topic and the topics of a
  shard, and say no more than ν free ones);
- flipped: all residuals with random signs;
- refitted: all residuals times independent standard normal numbers, and MD6 fitted to that table again (a wild
  bootstrap, Wu 1986). Every cell keeps the variance that its residual suggests, and a system's mean and its residuals
  are closer to independent, as those of a real table are. In the first two a large residual raises mean and variance
  together, which makes the tails of t* too light.

None holds its level everywhere (docs/moderated.md); `cell_statistics(y).p` with Holm's correction does.

The alternative to all has a variance for each pair *and* topic (a topic with few relevant documents has unsteady
scores), and no joint law: a t with Satterthwaite's degrees of freedom for each pair, for Holm's correction.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numba import njit

from shardwise.core.arguments import chosen
from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.numerics.balanced import all_terms, decompose
from shardwise.numerics.moderated.draws import Centred, Peaks, count_draws, tally_pair, tally_systems
from shardwise.numerics.moderated.law import BLOCK, Law, Tally, Targets, law_of
from shardwise.numerics.moderated.noise import NO_LINES, normal
from shardwise.numerics.moderated.statistics import D0, Statistics, moderate, own_share, pairs_of
from shardwise.numerics.resampling import start
from shardwise.numerics.student import NOISE

SHARDS = ("topic", "system", "shard")
Way = Literal["refitted", "drawn", "flipped"]
WAYS: tuple[Way, ...] = ("refitted", "drawn", "flipped")


class Refitted(NamedTuple):
    """Residuals as compiled code takes them."""

    e: Floats  # (R, T, S)
    floor: float  # differences up to this are rounding
    share: float  # weight of a pair's own variance in its moderated one


class Room(NamedTuple):
    """Sums of weighted residuals of a pair in each draw of a block."""

    by_shard: Floats  # (S, BLOCK)
    topic: Floats  # (BLOCK,) of the topic at hand


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
    way: Way = "refitted",
    jobs: int | None = None,
) -> Law:
    """The joint law of a table's cell statistics, by its residuals.

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
    way
        "refitted", "drawn" or "flipped".
    jobs
        Threads, all processors by default. The result does not depend on it.
    """
    topics, systems, shards = y.shape
    df = (topics - 1) * (shards - 1)
    e = np.ascontiguousarray(residuals(y).T)
    floor = NOISE * float(np.abs(y).max(initial=0.0))
    share = float(own_share(np.asarray(float(df)), found.d0))
    if way == "refitted":
        count = partial(count_refits, Refitted(e.reshape(systems, topics, shards), floor, share))
    else:
        flips = chosen(way, "way", WAYS) == "flipped"
        world = Centred(e, floor, topics * shards if flips else df, share, flips, NO_LINES)
        count = partial(count_draws, world)
    return law_of(count, systems, ia, ib, found.t, key, n_resamples, jobs)


@njit(cache=True, nogil=True, error_model="numpy")
def count_refits(
    world: Refitted, targets: Targets, key: np.uint64, first: int, stop: int, tally: Tally, maxima: Floats
) -> None:
    """Add to the tally the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    systems, topics, shards = world.e.shape
    df, n = (topics - 1.0) * (shards - 1.0), topics * shards
    weights = np.zeros((topics, shards, BLOCK))
    state = np.empty(1, dtype=np.uint64)
    values = np.empty((topics, shards))
    common, squares, gap, squared = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    room = Room(np.empty((shards, BLOCK)), np.empty(BLOCK))
    peaks = Peaks(np.empty(BLOCK), np.empty((systems, BLOCK)), np.empty(BLOCK))
    for at in range(first, stop):
        drawn = min(BLOCK, maxima.size - at * BLOCK)
        for i in range(drawn):
            start(key, at * BLOCK + i, state)
            for t in range(topics):
                for s in range(shards):
                    weights[t, s, i] = normal(state)
        common[:] = 0.0
        for a in range(systems):
            refit(world.e[a], weights, room, gap, squares)
            for i in range(BLOCK):
                common[i] += squares[i]
        for i in range(
            BLOCK
        ):  # residuals of a cell sum to 0 over systems: the squares of all pairs are those of systems
            common[i] *= 2.0 / (df * (systems - 1.0))
        peaks.pairs[:] = 0.0
        peaks.systems[:] = -np.inf
        for k in range(targets.ia.size - 1, -1, -1):
            one, other = world.e[targets.ia[k]], world.e[targets.ib[k]]
            for t in range(topics):
                for s in range(shards):
                    apart = one[t, s] - other[t, s]
                    values[t, s] = apart if abs(apart) > world.floor else 0.0
            refit(values, weights, room, gap, squares)
            for i in range(BLOCK):
                v = world.share * squares[i] / df + (1.0 - world.share) * common[i]
                squared[i] = n * gap[i] * gap[i] / v if v > 0.0 else (np.inf if gap[i] != 0.0 else 0.0)
            tally_pair(targets, k, gap, squared, drawn, peaks, tally)
        tally_systems(targets, at * BLOCK, drawn, peaks, tally, maxima)


@njit(cache=True, nogil=True, error_model="numpy")
def refit(values: Floats, weights: Floats, room: Room, mean: Floats, squares: Floats) -> None:
    """Mean of weighted values over all cells in each draw, and their squares without means of topics and of shards."""
    topics, shards = values.shape
    room.by_shard[:] = 0.0
    squares[:] = 0.0
    mean[:] = 0.0
    for t in range(topics):
        room.topic[:] = 0.0
        for s in range(shards):
            value, drawn, shard = values[t, s], weights[t, s], room.by_shard[s]
            for i in range(BLOCK):
                x = value * drawn[i]
                room.topic[i] += x
                squares[i] += x * x
                shard[i] += x
        for i in range(BLOCK):
            mean[i] += room.topic[i]
            squares[i] -= room.topic[i] * room.topic[i] / shards
    for s in range(shards):
        for i in range(BLOCK):
            squares[i] -= room.by_shard[s, i] * room.by_shard[s, i] / topics
    for i in range(BLOCK):
        squares[i] = max(squares[i] + mean[i] * mean[i] / (topics * shards), 0.0)
        mean[i] /= topics * shards


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
