"""The shape of a distribution as numbers show it, and whether two of them go together."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats


def skewness(x: Floats) -> float:
    """Third central moment over the standard deviation cubed, both of these very numbers.

    >>> skewness(np.array([0.0, 0.0, 0.0, 1.0])).__round__(4)
    1.1547
    """
    away = x - x.mean()
    return float((away**3).mean() / (away**2).mean() ** 1.5)


def excess_kurtosis(x: Floats) -> float:
    """Fourth central moment over the squared variance, less the 3 of the normal distribution.

    >>> excess_kurtosis(np.array([0.0, 0.0, 0.0, 1.0])).__round__(4)
    -0.6667
    """
    squares = (x - x.mean()) ** 2
    return float((squares**2).mean() / squares.mean() ** 2 - 3.0)


def mean_ranks(x: Floats) -> Floats:
    """Ranks from 1 on; equal numbers share the mean of theirs.

    >>> mean_ranks(np.array([0.3, 0.1, 0.3, 0.2])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, inverse, count = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2.0)[inverse]


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's correlation, that of the ranks; 0 where one of the two does not vary.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0, 3.0]), np.array([1.0, 3.0, 2.0, 4.0])).__round__(4)
    0.6325
    """
    a, b = mean_ranks(x), mean_ranks(y)
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) and np.ptp(b) else 0.0
