"""Compute half-widths of the intervals around system means (F19 §5)."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.methods.pairs import Means, Pairs
from shardwise.stats import studentized_range
from shardwise.stats.corrections import uncorrected_level
from shardwise.stats.student import student_critical

PAPER_KINDS = ("tukey", "anova", "sem")
"""The intervals of F19 eq. 3, 5 and 4."""
KINDS = ("mean", "comparison", "difference", *PAPER_KINDS)


def estimate_own_variances(estimates: Means) -> Floats:
    """(R,) variances v_u of the single means, such that v_u + v_v is the variance of a difference.

    Where the pairs are unlike, the v_u are their least-squares fit (quasi-variances, Firth & de Menezes 2004).

    >>> pairs = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> estimate_own_variances(Means(("x", "y", "z"), np.zeros(3), pairs, 9.0))
    array([1., 2., 3.])
    """
    r = estimates.size
    square = estimates.variance_of_differences().reshape(r, r)
    if np.size(estimates.variance) == 1 or r == 2:
        return np.full(r, square[0, 1] / 2)
    return _shared_out(np.where(np.eye(r, dtype=bool), 0.0, square))


def share_half_widths(half: Floats, ia: Ints, ib: Ints, r: int) -> Floats:
    """(R,) half-widths of means whose sums come nearest to the half-widths of all differences.

    Two such intervals overlap exactly when a pair is not significant where one critical difference serves all pairs,
    and nearly so elsewhere.

    >>> share_half_widths(np.array([0.3, 0.4, 0.5]), np.array([0, 0, 1]), np.array([1, 2, 2]), 3)
    array([0.1, 0.2, 0.3])
    """
    # an infinite half-width means too few resamples or topics for any interval
    if r == 2 or not np.isfinite(half).all():
        return np.full(r, float(half.max()) / 2.0)
    square = np.zeros((r, r))
    square[ia, ib] = square[ib, ia] = half
    return _shared_out(square)


def _shared_out(pairs: Floats) -> Floats:
    """(R,) parts u such that u_a + u_b comes nearest to a symmetric table of pairs, by least squares."""
    r = len(pairs)
    rows = pairs.sum(axis=1)
    total = rows.sum() / (2 * (r - 1))
    return np.asarray(np.maximum((rows - total) / (r - 2), 0.0))


def has_common_spread(estimates: Means, pairs: Pairs) -> bool:
    """Return whether the model gives single means a variance or a distribution."""
    by_variance = estimates.pairs is None and bool(np.isfinite(estimates.error_variance).all())
    return by_variance or pairs.critical is not None


def halve_critical_difference(estimates: Means, pairs: Pairs, alpha: float) -> Floats:
    """(R,) half-widths by which two intervals overlap exactly when a pair is not significant.

    Half the critical difference of the correction (F19 eq. 3); exact where all pairs have one variance, else by
    quasi-variances.
    """
    level = uncorrected_level(pairs.correction, pairs.p, alpha)
    if pairs.critical is not None:
        return np.full(estimates.size, np.ravel(pairs.critical(level[..., 0]))[0] / 2)
    t = np.ravel(pairs.critical_t(level, np.ravel(estimates.error_df)[:1], alpha))[0]
    return np.asarray(t * np.sqrt(2.0 * estimate_own_variances(estimates)) / 2)


def tukey_half_widths(estimates: Means, systems: int, alpha: float) -> Floats:
    """F19 eq. 3: ½·Q·sqrt(MS_error / (T·S))."""
    _needs_variance(estimates, "tukey")
    return np.asarray(
        studentized_range.isf(alpha, systems, np.ravel(estimates.error_df)[0])
        / 2
        * np.sqrt(estimate_own_variances(estimates))
    )


def sem_half_widths(estimates: Means, alpha: float) -> Floats:
    """F19 eq. 4: t·sd/sqrt(n) of each system's own scores, whatever the model."""
    if estimates.own_sd is None or estimates.own_count is None:
        raise InputError(
            "the model did not hand over the systems' own standard deviations",
            remedy=("use ", Option("kind", "anova")),
        )
    n = np.ravel(estimates.own_count)
    return np.asarray(student_critical(alpha, n - 1) * np.ravel(estimates.own_sd) / np.sqrt(n))


def anova_half_widths(estimates: Means, alpha: float) -> Floats:
    """F19 eq. 5: t·sqrt(MS_error / (T·S))."""
    _needs_variance(estimates, "anova")
    return np.asarray(
        student_critical(alpha, np.ravel(estimates.error_df)[0]) * np.sqrt(estimate_own_variances(estimates))
    )


def _needs_variance(estimates: Means, kind: str) -> None:
    if not (np.isfinite(estimates.error_variance).all() and np.ravel(estimates.error_df)[0] > 0):
        raise InputError(
            f"the interval {kind!r} needs the error variance and degrees of freedom of a model, which this comparison"
            " lacks",
            remedy=("leave it out, or use ", Option("kind", "sem")),
        )
