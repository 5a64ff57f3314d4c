"""Parsed sources -> one Collection: common codes, rankings in place, grades looked up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from shardwise.core.arrays import Codes, Grades, Ints
from shardwise.core.errors import InputError
from shardwise.io.collection import UNJUDGED, Collection
from shardwise.io.trec.interning import Coder, merge
from shardwise.io.trec.parsed import ParsedQrels, ParsedRun


def assemble(
    runs: list[ParsedRun],
    qrels: list[ParsedQrels],
    coders: list[Coder],
    systems: tuple[str, ...],
    topics: tuple[str, ...],
    depth: int | None,
    notes: list[str],
) -> Collection:
    """Put rankings and judgments into the common codes."""
    merged = merge(coders)
    number = {topic: t for t, topic in enumerate(topics)}
    n_topics = len(topics)
    counts = np.zeros((len(runs), n_topics), dtype=np.int64)
    for r, run in enumerate(runs):
        for topic, size in zip(run.topics, np.diff(run.edges).tolist(), strict=True):
            if topic in number:
                counts[r, number[topic]] = size
    if depth is not None:
        cut = int((counts > depth).sum())
        if cut:
            notes = [*notes, f"{cut} of {counts.size} rankings were deeper than {depth} and were cut there"]
        counts = np.minimum(counts, depth)
    starts = np.concatenate([[0], np.cumsum(counts.ravel())]).astype(np.int64)
    docs = np.empty(int(starts[-1]), dtype=np.int32)
    grades = np.empty(len(docs), dtype=np.int16)
    qrel_docs, qrel_grades, qrel_starts = _judgments(qrels, merged.codes, topics)
    n_docs = len(merged.name_starts) - 1

    def place(r: int) -> None:
        run = runs[r]
        target = np.array([number.get(topic, -1) for topic in run.topics], dtype=np.int64)
        _place(run.docs, run.edges, target, merged.codes[run.worker], starts[r * n_topics :], counts[r], docs)

    def grade(part: Ints) -> None:
        _grade(
            part,
            len(runs),
            n_topics,
            docs,
            starts,
            qrel_docs,
            qrel_grades,
            qrel_starts,
            n_docs,
            UNJUDGED,
            grades,
        )

    with ThreadPoolExecutor(len(coders)) as pool:
        list(pool.map(place, range(len(runs))))
        list(pool.map(grade, np.array_split(np.arange(n_topics), len(coders))))
    return Collection(
        systems=systems,
        topics=topics,
        names=merged.names,
        name_starts=merged.name_starts,
        docs=docs,
        starts=starts,
        grades=grades,
        qrel_docs=qrel_docs,
        qrel_grades=qrel_grades,
        qrel_starts=qrel_starts,
        notes=tuple(notes),
    )


def _judgments(
    qrels: list[ParsedQrels], codes: tuple[Codes, ...], topics: tuple[str, ...]
) -> tuple[Codes, Grades, Ints]:
    """Judgments of the chosen topics, by topic and document; the same document in two files must agree."""
    number = {topic: t for t, topic in enumerate(topics)}
    topic_of, docs, grades = [], [], []
    for part in qrels:
        numbers = np.array([number.get(topic, -1) for topic in part.topics], dtype=np.int64)
        topic_of.append(np.repeat(numbers, np.diff(part.edges)))
        docs.append(codes[part.worker][part.docs])
        grades.append(part.grades)
    all_topics, all_docs, all_grades = np.concatenate(topic_of), np.concatenate(docs), np.concatenate(grades)
    order = np.lexsort((all_docs, all_topics))
    order = order[all_topics[order] >= 0]
    t, d, g = all_topics[order], all_docs[order], all_grades[order]
    same = (t[1:] == t[:-1]) & (d[1:] == d[:-1])
    clash = np.flatnonzero(same & (g[1:] != g[:-1]))
    if len(clash):
        sources = " and ".join(part.source for part in qrels)
        raise InputError(
            f"a document of topic {topics[t[clash[0]]]} has different grades in the files",
            where=sources,
            remedy="keep one of the two judgments",
        )
    keep = np.concatenate([[True], ~same]) if len(order) else np.zeros(0, dtype=bool)
    starts = np.searchsorted(t[keep], np.arange(len(topics) + 1)).astype(np.int64)
    return d[keep], g[keep], starts


@njit(cache=True, nogil=True)
def _place(
    run_docs: Codes, edges: Ints, target: Ints, codes: Codes, starts: Ints, counts: Ints, docs: Codes
) -> None:
    """Copy the rankings of one run to their places, in the common codes."""
    for g in range(len(target)):
        t = target[g]
        if t >= 0:
            for i in range(counts[t]):
                docs[starts[t] + i] = codes[run_docs[edges[g] + i]]


@njit(cache=True, nogil=True)
def _grade(
    part: Ints,
    n_systems: int,
    n_topics: int,
    docs: Codes,
    starts: Ints,
    qrel_docs: Codes,
    qrel_grades: Grades,
    qrel_starts: Ints,
    n_docs: int,
    unjudged: np.int16,
    grades: Grades,
) -> None:
    """Look up the grade of every ranked document, a topic at a time so that the table stays in cache."""
    grade_of = np.full(n_docs, unjudged, dtype=np.int16)
    for t in part:
        for j in range(qrel_starts[t], qrel_starts[t + 1]):
            grade_of[qrel_docs[j]] = qrel_grades[j]
        for r in range(n_systems):
            for i in range(starts[r * n_topics + t], starts[r * n_topics + t + 1]):
                grades[i] = grade_of[docs[i]]
        for j in range(qrel_starts[t], qrel_starts[t + 1]):
            grade_of[qrel_docs[j]] = unjudged
