"""The moderated variance: a pair's own variance shrunk towards the pooled one of all pairs (Smyth 2004).

Tests, intervals, rank ranges and planned power all take the prior degrees of freedom from here, when they are called.
"""

from __future__ import annotations

import math

import numpy as np

from shardwise.core.arrays import Floats

PRIOR_DF = 20.0
"""d0, the degrees of freedom that the pooled variance counts for."""


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
