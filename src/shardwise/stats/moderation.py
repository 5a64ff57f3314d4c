"""The moderated variance: a pair's own variance shrunk towards the pooled one of all pairs (Smyth 2004).

Tests, intervals, rank ranges and planned power all take the prior degrees of freedom from here, when they are called.

`noise_factors` tells which systems are far more variable than the others.
"""

from __future__ import annotations

import math

import numpy as np

from shardwise.core.arrays import Floats

PRIOR_DF = 20.0
"""d0, the degrees of freedom that the pooled variance counts for."""
# a system with this many times the typical standard deviation of its own widens the intervals of all pairs
NOISY = 3.0
# a median this small against the largest is 0 but for rounding
NO_TYPICAL = 1e-13


def get_prior_df(prior_df: float | None = None) -> float:
    """Return the prior degrees of freedom asked for, `PRIOR_DF` without any."""
    return PRIOR_DF if prior_df is None else prior_df


def own_share(own_df: Floats | float, systems: int | None = None, prior_df: float | None = None) -> Floats:
    """df / (df + d0), the weight of a pair's own variance in its moderated one; 1 of two systems, or where both are 0.

    >>> own_share(np.array([0.0, 5.0, 20.0]), 3).tolist(), float(own_share(5.0, 2))
    ([0.0, 0.2, 0.5], 1.0)
    """
    own, prior = np.asarray(own_df, np.float64), get_prior_df(prior_df)
    if systems == 2:
        return np.ones_like(own)
    if math.isinf(prior):
        return np.zeros_like(own)
    total = own + prior
    return np.where(total > 0.0, own / np.where(total > 0.0, total, 1.0), 1.0)


def shrink_variances(own: Floats, pooled: Floats, share: Floats | float) -> Floats:
    """Return w·s² + (1 - w)·s̄², the moderated variances of own ones and pooled ones."""
    return np.asarray(share * own + (1.0 - share) * pooled)


def spread_share(share: Floats | float, systems: Floats | float) -> Floats:
    """κ = w² + (1 - w²)/(R - 1): a moderated variance varies so much less than one of own degrees of freedom.

    >>> float(spread_share(1.0, 5)), float(spread_share(0.5, 4))
    (1.0, 0.5)
    """
    return np.asarray(share**2 + (1.0 - share**2) / np.maximum(systems - 1.0, 1.0))


def pair_variances(table: Floats) -> Floats:
    """Compute the variance over topics (ddof 1) of the difference of every pair of systems.

    >>> pair_variances(np.array([[0.0, 1.0], [0.0, 3.0]])).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    centred = table - table.mean(axis=-2, keepdims=True)
    centred = centred - centred.mean(axis=-1, keepdims=True)
    gram = np.swapaxes(centred, -1, -2) @ centred / (table.shape[-2] - 1.0)
    diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
    variances = np.maximum(diagonal[..., :, None] + diagonal[..., None, :] - 2.0 * gram, 0.0)
    variances[..., np.eye(table.shape[-1], dtype=np.bool_)] = 0.0
    return np.asarray(variances)


def own_variability(variances: Floats) -> Floats:
    """Compute how much of the pairs' variances each system brings in (Shukla 1972).

    τ_a = max(0, (Σ_b s²_ab - Σ_k s²_k/(R-1)) / (R-2)), Σ_k over all pairs.

    >>> own_variability(np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    systems = variances.shape[-1]
    rows = variances.sum(axis=-1)
    total = rows.sum(axis=-1, keepdims=True) / 2.0
    return np.asarray(np.maximum(0.0, (rows - total / (systems - 1.0)) / (systems - 2.0)))


def noise_factors(variances: Floats) -> Floats:
    """Compute the standard deviation of each system's own part over the median of all systems'.

    >>> s = np.add.outer([1.0, 1.0, 1.0, 25.0], [1.0, 1.0, 1.0, 25.0]) * (1 - np.eye(4))
    >>> noise_factors(s).round(6).tolist()
    [1.0, 1.0, 1.0, 5.0]
    """
    if variances.shape[-1] < 3:
        return np.zeros(variances.shape[-1])
    variability = own_variability(variances)
    typical = float(np.median(variability))
    return (
        np.sqrt(variability / typical)
        if typical > NO_TYPICAL * float(variability.max())
        else np.zeros_like(variability)
    )
