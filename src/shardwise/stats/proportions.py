"""Exact intervals of probabilities."""

from __future__ import annotations

import numpy as np
from scipy import special

from shardwise.core.arrays import Floats


def clopper_pearson(hits: Floats, n: Floats, alpha: Floats | float) -> tuple[Floats, Floats]:
    """Ends of the exact interval of a probability after so many hits in n (Clopper & Pearson 1934).

    Parameters
    ----------
    hits
        How often it happened.
    n
        Of so many times.
    alpha
        One less the level of the interval.

    >>> [round(float(end), 4) for end in clopper_pearson(np.array(0.0), np.array(100.0), 0.05)]
    [0.0, 0.0362]
    """
    tail, misses = np.asarray(alpha) / 2.0, n - hits
    low = special.betaincinv(np.maximum(hits, 1.0), misses + 1.0, tail)
    high = special.betaincinv(hits + 1.0, np.maximum(misses, 1.0), 1.0 - tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)
