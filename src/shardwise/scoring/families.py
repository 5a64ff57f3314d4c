"""Measures by what they ask of the judgments, each family with the compiled kernel that scores it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Bools, Floats, Grades
from shardwise.core.errors import InputError
from shardwise.io.collection import Collection
from shardwise.scoring.measures.names import Measure
from shardwise.scoring.measures.tables import Tables, tables

Kernel = Callable[[Grades, int, int, int, int, Floats], int]
"""(shards, number of shards, split, first topic, end topic, out) -> -1, or the ranking whose grades do not fit."""
Needs = Literal["grades", "subtopics", "strata"]

_OFFSET = 32768
_REMEDIES = {
    "subtopics": "read them with subtopics=True if their second column is a subtopic",
    "strata": "read qrels of five columns (topic, iteration, document, stratum, grade), or use infAP",
}


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Measures of one kind, where they stand among those asked for, and how they are computed."""

    places: tuple[int, ...]
    kernel: Kernel


def families(collection: Collection, measures: Sequence[Measure]) -> list[Family]:
    """Sort the measures by kind and make each kind ready; refuse those that the judgments cannot serve."""
    makers = {"grades": _on_grades, "subtopics": _on_subtopics, "strata": _on_strata}
    found = []
    for needs, make in makers.items():
        places = tuple(m for m, measure in enumerate(measures) if measure.definition.needs == needs)
        if places:
            own = [measures[m] for m in places]
            if needs != "grades" and getattr(collection, needs) is None:
                raise InputError(f"{own[0]} needs judgments with {needs}", remedy=_REMEDIES[needs])
            found.append(Family(places, make(collection, own)))
    return found


def without_relevant(collection: Collection, measures: Sequence[Measure]) -> Bools:
    """(measure, topic): whether the topic has no document in the whole collection that the measure values."""
    n_topics = len(collection.topics)
    barren = np.zeros((len(measures), n_topics), dtype=np.bool_)
    topic_of = np.repeat(np.arange(n_topics), np.diff(collection.qrel_starts))
    for m, measure in enumerate(measures):
        if not measure.definition.needs_relevant:
            continue
        grades, topics, weights = collection.qrel_grades, topic_of, np.ones(1)
        if measure.definition.needs == "subtopics" and (by := collection.subtopics) is not None:
            grades, topics = by.grades, np.repeat(topic_of, np.diff(by.edges))
            weights = by.weights[by.starts[topics] + by.codes]
        levels, level_of = np.unique(grades.astype(np.float64), return_inverse=True)
        worth = (measure.definition.values(levels, dict(measure.parameters))[level_of] > 0) & (weights > 0)
        barren[m] = np.bincount(topics[worth], minlength=n_topics) == 0
    return barren


def _on_grades(collection: Collection, measures: Sequence[Measure]) -> Kernel:
    from shardwise.scoring.kernels.ranked import score_topics

    kernel: Any = score_topics
    made = tables(measures, collection.qrel_grades, _depth(collection))
    rankings = (
        *_rankings(collection)[:4],
        np.ascontiguousarray(collection.qrel_grades, dtype=np.int16),
        np.ascontiguousarray(collection.qrel_starts, dtype=np.int64),
    )
    rest = (
        *(made.kernels, made.norms, made.cutoffs, made.needs_relevant, made.numbers),
        *(made.values, made.orders, made.discounts, made.level_of, made.floor),
    )

    def run(shards: Grades, n_shards: int, split: int, first: int, end: int, out: Floats) -> int:
        return int(kernel(*rankings, shards, n_shards, split, *rest, first, end, out))

    return run


def _on_subtopics(collection: Collection, measures: Sequence[Measure]) -> Kernel:
    from shardwise.scoring.kernels.subtopics import score_subtopics

    kernel: Any = score_subtopics
    by = collection.subtopics
    assert by is not None, "families refuses collections without subtopics"
    made = tables(measures, by.grades, _depth(collection))
    judged = (
        np.ascontiguousarray(by.starts, dtype=np.int64),
        np.ascontiguousarray(by.weights, dtype=np.float64),
        np.ascontiguousarray(by.edges, dtype=np.int64),
        np.ascontiguousarray(by.codes, dtype=np.int32),
        _levels(made, by.grades),
    )
    rankings = _rankings(collection)
    rest = (
        *(made.kernels, made.norms, made.cutoffs, made.numbers, made.endless),
        *(made.values, made.discounts),
    )

    def run(shards: Grades, n_shards: int, split: int, first: int, end: int, out: Floats) -> int:
        where = (shards, n_shards, collection.n_docs, split)
        return int(kernel(*rankings, *judged, *where, *rest, first, end, out))

    return run


def _on_strata(collection: Collection, measures: Sequence[Measure]) -> Kernel:
    from shardwise.scoring.kernels.strata import score_strata

    kernel: Any = score_strata
    strata = collection.strata
    assert strata is not None, "families refuses collections without strata"
    # estimated numbers of documents are rounded, grade by grade, and may so exceed the pool a little
    depth = _depth(collection) + len(np.unique(collection.qrel_grades))
    made = tables(measures, collection.qrel_grades, depth)
    rankings = _rankings(collection)
    judged = (
        _levels(made, collection.qrel_grades),
        np.ascontiguousarray(strata.codes, dtype=np.int32),
        len(strata.names),
    )
    rest = (made.kernels, made.cutoffs, made.values, made.orders, made.discounts)

    def run(shards: Grades, n_shards: int, split: int, first: int, end: int, out: Floats) -> int:
        where = (shards, n_shards, collection.n_docs, split)
        return int(kernel(*rankings, *judged, *where, *rest, first, end, out))

    return run


def _rankings(collection: Collection) -> tuple[npt.NDArray[Any], ...]:
    """Rankings and judged documents as every kernel takes them."""
    return (
        np.ascontiguousarray(collection.docs, dtype=np.int32),
        np.ascontiguousarray(collection.starts, dtype=np.int64),
        np.ascontiguousarray(collection.grades, dtype=np.int16),
        np.ascontiguousarray(collection.qrel_docs, dtype=np.int32),
        np.ascontiguousarray(collection.qrel_starts, dtype=np.int64),
    )


def _levels(made: Tables, grades: Grades) -> npt.NDArray[np.int32]:
    """Number of each grade in the tables."""
    return np.ascontiguousarray(made.level_of[grades.astype(np.int64) + _OFFSET])


def _depth(collection: Collection) -> int:
    """Deepest rank that any ranking, retrieved or ideal, can reach."""
    lengths = np.diff(collection.starts), np.diff(collection.qrel_starts)
    return int(max((length.max() for length in lengths if len(length)), default=0))
