"""Bootstrap distributions as the rest of the library sees them: around an effect, and between two systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.methods.bootstrap.draws import Spread, find_quantiles, first_where

Null = Literal["difference", "marginal"]


@dataclass(frozen=True, slots=True, eq=False)
class EffectDistribution:
    """Bootstrap distribution of a quantity: an estimate plus the spread of its resampled error."""

    estimate: float
    spread: Spread
    scale: float = 1.0  # by which the resampled error is multiplied

    def cdf(self, x: Floats | float) -> Floats:
        """P(value ≤ x)."""
        return self.spread.at_most(self._standardize_error(x))

    def sf(self, x: Floats | float) -> Floats:
        """P(value ≥ x)."""
        return self.spread.at_least(self._standardize_error(x))

    def density(self, x: Floats | float) -> Floats:
        """Density at x."""
        return np.asarray(self.spread.density(self._standardize_error(x)) / self.scale)

    def quantile(self, p: Floats | float) -> Floats:
        """Return the values that the distribution stays below with probability p."""
        p = np.asarray(p, np.float64)
        if not ((p > 0) & (p < 1)).all():
            raise InputError("the probability of a quantile is not between 0 and 1")
        return np.asarray(self.estimate + self.scale * find_quantiles(self.spread, p))

    def curve(self, points: int = 201) -> pd.DataFrame:
        """Return ``value, density, cdf`` over the middle 99.98 % of the distribution, for plotting (V17 Fig. 3)."""
        low, high = self.quantile(np.array([1e-4, 1.0 - 1e-4]))
        value = np.linspace(low, high, points)
        return pd.DataFrame({"value": value, "density": self.density(value), "cdf": self.cdf(value)})

    def _standardize_error(self, x: Floats | float) -> Floats:
        return np.asarray((np.asarray(x, np.float64) - self.estimate) / self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class PairDistribution:
    """What differences of two systems are measured against: the bootstrap distribution of an error, one a table."""

    spreads: tuple[Spread, ...]
    tails: int
    scale: float  # by which the resampled error is multiplied
    name: str  # what distribution this is

    def p_values(self, differences: Floats) -> Floats:
        """(…, P) P(X ≥ d), with two tails plus P(X ≤ -d), X the error of a difference or of one system's effect."""
        d = np.asarray(differences, np.float64) / self.scale
        rows = zip(self.spreads, d.reshape(len(self.spreads), -1), strict=True)
        return np.stack([self._p_values(spread, row) for spread, row in rows]).reshape(d.shape)

    def critical(self, level: Floats | float) -> Floats:
        """(…,) smallest differences whose p-values are at most the levels; infinite where resamples are too few."""
        levels = np.asarray(level, np.float64)
        each = zip(self.spreads, levels.ravel().tolist(), strict=True)
        differences = np.array([self._critical_difference(spread, alpha) for spread, alpha in each])
        return (differences * self.scale).reshape(levels.shape)

    def _p_values(self, spread: Spread, d: Floats) -> Floats:
        p = spread.at_least(d)
        return np.minimum(p + spread.at_most(-d), 1.0) if self.tails == 2 else p

    def _critical_difference(self, spread: Spread, alpha: float) -> float:
        reach = max(abs(end) for end in spread.span) * (1.0 + 1e-9)
        # beyond it nothing is left but what resampling adds to every count
        beyond = reach * (1.0 + 1e-6) + 1e-300
        nothing, most, more = self._p_values(spread, np.array([0.0, reach, beyond])) <= alpha
        if nothing or not most:
            return 0.0 if nothing else beyond if more else np.inf
        return first_where(lambda d: self._p_values(spread, d) <= alpha, 0.0, reach)
