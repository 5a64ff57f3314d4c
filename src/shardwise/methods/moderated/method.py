"""The moderated test: each pair's variance shrunk towards the pooled one, and the joint distribution of all pairs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError, Option
from shardwise.core.model import MD6
from shardwise.methods.method import TOPICS, Clause, read_methods
from shardwise.methods.moderated.joint import (
    ResampledDistribution,
    normal_limit,
    resample_single,
    resample_topics,
)
from shardwise.methods.moderated.statistics import (
    FEWEST_COMMON,
    Noise,
    Statistics,
    batch_noise,
    cell_statistics,
    has_gaps,
    moderated_statistics,
    of_cells,
    of_instances,
    of_shards,
    of_shards_with_gaps,
    over_splits,
    run_stratified,
)
from shardwise.methods.moments.gram import compute_gram
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

COMMON = 0.5  # share of the topics that all systems must have where instances are random
CELLS = Claim()
MANY_TOPICS = 5_000
"""Topics from which on the joint distribution is its normal limit."""


def _distribution_of_topics(
    y: Floats, drawn: tuple[Ints, Ints, Statistics, np.uint64, int], jobs: int | None
) -> ResampledDistribution:
    """The joint distribution over resampled topics, or its normal limit where there are very many topics."""
    if len(y) < MANY_TOPICS or np.isnan(y).any():
        return resample_topics(y, *drawn, jobs=jobs)
    ia, ib, statistics, key, n_resamples = drawn
    return normal_limit(compute_gram(np.ascontiguousarray(y.T)), ia, ib, statistics, key, n_resamples, jobs)


def _with_noise(
    y: Floats,
    noise: Noise,
    drawn: tuple[Ints, Ints, Statistics, np.uint64, int],
    jobs: int | None,
    sign: int = 1,
) -> ResampledDistribution:
    """The distribution with chance effects on the systems, which are drawn in the order of their means, not of the
    table.

    Where a system lacks topics, the distribution is that of the topics that all have, for the statistics of all topics.
    """
    ia, ib, statistics, key, n_resamples = drawn
    common = np.isfinite(y).all(axis=1)
    if common.sum() < max(2.0, COMMON * len(y)):
        raise InputError(
            f"only {int(common.sum())} of {len(y)} topics have scores of all systems, too few for a joint test",
            remedy=("use ", Option("method", "unified holm"), ", or drop a system"),
        )
    y = y[common]
    order = np.argsort(-sign * y.mean(axis=0), kind="stable")
    position = np.argsort(order)
    moved = noise.select_part(order)
    return resample_topics(
        y[:, order], position[ia], position[ib], statistics.drawn, key, n_resamples, noise=moved, jobs=jobs
    )


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
            if noise is None:
                # few or unequal clusters: t counts for less than resamples would have it
                drawn = (ia, ib, of_table.drawn, key, tables.n_resamples)
                distributions.append(_distribution_of_topics(tables_y[i], drawn, jobs))
            else:
                drawn = (ia, ib, of_table, key, tables.n_resamples)
                distributions.append(_with_noise(tables_y[i], noise.select_part(i), drawn, jobs, tables.sign))
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
    if claim != BOTH:
        return replace(estimates, notes=(*estimates.notes, *_undefined_note(tables)))
    return add_effect_sizes(estimates, tables)


def _undefined_note(tables: Tables) -> tuple[str, ...]:
    """How many cells of topics and shards no system has."""
    if "shard" not in tables.dims or tables.complete:
        return ()
    gone = np.isnan(tables.y).all(axis=1 + tables.dims.index("system"))
    few = int(gone.sum())
    verb = "is" if few == 1 else "are"
    return (
        (f"{few:,} of {gone.size:,} cells of topics and shards {verb} undefined and left out",) if few else ()
    )


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
