"""Measures by what they ask of the judgments, each family with the kernel or the formulas that score it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats, Grades
from shardwise.core.errors import InputError, Option, Words
from shardwise.io.collection import Collection
from shardwise.scoring.formulas.family import FormulaFamily
from shardwise.scoring.kernels.arguments import (
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

_REMEDIES: dict[str, Words] = {
    "subtopics": ("read them with ", Option("subtopics", True), " if their second column is a subtopic"),
    "strata": "read qrels of five columns (topic, iteration, document, stratum, grade), or use infAP",
}


Judgments = Grades | SubtopicGrades | StratumGrades
Maker = Callable[[Collection, Sequence[Measure]], tuple[Any, Judgments, MeasureTables]]


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
    condensed = remove_unjudged(collection) if any(judged for _, _, judged in kinds) else collection
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
            kernel, judgments, made = _MAKERS[kind](served, chosen)
            ready.append(KernelFamily(tuple(places), kernel, _freeze_rankings(served), judgments, made))
    return ready


def _freeze_rankings(collection: Collection) -> RankingArrays:
    return RankingArrays(
        docs=freeze_array(collection.docs, np.int32),
        starts=freeze_array(collection.starts, np.int64),
        grades=freeze_array(collection.grades, np.int16),
        qrel_docs=freeze_array(collection.qrel_docs, np.int32),
        qrel_starts=freeze_array(collection.qrel_starts, np.int64),
    )


def remove_unjudged(collection: Collection) -> Collection:
    """Take documents without a judgment out of rankings; grades below 0 are none, as in trec_eval's ``-J``.

    Parameters
    ----------
    collection : Collection
        Runs and judgments.

    Returns
    -------
    Collection
        The same with shorter rankings.
    """
    judged = collection.grades >= 0
    before = np.concatenate([[0], np.cumsum(judged)])
    return replace(
        collection,
        docs=collection.docs[judged],
        grades=collection.grades[judged],
        starts=before[collection.starts].astype(np.int64),
    )


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


def _on_grades(collection: Collection, measures: Sequence[Measure]) -> tuple[Any, Grades, MeasureTables]:
    made = tabulate_measures(measures, collection.qrel_grades, _find_depth(collection))
    return score_topics, freeze_array(collection.qrel_grades, np.int16), made


def _on_subtopics(
    collection: Collection, measures: Sequence[Measure]
) -> tuple[Any, SubtopicGrades, MeasureTables]:
    by = collection.subtopics
    assert by is not None, "make_families refuses collections without subtopics"
    made = tabulate_measures(measures, by.grades, _find_depth(collection))
    judgments = SubtopicGrades(
        starts=freeze_array(by.starts, np.int64),
        weights=freeze_array(by.weights, np.float64),
        edges=freeze_array(by.edges, np.int64),
        codes=freeze_array(by.codes, np.int32),
        levels=_number_levels(made, by.grades),
    )
    return score_subtopics, judgments, made


def _on_strata(
    collection: Collection, measures: Sequence[Measure]
) -> tuple[Any, StratumGrades, MeasureTables]:
    strata = collection.strata
    assert strata is not None, "make_families refuses collections without strata"
    # estimated numbers of documents are rounded, grade by grade, and may so exceed the pool a little
    depth = _find_depth(collection) + len(np.unique(collection.qrel_grades))
    made = tabulate_measures(measures, collection.qrel_grades, depth)
    codes = freeze_array(strata.codes, np.int32)
    return (
        score_strata,
        StratumGrades(_number_levels(made, collection.qrel_grades), codes, len(strata.names)),
        made,
    )


_MAKERS: dict[str, Maker] = {"grades": _on_grades, "subtopics": _on_subtopics, "strata": _on_strata}


def _number_levels(made: MeasureTables, grades: Grades) -> Codes:
    """Return the number of each grade in the tables."""
    return freeze_array(made.level_of[grades.astype(np.int64) + OFFSET], np.int32)


def _find_depth(collection: Collection) -> int:
    """Return the deepest rank that any ranking, retrieved or ideal, can reach."""
    lengths = np.diff(collection.starts), np.diff(collection.qrel_starts)
    return int(max((length.max() for length in lengths if len(length)), default=0))
