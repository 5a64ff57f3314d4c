"""Define what a method says of pairs of systems: the only thing between a method and a result.

All arrays may have leading axes, one entry a table of scores: the laboratory compares thousands of tables at once, and
the comparison of one table is a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats
from shardwise.stats import student
from shardwise.stats.evidence import least_two_sided

JOINT = ""
"""The correction of tests whose joint distribution of all pairs corrects them by construction."""


@dataclass(frozen=True, eq=False)
class JointDraws:
    """Joint distribution of all pairs that were asked for, found when it is first looked at.

    ``adjust`` returns (…, P) corrected p-values, ``half_width`` (…, P) half-widths of simultaneous intervals at level
    1 - alpha, ``single`` (…, P) p-values of single pairs from the same resamples, where there are such.
    """

    adjust: Callable[[], Floats]
    half_width: Callable[[float], Floats]
    single: Callable[[], Floats] | None = None

    @cached_property
    def p_adjusted(self) -> Floats:
        """(…, P) p-values corrected by the joint distribution."""
        return self.adjust()

    @cached_property
    def p(self) -> Floats | None:
        """(…, P) p-values of single pairs, None where the joint distribution has none of its own."""
        return None if self.single is None else self.single()


class ResampledUnits(NamedTuple):
    """What the joint distribution of pairs is resampled from, so that other statements can use the same resamples."""

    # (T, R) scores of topics, or of the clusters and tasks that stand for them
    scores: Floats
    key: np.uint64
    n_resamples: int
    # how much larger a t has to be because units count unequally
    care: float


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Hold what a test says of pairs of systems, arrays (…, P) each; NaN where it has no such figure."""

    difference: Floats  # of the first system of a pair less the second
    se: Floats
    df: Floats
    statistic: Floats
    p: Floats  # each pair by itself
    draws: JointDraws | None = None  # of tests that are corrected by construction
    limits: Callable[[Floats], tuple[Floats, Floats]] | None = (
        None  # intervals at 1 - level, if not Student's
    )
    units: Floats | None = None  # items behind each difference; of the systems' own scores without it
    resampled: ResampledUnits | None = None  # of a single complete table whose units alone are resampled
    floor: Floats | None = None  # p-values that these and corrected ones may not be below, if there are such
    words: str = ""  # how the resamples were drawn, where some were

    @property
    def least_p(self) -> Floats:
        """Smallest p-values that pairs can have: those of sign flips where differences do not vary, or the floor."""
        alike = (self.se == 0.0) & (self.difference != 0.0)
        flips = np.where(alike, 0.0 if self.units is None else least_two_sided(self.units), 0.0)
        return flips if self.floor is None else np.maximum(flips, self.floor)


def student_pairs(difference: Floats, se: Floats, df: Floats, draws: JointDraws | None = None) -> Pairs:
    """Return pairs tested by Student's t, with the joint distribution of all where there is one."""
    t = student.t_statistic(difference, se)
    return Pairs(difference, se, df, t, student.two_sided(t, df), draws)


def ranked_pairs(
    difference: Floats,
    statistic: Floats,
    p: Floats,
    se: Floats | None = None,
    draws: JointDraws | None = None,
) -> Pairs:
    """Return pairs tested by p-values of their own, without degrees of freedom."""
    nothing = np.full(p.shape, np.nan)
    return Pairs(difference, nothing if se is None else se, nothing, statistic, p, draws)
