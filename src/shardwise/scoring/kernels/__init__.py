"""What every kernel is given: rankings, judgments and the part of the work to do.

A kernel is ``kernel(rankings, judgments, tables, part, out)``; a measure is a row of the tables.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Codes, Floats, Grades, Ints

Cell = TypeVar("Cell", bound=np.generic)


class RankingArrays(NamedTuple):
    """Retrieved documents of all systems and judged documents of all topics, as in a Collection."""

    docs: Codes
    starts: Ints
    grades: Grades
    qrel_docs: Codes
    qrel_starts: Ints


class SubtopicGrades(NamedTuple):
    """Judgments by subtopic, as in `shardwise.io.collection.Subtopics`, grades by their number in the tables."""

    starts: Ints
    weights: Floats
    edges: Ints
    codes: Codes
    levels: Codes


class StratumGrades(NamedTuple):
    """Judgments by stratum of the pool, grades by their number in the tables."""

    levels: Codes
    strata: Codes
    n_strata: int


class TopicRange(NamedTuple):
    """Some topics of one split: what a kernel scores in one call."""

    shards: Grades  # (split, document): shard of each document; no columns: one shard, the whole
    n_shards: int
    n_docs: int
    split: int
    first: int
    end: int  # topic behind the last


def freeze_array(array: npt.NDArray[Any], dtype: type[Cell]) -> npt.NDArray[Cell]:
    """Return the array in one piece, of this type, as a view that may only be read.

    >>> freeze_array(np.zeros(3), np.int32).flags.writeable
    False
    """
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view
