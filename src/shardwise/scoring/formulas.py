"""Formulas of measures: functions of one ranking in one shard and the judgments of its topic there.

A user of C/W/L (Moffat et al. 2017) who is at rank i goes on to the next with probability C(i). Then V(i), the
probability of reaching rank i, is the product of the C above; W(i) = V(i) / sum V is the share of attention that rank i
gets, and L(i) = V(i) (1 - C(i)) the probability of reading i last. As in cwl-eval a list has 1,000 ranks, those beyond
the ranking without gain, and reading a document costs 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats, Grades, Ints

Parameters = Mapping[str, Any]


def binary_gain(grades: Floats, parameters: Parameters) -> Floats:
    """1 from grade ``rel`` on, else 0."""
    return np.where(grades >= parameters["rel"], 1.0, 0.0)


def share_gain(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade where gains are given or gains are scaled, else 1 from grade ``rel`` on."""
    graded = parameters["gains"] or parameters["scale"]
    return grade_gain(grades, parameters) if graded else binary_gain(grades, parameters)


def scaled_grade(grades: Floats, parameters: Parameters) -> Floats:
    """Grade on a scale that is 0 at ``min_rel`` and 1 at ``max_rel``, none below or above."""
    lowest, highest = float(parameters["min_rel"]), float(parameters["max_rel"])
    return (np.clip(np.maximum(grades, 0.0), lowest, highest) - lowest) / (highest - lowest)


def preference_sign(grades: Floats, parameters: Parameters) -> Floats:
    """1 for relevant, -1 for judged nonrelevant, 0 for negative grades, which trec_eval takes as unjudged."""
    return np.where(grades >= parameters["rel"], 1.0, np.where(grades >= 0, -1.0, 0.0))


def sampled_sign(grades: Floats, parameters: Parameters) -> Floats:
    """1 for relevant, -1 for judged nonrelevant, -2 for pooled but not judged, which is any negative grade."""
    return np.where(grades >= parameters["rel"], 1.0, np.where(grades >= 0, -1.0, -2.0))


def sampled_gain(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade where it is above 0, -1 for judged without gain, -2 for pooled but not judged."""
    gain = grade_gain(grades, parameters)
    return np.where(grades < 0, -2.0, np.where(gain > 0, gain, -1.0))


def judged_gain(grades: Floats, parameters: Parameters) -> Floats:
    """1 for every judged document."""
    return np.ones_like(grades)


def zero_gain(grades: Floats, parameters: Parameters) -> Floats:
    """0 for every document: only their number matters."""
    return np.zeros_like(grades)


def grade_gain(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade, never below 0, exponential (2^g - 1) where the name says so."""
    linear: Floats = np.maximum(grades, 0.0)
    for grade, gain in parameters["gains"] or ():
        linear[grades == grade] = max(float(gain), 0.0)
    exponential = parameters.get("dcg") == "exp-log2" or parameters.get("gain") == "exp"
    return np.exp2(linear) - 1.0 if exponential else linear


def stopping_probability(grades: Floats, parameters: Parameters) -> Floats:
    """Probability (2^g - 1) / 2^max that a reader is satisfied by a document of gain g, or g / (max + 1)."""
    highest = float(parameters["max_rel"])
    if parameters["stop"] == "gain":
        return grade_gain(grades, parameters) / (highest + 1.0)
    # (2^g - 1) / 2^max without numbers that are too large
    return np.asarray(np.exp2(grade_gain(grades, parameters) - highest) - np.exp2(-highest))


def logarithmic_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount 1/log2(rank + 1), or with a base b Järvelin & Kekäläinen's: 1 before rank b, then 1/log_b(rank)."""
    base = parameters.get("base")
    if base is None:
        return 1.0 / np.log2(ranks + 1.0)
    return np.reciprocal(np.maximum(np.log(ranks) / math.log(base), 1.0))


def geometric_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount (1 - p) p^(rank - 1): a reader goes on to the next document with probability p."""
    p = float(parameters["p"])
    return np.power(p, ranks - 1.0) * (1.0 - p)


def persistence_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount beta^(rank - 1)."""
    return np.power(float(parameters["beta"]), ranks - 1.0)


def reciprocal_discount(ranks: Floats, parameters: Parameters) -> Floats:
    """Discount 1/rank."""
    return 1.0 / ranks


class Ranked(NamedTuple):
    """One ranking and the judgments of its topic.

    ``cutoff`` is the last rank that counts, None where all do; ``recall`` is the level of recall that stands behind
    ``@`` in the name of a measure that is taken there.
    """

    grades: Grades  # of each retrieved document, best first; UNJUDGED where nobody judged
    gains: Floats  # of each of them; 0 where nobody judged
    pool: Grades  # of every judged document, in no order
    pool_gains: Floats  # of every judged document
    parameters: Parameters
    cutoff: int | None
    recall: float

    @property
    def judged(self) -> Bools:
        """Whether each retrieved document has a grade of 0 or more."""
        return np.asarray(self.grades >= 0)

    @property
    def n_relevant(self) -> int:
        """Number of judged documents with a gain."""
        return int(np.count_nonzero(self.pool_gains > 0))

    def ideal_gains(self) -> Floats:
        """Gains above 0 of all judged documents, best first."""
        return -np.sort(-self.pool_gains[self.pool_gains > 0])


class SubtopicRanked(NamedTuple):
    """One ranking and the judgments of its topic by subtopic."""

    gains: Floats  # (document, subtopic), best document first; 0 where nobody judged
    pool_gains: Floats  # (judged document, subtopic)
    weights: Floats  # probability of each subtopic, up to a factor
    parameters: Parameters
    cutoff: int | None
    recall: float


class StratumRanked(NamedTuple):
    """One ranking and the judgments of its topic by stratum of the pool; gain -1: not relevant, -2: not sampled."""

    gains: Floats  # of each retrieved document, best first; NaN outside the pool
    strata: Codes  # of each retrieved document; -1 outside the pool
    pool_gains: Floats
    pool_strata: Codes
    parameters: Parameters
    cutoff: int | None
    recall: float


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


def interpolated_precision(ranked: Ranked) -> float:
    """Mean of the highest precisions at or below the ranks where levels of recall are reached; 0 where one is not.

    The level is that behind ``@``, or the levels are ``points``, eleven of them unless others are given. A level r is
    reached at the int(r R + 0.9)th relevant document as in trec_eval up to version 9, or at the one nearest to r R as
    in version 10.
    """
    of = ranked.parameters
    levels = (of["points"] or ELEVEN_POINTS) if "points" in of else (ranked.recall,)
    ranks = np.flatnonzero(ranked.gains > 0) + 1.0
    precisions = np.arange(1, len(ranks) + 1) / ranks
    highest = np.append(np.maximum.accumulate(precisions[::-1])[::-1], 0.0)
    more = 0.5 if of["reach"] == "nearest" else 0.9
    needed = np.array([int(level * ranked.n_relevant + more) for level in levels])
    return float(np.mean(highest[np.minimum(np.maximum(needed, 1) - 1, len(ranks))]))


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


def _both_dcg(ranked: Ranked) -> tuple[Floats, Floats, Floats]:
    """Ideal gains, and discounted gain of the ranking and of the ideal one, as deep as the deeper of both."""
    ideal = ranked.ideal_gains()
    room = max(len(ranked.gains), len(ideal))
    gained = np.zeros(room)
    gained[: len(ranked.gains)] = ranked.gains
    best = np.zeros(room)
    best[: len(ideal)] = ideal
    discounts = np.log2(np.arange(2.0, room + 2.0))
    return ideal, np.cumsum(gained / discounts), np.cumsum(best / discounts)


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


def _blended_ratios(ranked: Ranked, ranks: Ints, beta: float) -> Floats:
    """(C + beta G) / (r + beta I) at each rank r of a relevant document."""
    ideal = np.cumsum(ranked.ideal_gains())
    gained = np.cumsum(ranked.gains[ranks - 1])
    best = ideal[np.minimum(ranks, len(ideal)) - 1]
    return np.asarray((np.arange(1, len(ranks) + 1) + beta * gained) / (ranks + beta * best))


def _measure_blended(pick: Callable[[Floats, int], Any]) -> Callable[[Ranked], float]:
    """Make a formula of the blended ratios, and of how many stand down to the first of the highest gain retrieved."""

    def measure(ranked: Ranked) -> float:
        ranks = np.flatnonzero(ranked.gains[: ranked.cutoff] > 0) + 1
        if not len(ranks):
            return 0.0
        ratios = _blended_ratios(ranked, ranks, float(ranked.parameters["beta"]))
        return float(pick(ratios, int(np.argmax(ranked.gains[ranks - 1])) + 1))

    return measure


# blended ratio at the first relevant document, at the preferred rank, and its mean down to there
o_measure = _measure_blended(lambda ratios, preferred: ratios[0])
p_measure = _measure_blended(lambda ratios, preferred: ratios[preferred - 1])
p_plus = _measure_blended(lambda ratios, preferred: np.mean(ratios[:preferred]))


def cumulative_utility(ranked: Ranked) -> float:
    """Blended ratio over relevant documents, weighted by how likely a user stops there (NCU).

    With ``stop='graded'`` users stop at documents of a grade in proportion to its gain, or to ``stops``; with
    ``'rank'`` at the nth relevant document in proportion to gamma^(n - 1). With beta = 0 the ratio is precision.
    """
    ranks = np.flatnonzero(ranked.gains[: ranked.cutoff] > 0) + 1
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


DEPTH = 1000
"""Ranks of a list, as in cwl-eval."""
_RANKS: Floats = np.arange(1.0, DEPTH + 1.0)
Continuation = Callable[[Floats, Parameters, int | None], Floats]


def _stop_at(depth: int | None) -> Floats:
    """Return 1 above a rank, 0 from there on."""
    return np.asarray((DEPTH if depth is None else depth) > _RANKS, dtype=np.float64)


def _weight_ratios(weights: Floats) -> Floats:
    """Return C of a user whose attention is known: W(i + 1) / W(i)."""
    ratios = np.zeros(DEPTH)
    np.divide(weights[1:], weights[:-1], out=ratios[:-1], where=weights[:-1] > 0)
    return ratios


def _square_reach(reach: Floats) -> Floats:
    """Return ((x - 1) / x)², with which INST and INSQ go on."""
    return np.asarray(np.square((reach - 1.0) / reach))


def _bejewelled_dynamic(gains: Floats, of: Parameters, cutoff: int | None) -> Floats:
    """Return C of a user who wants more or less with every document; moves before its rank count."""
    wanted = float(of["T"]) + np.concatenate([[0.0], np.cumsum(float(of["hb"]) * (gains - 0.5))[:-1]])
    going = np.logical_and.accumulate(np.cumsum(gains) < wanted)
    return np.asarray(going * _stop_at(cutoff))


def _foraging_goal(gains: Floats, of: Parameters, cutoff: int | None) -> Floats:
    """Return C of a forager who stops once enough is gained."""
    reach = (float(of["T"]) - np.cumsum(gains)) * float(of["R1"])
    return np.asarray(1.0 - 1.0 / (1.0 + float(of["b1"]) * np.exp(reach)))


def _foraging_rate(gains: Floats, of: Parameters, cutoff: int | None) -> Floats:
    """Return C of a forager who stops once documents bring too little."""
    reach = (float(of["A"]) - np.cumsum(gains) / _RANKS) * float(of["R2"])
    return np.asarray(1.0 / (1.0 + float(of["b2"]) * np.exp(reach)))


def _evaluate_user(ranked: Ranked, continuation: Continuation) -> float:
    """Return what a user gains a document (EU) or in all (ETU), pays (EC, ETC), and how deep is read (ED)."""
    gains = np.zeros(DEPTH)
    held = ranked.gains[:DEPTH]
    gains[: len(held)] = held
    going = continuation(gains, ranked.parameters, ranked.cutoff)
    reached = np.concatenate([[1.0], np.cumprod(going[:-1])])
    kind = ranked.parameters.get("value", "EU")
    if kind == "EU":
        return float(reached @ gains / np.sum(reached))
    if kind == "ED":
        return float(np.sum(reached))
    if kind == "EC":
        return 1.0
    last = reached * (1.0 - going)
    return float(last @ (np.cumsum(gains) if kind == "ETU" else _RANKS))


def truncated_ap(ranked: Ranked) -> float:
    """TrAP of cwl-eval, whose weights are (gain so far) / rank / R and do not add up to 1."""
    gains = np.zeros(DEPTH)
    held = ranked.gains[:DEPTH]
    gains[: len(held)] = held
    gained = np.cumsum(gains)
    gained[:-1][gained[:-1] == 0] = 1.0
    weights = gained / _RANKS / max(ranked.n_relevant, 1)
    kind = ranked.parameters.get("value", "EU")
    if kind == "ED":
        return float(1.0 / weights[0])
    if kind in ("EU", "EC"):
        return float(weights @ gains) if kind == "EU" else float(np.sum(weights))
    going = _weight_ratios(weights)
    last = np.concatenate([[1.0], np.cumprod(going[:-1])]) * (1.0 - going)
    return float(last @ (np.cumsum(gains) if kind == "ETU" else _RANKS))


def _make_formula(continuation: Continuation) -> Callable[[Ranked], float]:
    """Make a formula of a way of going on."""
    return lambda ranked: _evaluate_user(ranked, continuation)


# Each user is the probability C(i) of going on after rank i, given the gains, the parameters and the cutoff.
inst = _make_formula(
    lambda gains, of, cutoff: _square_reach(_RANKS + 2.0 * float(of["T"]) - np.cumsum(gains))
)
insq = _make_formula(lambda gains, of, cutoff: _square_reach(_RANKS + 2.0 * float(of["T"])))
bejewelled = _make_formula(lambda gains, of, cutoff: (np.cumsum(gains) < float(of["T"])) * _stop_at(cutoff))
discounted = _make_formula(
    lambda gains, of, cutoff: np.log2(_RANKS + 1.0) / np.log2(_RANKS + 2.0) * _stop_at(cutoff)
)
nearly_err_8 = _make_formula(lambda gains, of, cutoff: (1.0 - gains) * _stop_at(cutoff))
nearly_err_9 = _make_formula(
    lambda gains, of, cutoff: _RANKS / (_RANKS + 1.0) * (1.0 - gains) * _stop_at(cutoff)
)
nearly_err_10 = _make_formula(lambda gains, of, cutoff: float(of["p"]) * (1.0 - gains))
nearly_err_11 = _make_formula(
    lambda gains, of, cutoff: _square_reach(_RANKS + 2.0 * float(of["T"])) * (1.0 - gains)
)

USERS: dict[str, Continuation] = {
    "P": lambda gains, of, cutoff: _stop_at(cutoff),
    "RR": lambda gains, of, cutoff: np.asarray(np.cumsum(gains) <= 0, dtype=np.float64),
    "AP": lambda gains, of, cutoff: _weight_ratios(np.cumsum((gains / _RANKS)[::-1])[::-1]),
    "RBP": lambda gains, of, cutoff: np.full(DEPTH, float(of["p"])),
    "BPM-Dynamic": _bejewelled_dynamic,
    "TBG": lambda gains, of, cutoff: _weight_ratios(2.0 ** (-(_RANKS - 1.0) / float(of["H"]))),
    # attention falls in a line
    "U": lambda gains, of, cutoff: _weight_ratios(
        np.append(np.maximum(0.0, 1.0 - (_RANKS[:-1] - 1.0) / float(of["L"])), 0.0)
    ),
    "IFT-C1": _foraging_goal,
    "IFT-C2": _foraging_rate,
    "IFT-C1-C2": lambda gains, of, cutoff: (
        _foraging_goal(gains, of, cutoff) * _foraging_rate(gains, of, cutoff)
    ),
}


def named_user(ranked: Ranked) -> float:
    """Value of a ranking for the user that the parameter ``user`` names."""
    user = str(ranked.parameters["user"])
    return truncated_ap(ranked) if user == "TrAP" else _evaluate_user(ranked, USERS[user])


def _subtopic_shares(ranked: SubtopicRanked) -> Floats:
    """Weight of each subtopic among those with a relevant document; 0 for the others."""
    held = (ranked.pool_gains > 0).any(axis=0)
    weights = ranked.weights * held
    total = float(np.sum(weights))
    return np.asarray(weights / total if total else weights)


def average_precision_each(ranked: SubtopicRanked) -> Floats:
    """Average precision on each subtopic."""
    hits = ranked.gains > 0
    ranks = np.arange(1, len(hits) + 1)[:, None]
    sums = np.sum(np.where(hits, np.cumsum(hits, axis=0) / ranks, 0.0), axis=0)
    relevant = np.count_nonzero(ranked.pool_gains > 0, axis=0)
    return np.asarray(np.divide(sums, relevant, out=np.zeros(len(sums)), where=relevant > 0))


def intent_aware_ap(ranked: SubtopicRanked) -> float:
    """Mean of average precision over the subtopics with relevant documents."""
    return float(average_precision_each(ranked) @ _subtopic_shares(ranked))


def intent_aware_precision(ranked: SubtopicRanked) -> float:
    """Mean of precision at k over the subtopics with relevant documents."""
    hits = np.count_nonzero(ranked.gains[: ranked.cutoff] > 0, axis=0)
    return float(hits @ _subtopic_shares(ranked)) / float(ranked.cutoff or max(len(ranked.gains), 1))


def mean_judge_ap(ranked: SubtopicRanked) -> float:
    """Mean of average precision over all judges."""
    return float(np.mean(average_precision_each(ranked)))


def mean_judge_precision(ranked: SubtopicRanked) -> float:
    """Mean of precision at k over all judges."""
    hits = np.count_nonzero(ranked.gains[: ranked.cutoff] > 0, axis=0)
    return float(np.mean(hits)) / float(ranked.cutoff or max(len(ranked.gains), 1))


def mean_judge_r_precision(ranked: SubtopicRanked) -> float:
    """Mean over all judges of precision at ``times`` R documents."""
    values = []
    for judge in range(ranked.gains.shape[1]):
        relevant = int(np.count_nonzero(ranked.pool_gains[:, judge] > 0))
        depth = int(float(ranked.parameters["times"]) * relevant + 0.9)
        values.append(np.count_nonzero(ranked.gains[:depth, judge] > 0) / depth if depth else 0.0)
    return float(np.mean(values))


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
