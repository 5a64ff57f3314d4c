"""Compare systems that met different items: Welch's t-test, and Games and Howell's test of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.methods.base import Estimates
from shardwise.methods.method import TOPICS, Method
from shardwise.methods.pairs import JointDraws, Pairs, student_pairs
from shardwise.methods.tables import INSTANCES, TABLE, Tables
from shardwise.methods.unpaired.statistics import GroupMeans, group_means, permuted_floor, welch_df
from shardwise.stats import studentized_range


def measure_groups(tables: Tables) -> GroupMeans:
    """Return (B, R) means of each system over its own items, with their variances."""

    def measure() -> GroupMeans:
        each = [group_means(y, tables.cluster) for y in tables.topic_means()]
        return GroupMeans(*(np.stack(part) for part in zip(*each, strict=True)))

    return tables.once("groups", measure)


def games_howell(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Test pairs by Welch's t, all at once by the studentized range with the df of each pair."""
    means = measure_groups(tables)
    difference = means.mean[..., ia] - means.mean[..., ib]
    se = np.sqrt(means.variance[..., ia] + means.variance[..., ib])
    df = welch_df(means.variance, means.df, ia, ib)
    members = max(len(np.union1d(ia, ib)), 2)

    def adjust() -> Floats:
        return np.asarray(studentized_range.sf(np.abs(pairs.statistic) * np.sqrt(2.0), members, df))

    def half_width(alpha: float) -> Floats:
        return np.asarray(studentized_range.isf(alpha, members, df) / np.sqrt(2.0) * se)

    pairs = student_pairs(difference, se, df, JointDraws(adjust, half_width))
    return pairs


def unpaired_means(tables: Tables, claim: Claim) -> Estimates:
    """Estimate the mean of each system over its own items."""
    means = measure_groups(tables)
    everyone = np.arange(tables.systems)
    ia, ib = (grid.ravel() for grid in np.meshgrid(everyone, everyone, indexing="ij"))
    square = (len(tables), tables.systems, tables.systems)
    freedom = means.number - 1.0
    return Estimates(
        labels=tuple(map(str, everyone)),
        values=means.mean,
        variance=means.variance.mean(axis=-1),
        df=means.df.sum(axis=-1),
        error="items within systems",
        scale=np.sqrt((freedom * means.sd**2).sum(axis=-1) / freedom.sum(axis=-1)),
        difference_variance=(means.variance[..., ia] + means.variance[..., ib]).reshape(square),
        difference_df=welch_df(means.variance, means.df, ia, ib).reshape(square),
        own_sd=means.sd,
        own_count=means.number,
        mean_se=np.sqrt(means.variance),
        mean_df=means.df,
        from_own_scores=True,
        p_floor=np.stack([_find_floor(y, tables) for y in tables.topic_means()]),
    )


def _find_floor(y: Floats, tables: Tables) -> Floats:
    """Return (R, R) p-values that those of pairs may not be below; 0 for items in clusters."""
    floor = np.zeros((tables.systems, tables.systems))
    if tables.cluster is None:
        ia, ib = tables.pairs
        floor[ia, ib] = permuted_floor(y, ia, ib, tables.seed)
    return np.maximum(floor, floor.T)


FACTS: dict[str, Any] = {
    "layouts_by_claim": ((TOPICS, (TABLE, INSTANCES)),),
    "means": unpaired_means,
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
        pairs=games_howell,
        text="Games and Howell's test of unpaired scores, each {system} with a variance of its own",
        citations=("GamesHowell1976",),
        equation="P(q_{R,df} > |t|√2), t and df as Welch's; clusters: CR2 variances",
        joint=True,
        stepwise=False,
        **FACTS,
    ),
)
