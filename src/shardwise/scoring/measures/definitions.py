"""One table of measures: what each one is, which kernel computes it, what it may be told; gains and discounts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.scoring import formulas
from shardwise.scoring.formulas import Parameters


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
class MeasureParameter:
    """Something a measure may be told in its name."""

    name: str
    default: Any  # None: not given
    kind: Literal[
        "grade",
        "share",
        "fraction",
        "weight",
        "number",
        "positive",
        "base",
        "choice",
        "flag",
        "points",
        "gains",
    ]
    text: str
    always_shown: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """What a measure is, apart from who computes it: a kernel, or a formula in numpy.

    A measure with both is computed by the kernel unless the parameter ``formula_when`` has another value than its
    default.
    """

    name: str
    text: str  # the definition in words and formula; R is the number of relevant documents
    cite: str
    kernel: Kernel | None = None
    gain: Callable[[Floats, Parameters], Floats] = zero_gain  # grades -> gains
    norm: Norm | Callable[[Parameters], Norm] = Norm.ONE
    discount: Callable[[Floats, Parameters], Floats] | None = None  # ranks -> discounts; None: all 1
    cutoff: Literal["none", "optional", "required", "recall"] = "optional"
    parameters: tuple[MeasureParameter, ...] = ()
    needs_relevant: bool = True  # undefined for a topic without relevant documents
    limit: str = ""  # how to mend it where no grade may have a gain above 1 and one has
    needs: Literal["grades", "subtopics", "strata"] = "grades"  # what the judgments must tell
    number: str | float = 0.0  # a number for the kernel, or the parameter that holds it
    formula: Callable[[Any], float] | None = None
    formula_when: str = ""
    summary: Literal["mean", "sum", "geometric mean"] = "mean"  # over topics; of logarithms a geometric mean
    share: bool = True  # whether every score lies between 0 and 1; counts and logarithms never do
    worst: float = 0.0  # score of a topic without relevant documents where it counts as nothing found

    @property
    def bounded(self) -> bool:
        """Whether every score lies between 0 and 1, whatever the ranking and the grades."""
        return self.share and self.summary == "mean"

    def norm_for(self, parameters: Parameters) -> Norm:
        """Return what the sum is divided by, given the parameters."""
        return self.norm if isinstance(self.norm, Norm) else self.norm(parameters)

    def formula_for(self, parameters: Parameters) -> Callable[[Any], float] | None:
        """Return the formula that computes the measure, None where a kernel does."""
        if self.kernel is None or self.formula is None:
            return self.formula
        default = next(p.default for p in self.parameters if p.name == self.formula_when)
        return self.formula if parameters[self.formula_when] != default else None


REL = MeasureParameter("rel", 1, "grade", "lowest grade that counts as relevant")
GAINS = MeasureParameter("gains", None, "gains", "gain of each grade; grades not named are their own gain")


def all_or_reachable(parameters: Parameters) -> Norm:
    """All relevant documents, or no more than there are ranks (S14 §5)."""
    return Norm.CAPPED if parameters["norm"] == "min" else Norm.TOTAL


_DCG = MeasureParameter(
    "dcg", "log2", "choice", "gain g as it is (log2) or 2^g - 1 (exp-log2)", choices=("log2", "exp-log2")
)
_BASE = MeasureParameter(
    "base", None, "base", "discount log_b(rank) from rank b on, instead of log2(rank + 1)"
)
_P = MeasureParameter(
    "p", 0.8, "share", "probability that the reader goes on to the next document", always_shown=True
)
_GAIN = MeasureParameter(
    "gain", "linear", "choice", "gain g as it is (linear) or 2^g - 1 (exp)", choices=("linear", "exp")
)
_NORM = MeasureParameter("norm", "R", "choice", "divide by R or by min(k, R)", choices=("R", "min"))
_BETA = MeasureParameter("beta", 1, "weight", "weight of gain against precision; 0 is average precision")
_ANY_BETA = MeasureParameter("beta", 1, "weight", "weight of recall: (beta + 1) P R / (R + beta P)")
_LOW_P = MeasureParameter("p", 0.95, "share", "probability that the reader goes on to the next document")
_RANK_BETA = MeasureParameter(
    "beta", 0.5, "fraction", "probability that the reader goes on to the next document"
)
_SCALE = MeasureParameter(
    "scale", None, "choice", "graded: gains over the largest of the topic (topic), or as they are (none)",
    choices=("topic", "none"),
)  # fmt: skip
_STOP = MeasureParameter(
    "stop", "exp", "choice", "stop with probability (2^g - 1) / 2^max (exp), or g / (max + 1) (gain)",
    choices=("exp", "gain"),
)  # fmt: skip
_POINTS = MeasureParameter("points", None, "points", "levels of recall; 0, 0.1, …, 1 if left out")
_REACH = MeasureParameter(
    "reach", "above", "choice",
    "level r is reached at the int(r R + 0.9)th relevant document (above), or at the one nearest to r R (nearest)",
    choices=("above", "nearest"),
)  # fmt: skip
_TIMES = MeasureParameter(
    "times", 1, "positive", "how many times R documents are looked at", always_shown=True
)
_MIN_REL = MeasureParameter("min_rel", 0, "grade", "grade that has gain 0")
_TOP_REL = MeasureParameter("max_rel", 1, "grade", "grade that has gain 1", always_shown=True)
_TARGET = MeasureParameter("T", 1, "positive", "gain that the user wants")
_VALUE = MeasureParameter(
    "value", "EU", "choice", "gain a document (EU) or in all (ETU), cost (EC, ETC), or documents read (ED)",
    choices=("EU", "ETU", "EC", "ETC", "ED"),
)  # fmt: skip
_IDEAL = MeasureParameter(
    "ideal", "rounded", "choice", "whether the ideal ranking has whole documents (rounded) or not (fractional)",
    choices=("rounded", "fractional"),
)  # fmt: skip
_NORMALIZE = MeasureParameter("normalize", True, "flag", "divide by the highest value possible")
_HIGH_P = MeasureParameter("p", 0.9, "share", "probability that the reader goes on to the next document")
_NCU_STOP = MeasureParameter(
    "stop", "graded", "choice", "users stop by grade (graded), or by relevant documents seen (rank)",
    choices=("graded", "rank"), always_shown=True,
)  # fmt: skip
_STOPS = MeasureParameter("stops", None, "gains", "how likely users stop at each grade, up to a factor")
_NCU_GAMMA = MeasureParameter("gamma", 0.95, "fraction", "how likely users go on after a relevant document")
_UTILITY = (
    MeasureParameter("a", 1, "number", "worth of a relevant document retrieved"),
    MeasureParameter("b", -1, "number", "worth of another document retrieved"),
    MeasureParameter("c", 0, "number", "worth of a relevant document not retrieved"),
    MeasureParameter("d", 0, "number", "worth of another document not retrieved"),
    MeasureParameter("documents", 2**31 - 1, "positive", "documents of the collection"),
)
_USERS = (
    MeasureParameter(
        "user", "P", "choice", "user of cwl-eval", always_shown=True,
        choices=("P", "RR", "AP", "TrAP", "RBP", "BPM-Dynamic", "TBG", "U", "IFT-C1", "IFT-C2", "IFT-C1-C2"),
    ),
    MeasureParameter("p", 0.9, "share", "probability that the reader goes on (RBP)"),
    MeasureParameter("T", 1, "positive", "gain wanted (BPM-Dynamic, IFT)"),
    MeasureParameter("hb", 1, "number", "how much the gain wanted moves (BPM-Dynamic)"),
    MeasureParameter("H", 224, "positive", "half-life (TBG)"),
    MeasureParameter("L", 1000, "positive", "longest way (U)"),
    MeasureParameter("b1", 0.9, "number", "intercept of the goal (IFT)"),
    MeasureParameter("R1", 10, "number", "rationality of the goal (IFT)"),
    MeasureParameter("A", 0.2, "number", "rate of gain expected (IFT)"),
    MeasureParameter("b2", 0.9, "number", "intercept of the rate (IFT)"),
    MeasureParameter("R2", 10, "number", "rationality of the rate (IFT)"),
)  # fmt: skip
_CWL = (_MIN_REL, _TOP_REL, _VALUE)
_JUDGED_ONLY = MeasureParameter(
    "judged_only", False, "flag", "take documents without a judgment out of rankings first"
)
_ALPHA = MeasureParameter(
    "alpha", 0.5, "fraction", "how much a further document on a subtopic loses of its gain"
)
_GAMMA = MeasureParameter("gamma", 0.5, "fraction", "weight of the share of subtopics found")
_MAX_REL = MeasureParameter("max_rel", 4, "grade", "highest gain there is")

# a table: what a measure is, where it comes from, and how it is computed
# fmt: off
_TABLE: tuple[Definition, ...] = (
    Definition("AP",
        "average precision: sum over relevant documents of the precision at their rank, divided by R, or by "
        "min(k, R) with norm='min'",
        "Buckley & Voorhees 2005; Sakai 2014 for min", Kernel.AVERAGE_PRECISION, binary_gain, all_or_reachable,
        parameters=(REL, _NORM)),
    Definition("P",
        "precision: relevant documents among the first k, divided by k, even if fewer were retrieved",
        "Van Rijsbergen 1979", Kernel.WEIGHTED_SUM, binary_gain, Norm.CUTOFF, cutoff="required", parameters=(REL,)),
    Definition("R", "recall: relevant documents among the first k, divided by R",
        "Van Rijsbergen 1979", Kernel.WEIGHTED_SUM, binary_gain, Norm.TOTAL, cutoff="required", parameters=(REL,)),
    Definition("RR", "reciprocal rank: 1 / rank of the first relevant document",
        "Kantor & Voorhees 2000", Kernel.FIRST, binary_gain, discount=reciprocal_discount, parameters=(REL,)),
    Definition("nDCG",
        "normalized discounted cumulative gain: sum of gain / log2(rank + 1), divided by that of the best "
        "possible ranking; with a base b the divisor is 1 before rank b and log_b(rank) from there on",
        "Järvelin & Kekäläinen 2002; Burges et al. 2005 for exp-log2", Kernel.WEIGHTED_SUM, grade_gain, Norm.IDEAL,
        logarithmic_discount, parameters=(_DCG, _BASE, GAINS)),
    Definition("DCG", "discounted cumulative gain: sum of gain / log2(rank + 1), not normalized",
        "Järvelin & Kekäläinen 2002; Burges et al. 2005 for exp-log2", Kernel.WEIGHTED_SUM, grade_gain, Norm.ONE,
        logarithmic_discount, parameters=(_DCG, _BASE, GAINS), share=False),
    Definition("RBP",
        "rank-biased precision: (1 - p) times the sum of gain x p^(rank - 1), the gain of a relevant document "
        "being 1 unless gains between 0 and 1 are given, or graded by scale",
        "Moffat & Zobel 2008", Kernel.WEIGHTED_SUM, share_gain, discount=geometric_discount,
        parameters=(_P, REL, GAINS, _SCALE), formula=formulas.scaled_rbp, formula_when="scale",
        limit="give every grade a gain of at most 1, as in RBP(p=0.5,gains={1:0.5,2:1})"),
    Definition("ERR",
        "expected reciprocal rank: mean of 1 / rank where a reader stops who is satisfied by a document of "
        "gain g with probability (2^g - 1) / 2^max_rel",
        "Chapelle et al. 2009", Kernel.CASCADE, stopping_probability, discount=reciprocal_discount,
        parameters=(_MAX_REL, GAINS, _STOP), limit="raise max_rel to the highest grade, or give gains up to it"),
    Definition("nERR", "normalized expected reciprocal rank: ERR divided by that of the best possible ranking",
        "Sakai & Song 2011", Kernel.CASCADE, stopping_probability, Norm.IDEAL_CASCADE, reciprocal_discount,
        parameters=(_MAX_REL, GAINS, _STOP), limit="raise max_rel to the highest grade, or give gains up to it"),
    Definition("Q",
        "Q-measure: sum over relevant documents of (C + beta G) / (r + beta I), C of the r documents down to there "
        "being relevant, G being their gain and I that of the best r documents, divided by min(k, R)",
        "Sakai 2004", Kernel.BLENDED_RATIO, grade_gain, Norm.CAPPED, parameters=(_BETA, _GAIN, GAINS), number="beta"),
    Definition("infAP",
        "inferred average precision: average precision where documents of grade below 0 are in the pool but not "
        "judged, and count as relevant at the rate of the judged ones above",
        "Yilmaz & Aslam 2006", Kernel.INFERRED, sampled_sign, Norm.TOTAL, cutoff="none", parameters=(REL,)),
    Definition("xinfAP",
        "extended inferred average precision: average precision where every stratum of the pool was sampled at "
        "its own rate, grades below 0 being not sampled",
        "Yilmaz et al. 2008; sample_eval", Kernel.STRATIFIED_PRECISION, sampled_sign, parameters=(REL, _NORM),
        needs="strata", formula=formulas.capped_inferred_ap, formula_when="norm"),
    Definition("infNDCG",
        "inferred nDCG: gain of each stratum of the pool divided by its sampling rate, over that of the best "
        "ranking of the relevant documents there should be",
        "Yilmaz et al. 2008; sample_eval", Kernel.STRATIFIED_GAIN, sampled_gain, discount=logarithmic_discount,
        parameters=(_DCG, GAINS, _IDEAL), needs="strata", formula=formulas.unrounded_inferred_ndcg,
        formula_when="ideal"),
    Definition("infP", "inferred precision: relevant documents that the sampled ones suggest among the first k, "
        "divided by k",
        "Yilmaz et al. 2008; sample_eval", gain=sampled_sign, cutoff="required", parameters=(REL,), needs="strata",
        formula=formulas.inferred_precision, needs_relevant=False),
    Definition("infIPrec", "inferred interpolated precision at a level of recall that is a tenth",
        "Yilmaz et al. 2008; sample_eval", gain=sampled_sign, cutoff="recall", parameters=(REL,), needs="strata",
        formula=formulas.inferred_interpolated_precision, needs_relevant=False),
    Definition("infNumRel", "inferred number of relevant documents there are",
        "sample_eval", gain=sampled_sign, cutoff="none", parameters=(REL,), needs="strata", summary="sum",
        formula=formulas.inferred_relevant, needs_relevant=False),
    Definition("infNumRelRet", "inferred number of relevant documents retrieved",
        "sample_eval", gain=sampled_sign, parameters=(REL,), needs="strata", summary="sum",
        formula=formulas.inferred_relevant_retrieved, needs_relevant=False),
    Definition("alpha_nDCG",
        "alpha-nDCG: sum over ranks of (1 - alpha)^n / log2(rank + 1) for each subtopic of the document, n documents "
        "above being on it too, divided by that of the ranking that takes the best next document each time",
        "Clarke et al. 2008; ndeval", Kernel.NOVELTY, binary_gain, Norm.GREEDY, logarithmic_discount, cutoff="required",
        parameters=(_ALPHA, REL), needs="subtopics",
        number="alpha"),
    Definition("ERR_IA",
        "intent-aware ERR: mean over subtopics of the sum of (1 - alpha)^n / rank over their documents, divided by "
        "that of a ranking whose every document is on all subtopics",
        "Chapelle et al. 2009; ndeval", Kernel.INTENTS, binary_gain, Norm.ENDLESS, reciprocal_discount,
        cutoff="required", parameters=(_ALPHA, REL), needs="subtopics", number="alpha"),
    Definition("nERR_IA",
        "normalized intent-aware ERR: ERR_IA divided by that of the ranking that takes the best next document "
        "each time",
        "Clarke et al. 2011; ndeval", Kernel.INTENTS, binary_gain, Norm.GREEDY, reciprocal_discount, cutoff="required",
        parameters=(_ALPHA, REL), needs="subtopics", number="alpha"),
    Definition("alpha_DCG",
        "alpha-DCG: the sum of alpha-nDCG, divided by that of a ranking whose every document is on all subtopics",
        "Clarke et al. 2008; ndeval", Kernel.NOVELTY, binary_gain, Norm.ENDLESS, logarithmic_discount,
        cutoff="required", parameters=(_ALPHA, REL), needs="subtopics", number="alpha"),
    Definition("NRBP",
        "novelty- and rank-biased precision: sum of beta^(rank - 1) (1 - alpha)^n for each subtopic of the document, "
        "divided by that of an endless ranking whose every document is on all subtopics",
        "Clarke et al. 2009; ndeval", Kernel.NOVELTY, binary_gain, Norm.ENDLESS, persistence_discount, cutoff="none",
        parameters=(_ALPHA, _RANK_BETA, REL), needs="subtopics", number="alpha"),
    Definition("nNRBP",
        "normalized NRBP: divided by that of the ranking that takes the best next document each time",
        "Clarke et al. 2009; ndeval", Kernel.NOVELTY, binary_gain, Norm.GREEDY, persistence_discount, cutoff="none",
        parameters=(_ALPHA, _RANK_BETA, REL), needs="subtopics", number="alpha"),
    Definition("AP_IA",
        "intent-aware average precision: mean of AP over the subtopics with relevant documents",
        "Agrawal et al. 2009; ndeval", gain=binary_gain, cutoff="none", parameters=(REL,), needs="subtopics",
        formula=formulas.intent_aware_ap),
    Definition("P_IA", "intent-aware precision: mean of P@k over the subtopics with relevant documents",
        "Agrawal et al. 2009; ndeval", gain=binary_gain, cutoff="required", parameters=(REL,), needs="subtopics",
        formula=formulas.intent_aware_precision),
    Definition("JudgeAP", "mean over judges of AP; the second column of the qrels names the judge",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(REL,), needs="subtopics",
        formula=formulas.mean_judge_ap),
    Definition("JudgeP", "mean over judges of P@k; the second column of the qrels names the judge",
        "trec_eval", gain=binary_gain, cutoff="required", parameters=(REL,), needs="subtopics",
        formula=formulas.mean_judge_precision),
    Definition("JudgeRprecMult", "mean over judges of RprecMult; the second column of the qrels names the judge",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(_TIMES, REL), needs="subtopics",
        formula=formulas.mean_judge_r_precision),
    Definition("StRecall",
        "subtopic recall (I-rec): share of the subtopics with relevant documents of which one is among the first k",
        "Zhai et al. 2003", Kernel.COVERAGE, binary_gain, cutoff="required", parameters=(REL,), needs="subtopics",
        number=1.0),
    Definition("D_nDCG",
        "D-nDCG: nDCG where the gain of a document is the mean of its gains for the subtopics, weighted by their "
        "probabilities",
        "Sakai & Song 2011", Kernel.COVERAGE, grade_gain, discount=logarithmic_discount, parameters=(_DCG, GAINS),
        needs="subtopics", number=0.0),
    Definition("Dsharp_nDCG", "D#-nDCG: gamma times subtopic recall plus 1 - gamma times D-nDCG",
        "Sakai & Song 2011", Kernel.COVERAGE, grade_gain, discount=logarithmic_discount,
        parameters=(_GAMMA, _DCG, GAINS), needs="subtopics", number="gamma"),
    Definition("Bpref",
        "binary preference: mean over relevant documents of 1 - min(n, R) / min(N, R), n of the N judged "
        "nonrelevant documents being ranked above; documents not retrieved count 0",
        "Buckley & Voorhees 2004", Kernel.PREFERENCES, preference_sign, Norm.TOTAL, cutoff="none",
        parameters=(REL,)),
    Definition("Rprec", "R-precision: relevant documents among the first R, divided by R",
        "Buckley & Voorhees 2005", Kernel.R_PRECISION, binary_gain, Norm.TOTAL, cutoff="none", parameters=(REL,)),
    Definition("Success", "success: 1 if a relevant document is among the first k, else 0",
        "Craswell & Hawking 2004", Kernel.FIRST, binary_gain, parameters=(REL,)),
    Definition("RelP", "relative precision: P@k over the best possible, which is min(k, R) / k",
        "trec_eval", Kernel.WEIGHTED_SUM, binary_gain, Norm.CAPPED, cutoff="required", parameters=(REL,)),
    Definition("RprecMult", "precision at times R documents, R times that number rounded as trec_eval does it",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(_TIMES, REL),
        formula=formulas.multiple_r_precision),
    Definition("IPrec",
        "interpolated precision: highest precision at or below the rank where a level of recall is reached",
        "Manning et al. 2008", gain=binary_gain, cutoff="recall", parameters=(_REACH, REL),
        formula=formulas.interpolated_precision),
    Definition("IAP", "mean of interpolated precision at eleven levels of recall, or at other points",
        "Manning et al. 2008", gain=binary_gain, cutoff="none", parameters=(_POINTS, _REACH, REL),
        formula=formulas.interpolated_average),
    Definition("GMAP",
        "logarithm of AP, at least ln 0.00001; its summary over topics is the geometric mean of AP",
        "Robertson 2006", gain=binary_gain, cutoff="none", parameters=(REL,), summary="geometric mean",
        worst=math.log(formulas.LOG_FLOOR),
        formula=formulas.log_average_precision),
    Definition("GMBpref",
        "logarithm of Bpref, at least ln 0.00001; its summary over topics is the geometric mean of Bpref",
        "trec_eval", gain=preference_sign, cutoff="none", parameters=(REL,), summary="geometric mean",
        worst=math.log(formulas.LOG_FLOOR),
        formula=formulas.log_preference),
    Definition("F", "F at k: (beta + 1) P R / (R + beta P) of precision and recall at k",
        "Van Rijsbergen 1979", gain=binary_gain, cutoff="required", parameters=(_ANY_BETA, REL),
        formula=formulas.set_f),
    Definition("BinG", "mean over relevant documents of 1 / log2(2 + documents above that are not relevant)",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(REL,), formula=formulas.binary_g),
    Definition("G",
        "sum of gain / log2(2 + c - g), g being the gain down to there and c that of the best ranking, each rank at "
        "least 1, divided by the gain there is",
        "trec_eval", gain=grade_gain, cutoff="none", parameters=(GAINS,), formula=formulas.normalized_g),
    Definition("nDCGrel",
        "mean over relevant documents of nDCG at their rank; where one was not retrieved, at the end",
        "trec_eval", gain=grade_gain, cutoff="none", parameters=(GAINS,), formula=formulas.ndcg_at_relevant),
    Definition("RnDCG", "mean of nDCG at the ranks where the best possible ranking changes its gain",
        "trec_eval", gain=grade_gain, cutoff="none", parameters=(GAINS,), formula=formulas.ndcg_at_changes),
    Definition("RBPresidual",
        "what documents without a judgment could add to RBP: (1 - p) times the sum of p^(rank - 1) over them, plus p^n "
        "for what follows the n documents retrieved; 0 if all are judged",
        "Moffat & Zobel 2008; trec_eval", cutoff="none", parameters=(_P,), needs_relevant=False,
        formula=formulas.rbp_residual),
    Definition("Compat",
        "compatibility: rank-biased overlap with the best ranking, documents of a grade in the order retrieved; "
        "divided by the highest possible with normalize",
        "Clarke et al. 2021", gain=grade_gain, cutoff="none", parameters=(_LOW_P, _NORMALIZE, GAINS),
        formula=formulas.ideal_overlap),
    Definition("Accuracy",
        "share of the pairs of a relevant and another document, both among the first k, of which the relevant one is "
        "first",
        "ir_measures", gain=binary_gain, parameters=(REL,), formula=formulas.pair_accuracy),
    Definition("O_measure", "O-measure: blended ratio (C + beta G) / (r + beta I) at the first relevant document",
        "Sakai 2007; NTCIREVAL", gain=grade_gain, cutoff="none", parameters=(_BETA, _GAIN, GAINS),
        formula=formulas.o_measure),
    Definition("P_measure",
        "P-measure: blended ratio at the first document of the highest gain retrieved",
        "Sakai 2007; NTCIREVAL", gain=grade_gain, cutoff="none", parameters=(_BETA, _GAIN, GAINS),
        formula=formulas.p_measure),
    Definition("P_plus",
        "P+: mean of the blended ratio over relevant documents down to the first of the highest gain retrieved",
        "Sakai 2007; NTCIREVAL", gain=grade_gain, cutoff="none", parameters=(_BETA, _GAIN, GAINS),
        formula=formulas.p_plus),
    Definition("NCU",
        "normalized cumulative utility: blended ratio over relevant documents, weighted by how likely a user stops "
        "there",
        "Sakai & Robertson 2008; NTCIREVAL", gain=grade_gain, cutoff="none",
        parameters=(_NCU_STOP, _STOPS, _NCU_GAMMA, _BETA, _GAIN, GAINS), formula=formulas.cumulative_utility),
    Definition("INST",
        "INST: gain a document of a user who goes on with ((r + 2T - g - 1) / (r + 2T - g))^2 at rank r after a gain "
        "of g",
        "Moffat et al. 2015", gain=scaled_grade, cutoff="none", parameters=(_TARGET, *_CWL), needs_relevant=False,
        formula=formulas.inst),
    Definition("INSQ",
        "INSQ: gain a document of a user who goes on with ((r + 2T - 1) / (r + 2T))^2 at rank r",
        "Moffat et al. 2012", gain=scaled_grade, cutoff="none", parameters=(_TARGET, *_CWL), needs_relevant=False,
        formula=formulas.insq),
    Definition("BPM",
        "bejeweled player model: gain a document of a user who stops with a gain of T, or at rank k",
        "Zhang et al. 2017", gain=scaled_grade, parameters=(_TARGET, *_CWL), needs_relevant=False,
        formula=formulas.bejewelled),
    Definition("SDCG", "scaled DCG: gain a document of a user whose attention falls as 1 / log2(rank + 1) down to k",
        "Moffat et al. 2017", gain=scaled_grade, cutoff="required", parameters=_CWL, needs_relevant=False,
        formula=formulas.discounted),
    Definition("NERR8", "nearly ERR, equation 8: a user who goes on with 1 - gain, down to k",
        "Azzopardi et al. 2021", gain=scaled_grade, cutoff="required", parameters=_CWL, needs_relevant=False,
        formula=formulas.nearly_err_8),
    Definition("NERR9", "nearly ERR, equation 9: a user who goes on with r / (r + 1) (1 - gain), down to k",
        "Azzopardi et al. 2021", gain=scaled_grade, cutoff="required", parameters=_CWL, needs_relevant=False,
        formula=formulas.nearly_err_9),
    Definition("NERR10", "nearly ERR, equation 10: a user who goes on with p (1 - gain)",
        "Azzopardi et al. 2021", gain=scaled_grade, cutoff="none", parameters=(_HIGH_P, *_CWL), needs_relevant=False,
        formula=formulas.nearly_err_10),
    Definition("NERR11", "nearly ERR, equation 11: a user who goes on as in INSQ, times 1 - gain",
        "Azzopardi et al. 2021", gain=scaled_grade, cutoff="none", parameters=(_TARGET, *_CWL), needs_relevant=False,
        formula=formulas.nearly_err_11),
    Definition("CWL",
        "users of cwl-eval that have no name of their own here: precision, reciprocal rank, AP, truncated AP, RBP, "
        "dynamic bejeweled player, time-biased gain, U-measure and information foraging",
        "Azzopardi et al. 2019; cwl-eval", gain=scaled_grade, parameters=(*_USERS, *_CWL), needs_relevant=False,
        formula=formulas.named_user),
    Definition("SetP", "set precision: share of relevant documents among all retrieved",
        "Van Rijsbergen 1979", Kernel.SHARE, binary_gain, cutoff="none", parameters=(REL,)),
    Definition("SetF", "set F: (beta + 1) P R / (R + beta P) of set precision and set recall",
        "Van Rijsbergen 1979", gain=binary_gain, cutoff="none", parameters=(_ANY_BETA, REL), formula=formulas.set_f),
    Definition("SetAP", "set precision times set recall",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(REL,), formula=formulas.set_ap),
    Definition("SetRelP", "relative set precision: relevant documents retrieved over as many as could be retrieved",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(REL,), formula=formulas.set_relative_p),
    Definition("Utility",
        "a times the relevant and b times the other documents retrieved, plus c times the relevant and d times the "
        "other documents not retrieved",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(*_UTILITY, REL), needs_relevant=False,
        formula=formulas.linear_utility, share=False),
    Definition("SetR", "set recall: share of the relevant documents that were retrieved",
        "Van Rijsbergen 1979", Kernel.WEIGHTED_SUM, binary_gain, Norm.TOTAL, cutoff="none", parameters=(REL,)),
    Definition("Judged",
        "judged: share of judged documents among the first k, or among all if fewer were retrieved",
        "ir_measures", Kernel.SHARE, judged_gain, needs_relevant=False),
    Definition("Unjudged", "documents without a judgment among the first k, divided by k",
        "trec_eval", needs_relevant=False, formula=formulas.unjudged_share),
    Definition("NumQ", "number of topics: 1 for each",
        "trec_eval", Kernel.NORM, zero_gain, cutoff="none", needs_relevant=False, summary="sum"),
    Definition("NumRet", "number of documents retrieved",
        "trec_eval", Kernel.RETRIEVED, zero_gain, cutoff="none", needs_relevant=False, summary="sum"),
    Definition("NumRelRet", "number of relevant documents retrieved, or among the first k",
        "trec_eval", Kernel.WEIGHTED_SUM, binary_gain, parameters=(REL,), needs_relevant=False, summary="sum"),
    Definition("NumRel", "number of relevant documents there are",
        "trec_eval", Kernel.NORM, binary_gain, Norm.TOTAL, cutoff="none", parameters=(REL,), needs_relevant=False,
        summary="sum"),
    Definition("NumNonRelRet", "number of judged documents retrieved that are not relevant",
        "trec_eval", gain=binary_gain, cutoff="none", parameters=(REL,), needs_relevant=False, summary="sum",
        formula=formulas.count_nonrelevant),
)
# fmt: on

_AS_RETRIEVED = {"NumRel", "NumQ", "Judged", "Unjudged", "RBPresidual", "infAP"}
"""Measures on grades that have no variant without unjudged documents: those on unjudged ones, and sizes."""


# measures on grades or subtopics have a parameter that takes unjudged documents out
DEFINITIONS: tuple[Definition, ...] = tuple(
    definition
    if definition.needs == "strata" or definition.name in _AS_RETRIEVED
    else replace(definition, parameters=(*definition.parameters, _JUDGED_ONLY))
    for definition in _TABLE
)
