"""Define what a method says of systems and of pairs of them: means, and tests of pairs with their correction.

All arrays may have leading axes, one entry a table of scores: the laboratory compares thousands of tables at once, and
the comparison of one table is a batch of one. Which systems meet which, the family that a correction is about, stands
here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError, Option
from shardwise.stats import corrections, student, studentized_range
from shardwise.stats.dunnett import fit_loadings
from shardwise.stats.intervals import BoundedScores, least_two_sided
from shardwise.stats.units import WinShare

JOINT = ""
"""The correction of tests whose joint distribution of all pairs corrects them by construction."""
KNOWN_DF = 1e7
"""Degrees of freedom of a variance that is known: intervals need a finite number."""
PER_TABLE = {"per_table": True}
"""What a field of `Means` says that holds an array with one entry a table."""


@dataclass(frozen=True, eq=False)
class JointDraws:
    """Joint distribution of all pairs that were asked for, found when it is first looked at.

    ``adjust`` returns (…, P) corrected p-values, ``half_width`` (…, P) half-widths of simultaneous intervals at level
    1 - alpha, ``single`` (…, P) p-values of single pairs from the same resamples, where there are such.
    """

    adjust: Callable[[], Floats]
    half_width: Callable[[float], Floats]
    single: Callable[[], Floats] | None = None

    @cached_property
    def p_adjusted(self) -> Floats:
        """(…, P) p-values corrected by the joint distribution."""
        return self.adjust()

    @cached_property
    def p(self) -> Floats | None:
        """(…, P) p-values of single pairs, None where the joint distribution has none of its own."""
        return None if self.single is None else self.single()


class ResampledUnits(NamedTuple):
    """What the joint distribution of pairs is resampled from, so that other statements can use the same resamples."""

    # (T, R) scores of topics, or of the clusters and tasks that stand for them
    scores: Floats
    key: np.uint64
    n_resamples: int
    # how much larger a t has to be because units count unequally
    care: float


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Hold what a test says of pairs of systems, arrays (…, P) each; NaN where it has no such figure.

    A test fills the first fields; `correct` adds what a correction for the number of pairs makes of them.
    """

    difference: Floats  # of the first system of a pair less the second
    se: Floats
    df: Floats
    statistic: Floats
    p: Floats  # each pair by itself
    draws: JointDraws | None = None  # of tests that are corrected by construction
    # intervals at 1 - level, if not Student's
    own_limits: Callable[[Floats], tuple[Floats, Floats]] | None = None
    # (…,) smallest differences whose p-values are at most the levels, where one distribution serves all pairs
    critical: Callable[[Floats], Floats] | None = None
    units: Floats | None = None  # items behind each difference; of the systems' own scores without it
    resampled: ResampledUnits | None = None  # of a single complete table whose units alone are resampled
    floor: Floats | None = None  # p-values that these and corrected ones may not be below, if there are such
    words: str = ""  # how the resamples were drawn, or what distribution it is, where it is not Student's
    correction: str = "none"
    p_adjusted: Floats = field(default_factory=lambda: np.empty(0))
    systems: int = 0  # distinct systems among the pairs
    loadings: Floats | None = None  # of comparisons with one baseline, for corrections that look at them

    @property
    def least_p(self) -> Floats:
        """Smallest p-values that pairs can have: those of sign flips where differences do not vary, or the floor."""
        alike = (self.se == 0.0) & (self.difference != 0.0)
        flips = np.where(alike, 0.0 if self.units is None else least_two_sided(self.units), 0.0)
        return flips if self.floor is None else np.maximum(flips, self.floor)

    @property
    def single_p(self) -> Floats:
        """Uncorrected p-values; those of a joint distribution come from the same resamples as the corrected ones."""
        single = self.draws.p if self.correction == JOINT and self.draws else None
        return self.p if single is None else np.maximum(single, self.least_p)

    @property
    def has_intervals(self) -> bool:
        """Whether differences have intervals."""
        known = self.critical is not None or self.own_limits is not None
        return self.correction == JOINT or known or bool(np.isfinite(self.df).any())

    def correct(self, correction: str, ia: Ints, ib: Ints, means: Means) -> Pairs:
        """Return the same corrected for the number of pairs, no p-value below the least that there can be.

        Parameters
        ----------
        correction : str
            A correction, such as ``"holm"``; empty for that of the joint distribution.
        ia, ib : array of int
            (P,) numbers of the first and the second system of each pair.
        means : Means
            The means whose differences these are.

        Returns
        -------
        Pairs
            With the items behind them and ``p_adjusted``.
        """
        if self.units is None and means.own_count is not None:
            units = np.minimum(means.own_count[..., ia], means.own_count[..., ib])
            return replace(self, units=units).correct(correction, ia, ib, means)
        systems, p = int(np.union1d(ia, ib).size), np.maximum(self.p, self.least_p)
        if correction == JOINT:
            if self.draws is None:
                raise InputError("this test needs a correction", remedy="name one, such as holm")
            p_adjusted = np.maximum(self.draws.p_adjusted, self.least_p)
            return replace(self, correction=JOINT, p=p, p_adjusted=p_adjusted, systems=systems)
        loadings = None
        if correction == "dunnett" and len(ia):
            # one of the two systems of every pair is the baseline
            baseline = int(ia[0]) if bool(((ia == ia[0]) | (ib == ia[0])).all()) else int(ib[0])
            loadings = fit_loadings(
                means.variance_of_differences(), np.where(ia == baseline, ib, ia), baseline
            )
        t = np.abs(self.statistic)
        follows = "" if self.critical is None else self.words
        p_adjusted = corrections.adjust_p(correction, p, t, self.df, systems, loadings, follows)
        p_adjusted = np.clip(p_adjusted, self.least_p, 1.0)
        tested = replace(self, p=p, systems=systems, loadings=loadings)
        return replace(tested, correction=correction, p_adjusted=p_adjusted)

    def critical_t(self, level: Floats, df: Floats, alpha: float) -> Floats:
        """Return the |t| at which the correction rejects.

        Parameters
        ----------
        level : array
            (…, P) levels of single pairs.
        df : array
            (…, P) degrees of freedom.
        alpha : float
            Level of all pairs.

        Returns
        -------
        array
            (…, P) critical values.
        """
        return corrections.critical_t(self.correction, level, df, self.systems, alpha, self.loadings)

    def limits(self, alpha: float) -> tuple[Floats, Floats]:
        """Return limits of the intervals of differences, simultaneous as `half_widths`.

        Parameters
        ----------
        alpha : float
            One less the level of the intervals.

        Returns
        -------
        tuple of array
            (…, P) lower and upper limits.
        """
        if self.own_limits is not None and self.correction != JOINT:
            return self.own_limits(corrections.interval_level(self.correction, self.single_p, alpha))
        half = self.half_widths(alpha)
        return self.difference - half, self.difference + half

    def half_widths(self, alpha: float) -> Floats:
        """Return half-widths of the intervals of the differences.

        Simultaneous where the correction holds for all pairs at once (Bonferroni's for Holm), each pair by itself
        without a correction, and true for the pairs found under a false discovery rate.

        Parameters
        ----------
        alpha : float
            One less the level of the intervals.

        Returns
        -------
        array
            (…, P) half-widths.
        """
        if self.draws is not None and self.correction == JOINT:
            return self.draws.half_width(alpha)
        level = corrections.interval_level(self.correction, self.p, alpha)
        if self.critical is not None:
            return np.broadcast_to(self.critical(level[..., 0])[..., None], self.p.shape)
        if not np.isfinite(self.df).any():
            return np.full(self.p.shape, np.nan)
        return np.where(self.se == 0.0, 0.0, self.se * self.critical_t(level, self.df, alpha))

    def critical_differences(self, alpha: float) -> Floats:
        """Return the differences from which on each pair is significant.

        Parameters
        ----------
        alpha : float
            Level of the tests.

        Returns
        -------
        array
            (…, P) differences.
        """
        if self.correction != JOINT and self.critical is not None:
            level = corrections.uncorrected_level(self.correction, self.p, alpha)
            return np.broadcast_to(self.critical(level[..., 0])[..., None], self.p.shape)
        if self.correction == JOINT or not (np.isfinite(self.df).all() and np.isfinite(self.se).all()):
            lower, upper = self.limits(alpha)
            return np.asarray(upper - lower) / 2.0
        level = corrections.uncorrected_level(self.correction, self.p, alpha)
        return np.asarray(self.se * self.critical_t(level, self.df, alpha))


def student_pairs(difference: Floats, se: Floats, df: Floats, draws: JointDraws | None = None) -> Pairs:
    """Return pairs tested by Student's t, with the joint distribution of all where there is one."""
    t = student.t_statistic(difference, se)
    return Pairs(difference, se, df, t, student.two_sided(t, df), draws)


def ranked_pairs(
    difference: Floats,
    statistic: Floats,
    p: Floats,
    se: Floats | None = None,
    draws: JointDraws | None = None,
) -> Pairs:
    """Return pairs tested by p-values of their own, without degrees of freedom."""
    nothing = np.full(p.shape, np.nan)
    return Pairs(difference, nothing if se is None else se, nothing, statistic, p, draws)


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """System means as a fit sees them, ready to be compared.

    Parameters
    ----------
    labels : tuple of str
        Names of the R systems.
    values : array
        (…, R) means.
    variance : array or float
        (…,) variance of one mean, so that a difference has twice that; or (…, R, R) variances of the differences.
    df : array or float
        (…,) its degrees of freedom, or (…, R, R) those of the differences.
    claim : str
        What a difference is about, in words.
    model : str
        What was fitted, in words.
    error : str
        The error term in words, such as ``topic:system``.
    scale : array or float
        (…,) standard deviation of one observation around the model, for standardised differences.
    own_sd : array, optional
        (…, R) standard deviation of each system's own scores, for the SEM interval (F19 eq. 4).
    own_count : array, optional
        (…, R) number of each system's own scores.
    mean_se : array, optional
        (…, R) standard error of each system's mean by itself, for the claim; ``own_sd / √own_count`` without it.
    mean_df : array, optional
        (…, R) its degrees of freedom; ``own_count - 1`` without it.
    topic_sd : array, optional
        (…, R, R) standard deviation of the per-topic differences, for the effect size of J15 eq. 8.
    pairs : callable, optional
        A test of pairs, by the numbers of their two systems, that replaces the one by variance and df.
    bounded : BoundedScores, optional
        Scores of items behind the means, mapped to [0, 1], where their range is known and topics are a sample.
    over : Claim
        The claim itself.
    nouns : mapping
        The user's own words for dimensions.
    notes : tuple of str
        What the reader of a result should know of the fit.
    posterior : callable, optional
        Function of (a, b, draws, seed) that gives the posterior distribution of a difference.
    win_share : WinShare, optional
        What differences mean in shares of wins, where means are strengths fitted to votes.
    lower_is_better : bool
        Whether the best system is the one with the lowest mean.
    of_ranks : bool
        Whether means and differences are those of ranks, not of scores.
    """

    labels: tuple[str, ...]
    values: Floats = field(metadata=PER_TABLE)
    variance: Any = field(default=float("nan"), metadata=PER_TABLE)
    df: Any = field(default=float("nan"), metadata=PER_TABLE)
    claim: str = ""
    model: str = ""
    error: str = ""
    scale: Any = field(default=float("nan"), metadata=PER_TABLE)
    own_sd: Floats | None = field(default=None, metadata=PER_TABLE)
    own_count: Floats | None = field(default=None, metadata=PER_TABLE)
    mean_se: Floats | None = field(default=None, metadata=PER_TABLE)
    mean_df: Floats | None = field(default=None, metadata=PER_TABLE)
    topic_sd: Floats | None = field(default=None, metadata=PER_TABLE)
    pairs: Callable[[Ints, Ints], Pairs] | None = None
    bounded: BoundedScores | None = None
    over: Claim = Claim()  # noqa: RUF009, a frozen value
    nouns: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    posterior: Callable[[str, str, int, int], Any] | None = None
    win_share: WinShare | None = None
    lower_is_better: bool = False
    of_ranks: bool = False

    @property
    def size(self) -> int:
        """Number of systems."""
        return len(self.labels)

    @property
    def sign(self) -> int:
        """1 where higher means are better, -1 where lower ones are."""
        return -1 if self.lower_is_better else 1

    @property
    def error_variance(self) -> Floats:
        """(…,) variance of one mean; half the mean variance of a difference where these are unequal."""
        variance = np.asarray(self.variance, np.float64)
        if not self._has_squares(variance):
            return variance
        return np.asarray(variance[..., *np.triu_indices(self.size, 1)].mean(axis=-1) / 2.0)

    @property
    def error_df(self) -> Floats:
        """(…,) degrees of freedom of the common error variance; the median where pairs have their own."""
        df = np.asarray(self.df, np.float64)
        return np.median(df[..., *np.triu_indices(self.size, 1)], axis=-1) if self._has_squares(df) else df

    def _has_squares(self, array: Floats) -> bool:
        return array.ndim > max(self.values.ndim, 1)

    def apply(self, function: Callable[[Any], Any]) -> Means:
        """Return the same with a function applied to each array with one entry a table; what is None stays None.

        Parameters
        ----------
        function : callable
            Function of one array.

        Returns
        -------
        Means
            The same with other arrays.
        """
        known = {name: getattr(self, name) for name in ARRAYS}
        return replace(self, **{name: function(array) for name, array in known.items() if array is not None})

    def variance_of_differences(self) -> Floats:
        """Return the (…, R, R) variances of the difference of each pair.

        Returns
        -------
        array of float
            Variances by table, system and system.
        """
        variance = np.asarray(self.variance, np.float64)
        if self._has_squares(variance):
            return variance
        return np.where(np.eye(self.size, dtype=bool), 0.0, 2.0 * variance[..., None, None])

    def test_by_variance(self, ia: Ints, ib: Ints) -> Pairs:
        """Test pairs of systems, each by itself, by the variances of the means.

        Parameters
        ----------
        ia, ib : array of int
            (P,) numbers of the first and of the second system of each pair.

        Returns
        -------
        Pairs
            (…, P) figures.
        """
        variance, df = (np.asarray(x, np.float64) for x in (self.variance, self.df))
        unequal = self._has_squares(variance)
        variance = variance[..., ia, ib] if unequal else 2.0 * variance[..., None]
        df = df[..., ia, ib] if self._has_squares(df) else df[..., None]
        size = np.abs(self.values)
        largest = size.max(axis=-1, keepdims=True)
        # a mean of own scores is rounded by its own size; with gaps all means come out of one solution
        means_size = largest if unequal else np.maximum(size[..., ia], size[..., ib])
        difference = student.drop_noise(self.values[..., ia] - self.values[..., ib], means_size)
        # a pooled variance is rounded by the largest scores of all
        return student_pairs(difference, student.drop_noise(np.sqrt(variance), largest), df)


ARRAYS = tuple(each.name for each in fields(Means) if each.metadata)
"""The fields of `Means` with one entry a table."""


def check_systems(labels: Sequence[str], values: Floats) -> None:
    """Refuse systems that cannot be compared: too few, of one name, or without an estimate."""
    if len(labels) < 2:
        raise InputError(f"{len(labels)} system: nothing to compare", remedy="give at least two systems")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if list(labels).count(label) > 1)
        raise InputError(f"two systems are called {twice!r}", remedy="give every system its own name")
    if not np.isfinite(values).all():
        label = labels[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise InputError(
            f"the estimate of system {label!r} is not a number", remedy="correct or drop its scores"
        )


def sort_estimates(estimates: Means) -> Means:
    """Return the same estimates with the best system first, ties in the order given."""
    labels, values = estimates.labels, np.ravel(np.asarray(estimates.values, dtype=float))
    check_systems(labels, values)
    order = np.argsort(-estimates.sign * values, kind="stable")
    if np.array_equal(order, np.arange(len(order))):
        return estimates
    names = tuple(labels[k] for k in order)
    bounded = None if estimates.bounded is None else estimates.bounded.select_systems(names)

    def reorder(array: Any) -> Any:
        whole = np.asarray(array, dtype=float)
        return array if whole.ndim == 0 else whole[order] if whole.ndim == 1 else whole[np.ix_(order, order)]

    test = estimates.pairs
    pairs = None if test is None else lambda ia, ib: test(order[ia], order[ib])
    return replace(estimates.apply(reorder), labels=names, bounded=bounded, pairs=pairs)


def choose_pairs(
    labels: Sequence[str],
    only: Sequence[str] | Sequence[tuple[str, str]] | None,
    baseline: str | Sequence[str] | None,
    *,
    directed: bool = False,
) -> tuple[Ints, Ints]:
    """Index arrays (better, worse) of the pairs asked for, labels being best first; (system, baseline) with a baseline.

    ``directed`` keeps listed pairs as they are, whichever system is better.

    >>> choose_pairs(["x", "y", "z"], None, None)
    (array([0, 0, 1]), array([1, 2, 2]))
    >>> choose_pairs(["x", "y", "z"], None, "y")
    (array([0, 2]), array([1, 1]))
    >>> choose_pairs(["x", "y", "z"], None, ["y", "z"])
    (array([0, 2, 0]), array([1, 1, 2]))
    """
    position = {label: k for k, label in enumerate(labels)}
    if only is not None and any(not isinstance(item, str) for item in only):
        if baseline is not None:
            raise InputError(
                (Option("only"), " lists pairs, and ", Option("baseline"), " is given too"),
                remedy="give one of the two",
            )
        listed = [(item[0], item[1]) for item in only]
        pairs = np.array([[_find_system(a, position), _find_system(b, position)] for a, b in listed])
        same = pairs[:, 0] == pairs[:, 1]
        if same.any():
            raise InputError(f"system {listed[int(same.argmax())][0]!r} cannot be compared with itself")
        if not directed:
            pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        ia, ib = np.ascontiguousarray(pairs.T)
        return ia, ib
    chosen = np.arange(len(labels))
    if only is not None:
        if isinstance(only, str):
            raise InputError(
                (Option("only", only), " is a single name"), remedy="give several names, or pairs"
            )
        chosen = np.unique([_find_system(str(name), position) for name in only])
    if baseline is not None:
        bases = [_find_system(name, position) for name in list_baselines(baseline)]
        met = [(k, base) for n, base in enumerate(bases) for k in chosen if k not in (base, *bases[:n])]
        # compiled code takes contiguous indices
        ia, ib = np.ascontiguousarray(np.array(met, dtype=np.int64).reshape(-1, 2).T)
    else:
        upper = np.triu_indices(len(chosen), 1)
        ia, ib = chosen[upper[0]], chosen[upper[1]]
    if not ia.size:
        raise InputError("a single system is left: nothing to compare", remedy="name at least two systems")
    return ia, ib


def list_baselines(baseline: str | Sequence[str] | None) -> tuple[str, ...]:
    """The baselines that one name, several or none stand for, each once.

    >>> list_baselines("bm25"), list_baselines(["bm25", "rm3", "bm25"]), list_baselines(None)
    (('bm25',), ('bm25', 'rm3'), ())
    """
    return tuple(dict.fromkeys([baseline] if isinstance(baseline, str) else baseline or ()))


def _find_system(name: str, position: dict[str, int]) -> int:
    if name not in position:
        some = ", ".join(list(position)[:5])
        raise InputError(
            f"unknown system {name!r}", remedy=f"the systems are {some}{', …' * (len(position) > 5)}"
        )
    return position[name]


PAPER_KINDS = ("tukey", "anova", "sem")
"""The intervals of F19 eq. 3, 5 and 4."""
INTERVAL_KINDS = ("mean", "comparison", "difference", *PAPER_KINDS)


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
    level = corrections.uncorrected_level(pairs.correction, pairs.p, alpha)
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
        return np.asarray(student.student_critical(alpha, n - 1) * np.ravel(estimates.own_sd) / np.sqrt(n))
    df = np.ravel(estimates.error_df)[0]
    if not (np.isfinite(estimates.error_variance).all() and df > 0):
        raise InputError(
            f"the interval {kind!r} needs the error variance and degrees of freedom of a model, which this comparison"
            " lacks",
            remedy=("leave it out, or use ", Option("kind", "sem")),
        )
    of_range = kind == "tukey"
    critical = (
        studentized_range.isf(alpha, systems, df) / 2 if of_range else student.student_critical(alpha, df)
    )
    return np.asarray(critical * np.sqrt(estimate_own_variances(estimates)))
