"""Student's t, with care where there is no spread at all."""

from __future__ import annotations

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats

NOISE = 1e-13  # differences this small against the largest value are rounding, not effect


def t_statistic(difference: Floats, se: Floats) -> Floats:
    """difference / se; without any spread 0 for equal systems and ∞ for unequal ones."""
    unlike = np.where(difference == 0.0, 0.0, np.copysign(np.inf, difference))
    return np.where(se == 0.0, unlike, difference / np.where(se == 0.0, 1.0, se))


def two_sided(t: Floats, df: Floats | float) -> Floats:
    """P(|Student's t| ≥ |t|); infinitely many degrees of freedom make it normal.

    >>> two_sided(np.array([0.0, 2.0, 2.0]), np.array([10.0, 10.0, np.inf])).round(6).tolist()
    [1.0, 0.073388, 0.0455]
    """
    normal = np.isinf(df)
    lower = special.stdtr(np.where(normal, 1.0, df), -np.abs(t))
    return np.asarray(2.0 * np.where(normal, special.ndtr(-np.abs(t)), lower))


def critical(level: Floats | float, df: Floats | float) -> Floats:
    """The |t| with two-sided p-value `level`.

    >>> float(critical(0.05, 10.0).round(4))
    2.2281
    """
    normal = np.isinf(df)
    tail = np.asarray(level) / 2.0
    return np.asarray(
        -np.where(normal, special.ndtri(tail), special.stdtrit(np.where(normal, 1.0, df), tail))
    )


def without_noise(difference: Floats, se: Floats, largest: Floats) -> tuple[Floats, Floats]:
    """Differences and standard errors with those of mere rounding, against the largest value, set to 0."""
    noise = NOISE * largest
    return np.where(np.abs(difference) <= noise, 0.0, difference), np.where(se <= noise, 0.0, se)
