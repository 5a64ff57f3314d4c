"""What draws from a world without differences say of pairs and systems: step-down p-values, maxima, the top group."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from shardwise.core.arguments import CHUNKS, lent, mapped, workers
from shardwise.core.arrays import Floats, Ints
from shardwise.methods.moderated.draws import BLOCK_SIZE as BLOCK
from shardwise.methods.paired.max_t import TIE


class Targets(NamedTuple):
    """What the draws are held against, pairs by falling |t|."""

    ia: Ints  # (P,)
    ib: Ints
    pairs: Floats  # (P,) t²
    systems: Floats  # (R,) signed t² of the system that is furthest above


class Tally(NamedTuple):
    """Draws as large as the targets."""

    falling: Ints  # (P,) in which the largest t² of the pair and all later ones is
    systems: Ints  # (2, R) in which some system is as far above; in which some is as far below


Count = Callable[[Targets, np.uint64, int, int, Tally, Floats], None]


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """What the draws say of the pairs and systems of one table."""

    p_adjusted: Floats  # (P,) step-down
    maxima: Floats  # (B,) largest t² of all pairs in every draw, ascending
    p_best: Floats  # (R,) that a system is as good as the best: the larger tail of the leads over it and of its own

    def critical(self, alpha: float) -> float:
        """The c of the simultaneous intervals d ± c·se: the upper α quantile of max |t*|; ∞ with too few draws."""
        k = math.floor(alpha * (self.maxima.size + 1) * (1 + 1e-12))
        return math.inf if k < 1 else math.sqrt(float(self.maxima[-k]) / (1.0 - TIE))

    def top_group(self, alpha: float) -> Ints:
        """Systems that hold the best with probability 1 - α (Hsu 1981): all that no system is too far above."""
        return np.flatnonzero(self.p_best > alpha)


def law_of(
    counting: Callable[[Ints, Ints], Count],
    systems: int,
    ia: Ints,
    ib: Ints,
    t: Floats,
    key: np.uint64,
    n_resamples: int,
    jobs: int | None,
) -> Law:
    """Draw from a world without differences, and hold its pairs against their observed t (P,).

    An executor that was lent draws, or else threads; with one job neither, as the work is shared out already.

    ``counting`` says how draws are counted for pairs in the order given to it, by falling |t|. Pairs whose t is NaN are
    left out.
    """
    order = np.argsort(-(t**2), kind="stable")[: np.count_nonzero(~np.isnan(t))]  # NaN is last
    p_adjusted = np.full(t.size, np.nan)
    ia, ib, t = ia[order], ib[order], t[order]
    count = counting(ia, ib)
    best = furthest_above(t, ia, ib, systems)
    lower = best * np.where(best > 0.0, 1.0 - TIE, 1.0 + TIE)
    targets = Targets(ia, ib, t**2 * (1.0 - TIE), lower)
    executor = None if jobs == 1 else lent()
    blocks = -(-n_resamples // BLOCK)
    step = max(1, -(-blocks // (4 * workers(jobs) if executor is None else CHUNKS)))
    ranges = [(first, min(first + step, blocks)) for first in range(0, blocks, step)]
    work = partial(_tally, count, targets, key, n_resamples)
    tallies, peaks = zip(*mapped(work, ranges, jobs=jobs, executor=executor), strict=True)
    maxima = np.concatenate(peaks)
    falling, sides = (sum(parts) + 1 for parts in zip(*tallies, strict=True))
    p_adjusted[order] = np.maximum.accumulate(falling) / (n_resamples + 1)
    p_best = np.where(np.isneginf(best), 1.0, sides.max(axis=0) / (n_resamples + 1))
    return Law(p_adjusted, np.sort(maxima), p_best)


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
    count: Count, targets: Targets, key: np.uint64, n_resamples: int, blocks: tuple[int, int]
) -> tuple[Tally, Floats]:
    """The tally of some blocks of draws, and the largest t² of each of these."""
    maxima = np.empty(n_resamples)  # of which only the pages of these blocks are ever touched
    pairs, systems = targets.ia.size, targets.systems.size
    tally = Tally(np.zeros(pairs, dtype=np.int64), np.zeros((2, systems), dtype=np.int64))
    count(targets, key, blocks[0], blocks[1], tally, maxima)
    return tally, maxima[blocks[0] * BLOCK : blocks[1] * BLOCK].copy()
