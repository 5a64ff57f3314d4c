"""BM25 over the whole collection: the deterministic baseline, and the scores that all shards share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bm25s  # type: ignore[import-untyped]
import numpy as np
import Stemmer  # type: ignore[import-not-found]

from selective_search.texts import Texts
from shardwise.core.arrays import Bools, Codes, Floats, Grades, Ints
from shardwise.io.collection import UNJUDGED, Collection


@dataclass(frozen=True, slots=True, eq=False)
class Engine:
    """Exhaustive rankings, topic after topic; searching some shards only leaves documents out of them.

    The statistics of BM25 (document frequencies, mean length) are those of the whole collection, as in a
    cooperative system whose broker hands them to every shard. A document then has the same score wherever
    it lies, so that a selective ranking is the exhaustive one without the shards left out.
    """

    texts: Texts
    scores: Floats  # (topics, documents), single precision
    docs: Codes  # documents with a positive score, best first
    topic_of: Codes  # like docs
    grades: Grades  # like docs


def build(texts: Texts, tokens: Sequence[Sequence[str]], k1: float = 1.2, b: float = 0.75) -> Engine:
    """Score every document for every query once."""
    bm25 = bm25s.BM25(k1=k1, b=b)
    bm25.index(list(tokens), show_progress=False)
    vocabulary = bm25.vocab_dict
    queries = [[word for word in query if word in vocabulary] for query in tokenize(texts.queries)]
    scores = np.stack([bm25.get_scores(query) if query else np.zeros(len(tokens)) for query in queries])
    scores = scores.astype(np.float32)
    n_topics, n_docs = scores.shape
    by_name = np.broadcast_to(-np.arange(n_docs), scores.shape)
    order = np.lexsort((by_name, -scores), axis=1)  # trec_eval: equal scores by name, descending
    there = np.take_along_axis(scores, order, axis=1) > 0
    topic_of = np.repeat(np.arange(n_topics, dtype=np.int32), there.sum(axis=1))
    docs = order[there].astype(np.int32)
    return Engine(texts, scores, docs, topic_of, _grades(texts)[topic_of, docs])


def tokenize(texts: Sequence[str]) -> list[list[str]]:
    """Words without English stop words, stemmed."""
    return list(
        bm25s.tokenize(
            list(texts),
            stopwords="en",
            stemmer=Stemmer.Stemmer("english"),
            return_ids=False,
            show_progress=False,
        )
    )


def rankings(engine: Engine, kept: Bools, depth: int) -> tuple[Codes, Grades, Ints]:
    """The kept documents of all topics to some depth: documents, grades, and the length of each ranking."""
    before: Ints = np.cumsum(kept) - kept  # kept documents ahead of each place, over all topics
    first = np.searchsorted(engine.topic_of, np.arange(len(engine.texts.topics)))
    total = np.append(before, kept.sum())
    within = before - total[first][engine.topic_of]
    shown = kept & (within < depth)
    lengths = np.bincount(engine.topic_of[shown], minlength=len(engine.texts.topics))
    return engine.docs[shown], engine.grades[shown], lengths


def collection(
    engine: Engine, runs: Sequence[tuple[Codes, Grades, Ints]], names: Sequence[str]
) -> Collection:
    """Rankings of several runs as a collection ready to be scored, without the way through run files."""
    texts = engine.texts
    encoded = [docno.encode() for docno in texts.docnos]
    number = {docno: d for d, docno in enumerate(texts.docnos)}
    judged = [
        sorted((number[docno], grade) for docno, grade in texts.qrels[topic].items())
        for topic in texts.topics
    ]
    pairs = [pair for topic in judged for pair in topic]
    return Collection(
        systems=tuple(names),
        topics=texts.topics,
        names=np.frombuffer(b"".join(encoded), np.uint8),
        name_starts=_edges([len(name) for name in encoded]),
        docs=np.concatenate([docs for docs, _, _ in runs]),
        starts=_edges(np.concatenate([lengths for _, _, lengths in runs])),
        grades=np.concatenate([grades for _, grades, _ in runs]),
        qrel_docs=np.array([doc for doc, _ in pairs], np.int32),
        qrel_grades=np.array([grade for _, grade in pairs], np.int16),
        qrel_starts=_edges([len(topic) for topic in judged]),
    )


def _edges(lengths: Sequence[int] | Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _grades(texts: Texts) -> Grades:
    """(topics, documents)."""
    number = {docno: d for d, docno in enumerate(texts.docnos)}
    grades = np.full((len(texts.topics), len(texts.docnos)), UNJUDGED, np.int16)
    for t, topic in enumerate(texts.topics):
        for docno, grade in texts.qrels[topic].items():
            grades[t, number[docno]] = grade
    return grades
