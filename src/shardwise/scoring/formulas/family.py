"""Measures that are formulas, scored over all systems of a collection, whole or in shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from shardwise.core.arrays import Codes, Floats, Grades, Ints
from shardwise.io.collection import Collection
from shardwise.scoring.formulas.rankings import Ranked, StratumRanked, SubtopicRanked
from shardwise.scoring.kernels.arguments import TopicRange
from shardwise.scoring.measures.names import Measure

_OFFSET = 32768
"""Added to a grade, makes it a place in a table of all grades; unjudged documents are at 0."""
Judge = Callable[[Codes, Grades], float]


@dataclass(frozen=True, slots=True, eq=False)
class FormulaFamily:
    """Measures that are formulas on the same kind of judgments, and where they stand among those asked for."""

    places: tuple[int, ...]
    measures: tuple[Measure, ...]
    collection: Collection

    def score(self, part: TopicRange, out: Floats) -> int:
        """Score a part of the work into ``out[measure, split, topic, system, shard]``; return -1."""
        collection, n_topics = self.collection, len(self.collection.topics)
        shard_of = part.shards[part.split]
        for t in range(part.first, part.end):
            judged = collection.qrel_docs[collection.qrel_starts[t] : collection.qrel_starts[t + 1]]
            pools = list(_by_shard(judged, shard_of, part.n_shards))
            # one judge for each measure and shard: what depends on the judgments alone is found once
            judges = [
                [_JUDGES[measure.definition.needs](collection, measure, t, pool) for pool in pools]
                for measure in self.measures
            ]
            for r in range(len(collection.systems)):
                ranking = r * n_topics + t
                rows = slice(collection.starts[ranking], collection.starts[ranking + 1])
                docs, grades = collection.docs[rows], collection.grades[rows]
                for s, kept in enumerate(_by_shard(docs, shard_of, part.n_shards)):
                    shard_docs, shard_grades = docs[kept], grades[kept]
                    for m, of_measure in enumerate(judges):
                        out[m, part.split, t, r, s] = of_measure[s](shard_docs, shard_grades)
        return -1


def _by_shard(docs: Codes, shard_of: Grades, n_shards: int) -> Iterator[Any]:
    """Yield what picks the documents of each shard, in their order; everything where there are no shards."""
    if not len(shard_of):
        yield slice(None)
        return
    shards = shard_of[docs]
    order = np.argsort(shards, kind="stable")
    edges = np.searchsorted(shards[order], np.arange(n_shards + 1))
    for s in range(n_shards):
        yield order[edges[s] : edges[s + 1]]


@lru_cache(maxsize=64)
def gain_table(measure: Measure) -> Floats:
    """Gain of every grade there can be, that of grade g at place g + 32768; 0 for unjudged documents."""
    parameters = dict(measure.parameters)
    with np.errstate(over="ignore"):
        table = measure.definition.gain(np.arange(-_OFFSET, _OFFSET, dtype=np.float64), parameters)
    table[0] = 0.0
    return table


def _look_up(table: Floats, grades: Grades) -> Floats:
    return np.asarray(table[grades.astype(np.int64) + _OFFSET])


def _describe_scope(measure: Measure) -> tuple[Any, Any, int | None, float]:
    """Return formula, parameters, cutoff and level of recall of a measure."""
    parameters = dict(measure.parameters)
    recall = measure.definition.cutoff == "recall"
    cutoff = None if recall or measure.cutoff is None else int(measure.cutoff)
    level = float(measure.cutoff or 0.0) if recall else 0.0
    return measure.definition.formula_for(parameters), parameters, cutoff, level


def _judge_grades(collection: Collection, measure: Measure, t: int, inside: Any) -> Judge:
    formula, parameters, cutoff, recall = _describe_scope(measure)
    table = gain_table(measure)
    pool = collection.qrel_grades[collection.qrel_starts[t] : collection.qrel_starts[t + 1]][inside]
    pool_gains = _look_up(table, pool)
    if measure.definition.needs_relevant and not (pool_gains > 0).any():
        return _return_nan

    def judge_ranking(docs: Codes, grades: Grades) -> float:
        ranked = Ranked(grades, _look_up(table, grades), pool, pool_gains, parameters, cutoff, recall)
        return float(formula(ranked))

    return judge_ranking


def _judge_subtopics(collection: Collection, measure: Measure, t: int, inside: Any) -> Judge:
    formula, parameters, cutoff, recall = _describe_scope(measure)
    by = collection.subtopics
    assert by is not None, "refused where there are none"
    table = gain_table(measure)
    first, last = collection.qrel_starts[t], collection.qrel_starts[t + 1]
    judged = collection.qrel_docs[first:last]
    weights = by.weights[by.starts[t] : by.starts[t + 1]]
    # one row more, without gain, for documents that nobody judged
    rows = np.zeros((len(judged) + 1, len(weights)))
    row_of = np.repeat(np.arange(len(judged)), np.diff(by.edges[first : last + 1]))
    cells = slice(by.edges[first], by.edges[last])
    rows[row_of, by.codes[cells]] = _look_up(table, by.grades[cells])
    pool = rows[:-1][inside]
    if measure.definition.needs_relevant and not (pool > 0).any():
        return _return_nan

    def judge_ranking(docs: Codes, grades: Grades) -> float:
        gains = rows[_row_of(docs, judged)]
        return float(formula(SubtopicRanked(gains, pool, weights, parameters, cutoff, recall)))

    return judge_ranking


def _judge_strata(collection: Collection, measure: Measure, t: int, inside: Any) -> Judge:
    formula, parameters, cutoff, recall = _describe_scope(measure)
    strata = collection.strata
    assert strata is not None, "refused where there are none"
    table = gain_table(measure)
    first, last = collection.qrel_starts[t], collection.qrel_starts[t + 1]
    judged = collection.qrel_docs[first:last]
    gains = np.append(_look_up(table, collection.qrel_grades[first:last]), np.nan)
    codes = np.append(strata.codes[first:last], -1)
    pool_gains, pool_codes = gains[:-1][inside], codes[:-1][inside]
    if measure.definition.needs_relevant and not (pool_gains > 0).any():
        return _return_nan

    def judge_ranking(docs: Codes, grades: Grades) -> float:
        rows = _row_of(docs, judged)
        ranked = StratumRanked(gains[rows], codes[rows], pool_gains, pool_codes, parameters, cutoff, recall)
        return float(formula(ranked))

    return judge_ranking


def _return_nan(docs: Codes, grades: Grades) -> float:
    """Return NaN: no document of the topic has a gain here."""
    return float("nan")


def _row_of(docs: Any, judged: Any) -> Ints:
    """Return the index of each document among those judged, which ascend; their number where it is not among them."""
    if not len(judged):
        return np.zeros(len(docs), dtype=np.int64)
    rows = np.minimum(np.searchsorted(judged, docs), len(judged) - 1)
    return np.where(judged[rows] == docs, rows, len(judged))


_JUDGES: dict[str, Callable[[Collection, Measure, int, Any], Judge]] = {
    "grades": _judge_grades,
    "subtopics": _judge_subtopics,
    "strata": _judge_strata,
}
