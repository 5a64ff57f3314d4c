"""Item scores of known range behind a comparison: what intervals and margins of bounded scores need of them.

Gather what is known of means and differences for `Certainty`, and limit differences as their test does.

Compute half-widths of the intervals around system means (F19 §5).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import Scores
from shardwise.methods.pairs import Means, Pairs
from shardwise.stats import intervals, student, studentized_range, units
from shardwise.stats.corrections import uncorrected_level
from shardwise.stats.evidence import Certainty, follow_test
from shardwise.stats.intervals import SPARSE, BoundedMoments, PairMoments, Range
from shardwise.stats.student import student_critical

# differences of pairs on items that are held at a time
BLOCK = 4_000_000


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
            intervals.pair_moments(self.scores[:, a].T, self.scores[:, b].T, weights)
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
        costs = np.maximum(*intervals.failure_costs(moments))
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
        return intervals.score_moments(self.scores.T, None if self.task is None else self.weights)

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
            intervals.pair_sparseness((self.scores[:, a] - self.scores[:, b]).T)
            for a, b in self._split_pairs(ia, ib)
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


def find_range(scores: Scores) -> Range | None:
    """Return the range of scores with their direction; None where scores are not known to be bounded."""
    measure = scores.measure
    return None if measure.range is None else Range(*measure.range, measure.lower_is_better)


def bound_scores(scores: Scores) -> BoundedScores | None:
    """Return the scores of items mapped to [0, 1], averaged over repeats and shards, with clusters and tasks.

    None where the range is not known, or topics lie in several tasks.
    """
    bounds = find_range(scores)
    if bounds is None or "task" in scores.dims:
        return None
    values = np.asarray(scores.mean(*scores.others).values, np.float64)
    return BoundedScores(bounds.map_scores(values), bounds, scores.cluster, scores.task, scores.systems)


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
    least = student.student_critical(alpha, np.clip(np.fmin(df, known.moments.items - 1.0), 1.0, None))
    limits = known.limits(np.where(wanted, np.maximum(critical, least), 1.0))
    lower, upper = (np.where(wanted, *ends) for ends in zip(limits, plain, strict=True))
    return follow_test((lower, upper), difference, significant)


PAPER_KINDS = ("tukey", "anova", "sem")
"""The intervals of F19 eq. 3, 5 and 4."""
KINDS = ("mean", "comparison", "difference", *PAPER_KINDS)


def estimate_own_variances(estimates: Means) -> Floats:
    """(R,) variances v_u of the single means, such that v_u + v_v is the variance of a difference.

    Where the pairs are unlike, the v_u are their least-squares fit (quasi-variances, Firth & de Menezes 2004).

    >>> pairs = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    >>> estimate_own_variances(Means(("x", "y", "z"), np.zeros(3), pairs, 9.0))
    array([1., 2., 3.])
    """
    r = estimates.size
    square = estimates.variance_of_differences().reshape(r, r)
    if np.size(estimates.variance) == 1 or r == 2:
        return np.full(r, square[0, 1] / 2)
    return _shared_out(np.where(np.eye(r, dtype=bool), 0.0, square))


def share_half_widths(half: Floats, ia: Ints, ib: Ints, r: int) -> Floats:
    """(R,) half-widths of means whose sums come nearest to the half-widths of all differences.

    Two such intervals overlap exactly when a pair is not significant where one critical difference serves all pairs,
    and nearly so elsewhere.

    >>> share_half_widths(np.array([0.3, 0.4, 0.5]), np.array([0, 0, 1]), np.array([1, 2, 2]), 3)
    array([0.1, 0.2, 0.3])
    """
    # an infinite half-width means too few resamples or topics for any interval
    if r == 2 or not np.isfinite(half).all():
        return np.full(r, float(half.max()) / 2.0)
    square = np.zeros((r, r))
    square[ia, ib] = square[ib, ia] = half
    return _shared_out(square)


def _shared_out(pairs: Floats) -> Floats:
    """(R,) parts u such that u_a + u_b comes nearest to a symmetric table of pairs, by least squares."""
    r = len(pairs)
    rows = pairs.sum(axis=1)
    total = rows.sum() / (2 * (r - 1))
    return np.asarray(np.maximum((rows - total) / (r - 2), 0.0))


def has_common_spread(estimates: Means, pairs: Pairs) -> bool:
    """Return whether the model gives single means a variance or a distribution."""
    by_variance = estimates.pairs is None and bool(np.isfinite(estimates.error_variance).all())
    return by_variance or pairs.critical is not None


def halve_critical_difference(estimates: Means, pairs: Pairs, alpha: float) -> Floats:
    """(R,) half-widths by which two intervals overlap exactly when a pair is not significant.

    Half the critical difference of the correction (F19 eq. 3); exact where all pairs have one variance, else by
    quasi-variances.
    """
    level = uncorrected_level(pairs.correction, pairs.p, alpha)
    if pairs.critical is not None:
        return np.full(estimates.size, np.ravel(pairs.critical(level[..., 0]))[0] / 2)
    t = np.ravel(pairs.critical_t(level, np.ravel(estimates.error_df)[:1], alpha))[0]
    return np.asarray(t * np.sqrt(2.0 * estimate_own_variances(estimates)) / 2)


def paper_half_widths(estimates: Means, kind: str, systems: int, alpha: float) -> Floats:
    """(R,) half-widths of F19: "tukey" ½·Q·√v (eq. 3), "sem" t·sd/√n of a system's own scores (4), "anova" t·√v (5)."""
    if kind == "sem":
        if estimates.own_sd is None or estimates.own_count is None:
            raise InputError(
                "the model did not hand over the systems' own standard deviations",
                remedy=("use ", Option("kind", "anova")),
            )
        n = np.ravel(estimates.own_count)
        return np.asarray(student_critical(alpha, n - 1) * np.ravel(estimates.own_sd) / np.sqrt(n))
    df = np.ravel(estimates.error_df)[0]
    if not (np.isfinite(estimates.error_variance).all() and df > 0):
        raise InputError(
            f"the interval {kind!r} needs the error variance and degrees of freedom of a model, which this comparison"
            " lacks",
            remedy=("leave it out, or use ", Option("kind", "sem")),
        )
    of_range = kind == "tukey"
    critical = studentized_range.isf(alpha, systems, df) / 2 if of_range else student_critical(alpha, df)
    return np.asarray(critical * np.sqrt(estimate_own_variances(estimates)))
