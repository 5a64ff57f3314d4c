"""Topical shards: documents about the same together, against scikit-learn, and from files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import shardwise as sw
from command_line import shardwise
from shardwise.core.errors import InputError
from shardwise.sharding.split import cluster_rows, read_texts, vectorize_documents

WORDS = {"fruit": "apple pear plum cherry peach grape", "metal": "iron copper zinc nickel cobalt silver"}
TEXTS = {
    f"{kind}-{k}": " ".join(np.random.default_rng(k).choice(words.split(), 8))
    for kind, words in WORDS.items()
    for k in range(20)
}


def runs() -> sw.Collection:
    names = sorted(TEXTS)
    rankings = {name: {"1": {doc: float(k) for k, doc in enumerate(names)}} for name in ("x", "y")}
    return sw.read_collection(rankings, {"1": dict.fromkeys(names[::3], 1)})


def test_documents_about_the_same_share_a_shard() -> None:
    collection = runs()
    made = sw.split(collection, 2, kind="topical", texts=TEXTS, n_splits=3, seed=5)
    fruit = np.array([name.startswith("fruit") for name in collection.docnos()])
    for shards in made.shards:
        assert len(set(shards[fruit])) == len(set(shards[~fruit])) == 1
        assert set(shards) == {0, 1}
    assert made.sizes.tolist() == [[20, 20]] * 3


def test_a_split_depends_on_seed_and_number_alone() -> None:
    collection = runs()
    rng = np.random.default_rng(2)
    vectors = {name: rng.normal(size=6) for name in TEXTS}
    made = sw.split(collection, 4, kind="topical", texts=vectors, n_splits=3, sample=0.5, seed=1)
    turned = dict(reversed(list(vectors.items())))
    again = sw.split(collection, 4, kind="topical", texts=turned, n_splits=2, sample=0.5, seed=1)
    assert np.array_equal(made.shards[:2], again.shards)
    assert not np.array_equal(made.shards[0], made.shards[1])
    other = sw.split(collection, 4, kind="topical", texts=vectors, sample=0.5, seed=2)
    assert not np.array_equal(other.shards[0], made.shards[0])


def test_weights_are_those_of_scikit_learn() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    names, ours = vectorize_documents(TEXTS)
    theirs = text.TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform([TEXTS[name] for name in names])
    assert ours.toarray() == pytest.approx(theirs.toarray())


def test_no_document_is_more_like_another_centre() -> None:
    """Lloyd's condition at the end: every row is with the mean of its own cluster rather than with any other's."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(300, 4)) + 3 * np.eye(4)[rng.integers(4, size=300)]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found = cluster_rows(sparse.csr_array(x), 4, 1.0, rng)
    centres = np.stack([x[found == k].mean(axis=0) for k in range(4)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    assert np.mean((x @ centres.T).argmax(axis=1) == found) > 0.98  # all, but for a last step not taken


def test_texts_from_files(tmp_path: Path) -> None:
    lines = tmp_path / "texts.jsonl"
    lines.write_text("".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in TEXTS.items()))
    tabs = tmp_path / "texts.tsv"
    tabs.write_text("".join(f"{name}\t{text}\n" for name, text in TEXTS.items()))
    trec = tmp_path / "texts.trec.gz"
    records = "".join(f"<DOC>\n<DOCNO> {n} </DOCNO>\n<TEXT>{t}</TEXT>\n</DOC>\n" for n, t in TEXTS.items())
    trec.write_bytes(gzip.compress(records.encode()))
    wanted = sw.split(runs(), 2, kind="topical", texts=TEXTS, seed=3).shards
    for path in (lines, tabs, trec):
        assert {name: text.split() for name, text in read_texts(path).items()} == {
            name: text.split() for name, text in TEXTS.items()
        }
        assert np.array_equal(sw.split(runs(), 2, kind="topical", texts=path, seed=3).shards, wanted)


def test_what_is_refused() -> None:
    collection = runs()
    with pytest.raises(InputError, match="needs to know what documents are about"):
        sw.split(collection, 2, kind="topical")
    with pytest.raises(InputError, match="texts have no effect"):
        sw.split(collection, 2, texts=TEXTS)
    some = {name: text for name, text in TEXTS.items() if name != "metal-3"}
    with pytest.raises(
        InputError, match="the texts of 1 document retrieved or judged are not there: metal-3"
    ):
        sw.split(collection, 2, kind="topical", texts=some)
    made = sw.split(collection, 2, kind="topical", texts=some, unlisted="add")
    assert made.notes == ("1 document without a text fell into shards by chance",)
    assert made.sizes.sum() == 40
    with pytest.raises(InputError, match="41 shards for 40 documents"):
        sw.split(collection, 41, kind="topical", texts=TEXTS)
    with pytest.raises(InputError, match="not numbers, or not equally many"):
        sw.split(collection, 2, kind="topical", texts={"a": [1.0, 2.0], "b": [1.0]})
    with pytest.raises(InputError, match="a sample of 0"):
        sw.split(collection, 2, kind="topical", texts=TEXTS, sample=0.0)
    with pytest.raises(InputError, match="no word is in two documents"):
        vectorize_documents({"a": "one", "b": "two"})


@pytest.mark.slow
def test_topical_shards_of_vaswani_hold_what_is_relevant_together(data: Path, tmp_path: Path) -> None:
    """The cluster hypothesis: relevant documents lie in fewer topical shards than in random ones, and by command."""
    folder = data / "vaswani"
    texts = folder / "doc-text.trec.gz"
    judged = [line.split() for line in (folder / "qrels").read_text().splitlines()]
    qrels: dict[str, dict[str, int]] = {}
    for topic, _, doc, grade in judged:
        qrels.setdefault(topic, {})[doc] = int(grade)
    run = {t: {d: float(k) for k, d in enumerate(sorted(own))} for t, own in qrels.items()}
    collection = sw.read_collection({"x": run, "y": run}, qrels)
    largest = {}
    for kind, more in (("topical", {"texts": texts, "sample": 0.2}), ("even", {})):
        made = sw.split(collection, 10, kind=kind, seed=1, **more)  # type: ignore[arg-type]
        shard = dict(zip(collection.docnos(), made.shards[0].tolist(), strict=True))
        held = [np.bincount([shard[d] for d in own], minlength=10).max() / len(own) for own in qrels.values()]
        largest[kind] = float(np.mean(held))
    assert largest["topical"] > 1.5 * largest["even"]
    for name in ("x", "y"):
        lines = [
            f"{t} Q0 {d} {k} {1000 - k} {name}\n"
            for t, own in qrels.items()
            for k, d in enumerate(sorted(own))
        ]
        (tmp_path / name).write_text("".join(lines))
    command = (
        "score",
        str(folder / "qrels"),
        str(tmp_path / "x"),
        str(tmp_path / "y"),
        "--shards",
        "3",
        "--quiet",
    )
    done = shardwise(*command, "--kind", f"topical:{texts}")
    assert done.returncode == 0, done.stderr
    done = shardwise(*command, "--kind", "topical")
    assert (done.returncode, "--kind topical:FILE" in done.stderr) == (2, True), done.stderr
