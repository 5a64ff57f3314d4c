"""Hold the comparison of systems: any estimates, any correction, one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from shardwise.core import late
from shardwise.core.arguments import resolve_alpha
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import format_count
from shardwise.core.errors import Either, InputError, Option, refuse_unknown
from shardwise.core.libraries import pd
from shardwise.core.shown import Drawn
from shardwise.methods.pairs import (
    INTERVAL_KINDS,
    JOINT,
    KNOWN_DF,
    PAPER_KINDS,
    Means,
    Pairs,
    choose_pairs,
    halve_critical_difference,
    has_common_spread,
    list_baselines,
    paper_half_widths,
    share_half_widths,
    sort_estimates,
)
from shardwise.stats import corrections, groups
from shardwise.stats.corrections import CORRECTIONS, STEPWISE, check_correction
from shardwise.stats.groups import MOST_GROUPS
from shardwise.stats.intervals import Certainty, follow_test, limit_differences, weigh_means, weigh_pairs
from shardwise.stats.student import student_critical

Array = TypeVar("Array", Bools, Floats)
SIZES = ((0.8, "large"), (0.5, "medium"), (0.2, "small"))
"""Cohen's words for a standardised difference."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons(Drawn):
    """One row a pair of systems, the better one first: difference, interval, p-value and corrected p-value.

    Differences are the first less the second in the measure's own sign: below 0 where lower is better. Against a
    baseline the first of a pair is the other system, whichever is better.

    The only result of pairs that the package has: every method ends here. Significant pairs, letters, rank ranges and
    the best set are one statement: all come from the corrected p-values of all pairs.

    >>> means = Means(("x", "y", "z"), np.array([0.30, 0.10, 0.12]), 0.001, 98.0, "topics like these 50")
    >>> pairs = compare_estimates(means, "hsd")
    >>> pairs.best()
    ('x',)
    >>> print(pairs)
    Tukey HSD, 3 systems, 98 df; claim: topics like these 50
    """

    estimates: Means  # best system first; arrays of one table, or of a batch of one
    ia: Ints  # index of the first system of each pair
    ib: Ints
    pairs: Pairs  # corrected
    title: str
    procedure: str = ""  # the name that repeats this comparison, where it was made by a procedure
    directed: bool = False  # whether the direction of pairs was asked for, not found
    resamples: int | None = None  # behind the p-values, where they come from resamples

    def _broadcast_row(self, values: Floats) -> Floats:
        rows = np.atleast_2d(np.asarray(values, np.float64))
        return np.broadcast_to(rows[0], (len(self),))

    @property
    def means(self) -> Floats:
        """(R,) means of all systems of the fit, best first."""
        return np.asarray(np.atleast_2d(np.asarray(self.estimates.values, np.float64))[0])

    @property
    def error_df(self) -> float:
        """Degrees of freedom of the common error variance, NaN where pairs have their own."""
        return float(np.ravel(self.estimates.error_df)[0])

    @property
    def difference(self) -> Floats:
        """Difference of the first system of each pair less the second."""
        return self._broadcast_row(self.pairs.difference)

    @property
    def lower_is_better(self) -> bool:
        """Whether the best system is the one with the lowest mean."""
        return self.estimates.lower_is_better

    @property
    def gain(self) -> Floats:
        """Difference in favour of the first system of each pair: its sign is turned where lower is better."""
        return self.estimates.sign * self.difference

    @property
    def se(self) -> Floats:
        """Standard errors of the differences, NaN where a test has none."""
        return self._broadcast_row(self.pairs.se)

    @property
    def df(self) -> Floats:
        """Degrees of freedom, NaN where a test has none."""
        return self._broadcast_row(self.pairs.df)

    @property
    def statistic(self) -> Floats:
        """What the test looks at."""
        return self._broadcast_row(self.pairs.statistic)

    @property
    def p(self) -> Floats:
        """p-values of each pair by itself."""
        return self._broadcast_row(self.pairs.single_p)

    @property
    def p_adjusted(self) -> Floats:
        """p-values corrected for the number of comparisons."""
        return self._broadcast_row(self.pairs.p_adjusted)

    @property
    def q(self) -> Floats:
        """p-values corrected for the false discovery rate (Benjamini & Hochberg 1995), of closed-form p-values.

        Among the pairs with q at most 0.05, 5% are false on average, and fewer have the wrong sign.
        """
        return corrections.benjamini_hochberg(self._broadcast_row(self.pairs.p))

    @property
    def correction(self) -> str:
        """Name of the correction; empty where the test is corrected by construction."""
        return self.pairs.correction

    @property
    def error_rate(self) -> str:
        """The error rate that is controlled: "family", "discovery" or "pair"."""
        named = CORRECTIONS.get(self.correction)
        return "family" if named is None else named.error_rate

    @property
    def resolution(self) -> float:
        """Smallest corrected p-value that the resamples can show; 0 where p-values are not resampled."""
        drawn = self.resamples is not None and self.correction == JOINT
        return 1.0 / (self.resamples + 1) if drawn and self.resamples is not None else 0.0

    @property
    def claim(self) -> str:
        """What a significant difference is about, in words."""
        return self.estimates.claim

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know of the fit."""
        return self.estimates.notes

    @property
    def names(self) -> tuple[str, ...]:
        """The systems that take part in a pair, best first."""
        return tuple(self.estimates.labels[k] for k in self._member_systems)

    @property
    def complete(self) -> bool:
        """Whether every pair of these systems is compared."""
        r = len(self._member_systems)
        return len(self) == r * (r - 1) // 2

    @property
    def _member_systems(self) -> Ints:
        member = np.zeros(self.estimates.size, dtype=np.bool_)
        member[self.ia] = member[self.ib] = True
        return np.flatnonzero(member)

    @property
    def _pair_positions(self) -> tuple[Ints, Ints]:
        """Positions of the two systems of each pair among `names`."""
        members = self._member_systems
        return np.searchsorted(members, self.ia), np.searchsorted(members, self.ib)

    def __len__(self) -> int:
        return len(self.ia)

    def __repr__(self) -> str:
        return f"<Comparisons of {format_count(len(self), 'pair')}: {self}>"

    def __str__(self) -> str:
        e = self.estimates
        noun = e.nouns.get("system", "system")
        # with a closed-form correction nothing was resampled
        closed = self.correction != JOINT and self.pairs.draws is not None
        known = np.isfinite(np.ravel(e.error_variance)[0]) and self.error_df < KNOWN_DF
        test = "" if closed else self.pairs.words
        parts = [
            self.title,
            format_count(len(self._member_systems), noun),
            test or (f"{self.error_df:g} df" if known else ""),
            f"error {e.error}" if e.error not in {"", "error"} else "",
        ]
        return ", ".join(part for part in parts if part) + f"; claim: {self.claim}"

    def summary(self, alpha: float | None = None, measure: str = "", *, level: float | None = None) -> str:
        """Return the answer at one level, what it applies to, and how many pairs differ significantly.

        Parameters
        ----------
        alpha : float, optional
            Level of significance, below 0.5; 0.05 without it.
        measure : str
            What the scores are.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        str
            Two or three lines.
        """
        text: str = late.call_bound("pairs_summary", self, resolve_alpha(alpha, level), measure)
        return text

    def to_frame(self, level: float | None = None, *, alpha: float | None = None) -> pd.DataFrame:
        """Return all pairs as a table, NaN where the test has no such figure.

        Parameters
        ----------
        level : float, optional
            Level of the confidence intervals ``lower, upper`` of the differences, above 0.5: simultaneous where the
            correction is; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        DataFrame
            One row a pair.
        """

        return pd.DataFrame(self.list_pairs(resolve_alpha(alpha, level)))

    def list_pairs(self, alpha: float) -> dict[str, Any]:
        """Return the columns of `to_frame`, (P,) each.

        Parameters
        ----------
        alpha : float
            One less the level of the intervals.

        Returns
        -------
        dict
            Name of a column -> its values.
        """
        names = np.array(self.estimates.labels, dtype=object)
        lower, upper = self.limits(alpha=alpha)
        return {
            "a": names[self.ia], "b": names[self.ib], "difference": self.difference, "lower": lower, "upper": upper,
            "se": self.se, "df": self.df, "statistic": self.statistic, "p": self.p, "p_adjusted": self.p_adjusted,
            "effect_size": self._standardized_effects(),
        }  # fmt: skip

    def list_systems(self, alpha: float) -> dict[str, Any]:
        """Return the columns of `systems`, with the name of each system first.

        Parameters
        ----------
        alpha : float
            One less the level of the intervals.

        Returns
        -------
        dict
            Name of a column -> its values.
        """
        limits = (values[self._member_systems] for values in (self.means, *self._limit_means(alpha)))
        return {
            "system": self.names,
            **dict(zip(("estimate", "lower", "upper"), limits, strict=True)),
            **(self._list_ranks(alpha) if self.complete else {}),
        }

    def limits(self, level: float | None = None, *, alpha: float | None = None) -> tuple[Floats, Floats]:
        """Return (P,) limits of the confidence intervals of the differences, simultaneous where the correction is.

        Where scores have a known range and few items differ, they are score limits, which keep within the range and
        allow for failures that were not seen. Intervals say of 0 what the test says: where the difference is
        significant the limit towards 0 is 0 at the least, an open end; elsewhere they hold 0.

        Parameters
        ----------
        level : float, optional
            Level of the intervals, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        tuple of arrays
            NaN where the test has no interval, or nothing varies and scores have no known range.
        """
        alpha = resolve_alpha(alpha, level)
        lower, upper = map(self._broadcast_row, self.pairs.limits(alpha))
        significant, has_limits = self.p_adjusted <= alpha, self.pairs.own_limits is not None
        if self.pairs.critical is not None or (has_limits and self.correction != JOINT):
            return follow_test((lower, upper), self.difference, significant)
        known, bounded = (self.difference, self.se, self.df), self.estimates.bounded
        return limit_differences(bounded, (self.ia, self.ib), known, (lower, upper), significant, alpha)

    def weigh_differences(self, turned: Bools | None = None) -> Certainty:
        """Return what is known of the differences, of which one-sided p-values and intervals of margins are made.

        Parameters
        ----------
        turned : array of bool, optional
            (P,) pairs whose difference is to be that of the second system less the first.

        Returns
        -------
        Certainty
            (P,) entries; se and df are NaN where a test has none.
        """
        if self.estimates.of_ranks:
            raise InputError(
                "a margin is one of scores, and Friedman's tests compare mean ranks",
                remedy="choose another method",
                argument="method",
            )
        turned = np.zeros(len(self), dtype=np.bool_) if turned is None else turned
        ia, ib = np.where(turned, self.ib, self.ia), np.where(turned, self.ia, self.ib)
        difference = np.where(turned, -1.0, 1.0) * self.difference
        known = self.se, self.df, self.common_items
        return weigh_pairs(self.estimates.bounded, ia, ib, difference, *known, self.estimates.sign)

    @property
    def common_items(self) -> Floats:
        """Items that the two systems of each pair share, or units that stand for them; infinite where unknown."""
        units = self.pairs.units
        return np.full(len(self), np.inf) if units is None else self._broadcast_row(units)

    def half_widths(self, level: float | None = None, *, alpha: float | None = None) -> Floats:
        """Return (P,) half-widths of the intervals of the differences; of an unequal one the longer side.

        Parameters
        ----------
        level : float, optional
            Level of the intervals, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        array
            NaN where the test has no interval.
        """
        lower, upper = self.limits(level, alpha=alpha)
        return np.maximum(upper - self.difference, self.difference - lower)

    def _standardized_effects(self) -> Floats:
        scale = float(np.ravel(self.estimates.scale)[0])
        return self.difference / scale if scale > 0 else np.full(len(self), np.nan)

    def reject(self, alpha: float | None = None, *, level: float | None = None) -> Bools:
        """Return whether each pair differs significantly, in the order of `to_frame()`.

        Parameters
        ----------
        alpha : float, optional
            Level of significance, below 0.5; 0.05 without it.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        array of bool
            One entry a pair.
        """
        return np.asarray(self.p_adjusted <= resolve_alpha(alpha, level))

    def directions(self, alpha: float | None = None, *, level: float | None = None) -> Ints:
        """Return 1 where the first system of a pair is significantly better, -1 where it is worse, 0 where neither.

        Parameters
        ----------
        alpha : float, optional
            Level of significance, below 0.5; 0.05 without it.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        array of int
            One entry a pair.
        """
        return np.where(self.reject(alpha, level=level), np.sign(self.gain), 0.0).astype(np.int64)

    def intervals(
        self, level: float | None = None, kind: str = "mean", *, alpha: float | None = None
    ) -> pd.DataFrame:
        """Return intervals of one kind, best system first.

        Parameters
        ----------
        level : float, optional
            Level of the intervals, above 0.5; 0.95 without it.
        kind : str
            "mean": confidence interval of each system's mean by itself, for the claim.
            "comparison": bars that do not overlap differ significantly: half the critical difference of the correction
            either way (F19 eq. 3 for HSD), or its nearest fit where pairs have critical differences of their own.
            "difference": confidence interval of each difference, simultaneous for hsd, scheffe, dunnett, bonferroni,
            holm (which takes Bonferroni's) and tests of all pairs at once; each pair by itself for none; for bh and by
            of the false-coverage kind, valid for the significant pairs (Benjamini & Yekutieli 2005).
            "tukey", "anova", "sem": F19 eq. 3, 5, 4.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        DataFrame
            `estimate, lower, upper` by system; for differences `a, b, difference, lower, upper`.
        """

        alpha = resolve_alpha(alpha, level)
        if kind == "difference":
            if not self.pairs.has_intervals:
                raise InputError(f"{self.title} has no interval for a difference", remedy="use a t-test")
            return self.to_frame(alpha=alpha)[["a", "b", "difference", "lower", "upper"]]
        lower, upper = self._limit_means(alpha) if kind == "mean" else self._surround_means(kind, alpha)
        frame = pd.DataFrame(
            {"estimate": self.means, "lower": lower, "upper": upper},
            index=pd.Index(self.estimates.labels, name="system"),
        )
        return frame.iloc[self._member_systems]

    def _limit_means(self, alpha: float) -> tuple[Floats, Floats]:
        """(R,) confidence limits of single means, by their own spread or else by the model's error."""
        e = self.estimates
        if e.mean_se is not None and e.mean_df is not None:
            se, df = (np.atleast_2d(x)[0] for x in (e.mean_se, e.mean_df))
            return weigh_means(e.bounded, self.means, se, df).limits(student_critical(alpha, df))
        if e.own_sd is not None and e.own_count is not None:
            return self._surround_means("sem", alpha)
        if np.isfinite(e.error_variance).all():
            return self._surround_means("anova", alpha)
        return np.full(e.size, np.nan), np.full(e.size, np.nan)

    def _surround_means(self, kind: str, alpha: float) -> tuple[Floats, Floats]:
        """(R,) means less and plus the half-widths of a kind of interval; NaN where these are 0."""
        e = self.estimates
        if kind == "comparison":
            half = self._comparison_half_widths(alpha)
        elif kind in PAPER_KINDS:
            half = paper_half_widths(e, kind, len(self._member_systems), alpha)
        else:
            raise refuse_unknown("kind", kind, INTERVAL_KINDS, what="interval")
        half = np.where(half > 0.0, half, np.nan)
        return self.means - half, self.means + half

    @property
    def has_comparison_intervals(self) -> bool:
        """Whether bars can show which pairs differ: all pairs are compared, and have critical differences."""
        known = has_common_spread(self.estimates, self.pairs) or self.pairs.has_intervals
        return self.complete and known and bool(np.isfinite(self.difference).all())

    def _comparison_half_widths(self, alpha: float) -> Floats:
        """Half-widths of bars that overlap where pairs do not differ, (R,) with NaN for systems in no pair."""
        if not self.has_comparison_intervals:
            raise InputError(
                f"{self.title} has no comparison intervals"
                if self.complete
                else "comparison intervals need every pair of systems",
                remedy=("use ", Option("kind", "mean")),
            )
        e = self.estimates
        if self.correction != JOINT and has_common_spread(e, self.pairs):
            return halve_critical_difference(e, self.pairs, alpha)
        critical = self._broadcast_row(self.pairs.critical_differences(alpha))
        half = np.full(e.size, np.nan)
        half[self._member_systems] = share_half_widths(
            critical, *self._pair_positions, len(self._member_systems)
        )
        return half

    def critical_difference(self, alpha: float | None = None, *, level: float | None = None) -> float:
        """Return the difference from which on a pair is significant, NaN where no one figure serves all pairs.

        Parameters
        ----------
        alpha : float, optional
            Level of significance, below 0.5; 0.05 without it.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        float
            The critical difference.
        """
        if not self.pairs.has_intervals:
            return float("nan")
        critical = self._broadcast_row(self.pairs.critical_differences(resolve_alpha(alpha, level)))
        # no difference is significant where a correction leaves no level
        if not np.isfinite(critical).all():
            return float("nan")
        alike = bool(np.ptp(critical) <= 1e-9 * critical.max(initial=0.0))
        return float(critical[0]) if alike else float("nan")

    def best(self, alpha: float | None = None, *, level: float | None = None) -> tuple[str, ...]:
        """Return the best set: the systems that no other is significantly better than, best first.

        Where the correction controls the family-wise error, it holds the best system with probability 1 - alpha. It is
        the set of systems whose rank range starts at 1.

        Parameters
        ----------
        alpha : float, optional
            Level of significance, below 0.5; 0.05 without it.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        tuple of str
            Names of systems.
        """
        _, above = self._count_wins(resolve_alpha(alpha, level))
        # with missing scores each pair has items of its own, and every system may be beaten by another
        unbeaten = above == 0 if (above == 0).any() else above >= 0
        return tuple(name for name, kept in zip(self.names, unbeaten, strict=True) if kept)

    def _count_wins(self, alpha: float) -> tuple[Ints, Ints]:
        """Number of systems significantly below and above each of `names`."""
        self._require_all_pairs("ranks and the best set")
        return groups.count_wins(
            self.reject(alpha), self.gain, *self._pair_positions, len(self._member_systems)
        )

    def _require_all_pairs(self, what: str) -> None:
        if not self.complete:
            raise InputError(
                f"{what} need every pair of systems",
                remedy=("leave out ", Option("baseline"), Either(" and a list of pairs", "")),
            )

    def groups(
        self, alpha: float | None = None, most: int = MOST_GROUPS, *, level: float | None = None
    ) -> list[tuple[str, ...]]:
        """Return homogeneous groups: all maximal sets of systems no two of which differ, best first.

        Parameters
        ----------
        alpha : float, optional
            Level of significance, below 0.5; 0.05 without it.
        most : int
            Number of overlapping groups beyond which they are refused, as they would explain nothing.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        list of tuple of str
            Names of the systems of each group; a system may be in several.
        """
        names = self.names
        return [
            tuple(names[k] for k in group) for group in self._find_groups(resolve_alpha(alpha, level), most)
        ]

    def letters(
        self, alpha: float | None = None, most: int = MOST_GROUPS, *, level: float | None = None
    ) -> pd.DataFrame:
        """Return the compact letter display, `estimate, letters`: systems that share a letter are tied.

        Parameters
        ----------
        alpha : float, optional
            Level of significance, below 0.5; 0.05 without it.
        most : int
            Number of overlapping groups beyond which they are refused, as they would explain nothing.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        DataFrame
            One row a system, best first.
        """

        names = groups.assign_letters(
            self._find_groups(resolve_alpha(alpha, level), most), len(self._member_systems)
        )
        index = pd.Index(self.names, name="system")
        return pd.DataFrame({"estimate": self.means[self._member_systems], "letters": names}, index=index)

    def _square_matrix(self, pairs: Array, blank: bool | float = False) -> Array:
        """Put values of pairs where row and column of their systems meet."""
        size = len(self._member_systems)
        square = np.full((size, size), blank, dtype=pairs.dtype)
        square[self._pair_positions] = pairs
        return square

    def _find_groups(self, alpha: float, most: int) -> list[list[int]]:
        self._require_all_pairs("groups")
        differ = self._square_matrix(self.reject(alpha))
        return groups.maximal_groups(differ | differ.T, most)

    def ranks(self, level: float | None = None, *, alpha: float | None = None) -> pd.DataFrame:
        """Return the ranks that each system may have: `rank, rank_best, rank_worst`, best system first.

        The best is 1 plus the number of systems significantly better, the worst the number of systems less those
        significantly worse; where the correction controls the family-wise error, all these ranges hold at once.

        Parameters
        ----------
        level : float, optional
            Level of the ranges, above 0.5; pairs are significant at 1 - level. 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        DataFrame
            One row a system.
        """

        ranks = self._list_ranks(resolve_alpha(alpha, level))
        return pd.DataFrame(ranks, index=pd.Index(self.names, name="system"))

    def _list_ranks(self, alpha: float) -> dict[str, Ints]:
        """(R,) rank of each mean, best and worst rank."""
        below, above = self._count_wins(alpha)
        values = self.estimates.sign * self.means[self._member_systems]
        rank = 1 + (values[None, :] > values[:, None]).sum(axis=1)
        return {"rank": rank, "rank_best": 1 + above, "rank_worst": len(values) - below}

    def systems(self, level: float | None = None, *, alpha: float | None = None) -> pd.DataFrame:
        """Return one row a system: `estimate, lower, upper` of its mean, and `rank, rank_best, rank_worst`.

        Parameters
        ----------
        level : float, optional
            Level of the intervals, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        DataFrame
            One row a system, best first.
        """
        return self.intervals(level, alpha=alpha).join(self.ranks(level, alpha=alpha))

    def contrasts(
        self, groups: Mapping[str, Any], *, level: float | None = None, alpha: float | None = None
    ) -> Any:
        """Compare groups of systems by contrasts of their means, with simultaneous intervals.

        Parameters
        ----------
        groups : mapping
            Name of a contrast -> two groups of systems, ``(["a", "b"], ["c"])``, or weights that add up to 0.
        level : float, optional
            Level of the intervals, above 0.5; 0.95 without it.
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        Contrasts
            `table` has `contrast, estimate, lower, upper, se, df, statistic, p, p_adjusted`.
        """
        return late.call_bound("contrasts", self, groups, level=1.0 - resolve_alpha(alpha, level))

    def probabilities(self, margin: float) -> pd.DataFrame:
        """Return P(better by more than the margin), P(practically equal) and P(worse) of each pair.

        Parameters
        ----------
        margin : float
            Largest difference that does not matter.

        Returns
        -------
        DataFrame
            `a, b, difference, better, equal, worse`, shares of the confidence distribution of each difference.
        """
        table: pd.DataFrame = late.call_bound("three_ways", self, margin)
        return table

    def effect_sizes(self) -> pd.DataFrame:
        """Return differences over the residual standard deviation: `a, b, difference, effect_size, size` (Cohen's d).

        Tests of instances add `topic_effect_size`, in units of the standard deviation of the per-topic differences (J15
        eq. 8).

        Returns
        -------
        DataFrame
            One row a pair.
        """
        if not float(np.ravel(self.estimates.scale)[0]) > 0:
            raise InputError(
                "there is no spread to measure differences by", remedy="compare a fit with residuals"
            )
        effect, topic_sd = self._standardized_effects(), self.estimates.topic_sd
        frame = self.to_frame()[["a", "b", "difference", "effect_size"]].assign(
            size=[describe_size(x) for x in effect]
        )
        return (
            frame
            if topic_sd is None
            else frame.assign(
                topic_effect_size=self.difference
                / np.reshape(topic_sd, topic_sd.shape[-2:])[self.ia, self.ib]
            )
        )

    def matrix(self, column: str = "p_adjusted") -> pd.DataFrame:
        """Return one column as a square of systems, best first; NaN for pairs that were not compared.

        Parameters
        ----------
        column : str
            A column of `to_frame()`.

        Returns
        -------
        DataFrame
            Systems by systems.
        """

        frame = self.to_frame()
        figures = list(frame)[2:]
        if column not in figures:
            raise refuse_unknown("column", column, figures)
        values: Floats = frame[column].to_numpy(dtype=float)
        square = self._square_matrix(values, np.nan)
        turned = -square.T if column in {"difference", "statistic", "effect_size"} else square.T
        square = np.where(np.isnan(square), turned, square)
        if column in {"p", "p_adjusted", "difference"}:
            np.fill_diagonal(square, 0.0 if column == "difference" else 1.0)
        index = pd.Index(self.names, name="system")
        return pd.DataFrame(square, index=index, columns=index)

    def posterior(
        self, a: str | None = None, b: str | None = None, draws: int = 10_000, seed: int = 0
    ) -> Any:
        """Return the posterior distribution of a difference, where the fit has one (J15 §3).

        Parameters
        ----------
        a, b : str, optional
            Two systems; those of the only pair where they are left out.
        draws : int
            Number of draws.
        seed : int
            Seed of the draws.

        Returns
        -------
        object
            The distribution.
        """
        if self.estimates.posterior is None:
            raise InputError(f"{self.title} has no posterior", remedy="use the unified test or a mixed model")
        if draws < 100:
            raise InputError(f"{draws} draws are too few for an interval", remedy="take 1,000 or more")
        if a is None or b is None:
            a, b = self._only_pair()
        return self.estimates.posterior(a, b, draws, seed)

    def interval(
        self, level: float | None = None, kind: str = "t", *, alpha: float | None = None
    ) -> tuple[float, float]:
        """Return the interval of the difference of the only pair.

        Parameters
        ----------
        level : float, optional
            Level of the interval, above 0.5; 0.95 without it.
        kind : str
            "t", or the highest posterior density, "hpd".
        alpha : float, optional
            1 - level, in its place.

        Returns
        -------
        tuple of float
            Lower and upper limit.
        """
        alpha = resolve_alpha(alpha, level)
        a, b = self._only_pair()
        if kind == "hpd":
            interval: tuple[float, float] = self.posterior(a, b).interval(1.0 - alpha)
            return interval
        if kind != "t":
            raise refuse_unknown("kind", kind, ("t", "hpd"), what="interval")
        row = self.intervals(kind="difference", alpha=alpha).iloc[0]
        return float(row["lower"]), float(row["upper"])

    def _only_pair(self) -> tuple[str, str]:
        if len(self) != 1:
            raise InputError(f"there are {len(self)} pairs", remedy="name the two systems")
        return self.estimates.labels[int(self.ia[0])], self.estimates.labels[int(self.ib[0])]


def describe_size(effect: float) -> str:
    """Return an effect size in words.

    >>> describe_size(-0.6)
    'medium'
    """
    return next((word for bound, word in SIZES if abs(effect) >= bound), "negligible")


def refuse_dunnett(correction: str | None, baselines: Sequence[str]) -> None:
    """Refuse Dunnett's test with no system to compare with, or with several."""
    if correction == "dunnett" and len(baselines) != 1:
        raise InputError(
            "Dunnett's test compares with one system", remedy=("name it by ", Option("baseline"))
        )


def compare_estimates(
    estimates: Means,
    correction: str | None = None,
    *,
    only: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    baseline: str | Sequence[str] | None = None,
    title: str = "",
    procedure: str = "",
    directed: bool = False,
) -> Comparisons:
    """Compare the systems of estimates, correcting for the number of comparisons.

    ``correction`` is one of `CORRECTIONS`, or empty for tests that are corrected by construction; without it "hsd", and
    "bh" where the differences have a distribution of their own, as in V17 and FF21; ``only`` lists
    systems or pairs, to which the comparison and its correction are confined; with a ``baseline``, or several, all
    others are compared, each pair being (system, baseline). ``title`` says what was done, ``procedure`` is the name of
    who asks for it, and ``directed`` keeps listed pairs as they are, whichever system is better.

    >>> means = Means(("x", "y", "z"), np.array([0.10, 0.30, 0.12]), 0.001, 98.0, "topics like these 50")
    >>> compare_estimates(means, "holm", only=["x", "y"]).to_frame().round(6)[["a", "b", "difference", "p_adjusted"]]
       a  b  difference  p_adjusted
    0  y  x         0.2    0.000021
    """
    if correction:
        check_correction(correction)
    ordered = sort_estimates(estimates)
    bases = list_baselines(baseline)
    refuse_dunnett(correction, bases)
    ia, ib = choose_pairs(ordered.labels, only, bases or None, directed=directed)
    tested = (ordered.pairs or ordered.test_by_variance)(ia, ib)
    if correction is None:
        correction = "hsd" if tested.critical is None else "bh"
    pairs = tested.correct(correction, ia, ib, ordered)
    by_t = ordered.pairs is None and correction in STEPWISE
    words = title or "t with " * by_t + CORRECTIONS[correction].title
    against = f" against {' and '.join(bases)}" if bases else ""
    return Comparisons(ordered, ia, ib, pairs, words + against, procedure, directed or bool(bases))
