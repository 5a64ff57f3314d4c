"""What each measure is, which kernel or formula computes it, what it may be told: the table of `definitions.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from importlib import resources
from typing import Any, Literal

from shardwise.core.arrays import Floats
from shardwise.scoring import formulas
from shardwise.scoring.formulas import Parameters


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
    kind: str  # of numbers, as in `names`, or "choice", "flag", "points" or "gains"
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
    gain: Callable[[Floats, Parameters], Floats] = formulas.zero_gain  # grades -> gains
    norm: Norm = Norm.ONE
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
        # no more relevant documents than there are ranks (S14 §5), or all of them
        return Norm.CAPPED if parameters.get("norm") == "min" else self.norm

    def formula_for(self, parameters: Parameters) -> Callable[[Any], float] | None:
        """Return the formula that computes the measure, None where a kernel does."""
        if self.kernel is None or self.formula is None:
            return self.formula
        default = next(p.default for p in self.parameters if p.name == self.formula_when)
        return self.formula if parameters[self.formula_when] != default else None


def read_definitions() -> tuple[Definition, ...]:
    """Return the definitions that stand in the table."""
    text = (
        resources.files("shardwise.scoring.measures").joinpath("definitions.toml").read_text(encoding="utf-8")
    )
    table = tomllib.loads(text)
    takes = {
        key: MeasureParameter(
            **{"name": key, "default": None, **row, "choices": tuple(row.get("choices", ()))}
        )
        for key, row in table["parameters"].items()
    }
    definitions = []
    for name, row in table["measures"].items():
        # kernels, norms, functions and parameters go by their names
        made = {key: getattr(formulas, row[key]) for key in ("gain", "discount", "formula") if key in row}
        made |= {"kernel": Kernel[row["kernel"]]} if "kernel" in row else {}
        made |= {"norm": Norm[row["norm"]]} if "norm" in row else {}
        parameters = tuple(takes[key] for key in row.get("parameters", ()))
        definitions.append(Definition(**{**row, **made, "name": name, "parameters": parameters}))
    return tuple(definitions)


DEFINITIONS = read_definitions()
