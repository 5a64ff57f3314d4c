"""What a formula is given: one ranking in one shard, and the judgments of its topic there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats, Grades

Parameters = Mapping[str, Any]


class Ranked(NamedTuple):
    """One ranking and the judgments of its topic.

    ``cutoff`` is the last rank that counts, None where all do; ``recall`` is the level of recall that stands behind
    ``@`` in the name of a measure that is taken there.
    """

    grades: Grades  # of each retrieved document, best first; UNJUDGED where nobody judged
    gains: Floats  # of each of them; 0 where nobody judged
    pool: Grades  # of every judged document, in no order
    pool_gains: Floats  # of every judged document
    parameters: Parameters
    cutoff: int | None
    recall: float

    @property
    def judged(self) -> Bools:
        """Whether each retrieved document has a grade of 0 or more."""
        return np.asarray(self.grades >= 0)

    @property
    def n_relevant(self) -> int:
        """Number of judged documents with a gain."""
        return int(np.count_nonzero(self.pool_gains > 0))

    def ideal_gains(self) -> Floats:
        """Gains above 0 of all judged documents, best first."""
        return -np.sort(-self.pool_gains[self.pool_gains > 0])


class SubtopicRanked(NamedTuple):
    """One ranking and the judgments of its topic by subtopic."""

    gains: Floats  # (document, subtopic), best document first; 0 where nobody judged
    pool_gains: Floats  # (judged document, subtopic)
    weights: Floats  # probability of each subtopic, up to a factor
    parameters: Parameters
    cutoff: int | None
    recall: float


class StratumRanked(NamedTuple):
    """One ranking and the judgments of its topic by stratum of the pool; gain -1: not relevant, -2: not sampled."""

    gains: Floats  # of each retrieved document, best first; NaN outside the pool
    strata: Codes  # of each retrieved document; -1 outside the pool
    pool_gains: Floats
    pool_strata: Codes
    parameters: Parameters
    cutoff: int | None
    recall: float
