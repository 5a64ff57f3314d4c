"""The joint law of all moderated t: topics drawn with replacement, every pair's statistic anew in each draw.

Draw i depends on (key, i) only. Systems are moved to equal means first, so that no pair differs in the world that is
drawn from. With w_t the times that topic t was drawn and δ_t a pair's centred differences, a draw needs Σ w δ and Σ w δ²
of each pair. The first is a difference of system means; the second is computed for a block of draws at once, pair by
pair: δ² against the columns of a small table of weights that stays in the processor's cache. This costs what the Gram
matrix ZᵀWZ would, without its cancellation for systems that are nearly the same, and nothing larger than a block is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from shardwise.core.arguments import mapped, workers
from shardwise.core.arrays import Floats, Ints, Words
from shardwise.numerics.max_t import TIE
from shardwise.numerics.moderated.noise import NO_LINES, Lines, Noise, draw_noise
from shardwise.numerics.moderated.statistics import Statistics, doubly_centred, own_share
from shardwise.numerics.resampling import below, next_word, start
from shardwise.numerics.student import NOISE

BLOCK = 256  # draws at once: enough to pay for the calls, few enough for the second-level cache
ROUNDING = 1e-12  # share of a sum of squares that may be left of it where there is no spread


class Centred(NamedTuple):
    """A world without differences, as compiled code takes it."""

    z: Floats  # (R, n) scores of units (topics or cells) without unit and system means
    floor: float  # differences up to this are rounding
    share: float  # weight of a pair's own variance in its moderated one
    flips: bool  # units take random signs; else they are drawn with replacement
    lines: Lines


class Targets(NamedTuple):
    """What the draws are held against, pairs by falling |t|."""

    ia: Ints  # (P,)
    ib: Ints
    pairs: Floats  # (P,) t²
    systems: Floats  # (R,) signed t² of the system that is furthest above


class Tally(NamedTuple):
    """Draws as large as the targets."""

    own: Ints  # (P,) in which the pair's t² is
    falling: Ints  # (P,) in which the largest t² of the pair and all later ones is
    systems: Ints  # (R,) in which some system is as far above


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """What the draws say of the pairs and systems of one table."""

    p: Floats  # (P,) each pair by itself
    p_adjusted: Floats  # (P,) step-down
    maxima: Floats  # (B,) largest t² of all pairs in every draw, ascending
    p_best: Floats  # (R,) that a system is as good as the best

    def critical(self, alpha: float) -> float:
        """The c of the simultaneous intervals d ± c·se: the upper α quantile of max |t*|; ∞ with too few draws.

        Parameters
        ----------
        alpha
            Share of draws in which the largest |t*| may be at least c.
        """
        k = math.floor(alpha * (self.maxima.size + 1) * (1 + 1e-12))
        return math.inf if k < 1 else math.sqrt(float(self.maxima[-k]) / (1.0 - TIE))

    def top_group(self, alpha: float) -> Ints:
        """Systems that hold the best with probability 1 - α (Hsu 1981): all that no system is too far above.

        Parameters
        ----------
        alpha
            Chance that the best system is not among them.
        """
        return np.flatnonzero(self.p_best > alpha)


def resampled(
    y: Floats,
    ia: Ints,
    ib: Ints,
    found: Statistics,
    key: np.uint64,
    n_resamples: int,
    *,
    noise: Noise | None = None,
    jobs: int | None = None,
) -> Law:
    """Resample the topics of a (T, R) table: adjusted p-values, maxima for intervals, and the top group.

    p_adjusted is Romano & Wolf's (2005) step-down: pairs by falling |t|, (1 + #{max over it and later pairs of
    |t*| ≥ |t|}) / (B + 1), made monotone. p_best of system a is (1 + #{max_b t*_ba ≥ max_b t_ba}) / (B + 1): it exceeds
    α exactly when the largest t_ba is at most the upper α quantile c_a of that maximum. Only the pairs given enter
    maxima; a system without pairs has p_best = 1.

    Parameters
    ----------
    y
        (T, R) scores.
    ia, ib
        Systems of each pair, as numbers.
    found
        Their statistics, by :func:`~shardwise.numerics.moderated.statistics.statistics`.
    key
        Of the random numbers (:func:`~shardwise.numerics.resampling.key_of`).
    n_resamples
        B, the draws.
    noise
        What moves system means besides the topics; the one that the statistics were given.
    jobs
        Threads, all processors by default. The result does not depend on it.

    >>> from shardwise.numerics.moderated.statistics import pairs_of, statistics
    >>> from shardwise.numerics.resampling import key_of
    >>> y = np.random.default_rng(1).normal(size=(30, 3)) + [0.0, 0.0, 2.0]
    >>> ia, ib = pairs_of(3)
    >>> law = resampled(y, ia, ib, statistics(y), key_of(1), 999)
    >>> law.p_adjusted
    array([0.892, 0.001, 0.001])
    >>> law.top_group(0.05)
    array([2])
    """
    world = Centred(
        np.ascontiguousarray(doubly_centred(y).T),
        NOISE * float(np.abs(y).max(initial=0.0)),
        float(own_share(np.asarray(len(y) - 1.0), found.d0)),
        False,
        NO_LINES if noise is None else noise.lines(),
    )
    return law_of(world, ia, ib, found.t, key, n_resamples, jobs)


def law_of(
    world: Centred, ia: Ints, ib: Ints, t: Floats, key: np.uint64, n_resamples: int, jobs: int | None
) -> Law:
    """Draw from a world without differences and hold its pairs against their t."""
    squared = t**2
    order = np.argsort(-squared, kind="stable")
    best = furthest_above(t, ia, ib, world.z.shape[0])
    lower = best * np.where(best > 0.0, 1.0 - TIE, 1.0 + TIE)
    targets = Targets(ia[order], ib[order], squared[order] * (1.0 - TIE), lower)
    maxima = np.empty(n_resamples)
    blocks = -(-n_resamples // BLOCK)
    step = max(1, -(-blocks // (4 * workers(jobs))))
    ranges = [(first, min(first + step, blocks)) for first in range(0, blocks, step)]
    tallies = list(mapped(partial(_tally, world, targets, key, maxima), ranges, jobs=jobs))
    own, falling, systems = (sum(parts) + 1 for parts in zip(*tallies, strict=True))
    p, p_adjusted = np.empty(t.size), np.empty(t.size)
    p[order] = own / (n_resamples + 1)
    p_adjusted[order] = np.maximum.accumulate(falling) / (n_resamples + 1)
    return Law(p, p_adjusted, np.sort(maxima), systems / (n_resamples + 1))


def furthest_above(t: Floats, ia: Ints, ib: Ints, systems: int) -> Floats:
    """(R,) largest t², with the sign of t, by which another system of its pairs is above a system; -∞ without pairs.

    >>> furthest_above(np.array([2.0, -1.0, -3.0]), np.array([0, 0, 1]), np.array([1, 2, 2]), 3)
    array([ 1.,  9., -1.])
    """
    signed = np.sign(t) * t**2
    out = np.full(systems, -np.inf)
    np.maximum.at(out, ia, -signed)
    np.maximum.at(out, ib, signed)
    return out


def _tally(
    world: Centred, targets: Targets, key: np.uint64, maxima: Floats, blocks: tuple[int, int]
) -> Tally:
    tally = Tally(
        *(np.zeros(part.size, dtype=np.int64) for part in (targets.ia, targets.ib, targets.systems))
    )
    count_draws(world, targets, key, blocks[0], blocks[1], tally, maxima)
    return tally


class Block(NamedTuple):
    """A block of draws; the last axis is the draw."""

    weights: Floats  # (n, BLOCK) times that each unit was drawn, or its sign
    means: Floats  # (R, BLOCK) of the systems, over units
    moved: Floats  # (R, BLOCK) the same with chance effects
    variances: Floats  # (R, BLOCK) of the chance effects, as one would estimate them
    common: Floats  # (BLOCK,) s̄²


@njit(cache=True, nogil=True, error_model="numpy")
def count_draws(
    world: Centred, targets: Targets, key: np.uint64, first: int, stop: int, tally: Tally, maxima: Floats
) -> None:
    """Add to the tally the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    systems, units = world.z.shape
    block = Block(
        np.empty((units, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty(BLOCK),
    )
    squares, totals = np.empty((2, units)), np.empty((2, BLOCK))
    gap, squared, toward, largest = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    above = np.empty((systems, BLOCK))
    for at in range(first, stop):
        drawn = min(BLOCK, maxima.size - at * BLOCK)
        draw_block(world, key, at * BLOCK, drawn, block)
        largest[:] = 0.0
        above[:] = -np.inf
        for later in range(targets.ia.size - 1, -1, -2):  # two pairs share the loads of the weights
            for j in range(2):
                k = max(later - j, 0)
                square_gaps(world, targets.ia[k], targets.ib[k], squares[j])
            if world.flips:
                totals[0] = squares[0].sum()
                totals[1] = squares[1].sum()
            else:
                weigh(squares, block.weights, totals)
            for j in range(min(later + 1, 2)):
                k = later - j
                a, b = targets.ia[k], targets.ib[k]
                squared_t(world, block, a, b, totals[j], gap, squared)
                # np.maximum, as x if x > y else y becomes masked stores, which are slow
                np.maximum(largest, squared, largest)
                tally.own[k] += count_from(squared, targets.pairs[k], drawn)
                tally.falling[k] += count_from(largest, targets.pairs[k], drawn)
                # most systems are far below the best: hardly a draw reaches what they are held against
                if count_from(squared, targets.systems[a], drawn) > 0:
                    for i in range(BLOCK):
                        toward[i] = squared[i] if gap[i] < 0.0 else -squared[i]
                    np.maximum(above[a], toward, above[a])
                if count_from(squared, targets.systems[b], drawn) > 0:
                    for i in range(BLOCK):
                        toward[i] = squared[i] if gap[i] > 0.0 else -squared[i]
                    np.maximum(above[b], toward, above[b])
        for a in range(systems):
            tally.systems[a] += count_from(above[a], targets.systems[a], drawn)
        for i in range(drawn):
            maxima[at * BLOCK + i] = largest[i]


@njit(cache=True, nogil=True, error_model="numpy")
def draw_block(world: Centred, key: np.uint64, first: int, drawn: int, block: Block) -> None:
    """Draws first … first + drawn - 1; a block's other draws draw nothing."""
    systems, units = world.z.shape
    noisy = world.lines.size.size > 0
    effect, variance = np.zeros(systems), np.zeros(systems)
    state = np.empty(1, dtype=np.uint64)
    block.weights[:] = 0.0
    block.moved[:] = 0.0
    block.variances[:] = 0.0
    for i in range(drawn):
        start(key, first + i, state)
        if world.flips:
            draw_signs(block.weights[:, i], state)
        else:
            for _ in range(units):
                block.weights[below(units, state), i] += 1.0
        if noisy:
            draw_noise(world.lines, state, effect, variance)
            block.moved[:, i] = effect
            block.variances[:, i] = variance
    block.common[:] = 0.0
    values, totals = np.empty((2, units)), np.empty((2, BLOCK))
    for a in range(systems):
        for t in range(units):
            values[0, t] = world.z[a, t]
            values[1, t] = world.z[a, t] * world.z[a, t]
        weigh(values, block.weights, totals)
        if world.flips:
            totals[1] = values[1].sum()
        for i in range(BLOCK):
            mean = totals[0, i] / units
            block.means[a, i] = mean
            block.moved[a, i] += mean
            own = totals[1, i] - units * mean * mean
            block.common[i] += own if own > ROUNDING * totals[1, i] else 0.0
    for i in range(BLOCK):  # unit means are 0, so that the squares of all pairs are those of all systems
        block.common[i] *= 2.0 / ((units - 1.0) * (systems - 1.0))


@njit(cache=True, nogil=True)
def draw_signs(out: Floats, state: Words) -> None:
    """Random signs, 64 from a word."""
    word = np.uint64(0)
    for t in range(out.size):
        if t % 64 == 0:
            word = next_word(state)
        out[t] = 1.0 - 2.0 * np.float64(word & np.uint64(1))
        word >>= np.uint64(1)


@njit(cache=True, nogil=True)
def square_gaps(world: Centred, a: int, b: int, out: Floats) -> None:
    """Squared differences of two systems unit by unit, 0 where they are rounding."""
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
    units = world.z.shape[1]
    share, rest = world.share / (units * (units - 1.0)), (1.0 - world.share) / units
    mean_a, mean_b, common = block.means[a], block.means[b], block.common
    for i in range(BLOCK):
        gap[i] = mean_a[i] - mean_b[i]
    for i in range(BLOCK):
        own = total[i] - units * gap[i] * gap[i]
        own = own if own > ROUNDING * total[i] else 0.0
        squared[i] = share * own + rest * common[i]
    if world.lines.size.size > 0:
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
