"""One p-value out of several that depend on each other in unknown ways, along the first axis of arrays."""

from __future__ import annotations

import numpy as np
import scipy

from shardwise.core.arrays import Bools, Floats


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

    >>> cauchy_p(np.array([[0.02], [0.02]])).round(4)
    array([0.02])
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


def agreed_p(p: Floats, needed: int) -> Floats:
    """The p-value that ``needed`` of those along the first axis do not exceed.

    >>> agreed_p(np.array([[0.01], [0.2], [0.03]]), 2)
    array([0.03])
    """
    return np.asarray(np.sort(p, axis=0)[needed - 1])


def direct_p(p: Floats, agrees: Bools) -> Floats:
    """Turn p-values into evidence for one order of a pair: 1 where the other order was observed."""
    return np.where(agrees, p, 1.0)
