"""Confidence intervals of means and differences that use the range of the scores."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.methods.bounded import BoundedScores
from shardwise.stats import intervals, student
from shardwise.stats.intervals import SPARSE, PairMoments, Precision

SAME = 1e-6
"""Means that differ by less than this share of the range are the same."""


def bound_means(
    bounded: BoundedScores, means: Floats, se: Floats, df: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Compute confidence limits of single means within the range of the scores.

    Parameters
    ----------
    bounded : BoundedScores
        The scores of the items, systems in the order of the means.
    means, se, df : array
        (R,) means, their standard errors and degrees of freedom for the claim.
    alpha : float
        One less the level.

    Returns
    -------
    tuple of arrays
        (R,) limits; Student's where a mean is that of a model rather than of the system's own items.

    >>> scores = BoundedScores(np.ones((20, 1)), intervals.Range())
    >>> [float(x[0].round(3)) for x in bound_means(scores, np.ones(1), np.zeros(1), np.full(1, 19.0), 0.05)]
    [0.82, 1.0]
    """
    moments, width = bounded.sum_systems(), bounded.bounds.width
    critical = student.student_critical(alpha, df)
    items = bounded.count_systems()
    lower, upper = intervals.mean_limits(moments, critical, items=items)
    # what shards and seeds add to the variance of the items
    more = critical**2 * np.maximum((se / width) ** 2 - moments.variance / items, 0.0)
    mean = moments.mean
    lower = np.maximum(mean - np.sqrt((mean - lower) ** 2 + more), 0.0)
    upper = np.minimum(mean + np.sqrt((upper - mean) ** 2 + more), 1.0)
    lower, upper = bounded.bounds.restore_means(lower, upper)
    agrees = np.abs(_restore_means(bounded, moments.mean) - means) <= SAME * width
    return np.where(agrees, lower, means - critical * se), np.where(agrees, upper, means + critical * se)


def _restore_means(bounded: BoundedScores, means: Floats) -> Floats:
    return bounded.bounds.restore_means(means, means)[0]


def measure_pairs(
    bounded: BoundedScores, ia: Ints, ib: Ints, se: Floats, df: Floats
) -> tuple[PairMoments, Precision]:
    """Sum up the scores of pairs, with the precision of the test that was run.

    Parameters
    ----------
    bounded : BoundedScores
        The scores of the items.
    ia, ib : array of int
        (P,) first and second system of each pair.
    se, df : array
        (P,) standard errors and degrees of freedom of the differences.

    Returns
    -------
    tuple of PairMoments and Precision
        In units of the range.
    """
    moments = bounded.sum_pairs(ia, ib)
    variance = (np.asarray(se, np.float64) / bounded.bounds.width) ** 2
    return moments, Precision(variance, np.asarray(df, np.float64), bounded.count_pairs(ia, ib, moments))


def agree_with(bounded: BoundedScores, moments: PairMoments, difference: Floats) -> Bools:
    """Return which differences are those of the items' means, rather than of a model.

    Parameters
    ----------
    bounded : BoundedScores
        The scores of the items.
    moments : PairMoments
        Sums of the pairs.
    difference : array
        (P,) differences of the original scores.

    Returns
    -------
    array of bool
        One entry a pair.
    """
    restored = bounded.bounds.restore_differences(moments.mean, moments.mean)[0]
    return np.asarray(np.abs(restored - difference) <= SAME * bounded.bounds.width)


def bound_differences(
    bounded: BoundedScores,
    ia: Ints,
    ib: Ints,
    difference: Floats,
    se: Floats,
    df: Floats,
    half: Floats,
    significant: Bools,
    alpha: float,
) -> tuple[Floats, Floats]:
    """Compute confidence limits of differences: d ± half, or score limits where differences are sparse.

    Parameters
    ----------
    bounded : BoundedScores
        The scores of the items, systems in the order of the pairs' numbers.
    ia, ib : array of int
        (P,) first and second system of each pair.
    difference, se, df, half : array
        (P,) differences, standard errors, degrees of freedom and half-widths by the test that was run.
    significant : array of bool
        (P,) whether the test found a difference: its interval does not cross 0.
    alpha : float
        One less the level.

    Returns
    -------
    tuple of arrays
        (P,) limits.
    """
    plain = difference - half, difference + half
    usable = np.isfinite(se) & np.isfinite(df) & np.isfinite(half)
    if not usable.any() or bounded.measure_sparseness(ia, ib) >= SPARSE:
        return plain
    moments, precision = measure_pairs(bounded, ia, ib, se, df)
    usable &= agree_with(bounded, moments, difference)
    # the critical value of the test, at least Student's for the pair alone
    varying = usable & (se > 0.0)
    ratios = half[varying] / se[varying]
    typical = float(np.median(ratios)) if ratios.size else 0.0
    critical = np.divide(half, se, out=np.full(half.shape, typical), where=varying)
    least = student.student_critical(alpha, np.clip(np.minimum(df, moments.items - 1.0), 1.0, None))
    critical = np.where(usable, np.maximum(critical, least), 1.0)
    limits = intervals.difference_limits(moments, critical, precision)
    lower, upper = bounded.bounds.restore_differences(*limits)
    lower = np.where(significant & (difference > 0.0), np.maximum(lower, 0.0), lower)
    upper = np.where(significant & (difference < 0.0), np.minimum(upper, 0.0), upper)
    return np.where(usable, lower, plain[0]), np.where(usable, upper, plain[1])
