"""What numbers say of a table: rows and columns that sum up others, columns of another kind than the scores.

Pure functions of arrays. None of these signs drops anything by itself: `readings` asks for a second one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from shardwise.core.arrays import Floats

MANY_VALUES = 10  # different cells from which numbers alone may say something
NEARLY_ALL = 0.8  # share of columns, or rows, in which a statistic has to agree
FAR = 10.0  # how many times above the others a column is of another scale
PAIRED = 20  # columns up to which differences of two are looked for
LOOSE = frozenset({"max", "min", "median", "count"})
"""Statistics that an ordinary row may equal by chance: an easy topic is the best everywhere."""


def decimals_of(value: float) -> int:
    """Return how many decimals a number is written with.

    >>> decimals_of(0.5963), decimals_of(12.0), decimals_of(1e-7)
    (4, 0, 7)
    """
    return len(np.format_float_positional(value, trim="-").partition(".")[2])


def statistics_of(values: Floats) -> dict[str, Floats]:
    """Return mean, sum, deviation and order statistics along the first axis, gaps left out.

    Parameters
    ----------
    values
        Rows by columns.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        count = np.isfinite(values).sum(axis=0).astype(float)
        spread = np.nanstd(values, axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan)
        statistics = {
            "mean": np.nanmean(values, axis=0),
            "sum": np.nansum(values, axis=0),
            "standard deviation": spread,
            "deviation": np.nanstd(values, axis=0),
            "standard error": spread / np.sqrt(count),
            "variance": spread**2,
            "max": np.nanmax(values, axis=0),
            "min": np.nanmin(values, axis=0),
            "median": np.nanmedian(values, axis=0),
            "count": count,
        }
        if (values[np.isfinite(values)] > 0).all():
            statistics["geometric mean"] = np.exp(np.nanmean(np.log(values), axis=0))
    return statistics


def _find_equal(shown: Floats, among: Floats, exact: Iterable[tuple[str, Floats]]) -> str:
    """Return the first of some exact numbers that shown ones are, rounded, nearly everywhere; nothing without any.

    The most exact of the shown numbers says to how many decimals all are rounded. A rounding that is coarse beside how
    far the numbers among which they stand lie apart says nothing.
    """
    filled = np.isfinite(shown)
    step = 10.0 ** -max(decimals_of(float(value)) for value in shown[filled])
    finite = among[np.isfinite(among)]
    # numbers so large that their range is infinite are refused later, as scores
    with np.errstate(over="ignore"):
        coarse = step > 0.1 * (float(np.ptp(finite)) if len(finite) else 0.0)
    tolerance = 0.0 if coarse else 0.6 * step
    for name, values in exact:
        gaps = np.abs(shown[filled] - values[filled])
        if np.mean(gaps <= tolerance + 1e-9 * np.abs(values[filled])) >= NEARLY_ALL:
            return name
    return ""


def find_statistic(row: Floats, rows: Floats) -> str:
    """Return which statistic of other rows a row is, in nearly all columns; nothing where it is none.

    >>> find_statistic(np.array([0.5, 0.25]), np.array([[0.25, 0.0], [0.75, 0.5]]))
    'mean'
    """
    if not np.isfinite(row).any() or not len(rows):
        return ""
    return _find_equal(row, rows, statistics_of(rows).items())


def find_derivation(column: Floats, others: Mapping[str, Floats]) -> str:
    """Return what a column is of the others, in nearly all rows: their mean, max, difference …; or nothing.

    >>> find_derivation(np.array([0.5, 0.25]), {"a": np.array([0.0, 0.5]), "b": np.array([1.0, 0.0])})
    'mean of the others'
    """
    table = np.column_stack(list(others.values()))
    if np.isfinite(column).sum() < 2:
        return ""
    exact = {}
    if table.shape[1] > 1:
        exact = {f"{name} of the others": v for name, v in statistics_of(table.T).items() if name != "count"}
    pairs = combinations(others, 2) if len(others) <= PAIRED else ()
    gaps = ((f"difference of {a} and {b}", others[a] - others[b]) for a, b in pairs)
    both = ((name, sign * gap) for name, gap in gaps for sign in (1.0, -1.0))
    with np.errstate(over="ignore"):
        return _find_equal(column, table, [*exact.items(), *both])


def is_of_another_scale(column: Floats, others: Sequence[Floats]) -> bool:
    """Tell whether a column is far above the range that the others share.

    Systems of very different level are ordinary, and so are systems that never succeed: where all scores lie within 0
    and 1, or the others are 0 throughout, their levels say nothing.
    """
    finite = column[np.isfinite(column)]
    rest = np.concatenate([other[np.isfinite(other)] for other in others]) if len(others) else np.zeros(0)
    if not len(finite) or not len(rest):
        return False
    top = float(np.abs(rest).max())
    every = np.concatenate([finite, rest])
    if top == 0.0 or (every.min() >= 0.0 and every.max() <= 1.0):
        return False
    return bool(np.median(np.abs(finite)) >= FAR * top)


def is_telling_statistic(column: Floats, others: Sequence[Floats]) -> bool:
    """Tell whether that a column equals a statistic of the others says something.

    It does not where columns are copies of each other, nor where the column has few different values: a system that is
    mostly right equals the best of many in nearly every row.
    """
    copies = any(np.array_equal(column, other, equal_nan=True) for other in others)
    return not copies and has_many_values(column)


def is_of_another_kind(column: Floats, others: Sequence[Floats], *, larger: bool = True) -> bool:
    """Tell whether a column has whole numbers where all others that vary have fractions.

    Parameters
    ----------
    column
        Numbers.
    others
        Numbers of other columns.
    larger
        Whether it has to leave their range; else it is enough that it leaves 0 to 1.
    """
    finite = column[np.isfinite(column)]
    rest = [other[np.isfinite(other)] for other in others]
    rest = rest if larger else [other for other in rest if len(np.unique(other)) > 1]
    if not len(finite) or not is_whole(finite) or not rest:
        return False
    top = max(float(np.abs(other).max(initial=0.0)) for other in rest)
    top = top if larger else min(top, 1.0)
    return not any(map(is_whole, rest)) and float(np.abs(finite).max()) > top


def is_whole(column: Floats) -> bool:
    """Tell whether all numbers are whole."""
    finite = column[np.isfinite(column)]
    return bool(np.array_equal(finite, np.round(finite)))


def is_year(column: Floats) -> bool:
    """Tell whether all numbers are years of our time."""
    finite = column[np.isfinite(column)]
    return bool(len(finite) and is_whole(finite) and finite.min() >= 1900 and finite.max() <= 2100)


def has_many_values(values: Floats) -> bool:
    """Tell whether numbers differ so much that they alone may say something."""
    return len(np.unique(values[np.isfinite(values)])) >= MANY_VALUES
