"""Measure the agreement of raters: percent, Cohen's κ, Krippendorff's α, each with limits of one and the same kind.

Every one of them is 1 - D_o/D_e: D_o the mean disagreement that was seen, D_e the one that chance would bring (1 for
percent agreement). Disagreements lie in [0, 1], so that D_o is the mean of bounded scores and has their limits
(Wilson's with t, where raters agree or do not); those of the statistic follow with D_e as it is.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.stats.intervals import mean_limits, score_moments
from shardwise.stats.student import student_critical
from shardwise.stats.units import cluster_variance

Metric = Literal["nominal", "ordinal", "interval"]


class Agreement(NamedTuple):
    """Disagreements of raters that were seen, and what chance would bring."""

    # (n,) in [0, 1], and how much each counts, 1 on average
    disagreements: Floats
    weights: Floats
    chance: float

    @property
    def estimate(self) -> float:
        """1 - D_o/D_e; NaN where chance brings no disagreement."""
        seen = float((self.weights * self.disagreements).mean())
        return 1.0 - seen / self.chance if self.chance > 0.0 else float("nan")

    def limits(self, alpha: float, unit: Ints) -> tuple[float, float]:
        """Compute the limits of the estimate, disagreements of one unit counted together."""
        if not self.chance > 0.0:
            return float("nan"), float("nan")
        variance = cluster_variance(self.disagreements, unit)
        # unequal weights make fewer items of many (Kish 1965)
        items = float(variance.items) / float(np.square(self.weights).mean())
        moments = score_moments(1.0 - self.disagreements, self.weights)
        lower, upper = mean_limits(moments, student_critical(alpha, variance.df), items=np.asarray(items))
        return 1.0 - (1.0 - float(lower)) / self.chance, 1.0 - (1.0 - float(upper)) / self.chance


def percent_agreement(a: Floats, b: Floats) -> Agreement:
    """Return the share of equal values of two raters.

    >>> round(percent_agreement(np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0])).estimate, 4)
    0.6667
    """
    return Agreement((a != b).astype(np.float64), np.ones(len(a)), 1.0)


def cohen_kappa(a: Floats, b: Floats, power: int = 0) -> Agreement:
    """Return Cohen's κ of two raters, 1 - Σ w·o / Σ w·e.

    >>> a, b = np.repeat([0.0, 0.0, 1.0, 1.0], [20, 5, 10, 15]), np.repeat([0.0, 1.0, 0.0, 1.0], [20, 5, 10, 15])
    >>> round(cohen_kappa(a, b).estimate, 6)
    0.4
    """
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    k, n = len(values), len(a)
    gap = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    weight = (gap > 0.0).astype(np.float64) if power == 0 else (gap / max(k - 1.0, 1.0)) ** power
    shares = [np.bincount(part, minlength=k) / n for part in (codes[:n], codes[n:])]
    return Agreement(weight[codes[:n], codes[n:]], np.ones(n), float(shares[0] @ weight @ shares[1]))


def krippendorff_alpha(ratings: Floats, metric: Metric = "nominal") -> Agreement:
    """Return Krippendorff's α of several raters, some of whose values may be missing.

    >>> ratings = np.array([[1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 3.0, 1.0]])
    >>> round(krippendorff_alpha(ratings).estimate, 6)
    0.666667
    """
    known = np.isfinite(ratings)
    number = known.sum(axis=0).astype(np.float64)
    values, codes = np.unique(ratings[known], return_inverse=True)
    places = values
    if metric == "ordinal":
        # the number of values below a category, half of its own included
        margin = np.bincount(codes).astype(np.float64)
        places = np.cumsum(margin) - margin / 2.0
    counts = np.zeros((len(values), ratings.shape[1]))
    np.add.at(counts, (codes, np.broadcast_to(np.arange(ratings.shape[1]), ratings.shape)[known]), 1.0)
    pairs = number * (number - 1.0)
    if metric == "nominal":
        within = (number**2 - (counts**2).sum(axis=0)) / pairs
        total = counts.sum(axis=1)
        between = (total.sum() ** 2 - (total**2).sum()) / (total.sum() * (total.sum() - 1.0))
        return Agreement(within, number / number.mean(), float(between))
    # squared distances: twice the variance, in units of the largest
    places = (places - places[0]) / max(float(places[-1] - places[0]), 1e-300)
    total = counts.sum(axis=1)
    within = 2.0 * (number * (places**2 @ counts) - (places @ counts) ** 2) / pairs
    n = float(total.sum())
    between = 2.0 * (n * float(places**2 @ total) - float(places @ total) ** 2) / (n * (n - 1.0))
    return Agreement(np.clip(within, 0.0, 1.0), number / number.mean(), between)
