"""Joint distribution of the largest t² over resampled tables without differences: step-down p-values and maxima."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from shardwise.core.arguments import CHUNKS, borrow_executor, count_workers, map_parallel
from shardwise.core.arrays import Floats, Ints
from shardwise.methods.moderated.draws import BLOCK_SIZE as BLOCK
from shardwise.stats.stepdown import TIE, adjust_counts, find_critical, order_targets


class Targets(NamedTuple):
    """Observed statistics that resampled ones are compared with, pairs by falling |t|."""

    ia: Ints  # (P,)
    ib: Ints
    pairs: Floats  # (P,) t²


# adds to the last but one argument, (P,), the draws in which the largest t² of a pair and all later ones is as large
Count = Callable[[Targets, np.uint64, int, int, Ints, Floats], None]


@dataclass(frozen=True, slots=True, eq=False)
class ResampledDistribution:
    """Joint distribution of the pairs of one table."""

    p_adjusted: Floats  # (P,) step-down
    maxima: Floats  # (B,) largest t² of all pairs in every draw, ascending

    def critical(self, alpha: float) -> float:
        """The c of the simultaneous intervals d ± c·se: the upper α quantile of max |t*|; ∞ with too few draws."""
        return math.sqrt(find_critical(self.maxima, alpha) / (1.0 - TIE))


def distribution_of(
    counting: Callable[[Ints, Ints], Count],
    ia: Ints,
    ib: Ints,
    t: Floats,
    key: np.uint64,
    n_resamples: int,
    jobs: int | None,
) -> ResampledDistribution:
    """Draw from a scenario without differences, and hold its pairs against their observed t (P,).

    An executor that was lent draws, or else threads; with one job neither, as the work is shared out already.

    ``counting`` says how draws are counted for pairs in the order given to it, by falling |t|. Pairs whose t is NaN are
    left out.
    """
    order, least = order_targets(t**2)
    targets = Targets(ia[order], ib[order], least)
    count = counting(targets.ia, targets.ib)
    executor = None if jobs == 1 else borrow_executor()
    blocks = -(-n_resamples // BLOCK)
    step = max(1, -(-blocks // (4 * count_workers(jobs) if executor is None else CHUNKS)))
    ranges = [(first, min(first + step, blocks)) for first in range(0, blocks, step)]
    work = partial(_count_blocks, count, targets, key, n_resamples)
    counts, peaks = zip(*map_parallel(work, ranges, jobs=jobs, executor=executor), strict=True)
    p_adjusted = adjust_counts(np.sum(counts, axis=0), order, n_resamples, t.size)
    return ResampledDistribution(p_adjusted, np.sort(np.concatenate(peaks)))


def _count_blocks(
    count: Count, targets: Targets, key: np.uint64, n_resamples: int, blocks: tuple[int, int]
) -> tuple[Ints, Floats]:
    """Count some blocks of draws, and return the largest t² of each of these."""
    maxima = np.empty(n_resamples)  # of which only the pages of these blocks are ever touched
    falling = np.zeros(targets.ia.size, dtype=np.int64)
    count(targets, key, blocks[0], blocks[1], falling, maxima)
    return falling, maxima[blocks[0] * BLOCK : blocks[1] * BLOCK].copy()
