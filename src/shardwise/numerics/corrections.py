"""The ways of allowing for many comparisons at once, each as two functions on the arrays of a family of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.numerics import dunnett as many_to_one
from shardwise.numerics import studentized_range


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """The comparisons that one correction is about."""

    p: Floats  # uncorrected
    t: Floats  # |difference| / se
    df: Floats
    systems: int  # distinct systems among the pairs


@dataclass(frozen=True, slots=True)
class Stepwise:
    """A correction that looks at the p-values alone.

    `level` is the uncorrected p-value at or below which the correction rejects at alpha, for these p-values.
    """

    title: str
    adjust: Callable[[Floats], Floats]
    level: Callable[[Floats, float], float]


@dataclass(frozen=True, slots=True)
class Simultaneous:
    """A correction through the joint law of all t-statistics: adjusted p-value of a t, and critical t."""

    title: str
    adjust: Callable[[Floats, Floats, int], Floats]  # t, df, number of systems
    critical: Callable[[float, Floats, int], Floats]  # alpha, df, number of systems


def bonferroni(p: Floats) -> Floats:
    """Adjusted p = N·p.

    >>> bonferroni(np.array([0.01, 0.2, 0.5]))
    array([0.03, 0.6 , 1.  ])
    """
    return np.minimum(p * p.size, 1.0)


def holm(p: Floats) -> Floats:
    """Holm's step-down adjusted p: the running maximum of (N - k + 1)·p_(k).

    >>> holm(np.array([0.01, 0.2, 0.015]))
    array([0.03, 0.2 , 0.03])
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(p.size, 0, -1)
    return _back(np.minimum(np.maximum.accumulate(steps), 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """Step-up adjusted p controlling the false discovery rate: the running minimum of p_(k)·N/k from above.

    >>> benjamini_hochberg(np.array([0.01, 0.2, 0.02]))
    array([0.03, 0.2 , 0.03])
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * (p.size / np.arange(1, p.size + 1))
    return _back(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def benjamini_yekutieli(p: Floats) -> Floats:
    """Benjamini–Hochberg under any dependence: its steps times 1 + 1/2 + … + 1/N.

    >>> benjamini_yekutieli(np.array([0.01, 0.9]))
    array([0.03, 1.  ])
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * (_harmonic(p.size) * p.size / np.arange(1, p.size + 1))
    return _back(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def _back(steps: Floats, order: Ints) -> Floats:
    out = np.empty_like(steps)
    out[order] = steps
    return out


def _harmonic(n: int) -> float:
    return float(np.sum(1.0 / np.arange(1, n + 1)))


def _holm_level(p: Floats, alpha: float) -> float:
    rejected = int((holm(p) <= alpha).sum())
    return alpha / max(p.size - rejected, 1)


def _bh_level(p: Floats, alpha: float) -> float:
    rejected = int((benjamini_hochberg(p) <= alpha).sum())
    return alpha * max(rejected, 1) / p.size  # V17 §3.1


def _by_level(p: Floats, alpha: float) -> float:
    rejected = int((benjamini_yekutieli(p) <= alpha).sum())
    return alpha * max(rejected, 1) / (p.size * _harmonic(p.size))


def _hsd(t: Floats, df: Floats, systems: int) -> Floats:
    return studentized_range.sf(np.sqrt(2.0) * t, systems, df)  # F19 eq. 2


def _hsd_critical(alpha: float, df: Floats, systems: int) -> Floats:
    return np.asarray(studentized_range.isf(alpha, systems, df) / np.sqrt(2.0))


def _scheffe(t: Floats, df: Floats, systems: int) -> Floats:
    m = systems - 1
    finite = np.where(np.isinf(df), 1.0, df)
    return np.where(np.isinf(df), stats.chi2.sf(t * t, m), stats.f.sf(t * t / m, m, finite))


def _scheffe_critical(alpha: float, df: Floats, systems: int) -> Floats:
    m = systems - 1
    finite = np.where(np.isinf(df), 1.0, df)
    return np.sqrt(np.where(np.isinf(df), stats.chi2.isf(alpha, m), m * stats.f.isf(alpha, m, finite)))


def _dunnett(t: Floats, df: Floats, systems: int) -> Floats:
    return many_to_one.sf(t, systems - 1, df)


def _dunnett_critical(alpha: float, df: Floats, systems: int) -> Floats:
    return many_to_one.isf(alpha, systems - 1, df)


STEPWISE = {
    "none": Stepwise("no correction", lambda p: p, lambda p, alpha: alpha),
    "bonferroni": Stepwise("Bonferroni", bonferroni, lambda p, alpha: alpha / p.size),
    "holm": Stepwise("Holm", holm, _holm_level),
    "bh": Stepwise("Benjamini–Hochberg", benjamini_hochberg, _bh_level),
    "by": Stepwise("Benjamini–Yekutieli", benjamini_yekutieli, _by_level),
}
SIMULTANEOUS = {
    "hsd": Simultaneous("Tukey HSD", _hsd, _hsd_critical),
    "scheffe": Simultaneous("Scheffé", _scheffe, _scheffe_critical),
    "dunnett": Simultaneous("Dunnett", _dunnett, _dunnett_critical),
}


def stepwise(name: str) -> Stepwise:
    """The correction of p-values of this name."""
    if name not in STEPWISE:
        raise InputError(f"no correction is called {name!r}", remedy=f"choose one of {', '.join(STEPWISE)}")
    return STEPWISE[name]


def known(name: str) -> str:
    """The name itself if it is that of a method."""
    if name not in STEPWISE and name not in SIMULTANEOUS:
        names = ", ".join([*SIMULTANEOUS, *STEPWISE])
        raise InputError(f"no method is called {name!r}", remedy=f"choose one of {names}")
    return name


def title(name: str) -> str:
    """The method in words.

    >>> title("by")
    'Benjamini–Yekutieli'
    """
    return STEPWISE[name].title if name in STEPWISE else SIMULTANEOUS[name].title


def adjusted(name: str, family: Family) -> Floats:
    """Corrected p-values of a family."""
    if name in STEPWISE:
        return STEPWISE[name].adjust(family.p)
    return SIMULTANEOUS[name].adjust(family.t, family.df, family.systems)


def uncorrected_level(name: str, p: Floats, alpha: float) -> float:
    """The p-value at or below which a method rejects at alpha; a law of its own needs no correction."""
    return STEPWISE[name].level(p, alpha) if name in STEPWISE else alpha


def critical_t(name: str, family: Family, alpha: float, df: Floats) -> Floats:
    """The |t| at which this method begins to reject in this family, for each of the df."""
    if name in STEPWISE:
        return np.asarray(stats.t.isf(STEPWISE[name].level(family.p, alpha) / 2, df))
    distinct, which = np.unique(df, return_inverse=True)  # most often one and the same for all pairs
    return SIMULTANEOUS[name].critical(alpha, distinct, family.systems)[which].reshape(np.shape(df))
