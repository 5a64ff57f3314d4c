"""Classic tests on topics, each pair by itself or all pairs at once: the claim is about topics like these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import MD1
from shardwise.core.notes import Note
from shardwise.methods.base import JOINT, Clause, Estimates, Method, Outcome, PairTest
from shardwise.methods.moderated.statistics import moderated_statistics
from shardwise.methods.paired import max_t
from shardwise.methods.paired import statistics as paired
from shardwise.methods.paired.kernels import EXACT_TOPICS
from shardwise.methods.tables import LAYOUTS, TABLE, Dims, Tables
from shardwise.stats import student
from shardwise.stats.corrections import STEPWISE
from shardwise.stats.intervals import PairMoments, Precision, difference_limits


@dataclass(frozen=True, slots=True, eq=False)
class FixedJoint:
    """A joint distribution whose corrected p-values are known already."""

    p_adjusted: Floats
    half: Callable[[float], Floats]

    def half_width(self, alpha: float) -> Floats:
        """Return the half-widths of simultaneous intervals."""
        return self.half(alpha)


def describe_resamples(tables: Tables) -> str:
    """Say how many resamples were drawn."""
    return f"{tables.n_resamples:,} resamples, seed {tables.seed}"


@dataclass(frozen=True, slots=True, eq=False)
class TopicTest:
    """A test of topic × system tables, of which pairs are asked for."""

    tables: Tables
    method: PairedMethod

    @property
    def y(self) -> Floats:
        """(B, T, R) scores, averaged over what else there is."""
        return self.tables.topic_means()

    @property
    def name(self) -> str:
        """How many resamples were drawn, where some were."""
        exact = self.method.test is run_randomization and self.tables.topics <= EXACT_TOPICS
        return "" if exact or not self.method.drawn else describe_resamples(self.tables)

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs of systems with these indices."""
        mean, se = paired.pair_moments(self.y, ia, ib)
        outcome = self.method.test(self, ia, ib, mean, se)
        # the distributions are symmetric, and the statistic has the sign of the mean difference
        one_sided = self.method.one_sided
        return replace(outcome, p=np.where(mean == 0.0, 1.0, outcome.p / 2.0)) if one_sided else outcome


def _by_t(difference: Floats, se: Floats, df: float) -> Outcome:
    t = student.t_statistic(difference, se)
    dfs = np.full((len(t), 1), df)
    return Outcome(difference, se, dfs, t, student.two_sided(t, dfs))


def _by_p(difference: Floats, statistic: Floats, p: Floats, se: Floats | None = None) -> Outcome:
    nothing = np.full(p.shape, np.nan)
    return Outcome(difference, nothing if se is None else se, nothing, statistic, p)


def paired_t(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """t = mean of the differences / (sd / sqrt(T)), T - 1 degrees of freedom."""
    return _by_t(mean, se, test.tables.df)


def unpaired_t(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Student's two-sample t with pooled variance, as if the systems had met different topics (V17 Table 2)."""
    return _by_t(mean, paired.unpaired_errors(test.y, ia, ib), 2.0 * test.tables.topics - 2.0)


def run_wilcoxon(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Signed ranks without the zero differences."""
    return _by_p(mean, *paired.wilcoxon_p(test.y, ia, ib))


def run_sign(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Binomial test on the topics won; the statistic is the number that the system named first won."""
    return _by_p(mean, *paired.sign_p(test.y, ia, ib))


def run_mcnemar(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """McNemar's exact test of right and wrong: the sign test of what only one system gets right, Tango's intervals."""
    y = test.y
    if not ((y == 0.0) | (y == 1.0)).all():
        raise InputError(
            "McNemar's test is of right and wrong, and some scores are neither 0 nor 1",
            remedy="use 'moderated' or 't holm'",
            argument="method",
            value="mcnemar",
        )
    won, p = paired.sign_p(y, ia, ib)
    n = np.full(won.shape, float(y.shape[1]))
    lost = won - mean * n
    moments = PairMoments(n, mean, won / n, lost / n, won, won, lost, lost)
    precision = Precision((moments.gain + moments.loss - mean**2) / n, np.inf, n)

    def limits(level: Floats) -> tuple[Floats, Floats]:
        return difference_limits(moments, student.student_critical(level, np.inf), precision)

    return replace(_by_p(mean, won, p), limits=limits)


def run_randomization(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Fisher's two-sided randomization test of the mean difference."""
    tables = test.tables
    return _by_p(mean, mean, paired.randomization_p(test.y, ia, ib, tables.keys, tables.n_resamples))


def run_bootstrap(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Studentised bootstrap of topics (J15 Algorithm 1)."""
    tables = test.tables
    t = student.t_statistic(mean, se)
    p = paired.bootstrap_p(test.y, ia, ib, t, se, tables.keys, tables.n_resamples)
    return _by_p(mean, t, p, se)


def randomised_tukey(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Largest range of means over systems shuffled within topics (Carterette 2012)."""
    members = np.union1d(ia, ib)
    tables = test.tables
    ranges, noise = paired.permuted_ranges(
        test.y[:, :, members], tables.keys, tables.n_resamples, tables.sign
    )
    p = paired.range_p(ranges, np.abs(mean), noise)
    nothing = np.full(p.shape, np.nan)

    def half_width(alpha: float) -> Floats:
        return np.broadcast_to(paired.range_critical(ranges, noise, alpha), p.shape)

    return Outcome(mean, nothing, nothing, mean, p, FixedJoint(p, half_width))


def largest_t(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Largest |t| of all pairs over sign flips of topics, step-down; intervals by the single step."""
    tables = test.tables
    flips = [
        max_t.flip_topics(y, ia, ib, d, s, key, tables.n_resamples, jobs=1 if tables.keyed else None)
        for y, d, s, key in zip(test.y, mean, se, tables.keys, strict=True)
    ]

    def half_width(alpha: float) -> Floats:
        critical = [[max_t.critical_t(table_flips.maxima, alpha, tables.topics)] for table_flips in flips]
        return np.where(se == 0.0, 0.0, np.where(se == 0.0, 1.0, se) * np.array(critical))

    p, p_adjusted = (
        np.stack([getattr(table_flips, name) for table_flips in flips]) for name in ("p", "p_adjusted")
    )
    nothing = np.full(p.shape, np.nan)
    statistic = student.t_statistic(mean, se)
    return Outcome(mean, se, nothing, statistic, p, FixedJoint(p_adjusted, half_width))


Tested = Callable[[TopicTest, Ints, Ints, Floats, Floats], Outcome]


@dataclass(frozen=True, slots=True)
class PairedMethod(Method):
    """A classic test on topics; what else varies is averaged out first.

    Parameters
    ----------
    name : str
        What a user types.
    title : str
        The test in words.
    test : callable
        The test itself.
    text : str
        What pairs are compared with, as in `Clause`.
    reason : str
        What the test does, in one short clause.
    citations : tuple of str
        Keys of its sources.
    paper : str
        Tag of the paper that uses it without a correction.
    joint : bool
        Whether all pairs are tested at once, so that nothing is left to correct.
    drawn : bool
        Whether its p-values come from resamples.
    symmetric : bool
        Whether it has a one-sided form: its distribution is symmetric and the statistic has the sign of the mean.
    of_means : bool
        Whether it tests a difference of means; ranks and signs are of medians and symmetry.
    of_items : bool
        Whether it looks at single items, right or wrong, so that nothing may be averaged first.
    common_error : bool
        Whether one error serves all pairs.
    student : bool
        Whether its p-values are Student's.
    one_sided : bool
        Whether the better system is tested to be better, and not the two to differ.
    formula : str
        How a pair is tested.
    limits : str
        Where it should not be used, with what was measured.
    """

    name: str
    title: str
    test: Tested
    text: str
    reason: str
    citations: tuple[str, ...] = ()
    paper: str = ""
    joint: bool = False
    drawn: bool = False
    symmetric: bool = False
    of_means: bool = True
    of_items: bool = False
    common_error: bool = False
    student: bool = False
    one_sided: bool = False
    formula: str = ""
    limits: str = ""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Similar topics: the only claim that it supports."""
        return (TOPICS,)

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """Any, as all else is averaged out; but averages are neither right nor wrong."""
        return (TABLE,) if self.of_items else LAYOUTS

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrections that it can take."""
        return (JOINT,) if self.joint else tuple(STEPWISE)

    @property
    def sound(self) -> bool:
        """Whether it tests a difference of means."""
        return self.of_means

    @property
    def takes_units(self) -> bool:
        """Whether it looks at means, of which clusters and tasks have some."""
        return self.of_means and not self.of_items

    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        """Say what pairs are compared with."""
        return Clause(self.text, self.citations)

    def draws(self, correction: str) -> bool:
        """Return whether p-values come from resamples."""
        return self.drawn

    def uses_normal_theory(self, correction: str) -> bool:
        """Return whether p-values are Student's."""
        return self.student

    def source(self, correction: str, claim: Claim) -> str:
        """Return the tag of the paper that uses it, if one does."""
        return self.paper if correction == "none" else ""

    def estimate(self, tables: Tables, claim: Claim) -> Estimates:
        """Estimate system means over topics, and test their pairs."""
        tables.require_complete(f"the {self.title}")
        return estimate_by_pairs(tables, TopicTest(tables, self), "each pair by itself")


TOPICS = Claim("topic")
METHODS: tuple[PairedMethod, ...] = (
    PairedMethod(
        "t",
        "paired t-test",
        paired_t,
        "paired t-tests over {topics}",
        "each pair by its own variance over {topics}",
        paper="V17",
        symmetric=True,
        student=True,
        formula="t = d/√(s²/T), s² the variance of the differences of the pair, T − 1 df",
        limits=(
            "With Holm's correction 9 to 15% false alarms on TREC-8: near-duplicate systems have tiny"
            " variances by chance."
        ),
    ),
    PairedMethod(
        "unpaired-t",
        "unpaired t-test",
        unpaired_t,
        "two-sample t-tests that ignore the pairing of {topics}",
        "ignores that the {systems} answered the same {topics}",
        paper="V17",
        symmetric=True,
        student=True,
        formula="t = d/√(2·s²/T), s² the pooled variance of the two systems, 2T − 2 df",
        limits=(
            "Ignores that topics are shared and loses much power: a third fewer pairs than the paired"
            " test on TREC-8."
        ),
    ),
    PairedMethod(
        "wilcoxon",
        "Wilcoxon signed-rank test",
        run_wilcoxon,
        "Wilcoxon signed-rank tests over {topics}",
        "ranks of differences, not their means",
        citations=("Wilcoxon1945",),
        paper="V17",
        of_means=False,
        formula=(
            "smaller sum of signed ranks, zero differences left out; exact up to 50 differences, ties"
            " included, then normal"
        ),
        limits=(
            "Not a test of means: up to 27% false alarms with Holm's correction where differences are skewed."
        ),
    ),
    PairedMethod(
        "sign",
        "sign test",
        run_sign,
        "sign tests over {topics}",
        "{topics} won and lost, not means",
        of_means=False,
        formula="topics won by the first system ~ Binomial(topics won or lost, ½)",
        limits="Not a test of means; ignores how large differences are.",
    ),
    PairedMethod(
        "mcnemar",
        "McNemar's exact test",
        run_mcnemar,
        "McNemar's exact tests over {topics}",
        "{topics} that only one of the two gets right",
        citations=("McNemar1947", "Tango1998"),
        of_items=True,
        formula=(
            "items that only the first gets right ~ Binomial(items that only one gets right, ½);"
            " Tango's score intervals"
        ),
        limits=(
            "Scores of 0 and 1 only. More conservative than the default: 3.6% false alarms where that"
            " has 5.3%."
        ),
    ),
    PairedMethod(
        "randomization",
        "Fisher's randomization test",
        run_randomization,
        "Fisher's randomization tests of the mean difference over {topics}",
        "each pair by swapping its two {systems} on each {topic}",
        citations=("Fisher1935",),
        drawn=True,
        symmetric=True,
        formula=(
            "|d| against its values with the two scores of each topic swapped at random; all swaps up"
            " to 20 differences"
        ),
        limits=(
            "No p-value below 1/(resamples + 1): with 1,000 resamples Holm's correction finds nothing"
            " among over 50 pairs."
        ),
    ),
    PairedMethod(
        "bootstrap",
        "studentised bootstrap",
        run_bootstrap,
        "studentised bootstrap tests over {topics}",
        "each pair by resampling {topics}",
        citations=("JayasingheEtAl2015",),
        paper="J15",
        drawn=True,
        formula="|t| against t* of resampled topics, recentred by the mean of all bootstrap means",
        limits="No p-value below 1/(resamples + 1).",
    ),
    PairedMethod(
        "tukey",
        "randomised Tukey HSD",
        randomised_tukey,
        "the randomised Tukey HSD test, with {resamples} permutations of the {systems} on each {topic}",
        "all pairs at once, permuting the {systems} on each {topic}",
        citations=("Carterette2012",),
        joint=True,
        drawn=True,
        common_error=True,
        formula=(
            "|d| against the largest difference of all systems after permuting the systems within each topic"
        ),
        limits="Assumes equally variable systems: 5.0 to 15.3% false alarms in four scenarios like TREC-8.",
    ),
    PairedMethod(
        "max-t",
        "step-down max-t by sign flips",
        largest_t,
        "step-down tests of the largest |t| of all pairs under {resamples} random sign flips of {topics}",
        "all pairs at once, flipping the signs of {topics}",
        citations=("WestfallYoung1993",),
        joint=True,
        drawn=True,
        formula=(
            "|t| of each pair against the largest |t*| of the pairs not yet rejected, signs of topics"
            " flipped for all systems"
        ),
        limits=(
            "Real differences are skewed, flipped ones symmetric: 4.4 to 13.6% false alarms in"
            " scenarios like TREC-8."
        ),
    ),
)
TESTS = {method.name: method for method in METHODS}


def estimate_by_pairs(tables: Tables, test: PairTest, model: str) -> Estimates:
    """Estimate means of systems over the topics that each has, with a test of pairs instead of a common variance.

    Parameters
    ----------
    tables : Tables
        Tables of any layout; all but topic and system is averaged.
    test : PairTest
        The test of the pairs.
    model : str
        What was fitted, in words.

    Returns
    -------
    Estimates
        Means, with the scores behind them.
    """
    y = tables.topic_means()
    present = np.isfinite(y)
    count = present.sum(axis=1)
    notes: tuple[str, ...] = ()
    if present.all():
        parts = tables.decomposition(MD1, on_means=True)
        error = parts.ss_error / parts.df_error
    else:
        error = np.asarray(moderated_statistics(y).common) / 2.0
        model = f"{model.split(', each pair')[0]}, each pair on the topics that both have"
        lost = int((~present).sum())
        some = "1 score is missing" if lost == 1 else f"{lost} scores are missing"
        notes = (Note(f"{some}: each pair is judged on the topics that both have", "gaps"),)
    nothing = np.full(len(y), np.nan)
    means = np.where(present, y, 0.0).sum(axis=1) / np.maximum(count, 1)
    squares = (np.where(present, y - means[:, np.newaxis], 0.0) ** 2).sum(axis=1)
    return Estimates(
        labels=tuple(map(str, range(y.shape[2]))),
        values=means,
        variance=nothing,
        df=nothing,
        claim="",
        model=model,
        scale=np.sqrt(error),
        own_sd=np.sqrt(squares / np.where(count > 1, count - 1, np.nan)),  # of one score there is none
        own_count=count.astype(np.float64),
        test=test,
        notes=notes,
    )
