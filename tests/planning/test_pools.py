"""Pools of several depths: rebuilt by hand, rescored by trec_eval, and on the runs of two TREC tracks."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_for_tests import Qrels, Run, collection_of
from shardwise.core.errors import InputError
from shardwise.io.collection import UNJUDGED, Collection
from shardwise.io.reader import read_collection
from shardwise.lab.simulate_collection import simulate_collection
from shardwise.planning.design import topics_for_interval, topics_for_power
from shardwise.planning.pools import cut_pool, plan_pools
from shardwise.planning.variances import variance
from shardwise.scoring.scoring import score

DOCS = [f"d{i:02d}" for i in range(14)]
rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(1, 14).map(lambda n: {d: float(-i) for i, d in enumerate(docs[:n])})
)
run_sets = st.fixed_dictionaries(
    {name: st.fixed_dictionaries({"1": rankings, "2": rankings}) for name in ("a", "b", "c")}
)
judgments = st.fixed_dictionaries(
    {t: st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 2), min_size=1) for t in ("1", "2")}
)


def pooled_by_hand(runs: dict[str, Run], qrels: Qrels, depth: int) -> tuple[dict[str, set[str]], Qrels]:
    pools: dict[str, set[str]] = {topic: set() for topic in qrels}
    for run in runs.values():
        for topic, ranking in run.items():
            if topic in pools:
                ordered = sorted(ranking, key=lambda d: (np.float32(ranking[d]), d.encode()), reverse=True)
                pools[topic] |= set(ordered[:depth])
    return pools, {t: {d: g for d, g in qrels[t].items() if d in pools[t]} for t in qrels}


@given(run_sets, judgments, st.integers(1, 14))
@settings(max_examples=60)
def test_pools_are_those_made_by_hand(runs: dict[str, Run], qrels: Qrels, depth: int) -> None:
    collection = collection_of(runs, qrels)
    depth = min(depth, int(np.diff(collection.starts).max()))
    shallow = cut_pool(collection, depth)
    _, expected = pooled_by_hand(runs, qrels, depth)
    names = shallow.docnos()
    for t, topic in enumerate(shallow.topics):
        span = slice(shallow.qrel_starts[t], shallow.qrel_starts[t + 1])
        grades = shallow.qrel_grades[span].tolist()
        found = dict(zip([names[d] for d in shallow.qrel_docs[span]], grades, strict=True))
        assert found == expected[topic]
    again = collection_of(runs, expected)
    assert [names[d] for d in shallow.docs] == [again.docnos()[d] for d in again.docs]
    np.testing.assert_array_equal(shallow.grades, again.grades)


def campaign() -> Collection:
    return simulate_collection(
        topics=25, systems=6, depth=80, corpus=5000, relevant=30, pool_depth=80, seed=6
    ).collection()


def test_every_row_is_the_design_that_its_variance_asks_for() -> None:
    collection = campaign()
    study = plan_pools(collection, [60, 10], ["AP", "Q@20"], min_diff=0.2, systems=5, width=0.1)
    assert study.table["measure"].tolist() == ["AP", "AP", "Q@20", "Q@20"]
    assert study.table["depth"].tolist() == [10, 60, 10, 60]
    whole = score(cut_pool(collection, 10), "AP", no_relevant="undefined")["AP"]
    dropped = whole.isnull().any("system").to_numpy()
    for _, row in study.table.iterrows():
        scores = score(cut_pool(collection, row["depth"]), row["measure"])[row["measure"]]
        estimate = variance(scores.isel(topic=np.flatnonzero(~dropped)))
        assert row["variance"] == pytest.approx(float(estimate), rel=1e-12)
        topics = topics_for_power(variance=estimate, min_diff=0.2, systems=5)
        assert row["topics_power"] == topics
        assert row["judgments_power"] == round(topics * row["pooled"])
        assert row["topics_interval"] == topics_for_interval(variance=estimate, width=0.1)
    cheapest = study.best()
    assert cheapest["judgments_power"].tolist() == [
        study.table.query("measure == @m")["judgments_power"].min() for m in ("AP", "Q@20")
    ]
    assert "power 0.8 to find a difference of 0.2 among 5 systems" in str(study)


def test_topics_without_relevant_documents_in_the_shallowest_pool() -> None:
    judged: Qrels = {str(t): {f"t{t}d{i}": int(i % 2 == 1) for i in range(6)} for t in range(5)}
    runs: dict[str, Run] = {
        "a": {t: {d: 6.0 - i for i, d in enumerate(docs)} for t, docs in judged.items()},
        "b": {t: {d: 6.0 - i for i, d in enumerate(reversed(docs))} for t, docs in judged.items()},
    }
    judged["4"] = {
        d: int(d.endswith("2")) for d in judged["4"]
    }  # its one relevant document is at rank 3 or 4
    collection = collection_of(runs, judged)
    dropped = plan_pools(collection, [1, 4], method="exact")
    assert "1 of 5 topics have no relevant document in the pool of depth 1 and were left out" in str(dropped)
    assert dropped.table["pooled"].tolist() == [2.0, 6.0]
    zero = plan_pools(collection, [1, 4], no_relevant="zero", method="exact")
    assert "score 0 where they have none: 4" in str(zero)
    assert zero.table["relevant"].tolist() == [0.8, 2.6]
    only = {"4": judged["4"], "3": {d: int(d.endswith("2")) for d in judged["3"]}}
    with pytest.raises(InputError, match="fewer than 2 topics"):
        plan_pools(collection_of(runs, only), [1])


def test_several_collections_are_pooled_by_their_topics() -> None:
    one = campaign()
    two = simulate_collection(
        topics=10, systems=4, depth=80, corpus=5000, relevant=40, pool_depth=80, seed=9
    ).collection()
    both = plan_pools([one, two], [30], width=None).table.iloc[0]
    parts = [plan_pools(each, [30], width=None) for each in (one, two)]
    kept = [len(score(cut_pool(each, 30), "AP", no_relevant="drop")["topic"]) for each in (one, two)]
    first, other = (
        variance(score(cut_pool(each, 30), "AP", no_relevant="drop")["AP"]) for each in (one, two)
    )
    assert both["variance"] == pytest.approx(first.pool(other).sigma_sq)
    mean = sum(n * part.table["pooled"].iloc[0] for n, part in zip(kept, parts, strict=True)) / sum(kept)
    assert both["pooled"] == pytest.approx(mean)


def test_subtopics_and_strata_are_cut_along() -> None:
    runs: dict[str, Run] = {
        "a": {"1": {"x": 3.0, "y": 2.0, "z": 1.0}, "2": {"x": 1.0}},
        "b": {"1": {"x": 3.0, "z": 2.0}, "2": {"x": 1.0}},
    }
    rows = [
        ("1", "1", "x", 1),
        ("1", "2", "x", 1),
        ("1", "2", "y", 2),
        ("1", "3", "z", 1),
        ("2", "1", "x", 1),
    ]
    qrels = pd.DataFrame(rows, columns=["query_id", "subtopic", "doc_id", "relevance"])
    shallow = cut_pool(read_collection(runs, qrels, subtopics=True), 1)
    again = read_collection(runs, qrels[qrels["doc_id"] == "x"], subtopics=True)
    for measure in ("StRecall@5", "D_nDCG@5", "alpha_nDCG@5"):
        np.testing.assert_array_equal(score(shallow, measure)[measure], score(again, measure)[measure])
    strata = qrels.rename(columns={"subtopic": "stratum"}).drop(index=1)
    deep = read_collection(runs, strata)
    cut, few = cut_pool(deep, 1), read_collection(runs, strata[strata["doc_id"] == "x"])
    np.testing.assert_array_equal(score(cut, "xinfAP")["xinfAP"], score(few, "xinfAP")["xinfAP"])
    assert deep.strata is not None
    assert len(deep.strata.codes) == 4


# --- real runs -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_robust_2003(data: Path) -> None:
    """17 of the runs of the track, its 50 new topics, whose qrels have 47,932 lines (S14 Table 9)."""
    folder = data / "robust2003"
    files = sorted(folder.glob("input.*.gz"))
    new = [str(topic) for topic in range(601, 651)]
    collection = read_collection(
        files, folder / "robust03_qrels.txt.gz", missing="zero", names="file", topics=new
    )
    assert len(collection.qrel_docs) == 47_932
    runs: dict[str, Run] = {}
    for path in files:
        with gzip.open(path, "rt") as stream:
            runs[path.name] = pytrec_eval.parse_run(stream)
    with gzip.open(folder / "robust03_qrels.txt.gz", "rt") as stream:
        every: Qrels = pytrec_eval.parse_qrel(stream)
    qrels = {topic: every[topic] for topic in new}
    measures = ["AP", "nERR(max_rel=2)"]
    study = plan_pools(collection, [10, 30, 100], measures, no_relevant="zero", method="exact")
    for depth, row in study.table.query("measure == 'AP'").set_index("depth").iterrows():
        pools, shallow = pooled_by_hand(runs, qrels, int(str(depth)))
        assert row["pooled"] == pytest.approx(sum(map(len, pools.values())) / 50)
        assert row["judged"] == pytest.approx(sum(map(len, shallow.values())) / 50)
        evaluator = pytrec_eval.RelevanceEvaluator(shallow, {"map"})
        table = np.zeros((50, len(runs)))
        for r, run in enumerate(runs.values()):
            found = evaluator.evaluate({t: ranking for t, ranking in run.items() if t in shallow})
            table[:, r] = [found[t]["map"] if t in found else 0.0 for t in new]
        assert row["variance"] == pytest.approx(float(variance(table, "two-way")), rel=1e-9)
    # S14 §5.4: shallow pools need more topics but far fewer judgments; nERR hardly notices the depth
    ap = study.table.query("measure == 'AP'")
    assert ap["variance"].is_monotonic_decreasing
    assert ap["judgments_power"].is_monotonic_increasing
    nerr = study.table[study.table["measure"] == "nERR(max_rel=2)"]["variance"]
    assert np.ptp(nerr) < 0.01 * nerr.mean()
    assert study.notes == ()  # every document of these pools was judged


@pytest.mark.slow
def test_trec_covid_round_1(data: Path, covid_runs: Path) -> None:
    """143 runs, judged by pools of depth 7 of some of them: deeper pools are mostly unjudged, and it is said."""
    collection = read_collection(
        covid_runs, data / "trec-covid-r1" / "qrels.covid-round1.txt", missing="zero", names="file"
    )
    study = plan_pools(collection, [5, 100], width=None)
    assert len(study.notes) == 2
    shallow, deep = (row for _, row in study.table.iterrows())
    assert shallow["judged"] / shallow["pooled"] > 0.6
    assert deep["judged"] / deep["pooled"] < 0.1
    assert deep["judged"] * 30 <= len(collection.qrel_docs)
    retrieved = np.unique(collection.docs[collection.grades != UNJUDGED])
    assert set(cut_pool(collection, 100).qrel_docs.tolist()) <= set(retrieved.tolist())
    assert shallow["topics_power"] >= deep["topics_power"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"depths": []}, "no pool depth"),
        ({"depths": [0, 10]}, "a whole number, 1 or more"),
        ({"depths": [10.5]}, "a whole number, 1 or more"),
        ({"depths": [10, 81]}, "depth 81 cannot be made: no run is deeper than 80"),
        ({"depths": [10], "min_diff": None, "width": None}, "there is no goal"),
        ({"depths": [10], "min_diff": -1}, "above 0"),
        ({"depths": [10], "no_relevant": "keep"}, "choose one of drop, zero"),
        ({"depths": [10], "measure": "APX"}, "unknown measure 'APX'"),
    ],
)
def test_refusals(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_pools(campaign(), **changes)


def test_no_collection_and_no_such_goal() -> None:
    with pytest.raises(InputError, match="no collection"):
        plan_pools([], [10])
    with pytest.raises(InputError, match="no column 'judgments_interval'"):
        plan_pools(campaign(), [10], width=None).best("judgments_interval")
