"""Measures by name: ``AP``, ``P@10``, ``nDCG(dcg='exp-log2')@20``, ``RBP(p=0.8)``; every name parses back."""

from __future__ import annotations

import ast
import difflib
import itertools
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from shardwise.core.errors import InputError, refuse_unknown
from shardwise.scoring.measures.definitions import DEFINITIONS, Definition, MeasureParameter
from shardwise.scoring.measures.tools import SELDOM, TOOLS, read_names, translate_name

_SHAPE = re.compile(r"\s*([A-Za-zα][\w.\-#♯]*)\s*(?:\((.*)\))?\s*(?:@\s*([0-9.]+))?\s*", re.DOTALL)
_BY_NAME = {definition.name: definition for definition in DEFINITIONS}
_BY_LOWER_NAME = {definition.name.lower(): definition.name for definition in DEFINITIONS}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with all its parameters; its text is the canonical name."""

    definition: Definition
    parameters: tuple[tuple[str, Any], ...]  # all of them, in the order of the definition
    cutoff: int | float | None = None  # a rank; a level of recall where the definition says so

    def __str__(self) -> str:
        shown = [
            f"{parameter.name}={_spell_value(value)}"
            for parameter, (_, value) in zip(self.definition.parameters, self.parameters, strict=True)
            if parameter.always_shown or value != parameter.default
        ]
        name = self.definition.name + (f"({','.join(shown)})" if shown else "")
        return name if self.cutoff is None else f"{name}@{self.cutoff}"

    @property
    def judged_only(self) -> bool:
        """Whether documents without a judgment are taken out of rankings first."""
        return bool(dict(self.parameters).get("judged_only", False))


def parse_measure(name: object, tool: str | None = None) -> Measure:
    """Read the name of a measure as ir_measures, trec_eval or another program spells it.

    Parameters
    ----------
    name : object
        The name, or an object whose text it is. ``tool:name`` says which program's name it is.
    tool : str, optional
        Program whose spelling comes first.

    Returns
    -------
    Measure
        The measure.

    >>> str(parse_measure("nDCG( dcg = 'exp-log2' )@20"))
    "nDCG(dcg='exp-log2')@20"
    >>> [str(parse_measure(name)) for name in ("map", "P_10", "ndcg_cut_20", "MRR", "RBP", "AP(rel=2)@100")]
    ['AP', 'P@10', 'nDCG@20', 'RR', 'RBP(p=0.8)', 'AP(rel=2)@100']
    >>> [str(parse_measure(name)) for name in ("alpha-nDCG@10", "D#-nDCG@10", "rbp.95", "gdeval:ndcg@20")]
    ['alpha_nDCG@10', 'Dsharp_nDCG@10', "RBP(p=0.95,scale='none')", "nDCG(dcg='exp-log2')@20"]
    """
    measures = expand_measure(name, tool)
    if len(measures) > 1:
        raise InputError(
            f"measure {str(name)!r} names {len(measures)} measures",
            remedy=f"choose one, such as {measures[0]}",
            argument="measure",
            value=name,
        )
    return measures[0]


def parse_measures(measures: object | Sequence[object], tool: str | None = None) -> list[Measure]:
    """Read one or several names of measures, each measure once, in the order given.

    Parameters
    ----------
    measures : object or sequence of objects
        Names, or objects whose text is a name; a name such as ``official`` stands for several.
    tool : str, optional
        Program whose spelling comes first.

    Returns
    -------
    list of Measure
        The measures, one at least.
    """
    several = measures if isinstance(measures, Sequence) and not isinstance(measures, str) else [measures]
    wanted = list(dict.fromkeys(measure for name in several for measure in expand_measure(name, tool)))
    if not wanted:
        raise InputError("no measure was given", remedy="name one, for instance AP")
    return wanted


def expand_measure(name: object, tool: str | None = None) -> list[Measure]:
    """Read a name that may stand for several measures, as trec_eval's ``P.5,10`` and ``official`` do.

    Our own names come first, capitals as they stand. Then the programs are asked for theirs, and after that spellings
    in other capitals; a name with more than one meaning is refused.

    Parameters
    ----------
    name : object
        The name, or an object whose text it is. ``tool:name`` says which program's name it is.
    tool : str, optional
        Program whose spelling comes first.

    Returns
    -------
    list of Measure
        The measures, one at least.
    """
    if isinstance(name, Measure):
        return [name]
    text = str(name).strip()
    prefix, colon, rest = text.partition(":")
    if colon and prefix.lower() in (known.lower() for known in TOOLS):
        tool, text = next(known for known in TOOLS if known.lower() == prefix.lower()), rest
        if (names := translate_name(text, tool)) is None:
            raise InputError(
                f"{tool} has no measure {text!r}", remedy="check the spelling, capitals included"
            )
        return [_parse_ours(spelled, text) for spelled in names]
    if tool is not None:
        if tool not in TOOLS:
            raise refuse_unknown("tool", tool, TOOLS, what="evaluation program")
        if (names := translate_name(text, tool)) is not None:
            return [_parse_ours(spelled, text) for spelled in names]
    if (measure := _parse_exactly(text)) is not None:
        return [measure]
    return _ask_tools(text)


def _parse_exactly(text: str) -> Measure | None:
    """Read one of our own names; None where it is none, or is written as another program does."""
    shape = _SHAPE.fullmatch(text)
    if shape is None or shape[1] not in _BY_NAME:
        return None
    # four digits are NTCIREVAL's, a share is a level of recall or the patience of a user of cwl-eval
    padded = shape[3] is not None and re.fullmatch(r"0\d+", shape[3])
    level = shape[3] is not None and "." in shape[3] and _BY_NAME[shape[1]].cutoff != "recall"
    relative = shape[1] == "SetP" and "relative" in (shape[2] or "")
    counted = shape[1] == "NumRet" and "rel" in (shape[2] or "")
    return None if padded or level or relative or counted else _parse_ours(text, text)


@cache
def _collect_capitals() -> dict[str, set[str]]:
    """Return the names of other programs by their lower case."""
    capitals: dict[str, set[str]] = {}
    for name in itertools.chain.from_iterable(read_names().values()):
        capitals.setdefault(name.lower(), set()).add(name)
    return capitals


def _ask_tools(text: str) -> list[Measure]:
    """Read a name that is not ours: all programs that have it must mean the same."""
    meanings: dict[tuple[Measure, ...], list[str]] = {}
    refusal: InputError | None = None
    others = [tool for tool in TOOLS if tool not in ("shardwise", *SELDOM)]
    shape = _SHAPE.fullmatch(text)
    spellings = [text]
    if shape is not None:
        # the name in the capitals of names that we or other programs have
        head = shape[1]
        heads = {_BY_LOWER_NAME.get(head.lower(), head), head.lower(), head.upper()}
        heads |= _collect_capitals().get(head.lower(), set())
        spellings += [text.replace(head, other, 1) for other in sorted(heads - {head})]
    for spelled in spellings:
        for tool in (*others, "shardwise"):
            try:
                names = translate_name(spelled, tool)
            except InputError as error:
                refusal = error
                continue
            if names:
                measures = tuple(_parse_ours(spelled_ours, text) for spelled_ours in names)
                meanings.setdefault(measures, []).append(tool)
        ours = _parse_exactly(spelled) if spelled != text else None
        if ours is not None:
            meanings.setdefault((ours,), []).append("shardwise")
        if meanings and spelled == text:
            break
    if len(meanings) == 1:
        return list(next(iter(meanings)))
    if meanings:
        choices = [f"{measures[0]}{' …' * (len(measures) > 1)} ({', '.join(dict.fromkeys(tools))})"
                   for measures, tools in meanings.items()]  # fmt: skip
        raise InputError(
            f"measure {text!r} has {len(meanings)} meanings: {', '.join(choices)}",
            remedy=f"write one of them, or name the program, as in {next(iter(meanings.values()))[0]}:{text}",
            argument="measure",
            value=text,
        )
    if refusal is not None:
        raise refusal
    if shape is None:
        raise InputError(
            f"measure {text!r} is not of the form Name(parameter=value)@cutoff", remedy=_list_known()
        )
    raise InputError(
        f"unknown measure {text!r}",
        remedy=_suggest_measure(shape[1]) or _list_known(),
        argument="measure",
        value=text,
    )


def _parse_ours(spelled: str, text: str) -> Measure:
    """Read a name in our own spelling; refusals quote the text that was given."""
    shape = _SHAPE.fullmatch(spelled)
    if shape is None or shape[1] not in _BY_NAME:
        raise InputError(
            f"measure {text!r} is not of the form Name(parameter=value)@cutoff", remedy=_list_known()
        )
    definition = _BY_NAME[shape[1]]
    inside = shape[2] or ""
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        given = {str(argument.arg): ast.literal_eval(argument.value) for argument in call.keywords}
    except (SyntaxError, ValueError, TypeError):
        remedy = "write them as in nDCG(dcg='exp-log2',base=10)@20"
        raise InputError(f"measure {text!r}: cannot read the parameters {inside!r}", remedy=remedy) from None
    cutoff = _parse_cutoff(text, definition, shape[3])
    takes = {parameter.name: parameter for parameter in definition.parameters}
    for argument in given:
        if argument not in takes:
            can = f"it takes {', '.join(takes)}" if takes else "it takes no parameters"
            raise InputError(f"measure {text!r}: {definition.name} has no parameter {argument!r}", remedy=can)
    if {"rel", "gains"} <= given.keys():
        raise InputError(f"measure {text!r}: rel and gains exclude each other", remedy="keep one of them")
    parameters = tuple(
        (name, _validate_value(text, parameter, given[name]) if name in given else parameter.default)
        for name, parameter in takes.items()
    )
    values = dict(parameters)
    if "min_rel" in values and values["min_rel"] >= values["max_rel"]:
        raise InputError(f"measure {text!r}: min_rel is not below max_rel", remedy="raise max_rel")
    return Measure(definition, parameters, cutoff)


def _parse_cutoff(text: str, definition: Definition, given: str | None) -> int | float | None:
    name = definition.name
    if given is None:
        if definition.cutoff == "required":
            raise InputError(f"measure {text!r} needs a cutoff", remedy=f"write {name}@10, for instance")
        if definition.cutoff == "recall":
            raise InputError(
                f"measure {text!r} needs a level of recall", remedy=f"write {name}@0.1, for instance"
            )
        return None
    if definition.cutoff == "none":
        raise InputError(f"measure {text!r}: {name} has no cutoff", remedy=f"write {name}")
    try:
        number = float(given)
    except ValueError:
        number = math.nan
    if definition.cutoff == "recall":
        if not 0.0 <= number <= 1.0:
            raise InputError(
                f"measure {text!r}: {given} is not a level of recall", remedy="give a share from 0 to 1"
            )
        return number
    if not 1 <= number <= 2**31 - 1 or number != int(number) or len(given) > 10:
        raise InputError(f"measure {text!r}: cutoff {given} is not a rank", remedy="ranks start at 1")
    return int(number)


def _simplify_number(value: float) -> int | float:
    """Return a whole number as int."""
    return int(value) if int(value) == value else float(value)


_NUMBERS: dict[str, tuple[Callable[[float], bool], str, Callable[[float], float]]] = {
    "grade": (lambda x: int(x) == x and -32767 <= x <= 32767, "a whole number", int),
    "share": (lambda x: 0 < x < 1, "a number between 0 and 1", float),
    "fraction": (lambda x: 0 <= x <= 1, "a number from 0 to 1", float),
    "weight": (lambda x: x >= 0, "a number of 0 or more", _simplify_number),
    "positive": (lambda x: x > 0, "a number above 0", _simplify_number),
    "number": (lambda x: True, "a number", _simplify_number),
    "base": (lambda x: x > 1, "a number above 1", _simplify_number),
}
"""Kinds of numbers: which are allowed, what is asked for, and their canonical type."""


def _validate_value(text: str, parameter: MeasureParameter, value: Any) -> Any:
    """Return a value in its canonical form, or refuse it and say what was expected."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if parameter.kind in _NUMBERS:
        fits, want, convert = _NUMBERS[parameter.kind]
        good = number and fits(value)
        value = convert(value) if good else value
    elif parameter.kind == "choice":
        good, want = value in parameter.choices, " or ".join(map(repr, parameter.choices))
    elif parameter.kind == "flag":
        good, want = isinstance(value, bool), "True or False"
    elif parameter.kind == "points":
        want = "shares from 0 to 1, as in (0.25,0.5,0.75)"
        good = isinstance(value, tuple | list) and bool(value)
        good = good and all(isinstance(point, int | float) and 0 <= point <= 1 for point in value)
        value = tuple(map(float, value)) if good else value
    else:
        want = "a mapping from grades to gains of 0 or more, as in {0:0,1:1,2:3}"
        good = isinstance(value, dict) and all(
            isinstance(grade, int) and isinstance(gain, int | float) and math.isfinite(gain) and gain >= 0
            for grade, gain in value.items()
        )
        if good:
            # in order of grade; nothing where every grade is its own gain
            pairs = sorted((int(grade), _simplify_number(gain)) for grade, gain in value.items())
            plain = all(grade == gain for grade, gain in pairs if grade >= 0 or gain > 0)
            value = None if plain else tuple(pairs)
    if not good:
        raise InputError(f"measure {text!r}: {parameter.name} is {value!r}", remedy=f"it must be {want}")
    return value


def _spell_value(value: Any) -> str:
    if isinstance(value, tuple):
        if isinstance(value[0], tuple):
            return "{" + ",".join(f"{grade}:{gain!r}" for grade, gain in value) + "}"
        return "(" + ",".join(map(repr, value)) + (",)" if len(value) == 1 else ")")
    return repr(value)


def _suggest_measure(text: str) -> str:
    """Ask for the measure that was probably meant: a name with its cutoff apart, or one that is spelt alike.

    >>> _suggest_measure("ndcg10"), _suggest_measure("map_5"), _suggest_measure("nDGC"), _suggest_measure("x")
    ('did you mean nDCG@10?', 'did you mean AP@5?', 'did you mean nDCG?', '')
    """
    if match := re.fullmatch(r"([A-Za-z_]+?)[_-]?(\d+)", text):
        base = _BY_LOWER_NAME.get(match[1].lower())
        with suppress(InputError):
            return f"did you mean {base or _ask_tools(match[1])[0]}@{match[2]}?"
    near = difflib.get_close_matches(text.lower(), _BY_LOWER_NAME, n=1)
    return f"did you mean {_BY_LOWER_NAME[near[0]]}?" if near else ""


def _list_known() -> str:
    shown = 12
    names = [definition.name for definition in DEFINITIONS]
    return f"known: {', '.join(names[:shown])} and {len(names) - shown} others"
