"""Splits: what each kind promises, and that they depend on (seed, index) and the documents only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.io.reader import read_collection
from shardwise.sharding.split import split
from shardwise.sharding.splits import Splits


def collection(n_docs: int = 60, relevant: int = 12, order: int = 1) -> Collection:
    """Two systems and three topics over documents of two sources."""
    docs = [f"{'AB'[i % 2]}-{i}" for i in range(n_docs)][::order]
    qrels = {t: {d: int(i < relevant) for i, d in enumerate(sorted(docs))} for t in ("1", "2", "3")}
    runs = {s: {t: {d: float(i) for i, d in enumerate(docs)} for t in qrels} for s in ("x", "y")}
    return read_collection(runs, qrels)


RUNS = collection()


def shard_of(splits: Splits, runs: Collection, i: int = 0) -> dict[str, int]:
    return dict(zip(runs.docnos(), splits.shards[i].tolist(), strict=True))


@given(n=st.integers(1, 60), seed=st.integers(0, 1000))
def test_even_shards_differ_by_one_document_at_most(n: int, seed: int) -> None:
    splits = split(RUNS, n, n_splits=2, seed=seed)
    for i in range(2):
        sizes = np.bincount(splits.shards[i], minlength=n)
        assert sizes.max() - sizes.min() <= 1
        assert sizes.tolist() == splits.sizes[i].tolist()


@given(st.sampled_from(["even", "die"]), st.integers(2, 7), st.integers(0, 99), st.sampled_from([None, 1000]))
def test_a_split_depends_on_seed_index_and_documents_only(
    kind: str, n: int, seed: int, corpus: int | None
) -> None:
    five = split(RUNS, n, kind=kind, n_splits=5, seed=seed, corpus=corpus)  # type: ignore[arg-type]
    two = split(collection(order=-1), n, kind=kind, n_splits=2, seed=seed, corpus=corpus)  # type: ignore[arg-type]
    assert np.array_equal(five.shards[:2], two.shards)
    assert not np.array_equal(five.shards[0], five.shards[1])


def test_seeds_differ() -> None:
    assert not np.array_equal(split(RUNS, 3, seed=1).shards, split(RUNS, 3, seed=2).shards)


def test_even_over_a_known_corpus_size_has_the_distribution_of_a_cut_permutation() -> None:
    """Two documents share a shard as often as in a permutation of the whole corpus: (C/S - 1) / (C - 1)."""
    small = collection(n_docs=6, relevant=2)
    splits = split(small, 4, n_splits=20_000, seed=3, corpus=8)
    together = float((splits.shards[:, 0] == splits.shards[:, 5]).mean())
    expected = (8 / 4 - 1) / (8 - 1)
    assert abs(together - expected) < 4 * np.sqrt(expected * (1 - expected) / 20_000)
    assert (splits.sizes == 2).all()
    assert max(np.bincount(row, minlength=4).max() for row in splits.shards) == 2


def test_a_die_rolls_every_document_alone() -> None:
    splits = split(RUNS, 6, kind="die", n_splits=2000, seed=5)
    counts = np.bincount(splits.shards.ravel(), minlength=6)
    assert stats.chisquare(counts).pvalue > 1e-4
    together = float((splits.shards[:, 0] == splits.shards[:, 1]).mean())
    assert abs(together - 1 / 6) < 4 * np.sqrt(5 / 36 / 2000)


def test_covered_leaves_no_topic_without_relevant_documents() -> None:
    splits = split(RUNS, 4, kind="covered", n_splits=10, seed=2)
    relevant = [i for i, name in enumerate(RUNS.docnos()) if name in sorted(RUNS.docnos())[:12]]
    for row in splits.shards:
        assert set(row[relevant]) == set(range(4))
        assert np.ptp(np.bincount(row)) <= 1
    assert any("was drawn" in note for note in splits.notes)
    rolled = split(RUNS, 4, kind="covered", draw="die", seed=2)
    assert set(rolled.shards[0][relevant]) == set(range(4))


def test_covered_says_which_topics_are_hopeless() -> None:
    with pytest.raises(
        InputError, match="3 topics have fewer relevant documents than the 13 shards: 1, 2, 3"
    ):
        split(RUNS, 13, kind="covered")
    with pytest.raises(InputError, match="came up in 3 draws; topics that lacked one most often"):
        split(RUNS, 12, kind="covered", max_tries=3)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6))
def test_uneven_shards_have_the_stated_proportions(parts: list[int]) -> None:
    splits = split(RUNS, kind="uneven", proportions=parts, seed=1)
    sizes = np.bincount(splits.shards[0], minlength=len(parts))
    assert sizes.sum() == RUNS.n_docs
    assert np.abs(sizes - RUNS.n_docs * np.array(parts) / sum(parts)).max() < 1


def test_attributes() -> None:
    expected = {name: "AB".index(name[0]) for name in RUNS.docnos()}
    for by in (r"^(\w)-", r"^\w", lambda name: name[0], {name: name[0] for name in RUNS.docnos()}):
        splits = split(RUNS, kind="attribute", by=by)
        assert splits.labels == ("A", "B")
        assert shard_of(splits, RUNS) == expected
    assert splits.sizes.tolist() == [[30, 30]]


def test_a_document_list_fixes_every_documents_shard(tmp_path: Path) -> None:
    corpus = [f"{'AB'[i % 2]}-{i}" for i in range(200)]
    few, many = collection(n_docs=40), collection(n_docs=90)
    first, second = (shard_of(split(runs, 5, seed=9, corpus=corpus), runs) for runs in (few, many))
    assert all(second[name] == shard for name, shard in first.items())
    (tmp_path / "docs.txt").write_text("\n".join(corpus) + "\n")
    assert shard_of(split(few, 5, seed=9, corpus=tmp_path / "docs.txt"), few) == first
    with pytest.raises(InputError, match="1 document retrieved or judged, but not in the document list: A-0"):
        split(few, 5, corpus=corpus[1:])
    added = split(few, 5, corpus=[*corpus[1:], corpus[1]], unlisted="add")
    assert [note.split(":")[0] for note in added.notes] == [
        "1 name in the document list more than once",
        "1 seen document added to the document list",
    ]


def test_saved_loaded_and_given_to_others(tmp_path: Path) -> None:
    splits = split(RUNS, 4, n_splits=3, seed=8)
    splits.save(tmp_path / "s")
    loaded = Splits.load(tmp_path / "s", RUNS)
    assert np.array_equal(loaded.shards, splits.shards)
    assert (loaded.kind, loaded.seed, loaded.labels) == ("even", 8, splits.labels)
    few = collection(n_docs=20)
    moved = Splits.load(tmp_path / "s", few)
    assert all(shard_of(splits, RUNS, 2)[name] == shard for name, shard in shard_of(moved, few, 2).items())
    with pytest.raises(
        InputError, match="1 document of the collection in no shard of these splits, such as 'A-60'"
    ):
        Splits.load(tmp_path / "s", collection(n_docs=61))
    with pytest.raises(InputError, match="holds a splits of format 1, not a collection"):
        Collection.load(tmp_path / "s")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_shards": 0}, "0 shards: give a whole number, 1 or more"),
        ({"n_shards": 61}, "61 shards for 60 documents"),
        ({"n_shards": 3, "kind": "odd"}, "unknown kind of split 'odd'; choose one of even, die"),
        ({"n_shards": 3, "n_splits": 0}, "0 splits: give a whole number, 1 or more"),
        ({"n_shards": 3, "corpus": 10}, "smaller than the 60"),
        ({"n_shards": 2.5}, "2.5 shards: give a whole number"),
        ({}, "the number of shards is missing; give n_shards"),
        ({"n_shards": 40_000}, "40,000 shards cannot be made; give a number from 1 to 32767"),
        ({"kind": "uneven", "n_shards": 2.5, "proportions": [1, 2]}, "2.5 shards: give a whole number"),
        ({"kind": "uneven", "proportions": [1, float("nan")]}, "needs two or more positive proportions"),
        ({"kind": "uneven", "proportions": [1, float("inf")]}, "needs two or more positive proportions"),
        ({"kind": "uneven", "proportions": ["a", "b"]}, r"two or more positive proportions; .*=\[5, 3, 2\]"),
        (
            {"kind": "uneven", "proportions": [1e9, 1]},
            "shard 1 would be empty: proportion 1 of 60 documents makes 6e-08; give it a larger proportion",
        ),
        ({"n_shards": 3, "max_tries": 0}, "0 draws: give a whole number"),
        ({"n_shards": 3, "draw": "cards"}, "unknown way of drawing 'cards'"),
        ({"n_shards": 3, "unlisted": "drop"}, "unknown policy for unlisted documents 'drop'"),
        ({"n_shards": 3, "kind": "uneven"}, "needs two or more positive proportions"),
        ({"n_shards": 3, "kind": "uneven", "proportions": [1, 2]}, "3 shards, but 2 proportions"),
        ({"n_shards": 3, "proportions": [1, 2, 3]}, "proportions have no effect"),
        ({"kind": "attribute"}, "kind='attribute' needs by=; give a function"),
        ({"kind": "attribute", "by": "X"}, "does not match 'X'"),
        ({"kind": "attribute", "by": {}}, "is not in the mapping"),
        ({"kind": "attribute", "by": "^.", "n_splits": 2}, "one split, not several"),
        ({"kind": "attribute", "by": "^.", "n_shards": 3}, "has 2 values, not 3: A, B"),
    ],
)
def test_impossible_requests_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        split(RUNS, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [2, 5])
def test_real_document_list(n: int, data: Path) -> None:
    """TREC-COVID's list repeats 33 names and lacks 2 judged documents: both are said, neither is passed over."""
    folder = data / "trec-covid-r1"
    qrels = folder / "qrels.covid-round1.txt"
    judged = read_collection({"x": {"1": {"010vptx3": 1.0}}}, qrels)
    listed = folder / "docids.covid.round1.txt.gz"
    with pytest.raises(InputError, match="2 documents"):
        split(judged, n, corpus=listed)
    splits = split(judged, n, corpus=listed, unlisted="add")
    assert splits.notes[0].startswith("33 names in the document list more than once")
    assert np.ptp(splits.sizes) <= 1
