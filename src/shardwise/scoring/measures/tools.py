"""Names of measures as other programs spell them, each with that program's meaning in our own names.

The tables stand in `names.toml`. A spelling is translated by the table of one program. Where no program is named, all
tables are asked, and a spelling that means different measures in different programs is refused.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from typing import Any

from shardwise.core.errors import InputError

HIGHEST_LEVEL = 1000
"""Highest level of relevance that a name may ask for where it becomes a list of gains."""
_PREFERENCES = re.compile(
    r"prefs|all_prefs|prefs_(?:simp|pair|avgjg|avgjg_Rnonrel)(?:_ret|_imp)?|prefs_num_prefs_(?:poss|ful|ful_ret)"
)


@cache
def read_names() -> dict[str, dict[str, Any]]:
    """Return the tables of names by program."""
    text = resources.files("shardwise.scoring.measures").joinpath("names.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _refuse_name(text: str, problem: str, remedy: str) -> InputError:
    return InputError(f"measure {text!r} {problem}", remedy=remedy, argument="measure", value=text)


def _format_number(text: str) -> str:
    """Write a number as Python spells it: ``.10`` is 0.1, ``5.0`` is 5; ValueError where it is none."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return str(int(value)) if value == int(value) else repr(value)


def _format_gains(pairs: list[str]) -> str:
    """Write gains from pairs such as ``1=3``, as they stand in one of our names."""
    split = [pair.partition("=") for pair in pairs]
    inside = ",".join(f"{int(grade)}:{_format_number(gain)}" for grade, _, gain in split)
    return "gains={" + inside + "}"


def _translate_trec_eval(text: str) -> list[str] | None:
    """Names of trec_eval: ``P_10``, ``P.5,10``, ``ndcg_cut_20``, ``set_F.0.5``, ``rbp.p=0.8``, ``all_trec``."""
    if text in ("runid", "relstring") or re.fullmatch(r"relstring[_.][0-9]+", text):
        raise _refuse_name(text, "is a text, not a number", "leave it out")
    if _PREFERENCES.fullmatch(text):
        raise _refuse_name(text, "needs preference judgments, which are not read", "use qrels with grades")
    plain, lists = read_names()["trec_eval"], read_names()["trec_eval_lists"]
    several = read_names()["trec_eval_nicknames"]
    if text in several:
        return [name for part in several[text] for name in _translate_trec_eval(part) or ()]
    if text in plain:
        return [plain[text]]
    if text in lists:
        return [lists[text]["ours"].format(value) for value in lists[text]["values"]]
    for name in sorted((*plain, *lists), key=len, reverse=True):
        if text.startswith((f"{name}_", f"{name}.")):
            try:
                return _translate_trec_parameters(name, text[len(name) + 1 :].split(","))
            except (ValueError, OverflowError):
                return None
    return None


def _translate_trec_parameters(name: str, values: list[str]) -> list[str] | None:
    """Our names of a measure of trec_eval with parameters; ValueError where they cannot be read."""
    if name in read_names()["trec_eval_lists"]:
        template = read_names()["trec_eval_lists"][name]["ours"]
        whole = template.endswith("@{}") and name != "iprec_at_recall"
        return [template.format(int(float(value)) if whole else _format_number(value)) for value in values]
    if name == "utility" and len(values) == 4:
        inside = ",".join(f"{key}={_format_number(value)}" for key, value in zip("abcd", values, strict=True))
        return [f"Utility({inside})"]
    if name == "11pt_avg":
        return [f"IAP(points=({','.join(map(_format_number, values))},))"]
    if name == "set_F" and len(values) == 1:
        return [f"SetF(beta={_format_number(values[0])})"]
    if name in ("ndcg", "ndcg_rel", "Rndcg", "G"):
        return [f"{read_names()['trec_eval'][name]}({_format_gains(values)})"]
    if name in ("rbp", "rbp_resid"):
        named = [value for value in values if value.startswith("p=")]
        others = [value for value in values if not value.startswith("p=")]
        p = f"p={_format_number(named[-1][2:])}" if named else "p=0.9"
        if name == "rbp_resid":
            return [f"RBPresidual({p})"] if not others else None
        return [f"RBP({p},scale='topic'{',' + _format_gains(others) if others else ''})"]
    return None


def _translate_trec_eval_10(text: str) -> list[str] | None:
    """Names of trec_eval from version 10 on, which takes recall to be reached at the nearest document."""
    names = _translate_trec_eval(text)
    parts = [(name, *name.partition("@")[::2]) for name in names or []]
    return names and [
        _join_name(call, "reach='nearest'", level or None) if name.startswith(("IPrec", "IAP")) else name
        for name, call, level in parts
    ]


_CALL = re.compile(r"([^(@\s]+)\s*(?:\((.*)\))?\s*(?:@\s*(\S+))?", re.DOTALL)


def _rename_call(tool: str, text: str) -> list[str] | None:
    """Return our name of a call such as ``NDCG(dcg='exp-log2')@20``, its parameters and cutoff kept."""
    call, names = _CALL.fullmatch(text.strip()), read_names()[tool]
    if call is None or call[1] not in names:
        return None
    return [_join_name(names[call[1]], call[2], call[3])]


def _join_name(name: str, inside: str | None, cutoff: str | None) -> str:
    """Put parameters and a cutoff to a name, which may have parameters already."""
    head, _, arguments = name.partition("(")
    given = ",".join(filter(None, [arguments.removesuffix(")"), (inside or "").strip()]))
    return head + (f"({given})" if given else "") + (f"@{cutoff}" if cutoff else "")


def _translate_ir_measures(text: str) -> list[str] | None:
    """Names of ir_measures, which are ours but for a few."""
    names = _rename_call("ir_measures", text)
    if names is None or re.search(r"@0\d", text):
        return None
    if relative := re.fullmatch(r"(SetP\(.*?),?\s*relative\s*=\s*(True|False),?\s*(.*\).*)", names[0]):
        plain = re.sub(r"\(\s*\)", "", relative[1] + relative[3])
        return [plain.replace("SetP", "SetRelP", 1) if relative[2] == "True" else plain]
    if re.fullmatch(r"NumRet\(.*rel.*\)", names[0]):
        return [names[0].replace("NumRet", "NumRelRet", 1)]
    return names


_RANX_SHAPE = re.compile(r"([a-z1_-]+?)(?:@([0-9]+))?(?:-l([0-9]+))?")
_RANX_RBP = re.compile(r"rbp[.@]([0-9]+)(?:-l([0-9]+))?")


def _translate_ranx(text: str) -> list[str] | None:
    """Translate names of ranx: ``precision@5``, ``ndcg_burges@10``, ``map-l2``, ``rbp.95`` (p = 0.95)."""
    if (shape := _RANX_RBP.fullmatch(text)) and int(shape[2] or 1) <= HIGHEST_LEVEL:
        levels = _zero_gains_below(int(shape[2] or 1))
        return [_join_name(f"RBP(p=0.{shape[1]},scale='none')", levels, None)]
    shape, names = _RANX_SHAPE.fullmatch(text), read_names()["ranx"]
    if shape is None or shape[1] not in names:
        return None
    whole, cut = names[shape[1]]
    if shape[2] and not cut:
        return None
    level = int(shape[3] or 1)
    if level > HIGHEST_LEVEL:
        return None
    graded = "dcg" in shape[1]
    inside = (_zero_gains_below(level) if graded else f"rel={level}") if level > 1 else None
    return [_join_name(cut if shape[2] else whole, inside, shape[2])]


def _zero_gains_below(level: int) -> str | None:
    """Write gains that make grades below a level worth nothing."""
    grades = ",".join(f"{grade}:0" for grade in range(1, level))
    return "gains={" + grades + "}" if grades else None


def _translate_ntcireval(text: str) -> list[str] | None:
    """Translate NTCIREVAL, gains as in ``QMeasure(gains={1:1,2:3})@0010``; without them a grade is its own gain."""
    call = _CALL.fullmatch(text.strip())
    if call is None:
        return None
    name, inside, cutoff = call[1], call[2], call[3]
    cutoff = cutoff and (cutoff.lstrip("0") or "0")
    if name == "RBP" and cutoff is None:
        if "gains" not in (inside or ""):
            raise _refuse_name(
                text,
                "needs the gains that NTCIREVAL is given by -g",
                "write RBP(p=0.95,gains={1:0.5,2:1}), every gain over the largest",
            )
        return [_join_name("RBP(p=0.95)" if "p=" not in (inside or "") else "RBP", inside, None)]
    names = read_names()["NTCIREVAL"]
    if name not in names:
        return None
    if name == "AP" and cutoff:
        return [_join_name("AP(norm='min')", inside, cutoff)]
    if name == "MSnDCG" and "gains" not in (inside or ""):
        return [_join_name("nDCG(dcg='exp-log2')", inside, cutoff)]
    return [_join_name(names[name], inside, cutoff)]


@cache
def _compile_shapes(tool: str) -> list[tuple[re.Pattern[str], str]]:
    """Return the expressions of a program's names and ours: {k} stands for a whole number, others for any number."""
    shapes = []
    for name, ours in read_names()[tool].items():
        whole = re.escape(name).replace(r"\{k\}", "(?P<k>[0-9]+)")
        shapes.append((re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[0-9]+(?:[.][0-9]+)?)", whole)), ours))
    return shapes


def _fill_shape(tool: str, text: str) -> list[str] | None:
    """Return our name of one with numbers in it, such as ``ndcg@20`` or ``INST-T=1``."""
    matches = ((shape.fullmatch(text), ours) for shape, ours in _compile_shapes(tool))
    return next(([ours.format_map(match.groupdict())] for match, ours in matches if match), None)


def _translate_cwl_eval(text: str) -> list[str] | None:
    """Translate cwl-eval, followed by the column, as in ``INST-T=1 ETU``; its gains are grades over ``max_rel``."""
    shape = re.fullmatch(r"(\S+?)(\(.*\))?(?:\s+(EU|ETU|EC|ETC|ED))?", text.strip())
    if shape is None:
        return None
    name, inside, column = shape.groups()
    extra = [(inside or "")[1:-1], f"value='{column}'" if column and column != "EU" else ""]
    parts = [ours.partition("@") for ours in _fill_shape("cwl_eval", name) or ()]
    return [
        _join_name(call, ",".join(filter(None, extra)), cutoff or None) for call, _, cutoff in parts
    ] or None


TOOLS: dict[str, Callable[[str], list[str] | None]] = {
    "shardwise": partial(_rename_call, "shardwise"),
    "trec_eval": _translate_trec_eval,
    "trec_eval-10": _translate_trec_eval_10,
    "ir_measures": _translate_ir_measures,
    "ranx": _translate_ranx,
    "NTCIREVAL": _translate_ntcireval,
    "gdeval": partial(_fill_shape, "gdeval"),
    "ndeval": partial(_rename_call, "ndeval"),
    "sample_eval": partial(_fill_shape, "sample_eval"),
    "cwl_eval": _translate_cwl_eval,
}
"""How each program's names are translated; a translation is None where the program has no such name."""

SELDOM = ("trec_eval-10",)
"""Programs that are asked only where they are named: others have the same names with another meaning."""


def translate_name(text: str, tool: str) -> list[str] | None:
    """Return our names of a measure, or of several, as a program spells it; None where it has no such name.

    Parameters
    ----------
    text : str
        The name as the program spells it.
    tool : str
        The program, as in `TOOLS`.

    Returns
    -------
    list of str or None
        Our names.

    >>> translate_name("rbp.95", "ranx"), translate_name("P.5,7", "trec_eval"), translate_name("P.5,7", "ranx")
    (["RBP(p=0.95,scale='none')"], ['P@5', 'P@7'], None)
    """
    return TOOLS[tool](text)
