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
from shardwise.methods.method import TOPICS, Method, read_methods
from shardwise.methods.moderated.statistics import moderated_statistics
from shardwise.methods.paired import kernels
from shardwise.methods.paired import statistics as paired
from shardwise.methods.paired.kernels import EXACT_TOPICS
from shardwise.methods.pairs import JointDraws, Means, Pairs, ranked_pairs, student_pairs
from shardwise.methods.tables import Tables
from shardwise.stats import student
from shardwise.stats.intervals import PairMoments, Precision, difference_limits
from shardwise.stats.stepdown import find_critical


def describe_resamples(tables: Tables) -> str:
    """Say how many resamples were drawn."""
    return f"{tables.n_resamples:,} resamples, seed {tables.seed}"


def paired_t(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """t = mean of the differences / (sd / sqrt(T)), T - 1 degrees of freedom."""
    mean, se = paired.pair_moments(tables.topic_means(), ia, ib)
    return student_pairs(mean, se, np.full((len(mean), 1), tables.df))


def unpaired_t(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Student's two-sample t with pooled variance, as if the systems had met different topics (V17 Table 2)."""
    y = tables.topic_means()
    mean, _ = paired.pair_moments(y, ia, ib)
    variance = y.var(axis=1, ddof=1)
    se = paired.free_of_noise(np.sqrt((variance[:, ia] + variance[:, ib]) / tables.topics), y, ia, ib)
    return student_pairs(mean, se, np.full((len(mean), 1), 2.0 * tables.topics - 2.0))


def run_wilcoxon(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Signed ranks without the zero differences."""
    y = np.ascontiguousarray(tables.topic_means(), dtype=np.float64)
    mean, _ = paired.pair_moments(y, ia, ib)
    smaller, p = np.empty(mean.shape), np.empty(mean.shape)
    kernels.wilcoxon(y, paired.coarse_of(y, ia, ib), ia, ib, paired.rank_laws(), smaller, p)
    return ranked_pairs(mean, smaller, p)


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
    # permutations whose range is at least as large as a difference
    sizes = zip(ranges, np.abs(mean) - noise[:, None], strict=True)
    p = (tables.n_resamples - np.stack([np.searchsorted(*row) for row in sizes]) + 1) / (
        tables.n_resamples + 1
    )

    def half_width(alpha: float) -> Floats:
        critical = [find_critical(row, alpha) + 2.0 * slack for row, slack in zip(ranges, noise, strict=True)]
        return np.broadcast_to(np.array(critical)[:, None], p.shape)

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


METHODS = read_methods(
    "paired",
    {
        "t": paired_t,
        "unpaired-t": unpaired_t,
        "wilcoxon": run_wilcoxon,
        "sign": run_sign,
        "mcnemar": run_mcnemar,
        "randomization": run_randomization,
        "bootstrap": run_bootstrap,
        "tukey": randomised_tukey,
        "max-t": largest_t,
    },
    {name: partial(rank_means, name.split()[-1]) for name in ("friedman nemenyi", "friedman conover")},
    means=estimate_means,
)
TESTS = {method.name: method for method in METHODS if not method.of_ranks}
