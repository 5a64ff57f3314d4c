"""Every measure name of every program: it has that program's meaning, or is refused with a reason."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from shardwise.core.errors import InputError
from shardwise.scoring.measures.names import expand_measure

TOOLS = {
    "trec_eval 10": "trec_eval-10",
    "ir_measures 0.4.3": "ir_measures",
    "ranx 0.3.21": "ranx",
    "NTCIREVAL (pyNTCIREVAL 0.0.3)": "NTCIREVAL",
    "gdeval.pl 1.3": "gdeval",
    "ndeval": "ndeval",
    "sample_eval.pl": "sample_eval",
    "cwl-eval 1.0.12": "cwl_eval",
}
# how a name stands in the table, and names that a user would type for it
TYPED = {
    "iprec_at_recall_r": ["iprec_at_recall", "iprec_at_recall_0.10"],
    "P_k": ["P", "P_10", "P.5,7"],
    "recall_k": ["recall", "recall_10"],
    "Rprec_mult_f": ["Rprec_mult", "Rprec_mult_0.20"],
    "utility_a,b,c,d": ["utility", "utility.2,-1,0,0"],
    "11pt_avg": ["11pt_avg", "11pt_avg.0.25,0.5"],
    "G": ["G", "G.1=1,2=3"],
    "ndcg": ["ndcg", "ndcg.1=3,2=9"],
    "ndcg_cut_k": ["ndcg_cut", "ndcg_cut_10"],
    "map_cut_k": ["map_cut", "map_cut_10"],
    "relative_P_k": ["relative_P", "relative_P_10"],
    "success_k": ["success", "success_5"],
    "set_F": ["set_F", "set_F.0.5"],
    "rbp": ["rbp", "rbp.p=0.8", "rbp.p=0.95,1=1,2=3"],
    "rbp_resid": ["rbp_resid", "rbp_resid.p=0.8"],
    "unj_k": ["unj", "unj_5"],
    "relstring_k": ["relstring", "relstring_20"],
    "prefs_*_ret": ["prefs_simp_ret", "prefs_avgjg_Rnonrel_ret"],
    "prefs_*_imp": ["prefs_pair_imp"],
    "prefs_num_prefs_poss, _ful, _ful_ret": [
        "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"
    ],
    "P (Precision)": ["P@5", "Precision@5", "P(judged_only=True)@5"],
    "R (Recall)": ["R@5", "Recall@5"],
    "SetP (SetRelP: relative=True)": ["SetP", "SetRelP", "SetP(relative=True)"],
    "NumRet (NumRelRet: rel=1)": ["NumRet", "NumRelRet", "NumRet(rel=2)"],
    "IPrec": ["IPrec@0.1"],
    "ERR": ["ERR@20"],
    "INST": ["INST(max_rel=2)"],
    "SDCG": ["SDCG(max_rel=2)@10"],
    "NERR8, NERR9": ["NERR8(max_rel=2)@10", "NERR9(max_rel=2)@10"],
    "rbp.NN (rbp@NN)": ["rbp.95", "rbp@95"],
    "name-lN": ["map-l2", "ndcg@10-l2", "f1@5-l2"],
    "ndcg@k": ["ndcg@20"],
    "err@k": ["err@20"],
    "nERR@k": ["nERR@0010"],
    "nDCG@k": ["nDCG@0010"],
    "MSnDCG@k": ["MSnDCG@0010"],
    "Precision@k": ["Precision@0010"],
    "Hit@k": ["Hit@0010"],
    "AP, AP@k": ["AP", "AP@0010"],
    "QMeasure, QMeasure@k": ["QMeasure", "QMeasure@0010"],
    "iprec@recX, iPk, inum_rel, inum_rel_ret, num_ret": [
        "iprec@rec0.10", "iP10", "inum_rel", "inum_rel_ret", "num_ret"
    ],
    "NAME EU / ETU / EC / ETC / ED": ["RR EU", "RR ETU", "RR EC", "RR ETC", "RR ED"],
    "P@k, RR, AP, TrAP, RBP@θ, NDCG-k@k, NERR-EQ8@k=, NERR-EQ9@k=, NERR-EQ10@phi=, NERR-EQ11@T=": [
        "P@5", "RR", "AP", "TrAP", "RBP@0.5", "NDCG-k@5", "NERR-EQ8@k=10", "NERR-EQ9@k=10", "NERR-EQ10@phi=0.9",
        "NERR-EQ11@T=2.0",
    ],
    "INST-T=, INSQ-T=": ["INST-T=1", "INSQ-T=2.0"],
    "BPM-Static-T=-K=, BPM-Dynamic-…": ["BPM-Static-T=1-K=10", "BPM-Dynamic-T=1-K=10-hb=1.0-hc=1.0"],
    "TBG-H@h, U-L@L, IFT-C1…, IFT-C2…, IFT-C1-C2…": [
        "TBG-H@22", "U-L@50", "IFT-C1-T=2.0-b1=0.9-R1=10", "IFT-C2-A=0.2-b2=0.9-R2=10",
        "IFT-C1-C2-T=2.0-b1=0.9-R1=10-A=0.2-b2=0.9-R2=10",
    ],
}  # fmt: skip
# entries of the table that are options of a program and no names
OPTIONS = {("NTCIREVAL (pyNTCIREVAL 0.0.3)", "-j"), ("ndeval", "-traditional")}
# names that are refused, and why
REFUSED = {
    "runid": "is a text",
    "relstring": "is a text",
    "relstring_20": "is a text",
    "RBP": "needs the gains",
    **dict.fromkeys(
        ("prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel", "prefs_simp_ret", "prefs_pair_imp",
         "prefs_avgjg_Rnonrel_ret", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret",
         "prefs", "all_prefs"),
        "needs preference judgments",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def entries(data: Path) -> list[tuple[str, str]]:
    table = data / "conformance" / "names.csv"
    if not table.is_file():
        pytest.skip("no folder conformance among the data")
    with table.open() as lines:
        return [(row["tool"], row["name"]) for row in csv.DictReader(lines)]


def typed_names(tool: str, entry: str) -> list[str]:
    """Names that a user types, of an entry such as ``nDCG (NDCG)`` or ``ERR-IA@5,10,20 / nERR-IA@5,10,20``."""
    if entry in TYPED and not (tool.startswith("ranx") and entry in ("ndcg", "map")):
        return TYPED[entry]
    if "@5,10,20" in entry:
        return [f"{part.partition('@')[0]}@{k}" for part in entry.split(" / ") for k in (5, 10, 20)]
    names = [name for name in re.split(r"[,/()]\s*|\s+", entry) if name]
    needed = ("alpha", "α", "ERR_IA", "nERR_IA", "P_IA", "StRecall", "Success")
    if tool.startswith("ir_measures"):
        return [f"{name}@10" if name.startswith(needed) else name for name in names]
    return names


def test_every_name_of_every_program(entries: list[tuple[str, str]]) -> None:
    resolved, refused = 0, 0
    for tool, entry in entries:
        if (tool, entry) in OPTIONS:
            continue
        for name in typed_names(tool, entry):
            reason = REFUSED.get(name) if tool.startswith(("trec_eval", "NTCIR")) else None
            if reason is None:
                measures = expand_measure(name, TOOLS[tool])
                assert measures, (tool, name)
                # the name with the program before it is the same
                assert expand_measure(f"{TOOLS[tool]}:{name}") == measures, (tool, name)
                resolved += 1
            else:
                with pytest.raises(InputError, match=reason):
                    expand_measure(name, TOOLS[tool])
                refused += 1
    assert (len(entries), resolved, refused) == (124, 204, 16)


def test_without_a_program_a_name_has_one_meaning_or_none(entries: list[tuple[str, str]]) -> None:
    """A name that is typed alone is what all programs with that name mean, one of our own, or refused."""
    for tool, entry in entries:
        if (tool, entry) in OPTIONS:
            continue
        for name in typed_names(tool, entry):
            try:
                alone = expand_measure(name)
                theirs = expand_measure(name, TOOLS[tool])
            except InputError:
                continue
            if alone != theirs:
                ours = str(alone[0].definition.name)
                # names that are also ours, spelled the same, or version 10 against 9 of trec_eval
                assert name.startswith(ours) or tool.startswith("trec_eval"), (tool, name, str(alone[0]))
