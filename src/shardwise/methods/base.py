"""Define what a method is, and the estimates that it hands to every comparison.

All arrays may have leading axes, one entry a table of scores: the laboratory compares thousands of tables at once, and
the comparison of one table is a batch of one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.methods.bounded import BoundedScores
from shardwise.methods.tables import SHARDS, SPLITS, Dims, Tables
from shardwise.stats.corrections import STEPWISE
from shardwise.stats.evidence import least_two_sided
from shardwise.stats.vote_units import WinShare

if TYPE_CHECKING:
    fact = property
else:

    class fact(property):
        """A property that a frozen class may replace by a field: it is invisible on the class itself."""

        def __get__(self, holder, owner=None):
            """Return the fact of an instance; a class has none, or dataclasses would take it for a default."""
            if holder is None:
                raise AttributeError("a fact belongs to a method, not to its class")
            return super().__get__(holder, owner)


JOINT = ""
"""The correction of tests whose joint distribution of all pairs corrects them by construction."""
DEFAULT_RESAMPLES = 10_000
"""Resamples of a test that draws, for one table; the laboratory takes fewer."""


class DifferenceDistribution(Protocol):
    """Distribution of the difference of two estimates when the systems are equal, for models without a t."""

    @property
    def name(self) -> str:
        """What distribution this is, in words."""

    def p_values(self, differences: Floats) -> Floats:
        """(…, P) probabilities, were there no difference, of one at least as large as each of these."""

    def critical(self, level: Floats) -> Floats:
        """(…,) smallest differences whose p-values are at most the levels."""


class JointDistribution(Protocol):
    """Joint distribution of all pairs that were asked for, of a test that is corrected by construction."""

    @property
    def p_adjusted(self) -> Floats:
        """(…, P) p-values corrected by that distribution."""

    def half_width(self, alpha: float) -> Floats:
        """(…, P) half-widths of simultaneous intervals at level 1 - alpha."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Hold what a test says of pairs of systems, arrays (…, P) each; NaN where it has no such figure."""

    difference: Floats  # of the first system of a pair less the second
    se: Floats
    df: Floats
    statistic: Floats
    p: Floats  # each pair by itself
    joint: JointDistribution | None = None  # of tests that are corrected by construction
    limits: Callable[[Floats], tuple[Floats, Floats]] | None = (
        None  # intervals at 1 - level, if not Student's
    )
    units: Floats | None = None  # items behind each difference; of the systems' own scores without it
    resampled: ResampledUnits | None = None  # of a single complete table whose units alone are resampled
    floor: Floats | None = (
        None  # p-values that these and corrected ones may not be below, where the test has such
    )

    @property
    def least_p(self) -> Floats:
        """Smallest p-values that pairs can have: those of sign flips where differences do not vary, or the floor."""
        alike = (self.se == 0.0) & (self.difference != 0.0)
        flips = np.where(alike, 0.0 if self.units is None else least_two_sided(self.units), 0.0)
        return flips if self.floor is None else np.maximum(flips, self.floor)


class ResampledUnits(NamedTuple):
    """What the joint distribution of pairs is resampled from, so that other statements can use the same resamples."""

    # (T, R) scores of topics, or of the clusters and tasks that stand for them
    scores: Floats
    key: np.uint64
    n_resamples: int
    # how much larger a t has to be because units count unequally
    care: float


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
    test : PairTest, optional
        A test of pairs that needs more than means and variances.
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
    mean_se: Floats | None = None
    mean_df: Floats | None = None
    from_own_scores: bool = False
    bounded: BoundedScores | None = None
    p_floor: Floats | None = None
    topic_sd: Floats | None = None
    distribution: DifferenceDistribution | None = None
    test: PairTest | None = None
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
        arrays = (
            *("values", "difference_variance", "difference_df", "own_sd", "own_count"),
            *("mean_se", "mean_df", "topic_sd", "p_floor"),
        )
        first: dict[str, Any] = {
            name: None if getattr(self, name) is None else np.asarray(getattr(self, name), np.float64)[0]
            for name in arrays
        }
        first |= {name: float(np.ravel(getattr(self, name))[0]) for name in ("variance", "df", "scale")}
        return replace(self, **first)

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


@dataclass(frozen=True, slots=True)
class Clause:
    """One plain clause about a method, from which sentences are made.

    Parameters
    ----------
    text : str
        Reads after "compared all pairs with"; ``{topics}``, ``{topic}``, ``{systems}``, ``{instances}``, ``{shards}``
        stand for the user's words, ``{resamples}`` for their number.
    citations : tuple of str
        Keys of the sources that the clause cites, as in ``writing/sources.bib``.
    """

    text: str
    citations: tuple[str, ...] = ()


class Method(ABC):
    """A way of turning tables of scores into estimates, with every fact that anybody asks of it.

    A method is a frozen class in the file of its family. Its facts are read by ``compare``, the report, the methods
    paragraph, ``calibrate``, completion and the docs; nobody else asks which class a method is.
    """

    __slots__ = ()

    @fact
    @abstractmethod
    def name(self) -> str:
        """What a user types."""

    @fact
    @abstractmethod
    def title(self) -> str:
        """The method in words."""

    @fact
    @abstractmethod
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts of tables that it takes for any of its claims."""

    @fact
    @abstractmethod
    def claims(self) -> tuple[Claim, ...]:
        """The claims that it supports, the default one first."""

    @fact
    def default_claim(self) -> Claim:
        """The claim that is meant where none is named."""
        return self.claims[0]

    @fact
    def corrections(self) -> tuple[str, ...]:
        """The corrections that can follow; an empty one for tests corrected by construction."""
        return tuple(STEPWISE)

    @fact
    def reason(self) -> str:
        """What the method does, in one short clause with the words of `Clause`."""
        return self.clause(self.corrections[0], self.default_claim, 3).text

    @fact
    def formula(self) -> str:
        """How a pair is tested, as a formula for the docs."""
        return ""

    @fact
    def limits(self) -> str:
        """Where it should not be used, with what was measured, for the docs."""
        return ""

    @fact
    def bibliography(self) -> str:
        """BibTeX entries of sources that it cites and that the common bibliography lacks."""
        return ""

    @fact
    def sound(self) -> bool:
        """Whether in theory it tests a difference of means at its level."""
        return True

    @fact
    def warned(self) -> bool:
        """Whether the docs warn of it: it is run by its full name, and neither completed nor suggested."""
        return False

    @fact
    def common_error(self) -> bool:
        """Whether one error serves all pairs, so that systems are taken to vary alike."""
        return False

    @fact
    def bounded_statistic(self) -> bool:
        """Whether no pair's own variance alone can make its statistic explode, so that a calibrated level holds."""
        return self.common_error

    @fact
    def takes_gaps(self) -> bool:
        """Whether scores may be missing for its default claim."""
        return False

    @fact
    def uses_people(self) -> bool:
        """Whether it needs scores by people beside those of a judge."""
        return False

    @fact
    def uses_votes(self) -> bool:
        """Whether it needs the votes behind scores that are strengths."""
        return False

    @fact
    def takes_units(self) -> bool:
        """Whether clusters and tasks may be its units, as they are where it looks at means."""
        return self.sound

    @fact
    def takes_single_items(self) -> bool:
        """Whether clusters stay labels of items, because it looks at the items of each system by itself."""
        return False

    @fact
    def repeats_kind(self) -> str:
        """What it takes instances for: "seeds", "samples", or nothing where it averages them."""
        return ""

    @fact
    def fits_cells(self) -> bool:
        """Whether it fits a model to the cells that are there, so that a topic without some shards still counts."""
        return False

    @fact
    def model(self) -> Any:
        """The analysis-of-variance model whose error term decides, where one does."""
        return None

    @abstractmethod
    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        """Say what pairs are compared with, before any correction for their number.

        Parameters
        ----------
        correction : str
            Name of the correction; empty for tests corrected by construction.
        claim : Claim
            What a difference is about.
        systems : int
            Number of systems.

        Returns
        -------
        Clause
            Text and citations.
        """

    @abstractmethod
    def estimate(self, tables: Tables, claim: Claim) -> Estimates:
        """Estimate the means of the systems of many tables, with what differences are measured against.

        Parameters
        ----------
        tables : Tables
            Tables of a layout that the method takes for the claim.
        claim : Claim
            One of `claims`.

        Returns
        -------
        Estimates
            Arrays with one entry a table.
        """

    def layouts_for(self, claim: Claim) -> tuple[Dims, ...]:
        """Return the layouts of tables that can support a claim.

        Parameters
        ----------
        claim : Claim
            What a difference is about.

        Returns
        -------
        tuple of layouts
        """
        return self.layouts if claim in self.claims else ()

    def corrections_for(self, claim: Claim) -> tuple[str, ...]:
        """Return the corrections that can follow for a claim.

        Parameters
        ----------
        claim : Claim
            What a difference is about.

        Returns
        -------
        tuple of str
        """
        return self.corrections

    def takes_gaps_for(self, claim: Claim) -> bool:
        """Return whether scores may be missing for a claim.

        Parameters
        ----------
        claim : Claim
            What a difference is about.

        Returns
        -------
        bool
        """
        return self.takes_gaps

    def takes_common_gaps(self, claim: Claim) -> bool:
        """Return whether cells that all systems lack may be missing for a claim.

        Parameters
        ----------
        claim : Claim
            What a difference is about.

        Returns
        -------
        bool
        """
        return self.takes_gaps_for(claim)

    def choose_correction(self, claim: Claim) -> str:
        """Return the correction that is meant where none is named: its joint distribution, Tukey's HSD or Holm's.

        Parameters
        ----------
        claim : Claim
            What a difference is about.

        Returns
        -------
        str
        """
        offered = self.corrections_for(claim)
        return next(name for name in (JOINT, "hsd", "holm", *offered) if name in offered)

    def split_rules(self, correction: str, claim: Claim) -> tuple[str, ...]:
        """Return the rules that make one answer of several splits: the mean of fits to the shards of one split.

        Parameters
        ----------
        correction : str
            Name of the correction; empty for tests corrected by construction.
        claim : Claim
            What a difference is about.

        Returns
        -------
        tuple of str
            None where all splits are taken at once.
        """
        layouts = self.layouts_for(claim)
        return ("mean",) if SHARDS in layouts and SPLITS not in layouts and correction != JOINT else ()

    def draws(self, correction: str) -> bool:
        """Return whether p-values come from resamples.

        Parameters
        ----------
        correction : str
            Name of the correction; empty for tests corrected by construction.

        Returns
        -------
        bool
        """
        return False

    def default_resamples(self, systems: int) -> int:
        """Return how many resamples are drawn where no number is asked for.

        Parameters
        ----------
        systems : int
            Number of systems.

        Returns
        -------
        int
        """
        return DEFAULT_RESAMPLES

    def uses_normal_theory(self, correction: str) -> bool:
        """Return whether p-values rest on Student's distribution, so that residuals far from normal matter.

        Parameters
        ----------
        correction : str
            Name of the correction; empty for tests corrected by construction.

        Returns
        -------
        bool
        """
        return not self.draws(correction)

    def source(self, correction: str, claim: Claim) -> str:
        """Return the tag of the paper that uses it, if one of the five does.

        Parameters
        ----------
        correction : str
            Name of the correction; empty for tests corrected by construction.
        claim : Claim
            What a difference is about.

        Returns
        -------
        str
        """
        return ""

    def make_posterior(
        self, tables: Tables, labels: tuple[str, ...], claim: Claim
    ) -> Callable[[str, str, int, int], Any] | None:
        """Return the posterior distribution of differences of a batch of one, where there is one.

        Parameters
        ----------
        tables : Tables
            A batch of one.
        labels : tuple of str
            Names of the systems.
        claim : Claim
            What a difference is about.

        Returns
        -------
        callable or None
        """
        return None
