"""Step-down tests of the largest statistic of all pairs against resamples without differences (Romano & Wolf 2005)."""

from __future__ import annotations

import math

import numpy as np

from shardwise.core.arrays import Floats, Ints

TIE = 1e-9
"""Share by which a resampled statistic may be smaller and still count as large."""


def order_targets(size: Floats) -> tuple[Ints, Floats]:
    """Return the pairs that were tested by falling size, and what resampled sizes must reach; (P,) without NaN."""
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(~np.isnan(size))]
    return order, size[order] * (1.0 - TIE)


def adjust_counts(falling: Ints | Floats, order: Ints, n_resamples: int, pairs: int) -> Floats:
    """(P,) step-down p-values of how many resamples reach each pair in its order; NaN for pairs outside it."""
    adjusted = np.full(pairs, np.nan)
    adjusted[order] = np.maximum.accumulate(falling + 1) / (n_resamples + 1)
    return adjusted


def find_critical(maxima: Floats, alpha: float) -> float:
    """Return the upper α quantile of ascending largest statistics (B,); ∞ with too few resamples.

    >>> find_critical(np.arange(1.0, 20.0), 0.05), find_critical(np.arange(1.0, 19.0), 0.05)
    (19.0, inf)
    """
    k = math.floor(alpha * (maxima.size + 1) * (1 + 1e-12))
    return math.inf if k < 1 else float(maxima[-k])


def step_down(t: Floats, drawn: Floats) -> Floats:
    """Adjusted p of statistics by their joint distribution: t (K,), drawn (B, K) without effects.

    >>> step_down(np.array([3.0, 0.5]), np.array([[0.1, -0.6], [2.0, 0.2], [-1.0, 0.4]])).tolist()
    [0.25, 0.5]
    """
    order, targets = order_targets(np.abs(t))
    # the largest of each statistic and all less extreme ones
    largest = np.maximum.accumulate(np.abs(drawn[:, order])[:, ::-1], axis=1)[:, ::-1]
    return adjust_counts((largest >= targets).sum(axis=0), order, len(drawn), t.size)
