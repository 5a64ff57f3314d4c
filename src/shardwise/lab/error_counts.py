"""What a way of deciding did in one simulated table after another, held against the truth.

Every figure is kept replicate by replicate, because replicates are independent and pairs within one are not: a
Monte-Carlo interval rests on the number of replicates alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from shardwise.comparing.decisions import Decisions
from shardwise.core.arrays import Bools, Floats, Ints

LEVEL = 0.95  # of Monte-Carlo intervals
SAME = 1e-12  # true differences below this are none


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True differences of all pairs, in the order of np.triu_indices."""

    difference: Floats  # (P,)
    null: Bools  # (P,)
    sizes: Floats  # (G,) distinct absolute differences above 0
    size: Ints  # (P,) which of them; -1 for none

    @classmethod
    def of(cls, means: Floats) -> Truth:
        """Read off the differences of true means."""
        a, b = np.triu_indices(means.size, 1)
        difference = means[a] - means[b]
        null = np.abs(difference) <= SAME
        rounded = np.round(np.abs(difference), 12)
        sizes: Floats = np.unique(rounded[~null]).astype(np.float64)
        size = np.where(null, -1, np.searchsorted(sizes, rounded))
        return cls(difference, null, sizes, size)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Figures of each replicate, (B,) each and (B, G) for each size of a difference; NaN where there is none."""

    raw: Floats  # share of the equal pairs called different before any correction
    family: Floats  # 1 if any equal pair is called different
    discovery: Floats  # share of equal pairs among those called different
    coverage: (
        Floats  # share of intervals that hold the true difference; of those called different for bh and by
    )
    together: Floats  # 1 if all intervals do
    wrong_way: Floats  # pairs truly different and called different the wrong way round
    right_way: Floats
    found: Floats  # (B, G) share of the pairs of this true size called different, the right way round


def tally(decisions: Decisions, truth: Truth, promise: str, alpha: float) -> Tally:
    """Hold decisions against the truth."""
    asked = np.isfinite(decisions.p_adjusted).any(axis=0)
    called = decisions.p_adjusted <= alpha
    equal = truth.null & asked
    agrees = np.sign(decisions.difference) == np.sign(truth.difference)
    n_called = called.sum(axis=1)
    false = called & equal
    none = np.full(len(called), np.nan)
    raw = (decisions.p[:, equal] <= alpha).mean(axis=1) if equal.any() else none
    family = false.any(axis=1).astype(float) if equal.any() else none
    half = decisions.half_widths(alpha)
    holds = (np.abs(decisions.difference - truth.difference) <= half) | ~asked
    if np.isnan(half).all():
        coverage = together = none
    elif promise == "discovery":  # Benjamini & Yekutieli 2005: true of the pairs that were selected
        coverage = 1.0 - (called & ~holds).sum(axis=1) / np.maximum(n_called, 1)
        together = none
    else:
        coverage, together = holds[:, asked].mean(axis=1), holds.all(axis=1).astype(float)
    truly = called & ~truth.null
    right = truly & agrees
    found = np.full((len(called), truth.sizes.size), np.nan)
    for g in range(truth.sizes.size):
        if (of_size := (truth.size == g) & asked).any():
            found[:, g] = right[:, of_size].mean(axis=1)
    return Tally(
        raw=raw,
        family=family,
        discovery=false.sum(axis=1) / np.maximum(n_called, 1),
        coverage=coverage,
        together=together,
        wrong_way=(truly & ~agrees).sum(axis=1).astype(float),
        right_way=right.sum(axis=1).astype(float),
        found=found,
    )


def joined(parts: list[Tally]) -> Tally:
    """Several chunks of replicates as one."""
    return Tally(*(np.concatenate([getattr(part, name) for part in parts]) for name in Tally.__slots__))


@dataclass(frozen=True, slots=True)
class Rate:
    """A simulated rate with its Monte-Carlo interval."""

    value: float
    low: float
    high: float
    n: int
    se: float  # of the mean over replicates; NaN where these are yes or no

    def exceeds(self, nominal: float, doubt: float = 0.01) -> bool:
        """Whether chance alone would bring a rate so far above nominal with a probability below ``doubt``.

        >>> rate(np.repeat([0.0, 1.0], [752, 48])).exceeds(0.05), rate(np.repeat([0.0, 1.0], [740, 60])).exceeds(0.05)
        (False, True)
        """
        if not self.value > nominal:
            return False
        if np.isnan(self.se):
            return bool(stats.binom.sf(round(self.value * self.n) - 1, self.n, nominal) < doubt)
        return bool(stats.norm.sf((self.value - nominal) / max(self.se, 1e-300)) < doubt)


def rate(x: Floats) -> Rate:
    """Mean of a figure over replicates. Exact (Clopper-Pearson) for yes or no, by the spread of replicates otherwise.

    >>> found = rate(np.array([0.0] * 95 + [1.0] * 5))
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.05, 0.0164, 0.1128)
    """
    x = x[np.isfinite(x)]
    n = x.size
    if n == 0:
        return Rate(np.nan, np.nan, np.nan, 0, np.nan)
    mean = float(x.mean())
    tail = (1 - LEVEL) / 2
    if np.isin(x, (0.0, 1.0)).all():
        hits = round(float(x.sum()))
        low = float(stats.beta.ppf(tail, hits, n - hits + 1)) if hits else 0.0
        high = float(stats.beta.isf(tail, hits + 1, n - hits)) if hits < n else 1.0
        return Rate(mean, low, high, n, np.nan)
    se = float(x.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    half = float(stats.norm.isf(tail)) * se
    return Rate(mean, max(0.0, mean - half), min(1.0, mean + half), n, se)


def ratio(part: Floats, whole: Floats) -> Rate:
    """Sum of one figure over the sum of another, with an interval by the linearised spread of replicates."""
    total = float(whole.sum())
    n = part.size
    if total == 0:
        return Rate(np.nan, np.nan, np.nan, n, np.nan)
    value = float(part.sum()) / total
    spread = part - value * whole
    se = float(np.sqrt(np.sum(spread**2)) / total)
    half = float(stats.norm.isf((1 - LEVEL) / 2)) * se
    if value == 0.0:
        half = float(stats.beta.isf((1 - LEVEL) / 2, 1, int((whole > 0).sum())))  # none in so many replicates
    return Rate(value, max(0.0, value - half), min(1.0, value + half), n, se)
