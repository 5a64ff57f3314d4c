"""Scores against trec_eval (pytrec_eval), cell by cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytrec_eval
import xarray as xr

from collections_for_tests import Qrels, Run

# ours -> trec_eval's name in requests, in answers, and its relevance level
TREC_EVAL = {
    "AP": ("map", "map", 1),
    "AP(rel=2)": ("map", "map", 2),
    "AP@3": ("map_cut.3", "map_cut_3", 1),
    "P@4": ("P.4", "P_4", 1),
    "P(rel=2)@4": ("P.4", "P_4", 2),
    "P@1000": ("P.1000", "P_1000", 1),
    "R@3": ("recall.3", "recall_3", 1),
    "R(rel=2)@5": ("recall.5", "recall_5", 2),
    "RR": ("recip_rank", "recip_rank", 1),
    "RR(rel=2)": ("recip_rank", "recip_rank", 2),
    "nDCG": ("ndcg", "ndcg", 1),
    "nDCG@3": ("ndcg_cut.3", "ndcg_cut_3", 1),
    "nDCG@20": ("ndcg_cut.20", "ndcg_cut_20", 1),
    "Bpref": ("bpref", "bpref", 1),
    "Bpref(rel=2)": ("bpref", "bpref", 2),
    "Rprec": ("Rprec", "Rprec", 1),
    "Rprec(rel=2)": ("Rprec", "Rprec", 2),
    "infAP": ("infAP", "infAP", 1),
    "infAP(rel=2)": ("infAP", "infAP", 2),
    "Success@2": ("success.2", "success_2", 1),
    "SetP": ("set_P", "set_P", 1),
    "SetR": ("set_recall", "set_recall", 1),
    "SetF": ("set_F", "set_F", 1),
    "SetAP": ("set_map", "set_map", 1),
    "SetRelP": ("set_relative_P", "set_relative_P", 1),
    "SetAP(rel=2)": ("set_map", "set_map", 2),
    "RelP@3": ("relative_P.3", "relative_P_3", 1),
    "RprecMult(times=0.5)": ("Rprec_mult.0.5", "Rprec_mult_0.50", 1),
    "RprecMult(times=1.5,rel=2)": ("Rprec_mult.1.5", "Rprec_mult_1.50", 2),
    "IPrec@0.3": ("iprec_at_recall.0.3", "iprec_at_recall_0.30", 1),
    "IPrec(rel=2)@0.6": ("iprec_at_recall.0.6", "iprec_at_recall_0.60", 2),
    "IAP": ("11pt_avg", "11pt_avg", 1),
    "BinG": ("binG", "binG", 1),
    "G": ("G", "G", 1),
    "nDCGrel": ("ndcg_rel", "ndcg_rel", 1),
    "RnDCG": ("Rndcg", "Rndcg", 1),
    "NumRet": ("num_ret", "num_ret", 1),
    "NumRel": ("num_rel", "num_rel", 1),
    "NumRelRet": ("num_rel_ret", "num_rel_ret", 1),
}
COUNTS = {"NumRet", "NumRel", "NumRelRet"}


class TrecEval:
    """trec_eval on one set of judgments, at both relevance levels."""

    def __init__(self, qrels: Qrels) -> None:
        self.topics = list(qrels)
        self.levels: list[tuple[Any, dict[str, str], set[str]]] = []
        for level in (1, 2):
            wanted = {ours: names for ours, names in TREC_EVAL.items() if names[2] == level}
            # trec_eval counts nonrelevant documents up to the level, present or not: keep it inside the grades
            usable = {t: grades for t, grades in qrels.items() if max(grades.values(), default=-1) >= level}
            requests = {request for request, _, _ in wanted.values()}
            evaluator = pytrec_eval.RelevanceEvaluator(usable, requests, relevance_level=level)
            answers = {ours: answer for ours, (_, answer, _) in wanted.items()}
            self.levels.append((evaluator, answers, set(usable)))

    def __call__(self, run: Run) -> dict[str, dict[str, float]]:
        """topic -> our name -> value; topics without judgments or results have none."""
        found: dict[str, dict[str, float]] = {topic: {} for topic in self.topics}
        for evaluator, answers, usable in self.levels:
            for topic, values in evaluator.evaluate(
                {t: r for t, r in run.items() if r and t in usable}
            ).items():
                found[topic] |= {ours: values[answer] for ours, answer in answers.items()}
        return found


def check_against_trec_eval(scores: xr.Dataset, runs: Mapping[str, Run], qrels: Qrels) -> int:
    """Compare cell by cell; undefined exactly where no relevant document is. Returns cells compared."""
    compared = 0
    trec_eval = TrecEval(qrels)
    ours = {name: values.transpose("system", "topic").values for name, values in scores.data_vars.items()}
    place = {str(topic): t for t, topic in enumerate(scores["topic"].values)}
    for r, system in enumerate(scores["system"].values):
        theirs = trec_eval(runs[str(system)])
        for topic, grades in qrels.items():
            best = max(grades.values(), default=-1)
            for measure, (_, _, level) in TREC_EVAL.items():
                value = float(ours[measure][r, place[topic]])
                if best < level and measure not in COUNTS:
                    assert math.isnan(value), (measure, topic, system)
                elif measure not in COUNTS or measure in theirs[topic]:
                    expected = theirs[topic].get(measure, 0.0)
                    assert abs(value - expected) <= 1e-9, (measure, topic, system, value, expected)
                    compared += 1
    return compared
