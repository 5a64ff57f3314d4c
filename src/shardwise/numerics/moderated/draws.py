"""Draws of whole tables, compiled: every pair's moderated t anew in each of them.

Draw i depends on (key, i) only. Systems are moved to equal means first, so that no pair differs in the world that is
drawn from. With w_t the times that topic t was drawn and δ_t a pair's centred differences, a draw needs Σ w δ and
Σ w δ² of each pair. The first is a difference of system means; the second is computed for a block of draws at once,
pair by pair: δ² against the columns of a small table of weights that stays in the processor's cache. This costs what
the Gram matrix ZᵀWZ would, without its cancellation for systems that are nearly the same, and nothing larger than a
block is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shardwise.core.arrays import Floats
from shardwise.numerics.moderated.law import BLOCK, Tally, Targets
from shardwise.numerics.moderated.noise import Noise, draw_noise
from shardwise.numerics.resampling import below, start

ROUNDING = 1e-12  # share of a sum of squares that may be left of it where there is no spread


class Centred(NamedTuple):
    """A world without differences, as compiled code takes it."""

    z: Floats  # (R, T) scores without topic and system means
    floor: float  # differences up to this are rounding
    share: float  # weight of a pair's own variance in its moderated one
    noise: Noise  # of no systems where there is none


class Block(NamedTuple):
    """A block of draws; the last axis is the draw."""

    weights: Floats  # (T, BLOCK) times that each topic was drawn
    means: Floats  # (R, BLOCK) of the systems
    moved: Floats  # (R, BLOCK) the same with chance effects
    variances: Floats  # (R, BLOCK) of the chance effects, as one would estimate them
    common: Floats  # (BLOCK,) s̄²


class Peaks(NamedTuple):
    """Largest statistics so far of each draw of a block."""

    pairs: Floats  # (BLOCK,) t² of the pairs seen
    systems: Floats  # (R, BLOCK) signed t² by which another system is above
    toward: Floats  # (BLOCK,) room for those of a pair


@njit(cache=True, nogil=True, error_model="numpy")
def count_draws(
    world: Centred, targets: Targets, key: np.uint64, first: int, stop: int, tally: Tally, maxima: Floats
) -> None:
    """Add to the tally the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    systems, topics = world.z.shape
    block = Block(
        np.empty((topics, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty(BLOCK),
    )
    squares, totals = np.empty((2, topics)), np.empty((2, BLOCK))
    gap, squared = np.empty(BLOCK), np.empty(BLOCK)
    peaks = Peaks(np.empty(BLOCK), np.empty((systems, BLOCK)), np.empty(BLOCK))
    for at in range(first, stop):
        drawn = min(BLOCK, maxima.size - at * BLOCK)
        draw_block(world, key, at * BLOCK, drawn, block)
        peaks.pairs[:] = 0.0
        peaks.systems[:] = -np.inf
        for later in range(targets.ia.size - 1, -1, -2):  # two pairs share the loads of the weights
            for j in range(2):
                k = max(later - j, 0)
                square_gaps(world, targets.ia[k], targets.ib[k], squares[j])
            weigh(squares, block.weights, totals)
            for j in range(min(later + 1, 2)):
                k = later - j
                squared_t(world, block, targets.ia[k], targets.ib[k], totals[j], gap, squared)
                tally_pair(targets, k, gap, squared, drawn, peaks, tally)
        tally_systems(targets, at * BLOCK, drawn, peaks, tally, maxima)


@njit(cache=True, nogil=True)
def tally_pair(
    targets: Targets, k: int, gap: Floats, squared: Floats, drawn: int, peaks: Peaks, tally: Tally
) -> None:
    """Count a pair's draws, and note how far its systems are above each other."""
    # np.maximum, as x if x > y else y becomes masked stores, which are slow
    np.maximum(peaks.pairs, squared, peaks.pairs)
    tally.own[k] += count_from(squared, targets.pairs[k], drawn)
    tally.falling[k] += count_from(peaks.pairs, targets.pairs[k], drawn)
    a, b = targets.ia[k], targets.ib[k]
    # most systems are far below the best: hardly a draw reaches what they are held against
    if count_from(squared, targets.systems[a], drawn) > 0:
        for i in range(BLOCK):
            peaks.toward[i] = squared[i] if gap[i] < 0.0 else -squared[i]
        np.maximum(peaks.systems[a], peaks.toward, peaks.systems[a])
    if count_from(squared, targets.systems[b], drawn) > 0:
        for i in range(BLOCK):
            peaks.toward[i] = squared[i] if gap[i] > 0.0 else -squared[i]
        np.maximum(peaks.systems[b], peaks.toward, peaks.systems[b])


@njit(cache=True, nogil=True)
def tally_systems(
    targets: Targets, first: int, drawn: int, peaks: Peaks, tally: Tally, maxima: Floats
) -> None:
    """Count the systems' draws once all pairs have been seen, and keep the largest t² of each draw."""
    for a in range(targets.systems.size):
        tally.systems[a] += count_from(peaks.systems[a], targets.systems[a], drawn)
    for i in range(drawn):
        maxima[first + i] = peaks.pairs[i]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_block(world: Centred, key: np.uint64, first: int, drawn: int, block: Block) -> None:
    """Draws first … first + drawn - 1 with their means and common variance; a block's other draws draw nothing."""
    systems, topics = world.z.shape
    draw_weights(world, key, first, drawn, block)
    block.common[:] = 0.0
    values, totals = np.empty((2, topics)), np.empty((2, BLOCK))
    for a in range(systems):
        for t in range(topics):
            values[0, t] = world.z[a, t]
            values[1, t] = world.z[a, t] * world.z[a, t]
        weigh(values, block.weights, totals)
        for i in range(BLOCK):
            mean = totals[0, i] / topics
            block.means[a, i] = mean
            block.moved[a, i] += mean
            own = totals[1, i] - topics * mean * mean
            block.common[i] += own if own > ROUNDING * totals[1, i] else 0.0
    for i in range(BLOCK):  # topic means are 0, so that the squares of all pairs are those of all systems
        block.common[i] *= 2.0 / ((topics - 1.0) * (systems - 1.0))


@njit(cache=True, nogil=True, error_model="numpy")
def draw_weights(world: Centred, key: np.uint64, first: int, drawn: int, block: Block) -> None:
    """Times that topics are drawn; then the chance effects, from the same random numbers."""
    systems, topics = world.z.shape
    effect, variance = np.zeros(systems), np.zeros(systems)
    state = np.empty(1, dtype=np.uint64)
    block.weights[:] = 0.0
    block.moved[:] = 0.0
    block.variances[:] = 0.0
    for i in range(drawn):
        start(key, first + i, state)
        for _ in range(topics):
            block.weights[below(topics, state), i] += 1.0
        if world.noise.size.size > 0:
            draw_noise(world.noise, state, effect, variance)
            block.moved[:, i] = effect
            block.variances[:, i] = variance


@njit(cache=True, nogil=True)
def square_gaps(world: Centred, a: int, b: int, out: Floats) -> None:
    """Squared differences of two systems topic by topic, 0 where they are rounding."""
    one, other = world.z[a], world.z[b]
    for t in range(out.size):
        gap = one[t] - other[t]
        out[t] = gap * gap if abs(gap) > world.floor else 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def weigh(values: Floats, weights: Floats, out: Floats) -> None:
    """out[j, i] = Σ_t values[j, t]·weights[t, i] for two rows j, as fast as a matrix product of BLAS."""
    units = values.shape[1]
    one, other = out[0], out[1]
    out[:] = 0.0
    fours = units - units % 4
    for t in range(0, fours, 4):
        a0, a1, a2, a3 = values[0, t], values[0, t + 1], values[0, t + 2], values[0, t + 3]
        b0, b1, b2, b3 = values[1, t], values[1, t + 1], values[1, t + 2], values[1, t + 3]
        w0, w1, w2, w3 = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
        for i in range(BLOCK):
            x0, x1, x2, x3 = w0[i], w1[i], w2[i], w3[i]
            one[i] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
            other[i] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
    for t in range(fours, units):
        a, b, w = values[0, t], values[1, t], weights[t]
        for i in range(BLOCK):
            one[i] += a * w[i]
            other[i] += b * w[i]


@njit(cache=True, nogil=True, error_model="numpy")
def squared_t(
    world: Centred, block: Block, a: int, b: int, total: Floats, gap: Floats, squared: Floats
) -> None:
    """t² of a pair in each draw, and the difference whose sign t has; without any spread 0 or ∞.

    In loops of few arrays each: only those are compiled to vector instructions.
    """
    n = world.z.shape[1]
    share, rest = world.share / (n * (n - 1.0)), (1.0 - world.share) / n
    mean_a, mean_b, common = block.means[a], block.means[b], block.common
    for i in range(BLOCK):
        gap[i] = mean_a[i] - mean_b[i]
    for i in range(BLOCK):
        own = total[i] - n * gap[i] * gap[i]
        own = own if own > ROUNDING * total[i] else 0.0
        squared[i] = share * own + rest * common[i]
    if world.noise.size.size > 0:
        mean_a, mean_b = block.moved[a], block.moved[b]
        for i in range(BLOCK):
            gap[i] = mean_a[i] - mean_b[i]
        mean_a, mean_b = block.variances[a], block.variances[b]
        for i in range(BLOCK):
            squared[i] += mean_a[i] + mean_b[i]
    for i in range(BLOCK):
        d = gap[i] if abs(gap[i]) > world.floor else 0.0
        v = squared[i]
        squared[i] = d * d / v if v > 0.0 else (np.inf if d != 0.0 else 0.0)


@njit(cache=True, nogil=True)
def count_from(values: Floats, least: float, n: int) -> int:
    """How many of the first n values are at least so large."""
    count = 0
    for i in range(n):
        count += values[i] >= least
    return count
