"""Student's t, with care where there is no spread at all."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats

NOISE = 1e-13  # differences this small against the largest value are rounding, not effect


def t_statistic(difference: Floats, se: Floats) -> Floats:
    """difference / se; without any spread 0 for equal systems and ∞ for unequal ones."""
    unlike = np.where(difference == 0.0, 0.0, np.copysign(np.inf, difference))
    return np.where(se == 0.0, unlike, difference / np.where(se == 0.0, 1.0, se))
