"""The waist of the design: what every fit hands to every comparison.

All arrays may have leading axes, one entry a table of scores: a laboratory compares thousands of tables at once, and
the comparison of one table is a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim


class Law(Protocol):
    """Law of the difference of two estimates when the systems are equal, for models without a t."""

    @property
    def name(self) -> str:
        """What law this is, in words."""

    def p_values(self, differences: Floats) -> Floats:
        """(…, P) probabilities, were there no difference, of one at least as large as each of these."""

    def critical(self, level: Floats) -> Floats:
        """(…,) smallest differences whose p-values are at most the levels."""


class Joint(Protocol):
    """The joint law of all pairs that were asked for, of a test that is corrected by construction."""

    @property
    def p_adjusted(self) -> Floats:
        """(…, P) p-values corrected by that law."""

    def half_width(self, alpha: float) -> Floats:
        """(…, P) half-widths of simultaneous intervals at level 1 - alpha."""

    def top(self, alpha: float) -> Bools | None:
        """(…, R) whether each system may be the best, at level 1 - alpha; None where the law does not say."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a test says of pairs of systems, arrays (…, P) each; NaN where it has no such figure."""

    difference: Floats  # of the first system of a pair less the second
    se: Floats
    df: Floats
    statistic: Floats
    p: Floats  # each pair by itself
    joint: Joint | None = None  # the joint law of all pairs, where the test is corrected by construction
    ends: Callable[[Floats], tuple[Floats, Floats]] | None = (
        None  # intervals at 1 - level where they are no t's
    )


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """A joint law that is known already."""

    p_adjusted: Floats
    half: Callable[[float], Floats] | None = None

    def half_width(self, alpha: float) -> Floats:
        """Half-widths of simultaneous intervals, NaN where there are none."""
        return np.full(self.p_adjusted.shape, np.nan) if self.half is None else self.half(alpha)

    def top(self, alpha: float) -> Bools | None:
        """The law does not say which systems may be the best."""
        return None


class PairTest(Protocol):
    """A test that looks at the scores of pairs rather than at a variance of their means."""

    @property
    def name(self) -> str:
        """What test this is, in words; empty where the title says it all."""

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs of systems with these indices."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """System means as a fit sees them, ready to be compared.

    Where all pairs are alike (balanced data), ``variance`` and ``df`` say all. Where they are not,
    ``difference_variance`` and, if need be, ``difference_df`` hold them pair by pair, and ``variance`` and ``df`` are
    their typical values. A ``law`` stands instead of Student's t, a ``test`` instead of any variance.

    Parameters
    ----------
    labels
        Names of the R systems.
    values
        (…, R) means.
    variance
        (…,) variance of one mean, so that a difference has twice that.
    df
        (…,) its degrees of freedom.
    claim
        What a difference is about, in words.
    model
        What was fitted, in words.
    error
        The error term in words, such as ``topic:system``.
    scale
        (…,) standard deviation of one observation around the model, for standardised differences.
    difference_variance
        (…, R, R) variances of the differences.
    difference_df
        (…, R, R) their degrees of freedom.
    own_sd
        (…, R) standard deviation of each system's own scores, for the SEM interval (F19 eq. 4).
    own_count
        (…, R) number of each system's own scores.
    topic_sd
        (…, R, R) standard deviation of the per-topic differences, for the effect size of J15 eq. 8.
    law
        Law of a difference, where that is no t.
    test
        A test of pairs that needs more than means and variances.
    over
        The claim itself.
    nouns
        The user's own words for dimensions.
    proportions
        Whether the values are shares of right answers, so that intervals of means are to stay within 0 and 1.
    notes
        What the reader of a result should know of the fit.
    posterior
        Function of (a, b, draws, seed) that gives the posterior law of a difference, where the fit has one.
    """

    labels: tuple[str, ...]
    values: Floats
    variance: Any
    df: Any
    claim: str
    model: str = ""
    error: str = ""
    scale: Any = float("nan")
    difference_variance: Floats | None = None
    difference_df: Floats | None = None
    own_sd: Floats | None = None
    own_count: Floats | None = None
    topic_sd: Floats | None = None
    law: Law | None = None
    test: PairTest | None = None
    over: Claim = Claim()  # noqa: RUF009, a frozen value
    nouns: Mapping[str, str] = field(default_factory=dict)
    proportions: bool = False
    notes: tuple[str, ...] = ()
    posterior: Callable[[str, str, int, int], Any] | None = None

    @property
    def size(self) -> int:
        """Number of systems."""
        return len(self.labels)

    def variance_of_differences(self) -> Floats:
        """(…, R, R) variances of the difference of each pair."""
        if self.difference_variance is not None:
            return self.difference_variance
        both = 2.0 * np.asarray(self.variance, np.float64)[..., None, None]
        return np.where(np.eye(self.size, dtype=bool), 0.0, both)

    def pair_spread(self, ia: Ints, ib: Ints) -> tuple[Floats, Floats]:
        """Variance and df of the differences of pairs: (…, P), or (…, 1) where all pairs share them.

        Parameters
        ----------
        ia, ib
            (P,) numbers of the first and of the second system of each pair.
        """
        variance, df = (
            np.asarray(x, np.float64)[..., None] for x in (2.0 * np.asarray(self.variance), self.df)
        )
        if self.difference_variance is not None:
            variance = self.difference_variance[..., ia, ib]
        return variance, df if self.difference_df is None else self.difference_df[..., ia, ib]
