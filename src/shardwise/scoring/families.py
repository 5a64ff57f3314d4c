"""Measures by what they ask of the judgments, each family with the kernel or the formulas that score it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats, Grades, Ints
from shardwise.core.errors import InputError, Option, Words
from shardwise.io.collection import Collection
from shardwise.scoring.formulas import Ranked, StratumRanked, SubtopicRanked
from shardwise.scoring.kernels import (
    RankingArrays,
    StratumGrades,
    SubtopicGrades,
    TopicRange,
    freeze_array,
)
from shardwise.scoring.kernels.ranked import score_topics
from shardwise.scoring.kernels.strata import score_strata
from shardwise.scoring.kernels.subtopics import score_subtopics
from shardwise.scoring.measures.names import Measure
from shardwise.scoring.measures.tables import OFFSET, MeasureTables, check_gains, tabulate_measures

Judge = Callable[[Codes, Grades], float]
Ranker = Callable[..., Any]


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
                [_judge_topic(collection, measure, t, pool) for pool in pools] for measure in self.measures
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
        table = measure.definition.gain(np.arange(-OFFSET, OFFSET, dtype=np.float64), parameters)
    table[0] = 0.0
    return table


def _look_up(table: Floats, grades: Grades) -> Floats:
    return np.asarray(table[grades.astype(np.int64) + OFFSET])


def _judge_topic(collection: Collection, measure: Measure, t: int, inside: Any) -> Judge:
    """Return the function that scores rankings of a topic; what depends on the judgments alone is found once."""
    parameters = dict(measure.parameters)
    formula: Any = measure.definition.formula_for(parameters)
    recall = measure.definition.cutoff == "recall"
    cutoff = None if recall or measure.cutoff is None else int(measure.cutoff)
    level = float(measure.cutoff or 0.0) if recall else 0.0
    pool_gains, rank = _RANKERS[measure.definition.needs](collection, gain_table(measure), t, inside)
    if measure.definition.needs_relevant and not (pool_gains > 0).any():
        # no document of the topic has a gain here
        return lambda docs, grades: float("nan")
    return lambda docs, grades: float(formula(rank(docs, grades, parameters, cutoff, level)))


def _rank_grades(collection: Collection, table: Floats, t: int, inside: Any) -> tuple[Floats, Ranker]:
    """Gains of the judged documents, and what makes a ranking ready for a formula."""
    pool = collection.qrel_grades[collection.qrel_starts[t] : collection.qrel_starts[t + 1]][inside]
    gains = _look_up(table, pool)
    return gains, lambda docs, grades, *scope: Ranked(grades, _look_up(table, grades), pool, gains, *scope)


def _rank_subtopics(collection: Collection, table: Floats, t: int, inside: Any) -> tuple[Floats, Ranker]:
    """The same for judgments by subtopic."""
    by = collection.subtopics
    assert by is not None, "refused where there are none"
    first, last = collection.qrel_starts[t], collection.qrel_starts[t + 1]
    judged = collection.qrel_docs[first:last]
    weights = by.weights[by.starts[t] : by.starts[t + 1]]
    # one row more, without gain, for documents that nobody judged
    rows = np.zeros((len(judged) + 1, len(weights)))
    row_of = np.repeat(np.arange(len(judged)), np.diff(by.edges[first : last + 1]))
    cells = slice(by.edges[first], by.edges[last])
    rows[row_of, by.codes[cells]] = _look_up(table, by.grades[cells])
    pool = rows[:-1][inside]
    return pool, lambda docs, _, *scope: SubtopicRanked(rows[_row_of(docs, judged)], pool, weights, *scope)


def _rank_strata(collection: Collection, table: Floats, t: int, inside: Any) -> tuple[Floats, Ranker]:
    """The same for judgments by stratum of the pool."""
    strata = collection.strata
    assert strata is not None, "refused where there are none"
    first, last = collection.qrel_starts[t], collection.qrel_starts[t + 1]
    judged = collection.qrel_docs[first:last]
    gains = np.append(_look_up(table, collection.qrel_grades[first:last]), np.nan)
    codes = np.append(strata.codes[first:last], -1)
    pool = gains[:-1][inside], codes[:-1][inside]

    def rank(docs: Codes, _: Grades, *scope: Any) -> StratumRanked:
        rows = _row_of(docs, judged)
        return StratumRanked(gains[rows], codes[rows], *pool, *scope)

    return pool[0], rank


def _row_of(docs: Any, judged: Any) -> Ints:
    """Return the index of each document among those judged, which ascend; their number where it is not among them."""
    if not len(judged):
        return np.zeros(len(docs), dtype=np.int64)
    rows = np.minimum(np.searchsorted(judged, docs), len(judged) - 1)
    return np.where(judged[rows] == docs, rows, len(judged))


_RANKERS: dict[str, Callable[[Collection, Floats, int, Any], tuple[Floats, Ranker]]] = {
    "grades": _rank_grades,
    "subtopics": _rank_subtopics,
    "strata": _rank_strata,
}


_REMEDIES: dict[str, Words] = {
    "subtopics": ("read them with ", Option("subtopics", True), " if their second column is a subtopic"),
    "strata": "read qrels of five columns (topic, iteration, document, stratum, grade), or use infAP",
}


Judgments = Grades | SubtopicGrades | StratumGrades


@dataclass(frozen=True, slots=True, eq=False)
class KernelFamily:
    """Measures of one kind, where they stand among those asked for, and how they are computed."""

    places: tuple[int, ...]
    kernel: Callable[..., int]
    rankings: RankingArrays
    judgments: Judgments
    tables: MeasureTables

    def score(self, part: TopicRange, out: Floats) -> int:
        """Score a part of the work into ``out``; return -1, or the ranking whose grades do not fit."""
        return int(self.kernel(self.rankings, self.judgments, self.tables, part, out))


def make_families(collection: Collection, measures: Sequence[Measure]) -> list[KernelFamily | FormulaFamily]:
    """Sort the measures by kind and make each kind ready; refuse those that the judgments cannot serve.

    Parameters
    ----------
    collection : Collection
        Runs and judgments.
    measures : sequence of Measure
        All measures asked for.

    Returns
    -------
    list of Family or FormulaFamily
        Each measure is in one of them.
    """
    removed = collection.conventions.unjudged == "removed"
    kinds: dict[tuple[str, bool, bool], list[int]] = {}
    for m, measure in enumerate(measures):
        needs = measure.definition.needs
        if needs != "grades" and getattr(collection, needs) is None:
            raise InputError(f"{measure} needs judgments with {needs}", remedy=_REMEDIES[needs])
        formula = measure.definition.formula_for(dict(measure.parameters)) is not None
        kinds.setdefault((needs, formula, removed or measure.judged_only), []).append(m)
    condensed = collection
    if any(judged for _, _, judged in kinds):
        # documents without a judgment are taken out; grades below 0 are none, as in trec_eval's -J
        known = collection.grades >= 0
        starts = np.concatenate([[0], np.cumsum(known)])[collection.starts].astype(np.int64)
        condensed = replace(
            collection, docs=collection.docs[known], grades=collection.grades[known], starts=starts
        )
    ready: list[KernelFamily | FormulaFamily] = []
    for (kind, formula, judged_only), places in kinds.items():
        served = condensed if judged_only else collection
        chosen = [measures[m] for m in places]
        if formula:
            levels = np.unique(served.qrel_grades)
            for measure in chosen:
                gains = measure.definition.gain(levels.astype(np.float64), dict(measure.parameters))
                check_gains(measure, levels, gains)
            ready.append(FormulaFamily(tuple(places), tuple(chosen), served))
        else:
            kernel, judgments, made = _make_kernel(kind, served, chosen)
            rankings = RankingArrays(
                docs=freeze_array(served.docs, np.int32),
                starts=freeze_array(served.starts, np.int64),
                grades=freeze_array(served.grades, np.int16),
                qrel_docs=freeze_array(served.qrel_docs, np.int32),
                qrel_starts=freeze_array(served.qrel_starts, np.int64),
            )
            ready.append(KernelFamily(tuple(places), kernel, rankings, judgments, made))
    return ready


def find_barren_topics(collection: Collection, measures: Sequence[Measure]) -> Bools:
    """(measure, topic): whether no document of the topic has a gain for the measure in the whole collection."""
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
        gaining = (measure.definition.gain(levels, dict(measure.parameters))[level_of] > 0) & (weights > 0)
        barren[m] = np.bincount(topics[gaining], minlength=n_topics) == 0
    return barren


def _make_kernel(
    kind: str, collection: Collection, measures: Sequence[Measure]
) -> tuple[Callable[..., int], Judgments, MeasureTables]:
    """Return the kernel of a kind of judgments, these judgments as it takes them, and the measures as numbers."""
    # the deepest rank that any ranking, retrieved or ideal, can reach
    lengths = np.diff(collection.starts), np.diff(collection.qrel_starts)
    depth = int(max((length.max() for length in lengths if len(length)), default=0))
    grades = collection.qrel_grades
    by, strata = collection.subtopics, collection.strata
    if kind == "subtopics" and by is not None:
        made = tabulate_measures(measures, by.grades, depth)
        judged = SubtopicGrades(
            starts=freeze_array(by.starts, np.int64),
            weights=freeze_array(by.weights, np.float64),
            edges=freeze_array(by.edges, np.int64),
            codes=freeze_array(by.codes, np.int32),
            levels=freeze_array(made.level_of[by.grades.astype(np.int64) + OFFSET], np.int32),
        )
        return score_subtopics, judged, made
    if kind == "strata" and strata is not None:
        # estimated numbers of documents are rounded, grade by grade, and may so exceed the pool a little
        made = tabulate_measures(measures, grades, depth + len(np.unique(grades)))
        levels = freeze_array(made.level_of[grades.astype(np.int64) + OFFSET], np.int32)
        codes = freeze_array(strata.codes, np.int32)
        return score_strata, StratumGrades(levels, codes, len(strata.names)), made
    return score_topics, freeze_array(grades, np.int16), tabulate_measures(measures, grades, depth)
