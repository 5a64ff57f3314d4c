"""Student's t, with care where there is no spread at all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from shardwise.core.arrays import Floats

NOISE = 1e-13  # differences this small against the largest value are rounding, not effect
NO_VARIANCE = 1e-14  # variances up to this share of the squared range are rounding
LEVEL = 0.05  # at which critical values are weighed


def t_statistic(difference: Floats, se: Floats) -> Floats:
    """difference / se; without any spread 0 for equal systems and ∞ for unequal ones."""
    unlike = np.where(difference == 0.0, 0.0, np.copysign(np.inf, difference))
    return np.where(se == 0.0, unlike, difference / np.where(se == 0.0, 1.0, se))


def two_sided(t: Floats, df: Floats | float) -> Floats:
    """P(|Student's t| ≥ |t|); infinitely many degrees of freedom make it normal.

    >>> two_sided(np.array([0.0, 2.0, 2.0]), np.array([10.0, 10.0, np.inf])).round(6).tolist()
    [1.0, 0.073388, 0.0455]
    """
    return 2.0 * upper_tail(np.abs(t), df)


def upper_tail(t: Floats | float, df: Floats | float) -> Floats:
    """P(Student's t ≥ t); infinitely many degrees of freedom make it normal.

    >>> upper_tail(np.array([0.0, 2.0, -2.0]), np.array([10.0, 10.0, np.inf])).round(6).tolist()
    [0.5, 0.036694, 0.97725]
    """
    normal = np.isinf(df)
    student = special.stdtr(np.where(normal, 1.0, df), -np.asarray(t))
    return np.asarray(np.where(normal, special.ndtr(-np.asarray(t)), student))


def student_critical(level: Floats | float, df: Floats | float) -> Floats:
    """Return the |t| with two-sided p-value `level`.

    >>> float(student_critical(0.05, 10.0).round(4))
    2.2281
    """
    normal = np.isinf(df)
    tail = np.asarray(level) / 2.0
    return np.asarray(
        -np.where(normal, special.ndtri(tail), special.stdtrit(np.where(normal, 1.0, df), tail))
    )


def cochran_cox_df(df: Floats, few: Floats, share: Floats) -> Floats:
    """Degrees of freedom of a t whose variance is the sum of an estimate with df and one with few, a share of it.

    Cochran and Cox ("Experimental designs", 1950, §4.14) take (1 - share)·c_df + share·c_few for the critical value, c
    those of Student's distributions; these are the degrees of freedom of the distribution that has it at 5 %.
    Satterthwaite's take the share for known: a part that is small by chance then counts as if it were always small,
    which errs too often where few is 4 or less.

    >>> cochran_cox_df(np.array([60.0]), np.array([4.0]), np.array([0.0, 0.5, 1.0])).round(2).tolist()
    [60.0, 6.67, 4.0]
    """
    point = (1.0 - share) * student_critical(LEVEL, df) + share * student_critical(LEVEL, few)
    return np.asarray(special.stdtridf(1.0 - LEVEL / 2.0, point))


def drop_noise(values: Floats, largest: Floats) -> Floats:
    """Return differences or standard errors with those that are mere rounding of a value of this size set to 0."""
    return np.where(np.abs(values) <= NOISE * largest, 0.0, values)


def noncentral_sf(t: npt.ArrayLike, df: npt.ArrayLike, noncentrality: npt.ArrayLike) -> Floats:
    """Compute P(t' > t) of a noncentral t, without the half second that scipy's distributions take to load.

    >>> from scipy import stats
    >>> bool(np.isclose(noncentral_sf(2.0, 49.0, 3.0), stats.nct.sf(2.0, 49.0, 3.0), rtol=1e-12))
    True
    >>> noncentral_sf([2.0, 2.0], 49.0, [38.8, 60.0])
    array([1., 1.])
    """
    t, df, away = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (t, df, noncentrality)))
    below = special.nctdtr(df, away, t)
    # far beyond t the series of the lower tail gives up, and nothing is left of it
    lost = np.isnan(below) & np.isfinite(df) & (away - t > 30.0)
    return np.asarray(np.where(lost, 1.0, 1.0 - below))
