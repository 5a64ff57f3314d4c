"""How sure a mean or a difference is: the one home of every interval, one-sided p-value and probability of these.

Whoever states how sure a figure is, fills in `Certainty` and asks it; nobody else turns a standard error into a limit
or a probability. Two rules stand behind it. Scores of a known range go by the score test below, which allows for
failures that were not seen. Other scores go by Student's t. Where nothing varies neither has more to go by than the
number of items:

- differences that are all the same but not 0 have a two-sided p-value of 2^(1 - n) at least, that of n sign flips;
- Student's interval is not estimable (NaN), the interval of bounded scores has a width;
- where all scores of both systems are one value, no loss could have shown: one-sided p-values are 1/2.

A sample without failures does not prove that failures never happen. Tango's (1998) score interval for two shares of
right answers asks how variable the differences would be if their mean were μ, not how variable they were. The functions
here do the same for any scores in [0, 1]. With d the differences new - base of n items, m their mean, d₊ and d₋ their
positive and negative parts, and for a mean difference μ under question,

    k = max((Σ y² + 1) / (Σ y + 1), √mean d²),    y the base's scores if μ < m, else the new system's,
    g = mean d₊²/k²,  l = mean d₋²/k²,  δ = g - l - (m - μ)/k  within [-1, 1],
    h = -g - l + (2 - g + l)δ,  q = (√(h² + 8lδ(1 - δ)) - h)/4,
    excess(μ) = m² - μ² + k²(2q + δ - g - l),

the interval is {μ : |m - μ| ≤ c·√(var + excess(μ)/n)}, var the estimated variance of the mean difference and c the
critical value of the test that was run. k is what one failure costs; right and wrong answers have k = 1 and give
Tango's interval. Scores of other ranges are mapped to [0, 1] first (`Range`). All functions take leading axes, one
entry a pair or a system.

`clopper_pearson` is the exact interval of a probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import special

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.stats import units
from shardwise.stats.student import NO_VARIANCE, student_critical, upper_tail

# distances up to this, of scores in [0, 1], are rounding
ROUNDING = 1e-12
# halvings of a stretch of length 2 at most: down to rounding
HALVINGS = 54
# doublings of a first guess of the number of items, beyond which none suffices
MOST_DOUBLINGS = 60
# estimates that differ by less than this share of the range are the same
SAME = 1e-6
# differences of pairs on items that are held at a time
BLOCK = 4_000_000
# share below which differences are sparse: normal ones have 2/π, right and wrong answers their share of disagreements
SPARSE = 0.5


class Range(NamedTuple):
    """The lowest and the highest score that a measure can have, and whether lower scores are better."""

    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False

    @property
    def width(self) -> float:
        """Distance between the ends."""
        return self.high - self.low

    def map_scores(self, scores: Floats) -> Floats:
        """Map scores to [0, 1], 1 the best score.

        >>> Range(1.0, 5.0).map_scores(np.array([1.0, 2.0, 5.0])).tolist()
        [0.0, 0.25, 1.0]
        >>> Range(0.0, 2.0, lower_is_better=True).map_scores(np.array([0.0, 0.5])).tolist()
        [1.0, 0.75]
        """
        unit = np.clip((np.asarray(scores, np.float64) - self.low) / self.width, 0.0, 1.0)
        return 1.0 - unit if self.lower_is_better else unit

    def restore_means(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Map the limits of mapped means back to the range.

        >>> [float(x) for x in Range(0.0, 2.0, lower_is_better=True).restore_means(np.array(0.75), np.array(1.0))]
        [0.0, 0.5]
        """
        if self.lower_is_better:
            lower, upper = 1.0 - upper, 1.0 - lower
        return self.low + self.width * lower, self.low + self.width * upper

    def restore_differences(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Map the limits of differences of mapped means back, as differences of the original scores.

        >>> Range(0.0, 2.0, lower_is_better=True).restore_differences(-0.1, 0.3)
        (-0.6, 0.2)
        """
        if self.lower_is_better:
            lower, upper = -upper, -lower
        return self.width * lower, self.width * upper


class PairMoments(NamedTuple):
    """Sums of the scores in [0, 1] of two systems that intervals of their difference need, (…) each."""

    items: Floats
    # of new - base
    mean: Floats
    # means of the squared positive and of the squared negative differences
    gain: Floats
    loss: Floats
    # Σ y and Σ y² of either system
    new_sum: Floats
    new_squares: Floats
    base_sum: Floats
    base_squares: Floats

    @property
    def variance(self) -> Floats:
        """Variance of the differences over items (ddof 1), 0 where there is only rounding."""
        value = (self.gain + self.loss - self.mean**2) * self.items / np.maximum(self.items - 1.0, 1.0)
        return np.where(value <= NO_VARIANCE, 0.0, value)

    @property
    def single_valued(self) -> Bools:
        """Whether all scores of both systems are one value, so that no loss could have shown."""
        n = np.maximum(self.items, 1.0)
        spread = self.new_squares / n - (self.new_sum / n) ** 2
        return np.asarray((self.gain + self.loss <= NO_VARIANCE) & (spread <= NO_VARIANCE))

    @property
    def right_wrong(self) -> Bools:
        """Whether all scores are 0 or 1: only these have y² = y."""
        new, base = self.new_sum - self.new_squares, self.base_sum - self.base_squares
        return np.asarray(np.maximum(new, base) <= ROUNDING * self.items)


class Precision(NamedTuple):
    """How well a mean difference is known, by the test that was run, (…) each."""

    # estimated variance of the mean difference
    variance: Floats
    # its degrees of freedom, infinite for the normal distribution
    df: Floats | float
    # effective number of items, n / design effect
    items: Floats


def independent_items(moments: PairMoments) -> Precision:
    """Return the precision of a paired t-test of independent items: s²/n with n - 1 degrees of freedom.

    >>> independent_items(pair_moments(np.array([1.0, 0.0, 0.5]), np.array([0.5, 0.0, 0.5]))).df
    np.float64(2.0)
    """
    return Precision(moments.variance / moments.items, moments.items - 1.0, moments.items)


def pair_moments(new: Floats, base: Floats, weights: Floats | None = None) -> PairMoments:
    """Sum up the scores of two systems on the same items.

    >>> pair_moments(np.array([1.0, 0.0, 1.0, np.nan]), np.array([1.0, 1.0, 0.5, 1.0])).mean.round(4)
    np.float64(-0.1667)
    >>> pair_moments(np.array([1.0, 0.0, 0.0]), np.zeros(3), np.array([2.0, 1.0, 1.0])).mean
    np.float64(0.5)
    """
    new, base = np.broadcast_arrays(np.asarray(new, np.float64), np.asarray(base, np.float64))
    known = np.isfinite(new) & np.isfinite(base)
    if not known.all():
        new, base = np.where(known, new, 0.0), np.where(known, base, 0.0)
    items = known.sum(axis=-1).astype(np.float64)
    difference = new - base
    gains, losses = np.maximum(difference, 0.0), np.minimum(difference, 0.0)
    columns = (difference, gains**2, losses**2, new, new**2, base, base**2)
    mean, gain, loss, *sums = (_average_known(x, known, items, weights) for x in columns)
    return PairMoments(items, mean, gain, loss, *(items * x for x in sums))


def _average_known(values: Floats, known: Bools, items: Floats, weights: Floats | None) -> Floats:
    """Average over the items that are known, which are 0 elsewhere; NaN where none is."""
    total, count = values.sum(axis=-1), items
    if weights is not None:
        total, count = (values * weights).sum(axis=-1), (known * weights).sum(axis=-1)
    return np.asarray(total / np.where(count > 0.0, count, np.nan))[()]


def failure_costs(moments: PairMoments) -> tuple[Floats, Floats]:
    """Compute what one failure costs: the size-biased mean score with one more item of full score.

    >>> [float(k) for k in failure_costs(pair_moments(np.ones(5), np.full(5, 0.5)))]
    [0.6428571428571429, 1.0]
    """
    least = np.sqrt(moments.gain + moments.loss)
    of_new = (moments.base_squares + 1.0) / (moments.base_sum + 1.0)
    of_base = (moments.new_squares + 1.0) / (moments.new_sum + 1.0)
    return np.maximum(of_new, least), np.maximum(of_base, least)


def excess_variance(moments: PairMoments, mu: Floats | float) -> Floats:
    """Compute by how much the differences would vary more if their mean were μ.

    >>> equal = pair_moments(np.ones(20), np.ones(20))
    >>> excess_variance(equal, -0.1).round(4)  # 2 of 20 items lost: .1·.9
    np.float64(0.09)
    """
    m = moments.mean
    k = np.where(mu < m, *failure_costs(moments))
    g, l = moments.gain / k**2, moments.loss / k**2  # noqa: E741
    delta = np.clip(g - l - (m - mu) / k, -1.0, 1.0)
    h = -g - l + (2.0 - g + l) * delta
    q = (np.sqrt(np.maximum(h**2 + 8.0 * l * delta * (1.0 - delta), 0.0)) - h) / 4.0
    excess = m**2 - np.square(mu) + k**2 * (2.0 * q + delta - g - l)
    # μ between 0 and m: graded differences may not vary less than they were seen to
    between = ((mu >= 0.0) & (mu <= m)) | ((mu <= 0.0) & (mu >= m))
    return np.asarray(np.where(between & ~moments.right_wrong, np.maximum(excess, 0.0), excess))


def _standard_error(moments: PairMoments, mu: Floats | float, precision: Precision) -> Floats:
    """Standard error of the mean difference, were it μ."""
    excess = excess_variance(moments, mu) / precision.items
    return np.asarray(np.sqrt(np.maximum(precision.variance + excess, 0.0)))


def difference_limits(
    moments: PairMoments, critical: Floats | float, precision: Precision | None = None
) -> tuple[Floats, Floats]:
    """Compute the limits of mean differences of scores in [0, 1], never of zero width and never outside [-1, 1].

    >>> lost = pair_moments(np.r_[np.zeros(7), np.ones(14)], np.r_[np.ones(7), np.zeros(1), np.ones(13)])
    >>> [round(float(x), 3) for x in difference_limits(lost, 1.96)]
    [-0.523, -0.02]
    """
    m = moments.mean
    precision = independent_items(moments) if precision is None else precision
    n, c = np.asarray(precision.items, np.float64), np.asarray(critical, np.float64)
    shape = np.broadcast_shapes(m.shape, c.shape, n.shape, np.shape(precision.variance))
    limits = []
    for end in (-1.0, 1.0):
        inside, outside = np.broadcast_to(m, shape).copy(), np.full(shape, end)
        # the end of the range itself, if it cannot be excluded
        reached = np.abs(m - end) <= c * _standard_error(moments, end, precision)
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2.0
            within = np.abs(m - middle) <= c * _standard_error(moments, middle, precision)
            inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
        limits.append(np.where(reached, end, inside))
    # differences of one size all: the limit towards 0 has nothing but their number to go by
    constant = (moments.variance == 0.0) & (np.abs(m) > ROUNDING)
    towards = m * n / (n + c**2)
    lower = np.where(constant & (m > 0.0), towards, limits[0])
    upper = np.where(constant & (m < 0.0), towards, limits[1])
    return lower, upper


def one_sided_p(
    moments: PairMoments, mu: Floats | float, precision: Precision | None = None, sign: float = 1.0
) -> Floats:
    """Compute one-sided p-values against mean differences of at most μ; with sign -1, of at least μ.

    t = sign·(m - μ) / √(var + excess(μ)/n), p = P(t_df > t); without any variance .5 where m = μ, else 0 or 1. μ is
    -margin for "no worse"; the precision is that of independent items by default.

    >>> both_right = pair_moments(np.ones(10), np.ones(10))
    >>> one_sided_p(both_right, -0.01).round(3)  # ten questions that both answer right show little
    np.float64(0.379)
    >>> one_sided_p(pair_moments(np.ones(200), np.ones(200)), 0.05, sign=-1.0).round(4)
    np.float64(0.0007)
    """
    precision = independent_items(moments) if precision is None else precision
    distance = sign * (moments.mean - mu)
    distance = np.where(np.abs(distance) <= ROUNDING, 0.0, distance)
    se = _standard_error(moments, mu, precision)
    sure = np.where(distance == 0.0, 0.5, np.where(distance > 0.0, 0.0, 1.0))
    t = distance / np.where(se > 0.0, se, 1.0)
    return np.asarray(np.where(se > 0.0, upper_tail(t, precision.df), sure))


class BoundedMoments(NamedTuple):
    """Sums of one system's scores in [0, 1] that intervals of its mean need, (…) each."""

    items: Floats
    total: Floats
    squares: Floats

    @property
    def mean(self) -> Floats:
        """Mean score."""
        return np.clip(self.total / self.items, 0.0, 1.0)

    @property
    def variance(self) -> Floats:
        """Variance over items (ddof 1), 0 where there is only rounding."""
        value = (self.squares - self.total**2 / self.items) / np.maximum(self.items - 1.0, 1.0)
        return np.where(value <= NO_VARIANCE, 0.0, value)


def score_moments(scores: Floats, weights: Floats | None = None) -> BoundedMoments:
    """Sum up the scores of systems.

    >>> score_moments(np.array([0.0, 0.5, 1.0, np.nan])).variance
    array(0.25)
    """
    scores = np.asarray(scores, np.float64)
    known = np.isfinite(scores)
    filled = np.where(known, scores, 0.0)
    items = known.sum(axis=-1).astype(np.float64)
    mean, squares = (_average_known(x, known, items, weights) for x in (filled, filled**2))
    return BoundedMoments(items, items * mean, items * squares)


def mean_limits(
    moments: BoundedMoments, critical: Floats | float, *, items: Floats | None = None
) -> tuple[Floats, Floats]:
    """Compute the limits of mean scores in [0, 1], never of zero width and never outside [0, 1].

    The lower limit is m - x, x = (κ + √(κ² + 4As²))/(2A), A = 1 + n/c², s² at most m(1 - m),
    κ = max(L - s²/L, s²(2m - 1)/(m(1 - m))), L = m - 1 + (Σ(1 - y)² + 1)/(Σ(1 - y) + 1); the upper limit is the same of
    1 - y. Right and wrong answers give Wilson's (1927) interval with c for z.

    >>> [round(float(x), 4) for x in mean_limits(score_moments(np.ones(20)), 1.959964)]
    [0.8389, 1.0]
    """
    n = moments.items
    effective = n if items is None else np.asarray(items, np.float64)
    turned = BoundedMoments(n, n - moments.total, n - 2.0 * moments.total + moments.squares)
    a = 1.0 + effective / np.square(critical)
    distances = []
    for scores, mirrored in ((moments, turned), (turned, moments)):
        m = scores.mean
        extreme = (m <= 0.0) | (m >= 1.0)
        chance = np.where(extreme, 1.0, m * (1.0 - m))
        variance = np.where(extreme, 0.0, np.minimum(scores.variance, chance))
        lost = np.maximum(m - 1.0 + (mirrored.squares + 1.0) / (mirrored.total + 1.0), 0.0)
        own_distance = lost - variance / np.where(lost > 0.0, lost, 1.0)
        kappa = np.where(extreme, lost, np.maximum(own_distance, variance * (2.0 * m - 1.0) / chance))
        distances.append(np.asarray((kappa + np.sqrt(kappa**2 + 4.0 * a * variance)) / (2.0 * a)))
    below, above = distances
    return np.maximum(moments.mean - below, 0.0), np.minimum(moments.mean + above, 1.0)


def pair_sparseness(differences: Floats) -> Floats:
    """Compute (mean |δ|)² / mean δ² of each pair's centred differences δ, 0 where they have no variance.

    Normal differences have 2/π = .64; right and wrong answers about their share of disagreements.

    >>> pair_sparseness(np.array([[1.0, -1.0], [0.3, 0.3]])).tolist()
    [1.0, 0.0]
    """
    known = np.isfinite(differences)
    items = known.sum(axis=-1)
    filled = np.where(known, differences, 0.0)
    centred = np.where(known, filled - (filled.sum(axis=-1) / items)[..., None], 0.0)
    size, square = np.abs(centred).sum(axis=-1) / items, (centred**2).sum(axis=-1) / items
    return np.asarray(np.divide(size**2, square, out=np.zeros_like(square), where=square > NO_VARIANCE))


def top_share(differences: Floats, part: float = 0.05) -> Floats:
    """Compute the share of Σ|δ| that the largest few centred differences carry.

    Means of differences of which 5 % carry half are unsteady, whatever the test.

    >>> top_share(np.r_[np.zeros(19), 20.0]).round(2)
    np.float64(0.5)
    """
    centred = np.abs(differences - differences.mean(axis=-1, keepdims=True))
    count = max(1, int(np.ceil(part * centred.shape[-1] - 1e-9)))
    largest = np.sort(centred, axis=-1)[..., -count:].sum(axis=-1)
    total = centred.sum(axis=-1)
    return np.asarray(np.divide(largest, total, out=np.zeros_like(total), where=total > 0.0))[()]


def items_needed(
    moments: PairMoments,
    margin: float,
    *,
    gain: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
    design_effect: Floats | float = 1.0,
    fixed: Floats | float = 0.0,
) -> Floats:
    """Compute how many items show "no worse" with a given power, from a pilot.

    n = ⌈deff·(((z_{α/2}·√(s² + max(0, excess(m - margin - gain))) + z_{1-power}·s)/(margin + gain))² + z²_{α/2}/2)⌉; a
    variance that more items do not lessen, such as that of training seeds, is added under both roots.

    >>> pilot = pair_moments(np.ones(50), np.ones(50))
    >>> items_needed(pilot, 0.05)
    np.float64(75.0)
    """
    reach = margin + gain
    z_level, z_power = float(special.ndtri(1.0 - alpha / 2.0)), float(special.ndtri(power))
    variance = moments.variance
    under_margin = variance + np.maximum(0.0, excess_variance(moments, moments.mean - reach))
    fixed = np.asarray(fixed, np.float64)
    variance, under_margin, fixed = np.broadcast_arrays(variance, under_margin, fixed)

    def shortfall(n: Floats) -> Floats:
        return np.asarray(
            z_level * np.sqrt(fixed + under_margin / n) + z_power * np.sqrt(fixed + variance / n) - reach
        )

    high = (np.maximum(z_level * np.sqrt(under_margin) + z_power * np.sqrt(variance), 0.0) / reach) ** 2
    never = (z_level + z_power) * np.sqrt(fixed) >= reach
    if np.any(fixed > 0.0):
        # double until it suffices, then halve the stretch
        low, high = np.zeros(variance.shape), np.maximum(high, 1.0)
        for _ in range(MOST_DOUBLINGS):
            high = np.where((shortfall(high) > 0.0) & ~never, 2.0 * high, high)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            short = shortfall(middle) > 0.0
            low, high = np.where(short, middle, low), np.where(short, high, middle)
    n = np.ceil(design_effect * (high + z_level**2 / 2.0) - 1e-9)
    return np.where(never, np.inf, np.maximum(n, 2.0))[()]


def clopper_pearson(hits: Floats, n: Floats, alpha: Floats | float) -> tuple[Floats, Floats]:
    """Ends of the exact interval of a probability after so many hits in n (Clopper & Pearson 1934).

    >>> [round(float(end), 4) for end in clopper_pearson(np.array(0.0), np.array(100.0), 0.05)]
    [0.0, 0.0362]
    """
    tail, misses = np.asarray(alpha) / 2.0, n - hits
    low = special.betaincinv(np.maximum(hits, 1.0), misses + 1.0, tail)
    high = special.betaincinv(hits + 1.0, np.maximum(misses, 1.0), 1.0 - tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)


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
    >>> moments = pair_moments(scale.map_scores(new), scale.map_scores(base))
    >>> n = moments.items
    >>> grades = Certainty((new - base).mean(axis=1), np.full(1, 0.316), n - 1.0, n, moments, n, scale)
    >>> [float(limit[0].round(2)) for limit in grades.limits(student_critical(0.05, n - 1.0))]
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
                unit = difference_limits(self.moments, known, self._precision)
                limits = self.bounds.restore_differences(*unit)
            else:
                precision, mean = self._precision, self.moments.mean
                unit = mean_limits(self.moments, known, items=precision.items)
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
        # all differences on one side of μ and of one size: one of n sign flips
        least = np.exp2(-np.asarray(self.units, np.float64))
        flips = np.where(distance > 0.0, least, 1.0)
        spread = np.where(self.se > 0.0, self.se, 1.0)
        p = np.where(self.se > 0.0, upper_tail(distance / spread, self.df), flips)
        p = np.where(np.isnan(self.se), np.nan, np.where((self.se == 0.0) & (distance == 0.0), 0.5, p))
        certain = np.zeros(p.shape, dtype=np.bool_)
        if isinstance(self.moments, PairMoments) and self.bounds is not None:
            # mapped scores have 1 for the best
            turn = -1.0 if self.bounds.lower_is_better else 1.0
            unit = turn * np.asarray(mu) / self.bounds.width
            with np.errstate(invalid="ignore", divide="ignore"):
                bounded = one_sided_p(self.moments, unit, self._precision, turn * sign)
            constant = self.moments.variance == 0.0
            bounded = np.where(constant, np.maximum(bounded, least), bounded)
            p = np.where(self.in_range, bounded, p)
            # no difference can leave the range
            certain = self.in_range & (sign * np.asarray(mu) < -self.bounds.width)
        return np.asarray(np.where(certain, 0.0, np.where(self.uninformative, np.maximum(p, 0.5), p)))


def least_two_sided(units: Floats | float) -> Floats:
    """Return the least two-sided p-value of so many differences of one size, 2^(1 - n), at most 1.

    >>> least_two_sided(np.array([1.0, 2.0, 6.0])).tolist()
    [1.0, 0.5, 0.03125]
    """
    return np.asarray(np.minimum(2.0 * np.exp2(-np.asarray(units, np.float64)), 1.0))


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


@dataclass(frozen=True, slots=True, eq=False)
class BoundedScores:
    """Scores of items by system, mapped to [0, 1], with the units that they come in.

    Parameters
    ----------
    scores : array
        (T, R) mapped scores, means over repeats and shards; NaN where one is missing.
    bounds : Range
        The range of the original scores.
    cluster : array of int, optional
        (T,) number of each item's cluster, where items come in clusters.
    task : array of int, optional
        (T,) number of each item's task, where tasks count alike.
    systems : tuple of str
        Names of the systems, where `select_systems` is asked for.
    """

    scores: Floats
    bounds: Range
    cluster: Ints | None = None
    task: Ints | None = None
    systems: tuple[str, ...] = ()

    def select_systems(self, names: tuple[str, ...]) -> BoundedScores | None:
        """Return the scores of some systems in this order.

        >>> BoundedScores(np.eye(2), Range(), systems=("a", "b")).select_systems(("b", "a")).scores.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        places = {name: k for k, name in enumerate(self.systems)}
        if any(name not in places for name in names):
            return None
        return replace(self, scores=self.scores[:, [places[name] for name in names]], systems=names)

    @property
    def unpaired(self) -> bool:
        """Whether no item has scores of two systems, so that means have intervals but pairs no moments."""
        return bool((np.isfinite(self.scores).sum(axis=1) <= 1).all())

    @property
    def weights(self) -> Floats:
        """(T,) weights of the items in a mean, 1 on average: tasks count alike, whatever their size."""
        items = len(self.scores)
        if self.task is None:
            return np.ones(items)
        sizes = np.bincount(self.task)
        return items / (len(sizes) * sizes[self.task].astype(np.float64))

    def sum_pairs(self, ia: Ints, ib: Ints) -> PairMoments:
        """Sum up the scores of pairs of systems on the items that both have.

        >>> scores = BoundedScores(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]), Range())
        >>> moments = scores.sum_pairs(np.array([0]), np.array([1]))
        >>> moments.items.tolist(), moments.mean.tolist()
        ([2.0], [0.5])
        """
        weights = None if self.task is None else self.weights
        parts = [
            pair_moments(self.scores[:, a].T, self.scores[:, b].T, weights)
            for a, b in self._split_pairs(ia, ib)
        ]
        return PairMoments(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def count_pairs(self, ia: Ints, ib: Ints, moments: PairMoments | None = None) -> Floats:
        """Count the independent items that the differences of pairs are worth: all, or fewer with clusters.

        >>> scores = BoundedScores(np.ones((6, 2)), Range(), cluster=np.array([0, 0, 1, 1, 2, 2]))
        >>> scores.count_pairs(np.array([0]), np.array([1])).tolist()
        [3.0]
        """
        moments = self.sum_pairs(ia, ib) if moments is None else moments
        if self.cluster is None and self.task is None:
            return moments.items
        costs = np.maximum(*failure_costs(moments))
        effects, start = [], 0
        for a, b in self._split_pairs(ia, ib):
            part, start = costs[start : start + len(a)], start + len(a)
            effects.append(self._design_effect(self.scores[:, a] - self.scores[:, b], part))
        return np.asarray(moments.items / np.concatenate(effects))

    def sum_systems(self) -> BoundedMoments:
        """Sum up the scores of each system.

        >>> BoundedScores(np.array([[1.0, 0.0], [1.0, 1.0]]), Range()).sum_systems().mean.tolist()
        [1.0, 0.5]
        """
        return score_moments(self.scores.T, None if self.task is None else self.weights)

    def count_systems(self) -> Floats:
        """Count the independent items that the means of systems are worth.

        >>> BoundedScores(np.eye(4), Range()).count_systems().tolist()
        [4.0, 4.0, 4.0, 4.0]
        """
        items: Floats = np.isfinite(self.scores).sum(axis=0).astype(np.float64)
        if self.cluster is None and self.task is None:
            return items
        return np.asarray(items / self._design_effect(self.scores, np.ones(self.scores.shape[1])))

    def measure_sparseness(self, ia: Ints, ib: Ints) -> float:
        """Measure how sparse the differences of these pairs are; below one half they need bounded intervals.

        >>> scores = BoundedScores(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]), Range())
        >>> scores.measure_sparseness(np.array([0]), np.array([1]))
        0.5
        """
        shares = [
            pair_sparseness((self.scores[:, a] - self.scores[:, b]).T) for a, b in self._split_pairs(ia, ib)
        ]
        return float(np.median(np.concatenate(shares)))

    def _split_pairs(self, ia: Ints, ib: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Pairs, so many at a time that their differences fit into memory."""
        size = max(1, BLOCK // max(len(self.scores), 1))
        for start in range(0, len(ia), size):
            yield ia[start : start + size], ib[start : start + size]

    def _design_effect(self, values: Floats, failure: Floats) -> Floats:
        """(K,) design effects of the columns of (T, K) values, items that a column lacks being left out."""
        cluster = np.arange(len(values)) if self.cluster is None else self.cluster
        known = np.isfinite(values)
        if known.all():
            return units.design_effect(values.T, cluster, self.weights, failure)
        effects = np.empty(values.shape[1])
        for k in range(values.shape[1]):
            known_items = known[:, k]
            code = np.unique(cluster[known_items], return_inverse=True)[1]
            weights = self.weights[known_items]
            effects[k] = units.design_effect(
                values[known_items, k], code, weights / weights.mean(), failure[k]
            )
        return effects


def weigh_means(bounded: BoundedScores | None, means: Floats, se: Floats, df: Floats) -> Certainty:
    """Return the evidence on (R,) means with their standard errors and degrees of freedom for the claim."""
    if bounded is None:
        return Certainty(means, se, df, np.asarray(df) + 1.0)
    items = bounded.count_systems()
    return Certainty(means, se, df, items, bounded.sum_systems(), items, bounded.bounds)


def weigh_pairs(
    bounded: BoundedScores | None,
    ia: Ints,
    ib: Ints,
    difference: Floats,
    se: Floats,
    df: Floats,
    units: Floats | None = None,
    sign: int = 1,
) -> Certainty:
    """Return the evidence on (P,) differences of the first less the second system, by the test that was run."""
    if bounded is None or bounded.unpaired:
        items = np.full(len(ia), np.inf) if units is None else units
        return Certainty(difference, se, df, items, sign=sign)
    moments = bounded.sum_pairs(ia, ib)
    items = bounded.count_pairs(ia, ib, moments)
    units = items if units is None else units
    return Certainty(difference, se, df, units, moments, items, bounded.bounds, sign)


def limit_differences(
    bounded: BoundedScores | None,
    pairs: tuple[Ints, Ints],
    evidence: tuple[Floats, Floats, Floats],
    plain: tuple[Floats, Floats],
    significant: Bools,
    alpha: float,
) -> tuple[Floats, Floats]:
    """Compute confidence limits of differences: those of the test, or score limits where differences are sparse."""
    difference, se, df = evidence
    half = (plain[1] - plain[0]) / 2.0
    usable = np.isfinite(se) & np.isfinite(half)
    ia, ib = pairs
    if bounded is not None and bounded.unpaired:
        bounded = None
    sparse = (
        bounded is not None
        and bool(usable.any())
        and bounded.measure_sparseness(ia[usable], ib[usable]) < SPARSE
    )
    # where nothing varies, a range is all that gives an interval a width
    wanted = usable & ((se == 0.0) | (sparse & np.isfinite(df)))
    if bounded is None or not wanted.any():
        return follow_test(plain, difference, significant)
    known = weigh_pairs(bounded, ia, ib, difference, se, df)
    assert known.moments is not None
    wanted &= known.in_range
    # the critical value of the test, at least Student's for the pair alone
    varying = usable & known.in_range & (se > 0.0)
    ratios = half[varying] / se[varying]
    typical = float(np.median(ratios)) if ratios.size else 0.0
    critical = np.divide(half, se, out=np.full(half.shape, typical), where=varying)
    least = student_critical(alpha, np.clip(np.fmin(df, known.moments.items - 1.0), 1.0, None))
    limits = known.limits(np.where(wanted, np.maximum(critical, least), 1.0))
    lower, upper = (np.where(wanted, *ends) for ends in zip(limits, plain, strict=True))
    return follow_test((lower, upper), difference, significant)
