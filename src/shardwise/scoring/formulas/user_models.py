"""Users in terms of C/W/L (Moffat et al. 2017): how likely they go on at each rank, and what they gain.

A user who is at rank i goes on to the next with probability C(i). Then V(i), the probability of reaching rank i, is the
product of the C above; W(i) = V(i) / sum V is the share of attention that rank i gets, and L(i) = V(i) (1 - C(i)) the
probability of reading i last. As in cwl-eval a list has 1,000 ranks, those beyond the ranking without gain, and
reading a document costs 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.scoring.formulas.rankings import Parameters, Ranked

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


def _u_measure(gains: Floats, of: Parameters, cutoff: int | None) -> Floats:
    """Return C of a user whose attention falls in a line."""
    weights = np.maximum(0.0, 1.0 - (_RANKS - 1.0) / float(of["L"]))
    weights[-1] = 0.0
    return _weight_ratios(weights)


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
    "U": _u_measure,
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
