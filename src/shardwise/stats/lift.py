"""Relative lift of one mean over another with Fieller's interval, and the check of how many items each system met."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import chdtrc

from shardwise.core.arrays import Floats


class Lift(NamedTuple):
    """How much larger a mean is than another, as a share of it, with its limits; infinite limits are unbounded."""

    share: float
    lower: float
    upper: float


def measure_lift(mean: float, se: float, base: float, base_se: float, critical: float) -> Lift | None:
    """Return the lift of a mean over an independent base by Fieller (1954); None where the base is not above 0.

    The limits are all ratios θ with (mean - θ·base)² ≤ c²·(se² + θ²·base_se²); they are unbounded where the base itself
    is not significantly above 0.

    >>> found = measure_lift(1.1, 0.01, 1.0, 0.01, 1.96)
    >>> [round(x, 4) for x in found]
    [0.1, 0.0713, 0.1296]
    >>> measure_lift(1.1, 0.5, 1.0, 0.6, 1.96)
    Lift(share=0.10000000000000009, lower=-inf, upper=inf)
    """
    if not base > 0.0:
        return None
    ratio, slack = mean / base, (critical * base_se / base) ** 2
    if not slack < 1.0:
        return Lift(ratio - 1.0, -math.inf, math.inf)
    half = critical / base * math.sqrt(se**2 * (1.0 - slack) + ratio**2 * base_se**2)
    return Lift(ratio - 1.0, (ratio - half) / (1.0 - slack) - 1.0, (ratio + half) / (1.0 - slack) - 1.0)


def check_ratio(counts: Floats) -> float:
    """Return the p-value of the χ² test of equal shares of some counts.

    >>> import numpy as np
    >>> round(check_ratio(np.array([5000.0, 5000.0])), 3), round(check_ratio(np.array([5300.0, 4700.0])), 11)
    (1.0, 1.97e-09)
    """
    expected = counts.mean()
    return float(chdtrc(len(counts) - 1.0, ((counts - expected) ** 2).sum() / expected))
