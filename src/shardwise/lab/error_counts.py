"""What a way of deciding did in one simulated table after another, held against the truth.

Every figure is kept replicate by replicate, because replicates are independent and pairs within one are not: a
Monte-Carlo interval rests on the number of replicates alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import special

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.methods.decisions import Decisions
from shardwise.stats.groups import count_wins
from shardwise.stats.proportions import clopper_pearson

TAIL = 0.025  # on each side of a Monte-Carlo interval
SAME = 1e-12  # true differences below this are none


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True differences of pairs: all of them in the order of np.triu_indices, or those asked for."""

    difference: Floats  # (P,)
    null: Bools  # (P,)
    sizes: Floats  # (G,) distinct absolute differences above 0
    size: Ints  # (P,) which of them; -1 for none
    best: Ints  # the systems that none is better than
    systems: int
    ia: Ints  # (P,) the pairs
    ib: Ints

    @classmethod
    def from_means(cls, means: Floats, pairs: tuple[Ints, Ints] | None = None) -> Truth:
        """Read off the differences of true means."""
        every = np.triu_indices(means.size, 1)
        a, b = every if pairs is None else pairs
        difference = means[a] - means[b]
        null = np.abs(difference) <= SAME
        # sizes are those of all pairs, so that tallies of some pairs can be put together with others
        apart = np.round(np.abs(means[every[0]] - means[every[1]]), 12)
        sizes: Floats = np.unique(apart[apart > SAME]).astype(np.float64)
        size = np.where(null, -1, np.searchsorted(sizes, np.round(np.abs(difference), 12)))
        return cls(
            difference, null, sizes, size, np.flatnonzero(means >= means.max() - SAME), means.size, a, b
        )


@dataclass(frozen=True, slots=True, eq=False)
class ErrorTally:
    """Figures of each replicate, (B,) each and (B, G) for each size of a difference; NaN where there is none.

    ``blamed`` alone is a sum over replicates: how often each system was in a pair of equal ones called different.
    """

    raw: Floats  # share of the equal pairs called different before any correction
    family: Floats  # 1 if any equal pair is called different
    discovery: Floats  # share of equal pairs among those called different
    smallest: Floats  # corrected p-value of the equal pair that has the smallest
    coverage: Floats  # share of intervals that hold the true difference; of the pairs found for bh and by
    together: Floats  # 1 if all intervals do
    best: Floats  # share of the best systems that the best set holds
    wrong_way: Floats  # pairs truly different and called different the wrong way round
    right_way: Floats
    found: Floats  # (B, G) share of the pairs of this true size called different, the right way round
    blamed: Floats  # (R,)


def count_errors(decisions: Decisions, truth: Truth, error_rate: str, alpha: float) -> ErrorTally:
    """Hold decisions against the truth."""
    called = decisions.p_adjusted <= alpha
    equal = truth.null
    agrees = np.sign(decisions.difference) == np.sign(truth.difference)
    n_called = called.sum(axis=1)
    false = called & equal
    none = np.full(len(called), np.nan)
    raw = (decisions.p[:, equal] <= alpha).mean(axis=1) if equal.any() else none
    family = false.any(axis=1).astype(float) if equal.any() else none
    smallest = decisions.p_adjusted[:, equal].min(axis=1) if equal.any() else none
    complete = truth.difference.size == truth.systems * (truth.systems - 1) // 2
    _, above = count_wins(called, decisions.difference, truth.ia, truth.ib, truth.systems)
    half = decisions.half_widths(alpha)
    holds = np.abs(decisions.difference - truth.difference) <= half
    if np.isnan(half).all():
        coverage = together = none
    elif error_rate == "discovery":  # Benjamini & Yekutieli 2005: true of the pairs that were selected
        coverage = 1.0 - (called & ~holds).sum(axis=1) / np.maximum(n_called, 1)
        together = none
    else:
        coverage, together = holds.mean(axis=1), holds.all(axis=1).astype(float)
    truly = called & ~truth.null
    right = truly & agrees
    detected = np.full((len(called), truth.sizes.size), np.nan)
    for g in range(truth.sizes.size):
        if (of_size := truth.size == g).any():
            detected[:, g] = right[:, of_size].mean(axis=1)
    by_pair = false.sum(axis=0).astype(np.float64)
    blamed = sum(np.bincount(side, by_pair, truth.systems) for side in (truth.ia, truth.ib))
    return ErrorTally(
        raw=raw,
        family=family,
        discovery=false.sum(axis=1) / np.maximum(n_called, 1),
        smallest=smallest,
        coverage=coverage,
        together=together,
        best=(above[:, truth.best] == 0).mean(axis=1) if complete else none,
        wrong_way=(truly & ~agrees).sum(axis=1).astype(float),
        right_way=right.sum(axis=1).astype(float),
        found=detected,
        blamed=np.asarray(blamed),
    )


def join_tallies(parts: Sequence[ErrorTally]) -> ErrorTally:
    """Join several chunks of replicates."""
    every = {name: [getattr(part, name) for part in parts] for name in ErrorTally.__slots__}
    return ErrorTally(
        **{name: sum(x) if name == "blamed" else np.concatenate(x) for name, x in every.items()}
    )


@dataclass(frozen=True, slots=True)
class Rate:
    """A simulated rate with its Monte-Carlo interval."""

    value: float
    low: float
    high: float
    n: int


def estimate_rate(x: Floats, tail: float = TAIL) -> Rate:
    """Average a figure over replicates; interval exact (Clopper-Pearson) for yes or no, else by the standard error.

    Parameters
    ----------
    x
        The figure of each replicate; those without one are NaN.
    tail
        Probability that chance may put the truth beyond either end of the interval.

    >>> found = estimate_rate(np.array([0.0] * 95 + [1.0] * 5))
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.05, 0.0164, 0.1128)
    """
    x = x[np.isfinite(x)]
    n = x.size
    if n == 0:
        return Rate(np.nan, np.nan, np.nan, 0)
    mean = float(x.mean())
    if np.isin(x, (0.0, 1.0)).all():
        return Rate(mean, *exact_interval(round(float(x.sum())), n, tail), n)
    se = float(x.std(ddof=1) / np.sqrt(n)) if n > 1 else np.inf
    return _build_rate(mean, -float(special.ndtri(tail)) * se, n)


def exact_interval(hits: int, n: int, tail: float = TAIL) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a probability, by its tail."""
    low, high = clopper_pearson(np.asarray(float(hits)), np.asarray(float(n)), 2.0 * tail)
    return float(low), float(high)


def estimate_ratio(part: Floats, whole: Floats, tail: float = TAIL) -> Rate:
    """Divide the sum of one figure by that of another, with an interval by the linearised standard error."""
    total = float(whole.sum())
    n = part.size
    if total == 0:
        return Rate(np.nan, np.nan, np.nan, n)
    value = float(part.sum()) / total
    if value == 0.0:
        return _build_rate(value, exact_interval(0, int((whole > 0).sum()), tail)[1], n)
    se = float(np.sqrt(np.sum((part - value * whole) ** 2)) / total)
    return _build_rate(value, -float(special.ndtri(tail)) * se, n)


def _build_rate(value: float, half: float, n: int) -> Rate:
    return Rate(value, max(0.0, value - half), min(1.0, value + half), n)


def level_for(smallest: Floats, alpha: float, tail: float = TAIL) -> Rate:
    """The largest level at which a share of at most alpha of the tables has an equal pair called different.

    The alpha quantile of the smallest corrected p-value among equal pairs, with the interval of order statistics.

    Parameters
    ----------
    smallest
        That p-value in each table.
    alpha
        The share that is promised.
    tail
        Probability that chance may put the truth beyond either end of the interval.

    >>> level_for(np.arange(1, 101) / 100, 0.05).value
    0.05
    """
    p = np.sort(smallest[np.isfinite(smallest)])
    n = p.size
    if n == 0:
        return Rate(np.nan, np.nan, np.nan, 0)
    ranks = (
        np.floor(alpha * n),
        scipy.stats.binom.ppf(tail, n, alpha),
        scipy.stats.binom.isf(tail, n, alpha),
    )
    value, low, high = (_largest_below(p, min(int(rank), n - 1)) for rank in ranks)
    return Rate(value, low, high, n)


def _largest_below(p: Floats, rank: int) -> float:
    """Return the largest p-value of sorted ones that at most ``rank`` of them reach; resampled p-values tie."""
    under = int(np.searchsorted(p, p[rank]))
    return float(p[under - 1]) if under else 0.0
