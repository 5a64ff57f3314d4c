"""What a way of deciding did in one simulated table after another, held against the truth.

Every figure is kept replicate by replicate, because replicates are independent and pairs within one are not: a
Monte-Carlo interval rests on the number of replicates alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy import special

from shardwise.core.arguments import validate_count
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.stats.groups import count_wins
from shardwise.stats.intervals import clopper_pearson

TAIL = 0.025  # on each side of a Monte-Carlo interval
BUDGET = 2_000  # tables of a scenario, where nothing is said
FIRST = 100  # tables before the first look, at least
LEAST = 10
SLACK = (
    1.1  # approximations such as Satterthwaite's may err by a tenth of the level without being called wrong
)
TOLERANCE = 1.5  # a rate is taken to hold if its interval ends below one and a half of the level
SAME = 1e-12  # true differences below this are none


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True differences of pairs: all of them in the order of np.triu_indices, or those asked for."""

    difference: Floats  # (P,)
    null: Bools  # (P,)
    sizes: Floats  # (G,) distinct absolute differences above 0
    size: Ints  # (P,) which of them; -1 for none
    means: Floats  # (R,)
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
        return cls(difference, null, sizes, size, means, a, b)

    @property
    def systems(self) -> int:
        """Number of systems."""
        return self.means.size

    @property
    def best(self) -> Ints:
        """The systems that none is better than."""
        return np.flatnonzero(self.means >= self.means.max() - SAME)

    def rank_ends(self) -> tuple[Ints, Ints]:
        """Return (R,) the first and the last rank that each system has; equal ones may have any of theirs."""
        ahead = self.means[None, :] - self.means[:, None]
        return 1 + (ahead > SAME).sum(axis=1), self.systems - (ahead < -SAME).sum(axis=1)


Figures = dict[str, Floats]
"""Figures of each replicate by name, replicates first; NaN where there is none.

raw: share of the equal pairs called different before any correction; family: 1 if any equal pair is called different;
discovery: share of equal pairs among those called different; smallest: corrected p-value of the equal pair that has the
smallest; coverage: share of intervals that hold the true difference, of the pairs found for bh and by; together: 1 if
all intervals do; width: mean width of the intervals; best: share of the best systems that the best set holds; ranks: 1
if every rank range holds a true rank; wrong_way, right_way: pairs truly different and called different the wrong and
the right way round; found: (B, G) share of the pairs of each true size called different the right way round; blamed:
(B, R) false alarms with each system.
"""


def count_errors(
    decided: Any, truth: Truth, error_rate: str, alpha: float, covered: Bools | None = None
) -> Figures:
    """Hold decisions on (B, P) pairs against the truth; ``covered``: which intervals hold it, where that is known."""
    called = decided.p_adjusted <= alpha
    equal, n_called = truth.null, called.sum(axis=1)
    agrees = np.sign(decided.difference) == np.sign(truth.difference)
    false, truly = called & equal, called & ~equal
    right = truly & agrees
    none = np.full(len(called), np.nan)
    half = decided.half_widths(alpha) if covered is None else np.zeros(1)
    holds = np.abs(decided.difference - truth.difference) <= half if covered is None else covered
    coverage, together = holds.mean(axis=1), holds.all(axis=1).astype(float)
    if error_rate == "discovery":  # Benjamini & Yekutieli 2005: true of the pairs that were selected
        coverage, together = 1.0 - (called & ~holds).sum(axis=1) / np.maximum(n_called, 1), none
    if np.isnan(half).all():
        coverage = together = none
    below, above = count_wins(called, decided.difference, truth.ia, truth.ib, truth.systems)
    complete = truth.difference.size == truth.systems * (truth.systems - 1) // 2
    highest, lowest = truth.rank_ends()
    held = (1 + above <= lowest) & (truth.systems - below >= highest)
    detected = np.full((len(called), truth.sizes.size), np.nan)
    for g in range(truth.sizes.size):
        if (of_size := truth.size == g).any():
            detected[:, g] = right[:, of_size].mean(axis=1)
    first, second = count_wins(false, np.ones(false.shape), truth.ia, truth.ib, truth.systems)
    return {
        "raw": (decided.single_p[:, equal] <= alpha).mean(axis=1) if equal.any() else none,
        "family": false.any(axis=1).astype(float) if equal.any() else none,
        "discovery": false.sum(axis=1) / np.maximum(n_called, 1),
        "smallest": decided.p_adjusted[:, equal].min(axis=1) if equal.any() else none,
        "coverage": coverage,
        "together": together,
        "width": 2.0 * np.broadcast_to(half, called.shape).mean(axis=1),
        "best": (above[:, truth.best] == 0).mean(axis=1) if complete else none,
        "ranks": held.all(axis=1).astype(float) if complete else none,
        "wrong_way": (truly & ~agrees).sum(axis=1).astype(float),
        "right_way": right.sum(axis=1).astype(float),
        "found": detected,
        "blamed": (first + second).astype(np.float64),
    }


def join_figures(parts: Sequence[Figures]) -> Figures:
    """Join several chunks of replicates."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True, slots=True)
class Rate:
    """A simulated rate with its Monte-Carlo interval."""

    value: float
    low: float
    high: float
    n: int


def estimate_rate(x: Floats, tail: float = TAIL) -> Rate:
    """Average a figure over replicates; interval exact (Clopper-Pearson) for yes or no, else by the standard error.

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


# Group-sequential stopping. Tables are drawn in batches, each as large as all before it, and the figures are looked
# at after each. Whoever looks K times at W scenarios, and stops when an interval says something clear, has K·W chances
# of being misled; so each interval is that of Clopper and Pearson with a tail of 2.5 % / (K·W). By Bonferroni's
# inequality all of them hold together with 95 %, whenever one stops (repeated confidence intervals: Jennison & Turnbull
# 1989).


def plan_looks(repetitions: int | None, budget: int | None) -> tuple[int, ...]:
    """Plan the interim looks: numbers of tables of a scenario, one only where a number was asked for.

    >>> plan_looks(None, 1000), plan_looks(30, None)
    ((125, 250, 500, 1000), (30,))
    """
    if repetitions is not None and budget is not None:
        raise InputError(
            "a number of repetitions and a budget at once", remedy="give one of them", argument="budget"
        )
    given = (
        {"budget": BUDGET if budget is None else budget}
        if repetitions is None
        else {"repetitions": repetitions}
    )
    ((name, most),) = given.items()
    if validate_count(most, name, least=0) < LEAST:
        raise InputError(f"{most} repetitions say nothing", remedy="use 200 or more")
    plan = [most]
    while repetitions is None and plan[0] >= 2 * FIRST:
        plan.insert(0, -(-plan[0] // 2))
    return tuple(plan)


def interval_tail(n_looks: int, scenarios: int) -> float:
    """Return the tail of each interval, so that those of all looks and scenarios hold together.

    >>> interval_tail(4, 5)
    0.00125
    """
    return TAIL / (n_looks * scenarios)


def judge_interval(low: float, high: float, alpha: float) -> str:
    """Judge the interval of an error rate: it holds the level, it fails, or neither is clear.

    >>> judge_interval(.04, .064, .05), judge_interval(.02, .11, .05), judge_interval(.06, .09, .05)
    ('holds', 'unclear', 'fails')
    """
    if low > SLACK * alpha:
        return "fails"
    return "holds" if high <= TOLERANCE * alpha else "unclear"
