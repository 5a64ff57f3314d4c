"""Bootstrap laws as the rest of the library sees them: around an effect, and between two systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.numerics.bootstrap import inverted
from shardwise.numerics.bootstrap.draws import STEPS, Spread, quantiles
from shardwise.numerics.bootstrap.inverted import Inverted

Null = Literal["difference", "marginal"]


@dataclass(frozen=True, slots=True, eq=False)
class EffectLaw:
    """Bootstrap law of a quantity: an estimate plus the spread of its resampled error."""

    estimate: float
    spread: Spread
    scale: float = 1.0  # by which the resampled error is multiplied

    def cdf(self, x: Floats | float) -> Floats:
        """P(value ≤ x)."""
        return self.spread.at_most(self._error(x))

    def sf(self, x: Floats | float) -> Floats:
        """P(value ≥ x)."""
        return self.spread.at_least(self._error(x))

    def density(self, x: Floats | float) -> Floats:
        """Density at x."""
        return np.asarray(self.spread.density(self._error(x)) / self.scale)

    def quantile(self, p: Floats | float) -> Floats:
        """Return the values that the law stays below with probability p."""
        p = np.asarray(p, np.float64)
        if not ((p > 0) & (p < 1)).all():
            raise InputError("a quantile is asked for a probability not between 0 and 1")
        return np.asarray(self.estimate + self.scale * quantiles(self.spread, p))

    def curve(self, points: int = 201) -> pd.DataFrame:
        """Return ``value, density, cdf`` over the middle 99.98 % of the law, for plotting (V17 Fig. 3)."""
        low, high = self.quantile(np.array([1e-4, 1.0 - 1e-4]))
        value = np.linspace(low, high, points)
        return pd.DataFrame({"value": value, "density": self.density(value), "cdf": self.cdf(value)})

    def _error(self, x: Floats | float) -> Floats:
        return np.asarray((np.asarray(x, np.float64) - self.estimate) / self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class PairLaw:
    """What a difference of two systems is measured against: the bootstrap law of an error, with its tails."""

    spread: Spread
    null: Null
    tails: int
    scale: float
    words: str

    @property
    def name(self) -> str:
        """What law this is."""
        return self.words

    def p_values(self, differences: Floats) -> Floats:
        """P(X ≥ d), with two tails plus P(X ≤ -d), X the error of a difference or of one system's effect."""
        d = np.asarray(differences, np.float64) / self.scale
        if isinstance(self.spread, Inverted):
            out = np.empty(d.size)
            inverted.p_values(d.ravel(), self.tails, self.spread, out)
            return out.reshape(d.shape)
        p = self.spread.at_least(d)
        return np.asarray(np.minimum(p + self.spread.at_most(-d), 1.0) if self.tails == 2 else p)

    def critical(self, level: Floats | float) -> Floats:
        """Smallest difference whose p-value is at most the level; infinite where resamples are too few for it."""
        alpha = float(level)
        if isinstance(self.spread, Inverted):
            found = inverted.critical(alpha, self.tails, self.spread)
            if not np.isnan(found):
                return np.asarray(found * self.scale)
        low, high = 0.0, max(abs(end) for end in self.spread.span) * self.scale * (1.0 + 1e-9)
        if self.p_values(np.array([low]))[0] <= alpha:
            return np.asarray(0.0)
        if self.p_values(np.array([high]))[0] > alpha:
            beyond = high * (1.0 + 1e-6) + 1e-300
            return np.asarray(beyond if self.p_values(np.array([beyond]))[0] <= alpha else np.inf)
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            if self.p_values(np.array([middle]))[0] <= alpha:
                high = middle
            else:
                low = middle
        return np.asarray(high)


@dataclass(frozen=True, slots=True, eq=False)
class PairLaws:
    """The laws of many tables, one each."""

    laws: tuple[PairLaw, ...]

    @property
    def name(self) -> str:
        """What laws these are."""
        return self.laws[0].name

    def p_values(self, differences: Floats) -> Floats:
        """(B, P) p-values of the differences of each table."""
        return np.stack([law.p_values(d) for law, d in zip(self.laws, differences, strict=True)])

    def critical(self, level: Floats | float) -> Floats:
        """(B,) smallest differences whose p-values are at most the levels."""
        levels = np.broadcast_to(level, (len(self.laws),))
        return np.array([float(law.critical(x)) for law, x in zip(self.laws, levels.tolist(), strict=True)])
