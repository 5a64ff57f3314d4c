"""How sure a mean or a difference is: the one door to every interval, p-value and probability.

Whoever states how sure a figure is, fills in `Certainty` and asks it; nobody else turns a standard error into a limit
or a probability. Two rules stand behind it. Scores of a known range go by the score test of `intervals`, which allows
for failures that were not seen. Other scores go by Student's t. Where nothing varies neither has more to go by than the
number of items:

- differences that are all the same but not 0 have a two-sided p-value of 2^(1 - n) at least, that of n sign flips;
- Student's interval is not estimable (NaN), the interval of bounded scores has a width;
- where all scores of both systems are one value, no loss could have shown: one-sided p-values are 1/2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Floats
from shardwise.stats import intervals, student
from shardwise.stats.intervals import BoundedMoments, PairMoments, Precision, Range

# estimates that differ by less than this share of the range are the same
SAME = 1e-6


class Certainty(NamedTuple):
    """Estimates of mean differences or of means with all that tells how sure they are, (…) each.

    Parameters
    ----------
    estimate : array
        Mean differences or means, in the units and with the sign of the scores.
    se : array
        Their standard errors by the test that was run; NaN where there is none.
    df : array
        Degrees of freedom of the standard errors.
    units : array
        Items, or clusters, behind each estimate.
    moments : PairMoments or BoundedMoments, optional
        Sums of the scores mapped to [0, 1], of pairs or of single systems; None without a range.
    effective : array, optional
        Effective numbers of items, n / design effect; with moments.
    bounds : Range, optional
        The range of the scores; with moments.
    sign : int
        -1 where lower scores are better: a gain is then a difference below 0; else 1.

    >>> new, base = np.array([[5.0, 4.0, 5.0, 5.0, 3.0]]), np.array([[5.0, 5.0, 5.0, 4.0, 3.0]])
    >>> scale = Range(1.0, 5.0)
    >>> moments = intervals.pair_moments(scale.map_scores(new), scale.map_scores(base))
    >>> n = moments.items
    >>> grades = Certainty((new - base).mean(axis=1), np.full(1, 0.316), n - 1.0, n, moments, n, scale)
    >>> [float(limit[0].round(2)) for limit in grades.limits(student.student_critical(0.05, n - 1.0))]
    [-2.27, 2.27]
    >>> grades.p_above(-0.5).round(3), grades._replace(moments=None).p_above(-0.5).round(3)
    (array([0.23]), array([0.094]))
    """

    estimate: Floats
    se: Floats
    df: Floats
    units: Floats
    moments: PairMoments | BoundedMoments | None = None
    effective: Floats | None = None
    bounds: Range | None = None
    sign: int = 1

    @property
    def in_range(self) -> Bools:
        """Whether each estimate is that of scores of known range, rather than of a model of them."""
        if self.moments is None or self.bounds is None:
            return np.zeros(np.shape(self.estimate), dtype=np.bool_)
        mean = self.moments.mean
        if isinstance(self.moments, PairMoments):
            restored = self.bounds.restore_differences(mean, mean)[0]
        else:
            restored = self.bounds.restore_means(mean, mean)[0]
        same = np.abs(restored - self.estimate) <= SAME * self.bounds.width
        return np.asarray(same & np.isfinite(self.se) & (self.moments.items >= 2.0))

    @property
    def uninformative(self) -> Bools:
        """Whether nothing could have shown a loss: all scores of both systems are one value, or none are known."""
        silent = np.asarray((self.se == 0.0) & (self.estimate == 0.0))
        if isinstance(self.moments, PairMoments):
            return np.asarray(np.where(self.in_range, self.moments.single_valued, silent))
        return silent

    def limits(self, critical: Floats | float) -> tuple[Floats, Floats]:
        """Compute the limits of confidence intervals, never of zero width; NaN where they are not estimable."""
        half = np.where(self.se > 0.0, critical * self.se, np.nan)
        lower, upper = self.estimate - half, self.estimate + half
        in_range = self.in_range
        if self.moments is None or self.bounds is None or not in_range.any():
            return lower, upper
        known = np.where(in_range & np.isfinite(critical), critical, 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            if isinstance(self.moments, PairMoments):
                unit = intervals.difference_limits(self.moments, known, self._precision)
                limits = self.bounds.restore_differences(*unit)
            else:
                precision, mean = self._precision, self.moments.mean
                unit = intervals.mean_limits(self.moments, known, items=precision.items)
                # what shards and seeds add to the variance of the items widens the limits
                of_items = self.moments.variance / precision.items
                more = known**2 * np.maximum(precision.variance - of_items, 0.0)
                limits = self.bounds.restore_means(
                    np.maximum(mean - np.sqrt((mean - unit[0]) ** 2 + more), 0.0),
                    np.minimum(mean + np.sqrt((unit[1] - mean) ** 2 + more), 1.0),
                )
        use = in_range & np.isfinite(critical)
        return np.where(use, limits[0], lower), np.where(use, limits[1], upper)

    @property
    def _precision(self) -> Precision:
        """Variance, degrees of freedom and number of items in units of the range."""
        assert self.bounds is not None
        assert self.effective is not None
        return Precision((self.se / self.bounds.width) ** 2, self.df, self.effective)

    def p_above(self, mu: Floats | float) -> Floats:
        """Compute one-sided p-values against differences of at most μ: small where the difference is above μ."""
        return self._one_sided(mu, 1.0)

    def p_gain(self, edge: float) -> Floats:
        """Compute one-sided p-values against gains of at most an edge: "no worse" at -margin, "better" at 0 or more."""
        return self._one_sided(self.sign * edge, float(self.sign))

    def p_loss(self, edge: float) -> Floats:
        """Compute one-sided p-values against losses of at most an edge, the mirror image of `p_gain`."""
        return self._one_sided(-self.sign * edge, -float(self.sign))

    def p_within(self, margin: float) -> Floats:
        """Return p-values of "the difference is smaller than the margin", the larger of two (Schuirmann 1987)."""
        return np.maximum(self.p_above(-margin), self._one_sided(margin, -1.0))

    def _one_sided(self, mu: Floats | float, sign: float) -> Floats:
        """p-values against sign·(difference - μ) ≤ 0."""
        distance = sign * (self.estimate - mu)
        # all differences on one side of μ and of one size: n sign flips
        flips = np.where(distance > 0.0, least_one_sided(self.units), 1.0)
        spread = np.where(self.se > 0.0, self.se, 1.0)
        p = np.where(self.se > 0.0, student.upper_tail(distance / spread, self.df), flips)
        p = np.where(np.isnan(self.se), np.nan, np.where((self.se == 0.0) & (distance == 0.0), 0.5, p))
        certain = np.zeros(p.shape, dtype=np.bool_)
        if isinstance(self.moments, PairMoments) and self.bounds is not None:
            # mapped scores have 1 for the best
            turn = -1.0 if self.bounds.lower_is_better else 1.0
            unit = turn * np.asarray(mu) / self.bounds.width
            with np.errstate(invalid="ignore", divide="ignore"):
                bounded = intervals.one_sided_p(self.moments, unit, self._precision, turn * sign)
            constant = self.moments.variance == 0.0
            bounded = np.where(constant, np.maximum(bounded, least_one_sided(self.units)), bounded)
            p = np.where(self.in_range, bounded, p)
            # no difference can leave the range
            certain = self.in_range & (sign * np.asarray(mu) < -self.bounds.width)
        return np.asarray(np.where(certain, 0.0, np.where(self.uninformative, np.maximum(p, 0.5), p)))


def least_one_sided(units: Floats | float) -> Floats:
    """Return the least one-sided p-value of so many differences of one size, 2^-n: one of all sign flips."""
    return np.asarray(np.exp2(-np.asarray(units, np.float64)))


def least_two_sided(units: Floats | float) -> Floats:
    """Return the least two-sided p-value of so many differences of one size, 2^(1 - n), at most 1.

    >>> least_two_sided(np.array([1.0, 2.0, 6.0])).tolist()
    [1.0, 0.5, 0.03125]
    """
    return np.asarray(np.minimum(2.0 * least_one_sided(units), 1.0))


def follow_test(
    limits: tuple[Floats, Floats], difference: Floats, significant: Bools
) -> tuple[Floats, Floats]:
    """Make intervals say what the test says of 0, and nothing where they have no width.

    A step-down test may find what simultaneous intervals do not: where it is significant, the limit towards 0 is 0 at
    the least, an open end that is printed ">0" or "<0". Where it is not, the interval holds 0.

    >>> both = np.array([-0.1, 0.1]), np.array([0.5, 0.3])
    >>> [limit.tolist() for limit in follow_test(both, np.array([0.2, 0.2]), np.array([True, False]))]
    [[0.0, 0.0], [0.5, 0.3]]
    """
    lower, upper = limits
    width = upper > lower
    lower = np.where(
        significant, np.where(difference > 0.0, np.maximum(lower, 0.0), lower), np.minimum(lower, 0.0)
    )
    upper = np.where(
        significant, np.where(difference < 0.0, np.minimum(upper, 0.0), upper), np.maximum(upper, 0.0)
    )
    return np.where(width, lower, np.nan), np.where(width, upper, np.nan)
