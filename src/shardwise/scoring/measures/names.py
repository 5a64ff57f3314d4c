"""Measures by name: ``AP``, ``P@10``, ``nDCG(dcg='exp-log2')@20``, ``RBP(p=0.8)``; every name parses back."""

from __future__ import annotations

import ast
import difflib
import math
import re
from dataclasses import dataclass
from typing import Any

from shardwise.core.errors import InputError
from shardwise.scoring.measures.definitions import DEFINITIONS, Definition, Parameter

_SHAPE = re.compile(r"\s*([A-Za-zα][\w.\-#♯]*)\s*(?:\((.*)\))?\s*(?:@\s*(\d+))?\s*", re.DOTALL)
_TREC_EVAL = re.compile(r"(.+?)[_.](\d+)")  # P_10, ndcg_cut.20

_BY_NAME = {
    spelling.lower(): definition
    for definition in DEFINITIONS
    for spelling in (definition.name, *definition.aliases)
}
_WITH_PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "msndcg": ("ndcg", {"dcg": "exp-log2"})
}  # NTCIREVAL's


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with all its parameters; its text is the canonical name."""

    definition: Definition
    parameters: tuple[tuple[str, Any], ...]  # all of them, in the order of the definition
    cutoff: int | None = None

    def __str__(self) -> str:
        shown = [
            f"{parameter.name}={_spell(value)}"
            for parameter, (_, value) in zip(self.definition.parameters, self.parameters, strict=True)
            if parameter.always_shown or value != parameter.default
        ]
        name = self.definition.name + (f"({','.join(shown)})" if shown else "")
        return name if self.cutoff is None else f"{name}@{self.cutoff}"


def parse_measure(name: object) -> Measure:
    """Read the name of a measure, as ir_measures or trec_eval spells it, capitals or not.

    >>> str(parse_measure("nDCG( dcg = 'exp-log2' )@20"))
    "nDCG(dcg='exp-log2')@20"
    >>> [str(parse_measure(name)) for name in ("map", "P_10", "ndcg_cut_20", "MRR", "RBP", "AP(rel=2)@100")]
    ['AP', 'P@10', 'nDCG@20', 'RR', 'RBP(p=0.8)', 'AP(rel=2)@100']
    >>> [str(parse_measure(name)) for name in ("alpha-nDCG@10", "D#-nDCG@10", "MSnDCG@10")]
    ['alpha_nDCG@10', 'Dsharp_nDCG@10', "nDCG(dcg='exp-log2')@10"]
    """
    if isinstance(name, Measure):
        return name
    text = str(name)
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise InputError(f"measure {text!r} is not of the form Name(parameter=value)@cutoff", remedy=_known())
    spelled, inside, at = shape.groups()
    key, implied = _WITH_PARAMETERS.get(spelled.lower(), (spelled.lower(), {}))
    if key not in _BY_NAME and at is None and (trec := _TREC_EVAL.fullmatch(key)):
        key, at = trec.groups()
    if key not in _BY_NAME:
        raise InputError(f"there is no measure {spelled!r}", remedy=_suggestion(key) + _known())
    given = implied | _arguments(text, inside or "")
    if key == "numret" and "rel" in given:  # ir_measures' name of NumRelRet
        key = "numrelret"
    definition = _BY_NAME[key]
    cutoff = _cutoff(text, definition, at)
    takes = {parameter.name: parameter for parameter in definition.parameters}
    for argument in given:
        if argument not in takes:
            can = f"it takes {', '.join(takes)}" if takes else "it takes no parameters"
            raise InputError(f"measure {text!r}: {definition.name} has no parameter {argument!r}", remedy=can)
    if {"rel", "gains"} <= given.keys():
        raise InputError(f"measure {text!r}: rel and gains exclude each other", remedy="keep one of them")
    parameters = tuple(
        (key, _checked(text, parameter, given[key]) if key in given else parameter.default)
        for key, parameter in takes.items()
    )
    return Measure(definition, parameters, cutoff)


def _arguments(text: str, inside: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return {str(argument.arg): ast.literal_eval(argument.value) for argument in call.keywords}
    except (SyntaxError, ValueError, TypeError):
        remedy = "write them as in nDCG(dcg='exp-log2',base=10)@20"
        raise InputError(f"measure {text!r}: cannot read the parameters {inside!r}", remedy=remedy) from None


def _cutoff(text: str, definition: Definition, at: str | None) -> int | None:
    name = definition.name
    if at is None:
        if definition.cutoff == "required":
            raise InputError(f"measure {text!r} needs a cutoff", remedy=f"write {name}@10, for instance")
        return None
    if definition.cutoff == "none":
        raise InputError(f"measure {text!r}: {name} has no cutoff", remedy=f"write {name}")
    if len(at) > 10 or not 1 <= int(at) <= 2**31 - 1:
        raise InputError(f"measure {text!r}: cutoff {at} is not a rank", remedy="ranks start at 1")
    return int(at)


def _checked(text: str, parameter: Parameter, value: Any) -> Any:
    """Value in its one canonical form, or an error that says what was expected."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if parameter.kind == "grade":
        good, want = number and int(value) == value and -32767 <= value <= 32767, "a whole number"
        value = int(value) if good else value
    elif parameter.kind == "share":
        good, want = number and 0 < value < 1, "a number between 0 and 1"
        value = float(value) if good else value
    elif parameter.kind == "fraction":
        good, want = number and 0 <= value <= 1, "a number from 0 to 1"
        value = float(value) if good else value
    elif parameter.kind == "weight":
        good, want = number and value >= 0, "a number of 0 or more"
        value = (int(value) if int(value) == value else float(value)) if good else value
    elif parameter.kind == "base":
        good, want = number and value > 1, "a number above 1"
        value = (int(value) if int(value) == value else float(value)) if good else value
    elif parameter.kind == "choice":
        good, want = value in parameter.choices, " or ".join(map(repr, parameter.choices))
    else:
        good, want = _is_gains(value), "a mapping from grades to gains of 0 or more, as in {0:0,1:1,2:3}"
        value = _gains(value) if good else value
    if not good:
        raise InputError(f"measure {text!r}: {parameter.name} is {value!r}", remedy=f"it must be {want}")
    return value


def _is_gains(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(grade, int) for grade in value)
        and all(
            isinstance(gain, int | float) and math.isfinite(gain) and gain >= 0 for gain in value.values()
        )
    )


def _gains(value: dict[int, float]) -> tuple[tuple[int, float], ...] | None:
    """Pairs in order of grade, whole numbers as such; nothing where every grade is its own gain."""
    pairs = sorted((int(grade), int(g) if int(g) == g else float(g)) for grade, g in value.items())
    return tuple(pairs) if any(grade != gain for grade, gain in pairs if grade >= 0 or gain > 0) else None


def _spell(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{grade}:{gain!r}" for grade, gain in value) + "}"
    return repr(value)


def _suggestion(key: str) -> str:
    near = difflib.get_close_matches(key, _BY_NAME, n=1)
    return f"did you mean {_BY_NAME[near[0]].name}? " if near else ""


def _known() -> str:
    return "known: " + ", ".join(definition.name for definition in DEFINITIONS)
