"""Classic tests on topics, each pair by itself or all pairs at once: the claim is about topics like these."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.core.model import MD1
from shardwise.core.shown import Note
from shardwise.methods.method import TOPICS, Method
from shardwise.methods.moderated.statistics import moderated_statistics
from shardwise.methods.paired import statistics as paired
from shardwise.methods.paired.kernels import EXACT_TOPICS
from shardwise.methods.pairs import JointDraws, Means, Pairs, ranked_pairs, student_pairs
from shardwise.methods.tables import LAYOUTS, TABLE, Tables
from shardwise.stats import student
from shardwise.stats.intervals import PairMoments, Precision, difference_limits


def describe_resamples(tables: Tables) -> str:
    """Say how many resamples were drawn."""
    return f"{tables.n_resamples:,} resamples, seed {tables.seed}"


def paired_t(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """t = mean of the differences / (sd / sqrt(T)), T - 1 degrees of freedom."""
    mean, se = paired.pair_moments(tables.topic_means(), ia, ib)
    return student_pairs(mean, se, np.full((len(mean), 1), tables.df))


def unpaired_t(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Student's two-sample t with pooled variance, as if the systems had met different topics (V17 Table 2)."""
    mean, _ = paired.pair_moments(tables.topic_means(), ia, ib)
    se = paired.unpaired_errors(tables.topic_means(), ia, ib)
    return student_pairs(mean, se, np.full((len(mean), 1), 2.0 * tables.topics - 2.0))


def run_wilcoxon(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Signed ranks without the zero differences."""
    mean, _ = paired.pair_moments(tables.topic_means(), ia, ib)
    return ranked_pairs(mean, *paired.wilcoxon_p(tables.topic_means(), ia, ib))


def run_sign(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Binomial test on the topics won; the statistic is the number that the system named first won."""
    mean, _ = paired.pair_moments(tables.topic_means(), ia, ib)
    return ranked_pairs(mean, *paired.sign_p(tables.topic_means(), ia, ib))


def run_mcnemar(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """McNemar's exact test of right and wrong: the sign test of what only one system gets right, Tango's intervals."""
    y = tables.topic_means()
    if not ((y == 0.0) | (y == 1.0)).all():
        raise InputError(
            "McNemar's test is of right and wrong, and some scores are neither 0 nor 1",
            remedy="use 'moderated' or 't holm'",
            argument="method",
            value="mcnemar",
        )
    mean, _ = paired.pair_moments(y, ia, ib)
    won, p = paired.sign_p(y, ia, ib)
    n = np.full(won.shape, float(y.shape[1]))
    lost = won - mean * n
    moments = PairMoments(n, mean, won / n, lost / n, won, won, lost, lost)
    precision = Precision((moments.gain + moments.loss - mean**2) / n, np.inf, n)

    def limits(level: Floats) -> tuple[Floats, Floats]:
        return difference_limits(moments, student.student_critical(level, np.inf), precision)

    return replace(ranked_pairs(mean, won, p), own_limits=limits)


def run_randomization(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Fisher's two-sided randomization test of the mean difference."""
    y = tables.topic_means()
    mean, _ = paired.pair_moments(y, ia, ib)
    p = paired.randomization_p(y, ia, ib, tables.keys, tables.n_resamples)
    words = "" if tables.topics <= EXACT_TOPICS else describe_resamples(tables)
    return replace(ranked_pairs(mean, mean, p), words=words)


def run_bootstrap(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Studentised bootstrap of topics (J15 Algorithm 1)."""
    y = tables.topic_means()
    mean, se = paired.pair_moments(y, ia, ib)
    t = student.t_statistic(mean, se)
    p = paired.bootstrap_p(y, ia, ib, t, se, tables.keys, tables.n_resamples)
    return replace(ranked_pairs(mean, t, p, se), words=describe_resamples(tables))


def randomised_tukey(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Largest range of means over systems shuffled within topics (Carterette 2012)."""
    y, members = tables.topic_means(), np.union1d(ia, ib)
    mean, _ = paired.pair_moments(y, ia, ib)
    ranges, noise = paired.permuted_ranges(y[:, :, members], tables.keys, tables.n_resamples, tables.sign)
    p = paired.range_p(ranges, np.abs(mean), noise)

    def half_width(alpha: float) -> Floats:
        return np.broadcast_to(paired.range_critical(ranges, noise, alpha), p.shape)

    pairs = ranked_pairs(mean, mean, p, draws=JointDraws(lambda: p, half_width))
    return replace(pairs, words=describe_resamples(tables))


def largest_t(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Largest |t| of all pairs over sign flips of topics, step-down; intervals by the single step."""
    tables_y = tables.topic_means()
    mean, se = paired.pair_moments(tables_y, ia, ib)
    flips = [
        paired.flip_topics(y, ia, ib, d, s, key, tables.n_resamples, jobs=1 if tables.keyed else None)
        for y, d, s, key in zip(tables_y, mean, se, tables.keys, strict=True)
    ]

    def half_width(alpha: float) -> Floats:
        critical = [[paired.critical_t(table_flips.maxima, alpha, tables.topics)] for table_flips in flips]
        return np.where(se == 0.0, 0.0, np.where(se == 0.0, 1.0, se) * np.array(critical))

    p, p_adjusted = (
        np.stack([getattr(table_flips, name) for table_flips in flips]) for name in ("p", "p_adjusted")
    )
    draws = JointDraws(lambda: p_adjusted, half_width)
    pairs = ranked_pairs(mean, student.t_statistic(mean, se), p, se, draws)
    return replace(pairs, words=describe_resamples(tables))


def take_one_side(method: Method) -> Method:
    """Return the one-sided form of a symmetric test: that the better system is better."""
    assert method.pairs is not None
    return replace(method, pairs=partial(_halve_p_values, method.pairs), title=f"{method.title}, one-sided")


def _halve_p_values(test: Any, tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Test pairs on one side: the statistic has the sign of the mean difference."""
    pairs: Pairs = test(tables, claim, ia, ib)
    return replace(pairs, p=np.where(pairs.difference == 0.0, 1.0, pairs.p / 2.0))


def estimate_means(tables: Tables, claim: Claim = TOPICS) -> Means:
    """Estimate means of systems over the topics that each has, all but topic and system averaged; of no variance."""
    y = tables.topic_means()
    present = np.isfinite(y)
    count = present.sum(axis=1)
    notes: tuple[str, ...] = ()
    if present.all():
        parts = tables.decomposition(MD1, on_means=True)
        error = parts.ss_error / parts.df_error
    else:
        error = np.asarray(moderated_statistics(y).common) / 2.0
        lost = int((~present).sum())
        some = "1 score is missing" if lost == 1 else f"{lost} scores are missing"
        notes = (
            Note(
                f"{some}: each pair is compared on the items that both have, so that differences may deviate"
                " from those of the means",
                "gaps",
            ),
        )
    means = np.where(present, y, 0.0).sum(axis=1) / np.maximum(count, 1)
    squares = (np.where(present, y - means[:, np.newaxis], 0.0) ** 2).sum(axis=1)
    return Means(
        labels=tuple(map(str, range(y.shape[2]))),
        values=means,
        scale=np.sqrt(error),
        own_sd=np.sqrt(squares / np.where(count > 1, count - 1, np.nan)),  # of one score there is none
        own_count=count.astype(np.float64),
        notes=notes,
    )


def rank_means(test: str, tables: Tables, claim: Claim) -> Means:
    """Estimate mean ranks of the systems over topics, from 1, with their variance."""
    ranks = np.asarray(scipy.stats.rankdata(tables.topic_means(), axis=2), np.float64)
    variance, df = paired.rank_variance(ranks, test)
    sd, count = ranks.std(axis=1, ddof=1), np.full((len(ranks), tables.systems), float(tables.topics))
    return Means(
        labels=tuple(map(str, range(tables.systems))),
        values=ranks.mean(axis=1),
        variance=variance,
        df=df,
        scale=np.full(len(ranks), np.sqrt(tables.systems * (tables.systems + 1.0) / 12.0)),
        own_sd=sd,
        own_count=count,
        mean_se=sd / np.sqrt(count),
        mean_df=count - 1.0,
        notes=("Means and differences are those of ranks: 1 is best.",),
        of_ranks=True,
    )


def classic_test(name: str, title: str, pairs: Any, **facts: Any) -> Method:
    """Return a classic test on topics; what else varies is averaged out first."""
    usual: dict[str, Any] = {
        "layouts_by_claim": ((TOPICS, LAYOUTS),),
        "normal": False,
        "means": estimate_means,
    }
    return Method(name=name, title=title, pairs=pairs, needs_all=True, **(usual | facts))


METHODS: tuple[Method, ...] = (
    classic_test(
        "t",
        "paired t-test",
        paired_t,
        text="paired t-tests over {topics}",
        reason="each pair by its own variance over {topics}",
        papers=(("none", "V17"),),
        symmetric=True,
        normal=True,
        equation="t = d/√(s²/T), s² the variance of the differences of the pair, T − 1 df",
        limits=(
            "With Holm's correction 9 to 15% false alarms on TREC-8: near-duplicate systems have tiny"
            " variances by chance."
        ),
    ),
    classic_test(
        "unpaired-t",
        "unpaired t-test",
        unpaired_t,
        text="two-sample t-tests that ignore the pairing of {topics}",
        reason="ignores that the {systems} answered the same {topics}",
        papers=(("none", "V17"),),
        symmetric=True,
        normal=True,
        equation="t = d/√(2·s²/T), s² the pooled variance of the two systems, 2T − 2 df",
        limits=(
            "Ignores that topics are shared and loses much power: a third fewer pairs than the paired"
            " test on TREC-8."
        ),
    ),
    classic_test(
        "wilcoxon",
        "Wilcoxon signed-rank test",
        run_wilcoxon,
        text="Wilcoxon signed-rank tests over {topics}",
        reason="ranks of differences, not their means",
        citations=("Wilcoxon1945",),
        papers=(("none", "V17"),),
        sound=False,
        equation=(
            "smaller sum of signed ranks, zero differences left out; exact up to 50 differences, ties"
            " included, then normal"
        ),
        limits=(
            "Not a test of means: up to 27% false alarms with Holm's correction where differences are skewed."
        ),
    ),
    classic_test(
        "sign",
        "sign test",
        run_sign,
        text="sign tests over {topics}",
        reason="{topics} won and lost, not means",
        sound=False,
        equation="topics won by the first system ~ Binomial(topics won or lost, ½)",
        limits="Not a test of means; ignores how large differences are.",
    ),
    classic_test(
        "mcnemar",
        "McNemar's exact test",
        run_mcnemar,
        text="McNemar's exact tests over {topics}",
        reason="{topics} that only one of the two gets right",
        citations=("McNemar1947", "Tango1998"),
        of_items=True,
        layouts_by_claim=((TOPICS, (TABLE,)),),
        equation=(
            "items that only the first gets right ~ Binomial(items that only one gets right, ½);"
            " Tango's score intervals"
        ),
        limits=(
            "Scores of 0 and 1 only. More conservative than the default: 3.6% false alarms where that"
            " has 5.3%."
        ),
    ),
    classic_test(
        "randomization",
        "Fisher's randomization test",
        run_randomization,
        text="Fisher's randomization tests of the mean difference over {topics}",
        reason="each pair by swapping its two {systems} on each {topic}",
        citations=("Fisher1935",),
        drawn=True,
        symmetric=True,
        equation=(
            "|d| against its values with the two scores of each topic swapped at random; all swaps up"
            " to 20 differences"
        ),
        limits=(
            "No p-value below 1/(resamples + 1): with 1,000 resamples Holm's correction finds nothing"
            " among over 50 pairs."
        ),
    ),
    classic_test(
        "bootstrap",
        "studentised bootstrap",
        run_bootstrap,
        text="studentised bootstrap tests over {topics}",
        reason="each pair by resampling {topics}",
        citations=("JayasingheEtAl2015",),
        papers=(("none", "J15"),),
        drawn=True,
        equation="|t| against t* of resampled topics, recentred by the mean of all bootstrap means",
        limits="No p-value below 1/(resamples + 1).",
    ),
    classic_test(
        "tukey",
        "randomised Tukey HSD",
        randomised_tukey,
        text="the randomised Tukey HSD test, with {resamples} permutations of the {systems} on each {topic}",
        reason="all pairs at once, permuting the {systems} on each {topic}",
        citations=("Carterette2012",),
        joint=True,
        stepwise=False,
        drawn=True,
        common_error=True,
        equation=(
            "|d| against the largest difference of all systems after permuting the systems within each topic"
        ),
        limits="Assumes equally variable systems: 5.0 to 15.3% false alarms in four scenarios like TREC-8.",
    ),
    classic_test(
        "max-t",
        "step-down max-t by sign flips",
        largest_t,
        text="step-down tests of the largest |t| of all pairs under {resamples} random sign flips of {topics}",
        reason="all pairs at once, flipping the signs of {topics}",
        citations=("WestfallYoung1993",),
        joint=True,
        stepwise=False,
        drawn=True,
        equation=(
            "|t| of each pair against the largest |t*| of the pairs not yet rejected, signs of topics"
            " flipped for all systems"
        ),
        limits=(
            "Real differences are skewed, flipped ones symmetric: 4.4 to 13.6% false alarms in"
            " scenarios like TREC-8."
        ),
    ),
    classic_test(
        "friedman nemenyi",
        "Friedman's ranks with Nemenyi's test",
        None,
        means=partial(rank_means, "nemenyi"),
        text="Nemenyi's test of the mean ranks of the {systems} over {topics}",
        reason="mean ranks of the {systems} over {topics}, all pairs at once",
        citations=("Demsar2006",),
        of_ranks=True,
        sound=False,
        common_error=True,
        simultaneous=("hsd",),
        stepwise=False,
        equation="P(q_{R,∞} > √2·|d|/√(R(R + 1)/(6T))), d the difference of mean ranks",
        limits="Not a test of means. The rank of a system depends on which other systems take part.",
    ),
    classic_test(
        "friedman conover",
        "Friedman's ranks with Conover's test",
        None,
        means=partial(rank_means, "conover"),
        text="Conover's t-tests of the mean ranks of the {systems} over {topics}",
        reason="mean ranks of the {systems} over {topics}, each pair by itself",
        citations=("Conover1999",),
        of_ranks=True,
        sound=False,
        common_error=True,
        simultaneous=("hsd",),
        default_correction="holm",
        equation=(
            "t = d/√(2·(A − ΣS²/T)/(T·(T − 1)(R − 1))), A the sum of squared ranks, S the sums of ranks of the"
            " systems, (T − 1)(R − 1) df"
        ),
        limits="Not a test of means. The rank of a system depends on which other systems take part.",
    ),
)
TESTS = {method.name: method for method in METHODS if not method.of_ranks}
