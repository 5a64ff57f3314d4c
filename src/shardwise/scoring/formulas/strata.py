"""Formulas on pools of which every stratum was sampled at its own rate, as NIST's sample_eval has them."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.scoring.formulas.rankings import StratumRanked

EPSILON = 1e-5
"""Keeps estimated precisions from 0/0, as in sample_eval."""


def _relevant_down_to(ranked: StratumRanked) -> Floats:
    """Relevant documents that the sampled ones suggest among the first 1, 2, … retrieved."""
    gains, strata = ranked.gains[: ranked.cutoff], ranked.strata[: ranked.cutoff]
    total = np.zeros(len(gains))
    for stratum in np.unique(ranked.pool_strata):
        inside = strata == stratum
        pooled = np.cumsum(inside)
        sampled = np.cumsum(inside & (gains > -2.0))
        relevant = np.cumsum(inside & (gains > 0.0))
        total += pooled * (relevant + EPSILON) / (sampled + 3.0 * EPSILON)
    return total


def inferred_relevant(ranked: StratumRanked) -> float:
    """Relevant documents of the pool that the sampled ones stand for."""
    total = 0.0
    for stratum in np.unique(ranked.pool_strata):
        gains = ranked.pool_gains[ranked.pool_strata == stratum]
        sampled = np.count_nonzero(gains > -2.0)
        if sampled:
            total += np.count_nonzero(gains > 0.0) * len(gains) / sampled
    return float(total)


def inferred_relevant_retrieved(ranked: StratumRanked) -> float:
    """Relevant documents retrieved, as the sampled ones suggest."""
    down_to = _relevant_down_to(ranked)
    return float(down_to[-1]) if len(down_to) else 0.0


def inferred_precision(ranked: StratumRanked) -> float:
    """Relevant documents among the first k, as the sampled ones suggest, divided by k."""
    return inferred_relevant_retrieved(ranked) / float(ranked.cutoff or max(len(ranked.gains), 1))


def inferred_interpolated_precision(ranked: StratumRanked) -> float:
    """Highest inferred precision from the rank on where a level of recall is reached, eleven levels being walked.

    The walk goes from the end upwards and passes at most one level at a rank, as that of sample_eval does.
    """
    down_to = _relevant_down_to(ranked)
    levels = np.arange(11) / 10.0 * inferred_relevant(ranked)
    wanted = round(ranked.recall * 10)
    level = 10
    highest = 0.0
    end = float(down_to[-1]) if len(down_to) else 0.0
    while level >= 0 and levels[level] > end:
        level -= 1
    if wanted > level:
        return 0.0
    for rank in range(len(down_to), 0, -1):
        highest = max(highest, float(down_to[rank - 1]) / rank)
        if level >= 0 and levels[level] > down_to[rank - 1]:
            if level == wanted:
                return highest
            level -= 1
    return highest


def capped_inferred_ap(ranked: StratumRanked) -> float:
    """Extended inferred AP divided by min(k, inferred R), as TRECVID's version of sample_eval has it."""
    gains, strata = ranked.gains[: ranked.cutoff], ranked.strata[: ranked.cutoff]
    # relevant documents that are suggested above each rank; the walk down includes the rank itself
    above = np.concatenate([[0.0], _relevant_down_to(ranked)[:-1]])
    precisions = (1.0 + above) / np.arange(1, len(gains) + 1)
    total = 0.0
    for stratum in np.unique(ranked.pool_strata):
        pool = ranked.pool_gains[ranked.pool_strata == stratum]
        sampled = np.count_nonzero(pool > -2.0)
        if sampled:
            relevant = (strata == stratum) & (gains > 0.0)
            total += float(np.sum(precisions[relevant])) * len(pool) / sampled
    inferred = inferred_relevant(ranked)
    return total / min(inferred, float(ranked.cutoff or np.inf)) if inferred else 0.0


def unrounded_inferred_ndcg(ranked: StratumRanked) -> float:
    """Inferred nDCG whose ideal ranking has fractions of documents: TRECVID's version does not round their number."""
    gains, strata = ranked.gains[: ranked.cutoff], ranked.strata[: ranked.cutoff]
    discounts = 1.0 / np.log2(np.arange(2.0, len(gains) + 2.0))
    gained = 0.0
    expected: dict[float, float] = {}
    for stratum in np.unique(ranked.pool_strata):
        inside, pool = strata == stratum, ranked.pool_gains[ranked.pool_strata == stratum]
        sampled = np.count_nonzero(inside & (gains > -2.0))
        if sampled:
            sums = np.sum(np.where(inside & (gains > 0.0), gains * discounts, 0.0))
            gained += float(sums) * np.count_nonzero(inside) / sampled
        rate = np.count_nonzero(pool > -2.0) / len(pool)
        for gain, count in zip(*np.unique(pool[pool > 0.0], return_counts=True), strict=True):
            expected[gain] = expected.get(gain, 0.0) + count / rate
    best, start = 0.0, 0.0
    for gain in sorted(expected, reverse=True):
        ranks = start + np.arange(1.0, np.floor(expected[gain]) + 1.0)
        if ranked.cutoff is not None:
            # sample_eval leaves its loop behind the rank that reaches the limit
            ranks = ranks[np.concatenate([[True], ranks[:-1] < ranked.cutoff])[: len(ranks)]]
        best += float(np.sum(gain / np.log2(ranks + 1.0)))
        start += expected[gain]
    return gained / best if best else 0.0
