"""Turn estimates and a correction into decisions on pairs, for one table or for thousands at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.methods.base import DifferenceDistribution, Estimates
from shardwise.methods.pairs import JOINT, Pairs, student_pairs
from shardwise.stats import corrections, student
from shardwise.stats.corrections import SIMULTANEOUS, STEPWISE, correction_title
from shardwise.stats.dunnett import fit_loadings


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What a correction makes of pairs of systems: arrays (…, P), NaN where there is no such figure."""

    pairs: Pairs
    p_adjusted: Floats
    correction: str
    systems: int  # distinct systems among the pairs
    distribution: DifferenceDistribution | None = None
    loadings: Floats | None = None  # of comparisons with one baseline, for corrections that look at them

    @property
    def difference(self) -> Floats:
        """Difference of the first system of each pair less the second."""
        return self.pairs.difference

    @property
    def p(self) -> Floats:
        """Uncorrected p-values; those of a joint distribution come from the same resamples as the corrected ones."""
        single = self.pairs.draws.p if self.correction == JOINT and self.pairs.draws else None
        return self.pairs.p if single is None else np.maximum(single, self.pairs.least_p)

    @property
    def has_intervals(self) -> bool:
        """Whether differences have intervals."""
        known = self.distribution is not None or self.pairs.limits is not None
        return self.correction == JOINT or known or bool(np.isfinite(self.pairs.df).any())

    def critical_t(self, level: Floats, df: Floats, alpha: float) -> Floats:
        """Return the |t| at which the correction rejects, for these degrees of freedom."""
        return corrections.critical_t(self.correction, level, df, self.systems, alpha, self.loadings)

    def limits(self, alpha: float) -> tuple[Floats, Floats]:
        """Return (…, P) limits of the intervals of differences at level 1 - alpha, simultaneous as `half_widths`."""
        if self.pairs.limits is not None and self.correction != JOINT:
            return self.pairs.limits(corrections.interval_level(self.correction, self.p, alpha))
        half = self.half_widths(alpha)
        return self.difference - half, self.difference + half

    def half_widths(self, alpha: float) -> Floats:
        """(…, P) half-widths of the intervals of the differences at level 1 - alpha.

        Simultaneous where the correction holds for all pairs at once (Bonferroni's for Holm), each pair by itself
        without a correction, and true for the pairs found under a false discovery rate.
        """
        if self.pairs.draws is not None and self.correction == JOINT:
            return self.pairs.draws.half_width(alpha)
        level = corrections.interval_level(self.correction, self.p, alpha)
        if self.distribution is not None:
            return np.broadcast_to(self.distribution.critical(level[..., 0])[..., None], self.p.shape)
        if not np.isfinite(self.pairs.df).any():
            return np.full(self.p.shape, np.nan)
        critical = self.critical_t(level, self.pairs.df, alpha)
        return np.where(self.pairs.se == 0.0, 0.0, self.pairs.se * critical)


def compare_means(estimates: Estimates, ia: Ints, ib: Ints) -> Pairs:
    """Test pairs by the variances of their means, or by the distribution of a difference."""
    variance, df = estimates.pair_spread(ia, ib)
    size = np.abs(estimates.values)
    largest = size.max(axis=-1, keepdims=True)
    pair, by_itself = np.maximum(size[..., ia], size[..., ib]), estimates.from_own_scores
    # a mean of own scores is rounded by its own size; with gaps all means come out of one solution
    means_size = pair if by_itself or estimates.difference_variance is None else largest
    difference = student.drop_noise(estimates.values[..., ia] - estimates.values[..., ib], means_size)
    # a pooled variance is rounded by the largest scores of all
    se = student.drop_noise(np.sqrt(variance), pair if by_itself else largest)
    if estimates.distribution is not None:
        p = estimates.distribution.p_values(np.abs(difference))
        nothing = np.full(difference.shape, np.nan)
        return Pairs(difference, np.broadcast_to(se, difference.shape), nothing, nothing, p)
    return student_pairs(difference, se, df)


def limit_pairs(pairs: Pairs, estimates: Estimates, ia: Ints, ib: Ints) -> Pairs:
    """Return pairs with the items behind them, and no p-value below the least that there can be."""
    units, floor = pairs.units, pairs.floor
    if units is None and estimates.own_count is not None:
        units = np.minimum(estimates.own_count[..., ia], estimates.own_count[..., ib])
    if estimates.p_floor is not None:
        floor = estimates.p_floor[..., ia, ib]
    pairs = replace(pairs, units=units, floor=floor)
    return replace(pairs, p=np.maximum(pairs.p, pairs.least_p))


def decide(
    estimates: Estimates, correction: str, ia: Ints, ib: Ints, pairs: Pairs | None = None
) -> Decisions:
    """Correct what the estimates say of pairs of systems, or what is known of these pairs already."""
    if pairs is None:
        tested = compare_means(estimates, ia, ib) if estimates.test is None else estimates.test(ia, ib)
        pairs = limit_pairs(tested, estimates, ia, ib)
    systems = int(np.union1d(ia, ib).size)
    if correction == JOINT:
        if pairs.draws is None:
            raise InputError("this test needs a correction", remedy="name one, such as holm")
        p_adjusted = np.maximum(pairs.draws.p_adjusted, pairs.least_p)
        return Decisions(pairs, p_adjusted, correction, systems, estimates.distribution)
    if estimates.distribution is not None and correction in SIMULTANEOUS:
        raise InputError(
            f"{correction_title(correction)} needs Student's t,"
            f" but the differences follow {estimates.distribution.name}",
            remedy=f"choose one of {', '.join(STEPWISE)}",
            argument="method",
            value=correction,
            choices=STEPWISE,
        )
    loadings = None
    if correction == "dunnett" and estimates.difference_variance is not None and len(ia):
        # one of the two systems of every pair is the baseline
        baseline = int(ia[0]) if bool(((ia == ia[0]) | (ib == ia[0])).all()) else int(ib[0])
        loadings = fit_loadings(estimates.difference_variance, np.where(ia == baseline, ib, ia), baseline)
    t = np.abs(pairs.statistic)
    p_adjusted = corrections.adjust_p(correction, pairs.p, t, pairs.df, systems, loadings)
    p_adjusted = np.clip(p_adjusted, pairs.least_p, 1.0)
    return Decisions(pairs, p_adjusted, correction, systems, estimates.distribution, loadings)
