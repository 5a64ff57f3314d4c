"""Compare systems that met different items: Welch's t-test, and Games and Howell's test of all pairs.

Means of systems that met different items, their errors, and what a covariate from before explains of them.

Adjust unpaired scores for a covariate that was measured before the experiment.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import Either, InputError
from shardwise.core.scores import Scores, as_scores
from shardwise.methods.method import read_methods
from shardwise.methods.pairs import Means, Pairs, student_pairs
from shardwise.methods.tables import Tables
from shardwise.stats import student
from shardwise.stats.stepdown import TIE
from shardwise.stats.units import cluster_variance

PERMUTATIONS = 1_999
LEAST_SHARE = 0.005
"""Share of the variance below which a covariate gains nothing."""
MANY_EVENTS = 100
"""Scores other than the commonest one from which on Welch's t is left alone."""


class GroupMeans(NamedTuple):
    """Means of systems, each over its own items: (R,) arrays."""

    mean: Floats
    # of the mean, and its degrees of freedom
    variance: Floats
    df: Floats
    # standard deviation of single scores, and their number
    sd: Floats
    number: Floats


def group_means(y: Floats, cluster: Ints | None = None) -> GroupMeans:
    """Estimate the mean of each system over its own items, with the variance of the mean.

    >>> found = group_means(np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 2.0], [np.nan, 8.0]]))
    >>> found.mean.tolist(), found.variance.tolist(), found.df.tolist()
    ([2.0, 5.0], [1.0, 9.0], [1.0, 1.0])
    """
    systems = y.shape[1]
    mean, variance, df, sd, count = (np.empty(systems) for _ in range(5))
    for k in range(systems):
        known = np.isfinite(y[:, k])
        values = y[known, k]
        if values.size < 2:
            raise InputError(
                "a system has fewer than two scores", remedy="give at least two of each, or leave it out"
            )
        mean[k], sd[k], count[k] = values.mean(), values.std(ddof=1), values.size
        if cluster is None:
            variance[k], df[k] = values.var(ddof=1) / values.size, values.size - 1.0
            continue
        code = np.unique(cluster[known], return_inverse=True)[1]
        if code.max() < 1:
            raise InputError("a system has one cluster only", remedy="give at least two of each system")
        found = cluster_variance(values, code)
        variance[k], df[k] = float(found.variance), float(found.df)
    return GroupMeans(mean, variance, df, sd, count)


def welch_df(variance: Floats, df: Floats, ia: Ints, ib: Ints) -> Floats:
    """Compute Welch's degrees of freedom of differences, (v_a + v_b)² / (v_a²/f_a + v_b²/f_b).

    >>> float(welch_df(np.array([1.0, 1.0]), np.array([9.0, 9.0]), np.array([0]), np.array([1]))[0])
    18.0
    """
    a, b = variance[..., ia], variance[..., ib]
    below = a**2 / df[..., ia] + b**2 / df[..., ib]
    fallback = np.minimum(df[..., ia], df[..., ib])
    return np.asarray(np.where(below > 0.0, (a + b) ** 2 / np.where(below > 0.0, below, 1.0), fallback))


def permuted_floor(y: Floats, ia: Ints, ib: Ints, seed: int) -> Floats:
    """Compute p-values of pairs whose scores are mostly one value, by permutations of who met which system.

    Few other scores, such as those of the few users who bought anything, make Student's t too sure of itself. The
    permutation test of Welch's t is exact where the two systems have one distribution, and right in large samples where
    only their means are equal (Janssen 1997; Chung & Romano 2013).

    >>> spent = np.full((40, 2), np.nan)
    >>> spent[:20, 0], spent[20:, 1] = 0.0, np.r_[np.zeros(17), 5.0, 5.0, 5.0]
    >>> float(permuted_floor(spent, np.array([0]), np.array([1]), 0)[0].round(1))
    0.2
    """
    floor = np.zeros(len(ia))
    for k, (a, b) in enumerate(zip(ia, ib, strict=True)):
        groups = [y[np.isfinite(y[:, system]), system] for system in (a, b)]
        values, counts = np.unique(np.concatenate(groups), return_counts=True)
        common = values[counts.argmax()]
        events = [group[group != common] - common for group in groups]
        fewest = min(map(len, events))
        if counts.max() * 2 > counts.sum() and fewest < MANY_EVENTS and max(map(len, events)):
            floor[k] = _permute_events(
                events, [len(group) for group in groups], np.random.default_rng([seed, k])
            )
    return floor


def _permute_events(events: list[Floats], sizes: list[int], rng: np.random.Generator) -> float:
    """Return the two-sided permutation p-value of Welch's t, all scores but the events being 0."""
    every, total = np.concatenate(events), sum(sizes)
    # which of the events fall to the first group: places without replacement, drawn again where two are the same
    places = rng.integers(total, size=(PERMUTATIONS, len(every)))
    while True:
        ordered = np.sort(places, axis=1)
        again = np.flatnonzero((np.diff(ordered, axis=1) == 0).any(axis=1))
        if not again.size:
            break
        places[again] = np.stack([rng.permutation(total)[: len(every)] for _ in again])
    first = places < sizes[0]
    seen = np.arange(len(every)) < len(events[0])
    return float(
        (
            1
            + (
                np.abs(_welch_t(first, every, sizes))
                >= np.abs(_welch_t(seen[None], every, sizes)) * (1 - TIE)
            ).sum()
        )
        / (PERMUTATIONS + 1)
    )


def _welch_t(first: Bools, events: Floats, sizes: list[int]) -> Floats:
    """Return (B,) Welch's t of groups of which the first has these events, the second the others."""
    t, spread = np.zeros(len(first)), np.zeros(len(first))
    for member, size, sign in ((first, sizes[0], 1.0), (~first, sizes[1], -1.0)):
        mean, square = member @ events / size, member @ events**2 / size
        t += sign * mean
        spread += np.maximum(square - mean**2, 0.0) / (size - 1.0)
    return np.asarray(np.divide(t, np.sqrt(spread), out=np.zeros_like(t), where=spread > 0.0))


def adjust_for_covariate(y: Floats, covariate: Floats) -> tuple[Floats, float]:
    """Take out of scores what a covariate from before the experiment explains: CUPED.

    y − θ(x − x̄) with θ = Σ(x − x̄_a)(y − ȳ_a)/Σ(x − x̄_a)² pooled within systems (Deng, Xu, Kohavi & Walker 2013). The
    covariate must not depend on the system, which only what was measured before cannot.

    >>> y = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 4.0], [np.nan, 6.0]])
    >>> adjusted, share = adjust_for_covariate(y, np.array([1.0, 2.0, 1.0, 3.0]))
    >>> adjusted.round(2).tolist(), share
    ([[1.75, nan], [1.75, nan], [nan, 4.75], [nan, 4.75]], 1.0)
    """
    known = np.isfinite(y)
    x = np.where(known, np.asarray(covariate, float)[:, None], np.nan)
    x_rest, y_rest = x - np.nanmean(x, axis=0), y - np.nanmean(y, axis=0)
    squares = float(np.nansum(x_rest**2))
    if not squares > 0.0:
        raise InputError(
            "the covariate is the same for all items", remedy="name a column that varies, or none"
        )
    slope = float(np.nansum(x_rest * y_rest)) / squares
    total = float(np.nansum(y_rest**2))
    share = slope**2 * squares / total if total > 0.0 else 0.0
    centre = float(np.asarray(covariate, float)[known.any(axis=1)].mean())
    return y - slope * (x - centre), min(share, 1.0)


def adjust_scores(scores: Any, covariate: Any) -> tuple[Scores, str]:
    """Take out of unpaired scores what a covariate from before explains (CUPED), and say how much that was.

    >>> y = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 4.0], [np.nan, 6.0]])
    >>> x = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 1.0], [np.nan, 3.0]])
    >>> adjust_scores(y, x)[1]
    'CUPED: score explains 100% of the variance of score; removed'
    """
    table, before = as_scores(scores), as_scores(covariate)
    if not table.unpaired:
        raise InputError(
            "the scores are paired, and need no covariate",
            remedy=(
                Either("leave the covariate out", "remove pre from --columns"),
                ": each item is its own control",
            ),
        )
    x, y = before.values, table.values
    if x.shape != y.shape or bool((np.isfinite(y) & ~np.isfinite(x)).any()):
        raise InputError(
            "the covariate is missing for some items", remedy="give it for every item, or leave them out"
        )
    if y.ndim > 2:
        raise InputError(
            "a covariate needs one score of each item", remedy="give means over the repeats of an item"
        )
    values = np.where(np.isfinite(y), x, 0.0).sum(axis=1)
    adjusted, share = adjust_for_covariate(y, values)
    measure = replace(table.measure, range=None, range_from="")
    explained = f"CUPED: {before.measure.name} explains {share:.0%} of the variance of {measure.name}"
    gain = "removed" if share >= LEAST_SHARE else "no gain"
    return replace(table, values=adjusted, measure=measure), f"{explained}; {gain}"


def measure_groups(tables: Tables) -> GroupMeans:
    """Return (B, R) means of each system over its own items, with their variances."""

    def measure() -> GroupMeans:
        each = [group_means(y, tables.cluster) for y in tables.topic_means()]
        return GroupMeans(*(np.stack(part) for part in zip(*each, strict=True)))

    return tables.once("groups", measure)


def welch_pairs(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Test pairs by Welch's t; means and variances round as each system's own scores do."""
    means = measure_groups(tables)
    size = np.maximum(np.abs(means.mean[..., ia]), np.abs(means.mean[..., ib]))
    difference = student.drop_noise(means.mean[..., ia] - means.mean[..., ib], size)
    se = student.drop_noise(np.sqrt(means.variance[..., ia] + means.variance[..., ib]), size)
    pairs = student_pairs(difference, se, welch_df(means.variance, means.df, ia, ib))
    if tables.cluster is not None:
        return pairs

    def permute() -> Floats:
        floor = np.zeros((len(tables), tables.systems, tables.systems))
        a, b = tables.pairs
        floor[:, a, b] = [permuted_floor(y, a, b, tables.seed) for y in tables.topic_means()]
        return floor

    # few other scores than the commonest one: p-values may not be below those of permutations
    floor = tables.once("floor", permute)
    return replace(pairs, floor=np.maximum(floor[:, ia, ib], floor[:, ib, ia]))


def unpaired_means(tables: Tables, claim: Claim) -> Means:
    """Estimate the mean of each system over its own items."""
    means = measure_groups(tables)
    freedom = means.number - 1.0
    return Means(
        labels=tuple(map(str, range(tables.systems))),
        values=means.mean,
        variance=means.variance.mean(axis=-1),
        df=means.df.sum(axis=-1),
        error="items within systems",
        scale=np.sqrt((freedom * means.sd**2).sum(axis=-1) / freedom.sum(axis=-1)),
        own_sd=means.sd,
        own_count=means.number,
        mean_se=np.sqrt(means.variance),
        mean_df=means.df,
    )


METHODS = read_methods("unpaired", {"welch": welch_pairs, "games-howell": welch_pairs}, means=unpaired_means)
