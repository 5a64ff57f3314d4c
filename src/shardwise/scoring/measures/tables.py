"""Measures as numbers: what each grade is worth and each rank counts, ready for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shardwise.core.arrays import Bools, Codes, Floats, Grades, Ints
from shardwise.core.errors import InputError
from shardwise.scoring.measures.definitions import Norm
from shardwise.scoring.measures.names import Measure

_OFFSET = 32768  # grades are 16 bits wide
_DEEPEST = 1_000_000  # ranks that are summed up where no ranking has to reach so deep


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Everything the kernels need to know about M measures on judgments of L different grades."""

    kernels: Ints  # (M,)
    norms: Ints  # (M,)
    cutoffs: Ints  # (M,): last rank that counts
    needs_relevant: Bools  # (M,)
    numbers: Floats  # (M,): beta, alpha or gamma of the measures that have one
    endless: Floats  # (M,): what one subtopic gives that every document is on; 0 where it does not matter
    values: Floats  # (M, L): what a document of each grade is worth
    orders: Codes  # (M, L): grades from the most to the least worth
    discounts: Floats  # (M, depth + 1): weight of each rank; rank 0 is not used
    level_of: Codes  # (65536,): grade + 32768 -> number of the grade, -1 for grades nobody gave
    floor: int  # grades below are worth nothing to any of the measures


def tables(measures: Sequence[Measure], grades: Grades, depth: int) -> Tables:
    """Tabulate measures for the grades that occur and for ranks up to a depth."""
    levels = np.unique(grades)
    as_floats = levels.astype(np.float64)
    ranks = np.arange(1, depth + 1, dtype=np.float64)
    values = np.zeros((len(measures), len(levels)))
    discounts = np.ones((len(measures), depth + 1))
    endless = np.zeros(len(measures))
    for m, measure in enumerate(measures):
        parameters = dict(measure.parameters)
        values[m] = measure.definition.values(as_floats, parameters)
        if measure.definition.limit and np.any(values[m] > 1.0):
            worst = int(levels[np.argmax(values[m])])
            raise InputError(f"{measure}: grade {worst} is too high", remedy=measure.definition.limit)
        if measure.definition.discount is not None:
            discounts[m, 1:] = measure.definition.discount(ranks, parameters)
        if measure.definition.norm_for(parameters) is Norm.ENDLESS:
            endless[m] = _endless(measure)
    level_of = np.full(2 * _OFFSET, -1, dtype=np.int32)
    level_of[levels.astype(np.int64) + _OFFSET] = np.arange(len(levels), dtype=np.int32)
    worth = levels[(values != 0).any(axis=0)]
    return Tables(
        kernels=np.array([m.definition.kernel for m in measures], dtype=np.int64),
        norms=np.array([m.definition.norm_for(dict(m.parameters)) for m in measures], dtype=np.int64),
        cutoffs=np.array([2**31 - 1 if m.cutoff is None else m.cutoff for m in measures], dtype=np.int64),
        needs_relevant=np.array([m.definition.needs_relevant for m in measures], dtype=np.bool_),
        numbers=np.array([_number(m) for m in measures]),
        endless=endless,
        values=values,
        orders=np.argsort(-values, axis=1, kind="stable").astype(np.int32),
        discounts=discounts,
        level_of=level_of,
        floor=int(worth.min()) if len(worth) else 32767,
    )


def _number(measure: Measure) -> float:
    number = measure.definition.number
    return float(dict(measure.parameters)[number]) if isinstance(number, str) else number


def _endless(measure: Measure) -> float:
    """Sum of (1 - alpha)^(rank - 1) x weight of the rank, down to the cutoff."""
    if measure.cutoff is None or measure.definition.discount is None or measure.cutoff > _DEEPEST:
        raise InputError(f"{measure} reaches too deep", remedy=f"choose a cutoff up to {_DEEPEST}")
    ranks = np.arange(1, measure.cutoff + 1, dtype=np.float64)
    weights = measure.definition.discount(ranks, dict(measure.parameters))
    return float(np.sum(np.power(1.0 - _number(measure), ranks - 1.0) * weights))
