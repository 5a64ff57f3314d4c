"""Parsed sources -> one Collection: common codes, rankings in place, grades looked up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shardwise.core.arguments import map_parallel
from shardwise.core.arrays import Codes, Grades, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import InputError
from shardwise.io.collection import UNJUDGED, Collection
from shardwise.io.trec.parsed import Interner, Merged, ParsedQrels, ParsedRun, merge_interners
from shardwise.io.trec.ranking import grade_rankings, place_rankings


def assemble_collection(
    runs: list[ParsedRun],
    qrels: list[ParsedQrels],
    interners: list[Interner],
    systems: tuple[str, ...],
    topics: tuple[str, ...],
    depth: int | None,
    notes: list[str],
) -> Collection:
    """Put rankings and judgments into the common codes."""
    merged = merge_interners(interners)
    judged = _assemble_judgments(qrels, merged.codes, topics)
    jobs = len(interners)
    docs, starts, grades, cut = _assemble_rankings(runs, merged, topics, depth, judged, jobs)
    collection = Collection(
        systems=systems,
        topics=topics,
        names=merged.names,
        name_starts=merged.name_starts,
        docs=docs,
        starts=starts,
        grades=grades,
        qrel_docs=judged[0],
        qrel_grades=judged[1],
        qrel_starts=judged[2],
        notes=(*notes, *cut),
    )
    # the runs that another precision of scores orders otherwise, in that order
    moved = [
        (system, replace(run, docs=run.reordered))
        for system, run in zip(systems, runs, strict=True)
        if run.reordered is not None
    ]
    if not moved:
        return collection
    docs, starts, grades, _ = _assemble_rankings(
        [run for _, run in moved], merged, topics, depth, judged, jobs
    )
    names = tuple(system for system, _ in moved)
    other = replace(collection, systems=names, docs=docs, starts=starts, grades=grades, notes=())
    return replace(collection, reordered=other)


def _assemble_rankings(
    runs: list[ParsedRun],
    merged: Merged,
    topics: tuple[str, ...],
    depth: int | None,
    judged: tuple[Codes, Grades, Ints],
    jobs: int,
) -> tuple[Codes, Ints, Grades, tuple[str, ...]]:
    """Return documents, edges and grades of all rankings, and a note on those that are cut."""
    number = {topic: t for t, topic in enumerate(topics)}
    n_topics = len(topics)
    counts, cut = ranking_sizes(runs, topics, depth)
    starts = np.concatenate([[0], np.cumsum(counts.ravel())]).astype(np.int64)
    docs = np.empty(int(starts[-1]), dtype=np.int32)
    grades = np.empty(len(docs), dtype=np.int16)
    n_docs = len(merged.name_starts) - 1

    def place_run(r: int) -> None:
        run = runs[r]
        target = np.array([number.get(topic, -1) for topic in run.topics], dtype=np.int64)
        codes = merged.codes[run.worker]
        place_rankings(run.docs, run.edges, target, codes, starts[r * n_topics :], counts[r], docs)

    def grade_topics(part: Ints) -> None:
        grade_of = np.full(n_docs, UNJUDGED)
        grade_rankings(part, docs, starts, grades, *judged, grade_of, int(UNJUDGED))

    list(map_parallel(place_run, range(len(runs)), jobs=jobs))
    list(map_parallel(grade_topics, np.array_split(np.arange(n_topics), jobs), jobs=jobs))
    return docs, starts, grades, cut


def ranking_sizes(
    runs: list[ParsedRun], topics: tuple[str, ...], depth: int | None
) -> tuple[Ints, tuple[str, ...]]:
    """Return (run, topic) number of documents down to a depth, and a note on how many rankings are cut there."""
    number = {topic: t for t, topic in enumerate(topics)}
    counts = np.zeros((len(runs), len(topics)), dtype=np.int64)
    for r, run in enumerate(runs):
        for topic, size in zip(run.topics, np.diff(run.edges).tolist(), strict=True):
            if topic in number:
                counts[r, number[topic]] = size
    if depth is None:
        return counts, ()
    cut = int((counts > depth).sum())
    note = f"{cut} of {format_count(counts.size, 'ranking')} deeper than {depth}, cut there"
    return np.minimum(counts, depth), (note,) if cut else ()


def _assemble_judgments(
    qrels: list[ParsedQrels], codes: tuple[Codes, ...], topics: tuple[str, ...]
) -> tuple[Codes, Grades, Ints]:
    """Return judgments of the chosen topics, by topic and document; the same document in two files must agree."""
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
