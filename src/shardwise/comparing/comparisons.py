"""Telling systems apart: any estimates, any correction, one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from shardwise.comparing import intervals
from shardwise.comparing.decisions import JOINT, Decisions, decide
from shardwise.comparing.pairs import baselines_of, best_first, choose_pairs
from shardwise.core import late
from shardwise.core.arguments import level as checked_level
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import counted
from shardwise.core.errors import Either, InputError, Option, unknown
from shardwise.core.shown import Shown
from shardwise.methods.base import Estimates
from shardwise.stats import corrections, groups
from shardwise.stats.corrections import STEPWISE, known
from shardwise.stats.groups import MOST_GROUPS
from shardwise.stats.proportions import wilson

COLUMNS = (
    *("a", "b", "difference", "lower", "upper"),
    *("se", "df", "statistic", "p", "p_adjusted", "effect_size"),
)
FIGURES = COLUMNS[2:]
Array = TypeVar("Array", Bools, Floats)
SIZES = ((0.8, "large"), (0.5, "medium"), (0.2, "small"))  # Cohen's words for a standardised difference


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons(Shown):
    """One row a pair of systems, the better one first: difference, interval, p-value and corrected p-value.

    Against a baseline the first of a pair is the other system, so that a difference below 0 is one that is worse.

    The only result of pairs that the package has: every model, test and instance method ends here.

    >>> means = Estimates(("x", "y", "z"), np.array([0.30, 0.10, 0.12]), 0.001, 98.0, "topics like these 50")
    >>> pairs = compare_estimates(means, "hsd")
    >>> pairs.top_group()
    ('x',)
    >>> print(pairs)
    Tukey HSD, 3 systems, 98 df; claim: topics like these 50
    """

    estimates: Estimates  # best system first
    ia: Ints  # index of the first system of each pair
    ib: Ints
    decisions: Decisions
    title: str
    procedure: str = ""  # the name that repeats this comparison, where it was made by a procedure
    directed: bool = False  # whether the direction of pairs was asked for, not found

    def _figure(self, values: Floats) -> Floats:
        return np.broadcast_to(np.asarray(values, np.float64), (len(self),))

    @property
    def difference(self) -> Floats:
        """Difference of the first system of each pair less the second."""
        return self._figure(self.decisions.difference)

    @property
    def se(self) -> Floats:
        """Standard errors of the differences, NaN where a test has none."""
        return self._figure(self.decisions.outcome.se)

    @property
    def df(self) -> Floats:
        """Degrees of freedom, NaN where a test has none."""
        return self._figure(self.decisions.outcome.df)

    @property
    def statistic(self) -> Floats:
        """What the test looks at."""
        return self._figure(self.decisions.outcome.statistic)

    @property
    def p(self) -> Floats:
        """p-values of each pair by itself."""
        return self._figure(self.decisions.p)

    @property
    def p_adjusted(self) -> Floats:
        """p-values corrected for the number of comparisons."""
        return self._figure(self.decisions.p_adjusted)

    @property
    def correction(self) -> str:
        """Name of the correction; empty where the test is corrected by construction."""
        return self.decisions.correction

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
        return tuple(self.estimates.labels[k] for k in self._members)

    @property
    def complete(self) -> bool:
        """Whether every pair of these systems is compared."""
        r = len(self._members)
        return len(self) == r * (r - 1) // 2

    @property
    def _members(self) -> Ints:
        there = np.zeros(self.estimates.size, dtype=np.bool_)
        there[self.ia] = there[self.ib] = True
        return np.flatnonzero(there)

    def __len__(self) -> int:
        return len(self.ia)

    def __repr__(self) -> str:
        return f"<Comparisons of {counted(len(self), 'pair')}: {self}>"

    def __str__(self) -> str:
        e = self.estimates
        noun = e.nouns.get("system", "system")
        closed = self.correction != JOINT and self.decisions.outcome.joint is not None  # nothing was drawn
        test = e.test.name if e.test is not None and not closed else ""
        df = f"{float(e.df):g} df" if np.isfinite(e.variance) else ""
        parts = [
            self.title,
            counted(len(self._members), noun),
            e.law.name if e.law else test or df,
            f"error {e.error}" if e.error not in {"", "error"} else "",
        ]
        return ", ".join(part for part in parts if part) + f"; claim: {self.claim}"

    def summary(self, alpha: float = 0.05, *, resolution: float = 0.0) -> str:
        """Return what was done and what came out at one level.

        Parameters
        ----------
        alpha
            Level of significance.
        resolution
            The smallest p-value that resamples can show; one as small is said to be at most that.
        """
        if len(self) == 1:
            return f"{self._one_line(resolution)}\n{self}"
        lines = [str(self), f"{int(self.reject(alpha).sum())} of {len(self)} pairs differ at {alpha:g}"]
        if self._best_meets_all():
            top = self.top_group(alpha)
            names = ", ".join(top[:10]) + (", …" if len(top) > 10 else "")
            lines.append(f"top group of {len(top)}: {names}")
        return "\n".join(lines)

    def _one_line(self, resolution: float) -> str:
        """The only pair in numbers."""
        row = self.to_frame().iloc[0]
        df = f", {row['df']:.1f} df" if np.isfinite(row["df"]) else ""
        spread = f" (se {row['se']:.4f}{df})" if np.isfinite(row["se"]) else ""
        effect = row["effect_size"]
        words = f", effect size {effect:.2f} ({size(effect)})" if np.isfinite(effect) else ""
        sign = "≤" if row["p_adjusted"] <= resolution else "="
        found = f"p {sign} {row['p_adjusted']:.4g}{words}"
        return f"{row['a']} - {row['b']} = {row['difference']:.4f}{spread}, {found}"

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return all pairs as a table, NaN where the test has no such figure.

        Parameters
        ----------
        level
            Level of the intervals ``lower, upper`` of the differences: simultaneous where the correction is.
        """
        names = np.array(self.estimates.labels, dtype=object)
        lower, upper = map(self._figure, self.decisions.ends(1.0 - checked_level(level, "level")))
        columns = (names[self.ia], names[self.ib], self.difference, lower, upper,
                   self.se, self.df, self.statistic, self.p, self.p_adjusted, self._effects())  # fmt: skip
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))

    def _half_widths(self, alpha: float) -> Floats:
        return self._figure(self.decisions.half_widths(alpha))

    def _effects(self) -> Floats:
        scale = float(self.estimates.scale)
        return self.difference / scale if scale > 0 else np.full(len(self), np.nan)

    def reject(self, alpha: float = 0.05) -> Bools:
        """Return whether each pair differs at level alpha, in the order of `to_frame()`.

        Parameters
        ----------
        alpha
            Level of significance.
        """
        return np.asarray(self.p_adjusted <= checked_level(alpha))

    def intervals(self, level: float = 0.95, kind: str | None = None) -> pd.DataFrame:
        """Return an interval of each system's mean: `estimate, lower, upper`, best system first.

        Parameters
        ----------
        level
            Level of the intervals.
        kind
            Without it, comparison intervals: half the critical difference of the correction either way, so that two
            intervals overlap exactly when the pair is not told apart (F19 eq. 3 for HSD); tests of pairs, which have no
            common spread, fall back to "sem", tests of right and wrong to Wilson's (1927).
            "tukey", "sem", "anova": F19 eq. 3, 4, 5.
        """
        alpha = 1.0 - checked_level(level, "level")
        e = self.estimates
        if kind is None and self.correction == JOINT and len(self) == e.size * (e.size - 1) // 2:
            half = intervals.shares(self._half_widths(alpha), self.ia, self.ib, e.size)
        elif kind is None and intervals.has_own(e):
            half = intervals.half_widths(e, self.correction, self.decisions.family, alpha)
        elif kind is None or kind == "sem":
            half = intervals.sem(e, alpha)
        elif kind == "anova":
            half = intervals.anova(e, alpha)
        elif kind == "tukey":
            half = intervals.tukey(e, len(self._members), alpha)
        else:
            raise unknown("kind", kind, intervals.KINDS, what="interval")
        lower, upper = e.values - half, e.values + half
        if kind is None and e.proportions and e.own_count is not None:
            lower, upper = wilson(e.values, e.own_count, alpha)
        frame = pd.DataFrame(
            {"estimate": e.values, "lower": lower, "upper": upper},
            index=pd.Index(e.labels, name="system"),
        )
        return frame.iloc[self._members]

    def plot(self, kind: str = "intervals", **options: Any) -> Any:
        """Draw the comparisons: an altair chart, which notebooks show and `save_chart` saves.

        Parameters
        ----------
        kind
            "intervals" of the systems, the "matrix" of pairs, "p-values", "kinds" of intervals, the "difference" of a
            single pair, or "cd", the critical-difference diagram of up to 30 systems.
        options
            Those of the function of ``sw.plot`` that draws it, such as ``level`` and ``measure``.
        """
        return late.call("chart", self, kind, **options)

    def difference_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Return an interval of each difference: `a, b, difference, lower, upper`.

        Simultaneous for hsd, scheffe, dunnett, bonferroni, holm (which takes Bonferroni's) and tests of all pairs at
        once; each pair by itself for none; for bh and by of the false-coverage kind, true for the pairs found
        (Benjamini & Yekutieli 2005).

        Parameters
        ----------
        level
            Level of the intervals.
        """
        checked_level(level, "level")
        if not self.decisions.has_intervals:
            raise InputError(f"{self.title} has no interval for a difference", remedy="use a t-test")
        return self.to_frame(level)[["a", "b", "difference", "lower", "upper"]]

    def top_group(self, alpha: float = 0.05) -> tuple[str, ...]:
        """Return the best system and all that are not significantly different from it, best first.

        The moderated test has Hsu's (1981) group instead, which holds the best with probability 1 - alpha.

        Parameters
        ----------
        alpha
            Level of significance.
        """
        joint = self.decisions.outcome.joint if self.correction == JOINT else None
        best = None if joint is None else joint.top(checked_level(alpha))
        if best is not None:
            return tuple(self.estimates.labels[k] for k in self._members if best[k])
        if not self._best_meets_all():
            raise InputError(
                f"the best system, {self.names[0]}, was not compared with all others",
                remedy="compare all pairs to get a top group",
            )
        first = self._members[0]
        with_best = (self.ia == first) | (self.ib == first)
        alike = np.concatenate([self.ia, self.ib])[np.tile(with_best & ~self.reject(alpha), 2)]
        return tuple(self.estimates.labels[k] for k in np.union1d(alike, first))

    def _best_meets_all(self) -> bool:
        members = self._members
        return int(((self.ia == members[0]) | (self.ib == members[0])).sum()) == len(members) - 1

    def groups(self, alpha: float = 0.05, most: int = MOST_GROUPS) -> list[tuple[str, ...]]:
        """Return homogeneous groups: all maximal sets of systems no two of which differ, best first.

        Parameters
        ----------
        alpha
            Level of significance.
        most
            Number of overlapping groups beyond which they are refused, as they would explain nothing.
        """
        names = self.names
        return [tuple(names[k] for k in group) for group in self._groups(alpha, most)]

    def letters(self, alpha: float = 0.05, most: int = MOST_GROUPS) -> pd.DataFrame:
        """Return the compact letter display, `estimate, letters`: systems that share a letter are not told apart.

        Parameters
        ----------
        alpha
            Level of significance.
        most
            Number of overlapping groups beyond which they are refused, as they would explain nothing.
        """
        names = groups.letters(self._groups(alpha, most), len(self._members))
        index = pd.Index(self.names, name="system")
        return pd.DataFrame({"estimate": self.estimates.values[self._members], "letters": names}, index=index)

    def _square(self, pairs: Array, blank: bool | float = False) -> Array:
        """Values of pairs where row and column of their systems meet."""
        members = self._members
        found = np.full((len(members), len(members)), blank, dtype=pairs.dtype)
        found[np.searchsorted(members, self.ia), np.searchsorted(members, self.ib)] = pairs
        return found

    def _groups(self, alpha: float, most: int) -> list[list[int]]:
        if not self.complete:
            raise InputError(
                "groups need every pair of systems",
                remedy=("leave out ", Option("baseline"), Either(" and a list of pairs", "")),
            )
        found = self._square(self.reject(alpha))
        return groups.maximal_groups(found | found.T, most)

    def ranks(self, level: float = 0.95) -> pd.DataFrame:
        """Return the ranks that each system may have: `rank, lowest, highest`, best system first.

        The best is 1 plus the number of systems significantly better, the worst the number of systems less those
        significantly worse; where the correction holds for the family, all these intervals hold at once.

        Parameters
        ----------
        level
            Level of the intervals; pairs are told apart at 1 - level.
        """
        told = self.reject(1.0 - checked_level(level, "level"))
        wins = self._square(told & (self.difference >= 0.0)) | self._square(told & (self.difference < 0.0)).T
        values = self.estimates.values[self._members]
        rank = 1 + (values[None, :] > values[:, None]).sum(axis=1)
        frame = {"rank": rank, "lowest": 1 + wins.sum(axis=0), "highest": len(wins) - wins.sum(axis=1)}
        return pd.DataFrame(frame, index=pd.Index(self.names, name="system"))

    def systems(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row a system: `estimate, lower, upper` of its mean, and `rank, lowest, highest`.

        Parameters
        ----------
        level
            Level of the intervals.
        """
        return self.intervals(level).join(self.ranks(level))

    def effect_sizes(self) -> pd.DataFrame:
        """Differences in units of the model's residual spread: `a, b, difference, effect_size, size` (Cohen's d).

        Tests of instances add `topic_effect_size`, in units of the standard deviation of the per-topic differences (J15
        eq. 8).
        """
        if not float(self.estimates.scale) > 0:
            raise InputError(
                "there is no spread to measure differences by", remedy="compare a fit with residuals"
            )
        effect, own = self._effects(), self.estimates.topic_sd
        frame = self.to_frame()[["a", "b", "difference", "effect_size"]].assign(
            size=[size(x) for x in effect]
        )
        return (
            frame if own is None else frame.assign(topic_effect_size=self.difference / own[self.ia, self.ib])
        )

    def matrix(self, column: str = "p_adjusted") -> pd.DataFrame:
        """Return one column as a square of systems, best first; NaN for pairs that were not compared.

        Parameters
        ----------
        column
            A column of `to_frame()`.
        """
        if column not in FIGURES:
            raise unknown("column", column, FIGURES)
        values: Floats = self.to_frame()[column].to_numpy(dtype=float)
        square = self._square(values, np.nan)
        turned = -square.T if column in {"difference", "statistic", "effect_size"} else square.T
        square = np.where(np.isnan(square), turned, square)
        if column in {"p", "p_adjusted", "difference"}:
            np.fill_diagonal(square, 0.0 if column == "difference" else 1.0)
        index = pd.Index(self.names, name="system")
        return pd.DataFrame(square, index=index, columns=index)

    def posterior(
        self, a: str | None = None, b: str | None = None, draws: int = 10_000, seed: int = 0
    ) -> Any:
        """Return the posterior law of a difference, where the fit has one (J15 §3).

        Parameters
        ----------
        a, b
            Two systems; those of the only pair where they are left out.
        draws
            Number of draws.
        seed
            Seed of the draws.
        """
        if self.estimates.posterior is None:
            raise InputError(f"{self.title} has no posterior", remedy="use the unified test or a mixed model")
        if draws < 100:
            raise InputError(f"{draws} draws are too few for an interval", remedy="take 1,000 or more")
        if a is None or b is None:
            a, b = self._only_pair()
        return self.estimates.posterior(a, b, draws, seed)

    def interval(self, level: float = 0.95, kind: str = "t") -> tuple[float, float]:
        """Return the interval of the difference of the only pair.

        Parameters
        ----------
        level
            Level of the interval.
        kind
            "t", or the highest posterior density, "hpd".
        """
        checked_level(level, "level")
        a, b = self._only_pair()
        if kind == "hpd":
            found: tuple[float, float] = self.posterior(a, b).interval(level)
            return found
        if kind != "t":
            raise unknown("kind", kind, ("t", "hpd"), what="interval")
        row = self.difference_intervals(level).iloc[0]
        return float(row["lower"]), float(row["upper"])

    def _only_pair(self) -> tuple[str, str]:
        if len(self) != 1:
            raise InputError(f"there are {len(self)} pairs", remedy="name the two systems")
        return self.estimates.labels[int(self.ia[0])], self.estimates.labels[int(self.ib[0])]


def size(effect: float) -> str:
    """Return an effect size in words.

    >>> size(-0.6)
    'medium'
    """
    return next((word for bound, word in SIZES if abs(effect) >= bound), "negligible")


def compare_estimates(
    estimates: Estimates,
    correction: str = "hsd",
    *,
    only: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    baseline: str | Sequence[str] | None = None,
    title: str = "",
    procedure: str = "",
    directed: bool = False,
) -> Comparisons:
    """Compare the systems of estimates, correcting for the number of comparisons.

    ``correction`` is one of `CORRECTIONS`, or empty for tests that are corrected by construction; ``only`` lists
    systems or pairs, to which the comparison and its correction are confined; with a ``baseline``, or several, all
    others are compared, each pair being (system, baseline). ``title`` says what was done, ``procedure`` is the name of
    who asks for it, and ``directed`` keeps listed pairs as they are, whichever system is better.

    >>> means = Estimates(("x", "y", "z"), np.array([0.10, 0.30, 0.12]), 0.001, 98.0, "topics like these 50")
    >>> compare_estimates(means, "holm", only=["x", "y"]).to_frame().round(6)[["a", "b", "difference", "p_adjusted"]]
       a  b  difference  p_adjusted
    0  y  x         0.2    0.000021
    """
    if correction != JOINT:
        known(correction)
    ordered = best_first(estimates)
    bases = baselines_of(baseline)
    if correction == "dunnett" and len(bases) != 1:
        raise InputError(
            "Dunnett's test compares with one system", remedy=("name it by ", Option("baseline"))
        )
    ia, ib = choose_pairs(ordered.labels, only, bases or None, directed=directed)
    found = decide(ordered, correction, ia, ib)
    words = title
    if not words:
        by_t = ordered.law is None and ordered.test is None and correction in STEPWISE
        words = "t with " * by_t + corrections.title(correction)
    against = f" against {' and '.join(bases)}" if bases else ""
    return Comparisons(ordered, ia, ib, found, words + against, procedure, directed or bool(bases))
