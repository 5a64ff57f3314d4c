"""Every measure against trec_eval (pytrec_eval), ir_measures' other engines, and definitions written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from against_trec_eval import TREC_EVAL, check_against_trec_eval
from collections_for_tests import Qrels, Run, collection_of, die, in_shard
from shardwise.core.errors import InputError
from shardwise.scoring.scoring import score

DOCS = [f"d{i:02d}" for i in range(16)]
grades = st.dictionaries(st.sampled_from(DOCS), st.integers(-2, 4), max_size=14)
rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(0, len(docs)).map(
        lambda depth: {doc: float(-rank) for rank, doc in enumerate(docs[:depth])}
    )
)
TOPICS = ("301", "302", "303")
judgments = st.fixed_dictionaries(dict.fromkeys(TOPICS, grades))
run_sets = st.fixed_dictionaries(
    {name: st.fixed_dictionaries(dict.fromkeys(TOPICS, rankings)) for name in ("a", "b")}
)


@pytest.mark.slow
@given(run_sets, judgments)
@settings(max_examples=60, deadline=None)
def test_whole_rankings_equal_trec_eval(runs: dict[str, Run], qrels: Qrels) -> None:
    scores = score(collection_of(runs, qrels), list(TREC_EVAL), no_relevant="undefined")
    check_against_trec_eval(scores, runs, qrels)


@pytest.mark.slow
@given(run_sets, judgments, st.integers(1, 4), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_shards_equal_trec_eval_on_filtered_copies(
    runs: dict[str, Run], qrels: Qrels, n_shards: int, seed: int
) -> None:
    collection = collection_of(runs, qrels)
    splits = die(collection, n_shards, n_splits=2, seed=seed)
    scores = score(collection, list(TREC_EVAL), splits)
    for split in range(2):
        for shard in range(n_shards):
            shard_runs, shard_qrels = in_shard(runs, qrels, collection, splits, split, shard)
            check_against_trec_eval(scores.isel(split=split, shard=shard), shard_runs, shard_qrels)


# --- the measures trec_eval does not have, written out from their definitions --------------------------------


def gains_of(run: dict[str, float], grades: dict[str, int]) -> list[int]:
    ranked = sorted(run, key=lambda doc: run[doc], reverse=True)
    return [grades.get(doc, 0) for doc in ranked]


def plain_rbp(ranked: list[int], p: float, rel: int = 1, k: int = 10**9) -> float:
    return (1 - p) * sum(p**i for i, grade in enumerate(ranked[:k]) if grade >= rel)


def plain_err(ranked: list[int], k: int = 10**9, highest: int = 4) -> float:
    chances = [(2 ** max(grade, 0) - 1) / 2**highest for grade in ranked[:k]]
    return sum(
        chance / rank * math.prod(1 - before for before in chances[: rank - 1])
        for rank, chance in enumerate(chances, start=1)
    )


def plain_ndcg(
    ranked: list[int],
    all_grades: list[int],
    gain: Callable[[int], float],
    divisor: Callable[[int], float],
    k: int = 10**9,
) -> float:
    def dcg(values: list[float]) -> float:
        return sum(value / divisor(rank) for rank, value in enumerate(values[:k], start=1))

    return dcg([gain(g) for g in ranked]) / dcg(sorted(map(gain, all_grades), reverse=True))


def plain_q(
    ranked: list[int],
    all_grades: list[int],
    gain: Callable[[int], float],
    beta: float = 1,
    k: int = 10**9,
) -> float:
    """Q-measure from its definition; with beta 0 average precision over min(k, R)."""
    best = sorted((gain(g) for g in all_grades), reverse=True)
    relevant = sum(g > 0 for g in best)
    gains = [gain(g) for g in ranked[:k]]
    total = 0.0
    for rank, g in enumerate(gains, start=1):
        if g > 0:
            found = sum(x > 0 for x in gains[:rank])
            total += (found + beta * sum(gains[:rank])) / (rank + beta * sum(best[:rank]))
    return total / min(k, relevant)


def exponential(grade: int) -> float:
    return 2.0 ** max(grade, 0) - 1


def jarvelin(base: float) -> Callable[[int], float]:
    return lambda rank: 1.0 if rank < base else math.log(rank, base)


PLAIN: dict[str, Callable[[list[int], list[int]], float]] = {
    "RBP(p=0.8)": lambda ranked, _: plain_rbp(ranked, 0.8),
    "RBP(p=0.5,rel=2)@3": lambda ranked, _: plain_rbp(ranked, 0.5, 2, 3),
    "RBP(p=0.7,gains={1:0.25,2:0.5,3:0.75,4:1})": lambda ranked, _: sum(
        0.3 * 0.7**i * max(grade, 0) / 4 for i, grade in enumerate(ranked)
    ),
    "ERR": lambda ranked, _: plain_err(ranked),
    "ERR@3": lambda ranked, _: plain_err(ranked, 3),
    "ERR(max_rel=5)@10": lambda ranked, _: plain_err(ranked, 10, 5),
    "ERR(gains={3:1,4:2})@10": lambda ranked, _: plain_err([{3: 1, 4: 2}.get(g, g) for g in ranked], 10),
    "nERR": lambda ranked, pool: plain_err(ranked) / plain_err(sorted(pool, reverse=True)),
    "nERR(max_rel=5)@3": lambda ranked, pool: (
        plain_err(ranked, 3, 5) / plain_err(sorted(pool, reverse=True), 3, 5)
    ),
    "Q": lambda ranked, pool: plain_q(ranked, pool, lambda g: max(g, 0)),
    "Q(beta=0.1,gain='exp')@5": lambda ranked, pool: plain_q(ranked, pool, exponential, 0.1, 5),
    "Q(gains={1:5,2:0,3:0.5})@6": lambda ranked, pool: plain_q(
        ranked, pool, lambda g: max({1: 5, 2: 0, 3: 0.5}.get(g, g), 0), k=6
    ),
    "AP(norm='min')@3": lambda ranked, pool: plain_q(ranked, pool, lambda g: float(g > 0), 0, 3),
    "AP(rel=2,norm='min')@3": lambda ranked, pool: plain_q(ranked, pool, lambda g: float(g > 1), 0, 3),
    "RR@3": lambda ranked, _: next((1 / r for r, g in enumerate(ranked[:3], 1) if g >= 1), 0.0),
    "nDCG(dcg='exp-log2')@5": lambda ranked, pool: plain_ndcg(
        ranked, pool, exponential, lambda rank: math.log2(rank + 1), 5
    ),
    "nDCG(base=10)": lambda ranked, pool: plain_ndcg(ranked, pool, lambda g: max(g, 0), jarvelin(10)),
    "nDCG(base=2)@7": lambda ranked, pool: plain_ndcg(ranked, pool, lambda g: max(g, 0), jarvelin(2), 7),
    "nDCG(gains={1:5,2:0,3:0.5})@6": lambda ranked, pool: plain_ndcg(
        ranked, pool, lambda g: max({1: 5, 2: 0, 3: 0.5}.get(g, g), 0), lambda rank: math.log2(rank + 1), 6
    ),
}


def is_defined(measure: str, grades: dict[str, int]) -> bool:
    if "gains={1:5" in measure:
        return any(grade in (1, 3, 4) for grade in grades.values())
    return any(grade >= (2 if "rel=2" in measure else 1) for grade in grades.values())


@pytest.mark.slow
@given(run_sets, judgments)
@settings(max_examples=60, deadline=None)
def test_other_measures_equal_their_definitions(runs: dict[str, Run], qrels: Qrels) -> None:
    scores = score(collection_of(runs, qrels), list(PLAIN), no_relevant="undefined")
    for system, run in runs.items():
        for topic, grades in qrels.items():
            for measure, plain in PLAIN.items():
                value = float(scores[measure].sel(topic=topic, system=system))
                if is_defined(measure, grades):
                    expected = plain(gains_of(run[topic], grades), list(grades.values()))
                    assert value == pytest.approx(expected, abs=1e-12), measure
                else:
                    assert math.isnan(value)


def some_runs(seed: int) -> tuple[dict[str, Run], Qrels]:
    rng = np.random.default_rng(seed)
    docs = [f"doc{i:03d}" for i in range(120)]
    qrels: Qrels = {}
    runs: dict[str, Run] = {"a": {}, "b": {}, "c": {}}
    for topic in map(str, range(1, 8)):
        pool = rng.permutation(docs)[:60]
        qrels[topic] = {str(d): int(g) for d, g in zip(pool, rng.integers(0, 5, 60), strict=True)}
        for run in runs.values():
            ranked = rng.permutation(docs)[: rng.integers(1, 80)]
            run[topic] = {str(d): 100.0 - i for i, d in enumerate(ranked)}
    return runs, qrels


@pytest.mark.parametrize(
    ("ours", "theirs", "provider", "tolerance"),
    [
        ("RBP(p=0.8)", "RBP(rel=1,p=0.8)", "cwl_eval", 1e-9),
        ("RBP(p=0.5,rel=3)", "RBP(rel=3,p=0.5)", "cwl_eval", 1e-9),
        ("ERR@20", "ERR@20", "gdeval", 5.1e-6),  # gdeval prints 5 digits
        ("nDCG(dcg='exp-log2')@20", "nDCG(dcg='exp-log2')@20", "gdeval", 5.1e-6),
        ("Judged@10", "Judged@10", "judged", 1e-12),
        ("nDCG(gains={1:1,2:3,3:7})@10", "nDCG(gains={1:1,2:3,3:7})@10", "pytrec_eval", 1e-9),
        ("RR@10", "RR@10", None, 1e-9),
    ],
)
def test_equal_to_the_engines_of_ir_measures(
    ours: str, theirs: str, provider: str | None, tolerance: float
) -> None:
    engine: Any = ir_measures if provider is None else ir_measures.providers.registry[provider]
    if provider is not None and not engine.is_available():
        pytest.skip(f"{provider} is not installed")
    runs, qrels = some_runs(3)
    scores = score(collection_of(runs, qrels), ours)
    compared = 0
    for system, run in runs.items():
        for row in engine.iter_calc([ir_measures.parse_measure(theirs)], qrels, run):
            value = float(scores[ours].sel(topic=row.query_id, system=system))
            assert value == pytest.approx(row.value, abs=tolerance)
            compared += 1
    assert compared == 21


def test_q_as_worked_out_by_hand() -> None:
    """Grades 2, 0, 1 at ranks 1 to 3 and one more document of grade 1 that was not retrieved.

    Ideal gains add up to 2, 3, 4. Rank 1: (1 + 2) / (1 + 2) = 1. Rank 3: (2 + 3) / (3 + 4) = 5/7. R = 3.
    """
    runs: dict[str, Run] = {"a": {"1": {"x": 3.0, "y": 2.0, "z": 1.0}}}
    scores = score(
        collection_of(runs, {"1": {"x": 2, "y": 0, "z": 1, "w": 1}}), ["Q", "Q@1", "nERR(max_rel=2)"]
    )
    assert float(scores["Q"][0, 0]) == pytest.approx((1 + 5 / 7) / 3)
    assert float(scores["Q@1"][0, 0]) == 1.0
    # stops: 3/4 at once, else 1/4 each; reading 2, 0, 1 gives 3/4 + 1/4·1/4/3, the ideal 3/4 + 1/16/2 + 3/64/3
    expected = (3 / 4 + 1 / 48) / (3 / 4 + 1 / 32 + 1 / 64)
    assert float(scores["nERR(max_rel=2)"][0, 0]) == pytest.approx(expected)


def test_equal_to_ntcireval() -> None:
    metrics = pytest.importorskip("pyNTCIREVAL.metrics")
    runs, qrels = some_runs(8)
    names = ["AP(norm='min')@10", "Q(gain='exp')@10", "Q(gain='exp',beta=0.5)", "MSnDCG@10", "nERR@10"]
    scores = score(collection_of(runs, qrels), names)
    steps = [1, 3, 7, 15]
    for topic, judged in qrels.items():
        counts = [sum(g == level for g in judged.values()) for level in range(5)]
        theirs = [
            metrics.AP(counts, steps, cutoff=10),
            metrics.QMeasure(counts, steps, 1.0, cutoff=10),
            metrics.QMeasure(counts, steps, 0.5),
            metrics.MSnDCG(counts, steps, cutoff=10),
            metrics.nERR(counts, steps, cutoff=10),
        ]
        for system, run in runs.items():
            ranked = [(doc, judged.get(doc)) for doc in run[topic]]
            cell = scores.sel(topic=topic, system=system)
            for values, metric in zip(cell.data_vars.values(), theirs, strict=True):
                assert float(values) == pytest.approx(metric.compute(ranked), abs=1e-9), values.name


@given(run_sets, judgments)
@settings(max_examples=30, deadline=None)
def test_swapping_a_better_document_up_never_hurts(runs: dict[str, Run], qrels: Qrels) -> None:
    measures = ["AP", "nDCG", "Q", "nERR", "RBP(p=0.8)", "ERR", "RR", "Bpref", "nDCG(base=10)"]
    swapped: dict[str, Run] = {}
    for name, run in runs.items():
        swapped[name] = {}
        for topic, ranking in run.items():
            order = list(ranking)
            for i in range(len(order) - 1):
                if qrels[topic].get(order[i + 1], 0) > max(qrels[topic].get(order[i], 0), 0):
                    order[i], order[i + 1] = order[i + 1], order[i]
                    break
            swapped[name][topic] = {doc: float(-rank) for rank, doc in enumerate(order)}
    before, after = (score(collection_of(each, qrels), measures) for each in (runs, swapped))
    for measure in measures:
        assert not np.any(after[measure].values < before[measure].values - 1e-12)


def test_grades_above_the_highest_are_refused() -> None:
    runs: dict[str, Run] = {"a": {"1": {"x": 1.0}}}
    with pytest.raises(InputError, match=r"^ERR@10: grade 5 is too high; raise max_rel"):
        score(collection_of(runs, {"1": {"x": 5}}), "ERR@10")
    with pytest.raises(InputError, match=r"grade 2 is too high; give every grade a gain of at most 1"):
        score(collection_of(runs, {"1": {"x": 2}}), "RBP(p=0.8,gains={1:0.5})")


# --- formulas ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "request_", "answer"),
    [
        ("SetF(beta=0.5)", "set_F.0.5", "set_F"),
        ("SetF(beta=3)", "set_F.3", "set_F"),
        ("GMAP", "gm_map", "gm_map"),
        ("GMBpref", "gm_bpref", "gm_bpref"),
        ("Utility", "utility", "utility"),
        ("NumNonRelRet", "num_nonrel_judged_ret", "num_nonrel_judged_ret"),
        ("IAP(points=(0.25,0.5,0.75))", "11pt_avg.0.25,0.5,0.75", "11pt_avg"),
    ],
)
def test_formulas_equal_trec_eval(ours: str, request_: str, answer: str) -> None:
    runs, qrels = some_runs(12)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {request_})
    scores = score(collection_of(runs, qrels), ours)[ours]
    for system, run in runs.items():
        for topic, values in evaluator.evaluate(run).items():
            cell = float(scores.sel(topic=topic, system=system))
            assert cell == pytest.approx(values[answer], abs=1e-9)


@pytest.mark.parametrize("n_shards", [2, 3])
def test_formulas_on_shards_are_those_of_filtered_copies(n_shards: int) -> None:
    """Documents of other shards taken out of runs and judgments give the same values."""
    names = [
        "Compat",
        "INST(max_rel=4)",
        "NCU(stop='rank')",
        "P_plus",
        "RBP(p=0.7,scale='topic')",
        "RBPresidual(p=0.7)",
    ]
    names += [
        "Unjudged@5",
        "Accuracy@20",
        "NERR8(max_rel=4)@5",
        "P(judged_only=True)@5",
        "nDCG(judged_only=True)@5",
    ]
    runs, qrels = some_runs(5)
    collection = collection_of(runs, qrels)
    splits = die(collection, n_shards, n_splits=1, seed=3)
    sharded = score(collection, names, splits)
    for shard in range(n_shards):
        shard_runs, shard_qrels = in_shard(runs, qrels, collection, splits, 0, shard)
        alone = score(collection_of(shard_runs, shard_qrels), names, no_relevant="undefined")
        for name in alone.data_vars:
            np.testing.assert_allclose(
                sharded[name]
                .isel(split=0, shard=shard)
                .sel(topic=alone["topic"], system=alone["system"])
                .values,
                alone[name].values,
                atol=1e-12,
                err_msg=str(name),
            )


@given(run_sets, judgments)
@settings(max_examples=20, deadline=None)
def test_formulas_keep_their_scale(runs: dict[str, Run], qrels: Qrels) -> None:
    names = [
        "SetF",
        "SetAP",
        "SetRelP",
        "F@3",
        "IPrec@0.5",
        "IAP",
        "BinG",
        "G",
        "nDCGrel",
        "RnDCG",
        "Compat",
        "Accuracy",
    ]
    names += [
        "RBP(p=0.8,scale='topic')",
        "RBPresidual(p=0.8)",
        "Unjudged@4",
        "O_measure",
        "P_measure",
        "P_plus",
    ]
    names += [
        "NCU(stop='rank')",
        "NCU(stop='graded')",
        "INST(max_rel=4)",
        "BPM(max_rel=4)@5",
        "SDCG(max_rel=4)@5",
    ]
    scores = score(collection_of(runs, qrels), names)
    for name in names:
        values = scores[name].values[~np.isnan(scores[name].values)]
        assert np.all(values >= -1e-12), name
        assert np.all(values <= 1 + 1e-9), name


def test_formulas_are_the_same_from_other_processes() -> None:
    runs, qrels = some_runs(2)
    collection = collection_of(runs, qrels)
    names = ["AP", "Compat", "SetF", "P(judged_only=True)@5"]
    with ThreadPoolExecutor(2) as executor:
        xr.testing.assert_identical(score(collection, names, executor=executor), score(collection, names))
