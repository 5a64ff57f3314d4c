"""One table of measures: what each one is, which kernel computes it, what it may be told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from shardwise.arrays import Floats

Parameters = Mapping[str, Any]


class Kernel(IntEnum):
    """How a measure walks down the judged documents of a ranking."""

    AVERAGE_PRECISION = 0
    WEIGHTED_SUM = 1  # sum of value x discount, over a norm
    FIRST = 2  # discount of the first document of any value
    CASCADE = 3  # value is the probability of stopping
    PREFERENCES = 4  # relevant before nonrelevant
    R_PRECISION = 5
    SHARE = 6  # sum of values over the number retrieved
    RETRIEVED = 7
    NORM = 8  # the norm itself, whatever the ranking


class Norm(IntEnum):
    """What a sum is divided by."""

    ONE = 0
    CUTOFF = 1
    TOTAL = 2  # summed value of all judged documents; with values 0 and 1 the number of relevant ones
    IDEAL = 3  # weighted sum of the best possible ranking


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something a measure may be told in its name."""

    name: str
    default: Any  # None: not given
    kind: Literal["grade", "share", "base", "choice", "gains"]
    text: str
    always_shown: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """What a measure is, apart from who computes it."""

    name: str
    text: str  # the definition in words and formula; R is the number of relevant documents
    cite: str
    kernel: Kernel
    values: Callable[[Floats, Parameters], Floats]  # grades -> what a document of that grade is worth
    norm: Norm = Norm.ONE
    discount: Callable[[Floats, Parameters], Floats] | None = None  # ranks -> weights; None: all 1
    cutoff: Literal["none", "optional", "required"] = "optional"
    parameters: tuple[Parameter, ...] = ()
    needs_relevant: bool = True  # undefined for a topic without relevant documents
    limit: str = ""  # how to mend it where no grade may be worth more than 1 and one is
    aliases: tuple[str, ...] = ()


REL = Parameter("rel", 1, "grade", "lowest grade that counts as relevant")
GAINS = Parameter("gains", None, "gains", "gain of each grade; grades not named are their own gain")


def binary(grades: Floats, parameters: Parameters) -> Floats:
    """1 from grade ``rel`` on, else 0."""
    return np.where(grades >= parameters["rel"], 1.0, 0.0)


def share(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade where gains are given, else 1 from grade ``rel`` on."""
    return gains(grades, parameters) if parameters["gains"] else binary(grades, parameters)


def preferences(grades: Floats, parameters: Parameters) -> Floats:
    """1 for relevant, -1 for judged nonrelevant, 0 for negative grades, which trec_eval takes as unjudged."""
    return np.where(grades >= parameters["rel"], 1.0, np.where(grades >= 0, -1.0, 0.0))


def judged(grades: Floats, parameters: Parameters) -> Floats:
    """1 for every judged document."""
    return np.ones_like(grades)


def nothing(grades: Floats, parameters: Parameters) -> Floats:
    """0 for every document: only their number matters."""
    return np.zeros_like(grades)


def gains(grades: Floats, parameters: Parameters) -> Floats:
    """Gain of each grade, never below 0, exponential (2^g - 1) where the name says so."""
    named = dict(parameters["gains"] or ())
    linear: Floats = np.maximum([float(named.get(int(grade), grade)) for grade in grades], 0.0)
    return np.exp2(linear) - 1.0 if parameters.get("dcg") == "exp-log2" else linear


def stopping(grades: Floats, parameters: Parameters) -> Floats:
    """Probability (2^g - 1) / 2^max that a reader is satisfied by a document of gain g."""
    return np.divide(np.exp2(gains(grades, parameters)) - 1.0, np.exp2(float(parameters["max_rel"])))


def logarithmic(ranks: Floats, parameters: Parameters) -> Floats:
    """Weight 1/log2(rank + 1), or with a base b Järvelin & Kekäläinen's: 1 before rank b, then 1/log_b(rank)."""
    base = parameters["base"]
    if base is None:
        return 1.0 / np.log2(ranks + 1.0)
    return np.reciprocal(np.maximum(np.log(ranks) / math.log(base), 1.0))


def geometric(ranks: Floats, parameters: Parameters) -> Floats:
    """Weight (1 - p) p^(rank - 1): a reader goes on to the next document with probability p."""
    p = float(parameters["p"])
    return np.power(p, ranks - 1.0) * (1.0 - p)


def reciprocal(ranks: Floats, parameters: Parameters) -> Floats:
    """Weight 1/rank."""
    return 1.0 / ranks


_DCG = Parameter(
    "dcg", "log2", "choice", "gain g as it is (log2) or 2^g - 1 (exp-log2)", choices=("log2", "exp-log2")
)
_BASE = Parameter("base", None, "base", "discount log_b(rank) from rank b on, instead of log2(rank + 1)")
_P = Parameter(
    "p", 0.8, "share", "probability that the reader goes on to the next document", always_shown=True
)
_MAX_REL = Parameter("max_rel", 4, "grade", "highest gain there is")

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        "AP",
        "average precision: sum over relevant documents of the precision at their rank, divided by R",
        "Buckley & Voorhees 2005",
        Kernel.AVERAGE_PRECISION,
        binary,
        Norm.TOTAL,
        parameters=(REL,),
        aliases=("map", "map_cut"),
    ),
    Definition(
        "P",
        "precision: relevant documents among the first k, divided by k, even if fewer were retrieved",
        "Van Rijsbergen 1979",
        Kernel.WEIGHTED_SUM,
        binary,
        Norm.CUTOFF,
        cutoff="required",
        parameters=(REL,),
        aliases=("precision",),
    ),
    Definition(
        "R",
        "recall: relevant documents among the first k, divided by R",
        "Van Rijsbergen 1979",
        Kernel.WEIGHTED_SUM,
        binary,
        Norm.TOTAL,
        cutoff="required",
        parameters=(REL,),
        aliases=("recall",),
    ),
    Definition(
        "RR",
        "reciprocal rank: 1 / rank of the first relevant document",
        "Kantor & Voorhees 2000",
        Kernel.FIRST,
        binary,
        discount=reciprocal,
        parameters=(REL,),
        aliases=("mrr", "recip_rank"),
    ),
    Definition(
        "nDCG",
        "normalized discounted cumulative gain: sum of gain / log2(rank + 1), divided by that of the best "
        "possible ranking; with a base b the divisor is 1 before rank b and log_b(rank) from there on",
        "Järvelin & Kekäläinen 2002; Burges et al. 2005 for exp-log2",
        Kernel.WEIGHTED_SUM,
        gains,
        Norm.IDEAL,
        logarithmic,
        parameters=(_DCG, _BASE, GAINS),
        aliases=("ndcg_cut",),
    ),
    Definition(
        "RBP",
        "rank-biased precision: (1 - p) times the sum of gain x p^(rank - 1), the gain of a relevant document "
        "being 1 unless gains between 0 and 1 are given",
        "Moffat & Zobel 2008",
        Kernel.WEIGHTED_SUM,
        share,
        discount=geometric,
        parameters=(_P, REL, GAINS),
        limit="give every grade a gain of at most 1, as in RBP(p=0.5,gains={1:0.5,2:1})",
    ),
    Definition(
        "ERR",
        "expected reciprocal rank: mean of 1 / rank where a reader stops who is satisfied by a document of "
        "gain g with probability (2^g - 1) / 2^max_rel",
        "Chapelle et al. 2009",
        Kernel.CASCADE,
        stopping,
        discount=reciprocal,
        parameters=(_MAX_REL, GAINS),
        limit="raise max_rel to the highest grade, or give gains up to it",
    ),
    Definition(
        "Bpref",
        "binary preference: mean over relevant documents of 1 - min(n, R) / min(N, R), n of the N judged "
        "nonrelevant documents being ranked above; documents not retrieved count 0",
        "Buckley & Voorhees 2004",
        Kernel.PREFERENCES,
        preferences,
        Norm.TOTAL,
        cutoff="none",
        parameters=(REL,),
    ),
    Definition(
        "Rprec",
        "R-precision: relevant documents among the first R, divided by R",
        "Buckley & Voorhees 2005",
        Kernel.R_PRECISION,
        binary,
        Norm.TOTAL,
        cutoff="none",
        parameters=(REL,),
        aliases=("r-prec", "r_prec"),
    ),
    Definition(
        "Success",
        "success: 1 if a relevant document is among the first k, else 0",
        "Craswell & Hawking 2004",
        Kernel.FIRST,
        binary,
        cutoff="required",
        parameters=(REL,),
    ),
    Definition(
        "SetP",
        "set precision: share of relevant documents among all retrieved",
        "Van Rijsbergen 1979",
        Kernel.SHARE,
        binary,
        cutoff="none",
        parameters=(REL,),
        aliases=("set_p",),
    ),
    Definition(
        "SetR",
        "set recall: share of the relevant documents that were retrieved",
        "Van Rijsbergen 1979",
        Kernel.WEIGHTED_SUM,
        binary,
        Norm.TOTAL,
        cutoff="none",
        parameters=(REL,),
        aliases=("set_recall",),
    ),
    Definition(
        "Judged",
        "judged: share of judged documents among the first k, or among all if fewer were retrieved",
        "ir_measures",
        Kernel.SHARE,
        judged,
        needs_relevant=False,
    ),
    Definition(
        "NumRet",
        "number of documents retrieved",
        "trec_eval",
        Kernel.RETRIEVED,
        nothing,
        cutoff="none",
        needs_relevant=False,
        aliases=("num_ret",),
    ),
    Definition(
        "NumRelRet",
        "number of relevant documents retrieved",
        "trec_eval",
        Kernel.WEIGHTED_SUM,
        binary,
        cutoff="none",
        parameters=(REL,),
        needs_relevant=False,
        aliases=("num_rel_ret",),
    ),
    Definition(
        "NumRel",
        "number of relevant documents there are",
        "trec_eval",
        Kernel.NORM,
        binary,
        Norm.TOTAL,
        cutoff="none",
        parameters=(REL,),
        needs_relevant=False,
        aliases=("num_rel",),
    ),
)
