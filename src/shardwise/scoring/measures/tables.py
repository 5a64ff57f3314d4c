"""Measures as numbers: the gain of each grade and the discount of each rank, ready for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats, Grades, Ints
from shardwise.core.errors import InputError
from shardwise.scoring.kernels import freeze_array
from shardwise.scoring.measures.definitions import Norm
from shardwise.scoring.measures.names import Measure

OFFSET = 32768  # grades are 16 bits wide
_DEEPEST = 1_000_000  # ranks that are summed up where no ranking has to reach so deep
MOST_GAIN = 1e300  # sums of gains must be numbers too


class MeasureTables(NamedTuple):
    """Everything the kernels need to know about M measures on judgments of L different grades."""

    kernels: Ints  # (M,)
    norms: Ints  # (M,)
    cutoffs: Ints  # (M,): last rank that counts
    needs_relevant: Bools  # (M,)
    numbers: Floats  # (M,): beta, alpha or gamma of the measures that have one
    endless: Floats  # (M,): what one subtopic gives that every document is on; 0 where it does not matter
    gains: Floats  # (M, L): gain of a document of each grade
    orders: Codes  # (M, L): grades from the highest gain to the lowest
    discounts: Floats  # (M, depth + 1): discount of each rank; rank 0 is not used
    level_of: Codes  # (65536,): grade + OFFSET -> number of the grade, -1 for grades nobody gave
    floor: int  # grades below have no gain for any of the measures


def tabulate_measures(measures: Sequence[Measure], grades: Grades, depth: int) -> MeasureTables:
    """Tabulate measures for the grades that occur and for ranks up to a depth."""
    levels = np.unique(grades)
    as_floats = levels.astype(np.float64)
    ranks = np.arange(1, depth + 1, dtype=np.float64)
    gains = np.zeros((len(measures), len(levels)))
    discounts = np.ones((len(measures), depth + 1))
    endless = np.zeros(len(measures))
    for m, measure in enumerate(measures):
        parameters = dict(measure.parameters)
        with np.errstate(over="ignore"):
            gains[m] = measure.definition.gain(as_floats, parameters)
        check_gains(measure, levels, gains[m], measure.definition.limit)
        if measure.definition.discount is not None:
            discounts[m, 1:] = measure.definition.discount(ranks, parameters)
        if measure.definition.norm_for(parameters) is Norm.ENDLESS:
            endless[m] = _sum_endless(measure)
    level_of = np.full(2 * OFFSET, -1, dtype=np.int32)
    level_of[levels.astype(np.int64) + OFFSET] = np.arange(len(levels), dtype=np.int32)
    counting = levels[(gains != 0).any(axis=0)]
    cutoffs = [2**31 - 1 if m.cutoff is None else int(m.cutoff) for m in measures]
    return MeasureTables(
        kernels=freeze_array(np.array([m.definition.kernel for m in measures]), np.int64),
        norms=freeze_array(np.array([m.definition.norm_for(dict(m.parameters)) for m in measures]), np.int64),
        cutoffs=freeze_array(np.array(cutoffs), np.int64),
        needs_relevant=freeze_array(np.array([m.definition.needs_relevant for m in measures]), np.bool_),
        numbers=freeze_array(np.array([_get_number(m) for m in measures]), np.float64),
        endless=freeze_array(endless, np.float64),
        gains=freeze_array(gains, np.float64),
        orders=freeze_array(np.argsort(-gains, axis=1, kind="stable"), np.int32),
        discounts=freeze_array(discounts, np.float64),
        level_of=freeze_array(level_of, np.int32),
        floor=int(counting.min()) if len(counting) else 32767,
    )


def check_gains(measure: Measure, levels: Grades, gains: Floats, limit: str = "") -> None:
    """Refuse judgments whose grades have gains that are no numbers, or above 1 where there is a limit.

    Parameters
    ----------
    measure : Measure
        The measure, for what is said.
    levels : array of int
        Grades that occur.
    gains : array of float
        Gain of each of them.
    limit : str
        How to mend a gain above 1; empty where any gain will do.
    """
    if not len(levels):
        return
    worst = int(levels[np.argmax(gains)])
    if limit and np.any(gains > 1.0):
        raise InputError(f"{measure}: grade {worst} is too high", remedy=limit)
    if not np.all(gains <= MOST_GAIN):
        raise InputError(
            f"{measure}: the gain of grade {worst} is too large for a number",
            remedy="give gains up to it, or linear ones",
        )


def _get_number(measure: Measure) -> float:
    number = measure.definition.number
    return float(dict(measure.parameters)[number]) if isinstance(number, str) else number


def _sum_endless(measure: Measure) -> float:
    """Sum (1 - alpha)^(rank - 1) x discount of the rank, down to the cutoff, or endless for a geometric discount."""
    persistence = dict(measure.parameters).get("beta")
    if persistence is not None and measure.cutoff is None:
        return 1.0 / (1.0 - (1.0 - _get_number(measure)) * float(persistence))
    if measure.cutoff is None or measure.definition.discount is None or measure.cutoff > _DEEPEST:
        raise InputError(f"{measure} reaches too deep", remedy=f"choose a cutoff up to {_DEEPEST}")
    ranks = np.arange(1, measure.cutoff + 1, dtype=np.float64)
    weights = measure.definition.discount(ranks, dict(measure.parameters))
    return float(np.sum(np.power(1.0 - _get_number(measure), ranks - 1.0) * weights))
