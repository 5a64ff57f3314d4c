"""Likelihood intervals of variances: how far can one go before the others cannot make up for it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy
from scipy import linalg

from shardwise.core.arrays import Floats
from shardwise.methods.mixed.balanced import Lines
from shardwise.methods.mixed.blocks import Problem
from shardwise.methods.mixed.information import variance_information
from shardwise.methods.mixed.reml import evaluate_likelihood, restricted_deviance
from shardwise.stats.threads import one_thread

STEPS = 60


class Surface(Protocol):
    """-2 log restricted likelihood as a function of the variances, the residual one last."""

    def evaluate_at(self, variances: Floats) -> tuple[float, Floats, Floats]:
        """Value, slope and expected information."""


@dataclass(frozen=True, slots=True, eq=False)
class BalancedSurface:
    """The likelihood of four mean squares, whose expectations are linear in the variances."""

    lines: Lines

    def evaluate_at(self, variances: Floats) -> tuple[float, Floats, Floats]:
        """Value (up to a constant), slope and expected information."""
        l, m, n = self.lines.shape  # noqa: E741
        multiplicity = n if self.lines.design == "nested" else l * n
        linear = np.array(
            [[l * m, m, 0, 1], [0, m, 0, 1], [0, 0, multiplicity, 1], [0, 0, 0, 1]], dtype=float
        )
        phi = linear @ variances
        df, ss = self.lines.df, self.lines.ss
        value = float((df * np.log(phi) + ss / phi).sum())
        slope = linear.T @ (df / phi - ss / phi**2)
        return value, slope, linear.T @ np.diag(0.5 * df / phi**2) @ linear


@dataclass(frozen=True, slots=True, eq=False)
class GeneralSurface:
    """The likelihood of any design."""

    data: Problem

    def evaluate_at(self, variances: Floats) -> tuple[float, Floats, Floats]:
        """Value, slope and expected information."""
        sigma2 = float(variances[-1])
        state = evaluate_likelihood(self.data, variances[:-1] / sigma2)
        info = variance_information(self.data, state, sigma2)
        return restricted_deviance(self.data, state, sigma2), info.slope, info.expected


def profile_interval(surface: Surface, best: Floats, k: int, level: float) -> tuple[float, float]:
    """Values of variance k at which the deviance, the others at their best, is χ²₁(level) above its minimum."""
    limit = float(scipy.stats.chi2.ppf(level, 1))
    bottom = surface.evaluate_at(best)[0]

    def excess_deviance(sd: float) -> float:
        start = best.copy()
        start[k] = sd**2
        return _minimise_deviance(surface, start, k) - bottom - limit

    with one_thread():
        middle = float(np.sqrt(best[k]))
        scale = middle or float(np.sqrt(best[-1])) * 0.1
        return _lower_limit(excess_deviance, middle, k == len(best) - 1), _upper_limit(
            excess_deviance, middle, scale
        )


def _lower_limit(excess: Callable[[float], float], middle: float, is_residual: bool) -> float:
    if middle == 0.0 or (not is_residual and excess(0.0) <= 0.0):
        return 0.0
    low = 0.0
    if is_residual:
        low = 0.7 * middle
        while excess(low) < 0.0:
            low *= 0.7
    return float(scipy.optimize.brentq(excess, low, middle, xtol=1e-10 * middle)) ** 2


def _upper_limit(excess: Callable[[float], float], middle: float, scale: float) -> float:
    high = middle + scale
    while excess(high) < 0.0:
        high = middle + 2.0 * (high - middle)
    return float(scipy.optimize.brentq(excess, middle, high, xtol=1e-10 * scale)) ** 2


def _minimise_deviance(surface: Surface, v: Floats, fixed: int) -> float:
    """Least deviance with variance `fixed` held, by scoring steps."""
    value, slope, info = surface.evaluate_at(v)
    for _ in range(STEPS):
        free = (v > 0.0) | (slope < 0.0)
        free[fixed] = False
        direction = np.zeros_like(v)
        inside = np.ix_(free, free)
        direction[free] = -0.5 * (linalg.pinvh(info[inside], check_finite=False) @ slope[free])
        gain = -float(slope @ direction)
        if gain < 1e-11 * (1.0 + abs(value)):
            break
        length = 1.0
        if direction[-1] < 0.0:  # the residual variance stays above 0
            length = min(1.0, -0.9 * v[-1] / direction[-1])
        while length > 1e-8:
            trial = np.maximum(v + length * direction, 0.0)
            evaluated = surface.evaluate_at(trial)
            if evaluated[0] < value:
                break
            length /= 4.0
        else:
            break
        v, (value, slope, info) = trial, evaluated
    return value
