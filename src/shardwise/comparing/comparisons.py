"""Telling systems apart: any estimates, any method, one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from shardwise.comparing import intervals
from shardwise.comparing.pairs import best_first, choose_pairs, differences
from shardwise.core import late
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.estimates import Estimates
from shardwise.numerics import groups
from shardwise.numerics.corrections import (
    SIMULTANEOUS,
    STEPWISE,
    Family,
    adjusted,
    critical_t,
    known,
    title,
    uncorrected_level,
)
from shardwise.numerics.student import t_statistic

COLUMNS = ("a", "b", "difference", "se", "df", "statistic", "p", "p_adjusted")
SIZES = ((0.8, "large"), (0.5, "medium"), (0.2, "small"))  # Cohen's words for a standardised difference


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons:
    """One row a pair of systems, the better one first: difference, spread, p-value and corrected p-value.

    >>> means = Estimates(("x", "y", "z"), np.array([0.30, 0.10, 0.12]), 0.001, 98.0, "topics like these 50")
    >>> pairs = compare(means, "hsd")
    >>> pairs.top_group()
    ('x',)
    >>> print(pairs)
    Tukey HSD, 3 systems, 98 df; claim: topics like these 50
    """

    estimates: Estimates  # best system first
    ia: Ints  # index of the better system of each pair
    ib: Ints
    difference: Floats
    se: Floats
    df: Floats
    statistic: Floats
    p: Floats
    p_adjusted: Floats
    method: str
    title: str

    @property
    def claim(self) -> str:
        """What a significant difference is about, in words."""
        return self.estimates.claim

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that take part in a pair, best first."""
        return tuple(self.estimates.labels[k] for k in self._members)

    @property
    def _members(self) -> Ints:
        return np.union1d(self.ia, self.ib)

    @property
    def _family(self) -> Family:
        t = np.abs(t_statistic(self.difference, self.se))
        return Family(self.p, t, self.df, len(self._members))

    def __len__(self) -> int:
        return len(self.ia)

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self)} pairs: {self}>"

    def __str__(self) -> str:
        e = self.estimates
        spread = e.law.name if e.law else f"{e.df:g} df" if np.isfinite(e.variance) else ""
        parts = [
            self.title,
            f"{len(self._members)} systems",
            spread,
            f"error {e.error}" if e.error not in {"", "error"} else "",
        ]
        return ", ".join(part for part in parts if part) + f"; claim: {self.claim}"

    def summary(self, alpha: float = 0.05) -> str:
        """What was done and what came out at one level."""
        lines = [str(self), f"{int(self.reject(alpha).sum())} of {len(self)} pairs differ at {alpha:g}"]
        if self._best_meets_all():
            top = self.top_group(alpha)
            names = ", ".join(top[:10]) + (", …" if len(top) > 10 else "")
            lines.append(f"top group of {len(top)}: {names}")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """All pairs as a table, NaN where the method has no such figure."""
        names = np.array(self.estimates.labels, dtype=object)
        columns = (names[self.ia], names[self.ib], self.difference, self.se, self.df, self.statistic, self.p,
                   self.p_adjusted)  # fmt: skip
        return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))

    def reject(self, alpha: float = 0.05) -> Bools:
        """Whether each pair differs at level alpha, in the order of `to_frame()`."""
        return np.asarray(self.p_adjusted <= _level(alpha))

    def intervals(self, level: float = 0.95, kind: str | None = None) -> pd.DataFrame:
        """Interval of each system's mean: `estimate, lower, upper`, best system first.

        Without `kind`, half the critical difference of the method either way, so that two intervals overlap
        exactly when the pair is not told apart (F19 eq. 3 for HSD); paired tests, which have no common spread,
        fall back to "sem". kind="tukey", "sem", "anova": F19 eq. 3, 4, 5.
        """
        alpha = 1.0 - _level(level)
        e = self.estimates
        if kind is None and intervals.has_own(e):
            half = intervals.half_widths(e, self.method, self._family, alpha)
        elif kind is None or kind == "sem":
            half = intervals.sem(e, alpha)
        elif kind == "anova":
            half = intervals.anova(e, alpha)
        elif kind == "tukey":
            half = intervals.tukey(e, len(self._members), alpha)
        else:
            raise InputError(
                f"no interval is called {kind!r}", remedy=f"choose one of {', '.join(intervals.KINDS)}"
            )
        frame = pd.DataFrame(
            {"estimate": e.values, "lower": e.values - half, "upper": e.values + half},
            index=pd.Index(e.labels, name="system"),
        )
        return frame.iloc[self._members]

    def plot(self, level: float = 0.95, measure: str = "mean score") -> Any:
        """Draw the systems with their intervals: an altair chart, which notebooks show and `save_chart` saves."""
        return late.call("chart", self, level=level, measure=measure)

    def difference_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Interval of each difference: `a, b, difference, lower, upper`.

        Simultaneous for hsd, scheffe, dunnett and bonferroni (and holm, which takes Bonferroni's); each pair by
        itself for none; for bh and by of the false-coverage kind, true for the pairs found (Benjamini & Yekutieli
        2005).
        """
        alpha = 1.0 - _level(level)
        method = "bonferroni" if self.method == "holm" else self.method
        family = self._family
        law = self.estimates.law
        if law is not None:
            half = np.full(len(self), law.critical(uncorrected_level(method, family.p, alpha)))
        elif np.isfinite(self.se).all() and np.isfinite(self.df).all():
            half = self.se * critical_t(method, family, alpha, self.df)
        else:
            raise InputError(f"{self.title} has no interval for a difference", remedy="use test='t'")
        frame = self.to_frame()[["a", "b", "difference"]]
        return frame.assign(lower=self.difference - half, upper=self.difference + half)

    def top_group(self, alpha: float = 0.05) -> tuple[str, ...]:
        """The best system and all that are not significantly different from it, best first."""
        if not self._best_meets_all():
            raise InputError(
                f"the best system, {self.systems[0]}, was not compared with all others",
                remedy="compare all pairs to get a top group",
            )
        best = self._members[0]
        worse = self.ib[(self.ia == best) & ~self.reject(alpha)]
        return tuple(self.estimates.labels[k] for k in np.union1d(worse, best))

    def _best_meets_all(self) -> bool:
        members = self._members
        return int((self.ia == members[0]).sum()) == len(members) - 1

    def groups(self, alpha: float = 0.05) -> list[tuple[str, ...]]:
        """Homogeneous groups: all maximal sets of systems no two of which differ, best first."""
        names = self.systems
        return [tuple(names[k] for k in group) for group in self._groups(alpha)]

    def letters(self, alpha: float = 0.05) -> pd.DataFrame:
        """Compact letter display, `estimate, letters`: systems that share a letter are not told apart."""
        names = groups.letters(self._groups(alpha), len(self._members))
        index = pd.Index(self.systems, name="system")
        return pd.DataFrame({"estimate": self.estimates.values[self._members], "letters": names}, index=index)

    def _groups(self, alpha: float) -> list[list[int]]:
        members = self._members
        r = len(members)
        if len(self) != r * (r - 1) // 2:
            raise InputError(
                "groups need every pair of systems", remedy="compare without baseline and list of pairs"
            )
        differ = np.zeros((r, r), dtype=bool)
        a, b = np.searchsorted(members, self.ia), np.searchsorted(members, self.ib)
        differ[a, b] = differ[b, a] = self.reject(alpha)
        return groups.maximal_groups(differ)

    def effect_sizes(self) -> pd.DataFrame:
        """Differences in units of the model's residual spread: `a, b, difference, effect_size, size` (Cohen's d)."""
        scale = self.estimates.scale
        if not scale > 0:
            raise InputError(
                "there is no spread to measure differences by", remedy="compare a fit with residuals"
            )
        effect = self.difference / scale
        size = np.select(
            [np.abs(effect) >= bound for bound, _ in SIZES], [word for _, word in SIZES], "negligible"
        )
        return self.to_frame()[["a", "b", "difference"]].assign(effect_size=effect, size=size)

    def matrix(self, column: str = "p_adjusted") -> pd.DataFrame:
        """One column as a square of systems, best first; NaN for pairs that were not compared."""
        if column not in COLUMNS[2:]:
            raise InputError(
                f"no column is called {column!r}", remedy=f"choose one of {', '.join(COLUMNS[2:])}"
            )
        members = self._members
        a, b = np.searchsorted(members, self.ia), np.searchsorted(members, self.ib)
        values = self.to_frame()[column].to_numpy(dtype=float)
        square = np.full((len(members), len(members)), np.nan)
        square[a, b] = values
        square[b, a] = -values if column in {"difference", "statistic"} else values
        if column in {"p", "p_adjusted", "difference"}:
            np.fill_diagonal(square, 0.0 if column == "difference" else 1.0)
        index = pd.Index(self.systems, name="system")
        return pd.DataFrame(square, index=index, columns=index)


def compare(
    source: Any,
    method: str = "hsd",
    *,
    only: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    baseline: str | None = None,
    **claim: Any,
) -> Comparisons:
    """Compare the systems of a fit or of estimates, correcting for the number of comparisons.

    method: "hsd" (Tukey; Tukey–Kramer on unequal variances), "scheffe", "dunnett" (needs `baseline`), "bonferroni",
    "holm", "bh", "by", "none". `only`, a list of systems or of pairs, and `baseline` confine the pairs and the
    correction, not the model (V17 §6). Everything else, such as generalize=("topic",), is the claim and goes to the
    fit.

    >>> means = Estimates(("x", "y", "z"), np.array([0.10, 0.30, 0.12]), 0.001, 98.0, "topics like these 50")
    >>> compare(means, "holm", only=["x", "y"]).to_frame().round(6)[["a", "b", "difference", "p_adjusted"]]
       a  b  difference  p_adjusted
    0  y  x         0.2    0.000021
    """
    known(method)
    estimates = best_first(_estimates(source, claim))
    if method == "dunnett" and baseline is None:
        raise InputError("Dunnett's test compares with one system", remedy="name it: baseline='…'")
    ia, ib = choose_pairs(estimates.labels, only, baseline)
    difference, se = differences(estimates, ia, ib)
    if estimates.law is not None:
        if method in SIMULTANEOUS:
            raise InputError(
                f"{title(method)} needs Student's t, but the differences follow {estimates.law.name}",
                remedy=f"choose one of {', '.join(STEPWISE)}",
            )
        df = statistic = np.full(ia.shape, np.nan)
        p = np.asarray(estimates.law.p_values(difference))
    else:
        df = estimates.df_of_differences()[ia, ib]
        statistic = t_statistic(difference, se)
        p = np.asarray(2.0 * stats.t.sf(statistic, df))
    family = Family(p, statistic, df, len(np.union1d(ia, ib)))
    p_adjusted = np.clip(adjusted(method, family), 0.0, 1.0)
    return Comparisons(
        estimates,
        ia,
        ib,
        difference,
        se,
        df,
        statistic,
        p,
        p_adjusted,
        method,
        _title(method, baseline, estimates.law is None),
    )


def _title(method: str, baseline: str | None, by_t: bool) -> str:
    words = f"t with {title(method)}" if method in STEPWISE and by_t else title(method)
    return f"{words} against {baseline}" if baseline is not None else words


def _estimates(source: Any, claim: dict[str, Any]) -> Estimates:
    if isinstance(source, Estimates):
        if claim:
            raise InputError(
                f"{', '.join(claim)} cannot be chosen for finished estimates",
                remedy="compare the fit instead",
            )
        return source
    if not hasattr(source, "estimates"):
        raise InputError(
            f"a {type(source).__name__} cannot be compared", remedy="fit a model first, or use paired_tests"
        )
    found = source.estimates(**claim)
    if not isinstance(found, Estimates):
        raise InputError(f"{type(source).__name__}.estimates() gave no Estimates")
    return found


def _level(alpha: float) -> float:
    if not 0.0 < alpha < 1.0:
        raise InputError(f"level {alpha} is not between 0 and 1", remedy="write .05 for 5 %")
    return alpha
