"""Corrections for many comparisons and the intervals that go with them, for many families at once.

A family is a row: the P pairs of one table. The rules are those of `shardwise.numerics.corrections`.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats
from shardwise.numerics import dunnett as many_to_one
from shardwise.numerics.student import NOISE, t_statistic
from shardwise.procedures import studentized as studentized
from shardwise.procedures.batch import Decisions

STEPWISE = ("bonferroni", "holm", "bh", "by", "none")
METHODS = ("hsd", "scheffe", *STEPWISE)


def adjust(method: str, p: Floats) -> Floats:
    """Corrected p-values, each row a family.

    >>> adjust("holm", np.array([[0.01, 0.2, 0.015], [0.5, 0.5, 0.01]]))
    array([[0.03, 0.2 , 0.03],
           [1.  , 1.  , 0.03]])
    """
    n = int(p.shape[-1])
    if method == "none":
        return p
    if method == "bonferroni":
        return np.asarray(np.minimum(p * n, 1.0))
    order = np.argsort(p, axis=-1, kind="stable")
    ordered = np.take_along_axis(p, order, axis=-1)
    rank = np.arange(1, n + 1)
    if method == "holm":
        steps = np.maximum.accumulate(ordered * (n + 1 - rank), axis=-1)
    else:
        factor = n / rank if method == "bh" else _harmonic(n) * n / rank
        steps = np.minimum.accumulate((ordered * factor)[..., ::-1], axis=-1)[..., ::-1]
    out = np.empty_like(p)
    np.put_along_axis(out, order, np.minimum(steps, 1.0), axis=-1)
    return out


def interval_level(method: str, p_adjusted: Floats, alpha: float) -> Floats:
    """(…, 1) level of each single interval: simultaneous ones for bonferroni and holm, of false coverage for bh, by.

    With k of the n pairs told apart, bh has intervals at level αk/n (Benjamini & Yekutieli 2005).
    """
    n = p_adjusted.shape[-1]
    found = np.maximum((p_adjusted <= alpha).sum(axis=-1, keepdims=True), 1.0)
    if method == "none":
        return np.full_like(found, alpha)
    if method in {"bonferroni", "holm"}:
        return np.full_like(found, alpha / n)
    return np.asarray(alpha * found / (n if method == "bh" else n * _harmonic(n)))


def _harmonic(n: int) -> float:
    return float(np.sum(1.0 / np.arange(1, n + 1)))


def two_sided_t(t: Floats, df: Floats) -> Floats:
    """P(|Student's t| ≥ |t|)."""
    return np.asarray(2.0 * special.stdtr(df, -np.abs(t)))


def critical_t(level: Floats, df: Floats) -> Floats:
    """The |t| with two-sided p-value `level`."""
    return np.asarray(-special.stdtrit(df, level / 2.0))


def without_noise(difference: Floats, se: Floats, largest: Floats) -> tuple[Floats, Floats]:
    """Differences and standard errors with those of mere rounding, against the largest value, set to 0."""
    noise = NOISE * largest
    return np.where(np.abs(difference) <= noise, 0.0, difference), np.where(se <= noise, 0.0, se)


def by_t(
    difference: Floats,
    se: Floats,
    df: Floats,
    method: str,
    systems: int,
    alpha: float,
    p: Floats | None = None,
) -> Decisions:
    """Decide by Student's t; `se` and `df` are (B, P), or (B, 1) where all pairs of a table share them.

    `p` are the uncorrected p-values, where they are known already.
    """
    t = np.abs(t_statistic(difference, se))
    p = two_sided_t(t, df) if p is None else p
    m = systems - 1
    if method == "hsd":
        p_adjusted = studentized.sf(np.sqrt(2.0) * t, systems, df)  # F19 eq. 2
        critical = studentized.isf(alpha, systems, df) / np.sqrt(2.0)
    elif method == "scheffe":
        p_adjusted = np.asarray(special.fdtrc(m, df, t * t / m), np.float64)
        critical = np.sqrt(m * special.fdtri(m, df, 1.0 - alpha))
    else:
        p_adjusted = adjust(method, p)
        critical = critical_t(interval_level(method, p_adjusted, alpha), df)
    half = se * critical
    return Decisions(difference, p, np.clip(p_adjusted, 0.0, 1.0), difference - half, difference + half)


def by_dunnett(difference: Floats, se: Floats, df: Floats, systems: int, alpha: float) -> Decisions:
    """Compare all systems with the first, whose pairs come first; nothing is said of the others (NaN)."""
    m = systems - 1
    t = np.abs(t_statistic(difference, se))[:, :m]
    found = [np.full_like(difference, np.nan) for _ in range(4)]
    p, p_adjusted, lower, upper = found
    p[:, :m] = two_sided_t(t, df)
    p_adjusted[:, :m] = np.clip(many_to_one.sf(t, m, np.broadcast_to(df, t.shape)), 0.0, 1.0)
    half = se * many_to_one.isf(alpha, m, df)
    lower[:, :m], upper[:, :m] = difference[:, :m] - half, difference[:, :m] + half
    return Decisions(difference, p, p_adjusted, lower, upper)


def by_p(difference: Floats, p: Floats, method: str) -> Decisions:
    """Decide by p-values of a test that has no interval."""
    nothing = np.full_like(p, np.nan)
    return Decisions(difference, p, adjust(method, p), nothing, nothing)
