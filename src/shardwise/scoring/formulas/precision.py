"""Formulas on sets, ranks and recall: what trec_eval, ir_measures and ranx have beyond the compiled measures."""

from __future__ import annotations

import math

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.scoring.formulas.rankings import Ranked

LOG_FLOOR = 1e-5
"""Least value of a topic in a geometric mean, as trec_eval has it."""
ELEVEN_POINTS = tuple(i / 10 for i in range(11))


def count_relevant(ranked: Ranked) -> int:
    """Count the relevant documents down to the cutoff."""
    return int(np.count_nonzero(ranked.gains[: ranked.cutoff] > 0))


def set_f(ranked: Ranked) -> float:
    """F of precision and recall over what was retrieved: (b + 1) P R / (R + b P)."""
    if not (hits := count_relevant(ranked)):
        return 0.0
    depth = len(ranked.gains) if ranked.cutoff is None else ranked.cutoff
    precision, recall, beta = hits / depth, hits / ranked.n_relevant, float(ranked.parameters["beta"])
    return (beta + 1.0) * precision * recall / (recall + beta * precision)


def set_ap(ranked: Ranked) -> float:
    """Set precision times set recall."""
    if not (hits := count_relevant(ranked)):
        return 0.0
    return hits / len(ranked.gains) * hits / ranked.n_relevant


def set_relative_p(ranked: Ranked) -> float:
    """Relevant documents retrieved over as many as could be among so many retrieved."""
    best = min(len(ranked.gains), ranked.n_relevant)
    return count_relevant(ranked) / best if best else 0.0


def interpolated_precisions(ranked: Ranked, levels: tuple[float, ...]) -> Floats:
    """Highest precision at or below the rank where each level of recall is reached; 0 where it is not.

    A level r is reached at the int(r R + 0.9)th relevant document as in trec_eval up to version 9, or at the one
    nearest to r R as in version 10.
    """
    ranks = np.flatnonzero(ranked.gains > 0) + 1.0
    precisions = np.arange(1, len(ranks) + 1) / ranks
    highest = np.append(np.maximum.accumulate(precisions[::-1])[::-1], 0.0)
    nearest = ranked.parameters["reach"] == "nearest"
    needed = np.array([int(level * ranked.n_relevant + (0.5 if nearest else 0.9)) for level in levels])
    return np.asarray(highest[np.minimum(np.maximum(needed, 1) - 1, len(ranks))])


def interpolated_precision(ranked: Ranked) -> float:
    """Interpolated precision at one level of recall."""
    return float(interpolated_precisions(ranked, (ranked.recall,))[0])


def interpolated_average(ranked: Ranked) -> float:
    """Mean interpolated precision at some levels of recall, eleven of them unless others are given."""
    points = ranked.parameters["points"] or ELEVEN_POINTS
    return float(np.mean(interpolated_precisions(ranked, points)))


def multiple_r_precision(ranked: Ranked) -> float:
    """Precision at ``times`` R documents, that number rounded as trec_eval does it."""
    depth = int(float(ranked.parameters["times"]) * ranked.n_relevant + 0.9)
    return np.count_nonzero(ranked.gains[:depth] > 0) / depth if depth else 0.0


def linear_utility(ranked: Ranked) -> float:
    """a x relevant and b x other documents retrieved, c x relevant and d x other documents not retrieved."""
    of = ranked.parameters
    hits, retrieved, relevant = count_relevant(ranked), len(ranked.gains), ranked.n_relevant
    others = float(of["documents"]) + hits - retrieved - relevant
    return float(
        of["a"] * hits + of["b"] * (retrieved - hits) + of["c"] * (relevant - hits) + of["d"] * others
    )


def binary_g(ranked: Ranked) -> float:
    """Mean over relevant documents of 1 / log2(2 + documents above that are not relevant)."""
    above = np.flatnonzero(ranked.gains > 0)
    above = above - np.arange(len(above))
    return float(np.sum(1.0 / np.log2(2.0 + above))) / ranked.n_relevant


def normalized_g(ranked: Ranked) -> float:
    """Sum of gain / log2(2 + cost - gain so far) over the gain there is; a rank costs its ideal gain, at least 1."""
    ideal = ranked.ideal_gains()
    cost = np.ones(len(ranked.gains))
    best = ideal[: len(cost)]
    cost[: len(best)] = np.maximum(best, 1.0)
    behind = np.cumsum(cost) - np.cumsum(ranked.gains)
    counted = ranked.gains > 0
    return float(np.sum(ranked.gains[counted] / np.log2(2.0 + behind[counted])) / np.sum(ideal))


def _discounted_gains(gains: Floats) -> Floats:
    """Discounted gain down to each rank."""
    return np.cumsum(gains / np.log2(np.arange(2.0, len(gains) + 2.0)))


def _both_dcg(ranked: Ranked) -> tuple[Floats, Floats, Floats]:
    """Ideal gains, and discounted gain of the ranking and of the ideal one, as deep as the deeper of both."""
    ideal = ranked.ideal_gains()
    room = max(len(ranked.gains), len(ideal))
    gained = np.zeros(room)
    gained[: len(ranked.gains)] = ranked.gains
    best = np.zeros(room)
    best[: len(ideal)] = ideal
    return ideal, _discounted_gains(gained), _discounted_gains(best)


def ndcg_at_relevant(ranked: Ranked) -> float:
    """Mean of nDCG at the rank of each relevant document; where it was not retrieved, at the end."""
    ideal, gained, best = _both_dcg(ranked)
    ranks = np.flatnonzero(ranked.gains > 0)
    lost = len(ideal) - len(ranks)
    return float(np.sum(gained[ranks] / best[ranks]) + lost * gained[-1] / best[-1]) / len(ideal)


def ndcg_at_changes(ranked: Ranked) -> float:
    """Mean of nDCG where the ideal ranking changes its gain, and at the end of the ranking if that is deeper."""
    ideal, gained, best = _both_dcg(ranked)
    depths = [int(depth) for depth in np.flatnonzero(np.diff(ideal)) + 1]
    # the gain falls to 0 behind the last relevant document, which a ranking of that length does not see
    depths.append(len(ideal))
    values = [gained[depth - 1] / best[depth - 1] for depth in depths]
    if len(ranked.gains) > len(ideal) + 1:
        values.append(gained[-1] / best[-1])
    return float(np.mean(values))


def _rank_persistence(ranked: Ranked, depth: int) -> Floats:
    """p^(rank - 1) of each rank."""
    return np.asarray(float(ranked.parameters["p"]) ** np.arange(depth))


def scaled_rbp(ranked: Ranked) -> float:
    """Rank-biased precision with gains as they are, or over the largest gain of the topic."""
    gains = np.maximum(ranked.gains[: ranked.cutoff], 0.0)
    scale = 1.0
    if ranked.parameters["scale"] == "topic":
        # gains that are named count even where the topic has no document of that grade, as in trec_eval
        named = [float(gain) for _, gain in ranked.parameters["gains"] or ()]
        scale = max(1.0, float(np.max(ranked.pool_gains, initial=0.0)), *named)
    weights = _rank_persistence(ranked, len(gains))
    return (1.0 - float(ranked.parameters["p"])) * float(np.sum(gains * weights)) / scale


def rbp_residual(ranked: Ranked) -> float:
    """What documents without a judgment could add to RBP: (1 - p) sum p^(rank - 1) over them, and p^n below."""
    unjudged = ~ranked.judged
    if not unjudged.any():
        return 0.0
    p = float(ranked.parameters["p"])
    weights = _rank_persistence(ranked, len(unjudged))
    return float(p ** len(unjudged) + (1.0 - p) * np.sum(weights[unjudged]))


def unjudged_share(ranked: Ranked) -> float:
    """Documents without a judgment among the first k, divided by k."""
    depth = len(ranked.grades) if ranked.cutoff is None else ranked.cutoff
    return float(np.count_nonzero(~ranked.judged[:depth]) / depth) if depth else 0.0


def count_nonrelevant(ranked: Ranked) -> float:
    """Count the judged documents retrieved that are not relevant."""
    return float(np.count_nonzero(ranked.judged & (ranked.gains <= 0)))


def log_average_precision(ranked: Ranked) -> float:
    """Logarithm of average precision, which is at least 1e-5."""
    ranks = np.flatnonzero(ranked.gains > 0) + 1.0
    average = np.sum(np.arange(1, len(ranks) + 1) / ranks) / ranked.n_relevant if len(ranks) else 0.0
    return math.log(max(float(average), LOG_FLOOR))


def log_preference(ranked: Ranked) -> float:
    """Logarithm of bpref, which is at least 1e-5; gains are 1 for relevant and -1 for judged nonrelevant documents."""
    relevant, others = ranked.n_relevant, int(np.count_nonzero(ranked.pool_gains < 0))
    above = np.cumsum(ranked.gains < 0)[ranked.gains > 0]
    shares = np.where(above > 0, 1.0 - np.minimum(above, relevant) / max(min(others, relevant), 1), 1.0)
    return math.log(max(float(np.sum(shares)) / relevant, LOG_FLOOR)) if relevant else math.log(LOG_FLOOR)


def ideal_overlap(ranked: Ranked) -> float:
    """Rank-biased overlap with the ideal ranking: better grades first, of equal grades the order retrieved."""
    ranks = np.flatnonzero(ranked.gains > 0)
    gains, ideal = ranked.gains[ranks], ranked.ideal_gains()
    # retrieved documents of a grade come before those of the same grade that were not retrieved
    places = np.empty(len(ranks), dtype=np.int64)
    for gain in np.unique(gains):
        same = np.flatnonzero(gains == gain)
        places[same] = np.count_nonzero(ideal > gain) + np.arange(len(same))
    depth = max(len(ranked.gains), len(ideal))
    weights = _rank_persistence(ranked, depth) / np.arange(1, depth + 1)
    shared = np.cumsum(np.bincount(np.maximum(ranks, places), minlength=depth)[:depth])
    overlap = float(np.sum(weights * shared))
    if not ranked.parameters["normalize"]:
        return overlap / float(np.sum(_rank_persistence(ranked, depth)))
    best = float(np.sum(weights * np.minimum(np.arange(1, depth + 1), len(ideal))))
    return overlap / best if best else 0.0


def pair_accuracy(ranked: Ranked) -> float:
    """Share of the pairs of a relevant and another document retrieved whose relevant document stands first."""
    relevant = ranked.gains[: ranked.cutoff] > 0
    others = np.count_nonzero(~relevant)
    if not relevant.any() or not others:
        return math.nan
    above = np.cumsum(~relevant)[relevant]
    return float(1.0 - np.sum(above) / (others * np.count_nonzero(relevant)))
