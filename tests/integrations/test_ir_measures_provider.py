"""shardwise as a provider of ir_measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest

from shardwise.integrations.ir_measures import provider

GOLD = json.loads((Path(__file__).parent.parent / "gold" / "ir_measures_tests.json").read_text())
EXPECTED = [
    pytest.param(case, line, id=line["measure"]) for case in GOLD["cases"] for line in case["expected"]
]


def qrels_of(case: dict[str, Any]) -> list[Any]:
    return [
        ir_measures.Qrel(query_id=topic, doc_id=doc, relevance=grade, iteration=iteration)
        for topic, iteration, doc, grade in case["qrels"]
    ]


@pytest.mark.parametrize(("case", "line"), EXPECTED)
def test_expected_values_of_ir_measures(case: dict[str, Any], line: dict[str, Any]) -> None:
    measure = ir_measures.parse_measure(line["measure"])
    assert provider.supports(measure)
    qrels, tolerance = qrels_of(case), 0.51 * 10.0 ** -line["digits"]
    results = list(provider.iter_calc([measure], qrels, case["run"]))
    assert [result.query_id for result in results] == list(case["run"])
    assert [result.value for result in results] == pytest.approx(line["topics"], abs=tolerance)
    if line["aggregate"] is not None:
        total = provider.calc_aggregate([measure], qrels, case["run"])[measure]
        assert total == pytest.approx(line["aggregate"], abs=2 * tolerance)


def test_it_is_registered() -> None:
    assert ir_measures.providers.registry["shardwise"] is provider
    assert provider.is_available()


def some_runs(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    rng = np.random.default_rng(seed)
    docs = [f"d{i}" for i in range(40)]
    topics = [str(i) for i in range(1, 6)]
    qrels = {t: {str(d): int(rng.integers(0, 3)) for d in rng.permutation(docs)[:20]} for t in topics}
    run = {t: {str(d): 50.0 - i for i, d in enumerate(rng.permutation(docs)[:25])} for t in topics[:-1]}
    return qrels, run


@pytest.mark.parametrize(
    "name",
    ["AP", "AP(rel=2)@10", "nDCG@10", "P@5", "R@10", "RR", "RR@3", "Bpref", "Rprec", "Success@3", "SetP", "SetF",
     "SetAP", "SetR", "IPrec@0.3", "Judged@10", "NumRet", "NumRelRet", "RBP(p=0.8,rel=1)", "ERR@10", "infAP",
     "nDCG(judged_only=True)@10", "AP(judged_only=True)", "Compat", "Compat(p=0.8,normalize=False)",
     "INST(max_rel=2)", "INSQ(T=2.0,max_rel=2)", "BPM(max_rel=2)@10", "SDCG(max_rel=2)@10", "NERR8(max_rel=2)@10",
     "NERR9(max_rel=2)@10", "NERR10(max_rel=2)", "NERR11(max_rel=2)", "Rprec(judged_only=True)", "SetP(relative=True)"],
)  # fmt: skip
def test_equal_to_the_default_providers(name: str) -> None:
    """Topic by topic and in all; one judged topic is missing from the run."""
    qrels, run = some_runs(4)
    measure = ir_measures.parse_measure(name)
    theirs = {r.query_id: r.value for r in ir_measures.iter_calc([measure], qrels, run)}
    ours = {r.query_id: r.value for r in provider.iter_calc([measure], qrels, run)}
    assert ours == pytest.approx(theirs, abs=6e-6)
    aggregate = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    assert provider.calc_aggregate([measure], qrels, run)[measure] == pytest.approx(aggregate, abs=6e-6)


def test_one_evaluator_takes_many_runs_of_any_kind() -> None:
    qrels, run = some_runs(9)
    wanted = [ir_measures.AP, ir_measures.alpha_nDCG @ 5]
    frame = pd.DataFrame(
        [
            {"query_id": t, "doc_id": d, "relevance": g, "iteration": "0"}
            for t, r in qrels.items()
            for d, g in r.items()
        ]
    )
    evaluator = provider.evaluator(wanted, frame)
    table = pd.DataFrame(
        [{"query_id": t, "doc_id": d, "score": s} for t, r in run.items() for d, s in r.items()]
    )
    assert evaluator.calc_aggregate(run) == evaluator.calc_aggregate(table)
    assert set(provider.qrel_inputs(wanted)) == {"query_id", "doc_id", "relevance", "iteration"}
    assert "iteration" not in provider.qrel_inputs([ir_measures.AP])
    nothing = evaluator.calc_aggregate({"elsewhere": {"d1": 1.0}})
    assert nothing[ir_measures.AP] == 0.0


@pytest.mark.parametrize(
    "name",
    ["ERR_IA@5", "nERR_IA@10", "alpha_DCG@10", "alpha_nDCG(alpha=0.3)@10", "NRBP", "NRBP(alpha=0.3,beta=0.8)", "nNRBP",
     "AP_IA", "P_IA@5", "StRecall@10"],
)  # fmt: skip
def test_equal_to_pyndeval_on_subtopics(name: str) -> None:
    rng = np.random.default_rng(8)
    docs = [f"d{i}" for i in range(30)]
    qrels = [
        ir_measures.Qrel(str(topic), str(doc), int(rng.integers(0, 2)), str(subtopic))
        for topic in range(1, 5)
        for subtopic in range(1, 4)
        for doc in rng.permutation(docs)[:12]
    ]
    run = {str(t): {str(d): 50.0 - i for i, d in enumerate(rng.permutation(docs)[:20])} for t in range(1, 5)}
    measure = ir_measures.parse_measure(name)
    theirs = {r.query_id: r.value for r in ir_measures.iter_calc([measure], qrels, run)}
    ours = {r.query_id: r.value for r in provider.iter_calc([measure], qrels, run)}
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_accuracy_equals_its_provider() -> None:
    """It leaves out topics without results, where providers else give the worst value."""
    qrels, run = some_runs(4)
    measure = ir_measures.parse_measure("Accuracy@10")
    theirs = {r.query_id: r.value for r in ir_measures.iter_calc([measure], qrels, run)}
    ours = {r.query_id: r.value for r in provider.iter_calc([measure], qrels, run)}
    assert set(ours) - set(theirs) == set(qrels) - set(run)
    assert {topic: ours[topic] for topic in theirs} == pytest.approx(theirs, abs=1e-9)
