"""Gather what is known of means and differences for `Certainty`, and limit differences as their test does."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.methods.bounded import BoundedScores
from shardwise.stats import student
from shardwise.stats.evidence import Certainty, follow_test
from shardwise.stats.intervals import SPARSE


def weigh_means(bounded: BoundedScores | None, means: Floats, se: Floats, df: Floats) -> Certainty:
    """Return the evidence on (R,) means with their standard errors and degrees of freedom for the claim."""
    if bounded is None:
        return Certainty(means, se, df, np.asarray(df) + 1.0)
    items = bounded.count_systems()
    return Certainty(means, se, df, items, bounded.sum_systems(), items, bounded.bounds)


def weigh_pairs(
    bounded: BoundedScores | None,
    ia: Ints,
    ib: Ints,
    difference: Floats,
    se: Floats,
    df: Floats,
    units: Floats | None = None,
    sign: int = 1,
) -> Certainty:
    """Return the evidence on (P,) differences of the first less the second system, by the test that was run."""
    if bounded is None or bounded.unpaired:
        items = np.full(len(ia), np.inf) if units is None else units
        return Certainty(difference, se, df, items, sign=sign)
    moments = bounded.sum_pairs(ia, ib)
    items = bounded.count_pairs(ia, ib, moments)
    units = items if units is None else units
    return Certainty(difference, se, df, units, moments, items, bounded.bounds, sign)


def limit_differences(
    bounded: BoundedScores | None,
    pairs: tuple[Ints, Ints],
    evidence: tuple[Floats, Floats, Floats],
    plain: tuple[Floats, Floats],
    significant: Bools,
    alpha: float,
) -> tuple[Floats, Floats]:
    """Compute confidence limits of differences: those of the test, or score limits where differences are sparse.

    Parameters
    ----------
    bounded : BoundedScores or None
        The scores of the items, systems in the order of the pairs' numbers.
    pairs : tuple of arrays
        (P,) first and second system of each pair.
    evidence : tuple of arrays
        (P,) differences, standard errors and degrees of freedom by the test that was run.
    plain : tuple of arrays
        (P,) limits by that test.
    significant : array of bool
        (P,) whether the test found a difference: its interval does not cross 0, and the others hold 0.
    alpha : float
        One less the level.

    Returns
    -------
    tuple of arrays
        (P,) limits, NaN where they are not estimable.
    """
    difference, se, df = evidence
    half = (plain[1] - plain[0]) / 2.0
    usable = np.isfinite(se) & np.isfinite(half)
    ia, ib = pairs
    if bounded is not None and bounded.unpaired:
        bounded = None
    sparse = (
        bounded is not None
        and bool(usable.any())
        and bounded.measure_sparseness(ia[usable], ib[usable]) < SPARSE
    )
    # where nothing varies, a range is all that gives an interval a width
    wanted = usable & ((se == 0.0) | (sparse & np.isfinite(df)))
    if bounded is None or not wanted.any():
        return follow_test(plain, difference, significant)
    known = weigh_pairs(bounded, ia, ib, difference, se, df)
    assert known.moments is not None
    wanted &= known.in_range
    # the critical value of the test, at least Student's for the pair alone
    varying = usable & known.in_range & (se > 0.0)
    ratios = half[varying] / se[varying]
    typical = float(np.median(ratios)) if ratios.size else 0.0
    critical = np.divide(half, se, out=np.full(half.shape, typical), where=varying)
    least = student.student_critical(alpha, np.clip(np.fmin(df, known.moments.items - 1.0), 1.0, None))
    limits = known.limits(np.where(wanted, np.maximum(critical, least), 1.0))
    lower, upper = (np.where(wanted, *ends) for ends in zip(limits, plain, strict=True))
    return follow_test((lower, upper), difference, significant)
