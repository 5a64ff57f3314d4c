"""Formulas of NTCIREVAL on the blended ratio (Sakai 2007; Sakai & Robertson 2008)."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.scoring.formulas.rankings import Ranked


def _relevant_ranks(ranked: Ranked) -> Ints:
    """Ranks of the documents with a gain."""
    return np.asarray(np.flatnonzero(ranked.gains[: ranked.cutoff] > 0) + 1)


def _blended_ratios(ranked: Ranked, ranks: Ints, beta: float) -> Floats:
    """(C + beta G) / (r + beta I) at each rank r of a relevant document."""
    ideal = np.cumsum(ranked.ideal_gains())
    gained = np.cumsum(ranked.gains[ranks - 1])
    best = ideal[np.minimum(ranks, len(ideal)) - 1]
    return np.asarray((np.arange(1, len(ranks) + 1) + beta * gained) / (ranks + beta * best))


def _until_preferred(ranked: Ranked, ranks: Ints) -> Bools:
    """Whether each relevant document stands at or above the first one of the highest gain retrieved."""
    gains = ranked.gains[ranks - 1]
    return np.asarray(np.arange(len(ranks)) <= int(np.argmax(gains)))


def o_measure(ranked: Ranked) -> float:
    """Blended ratio at the first relevant document."""
    ranks = _relevant_ranks(ranked)
    return float(_blended_ratios(ranked, ranks, float(ranked.parameters["beta"]))[0]) if len(ranks) else 0.0


def p_measure(ranked: Ranked) -> float:
    """Blended ratio at the preferred rank, that of the first document of the highest gain retrieved."""
    ranks = _relevant_ranks(ranked)
    if not len(ranks):
        return 0.0
    ratios = _blended_ratios(ranked, ranks, float(ranked.parameters["beta"]))
    return float(ratios[_until_preferred(ranked, ranks)][-1])


def p_plus(ranked: Ranked) -> float:
    """Mean of the blended ratio over the relevant documents down to the preferred rank."""
    ranks = _relevant_ranks(ranked)
    if not len(ranks):
        return 0.0
    ratios = _blended_ratios(ranked, ranks, float(ranked.parameters["beta"]))
    return float(np.mean(ratios[_until_preferred(ranked, ranks)]))


def cumulative_utility(ranked: Ranked) -> float:
    """Blended ratio over relevant documents, weighted by how likely a user stops there (NCU).

    With ``stop='graded'`` users stop at documents of a grade in proportion to its gain, or to ``stops``; with
    ``'rank'`` at the nth relevant document in proportion to gamma^(n - 1). With beta = 0 the ratio is precision.
    """
    ranks = _relevant_ranks(ranked)
    if not len(ranks):
        return 0.0
    of = ranked.parameters
    ratios = _blended_ratios(ranked, ranks, float(of["beta"]))
    if of["stop"] == "rank":
        chances = float(of["gamma"]) ** np.arange(max(ranked.n_relevant, len(ranks)))
        return float(ratios @ chances[: len(ranks)] / np.sum(chances[: ranked.n_relevant]))
    named = dict(of["stops"] or ())
    chance = np.vectorize(lambda grade: float(named.get(int(grade), max(grade, 0))), otypes=[np.float64])
    total = float(np.sum(chance(ranked.pool[ranked.pool_gains > 0])))
    return float(ratios @ chance(ranked.grades[ranks - 1]) / total)
