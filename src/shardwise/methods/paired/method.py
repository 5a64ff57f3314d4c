"""Classic tests on topics, each pair by itself or all pairs at once: the claim is about topics like these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import MD1
from shardwise.methods.base import Estimates, Outcome, PairTest, Settled
from shardwise.methods.moderated.statistics import statistics
from shardwise.methods.paired import max_t
from shardwise.methods.paired import statistics as paired
from shardwise.methods.paired.kernels import EXACT_TOPICS
from shardwise.methods.tables import LAYOUTS, TABLE, Dims, Tables
from shardwise.stats import student
from shardwise.stats.corrections import STEPWISE
from shardwise.stats.proportions import tango


@dataclass(frozen=True, slots=True, eq=False)
class TopicTest:
    """A test of topic × system tables, of which pairs are asked for."""

    tables: Tables
    test: str
    one_sided: bool = False  # whether the better system is tested to be better, and not the two to differ

    @property
    def y(self) -> Floats:
        """(B, T, R) scores, averaged over what else there is."""
        return self.tables.topic_means()

    @property
    def name(self) -> str:
        """How many resamples were drawn, where some were."""
        drawn = self.test in DRAWN and not (
            self.test == "randomization" and self.tables.topics <= EXACT_TOPICS
        )
        return f"{self.tables.n_resamples} resamples, seed {self.tables.seed}" if drawn else ""

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs of systems with these indices."""
        mean, se = paired.moments(self.y, ia, ib)
        found = TESTS[self.test](self, ia, ib, mean, se)
        # the laws are symmetric, and the statistic has the sign of the mean difference
        return replace(found, p=np.where(mean == 0.0, 1.0, found.p / 2.0)) if self.one_sided else found


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


def wilcoxon(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Signed ranks without the zero differences."""
    return _by_p(mean, *paired.wilcoxon(test.y, ia, ib))


def sign(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Binomial test on the topics won; the statistic is the number that the system named first won."""
    return _by_p(mean, *paired.sign(test.y, ia, ib))


def mcnemar(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """McNemar's exact test of right and wrong: the sign test of what only one system gets right, Tango's intervals."""
    y = test.y
    if not ((y == 0.0) | (y == 1.0)).all():
        raise InputError(
            "McNemar's test is of right and wrong, and some scores are neither 0 nor 1",
            remedy="use 'moderated' or 't holm'",
            argument="method",
            value="mcnemar",
        )
    won, p = paired.sign(y, ia, ib)
    lost = won - mean * y.shape[1]
    outcome = _by_p(mean, won, p)
    return replace(outcome, ends=lambda level: tango(won, lost, np.array(float(y.shape[1])), level))


def randomization(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Fisher's two-sided randomization test of the mean difference."""
    tables = test.tables
    return _by_p(mean, mean, paired.randomization(test.y, ia, ib, tables.keys, tables.n_resamples))


def bootstrap(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Studentised bootstrap of topics (J15 Algorithm 1)."""
    tables = test.tables
    t = student.t_statistic(mean, se)
    p = paired.bootstrap(test.y, ia, ib, t, se, tables.keys, tables.n_resamples)
    return _by_p(mean, t, p, se)


def randomised_tukey(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Largest range of means over systems shuffled within topics (Carterette 2012)."""
    members = np.union1d(ia, ib)
    ranges, noise = paired.permuted_ranges(test.y[:, :, members], test.tables.keys, test.tables.n_resamples)
    p = paired.range_p(ranges, np.abs(mean), noise)
    nothing = np.full(p.shape, np.nan)

    def half_width(alpha: float) -> Floats:
        return np.broadcast_to(paired.range_critical(ranges, noise, alpha), p.shape)

    return Outcome(mean, nothing, nothing, mean, p, Settled(p, half_width))


def largest_t(test: TopicTest, ia: Ints, ib: Ints, mean: Floats, se: Floats) -> Outcome:
    """Largest |t| of all pairs over sign flips of topics, step-down; intervals by the single step."""
    tables = test.tables
    found = [
        max_t.flip_topics(y, ia, ib, d, s, key, tables.n_resamples, jobs=1 if tables.keyed else None)
        for y, d, s, key in zip(test.y, mean, se, tables.keys, strict=True)
    ]

    def half_width(alpha: float) -> Floats:
        critical = [[max_t.critical_t(one.maxima, alpha, tables.topics)] for one in found]
        return np.where(se == 0.0, 0.0, np.where(se == 0.0, 1.0, se) * np.array(critical))

    p, p_adjusted = (np.stack([getattr(one, name) for one in found]) for name in ("p", "p_adjusted"))
    nothing = np.full(p.shape, np.nan)
    statistic = student.t_statistic(mean, se)
    return Outcome(mean, se, nothing, statistic, p, Settled(p_adjusted, half_width))


Tested = Callable[[TopicTest, Ints, Ints, Floats, Floats], Outcome]
TESTS: dict[str, Tested] = {
    "t": paired_t,
    "unpaired-t": unpaired_t,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "mcnemar": mcnemar,
    "randomization": randomization,
    "bootstrap": bootstrap,
    "tukey": randomised_tukey,
    "max-t": largest_t,
}
WORDS = {
    "t": "paired t",
    "unpaired-t": "unpaired t",
    "wilcoxon": "Wilcoxon signed ranks",
    "sign": "sign test",
    "mcnemar": "McNemar's exact test",
    "randomization": "Fisher randomization",
    "bootstrap": "studentised bootstrap",
    "tukey": "randomised Tukey HSD",
    "max-t": "step-down max-t by sign flips",
}
DRAWN = ("randomization", "bootstrap", "tukey", "max-t")
JOINT = ("tukey", "max-t")  # corrected by construction
ONE_SIDED = ("t", "unpaired-t", "randomization")  # of a symmetric law, the statistic has the mean's sign
SOURCES = {"t": "V17", "unpaired-t": "V17", "wilcoxon": "V17", "bootstrap": "J15"}


@dataclass(frozen=True, slots=True)
class ByTopics:
    """Fit by a classic test on topics; what else varies is averaged out first."""

    name: str  # a key of TESTS
    one_sided: bool = False  # for the tests of ONE_SIDED

    claims: tuple[Claim, ...] = (Claim("topic"),)
    takes_gaps: bool = False

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """Any, as all else is averaged out; but averages are neither right nor wrong."""
        return (TABLE,) if self.name == "mcnemar" else LAYOUTS

    @property
    def usual_claim(self) -> Claim:
        """The only claim it speaks for."""
        return self.claims[0]

    @property
    def title(self) -> str:
        """The test in words."""
        return f"{WORDS[self.name]}, one-sided" if self.one_sided else WORDS[self.name]

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrections that it can take."""
        return ("",) if self.name in JOINT else tuple(STEPWISE)

    @property
    def sound(self) -> bool:
        """Whether it tests a difference of means; ranks and signs are of medians and symmetry."""
        return self.name not in {"wilcoxon", "sign"}

    def source(self, correction: str, claim: Claim) -> str:
        """The paper that uses it, if one does."""
        return SOURCES.get(self.name, "") if correction == "none" else ""

    def estimates(self, tables: Tables, claim: Claim) -> Estimates:
        """System means over topics, and the test of their pairs."""
        tables.require_complete(f"the {self.title}")
        found = by_pairs(tables, TopicTest(tables, self.name, self.one_sided), "each pair by itself")
        return replace(found, proportions=self.name == "mcnemar")


def by_pairs(tables: Tables, test: PairTest, model: str) -> Estimates:
    """Means of systems over the topics that each has, with a test of pairs instead of a common variance."""
    y = tables.topic_means()
    there = np.isfinite(y)
    count = there.sum(axis=1)
    notes: tuple[str, ...] = ()
    if there.all():
        parts = tables.decomposition(MD1, on_means=True)
        error = parts.ss_error / parts.df_error
    else:
        error = np.asarray(statistics(y).common) / 2.0
        model = f"{model.split(', each pair')[0]}, each pair on the topics that both have"
        lost = int((~there).sum())
        some = "1 score is missing" if lost == 1 else f"{lost} scores are missing"
        notes = (f"{some}: each pair is judged on the topics that both have",)
    nothing = np.full(len(y), np.nan)
    means = np.where(there, y, 0.0).sum(axis=1) / np.maximum(count, 1)
    squares = (np.where(there, y - means[:, np.newaxis], 0.0) ** 2).sum(axis=1)
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
