"""Measures on subtopics against ndeval (pyndeval), NTCIREVAL (pyNTCIREVAL) and definitions written out."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyndeval
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_for_tests import Run, die
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.scoring.scoring import score
from shardwise.sharding.splits import Splits

Judged = dict[tuple[str, str, str], int]  # topic, subtopic, document -> grade
DOCS = [f"d{i:02d}" for i in range(14)]
TOPICS = ("101", "102")
judgments = st.dictionaries(
    st.tuples(st.sampled_from(TOPICS), st.sampled_from(["1", "2", "3", "10"]), st.sampled_from(DOCS)),
    st.integers(0, 3),
    min_size=1,
    max_size=40,
).filter(lambda judged: {topic for topic, _, _ in judged} == set(TOPICS))
rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(1, len(docs)).map(lambda n: {d: float(-i) for i, d in enumerate(docs[:n])})
)
run_sets = st.fixed_dictionaries(
    {name: st.fixed_dictionaries(dict.fromkeys(TOPICS, rankings)) for name in ("a", "b")}
)

NDEVAL = {  # ours -> ndeval's name, relevance level, alpha
    "alpha_nDCG@2": ("alpha-nDCG@2", 1, 0.5),
    "alpha_nDCG@10": ("alpha-nDCG@10", 1, 0.5),
    "alpha_nDCG(alpha=0.25)@20": ("alpha-nDCG@20", 1, 0.25),
    "alpha_nDCG(rel=2)@5": ("alpha-nDCG@5", 2, 0.5),
    "ERR_IA@2": ("ERR-IA@2", 1, 0.5),
    "ERR_IA@20": ("ERR-IA@20", 1, 0.5),
    "nERR_IA@1": ("nERR-IA@1", 1, 0.5),
    "nERR_IA@10": ("nERR-IA@10", 1, 0.5),
    "nERR_IA(rel=2)@5": ("nERR-IA@5", 2, 0.5),
    "StRecall@3": ("strec@3", 1, 0.5),
    "StRecall@20": ("strec@20", 1, 0.5),
}


def frame(judged: Judged) -> pd.DataFrame:
    rows = [(topic, subtopic, doc, grade) for (topic, subtopic, doc), grade in judged.items()]
    return pd.DataFrame(rows, columns=["query_id", "subtopic", "doc_id", "relevance"])


def diverse(runs: dict[str, Run], judged: Judged, **choices: Any) -> Collection:
    return read_collection(runs, frame(judged), subtopics=True, missing="zero", jobs=1, **choices)


def check_against_ndeval(scores: Any, runs: dict[str, Run], judged: Judged) -> int:
    compared = 0
    qrels = [(topic, subtopic, doc, grade) for (topic, subtopic, doc), grade in judged.items()]
    for ours, (theirs, level, alpha) in NDEVAL.items():
        relevant = {topic for topic, _, _, grade in qrels if grade >= level}
        for system, run in runs.items():
            rows = [(t, d, s) for t, ranking in run.items() for d, s in ranking.items()]
            found: dict[str, dict[str, float]] = {}
            if qrels and rows:
                evaluator = pyndeval.RelevanceEvaluator(qrels, [theirs], relevance_level=level, alpha=alpha)
                found = evaluator.evaluate(rows)
            for topic in TOPICS:
                value = float(scores[ours].sel(topic=topic, system=system))
                if topic not in relevant:
                    assert math.isnan(value), (ours, topic)
                else:
                    assert value == pytest.approx(found.get(topic, {theirs: 0.0})[theirs], abs=1e-9), ours
                    compared += 1
    return compared


@pytest.mark.slow
@given(run_sets, judgments)
@settings(max_examples=60)
def test_whole_rankings_equal_ndeval(runs: dict[str, Run], judged: Judged) -> None:
    check_against_ndeval(score(diverse(runs, judged), list(NDEVAL), no_relevant="undefined"), runs, judged)


def test_average_precision_counts_the_relevant_documents_of_each_subtopic() -> None:
    """Subtopic 1 has d1 and d3, found at ranks 2 and 4; subtopic 2 has d2, at rank 1."""
    judged = {("t", "1", "d1"): 1, ("t", "2", "d2"): 1, ("t", "1", "d3"): 1}
    runs = {"a": {"t": {"d2": 4.0, "d1": 3.0, "d9": 2.0, "d3": 1.0}}}
    found = score(diverse(runs, judged), ["AP_IA"])["AP_IA"]
    assert float(found.item()) == pytest.approx(((1 / 2 + 2 / 4) / 2 + 1) / 2)


def inside(collection: Collection, splits: Splits, shard: int) -> set[str]:
    return {d for d, k in zip(collection.docnos(), splits.shards[0].tolist(), strict=True) if k == shard}


@pytest.mark.slow
@given(run_sets, judgments, st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=40)
def test_shards_equal_ndeval_on_filtered_copies(
    runs: dict[str, Run], judged: Judged, n_shards: int, seed: int
) -> None:
    collection = diverse(runs, judged)
    splits = die(collection, n_shards, seed=seed)
    scores = score(collection, list(NDEVAL), splits)
    for shard in range(n_shards):
        docs = inside(collection, splits, shard)
        own_runs = {
            name: {t: {d: s for d, s in r.items() if d in docs} for t, r in run.items()}
            for name, run in runs.items()
        }
        own = {key: grade for key, grade in judged.items() if key[2] in docs}
        check_against_ndeval(scores.isel(split=0, shard=shard), own_runs, own)


def test_the_first_rank_of_err_ia_is_normalized_too() -> None:
    """ndeval leaves ERR-IA at rank 1 undivided: with two subtopics it gives 1 where half of them are served."""
    judged: Judged = {("101", "1", "a"): 1, ("101", "2", "b"): 1, ("102", "1", "a"): 1}
    runs: dict[str, Run] = {"x": {"101": {"a": 1.0}, "102": {"a": 1.0}}}
    assert score(diverse(runs, judged), "ERR_IA@1")["ERR_IA@1"].values.tolist() == [[0.5], [1.0]]


# --- D-measures ----------------------------------------------------------------------------------------------

INTENTS = {topic: {"1": 0.4, "2": 0.3, "3": 0.2, "10": 0.1} for topic in TOPICS}


def plain_d(
    run: dict[str, float], judged: Judged, topic: str, intents: dict[str, float], k: int, exponential: bool
) -> tuple[float, float]:
    """D-nDCG and I-rec by their definitions (Sakai & Song 2011)."""
    gain: dict[str, float] = {}
    held: dict[str, set[str]] = {}
    for (t, subtopic, doc), grade in judged.items():
        if t == topic:
            worth = 2**grade - 1 if exponential else grade
            gain[doc] = gain.get(doc, 0.0) + intents[subtopic] * worth
            if grade > 0:
                held.setdefault(subtopic, set()).add(doc)
    order = sorted(run, key=lambda d: run[d], reverse=True)[:k]
    best = sorted(gain.values(), reverse=True)[:k]

    def dcg(gains: list[float]) -> float:
        return sum(g / math.log2(r + 1) for r, g in enumerate(gains, start=1))

    found = sum(any(d in docs for d in order) for docs in held.values())
    return dcg([gain.get(d, 0.0) for d in order]) / dcg(best), found / len(held)


@pytest.mark.slow
@given(run_sets, judgments, st.booleans())
@settings(max_examples=50)
def test_d_measures_equal_their_definitions(runs: dict[str, Run], judged: Judged, weighted: bool) -> None:
    collection = diverse(runs, judged, intents=INTENTS if weighted else None)
    wanted = ["D_nDCG@10", "Dsharp_nDCG@10", "D_nDCG(dcg='exp-log2')@3", "Dsharp_nDCG(gamma=0.2)@3"]
    scores = score(collection, wanted, no_relevant="undefined")
    for topic in TOPICS:
        intents = INTENTS[topic] if weighted else dict.fromkeys(INTENTS[topic], 1.0)
        if not any(grade > 0 for (t, _, _), grade in judged.items() if t == topic):
            assert all(scores[name].sel(topic=topic).isnull().all() for name in wanted)
            continue
        for system, run in runs.items():
            values = [float(scores[name].sel(topic=topic, system=system)) for name in wanted]
            d10, i10 = plain_d(run[topic], judged, topic, intents, 10, False)
            d3, i3 = plain_d(run[topic], judged, topic, intents, 3, False)
            exp3, _ = plain_d(run[topic], judged, topic, intents, 3, True)
            expected = [d10, (d10 + i10) / 2, exp3, 0.2 * i3 + 0.8 * d3]
            assert values == pytest.approx(expected, abs=1e-12)


def test_intent_probabilities_weigh_err_ia() -> None:
    judged: Judged = {("101", "1", "a"): 1, ("101", "2", "b"): 1, ("102", "1", "a"): 1}
    runs: dict[str, Run] = {"x": {"101": {"a": 2.0, "b": 1.0}, "102": {"a": 1.0}}}
    intents = {"101": {"1": 3, "2": 1}, "102": {"1": 1}}
    got = score(diverse(runs, judged, intents=intents), ["ERR_IA@2", "nERR_IA@2"]).sel(
        topic="101", system="x"
    )
    # subtopic 1 at rank 1 with probability 3/4, subtopic 2 at rank 2 with 1/4; a perfect list gives 1 + 1/4
    assert float(got["ERR_IA@2"]) == pytest.approx((3 / 4 * 1 + 1 / 4 * 1 / 2) / 1.25)
    assert float(got["nERR_IA@2"]) == 1.0


# --- reading -------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "run").write_text("101 Q0 a 1 3 t\n101 Q0 b 2 2 t\n102 Q0 c 1 1 t\n")
    (tmp_path / "qrels").write_text("101 1 a 1\n101 2 a 0\n101 10 b 2\n\n102 1 c 1\n102 1 c 1\n")
    (tmp_path / "intents").write_text("101 1 0.5\n101 2 0.25\n101 10 0.25\n102 1 1\n")
    return tmp_path


def test_files_tables_and_saved_collections_are_alike(files: Path) -> None:
    collection = read_collection(
        files / "run", files / "qrels", subtopics=True, intents=str(files / "intents")
    )
    by = collection.subtopics
    assert by is not None
    assert (by.names, by.starts.tolist()) == (("1", "2", "10", "1"), [0, 3, 4])
    assert by.weights.tolist() == [0.5, 0.25, 0.25, 1.0]
    assert (by.edges.tolist(), by.codes.tolist(), by.grades.tolist()) == (
        [0, 2, 3, 4], [0, 1, 2, 0], [1, 0, 2, 1],
    )  # fmt: skip
    assert collection.qrel_grades.tolist() == [1, 2, 1]
    assert any("4 subtopics" in note for note in collection.notes)
    assert any("1 judgment repeating another" in note for note in collection.notes)
    collection.save(files / "saved")
    again = Collection.load(files / "saved")
    for measure in ("D_nDCG@5", "alpha_nDCG@5", "AP"):
        np.testing.assert_array_equal(score(again, measure)[measure], score(collection, measure)[measure])


def test_a_topic_left_out_takes_its_subtopics_along(files: Path) -> None:
    both = read_collection(files / "run", files / "qrels", subtopics=True)
    one = read_collection(files / "run", files / "qrels", subtopics=True, topics=["102"])
    assert one.subtopics is not None
    assert one.subtopics.names == ("1",)
    alone, among = (score(each, "D_nDCG@5")["D_nDCG@5"].sel(topic="102") for each in (one, both))
    assert alone.values.tolist() == among.values.tolist() == [1.0]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "qrels",
            "101 1 a 1\n101 1 a 0\n",
            r"qrels:2: topic 101, document 'a', subtopic 1 is judged 0, but 1",
        ),
        ("qrels", "101 1 a\n", r"qrels:1: 3 columns where qrels \(topic subtopic document grade\) have 4"),
        ("qrels", "101 1 a 1\n101 1 b x\n", "qrels:2: grade 'x' is not a whole number"),
        ("qrels", "101 0 a 1 1\n", "has 5 columns"),
        ("qrels", "\n", "there are no judgments"),
        ("intents", "101 1 0.5\n", "no probability for subtopic 2 of topic 101"),
        ("intents", "101 1 -1\n", "probability -1 of subtopic 1 of topic 101"),
        ("intents", "101 1 half\n", "intents:1: the line is not a topic, a subtopic and a probability"),
        ("intents", "101 1 0\n101 2 0\n101 10 0\n", "all intents of topic 101 have probability 0"),
    ],
)
def test_errors_teach(files: Path, name: str, text: str, said: str) -> None:
    (files / name).write_text(text)
    with pytest.raises(InputError, match=said):
        read_collection(files / "run", files / "qrels", subtopics=True, intents=files / "intents")


def test_plain_judgments_are_refused(files: Path) -> None:
    (files / "qrels").write_text("101 0 a 1\n102 0 c 1\n")
    plain = read_collection(files / "run", files / "qrels")
    with pytest.raises(InputError, match=r"alpha_nDCG@5 needs judgments with subtopics; .*subtopics=True"):
        score(plain, ["AP", "alpha_nDCG@5"])
    with pytest.raises(InputError, match="intents without subtopics"):
        read_collection(files / "run", files / "qrels", intents={})
    with pytest.raises(InputError, match="dictionary of judgments has no place for subtopics"):
        read_collection(files / "run", {"101": {"a": 1}}, subtopics=True)


def test_mixed_with_other_measures_in_the_order_asked_for(files: Path) -> None:
    collection = read_collection(files / "run", files / "qrels", subtopics=True)
    scores = score(collection, ["StRecall@5", "AP", "D_nDCG@5", "P@1"], die(collection, 2))
    assert list(scores.data_vars) == ["StRecall@5", "AP", "D_nDCG@5", "P@1"]
    for name in scores.data_vars:
        alone = score(collection, str(name), die(collection, 2))
        np.testing.assert_array_equal(scores[name], alone[name])


def test_grades_that_do_not_fit_are_refused(files: Path) -> None:
    collection = read_collection(files / "run", files / "qrels", subtopics=True)
    wrong = replace(collection, docs=np.array([0, 2, 1], dtype=np.int32))
    with pytest.raises(InputError, match="are not those of the judgments"):
        score(wrong, "alpha_nDCG@5")
    with pytest.raises(InputError, match="choose a cutoff up to 1000000"):
        score(collection, "ERR_IA@1000001")


def test_tied_scores_are_in_the_order_of_trec_eval_and_not_of_ndeval() -> None:
    qrels = pd.DataFrame({"query_id": "1", "subtopic": "1", "doc_id": ["a"], "relevance": 1})
    found = score(
        read_collection({"x": {"1": dict.fromkeys("abc", 1.0)}}, qrels, subtopics=True), ["ERR_IA@10"]
    )
    tied, reverse = (
        pyndeval.ndeval(
            [pyndeval.SubtopicQrel("1", "1", "a", 1)],
            [pyndeval.ScoredDoc("1", doc, value) for doc, value in run.items()],
            measures=["ERR-IA@10"],
        )["1"]["ERR-IA@10"]
        for run in (dict.fromkeys("abc", 1.0), {"c": 3.0, "b": 2.0, "a": 1.0})
    )
    ours = float(found["ERR_IA@10"].sel(system="x", topic="1"))
    assert abs(ours - reverse) < 1e-6 < abs(ours - tied)
