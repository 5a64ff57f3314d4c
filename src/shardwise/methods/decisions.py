"""Turn estimates and a correction into decisions on pairs, for one table or for thousands at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.methods.base import JOINT, DifferenceDistribution, Estimates, Outcome
from shardwise.stats import corrections, student
from shardwise.stats.corrections import SIMULTANEOUS, STEPWISE, PairFamily, correction_title
from shardwise.stats.dunnett import fit_loadings


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What a correction makes of pairs of systems: arrays (…, P), NaN where there is no such figure."""

    outcome: Outcome
    p_adjusted: Floats
    correction: str
    systems: int  # distinct systems among the pairs
    distribution: DifferenceDistribution | None = None
    loadings: Floats | None = None  # of comparisons with one baseline, for corrections that look at them

    @property
    def difference(self) -> Floats:
        """Difference of the first system of each pair less the second."""
        return self.outcome.difference

    @property
    def p(self) -> Floats:
        """Uncorrected p-values; those of a joint distribution come from the same resamples as the corrected ones."""
        single = getattr(self.outcome.joint, "p", None) if self.correction == JOINT else None
        return self.outcome.p if single is None else np.maximum(single, self.outcome.least_p)

    @property
    def family(self) -> PairFamily:
        """What the correction looks at."""
        return PairFamily(
            self.p, np.abs(self.outcome.statistic), self.outcome.df, self.systems, self.loadings
        )

    @property
    def has_intervals(self) -> bool:
        """Whether differences have intervals."""
        known = self.distribution is not None or self.outcome.limits is not None
        return self.correction == JOINT or known or bool(np.isfinite(self.outcome.df).any())

    def limits(self, alpha: float) -> tuple[Floats, Floats]:
        """Return (…, P) limits of the intervals of differences at level 1 - alpha, simultaneous as `half_widths`."""
        if self.outcome.limits is not None and self.correction != JOINT:
            return self.outcome.limits(corrections.interval_level(self.correction, self.p, alpha))
        half = self.half_widths(alpha)
        return self.difference - half, self.difference + half

    def half_widths(self, alpha: float) -> Floats:
        """(…, P) half-widths of the intervals of the differences at level 1 - alpha.

        Simultaneous where the correction holds for all pairs at once (Bonferroni's for Holm), each pair by itself
        without a correction, and true for the pairs found under a false discovery rate.
        """
        if self.outcome.joint is not None and self.correction == JOINT:
            return self.outcome.joint.half_width(alpha)
        level = corrections.interval_level(self.correction, self.p, alpha)
        if self.distribution is not None:
            return np.broadcast_to(self.distribution.critical(level[..., 0])[..., None], self.p.shape)
        if not np.isfinite(self.outcome.df).any():
            return np.full(self.p.shape, np.nan)
        critical = corrections.critical_t(self.correction, level, self.outcome.df, self.family, alpha)
        return np.where(self.outcome.se == 0.0, 0.0, self.outcome.se * critical)


def compute_outcome(estimates: Estimates, ia: Ints, ib: Ints) -> Outcome:
    """Return what the estimates say of pairs before any correction; p-values are never below `Outcome.least_p`."""
    outcome = _test_pairs(estimates, ia, ib)
    if outcome.units is None and estimates.own_count is not None:
        outcome = replace(
            outcome, units=np.minimum(estimates.own_count[..., ia], estimates.own_count[..., ib])
        )
    if estimates.p_floor is not None:
        outcome = replace(outcome, floor=estimates.p_floor[..., ia, ib])
    return replace(outcome, p=np.maximum(outcome.p, outcome.least_p))


def _test_pairs(estimates: Estimates, ia: Ints, ib: Ints) -> Outcome:
    """Test pairs by the method's own test, or by the variances of its means."""
    if estimates.test is not None:
        return estimates.test.outcome(ia, ib)
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
        nothing = np.full(difference.shape, np.nan)
        spread = np.broadcast_to(se, difference.shape)
        return Outcome(
            difference, spread, nothing, nothing, estimates.distribution.p_values(np.abs(difference))
        )
    statistic = student.t_statistic(difference, se)
    return Outcome(difference, se, df, statistic, student.two_sided(statistic, df))


def decide(
    estimates: Estimates, correction: str, ia: Ints, ib: Ints, outcome: Outcome | None = None
) -> Decisions:
    """Correct what the estimates say of pairs of systems, or the outcome of these pairs where it is known already."""
    outcome = compute_outcome(estimates, ia, ib) if outcome is None else outcome
    systems = int(np.union1d(ia, ib).size)
    if correction == JOINT:
        if outcome.joint is None:
            raise InputError("this test needs a correction", remedy="name one, such as holm")
        p_adjusted = np.maximum(outcome.joint.p_adjusted, outcome.least_p)
        return Decisions(outcome, p_adjusted, correction, systems, estimates.distribution)
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
    plain = Decisions(outcome, outcome.p, correction, systems, estimates.distribution, loadings)
    p_adjusted = np.clip(corrections.adjust_family(correction, plain.family), outcome.least_p, 1.0)
    return replace(plain, p_adjusted=p_adjusted)
