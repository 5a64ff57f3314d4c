"""One table of measures: what each one is, which kernel computes it, what it may be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

from shardwise.core.arrays import Floats
from shardwise.scoring.measures.gains import (
    Parameters,
    binary,
    gains,
    geometric,
    judged,
    logarithmic,
    nothing,
    preferences,
    reciprocal,
    sampled,
    sampled_gains,
    share,
    stopping,
)


class Kernel(IntEnum):
    """How a measure walks down the judged documents of a ranking."""

    AVERAGE_PRECISION = 0
    WEIGHTED_SUM = 1  # sum of gain x discount, over a norm
    FIRST = 2  # discount of the first document with any gain
    CASCADE = 3  # the gain is the probability of stopping
    PREFERENCES = 4  # relevant before nonrelevant
    R_PRECISION = 5
    SHARE = 6  # sum of gains over the number retrieved
    RETRIEVED = 7
    NORM = 8  # the norm itself, whatever the ranking
    BLENDED_RATIO = 9  # precision blended with the gain compared with the ideal gain
    INFERRED = 10  # average precision estimated from a sample of the pool
    NOVELTY = 11  # subtopics: each further document on a subtopic gains less
    INTENTS = 12  # the same, subtopics weighted by their probability
    COVERAGE = 13  # subtopics: gain over all of them, blended with the share of them found
    STRATIFIED_PRECISION = 14  # the pool sampled by strata
    STRATIFIED_GAIN = 15


class Norm(IntEnum):
    """What a sum is divided by."""

    ONE = 0
    CUTOFF = 1
    TOTAL = 2  # summed gain of all judged documents; with gains 0 and 1 the number of relevant ones
    IDEAL = 3  # weighted sum of the best possible ranking
    CAPPED = 4  # number of documents with any gain, at most the cutoff
    IDEAL_CASCADE = 5  # what the best possible ranking gives a reader who stops
    GREEDY = 6  # what the ranking gives that always takes the document with most new gain
    ENDLESS = 7  # what a ranking would give in which every document has a gain for all subtopics


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something a measure may be told in its name."""

    name: str
    default: Any  # None: not given
    kind: Literal["grade", "share", "fraction", "weight", "base", "choice", "gains"]
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
    gain: Callable[[Floats, Parameters], Floats]  # grades -> gains
    norm: Norm | Callable[[Parameters], Norm] = Norm.ONE
    discount: Callable[[Floats, Parameters], Floats] | None = None  # ranks -> discounts; None: all 1
    cutoff: Literal["none", "optional", "required"] = "optional"
    parameters: tuple[Parameter, ...] = ()
    needs_relevant: bool = True  # undefined for a topic without relevant documents
    limit: str = ""  # how to mend it where no grade may have a gain above 1 and one has
    aliases: tuple[str, ...] = ()
    needs: Literal["grades", "subtopics", "strata"] = "grades"  # what the judgments must tell
    number: str | float = 0.0  # a number for the kernel, or the parameter that holds it

    def norm_for(self, parameters: Parameters) -> Norm:
        """What the sum is divided by, given the parameters."""
        return self.norm if isinstance(self.norm, Norm) else self.norm(parameters)


REL = Parameter("rel", 1, "grade", "lowest grade that counts as relevant")
GAINS = Parameter("gains", None, "gains", "gain of each grade; grades not named are their own gain")


def all_or_reachable(parameters: Parameters) -> Norm:
    """All relevant documents, or no more than there are ranks (S14 §5)."""
    return Norm.CAPPED if parameters["norm"] == "min" else Norm.TOTAL


_DCG = Parameter(
    "dcg", "log2", "choice", "gain g as it is (log2) or 2^g - 1 (exp-log2)", choices=("log2", "exp-log2")
)
_BASE = Parameter("base", None, "base", "discount log_b(rank) from rank b on, instead of log2(rank + 1)")
_P = Parameter(
    "p", 0.8, "share", "probability that the reader goes on to the next document", always_shown=True
)
_GAIN = Parameter(
    "gain", "linear", "choice", "gain g as it is (linear) or 2^g - 1 (exp)", choices=("linear", "exp")
)
_NORM = Parameter("norm", "R", "choice", "divide by R or by min(k, R)", choices=("R", "min"))
_BETA = Parameter("beta", 1, "weight", "weight of gain against precision; 0 is average precision")
_ALPHA = Parameter("alpha", 0.5, "fraction", "how much a further document on a subtopic loses of its gain")
_GAMMA = Parameter("gamma", 0.5, "fraction", "weight of the share of subtopics found")
_MAX_REL = Parameter("max_rel", 4, "grade", "highest gain there is")

# a table: what a measure is, where it comes from, and how it is computed
# fmt: off
DEFINITIONS: tuple[Definition, ...] = (
    Definition("AP",
        "average precision: sum over relevant documents of the precision at their rank, divided by R, or by "
        "min(k, R) with norm='min'",
        "Buckley & Voorhees 2005; Sakai 2014 for min", Kernel.AVERAGE_PRECISION, binary, all_or_reachable,
        parameters=(REL, _NORM), aliases=("map", "map_cut")),
    Definition("P",
        "precision: relevant documents among the first k, divided by k, even if fewer were retrieved",
        "Van Rijsbergen 1979", Kernel.WEIGHTED_SUM, binary, Norm.CUTOFF, cutoff="required", parameters=(REL,),
        aliases=("precision",)),
    Definition("R", "recall: relevant documents among the first k, divided by R",
        "Van Rijsbergen 1979", Kernel.WEIGHTED_SUM, binary, Norm.TOTAL, cutoff="required", parameters=(REL,),
        aliases=("recall",)),
    Definition("RR", "reciprocal rank: 1 / rank of the first relevant document",
        "Kantor & Voorhees 2000", Kernel.FIRST, binary, discount=reciprocal, parameters=(REL,),
        aliases=("mrr", "recip_rank")),
    Definition("nDCG",
        "normalized discounted cumulative gain: sum of gain / log2(rank + 1), divided by that of the best "
        "possible ranking; with a base b the divisor is 1 before rank b and log_b(rank) from there on",
        "Järvelin & Kekäläinen 2002; Burges et al. 2005 for exp-log2", Kernel.WEIGHTED_SUM, gains, Norm.IDEAL,
        logarithmic, parameters=(_DCG, _BASE, GAINS), aliases=("ndcg_cut",)),
    Definition("RBP",
        "rank-biased precision: (1 - p) times the sum of gain x p^(rank - 1), the gain of a relevant document "
        "being 1 unless gains between 0 and 1 are given",
        "Moffat & Zobel 2008", Kernel.WEIGHTED_SUM, share, discount=geometric, parameters=(_P, REL, GAINS),
        limit="give every grade a gain of at most 1, as in RBP(p=0.5,gains={1:0.5,2:1})"),
    Definition("ERR",
        "expected reciprocal rank: mean of 1 / rank where a reader stops who is satisfied by a document of "
        "gain g with probability (2^g - 1) / 2^max_rel",
        "Chapelle et al. 2009", Kernel.CASCADE, stopping, discount=reciprocal, parameters=(_MAX_REL, GAINS),
        limit="raise max_rel to the highest grade, or give gains up to it"),
    Definition("nERR", "normalized expected reciprocal rank: ERR divided by that of the best possible ranking",
        "Sakai & Song 2011", Kernel.CASCADE, stopping, Norm.IDEAL_CASCADE, reciprocal,
        parameters=(_MAX_REL, GAINS), limit="raise max_rel to the highest grade, or give gains up to it"),
    Definition("Q",
        "Q-measure: sum over relevant documents of (C + beta G) / (r + beta I), C of the r documents down to there "
        "being relevant, G being their gain and I that of the best r documents, divided by min(k, R)",
        "Sakai 2004", Kernel.BLENDED_RATIO, gains, Norm.CAPPED, parameters=(_BETA, _GAIN, GAINS),
        aliases=("q-measure", "qmeasure"), number="beta"),
    Definition("infAP",
        "inferred average precision: average precision where documents of grade below 0 are in the pool but not "
        "judged, and count as relevant at the rate of the judged ones above",
        "Yilmaz & Aslam 2006", Kernel.INFERRED, sampled, Norm.TOTAL, cutoff="none", parameters=(REL,)),
    Definition("xinfAP",
        "extended inferred average precision: average precision where every stratum of the pool was sampled at "
        "its own rate, grades below 0 being not sampled",
        "Yilmaz et al. 2008", Kernel.STRATIFIED_PRECISION, sampled, parameters=(REL,), needs="strata"),
    Definition("infNDCG",
        "inferred nDCG: gain of each stratum of the pool divided by its sampling rate, over that of the best "
        "ranking of the relevant documents there should be",
        "Yilmaz et al. 2008", Kernel.STRATIFIED_GAIN, sampled_gains, discount=logarithmic,
        parameters=(_DCG, GAINS), aliases=("xinfndcg",), needs="strata"),
    Definition("alpha_nDCG",
        "alpha-nDCG: sum over ranks of (1 - alpha)^n / log2(rank + 1) for each subtopic of the document, n documents "
        "above being on it too, divided by that of the ranking that takes the best next document each time",
        "Clarke et al. 2008; ndeval", Kernel.NOVELTY, binary, Norm.GREEDY, logarithmic, cutoff="required",
        parameters=(_ALPHA, REL), aliases=("alpha-ndcg", "α-ndcg", "α_ndcg"), needs="subtopics",
        number="alpha"),
    Definition("ERR_IA",
        "intent-aware ERR: mean over subtopics of the sum of (1 - alpha)^n / rank over their documents, divided by "
        "that of a ranking whose every document is on all subtopics",
        "Chapelle et al. 2009; ndeval", Kernel.INTENTS, binary, Norm.ENDLESS, reciprocal, cutoff="required",
        parameters=(_ALPHA, REL), aliases=("err-ia",), needs="subtopics", number="alpha"),
    Definition("nERR_IA",
        "normalized intent-aware ERR: ERR_IA divided by that of the ranking that takes the best next document "
        "each time",
        "Clarke et al. 2011; ndeval", Kernel.INTENTS, binary, Norm.GREEDY, reciprocal, cutoff="required",
        parameters=(_ALPHA, REL), aliases=("nerr-ia",), needs="subtopics", number="alpha"),
    Definition("StRecall",
        "subtopic recall (I-rec): share of the subtopics with relevant documents of which one is among the first k",
        "Zhai et al. 2003", Kernel.COVERAGE, binary, cutoff="required", parameters=(REL,),
        aliases=("strec", "i-rec", "irec"), needs="subtopics", number=1.0),
    Definition("D_nDCG",
        "D-nDCG: nDCG where the gain of a document is the mean of its gains for the subtopics, weighted by their "
        "probabilities",
        "Sakai & Song 2011", Kernel.COVERAGE, gains, discount=logarithmic, parameters=(_DCG, GAINS),
        aliases=("d-ndcg",), needs="subtopics", number=0.0),
    Definition("Dsharp_nDCG", "D#-nDCG: gamma times subtopic recall plus 1 - gamma times D-nDCG",
        "Sakai & Song 2011", Kernel.COVERAGE, gains, discount=logarithmic, parameters=(_GAMMA, _DCG, GAINS),
        aliases=("d#-ndcg", "d♯-ndcg", "dsharp-ndcg"), needs="subtopics", number="gamma"),
    Definition("Bpref",
        "binary preference: mean over relevant documents of 1 - min(n, R) / min(N, R), n of the N judged "
        "nonrelevant documents being ranked above; documents not retrieved count 0",
        "Buckley & Voorhees 2004", Kernel.PREFERENCES, preferences, Norm.TOTAL, cutoff="none",
        parameters=(REL,)),
    Definition("Rprec", "R-precision: relevant documents among the first R, divided by R",
        "Buckley & Voorhees 2005", Kernel.R_PRECISION, binary, Norm.TOTAL, cutoff="none", parameters=(REL,),
        aliases=("r-prec", "r_prec")),
    Definition("Success", "success: 1 if a relevant document is among the first k, else 0",
        "Craswell & Hawking 2004", Kernel.FIRST, binary, cutoff="required", parameters=(REL,)),
    Definition("SetP", "set precision: share of relevant documents among all retrieved",
        "Van Rijsbergen 1979", Kernel.SHARE, binary, cutoff="none", parameters=(REL,), aliases=("set_p",)),
    Definition("SetR", "set recall: share of the relevant documents that were retrieved",
        "Van Rijsbergen 1979", Kernel.WEIGHTED_SUM, binary, Norm.TOTAL, cutoff="none", parameters=(REL,),
        aliases=("set_recall",)),
    Definition("Judged",
        "judged: share of judged documents among the first k, or among all if fewer were retrieved",
        "ir_measures", Kernel.SHARE, judged, needs_relevant=False),
    Definition("NumRet", "number of documents retrieved",
        "trec_eval", Kernel.RETRIEVED, nothing, cutoff="none", needs_relevant=False, aliases=("num_ret",)),
    Definition("NumRelRet", "number of relevant documents retrieved",
        "trec_eval", Kernel.WEIGHTED_SUM, binary, cutoff="none", parameters=(REL,), needs_relevant=False,
        aliases=("num_rel_ret",)),
    Definition("NumRel", "number of relevant documents there are",
        "trec_eval", Kernel.NORM, binary, Norm.TOTAL, cutoff="none", parameters=(REL,), needs_relevant=False,
        aliases=("num_rel",)),
)
# fmt: on
