"""Names of measures as other programs spell them, each with that program's meaning in our own names.

A spelling is translated by the table of one program. Where no program is named, all tables are asked, and a spelling
that means different measures in different programs is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial

from shardwise.core.errors import InputError

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
"""Cutoffs that trec_eval reports unless others are given."""

_TREC_PLAIN = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "num_nonrel_judged_ret": "NumNonRelRet",
    "map": "AP",
    "gm_map": "GMAP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "gm_bpref": "GMBpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "utility": "Utility",
    "11pt_avg": "IAP",
    "binG": "BinG",
    "G": "G",
    "ndcg": "nDCG",
    "ndcg_rel": "nDCGrel",
    "Rndcg": "RnDCG",
    "set_P": "SetP",
    "set_relative_P": "SetRelP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "rbp": "RBP(p=0.9,scale='topic')",
    "rbp_resid": "RBPresidual(p=0.9)",
    "map_avgjg": "JudgeAP",
}
# our name with the parameter in its place, and what trec_eval reports where none is given
_TREC_LISTS: dict[str, tuple[str, tuple[float, ...]]] = {
    "P": ("P@{}", CUTOFFS),
    "recall": ("R@{}", CUTOFFS),
    "ndcg_cut": ("nDCG@{}", CUTOFFS),
    "map_cut": ("AP@{}", CUTOFFS),
    "relative_P": ("RelP@{}", CUTOFFS),
    "success": ("Success@{}", (1, 5, 10)),
    "unj": ("Unjudged@{}", (5, 10, 20)),
    "P_avgjg": ("JudgeP@{}", CUTOFFS),
    "iprec_at_recall": ("IPrec@{}", tuple(i / 10 for i in range(11))),
    "Rprec_mult": ("RprecMult(times={})", tuple(i / 5 for i in range(1, 11))),
    "Rprec_mult_avgjg": ("JudgeRprecMult(times={})", tuple(i / 5 for i in range(1, 11))),
}
HIGHEST_LEVEL = 1000
"""Highest level of relevance that a name may ask for where it becomes a list of gains."""
_SET = ("set_P", "set_relative_P", "set_recall", "set_map", "set_F")
_ALL_TREC = (
    *("num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
    *("relative_P", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg", "binG", "G", "ndcg"),
    *("ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "success", *_SET, "rbp", "rbp_resid", "unj"),
    *("num_q", "num_nonrel_judged_ret"),
)  # fmt: skip
_TREC_NICKNAMES = {
    "official": (
        *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
        *("iprec_at_recall", "P"),
    ),
    "set": (*("num_q", "num_ret", "num_rel", "num_rel_ret", "utility"), *_SET),
    "all_trec": _ALL_TREC,
    "qrels_jg": ("map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}  # fmt: skip
_PREFERENCES = re.compile(
    r"prefs|all_prefs|prefs_(?:simp|pair|avgjg|avgjg_Rnonrel)(?:_ret|_imp)?|prefs_num_prefs_(?:poss|ful|ful_ret)"
)


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
    if text in _TREC_NICKNAMES:
        return [name for part in _TREC_NICKNAMES[text] for name in _translate_trec_eval(part) or ()]
    if text in _TREC_PLAIN:
        return [_TREC_PLAIN[text]]
    if text in _TREC_LISTS:
        template, values = _TREC_LISTS[text]
        return [template.format(_format_number(str(value))) for value in values]
    for name in sorted((*_TREC_PLAIN, *_TREC_LISTS), key=len, reverse=True):
        if text.startswith((f"{name}_", f"{name}.")):
            try:
                return _translate_trec_parameters(name, text[len(name) + 1 :].split(","))
            except (ValueError, OverflowError):
                return None
    return None


def _translate_trec_parameters(name: str, values: list[str]) -> list[str] | None:
    """Our names of a measure of trec_eval with parameters; ValueError where they cannot be read."""
    if name in _TREC_LISTS:
        template, _ = _TREC_LISTS[name]
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
        return [f"{_TREC_PLAIN[name]}({_format_gains(values)})"]
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


def _rename_call(names: dict[str, str], text: str) -> list[str] | None:
    """Return our name of a call such as ``NDCG(dcg='exp-log2')@20``, its parameters and cutoff kept."""
    call = _CALL.fullmatch(text.strip())
    if call is None or call[1] not in names:
        return None
    return [_join_name(names[call[1]], call[2], call[3])]


def _join_name(name: str, inside: str | None, cutoff: str | None) -> str:
    """Put parameters and a cutoff to a name, which may have parameters already."""
    head, _, arguments = name.partition("(")
    given = ",".join(filter(None, [arguments.removesuffix(")"), (inside or "").strip()]))
    return head + (f"({given})" if given else "") + (f"@{cutoff}" if cutoff else "")


_IR_MEASURES = {
    **{
        name: name
        for name in (
            *("AP", "RR", "P", "R", "nDCG", "Rprec", "Bpref", "infAP", "IPrec", "SetP", "SetR", "SetF", "SetAP"),
            *("Success", "Judged", "NumQ", "NumRel", "NumRet", "NumRelRet", "RBP", "ERR", "Compat", "Accuracy"),
            *("INST", "INSQ", "BPM", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11", "ERR_IA", "nERR_IA"),
            *("alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall", "SetRelP"),
        )
    },
    "MAP": "AP",
    "MRR": "RR",
    "Precision": "P",
    "Recall": "R",
    "NDCG": "nDCG",
    "RPrec": "Rprec",
    "BPref": "Bpref",
    "α_DCG": "alpha_DCG",
    "α_nDCG": "alpha_nDCG",
    "MAP_IA": "AP_IA",
}  # fmt: skip


def _translate_ir_measures(text: str) -> list[str] | None:
    """Names of ir_measures, which are ours but for a few."""
    names = _rename_call(_IR_MEASURES, text)
    if names is None or re.search(r"@0\d", text):
        return None
    if relative := re.fullmatch(r"(SetP\(.*?),?\s*relative\s*=\s*(True|False),?\s*(.*\).*)", names[0]):
        plain = re.sub(r"\(\s*\)", "", relative[1] + relative[3])
        return [plain.replace("SetP", "SetRelP", 1) if relative[2] == "True" else plain]
    if re.fullmatch(r"NumRet\(.*rel.*\)", names[0]):
        return [names[0].replace("NumRet", "NumRelRet", 1)]
    return names


_RANX = {
    "hits": ("NumRelRet", "NumRelRet"),
    "hit_rate": ("Success", "Success"),
    "precision": ("SetP", "P"),
    "recall": ("SetR", "R"),
    "f1": ("SetF", "F"),
    "r-precision": ("Rprec", ""),
    "mrr": ("RR", "RR"),
    "map": ("AP", "AP"),
    "dcg": ("DCG", "DCG"),
    "dcg_burges": ("DCG(dcg='exp-log2')", "DCG(dcg='exp-log2')"),
    "ndcg": ("nDCG", "nDCG"),
    "ndcg_burges": ("nDCG(dcg='exp-log2')", "nDCG(dcg='exp-log2')"),
    "bpref": ("Bpref", ""),
}
_RANX_SHAPE = re.compile(r"([a-z1_-]+?)(?:@([0-9]+))?(?:-l([0-9]+))?")
_RANX_RBP = re.compile(r"rbp[.@]([0-9]+)(?:-l([0-9]+))?")


def _translate_ranx(text: str) -> list[str] | None:
    """Translate names of ranx: ``precision@5``, ``ndcg_burges@10``, ``map-l2``, ``rbp.95`` (p = 0.95)."""
    if (shape := _RANX_RBP.fullmatch(text)) and int(shape[2] or 1) <= HIGHEST_LEVEL:
        levels = _zero_gains_below(int(shape[2] or 1))
        return [_join_name(f"RBP(p=0.{shape[1]},scale='none')", levels, None)]
    shape = _RANX_SHAPE.fullmatch(text)
    if shape is None or shape[1] not in _RANX:
        return None
    whole, cut = _RANX[shape[1]]
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


_NTCIR = {
    "RR": "RR",
    "OMeasure": "O_measure",
    "PMeasure": "P_measure",
    "PPlusMeasure": "P_plus",
    "AP": "AP",
    "QMeasure": "Q",
    "NCUguP": "NCU(stop='graded',beta=0)",
    "NCUguBR": "NCU(stop='graded')",
    "NCUrbP": "NCU(stop='rank',beta=0)",
    "NCUrbBR": "NCU(stop='rank')",
    "ERR": "ERR(stop='gain')",
    "nERR": "nERR(stop='gain')",
    "nDCG": "nDCG(base=2)",
    "MSnDCG": "nDCG",
    "Precision": "P",
    "Hit": "Success",
}


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
    if name not in _NTCIR:
        return None
    if name == "AP" and cutoff:
        return [_join_name("AP(norm='min')", inside, cutoff)]
    if name == "MSnDCG" and "gains" not in (inside or ""):
        return [_join_name("nDCG(dcg='exp-log2')", inside, cutoff)]
    return [_join_name(_NTCIR[name], inside, cutoff)]


def _translate_gdeval(text: str) -> list[str] | None:
    """Translate names of gdeval: ``ndcg@20`` with gain 2^grade - 1, ``err@20``."""
    shape = re.fullmatch(r"(ndcg|err)@([0-9]+)", text)
    return shape and [_join_name({"ndcg": "nDCG(dcg='exp-log2')", "err": "ERR"}[shape[1]], None, shape[2])]


_NDEVAL = {
    "ERR-IA": "ERR_IA",
    "nERR-IA": "nERR_IA",
    "alpha-DCG": "alpha_DCG",
    "alpha-nDCG": "alpha_nDCG",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "MAP-IA": "AP_IA",
    "P-IA": "P_IA",
    "strec": "StRecall",
}


def _translate_sample_eval(text: str) -> list[str] | None:
    """Names of NIST's sample_eval, which looks at 1,000 documents."""
    plain = {
        "infAP": "xinfAP@1000",
        "infNDCG": "infNDCG@1000",
        "inum_rel": "infNumRel",
        "inum_rel_ret": "infNumRelRet@1000",
        "num_ret": "NumRet",
    }
    if text in plain:
        return [plain[text]]
    if shape := re.fullmatch(r"iP([0-9]+)", text):
        return [f"infP@{shape[1]}"]
    if shape := re.fullmatch(r"iprec@rec([0-9]+(?:\.[0-9]+)?)", text):
        return [f"infIPrec@{_format_number(shape[1])}"]
    return None


_CWL_SHAPES: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"P@([0-9]+)", lambda m: f"CWL(user='P')@{m[1]}"),
    (r"RR", lambda m: "CWL(user='RR')"),
    (r"AP", lambda m: "CWL(user='AP')"),
    (r"TrAP", lambda m: "CWL(user='TrAP')"),
    (r"RBP@([0-9]+(?:\.[0-9]+)?)", lambda m: f"CWL(user='RBP',p={m[1]})"),
    (r"NDCG-k@([0-9]+)", lambda m: f"SDCG@{m[1]}"),
    (r"NERR-EQ8@k=([0-9]+)", lambda m: f"NERR8@{m[1]}"),
    (r"NERR-EQ9@k=([0-9]+)", lambda m: f"NERR9@{m[1]}"),
    (r"NERR-EQ10@phi=([0-9]+(?:\.[0-9]+)?)", lambda m: f"NERR10(p={m[1]})"),
    (r"NERR-EQ11@T=([0-9]+(?:\.[0-9]+)?)", lambda m: f"NERR11(T={m[1]})"),
    (r"INST-T=([0-9]+(?:\.[0-9]+)?)", lambda m: f"INST(T={m[1]})"),
    (r"INSQ-T=([0-9]+(?:\.[0-9]+)?)", lambda m: f"INSQ(T={m[1]})"),
    (r"BPM-Static-T=([0-9]+(?:\.[0-9]+)?)-K=([0-9]+)", lambda m: f"BPM(T={m[1]})@{m[2]}"),
    (
        r"BPM-Dynamic-T=([0-9]+(?:\.[0-9]+)?)-K=([0-9]+)-hb=([0-9]+(?:\.[0-9]+)?)-hc=[0-9]+(?:\.[0-9]+)?",
        lambda m: f"CWL(user='BPM-Dynamic',T={m[1]},hb={m[3]})@{m[2]}",
    ),
    (r"TBG-H@([0-9]+(?:\.[0-9]+)?)", lambda m: f"CWL(user='TBG',H={m[1]})"),
    (r"U-L@([0-9]+(?:\.[0-9]+)?)", lambda m: f"CWL(user='U',L={m[1]})"),
    (
        r"IFT-C1-T=([0-9]+(?:\.[0-9]+)?)-b1=([0-9]+(?:\.[0-9]+)?)-R1=([0-9]+(?:\.[0-9]+)?)",
        lambda m: f"CWL(user='IFT-C1',T={m[1]},b1={m[2]},R1={m[3]})",
    ),
    (
        r"IFT-C2-A=([0-9]+(?:\.[0-9]+)?)-b2=([0-9]+(?:\.[0-9]+)?)-R2=([0-9]+(?:\.[0-9]+)?)",
        lambda m: f"CWL(user='IFT-C2',A={m[1]},b2={m[2]},R2={m[3]})",
    ),
    (
        r"IFT-C1-C2-T=([0-9]+(?:\.[0-9]+)?)-b1=([0-9]+(?:\.[0-9]+)?)-R1=([0-9]+(?:\.[0-9]+)?)-A=([0-9]+(?:\.[0-9]+)?)-b2=([0-9]+(?:\.[0-9]+)?)-R2=([0-9]+(?:\.[0-9]+)?)",
        lambda m: f"CWL(user='IFT-C1-C2',T={m[1]},b1={m[2]},R1={m[3]},A={m[4]},b2={m[5]},R2={m[6]})",
    ),
)


def _translate_cwl_eval(text: str) -> list[str] | None:
    """Translate cwl-eval, followed by the column, as in ``INST-T=1 ETU``; its gains are grades over ``max_rel``."""
    shape = re.fullmatch(r"(\S+?)(\(.*\))?(?:\s+(EU|ETU|EC|ETC|ED))?", text.strip())
    if shape is None:
        return None
    name, inside, column = shape.groups()
    for pattern, translate in _CWL_SHAPES:
        if match := re.fullmatch(pattern, name):
            extra = [(inside or "")[1:-1], f"value='{column}'" if column and column != "EU" else ""]
            call, _, cutoff = translate(match).partition("@")
            return [_join_name(call, ",".join(filter(None, extra)), cutoff or None)]
    return None


def _translate_ours(text: str) -> list[str] | None:
    """Translate other spellings of our own names, after the papers that the measures come from."""
    return _rename_call(
        {
            "α-nDCG": "alpha_nDCG",
            "Q-measure": "Q",
            "D-nDCG": "D_nDCG",
            "D#-nDCG": "Dsharp_nDCG",
            "D♯-nDCG": "Dsharp_nDCG",
            "Dsharp-nDCG": "Dsharp_nDCG",
            "I-rec": "StRecall",
            "xinfNDCG": "infNDCG",
            "R-prec": "Rprec",
            "F1": "F",
            "hit_rate": "Success",
        },
        text,
    )


TOOLS: dict[str, Callable[[str], list[str] | None]] = {
    "shardwise": _translate_ours,
    "trec_eval": _translate_trec_eval,
    "trec_eval-10": _translate_trec_eval_10,
    "ir_measures": _translate_ir_measures,
    "ranx": _translate_ranx,
    "NTCIREVAL": _translate_ntcireval,
    "gdeval": _translate_gdeval,
    "ndeval": partial(_rename_call, _NDEVAL),
    "sample_eval": _translate_sample_eval,
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
