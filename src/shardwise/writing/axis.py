"""An axis with round ticks, for drawings that the page makes itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WIDTH = 1000.0  # units of the drawing


@dataclass(frozen=True, slots=True)
class Axis:
    """From the lowest to the highest value, with ticks at round numbers between."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int

    def place(self, value: float) -> float:
        """Where a value lies, in units of the drawing, to a tenth."""
        return round(WIDTH * (value - self.low) / (self.high - self.low), 1)


def axis_for(low: float, high: float, most: int = 6) -> Axis:
    """Make an axis that holds both values.

    >>> axis = axis_for(0.013, 0.402)
    >>> axis.ticks, axis.decimals
    ((0.1, 0.2, 0.3, 0.4), 1)
    """
    if not high > low:
        low, high = low - 0.5, high + 0.5
    margin = 0.03 * (high - low)
    low, high = low - margin, high + margin
    power = float(10.0 ** np.floor(np.log10((high - low) / most)))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if (high - low) / (m * power) <= most)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return Axis(low, high, tuple(round(k * step, decimals) + 0.0 for k in range(first, last + 1)), decimals)
