"""How many items it takes to show that one system is no worse than another."""

from __future__ import annotations

import numpy as np
import scipy

from shardwise.core.arguments import validate_level
from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.planning.topics import find_smallest


def topics_for_margin(
    variance: float, margin: float, *, fixed: float = 0.0, alpha: float = 0.05, power: float = 0.8
) -> float:
    """Return the number of topics on which two equal systems are shown to be no worse by the margin.

    The lower end of the 1 - alpha interval of a paired t-test lies above -margin with the probability ``power``, which
    is that of a noncentral t; infinity where no number of topics suffices.

    Parameters
    ----------
    variance
        Variance over topics of the difference of the two systems on one topic.
    margin
        The largest loss that does not matter.
    fixed
        Variance of the difference of means that more topics do not lessen: that over instances.
    alpha
        One less the level of the two-sided interval.
    power
        Probability that it is shown.

    >>> topics_for_margin(0.04, 0.05)
    128.0
    """
    if not (np.isfinite(margin) and margin > 0):
        raise InputError(
            f"a margin of {margin} cannot be met", remedy="give a small positive number", argument="margin"
        )
    validate_level(alpha)
    validate_level(power, "power")
    if variance == 0.0 and fixed == 0.0:
        return 2.0

    def compute_power(n: Floats) -> Floats:
        away = margin / np.sqrt(variance / n + fixed)
        return np.asarray(scipy.stats.nct.sf(scipy.stats.t.isf(alpha / 2.0, n - 1.0), n - 1.0, away))

    if (
        fixed > 0.0
        and scipy.stats.norm.sf(scipy.stats.norm.isf(alpha / 2.0) - margin / np.sqrt(fixed)) < power
    ):
        return float("inf")
    guess = (
        variance * (scipy.stats.norm.isf(alpha / 2.0) + scipy.stats.norm.isf(1.0 - power)) ** 2 / margin**2
    )
    return float(find_smallest(lambda n, _: compute_power(n) >= power, np.array([max(guess, 2.0)]))[0])
