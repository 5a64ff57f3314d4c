"""An axis with round ticks, for drawings that the page makes itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

WIDTH = 1000.0  # units of the drawing


@dataclass(frozen=True, slots=True)
class Axis:
    """From the lowest to the highest value, with ticks at round numbers between."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int

    def locate_value(self, value: float) -> float:
        """Return the position of a value in units of the drawing, to a tenth; an infinite one lies on the edge."""
        inside = min(max(value, self.low), self.high)
        return round(WIDTH * (inside - self.low) / (self.high - self.low), 1)

    @property
    def grid(self) -> str:
        """Lines at the ticks, 20 units high, as the path of a drawing."""
        return "".join(f"M{self.locate_value(tick):g} 0v20" for tick in self.ticks)


def make_axis(values: ArrayLike, most: int = 6) -> Axis:
    """Make an axis that holds all finite values.

    Parameters
    ----------
    values : array-like
        Numbers to be drawn; infinite and missing ones do not widen the axis.
    most : int
        Most ticks.

    Returns
    -------
    Axis
        From 0 to 1 where no value is finite.

    >>> axis = make_axis([0.013, 0.402, np.inf])
    >>> axis.ticks, axis.decimals, axis.locate_value(np.inf)
    ((0.1, 0.2, 0.3, 0.4), 1, 1000.0)
    """
    numbers = np.asarray(values, dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    # equal values, and such as differ by rounding only, have no scale of their own
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        room = max(0.5, 1e-6 * abs(low))
        low, high = low - room, high + room
    margin = 0.03 * (high - low)
    low, high = low - margin, high + margin
    power = float(10.0 ** np.floor(np.log10((high - low) / most)))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0, 20.0) if (high - low) / (m * power) <= most)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return Axis(low, high, tuple(round(k * step, decimals) + 0.0 for k in range(first, last + 1)), decimals)
