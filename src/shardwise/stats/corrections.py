"""Corrections for many comparisons at once, on the last axis of arrays: each row is a family of pairs.

Combinations make one p-value out of several that depend on each other in unknown ways, along the first axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import special

from shardwise.core.arguments import validate_choice
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.stats import dunnett, student, studentized_range


@dataclass(frozen=True, slots=True)
class Stepwise:
    """A correction that looks at the p-values alone.

    `share` is the part of alpha at or below which an uncorrected p-value is rejected, where k of n are. `error_rate` is
    the one that it controls: of a pair, of the family, or of false discoveries.
    """

    title: str
    error_rate: str
    adjust: Callable[[Floats], Floats]
    share: Callable[[int, Floats], Floats | float]  # n, (…, 1) k
    text: str = ""  # in a sentence, such as "Holm's correction"
    citations: tuple[str, ...] = ()  # keys of its sources


@dataclass(frozen=True, slots=True)
class Simultaneous:
    """A correction through the joint distribution of all t-statistics: adjusted p-value of a t, and critical t."""

    title: str
    error_rate: str
    adjust: Callable[[Floats, Floats, int], Floats]  # t, df, number of systems
    critical: Callable[[float, Floats, int], Floats]  # alpha, df, number of systems
    text: str = ""  # in a sentence, such as "Scheffé's method"
    citations: tuple[str, ...] = ()  # keys of its sources
    # the same two functions where comparisons with a baseline have loadings, which replace the number of systems
    adjust_unequal: Callable[[Floats, Floats, Floats], Floats] | None = None
    critical_unequal: Callable[[float, Floats, Floats], Floats] | None = None


def bonferroni(p: Floats) -> Floats:
    """Adjusted p = N·p.

    >>> bonferroni(np.array([0.01, 0.2, 0.5]))
    array([0.03, 0.6 , 1.  ])
    """
    return np.asarray(np.minimum(p * p.shape[-1], 1.0))


def holm(p: Floats) -> Floats:
    """Holm's step-down adjusted p: the running maximum of (N - k + 1)·p_(k).

    >>> holm(np.array([[0.01, 0.2, 0.015], [0.5, 0.5, 0.01]]))
    array([[0.03, 0.2 , 0.03],
           [1.  , 1.  , 0.03]])
    """
    n = p.shape[-1]
    return _adjust_ordered(p, lambda steps: np.maximum.accumulate(steps * np.arange(n, 0, -1), axis=-1))


def benjamini_hochberg(p: Floats) -> Floats:
    """Step-up adjusted p controlling the false discovery rate: the running minimum of p_(k)·N/k from above.

    >>> benjamini_hochberg(np.array([0.01, 0.2, 0.02]))
    array([0.03, 0.2 , 0.03])
    """
    return _step_up(p, 1.0)


def benjamini_yekutieli(p: Floats) -> Floats:
    """Benjamini–Hochberg under any dependence: its steps times 1 + 1/2 + … + 1/N.

    >>> benjamini_yekutieli(np.array([0.01, 0.9]))
    array([0.03, 1.  ])
    """
    return _step_up(p, _harmonic_number(p.shape[-1]))


def _step_up(p: Floats, factor: float) -> Floats:
    n = p.shape[-1]
    scale = factor * n / np.arange(1, n + 1)
    return _adjust_ordered(
        p, lambda steps: np.minimum.accumulate((steps * scale)[..., ::-1], axis=-1)[..., ::-1]
    )


def _adjust_ordered(p: Floats, steps: Callable[[Floats], Floats]) -> Floats:
    """Adjust the ordered p-values of each row and put them back; a pair that was not tested (NaN) stays so."""
    order = np.argsort(p, axis=-1, kind="stable")
    out = np.empty_like(p)
    ordered = np.take_along_axis(p, order, axis=-1)
    adjusted_rows = steps(np.where(np.isnan(ordered), 1.0, ordered))
    np.put_along_axis(out, order, np.minimum(adjusted_rows, 1.0), axis=-1)
    return np.where(np.isnan(p), np.nan, out)


def _harmonic_number(n: int) -> float:
    return float(np.sum(1.0 / np.arange(1, n + 1)))


def step_up(p: Floats, alpha: float) -> int:
    """Largest k with p_(k) ≤ α k / N (V17 §3.1), 0 if there is none.

    >>> step_up(np.array([0.01, 0.04, 0.03, 0.5]), 0.05)
    1
    """
    k = np.arange(1, p.size + 1)
    below = np.flatnonzero(np.sort(p) <= alpha * k / p.size)
    return int(below[-1]) + 1 if below.size else 0


def _scheffe_p(t: Floats, df: Floats, systems: int) -> Floats:
    m = systems - 1
    normal = np.isinf(df)
    finite = special.fdtrc(m, np.where(normal, 1.0, df), t * t / m)
    return np.where(normal, scipy.stats.chi2.sf(t * t, m), finite)


def _scheffe_critical(alpha: float, df: Floats, systems: int) -> Floats:
    m = systems - 1
    normal = np.isinf(df)
    finite = m * special.fdtri(m, np.where(normal, 1.0, df), 1.0 - alpha)
    return np.sqrt(np.where(normal, scipy.stats.chi2.isf(alpha, m), finite))


STEPWISE = {
    "none": Stepwise("no correction", "pair", lambda p: p, lambda n, k: 1.0),
    "bonferroni": Stepwise(
        "Bonferroni", "family", bonferroni, lambda n, k: 1.0 / n, "Bonferroni's correction", ("Dunn1961",)
    ),
    "holm": Stepwise(
        "Holm",
        "family",
        holm,
        lambda n, k: 1.0 / np.maximum(n - k, 1.0),
        "Holm's correction",
        ("Holm1979",),
    ),
    # V17 §3.1
    "bh": Stepwise(
        "Benjamini–Hochberg",
        "discovery",
        benjamini_hochberg,
        lambda n, k: np.maximum(k, 1.0) / n,
        "the correction of Benjamini and Hochberg",
        ("BenjaminiHochberg1995",),
    ),
    "by": Stepwise(
        "Benjamini–Yekutieli",
        "discovery",
        benjamini_yekutieli,
        lambda n, k: np.maximum(k, 1.0) / (n * _harmonic_number(n)),
        "the correction of Benjamini and Yekutieli",
        ("BenjaminiYekutieli2001",),
    ),
}
SIMULTANEOUS = {
    "hsd": Simultaneous(
        "Tukey HSD",
        "family",
        # F19 eq. 2
        lambda t, df, systems: studentized_range.sf(np.sqrt(2.0) * t, systems, df),
        lambda alpha, df, systems: np.asarray(studentized_range.isf(alpha, systems, df) / np.sqrt(2.0)),
        "Tukey's honestly significant difference",
        ("Tukey1949",),
    ),
    "scheffe": Simultaneous(
        "Scheffé", "family", _scheffe_p, _scheffe_critical, "Scheffé's method", ("Scheffe1953",)
    ),
    "dunnett": Simultaneous(
        "Dunnett",
        "family",
        lambda t, df, systems: dunnett.sf(t, systems - 1, df),
        lambda alpha, df, systems: dunnett.isf(alpha, systems - 1, df),
        "Dunnett's test",
        ("Dunnett1955",),
        dunnett.sf_unequal,
        dunnett.isf_unequal,
    ),
}
CORRECTIONS: dict[str, Stepwise | Simultaneous] = {**SIMULTANEOUS, **STEPWISE}


def check_correction(name: str) -> str:
    """Return the name if it is that of a correction."""
    return str(validate_choice(name, "method", CORRECTIONS))


def register_correction(name: str, correction: Stepwise | Simultaneous) -> None:
    """Add a correction, which every method that takes corrections of its kind then offers."""
    if isinstance(correction, Stepwise):
        STEPWISE[name] = correction
    else:
        SIMULTANEOUS[name] = correction
    CORRECTIONS[name] = correction


def adjust_p(
    name: str,
    p: Floats,
    t: Floats,
    df: Floats,
    systems: int,
    loadings: Floats | None = None,
    follows: str = "",
) -> Floats:
    """Correct the p-values (…, P) of a family of pairs, or the p-values of their |t|, of so many distinct systems.

    ``loadings`` (…, P) are of comparisons with one baseline whose means have unequal variances.

    >>> adjust_p("bonferroni", np.array([0.01, 0.2]), np.array([np.nan, np.nan]), np.array([np.nan]), 3)
    array([0.02, 0.4 ])
    """
    if name in STEPWISE:
        return STEPWISE[name].adjust(p)
    if np.isnan(t).any():
        lack = f"but the differences follow {follows}" if follows else "which these comparisons lack"
        raise InputError(
            f"{CORRECTIONS[name].title} needs Student's t, {lack}",
            remedy=f"choose one of {', '.join(STEPWISE)}",
            argument="method",
            value=name,
            choices=STEPWISE,
        )
    correction = SIMULTANEOUS[name]
    if loadings is not None and correction.adjust_unequal is not None:
        return np.clip(correction.adjust_unequal(t, df, loadings), 0.0, 1.0)
    return np.clip(correction.adjust(t, df, systems), 0.0, 1.0)


def uncorrected_level(name: str, p: Floats, alpha: float) -> Floats:
    """(…, 1) p-values at or below which a correction rejects at alpha; a joint distribution needs no correction."""
    if name not in STEPWISE:
        return np.full((*p.shape[:-1], 1), alpha)
    rejected = (STEPWISE[name].adjust(p) <= alpha).sum(axis=-1, keepdims=True)
    return np.full(rejected.shape, alpha * STEPWISE[name].share(p.shape[-1], rejected))


def interval_level(name: str, p: Floats, alpha: float) -> Floats:
    """(…, 1) levels of the intervals of single differences that go with a correction.

    Those of Holm are Bonferroni's, which hold for all pairs at once; with k of n pairs told apart, those of
    Benjamini–Hochberg have the level αk/n, and hold for the pairs found (Benjamini & Yekutieli 2005).

    >>> [interval_level(name, np.array([0.001, 0.02, 0.3]), 0.06).round(3).item() for name in ("holm", "bh")]
    [0.02, 0.04]
    """
    return uncorrected_level("bonferroni" if name == "holm" else name, p, alpha)


def critical_t(
    name: str, level: Floats, df: Floats, systems: int, alpha: float, loadings: Floats | None = None
) -> Floats:
    """Return the |t| at which a correction rejects: at (…, 1) uncorrected levels, or by the joint distribution."""
    if name in STEPWISE:
        return student.student_critical(level, df)
    correction = SIMULTANEOUS[name]
    if loadings is not None and correction.critical_unequal is not None:
        return correction.critical_unequal(alpha, df, loadings)
    distinct, which = np.unique(df, return_inverse=True)  # most often one and the same for all pairs
    return correction.critical(alpha, distinct, systems)[which].reshape(np.shape(df))


def harmonic_mean_p(p: Floats) -> Floats:
    """Harmonic mean along the first axis, times the least factor valid under any dependence.

    The factor for J p-values is (y + J)²/((y + 1) J) with y² = J((y + 1) log(y + 1) - y), 2 for two of them
    (Vovk & Wang 2020, Proposition 6).

    >>> float(harmonic_mean_p(np.array([0.01, 0.03])).round(4))
    0.03
    """
    p = np.asarray(p, np.float64)
    mean = len(p) / np.sum(1.0 / np.maximum(p, 1e-300), axis=0)
    return np.asarray(np.minimum(_harmonic_factor(len(p)) * np.where((p == 0).any(axis=0), 0.0, mean), 1.0))


def _harmonic_factor(j: int) -> float:
    if j <= 2:
        return float(j)
    y = scipy.optimize.brentq(lambda y: y * y - j * ((y + 1.0) * np.log1p(y) - y), 1e-3, 1e3 * j * j)
    return float((y + j) ** 2 / ((y + 1.0) * j))


def cauchy_p(p: Floats) -> Floats:
    """Cauchy combination along the first axis: the upper tail of the mean of cot(π p) (Liu & Xie 2020).

    A p-value above .99 counts as .99, lest it outweigh all others: cot(π) is -∞.

    >>> cauchy_p(np.array([[0.02, 0.001], [0.02, 1.0]])).round(4)
    array([0.02  , 0.0022])
    """
    p = np.clip(np.asarray(p, np.float64), 1e-300, 0.99)
    small = p < 1e-8
    cot = np.where(
        small, 1.0 / (np.pi * np.where(small, p, 1.0)), 1.0 / np.tan(np.pi * np.where(small, 0.5, p))
    )
    return np.asarray(np.arctan2(1.0, cot.mean(axis=0)) / np.pi)


def quantile_p(p: Floats, least: float = 0.05) -> Floats:
    """The smallest of the quantiles p_(k) · J/k along the first axis, k ≥ least · J, times 1 - log(least).

    Valid under any dependence (Meinshausen, Meier & Bühlmann 2009, Theorem 3.2), made for p-values from many splits of
    the same data.

    >>> float(quantile_p(np.array([0.001, 0.02, 0.02, 0.5])).round(4))
    0.016
    """
    p = np.sort(np.asarray(p, np.float64), axis=0)
    j = len(p)
    k = np.arange(1, j + 1)
    use = k >= least * j
    quantiles = p[use] * (j / k[use]).reshape(-1, *(1,) * (p.ndim - 1))
    return np.asarray(np.minimum((1.0 - np.log(least)) * np.minimum(quantiles.min(axis=0), 1.0), 1.0))
