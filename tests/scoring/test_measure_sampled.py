"""Measures from sampled pools: a transcription of NIST's sample_eval, and what must hold when nothing is left out."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collections_for_tests import Qrels, Run
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.scoring.scoring import score
from shardwise.sharding.splits import Splits

GOLD = Path(__file__).parent.parent / "gold"


def sampled() -> Collection:
    return read_collection(GOLD / "inferred_run.txt", GOLD / "inferred_qrels.txt", depth=100)


def test_whole_collection_equals_a_transcription_of_sample_eval() -> None:
    gold = pd.read_csv(GOLD / "inferred_transcribed.csv", comment="#").query("part == 'whole'")
    scores = score(sampled(), ["xinfAP@100", "infNDCG@100", "AP"]).isel(system=0)
    np.testing.assert_allclose(scores["xinfAP@100"], gold["xinfAP"], atol=1.01e-10)
    np.testing.assert_allclose(scores["infNDCG@100"], gold["infNDCG"], atol=1.01e-10)
    assert abs(scores["AP"] - gold["xinfAP"].to_numpy()).min() > 0.01


def test_shards_equal_the_transcription_on_filtered_copies_with_the_original_strata() -> None:
    """V17 §4: a partition keeps the strata of the whole collection."""
    gold = pd.read_csv(GOLD / "inferred_transcribed.csv", comment="#").set_index("part")
    collection = read_collection(GOLD / "inferred_run.txt", GOLD / "inferred_qrels.txt")
    odd = np.array([[int(name[-1]) % 2 for name in collection.docnos()]], dtype=np.int16)
    sizes = np.bincount(odd[0], minlength=2)[None]
    splits = Splits(odd, 2, "parity", 0, sizes, ("even", "odd"), collection.names, collection.name_starts)
    scores = score(collection, ["xinfAP@100", "infNDCG@100"], splits).isel(split=0, system=0)
    for part in ("even", "odd"):
        np.testing.assert_allclose(
            scores["xinfAP@100"].sel(shard=part), gold.loc[part, "xinfAP"], atol=1.01e-10
        )
        np.testing.assert_allclose(
            scores["infNDCG@100"].sel(shard=part), gold.loc[part, "infNDCG"], atol=1.01e-10
        )


DOCS = [f"d{i:02d}" for i in range(16)]
grades = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3), min_size=1, max_size=14)
rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(1, 16).map(lambda n: {d: float(-i) for i, d in enumerate(docs[:n])})
)


def with_strata(qrels: Qrels, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [(t, d, int(rng.integers(1, 4)), g) for t, judged in qrels.items() for d, g in judged.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "stratum", "relevance"])


@given(
    st.fixed_dictionaries({"1": rankings, "2": rankings}),
    st.fixed_dictionaries({"1": grades, "2": grades}),
    st.integers(0, 99),
)
@settings(max_examples=50)
def test_a_pool_judged_in_full_needs_no_inference(run: Run, qrels: Qrels, seed: int) -> None:
    collection = read_collection({"x": run}, with_strata(qrels, seed), jobs=1)
    scores = score(collection, ["xinfAP", "AP", "infNDCG", "nDCG", "infNDCG@5", "nDCG@5", "infAP"])
    for inferred, plain, tolerance in (
        ("infNDCG", "nDCG", 1e-12),
        ("infNDCG@5", "nDCG@5", 1e-12),
        ("xinfAP", "AP", 1e-3),  # what keeps 0/0 away shifts the precision a little
        ("infAP", "AP", 1e-3),
    ):
        np.testing.assert_allclose(scores[inferred], scores[plain], atol=tolerance)


def test_one_stratum_is_infap_but_for_the_constant_that_keeps_0_by_0_away() -> None:
    run: Run = {"1": {d: float(-i) for i, d in enumerate(DOCS)}}
    judged = {d: [1, 0, -1, 0, 1, -1, 2][i % 7] for i, d in enumerate(DOCS[:13])}
    table = pd.DataFrame(
        [("1", d, "all", g) for d, g in judged.items()],
        columns=["query_id", "doc_id", "stratum", "relevance"],
    )
    scores = score(read_collection({"x": run}, table), ["xinfAP", "infAP", "AP"])
    assert float(scores["xinfAP"][0, 0]) == pytest.approx(float(scores["infAP"][0, 0]), abs=1e-4)
    assert abs(float(scores["infAP"][0, 0] - scores["AP"][0, 0])) > 0.01


def test_two_strata_worked_by_hand() -> None:
    """Stratum A is judged in full (one relevant of two), of B's four documents two are (one relevant of those).

    Relevant documents there should be: A 1 · 2/2 = 1, B 1 · 4/2 = 2. Average precision: a1 at rank 1 stands for one
    document at precision 1; b1 at rank 3 stands for two, and above it a1 counts 1 and the unjudged b2 a third (nothing
    of B is known there), so its precision is (1 + 1 + 1/3)/3 = 7/9: (1 + 2 · 7/9)/3 = 23/27. Gain: A 1; B .5, scaled by
    three retrieved of which two were judged, .75; the best ranking of three has 1 + 1/log2(3) + .5.
    """
    pool = [("a1", "A", 1), ("a2", "A", 0), ("b1", "B", 1), ("b2", "B", -1), ("b3", "B", 0), ("b4", "B", -1)]
    table = pd.DataFrame(
        [("1", *row) for row in pool], columns=["query_id", "doc_id", "stratum", "relevance"]
    )
    run: Run = {"1": {d: float(-i) for i, d in enumerate(["a1", "b2", "b1", "x", "a2", "b3"])}}
    scores = score(read_collection({"x": run}, table), ["xinfAP", "infNDCG"])
    assert float(scores["xinfAP"][0, 0]) == pytest.approx(
        23 / 27, abs=1e-4
    )  # what keeps 0/0 away shifts it a little
    assert float(scores["infNDCG"][0, 0]) == pytest.approx(1.75 / (1.5 + 1 / math.log2(3)), abs=1e-12)


@pytest.mark.calibration
def test_estimates_are_right_on_average(repetitions: float) -> None:
    """A pool of known grades, sampled again and again at two rates."""
    rng = np.random.default_rng(5)
    docs = [f"d{i:03d}" for i in range(120)]
    truth = {d: int(rng.random() < (0.5 if i < 40 else 0.15)) for i, d in enumerate(docs)}
    run: Run = {"1": {d: float(-i + rng.normal(0, 15)) for i, d in enumerate(docs)}}
    exact = float(score(read_collection({"x": run}, {"1": truth}), "AP")["AP"][0, 0])
    found = []
    for _ in range(int(150 * repetitions)):
        rows = []
        for part, (low, high, size) in {"top": (0, 40, 30), "rest": (40, 120, 30)}.items():
            kept = set(rng.choice(np.arange(low, high), size, replace=False).tolist())
            rows += [("1", docs[i], part, truth[docs[i]] if i in kept else -1) for i in range(low, high)]
        table = pd.DataFrame(rows, columns=["query_id", "doc_id", "stratum", "relevance"])
        found.append(
            float(score(read_collection({"x": run}, table, jobs=1), "xinfAP", jobs=1)["xinfAP"][0, 0])
        )
    assert np.mean(found) == pytest.approx(exact, abs=4 * np.std(found) / math.sqrt(len(found)) + 0.005)


def test_strata_are_kept_when_saved_and_counted_in_the_notes(tmp_path: Path) -> None:
    collection = sampled()
    assert collection.strata is not None
    assert collection.strata.names == ("1", "2", "3")
    assert any("3 strata: 1, 2, 3" in note for note in collection.notes)
    collection.save(tmp_path / "saved")
    again = Collection.load(tmp_path / "saved")
    np.testing.assert_array_equal(score(again, "xinfAP")["xinfAP"], score(collection, "xinfAP")["xinfAP"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 0 a s 1\n1 0 a u 1\n", "qrels:2: topic 1, document 'a' is in stratum u, but in s before"),
        ("1 0 a s 1\n1 0 a s 0\n", "qrels:2: topic 1, document 'a' is judged 0, but 1 before"),
        (
            "1 0 a s 1\n1 0 b 1\n",
            "qrels:2: 4 columns where qrels .topic iteration document stratum grade. have 5",
        ),
        ("1 0 a s 1.5\n", "qrels:1: grade '1.5' is not a whole number"),
    ],
)
def test_errors_teach(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "qrels").write_text(text)
    (tmp_path / "run").write_text("1 Q0 a 1 3 t\n")
    with pytest.raises(InputError, match=said):
        read_collection(tmp_path / "run", tmp_path / "qrels")


def test_judgments_without_strata_are_refused(tmp_path: Path) -> None:
    plain = read_collection({"x": {"1": {"a": 1.0}}}, {"1": {"a": 1}})
    with pytest.raises(InputError, match="xinfAP needs judgments with strata; read qrels of five columns"):
        score(plain, "xinfAP")
    for name, text in {"four": "1 0 a 1\n", "five": "1 0 a s 1\n"}.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="four: has 4 columns, which does not go with"):
        read_collection({"x": {"1": {"a": 1.0}}}, [tmp_path / "five", tmp_path / "four"])
