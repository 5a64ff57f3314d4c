"""Hold the means of systems as a fit sees them, ready to be compared.

All arrays may have leading axes, one entry a table of scores: the laboratory compares thousands of tables at once, and
the comparison of one table is a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.methods.bounded import BoundedScores
from shardwise.methods.pairs import Pairs
from shardwise.stats.units import WinShare

NUMBERS = ("variance", "df", "scale")
VECTORS = ("values", "own_sd", "own_count", "mean_se", "mean_df")
SQUARES = ("difference_variance", "difference_df", "topic_sd", "p_floor")
"""The arrays of estimates: one entry a table, a system, or a pair of systems."""
KNOWN_DF = 1e7
"""Degrees of freedom of a variance that is known: intervals need a finite number."""


class DifferenceDistribution(Protocol):
    """Distribution of the difference of two estimates when the systems are equal, for models without a t."""

    @property
    def name(self) -> str:
        """What distribution this is, in words."""

    def p_values(self, differences: Floats) -> Floats:
        """(…, P) probabilities, were there no difference, of one at least as large as each of these."""

    def critical(self, level: Floats) -> Floats:
        """(…,) smallest differences whose p-values are at most the levels."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """System means as a fit sees them, ready to be compared.

    Where all pairs are alike (balanced data), ``variance`` and ``df`` say all. Where they are not,
    ``difference_variance`` and, if need be, ``difference_df`` hold them pair by pair, and ``variance`` and ``df`` are
    their typical values. A ``distribution`` replaces Student's t, a ``test`` replaces any variance.

    Parameters
    ----------
    labels : tuple of str
        Names of the R systems.
    values : array
        (…, R) means.
    variance : array or float
        (…,) variance of one mean, so that a difference has twice that.
    df : array or float
        (…,) its degrees of freedom.
    claim : str
        What a difference is about, in words.
    model : str
        What was fitted, in words.
    error : str
        The error term in words, such as ``topic:system``.
    scale : array or float
        (…,) standard deviation of one observation around the model, for standardised differences.
    difference_variance : array, optional
        (…, R, R) variances of the differences.
    difference_df : array, optional
        (…, R, R) their degrees of freedom.
    own_sd : array, optional
        (…, R) standard deviation of each system's own scores, for the SEM interval (F19 eq. 4).
    own_count : array, optional
        (…, R) number of each system's own scores.
    mean_se : array, optional
        (…, R) standard error of each system's mean by itself, for the claim; ``own_sd / √own_count`` without it.
    mean_df : array, optional
        (…, R) its degrees of freedom; ``own_count - 1`` without it.
    from_own_scores : bool
        Whether the mean of a system and its variance come from its own scores alone, and round as these do.
    bounded : BoundedScores, optional
        Scores of items behind the means, mapped to [0, 1], where their range is known and topics are a sample.
    p_floor : array, optional
        (…, R, R) p-values that those of pairs may not be below.
    topic_sd : array, optional
        (…, R, R) standard deviation of the per-topic differences, for the effect size of J15 eq. 8.
    distribution : DifferenceDistribution, optional
        Distribution of a difference, where that is not Student's t.
    test : callable, optional
        A test of pairs, by the numbers of their two systems, that needs more than means and variances.
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
    """

    labels: tuple[str, ...]
    values: Floats
    variance: Any = float("nan")
    df: Any = float("nan")
    claim: str = ""
    model: str = ""
    error: str = ""
    scale: Any = float("nan")
    difference_variance: Floats | None = None
    difference_df: Floats | None = None
    own_sd: Floats | None = None
    own_count: Floats | None = None
    mean_se: Floats | None = None
    mean_df: Floats | None = None
    from_own_scores: bool = False
    bounded: BoundedScores | None = None
    p_floor: Floats | None = None
    topic_sd: Floats | None = None
    distribution: DifferenceDistribution | None = None
    test: Callable[[Ints, Ints], Pairs] | None = None
    over: Claim = Claim()  # noqa: RUF009, a frozen value
    nouns: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    posterior: Callable[[str, str, int, int], Any] | None = None
    win_share: WinShare | None = None
    lower_is_better: bool = False

    @property
    def size(self) -> int:
        """Number of systems."""
        return len(self.labels)

    @property
    def sign(self) -> int:
        """1 where higher means are better, -1 where lower ones are."""
        return -1 if self.lower_is_better else 1

    def take_first(self) -> Estimates:
        """Return the estimates of the first table alone, without the axis of tables; tests keep their batch.

        Returns
        -------
        Estimates
            Estimates of one table.
        """
        return self.map_arrays(
            lambda number: float(np.ravel(number)[0]),
            lambda array: np.asarray(array, np.float64)[0],
            lambda array: np.asarray(array, np.float64)[0],
        )

    def map_arrays(
        self, number: Callable[[Any], Any], vector: Callable[[Any], Any], square: Callable[[Any], Any]
    ) -> Estimates:
        """Return the same with functions applied to numbers (…,), to arrays (…, R) and to arrays (…, R, R).

        Parameters
        ----------
        number, vector, square : callable
            Functions of one array.

        Returns
        -------
        Estimates
            What is None stays None.
        """
        kinds = {NUMBERS: number, VECTORS: vector, SQUARES: square}
        changed = {
            name: function(getattr(self, name))
            for names, function in kinds.items()
            for name in names
            if getattr(self, name) is not None
        }
        return replace(self, **changed)

    def variance_of_differences(self) -> Floats:
        """Return the (…, R, R) variances of the difference of each pair.

        Returns
        -------
        array of float
            Variances by table, system and system.
        """
        if self.difference_variance is not None:
            return self.difference_variance
        both = 2.0 * np.asarray(self.variance, np.float64)[..., None, None]
        return np.where(np.eye(self.size, dtype=bool), 0.0, both)

    def pair_spread(self, ia: Ints, ib: Ints) -> tuple[Floats, Floats]:
        """Return variance and df of the differences of pairs: (…, P), or (…, 1) where all pairs share them.

        Parameters
        ----------
        ia, ib : arrays of int
            (P,) numbers of the first and of the second system of each pair.

        Returns
        -------
        tuple of arrays
            Variances and degrees of freedom.
        """
        variance, df = (
            np.asarray(x, np.float64)[..., None] for x in (2.0 * np.asarray(self.variance), self.df)
        )
        if self.difference_variance is not None:
            variance = self.difference_variance[..., ia, ib]
        return variance, df if self.difference_df is None else self.difference_df[..., ia, ib]
