"""Draws of whole tables, compiled: every pair's moderated t anew in each of them.

Draw i depends on (key, i) only. Systems are moved to equal means first, so that no pair differs in the world that is
drawn from. With w_t the times that topic t was drawn and δ_t a pair's centred differences, a draw needs Σ w δ and
Σ w δ² of each pair. The first is a difference of system means. The second is needed only where t² can matter: where it
can be the largest of the draw so far, or reach what a system is held against. As no term of Σ w δ² is negative, the few
topics with the largest δ² bound it from below and t² from above, and nineteen in twenty draws of a pair need no more.
Bounds are in single precision, with room for its rounding; what is compared with them is not. Draws come in blocks, so
that tables of them stay in the processor's cache, and nothing larger than a block is kept. Arrays are copied by loops:
assigning one to another costs seconds of compiling, most of them for the words of an error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats, Ints, Singles
from shardwise.core.compiled import njit
from shardwise.methods.moderated.law import BLOCK, Tally, Targets
from shardwise.methods.moderated.noise import Noise, draw_noise
from shardwise.stats.resampling import below, start

ROUNDING = 1e-12  # share of a sum of squares that may be left of it where there is no spread
LARGEST = 8  # topics that a pair's spread is bounded by
SINGLE = 2.0**-20  # share by which bounds in single precision give way, several times their rounding
LITTLE = 2.0**-40  # where no difference is larger, all of its draws are looked at
MOST = 2.0**127  # t² that is still to be reached; ∞ stands for one that has been
EIGHT = 8  # bools in a word


class Centred(NamedTuple):
    """A world without differences, as compiled code takes it; scores are below 1 in size."""

    z: Floats  # (R, T) scores without topic and system means
    floor: float  # differences up to this are rounding
    share: float  # weight of a pair's own variance in its moderated one
    noise: Noise  # of no systems where there is none


class Largest(NamedTuple):
    """The topics on which the systems of a pair differ most."""

    topics: Codes  # (P, LARGEST)
    squares: Singles  # (P, LARGEST) their shares in the pair's variance


class Block(NamedTuple):
    """A block of draws."""

    counts: Singles  # (BLOCK, T) times that each topic was drawn
    means: Floats  # (R, BLOCK) of the systems
    moved: Floats  # (R, BLOCK) the same with chance effects
    variances: Floats  # (R, BLOCK) of the chance effects, as one would estimate them
    common: Floats  # (BLOCK,) what s̄² adds to the variance of every difference


class Sketch(NamedTuple):
    """A block in single precision, and what its draws have reached; the last axis is the draw."""

    weights: Singles  # (T, BLOCK)
    means: Singles  # (R, BLOCK)
    moved: Singles  # (R, BLOCK)
    variances: Singles  # (R, BLOCK)
    common: Singles  # (BLOCK,)
    pairs: Singles  # (BLOCK,) largest t² of the pairs seen
    systems: Singles  # (2, R, BLOCK) signed t² that a lead over a system, or its own, is to reach; then ∞


class Room(NamedTuple):
    """Room for one pair of a block."""

    squares: Floats  # (T,) of its differences
    gap: Singles  # (BLOCK,) upper bounds of its squared difference
    least: Singles  # (BLOCK,) lower bounds of its variance
    seen: Bools  # (BLOCK,) draws to look at
    words: Ints  # (BLOCK / 8,) the same, eight at a time
    draws: Ints  # (BLOCK,) the numbers of these


@njit(cache=True, nogil=True, error_model="numpy")
def count_draws(
    world: Centred,
    largest: Largest,
    targets: Targets,
    key: np.uint64,
    first: int,
    stop: int,
    tally: Tally,
    maxima: Floats,
) -> None:
    """Add to the tally the draws of blocks first … stop - 1; the largest t² of draw i goes to maxima[i]."""
    systems, topics = world.z.shape
    block = Block(
        np.empty((BLOCK, topics), dtype=np.float32),
        np.empty((systems, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty((systems, BLOCK)),
        np.empty(BLOCK),
    )
    sketch = Sketch(
        np.empty((topics, BLOCK), dtype=np.float32),
        np.empty((systems, BLOCK), dtype=np.float32),
        np.empty((systems, BLOCK), dtype=np.float32),
        np.empty((systems, BLOCK), dtype=np.float32),
        np.empty(BLOCK, dtype=np.float32),
        np.empty(BLOCK, dtype=np.float32),
        np.empty((2, systems, BLOCK), dtype=np.float32),
    )
    seen = np.empty(BLOCK, dtype=np.bool_)
    room = Room(
        np.empty(topics),
        np.empty(BLOCK, dtype=np.float32),
        np.empty(BLOCK, dtype=np.float32),
        seen,
        seen.view(np.int64),
        np.empty(BLOCK, dtype=np.int64),
    )
    for at in range(first, stop):
        drawn = min(BLOCK, maxima.size - at * BLOCK)
        peaks = maxima[at * BLOCK : at * BLOCK + drawn]
        draw_block(world, key, at * BLOCK, drawn, block, sketch)
        slack = begin(targets, block, sketch, peaks)
        top = 0.0
        for k in range(targets.ia.size - 1, -1, -1):
            a, b = targets.ia[k], targets.ib[k]
            bound(world, largest, k, sketch, a, b, slack, room)
            if world.noise.size.size > 0:
                bound_moved(sketch, a, b, slack, room)
            near = (
                min(targets.systems[a], targets.systems[b]) < top
            )  # else reached only by the largest so far
            found = worth_a_look(sketch, a, b, near, drawn, room)
            if found > 0:
                square_gaps(world, a, b, room.squares)
            for j in range(found):
                i = room.draws[j]
                gap, squared = squared_t(world, block, a, b, i, room.squares)
                note(targets, a, b, i, gap, squared, peaks, sketch.systems, tally)
                sketch.pairs[i] = peaks[i]
                top = max(top, squared)
            if top >= targets.pairs[k]:
                tally.falling[k] += count_from(peaks, targets.pairs[k])


@njit(cache=True, nogil=True)
def largest_gaps(world: Centred, ia: Ints, ib: Ints) -> Largest:
    """The topics with the largest squared differences of each pair, and their parts in its variance."""
    topics = world.z.shape[1]
    at = np.zeros((ia.size, LARGEST), dtype=np.int32)
    top = np.zeros((ia.size, LARGEST), dtype=np.float32)
    squares = np.empty(topics)
    part = world.share / max(topics * (topics - 1.0), 1.0)
    for k in range(ia.size):
        square_gaps(world, ia[k], ib[k], squares)
        for t in range(topics):
            square, j = part * squares[t], LARGEST - 1
            if square > top[k, j]:
                while j > 0 and square > top[k, j - 1]:
                    at[k, j], top[k, j] = at[k, j - 1], top[k, j - 1]
                    j -= 1
                at[k, j], top[k, j] = t, square
    return Largest(at, top)


@njit(cache=True, nogil=True)
def begin(targets: Targets, block: Block, sketch: Sketch, peaks: Floats) -> np.float32:
    """Nothing has been seen of a block; how much rounding may have changed the sketch of a difference."""
    peaks[:] = 0.0
    sketch.pairs[:] = 0.0
    size = LITTLE
    for a in range(targets.systems.size):
        sketch.systems[:, a] = min(targets.systems[a], MOST)
        for i in range(BLOCK):
            sketch.means[a, i] = block.means[a, i]
            sketch.moved[a, i] = block.moved[a, i]
            sketch.variances[a, i] = block.variances[a, i]
            size = max(size, abs(block.means[a, i]), abs(block.moved[a, i]))
    for i in range(BLOCK):
        sketch.common[i] = block.common[i]
    return np.float32(SINGLE * size)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def bound(
    world: Centred, largest: Largest, k: int, sketch: Sketch, a: int, b: int, slack: np.float32, room: Room
) -> None:
    """Bounds of a pair's squared difference and of its variance in every draw.

    In loops of few arrays each: only those are compiled to vector instructions.
    """
    n = world.z.shape[1]
    at, s, weights = largest.topics[k], largest.squares[k], sketch.weights
    gap, least, common = room.gap, room.least, sketch.common
    w0, w1, w2, w3 = weights[at[0]], weights[at[1]], weights[at[2]], weights[at[3]]
    s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
    for i in range(BLOCK):
        least[i] = s0 * w0[i] + s1 * w1[i] + s2 * w2[i] + s3 * w3[i]
    w0, w1, w2, w3 = weights[at[4]], weights[at[5]], weights[at[6]], weights[at[7]]
    s0, s1, s2, s3 = s[4], s[5], s[6], s[7]
    for i in range(BLOCK):
        least[i] += s0 * w0[i] + s1 * w1[i] + s2 * w2[i] + s3 * w3[i]
    part, less, zero = np.float32(world.share / (n - 1.0)), np.float32(1.0 - SINGLE), np.float32(0.0)
    one, other = sketch.means[a], sketch.means[b]
    for i in range(BLOCK):
        wide = abs(one[i] - other[i]) + slack
        gap[i] = wide * wide
    for i in range(BLOCK):
        least[i] = less * (max(less * least[i] - part * gap[i], zero) + common[i])


@njit(cache=True, nogil=True)
def bound_moved(sketch: Sketch, a: int, b: int, slack: np.float32, room: Room) -> None:
    """The bounds of a pair with chance effects, once they are known without."""
    gap, least, less = room.gap, room.least, np.float32(1.0 - SINGLE)
    one, other = sketch.variances[a], sketch.variances[b]
    for i in range(BLOCK):
        least[i] += less * (one[i] + other[i])
    one, other = sketch.moved[a], sketch.moved[b]
    for i in range(BLOCK):
        wide = abs(one[i] - other[i]) + slack
        gap[i] = wide * wide


@njit(cache=True, nogil=True)
def worth_a_look(sketch: Sketch, a: int, b: int, near: bool, drawn: int, room: Room) -> int:
    """How many draws of a pair may change anything, put first in room.draws."""
    zero = np.float32(0.0)
    gap, least, seen, largest = room.gap, room.least, room.seen, sketch.pairs
    for i in range(BLOCK):
        seen[i] = not (gap[i] <= largest[i] * least[i])  # NaN, which is ∞·0, is looked at
    if near:
        one, other = sketch.moved[a], sketch.moved[b]
        lower, upper = sketch.systems[0, a], sketch.systems[1, b]
        for i in range(BLOCK):  # rounding may make two means equal, but not change their order
            lead = min(lower[i], upper[i])
            seen[i] |= ((one[i] <= other[i]) | (lead <= zero)) & (gap[i] >= lead * least[i])
        lower, upper = sketch.systems[0, b], sketch.systems[1, a]
        for i in range(BLOCK):
            lead = min(lower[i], upper[i])
            seen[i] |= ((other[i] <= one[i]) | (lead <= zero)) & (gap[i] >= lead * least[i])
    count = 0
    for word in range(BLOCK // EIGHT):
        if room.words[word] != 0:
            for i in range(EIGHT * word, EIGHT * word + EIGHT):
                room.draws[count] = i
                count += seen[i]
    while count > 0 and room.draws[count - 1] >= drawn:
        count -= 1
    return count


@njit(inline="always")
def note(
    targets: Targets,
    a: int,
    b: int,
    i: int,
    gap: float,
    squared: float,
    peaks: Floats,
    systems: Singles,
    tally: Tally,
) -> None:
    """Note t² of a pair in draw i of a block, and count the draw for a system that is reached by it."""
    peaks[i] = max(peaks[i], squared)
    first_leads = squared if gap > 0.0 else -squared
    second_leads = squared if gap < 0.0 else -squared
    reach(targets, 0, a, i, second_leads, systems, tally)
    reach(targets, 0, b, i, first_leads, systems, tally)
    reach(targets, 1, a, i, first_leads, systems, tally)
    reach(targets, 1, b, i, second_leads, systems, tally)


@njit(inline="always")
def reach(targets: Targets, side: int, a: int, i: int, lead: float, systems: Singles, tally: Tally) -> None:
    """Count draw i for a system that this lead of another, or over another, reaches first."""
    if lead >= targets.systems[a] and systems[side, a, i] < np.inf:
        tally.systems[side, a] += 1
        systems[side, a, i] = np.inf


@njit(cache=True, nogil=True, error_model="numpy")
def draw_block(world: Centred, key: np.uint64, first: int, drawn: int, block: Block, sketch: Sketch) -> None:
    """Draws first … first + drawn - 1 with their means and common variance; a block's other draws draw nothing."""
    systems, topics = world.z.shape
    draw_weights(world, key, first, drawn, block)
    for t in range(topics):
        for i in range(BLOCK):
            sketch.weights[t, i] = block.counts[i, t]
    block.common[:] = 0.0
    values, totals = np.empty((2, topics)), np.empty((2, BLOCK))
    for a in range(systems):
        for t in range(topics):
            values[0, t] = world.z[a, t]
            values[1, t] = world.z[a, t] * world.z[a, t]
        weigh(values, sketch.weights, totals)
        for i in range(BLOCK):
            mean = totals[0, i] / topics
            block.means[a, i] = mean
            block.moved[a, i] += mean
            own = totals[1, i] - topics * mean * mean
            block.common[i] += own if own > ROUNDING * totals[1, i] else 0.0
    for i in range(BLOCK):  # topic means are 0, so that the squares of all pairs are those of all systems
        block.common[i] *= (1.0 - world.share) / topics * 2.0 / ((topics - 1.0) * (systems - 1.0))


@njit(cache=True, nogil=True, error_model="numpy")
def draw_weights(world: Centred, key: np.uint64, first: int, drawn: int, block: Block) -> None:
    """Times that topics are drawn; then the chance effects, from the same random numbers."""
    systems, topics = world.z.shape
    effect, variance = np.zeros(systems), np.zeros(systems)
    state = np.empty(1, dtype=np.uint64)
    block.counts[:] = 0.0
    block.moved[:] = 0.0
    block.variances[:] = 0.0
    for i in range(drawn):
        start(key, first + i, state)
        for _ in range(topics):
            block.counts[i, below(topics, state)] += 1.0
        if world.noise.size.size > 0:
            draw_noise(world.noise, state, effect, variance)
            for a in range(systems):
                block.moved[a, i], block.variances[a, i] = effect[a], variance[a]


@njit(cache=True, nogil=True)
def square_gaps(world: Centred, a: int, b: int, out: Floats) -> None:
    """Squared differences of two systems topic by topic, 0 where they are rounding."""
    one, other = world.z[a], world.z[b]
    for t in range(out.size):
        gap = one[t] - other[t]
        out[t] = gap * gap if abs(gap) > world.floor else 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def weigh(values: Floats, weights: Singles, out: Floats) -> None:
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


@njit(inline="always", error_model="numpy")
def squared_t(world: Centred, block: Block, a: int, b: int, i: int, squares: Floats) -> tuple[float, float]:
    """Difference of a pair and its t² in draw i; without any spread 0 for equal systems and ∞ for unequal ones."""
    n = squares.size
    gap = block.means[a, i] - block.means[b, i]
    total = weigh_one(squares, block.counts, i)
    own = total - n * gap * gap
    own = own if own > ROUNDING * total else 0.0
    v = world.share / (n * (n - 1.0)) * own + block.common[i]
    if world.noise.size.size > 0:
        v += block.variances[a, i] + block.variances[b, i]
        gap = block.moved[a, i] - block.moved[b, i]
    d = gap if abs(gap) > world.floor else 0.0
    return gap, d * d / v if v > 0.0 else (np.inf if d != 0.0 else 0.0)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def weigh_one(values: Floats, counts: Singles, i: int) -> float:
    """Σ_t values[t]·counts[i, t], in vector instructions."""
    total = 0.0
    for t in range(values.size):
        total += values[t] * counts[i, t]
    return total


@njit(cache=True, nogil=True)
def count_from(values: Floats, least: float) -> int:
    """How many values are at least so large."""
    count = 0
    for i in range(values.size):
        count += values[i] >= least
    return count
