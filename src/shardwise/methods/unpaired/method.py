"""Compare systems that met different items: Welch's t-test, and Games and Howell's test of all pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.methods.method import TOPICS, Method
from shardwise.methods.pairs import Means, Pairs, student_pairs
from shardwise.methods.tables import INSTANCES, TABLE, Tables
from shardwise.methods.unpaired.statistics import GroupMeans, group_means, permuted_floor, welch_df
from shardwise.stats import student


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


FACTS: dict[str, Any] = {
    "layouts_by_claim": ((TOPICS, (TABLE, INSTANCES)),),
    "means": unpaired_means,
    "pairs": welch_pairs,
    "takes_gaps": True,
    "takes_single_items": True,
    "limits": "Loses much power where systems share their items: use the default there.",
    "reason": "each {system} has {topics} and a variance of its own",
}
METHODS: tuple[Method, ...] = (
    Method(
        name="welch",
        title="Welch's unpaired t-test",
        text="Welch's t-tests of unpaired scores, each {system} with a variance of its own",
        citations=("Welch1947",),
        equation="t = d/√(s²_a/n_a + s²_b/n_b), Welch's df; clusters: CR2 variances",
        **FACTS,
    ),
    Method(
        name="games-howell",
        title="Games–Howell test of unpaired scores",
        text="Games and Howell's test of unpaired scores, each {system} with a variance of its own",
        citations=("GamesHowell1976",),
        equation="P(q_{R,df} > |t|√2), t and df as Welch's; clusters: CR2 variances",
        simultaneous=("hsd",),
        stepwise=False,
        **FACTS,
    ),
)
