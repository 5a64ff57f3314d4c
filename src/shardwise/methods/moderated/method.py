"""The moderated test: each pair's variance shrunk towards the pooled one, and the joint distribution of all pairs.

Joint distribution of the largest t² over resampled tables without differences: step-down p-values and maxima.

The joint distribution of all moderated t where there are so many topics that their resampling has reached its limit.

Means of topics drawn with replacement tend to normal ones with the covariances of the systems over topics, and the
variances in the denominators of t to those of the table. Both follow from the cross-products of the systems alone.

The joint distribution of all moderated t of a table: topics drawn with replacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arguments import CHUNKS, borrow_executor, count_workers, map_parallel
from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError, Option
from shardwise.core.model import MD6
from shardwise.methods.method import TOPICS, Clause, read_methods
from shardwise.methods.moderated.draws import (
    BLOCK_SIZE,
    count_draws,
    count_incomplete,
    count_normal,
    largest_gaps,
)
from shardwise.methods.moderated.statistics import (
    FEWEST_COMMON,
    NO_NOISE,
    Noise,
    Statistics,
    batch_noise,
    cell_statistics,
    doubly_centred,
    find_common,
    has_gaps,
    moderate_variances,
    moderated_statistics,
    of_cells,
    of_instances,
    of_shards,
    of_shards_with_gaps,
    over_splits,
    pool_pairs,
    run_stratified,
)
from shardwise.methods.moments.gram import Gram, compute_gram, interaction_square, pair_variances
from shardwise.methods.paired.method import describe_resamples, estimate_means
from shardwise.methods.pairs import JOINT, JointDraws, Means, Pairs, ResampledUnits, student_pairs
from shardwise.methods.repeats.method import (
    BOTH,
    add_effect_sizes,
    require_runs,
    unified_posterior,
)
from shardwise.methods.tables import SPLITS, Tables
from shardwise.stats import student
from shardwise.stats.intervals import ROUNDING
from shardwise.stats.moderation import own_share, shrink_variances
from shardwise.stats.resampling import topic_counts
from shardwise.stats.stepdown import TIE, adjust_counts, find_critical, order_targets
from shardwise.stats.student import NOISE


class Targets(NamedTuple):
    """Observed statistics that resampled ones are compared with, pairs by falling |t|."""

    ia: Ints  # (P,)
    ib: Ints
    pairs: Floats  # (P,) t²


# adds to the last but one argument, (P,), the draws in which the largest t² of a pair and all later ones is as large
Count = Callable[[Targets, np.uint64, int, int, Ints, Floats], None]


@dataclass(frozen=True, slots=True, eq=False)
class ResampledDistribution:
    """Joint distribution of the pairs of one table."""

    p_adjusted: Floats  # (P,) step-down
    maxima: Floats  # (B,) largest t² of all pairs in every draw, ascending

    def critical(self, alpha: float) -> float:
        """The c of the simultaneous intervals d ± c·se: the upper α quantile of max |t*|; ∞ with too few draws."""
        return math.sqrt(find_critical(self.maxima, alpha) / (1.0 - TIE))


def distribution_of(
    counting: Callable[[Ints, Ints], Count],
    ia: Ints,
    ib: Ints,
    t: Floats,
    key: np.uint64,
    n_resamples: int,
    jobs: int | None,
) -> ResampledDistribution:
    """Draw from a scenario without differences, and hold its pairs against their observed t (P,).

    An executor that was lent draws, or else threads; with one job neither, as the work is shared out already.

    ``counting`` says how draws are counted for pairs in the order given to it, by falling |t|. Pairs whose t is NaN are
    left out.
    """
    order, least = order_targets(t**2)
    targets = Targets(ia[order], ib[order], least)
    count = counting(targets.ia, targets.ib)
    executor = None if jobs == 1 else borrow_executor()
    blocks = -(-n_resamples // BLOCK_SIZE)
    step = max(1, -(-blocks // (4 * count_workers(jobs) if executor is None else CHUNKS)))
    ranges = [(first, min(first + step, blocks)) for first in range(0, blocks, step)]
    work = partial(_count_blocks, count, targets, key, n_resamples)
    counts, peaks = zip(*map_parallel(work, ranges, jobs=jobs, executor=executor), strict=True)
    p_adjusted = adjust_counts(np.sum(counts, axis=0), order, n_resamples, t.size)
    return ResampledDistribution(p_adjusted, np.sort(np.concatenate(peaks)))


def _count_blocks(
    count: Count, targets: Targets, key: np.uint64, n_resamples: int, blocks: tuple[int, int]
) -> tuple[Ints, Floats]:
    """Count some blocks of draws, and return the largest t² of each of these."""
    maxima = np.empty(n_resamples)  # of which only the pages of these blocks are ever touched
    falling = np.zeros(targets.ia.size, dtype=np.int64)
    count(targets, key, blocks[0], blocks[1], falling, maxima)
    return falling, maxima[blocks[0] * BLOCK_SIZE : blocks[1] * BLOCK_SIZE].copy()


class Limit(NamedTuple):
    """A scenario without differences whose means are normal, as compiled code takes it."""

    root: Floats  # (R, R) a square root of the covariances of the means
    precision: Floats  # (R, R) 1 / the variance of each difference that t is measured by; 0 without any


def gram_statistics(gram: Gram, ia: Ints, ib: Ints, d0: float | None = None) -> Statistics:
    """Moderated statistics of pairs out of cross-products: those of the table itself, but for rounding.

    >>> from shardwise.methods.moments.gram import compute_gram
    >>> y = np.array([[0.1, 0.3, 0.2], [0.4, 0.5, 0.5], [0.2, 0.4, 0.1], [0.6, 0.7, 0.8]])
    >>> gram_statistics(compute_gram(y.T), np.array([0, 0, 1]), np.array([1, 2, 2])).t.round(3)
    array([-2.496, -1.183,  1.124])
    """
    systems, df = len(gram.mean), gram.n - 1.0
    every = np.full(ia.size, df)
    return moderate_variances(
        gram.mean[ia] - gram.mean[ib],
        np.full(ia.size, float(gram.n)),
        every,
        pair_variances(gram, ia, ib),
        np.asarray(2.0 * interaction_square(gram) / (df * (systems - 1.0))),
        every * (systems - 2.0),
        d0,
    )


def normal_limit(
    gram: Gram,
    ia: Ints,
    ib: Ints,
    statistics: Statistics,
    key: np.uint64,
    n_resamples: int,
    jobs: int | None = None,
) -> ResampledDistribution:
    """What `resampled` says of the pairs of a table with very many topics; draw i depends on (key, i) only.

    >>> from shardwise.methods.moments.gram import compute_gram
    >>> from shardwise.stats.resampling import key_of
    >>> y = np.random.default_rng(1).normal(size=(3000, 3)) + [0.0, 0.0, 2.0]
    >>> ia, ib = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> moments = compute_gram(y.T)
    >>> normal_limit(moments, ia, ib, gram_statistics(moments, ia, ib), key_of(1), 999).p_adjusted
    array([0.288, 0.001, 0.001])
    """
    systems = len(gram.mean)
    values, vectors = np.linalg.eigh(gram.products / (gram.n * (gram.n - 1.0)))
    precision = np.zeros((systems, systems))
    precision[ia, ib] = np.divide(1.0, statistics.se**2, out=np.zeros(ia.size), where=statistics.se > 0.0)
    precision[ib, ia] = precision[ia, ib]
    root = (
        vectors * np.sqrt(np.maximum(values, 0.0))
    ) @ vectors.T  # the one that is symmetric: there is no other
    scenario = Limit(np.ascontiguousarray(root), precision)
    count = partial(count_normal, scenario)
    return distribution_of(lambda ia, ib: count, ia, ib, statistics.t, key, n_resamples, jobs)


class Centred(NamedTuple):
    """A scenario without differences, as compiled code takes it; scores are below 1 in size."""

    z: Floats  # (R, T) scores without system means, and without topic means or those of the common system
    floor: float  # differences up to this are rounding
    share: float  # weight of a pair's own variance in its moderated one
    noise: Noise  # of no systems where there is none
    pooling: (
        float  # times the sum of the variances of all systems is the mean variance of the pairs asked for
    )


class TableByPairs(NamedTuple):
    """A table with holes, or of scores of very different size, as compiled code takes it."""

    y: Floats  # (R, T), NaN where a score is missing
    floors: Floats  # (R,) differences of two systems up to the larger of theirs are rounding
    pooled: tuple[Ints, Ints]  # the pairs over which the common variance is a mean
    d0: float


UNEVEN = 1e6
"""Largest score of a system, in that of another, from which on the mean of a topic takes digits of the smaller."""


def resample_topics(
    y: Floats,
    ia: Ints,
    ib: Ints,
    statistics: Statistics,
    key: np.uint64,
    n_resamples: int,
    *,
    noise: Noise | None = None,
    jobs: int | None = None,
) -> ResampledDistribution:
    """Resample the topics of a (T, R) table: adjusted p-values, and maxima for intervals.

    p_adjusted is Romano & Wolf's (2005) step-down: pairs by falling |t|, (1 + #{max over it and later pairs of
    |t*| ≥ |t|}) / (B + 1), made monotone. Only the pairs given enter maxima.

    Topics that no system has (NaN) are left out first. Where systems lack different topics each pair is resampled on
    those that both have, topics being drawn with their gaps; pairs that are not tested have NaN.

    ``statistics`` are the statistics of the pairs, of the same noise; the result does not depend on the number of jobs.

    >>> from shardwise.methods.moderated.statistics import moderated_statistics, pairs_of
    >>> from shardwise.stats.resampling import key_of
    >>> y = np.random.default_rng(1).normal(size=(30, 3)) + [0.0, 0.0, 2.0]
    >>> ia, ib = pairs_of(3)
    >>> distribution = resample_topics(y, ia, ib, moderated_statistics(y), key_of(1), 999)
    >>> distribution.p_adjusted
    array([0.892, 0.001, 0.001])
    """
    y = y[~np.isnan(y).all(axis=1)]
    sizes, gaps = np.nanmax(np.abs(y), axis=0, initial=0.0), bool(np.isnan(y).any())
    drawn = (ia, ib, statistics.t, key, n_resamples, jobs)
    if gaps and noise is not None:
        raise InputError(
            "scores are missing: effects of shards or instances need full tables",
            remedy="leave out the topics that some system lacks",
        )
    uneven = sizes.max() > UNEVEN * sizes.min(where=sizes > 0.0, initial=np.inf)
    if gaps or (uneven and noise is None):
        table = TableByPairs(np.ascontiguousarray(y.T), NOISE * sizes, pool_pairs(y, ia, ib), statistics.d0)
        return distribution_of(lambda ia, ib: partial(count_incomplete, table), *drawn)
    z, pooling = centre_pairs(y, ia, ib)
    unit = 0.5 ** np.frexp(np.abs(z).max(initial=0.0))[1]  # t has no unit: a power of 2 changes no digit
    scenario = Centred(
        np.ascontiguousarray(unit * z.T),
        unit * NOISE * float(sizes.max()),
        float(own_share(len(y) - 1.0, prior_df=statistics.d0)),
        NO_NOISE if noise is None else noise.scaled(unit),
        pooling,
    )
    return distribution_of(
        lambda ia, ib: partial(count_draws, scenario, largest_gaps(scenario, ia, ib)), *drawn
    )


def centre_pairs(y: Floats, ia: Ints, ib: Ints) -> tuple[Floats, float]:
    """Centre a table so that the variances of its systems tell the mean variance of the pairs asked for.

    All pairs: without topic means the mean over pairs is 2/(R - 1) times the sum over systems. All pairs with one
    common system: less that system, it is 1/(R - 1) times.

    >>> z, pooling = centre_pairs(np.array([[1.0, 0.0, 3.0], [2.0, 0.0, 5.0]]), np.array([0, 2]), np.array([1, 1]))
    >>> float((z**2).sum(axis=0).sum() * pooling)  # of differences 1, 2 and 3, 5
    1.25
    """
    common = find_common(ia, ib)
    if common is None:
        return doubly_centred(y), 2.0 / (y.shape[1] - 1.0)
    z = y - y[:, [common]]
    z = z - z.mean(axis=0)
    floor = NOISE * float(np.abs(y).max(initial=0.0))
    return np.where(np.abs(z) <= floor, 0.0, z), 1.0 / len(ia)


MOST_SINGLE = 5e6
"""Statistics of single pairs that are resampled at most."""
SINGLE_BLOCK = 4_000_000
"""Numbers held at a time."""


def resample_single(
    y: Floats, ia: Ints, ib: Ints, t: Floats, key: np.uint64, n_resamples: int, d0: float
) -> Floats | None:
    """Count how often single pairs have as large a |t| in the resamples of `resample_topics`."""
    if np.isnan(y).any() or float(t.size) * n_resamples > MOST_SINGLE:
        return None
    target, hits = t**2 * (1.0 - TIE), np.zeros(t.size)
    for squared in draw_squares(y, ia, ib, key, n_resamples, d0):
        hits += (squared >= target).sum(axis=0)
    return np.asarray((1.0 + hits) / (n_resamples + 1.0))


def draw_squares(
    y: Floats, ia: Ints, ib: Ints, key: np.uint64, n_resamples: int, d0: float | None = None
) -> Iterator[Floats]:
    """Yield blocks (B, P) of the t² of all pairs in the resamples of `resample_topics`; no score is missing."""
    z, pooling = centre_pairs(y, ia, ib)
    topics = len(z)
    share = float(own_share(topics - 1.0, prior_df=d0))
    squares = z**2
    floors = NOISE * np.abs(y).max(axis=0)
    size = max(1, SINGLE_BLOCK // max(topics, BLOCK_SIZE))
    starts = range(0, ia.size, size)

    def subtract_pairs(start: int) -> tuple[Floats, Floats]:
        """(T, P) centred differences and their squares; not of z, which may have lost digits to the mean of a topic."""
        a, b = ia[start : start + size], ib[start : start + size]
        differences = y[:, a] - y[:, b]
        differences = differences - differences.mean(axis=0)
        differences[np.abs(differences) <= np.maximum(floors[a], floors[b])] = 0.0
        return differences, differences**2

    kept = {start: subtract_pairs(start) for start in starts if topics * ia.size <= SINGLE_BLOCK}
    for first in range(0, n_resamples, BLOCK_SIZE):
        counts = topic_counts(topics, key, first, min(BLOCK_SIZE, n_resamples - first)).astype(np.float64)
        means, sums = counts @ z / topics, counts @ squares
        left = sums - topics * means**2
        common = np.where(left > ROUNDING * sums, left, 0.0).sum(axis=1) * pooling / (topics - 1.0)
        drawn = []
        for start in starts:
            differences, squared = kept[start] if kept else subtract_pairs(start)
            gap, total = counts @ differences / topics, counts @ squared
            pair = total - topics * gap**2
            pair = np.where(pair > ROUNDING * total, pair, 0.0) / (topics - 1.0)
            variance = shrink_variances(pair, common[:, None], share) / topics
            with np.errstate(divide="ignore", invalid="ignore"):
                still = np.where(gap != 0.0, np.inf, 0.0)
                drawn.append(np.where(variance > 0.0, gap**2 / variance, still))
        yield drawn[0] if len(drawn) == 1 else np.concatenate(drawn, axis=1)


def resample_together(
    tables: Sequence[tuple[Floats, Ints, Ints, Floats]], key: np.uint64, n_resamples: int
) -> ResampledDistribution:
    """The joint distribution of the pairs of several tables of the same topics, each (T, R) with ia, ib and its t (P,).

    A topic that is drawn is drawn for all of them. p-values step down over the pairs of all tables.
    """
    t = np.concatenate([table[3] for table in tables])
    order, targets = order_targets(t**2)
    falling, maxima = np.zeros(order.size), []
    draws = [draw_squares(y, ia, ib, key, n_resamples) for y, ia, ib, _ in tables]
    for blocks in zip(*draws, strict=True):
        squared = np.concatenate(blocks, axis=1)[:, order]
        # the largest of each pair and all less extreme ones
        largest = np.maximum.accumulate(squared[:, ::-1], axis=1)[:, ::-1]
        falling += (largest >= targets).sum(axis=0)
        maxima.append(largest[:, 0])
    return ResampledDistribution(
        adjust_counts(falling, order, n_resamples, t.size), np.sort(np.concatenate(maxima))
    )


COMMON = 0.5  # share of the topics that all systems must have where instances are random
CELLS = Claim()
MANY_TOPICS = 5_000
"""Topics from which on the joint distribution is its normal limit."""


def _of_table(statistics: Statistics, i: int) -> Statistics:
    names = ("difference", "units", "own_df", "own", "common", "moderated", "extra", "df", "drawn_df")
    return replace(statistics, **{name: np.asarray(getattr(statistics, name))[i] for name in names})


def _draw_jointly(
    tables: Tables, noise: Noise | None, ia: Ints, ib: Ints, statistics: Statistics
) -> JointDraws:
    """Return the joint distribution of the pairs asked for, drawn when it is first looked at."""
    tables_y = tables.topic_means()
    # batches come in threads of their own
    jobs = 1 if tables.keyed else None
    seeds = noise is not None and not noise.shared
    # Student's t of a pair limits what resamples say of it where pairs differ in what is resampled: in their topics, or
    # in what few seeds add
    by_itself = np.array([seeds or has_gaps(y) for y in tables_y], dtype=np.bool_)[:, None]

    @cache
    def draw() -> tuple[ResampledDistribution, ...]:
        distributions = []
        for i, key in enumerate(tables.keys):
            of_table = _of_table(statistics, i)
            # few or unequal clusters: t counts for less than resamples would have it
            table, drawn = tables_y[i], (ia, ib, of_table.drawn, key, tables.n_resamples)
            if noise is not None:
                # effects of systems are drawn in the order of their means, not of the table
                common = np.isfinite(table).all(axis=1)
                if common.sum() < max(2.0, COMMON * len(table)):
                    raise InputError(
                        f"only {int(common.sum())} of {len(table)} topics have scores of all systems, too few for a"
                        " joint test",
                        remedy=("use ", Option("method", "unified holm"), ", or drop a system"),
                    )
                table = table[common]
                order = np.argsort(-tables.sign * table.mean(axis=0), kind="stable")
                position, moved = np.argsort(order), noise.select_part(i).select_part(order)
                drawn = (position[ia], position[ib], of_table.drawn, key, tables.n_resamples)
                distributions.append(resample_topics(table[:, order], *drawn, noise=moved, jobs=jobs))
            elif len(table) < MANY_TOPICS or np.isnan(table).any():
                distributions.append(resample_topics(table, *drawn, jobs=jobs))
            else:
                gram = compute_gram(np.ascontiguousarray(table.T))
                distributions.append(normal_limit(gram, *drawn, jobs))
        return tuple(distributions)

    def adjust() -> Floats:
        """Step-down p-values (Romano & Wolf 2005)."""
        stepped = np.stack([distribution.p_adjusted for distribution in draw()])
        return np.where(by_itself, np.maximum(stepped, statistics.p), stepped)

    def find_single() -> Floats:
        """p-values of single pairs, from the same resamples where they can be, never above the corrected ones."""
        rows, p_adjusted = [], adjust()
        for i, key in enumerate(tables.keys):
            of_table, single = _of_table(statistics, i), None
            if noise is None and not tables.keyed and len(tables_y[i]) < MANY_TOPICS:
                drawn_t, n = of_table.drawn.t, tables.n_resamples
                single = resample_single(tables_y[i], ia, ib, drawn_t, key, n, of_table.d0)
            rows.append(np.minimum(of_table.p if single is None else single, p_adjusted[i]))
        return np.stack(rows)

    def half_width(alpha: float) -> Floats:
        """c times each pair's own standard error, c the upper alpha quantile of the largest |t*|."""
        critical = (
            np.array([distribution.critical(alpha) for distribution in draw()])[:, None] * statistics.care
        )
        single = student.student_critical(alpha, statistics.df)
        critical = np.where(by_itself, np.maximum(critical, single), critical)
        return np.where(statistics.se == 0.0, 0.0, statistics.se * critical)

    return JointDraws(adjust, half_width, find_single)


def moderated_pairs(
    tables: Tables, claim: Claim, ia: Ints, ib: Ints, *, samples: bool = False, shrinks: bool = True
) -> Pairs:
    """Test pairs with shrunken variances: Student's distribution for each, the joint one for all, except on cells."""
    if claim == CELLS:
        statistics = cell_statistics(tables.y, ia, ib)
        return Pairs(statistics.difference, statistics.se, statistics.df, statistics.t, statistics.p)
    words, unit_df = describe_resamples(tables), tables.unit_df
    # systems that are in no pair asked for do not count
    members = np.union1d(ia, ib)
    if members.size != tables.systems:
        tables = tables.select_systems(members)
        ia, ib = np.searchsorted(members, ia), np.searchsorted(members, ib)
    # topic means hold the variance of samples already
    # what moves system means besides the topics, for claims that are about more than topics
    claim = TOPICS if samples else claim
    noise: Noise | None
    if "shard" in claim:
        split = tables.dims == SPLITS
        each = tables.each_split() if split else tables
        if each.complete:
            every = of_shards(each.decomposition(MD6))
        else:
            every = batch_noise([of_shards_with_gaps(y) for y in each.y])
        noise = over_splits(every, tables.shape["split"]) if split else every
    else:
        noise = of_instances(require_runs(tables)) if "instance" in claim else None
    d0 = None if shrinks else 0.0
    statistics = moderated_statistics(tables.topic_means(), ia, ib, d0=d0, noise=noise, unit_df=unit_df)
    if np.isnan(statistics.se).all():
        raise InputError(
            f"no pair shares enough topics to be tested; with missing scores it takes {FEWEST_COMMON}",
            remedy="give scores of the same topics",
        )
    draws = _draw_jointly(tables, noise, ia, ib, statistics)
    # what is resampled, where that is one complete table of fewer units than have a normal limit
    y = tables.topic_means()
    if len(tables) != 1 or noise is not None or y.shape[1] >= MANY_TOPICS or not np.isfinite(y[0]).all():
        resampled = None
    else:
        resampled = ResampledUnits(y[0], tables.keys[0], tables.n_resamples, statistics.cluster_care)
    pairs = Pairs(statistics.difference, statistics.se, statistics.df, statistics.t, statistics.p, draws)
    return replace(pairs, units=statistics.units, resampled=resampled, words=words)


def moderated_means(tables: Tables, claim: Claim) -> Means:
    """Estimate system means over topics, with effect sizes of seeds and samples where the claim is about them."""
    estimates = estimate_means(tables)
    if claim == CELLS and not tables.complete:
        # means are adjusted for the topics and shards of what is not there
        estimates = replace(estimates, values=of_cells(tables.y).means)
    if claim == BOTH:
        return add_effect_sizes(estimates, tables)
    if "shard" not in tables.dims or tables.complete:
        return estimates
    # cells of topics and shards that no system has
    gone = np.isnan(tables.y).all(axis=1 + tables.dims.index("system"))
    few = int(gone.sum())
    verb = "is" if few == 1 else "are"
    note = f"{few:,} of {gone.size:,} cells of topics and shards {verb} undefined and left out"
    return replace(estimates, notes=(*estimates.notes, note)) if few else estimates


def stratified_pairs(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Test each pair with a variance of its own on every topic, by Student's t with Satterthwaite's df."""
    return student_pairs(*run_stratified(tables.y, ia, ib))


def stratified_means(tables: Tables, claim: Claim) -> Means:
    """Estimate system means over these topics and shards."""
    parts = tables.decomposition(MD6)
    return replace(estimate_means(tables), scale=np.sqrt(parts.ss_error / parts.df_error))


def describe_moderated(
    correction: str, claim: Claim, systems: int, *, samples: bool = False, shrinks: bool = True
) -> Clause:
    """Say what pairs are compared with; of two systems nothing is shrunk, as there is one variance only."""
    over = "cells of {topics} and {shards}" if claim == CELLS else "{topics}"
    others = [f"{{{name}s}}" for name in claim.over if name != "topic"]
    added = f", adding the variance between {' and '.join(others)}" if others and not samples else ""
    joint = correction == JOINT
    if systems == 2:
        if joint:
            return Clause(f"the studentised bootstrap of {{topics}} ({{resamples}} samples){added}")
        return Clause(f"a t-test with the variance over {over}{added}")
    if not shrinks:
        text = "t-tests with the variance over {topics} and over each {system}'s own {instances}"
        citations: tuple[str, ...] = ("JayasingheEtAl2015",)
    else:
        shrunk = "shrinking each pair's variance towards the pooled variance"
        text = f"moderated paired t-tests over {over}, {shrunk}{added}"
        citations = ("Smyth2004",)
    if not joint:
        return Clause(text, citations)
    steps = "with a step-down max-t bootstrap over {topics} ({resamples} samples)"
    return Clause(f"{text}, {steps}", (*citations, "RomanoWolf2005"))


def share_posterior(tables: Tables, labels: tuple[str, ...], claim: Claim) -> Any:
    """Return the posterior of the unified test, whose variance that of seeds is."""
    return unified_posterior(tables, labels, claim) if "instance" in claim else None


METHODS = read_methods(
    "moderated",
    {
        "moderated": moderated_pairs,
        "moderated samples": partial(moderated_pairs, samples=True),
        "unified max-t": partial(moderated_pairs, shrinks=False),
        "stratified": stratified_pairs,
    },
    {"stratified": stratified_means},
    means=moderated_means,
    describe={
        "moderated": describe_moderated,
        "moderated samples": partial(describe_moderated, samples=True),
        "unified max-t": partial(describe_moderated, shrinks=False),
    },
    posterior=dict.fromkeys(("moderated", "unified max-t"), share_posterior),
)
