"""Compare systems that met different items: Welch's t-test, and Games and Howell's test of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.methods.base import JOINT, Clause, Estimates, Method, Outcome
from shardwise.methods.paired.method import FixedJoint
from shardwise.methods.tables import INSTANCES, TABLE, Dims, Tables
from shardwise.methods.unpaired.statistics import GroupMeans, group_means, permuted_floor, welch_df
from shardwise.stats import student, studentized_range
from shardwise.stats.corrections import STEPWISE


@dataclass(frozen=True, slots=True, eq=False)
class GamesHowellTest:
    """Differences of unpaired means, all pairs at once by the studentized range with the df of each pair."""

    # (B, R) of every table
    means: GroupMeans

    name: str = ""

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs of systems with these indices."""
        difference = self.means.mean[..., ia] - self.means.mean[..., ib]
        se = np.sqrt(self.means.variance[..., ia] + self.means.variance[..., ib])
        df = welch_df(self.means.variance, self.means.df, ia, ib)
        t = student.t_statistic(difference, se)
        members = max(len(np.union1d(ia, ib)), 2)
        p_adjusted = np.asarray(studentized_range.sf(np.abs(t) * np.sqrt(2.0), members, df))

        def half_width(alpha: float) -> Floats:
            return np.asarray(studentized_range.isf(alpha, members, df) / np.sqrt(2.0) * se)

        return Outcome(difference, se, df, t, student.two_sided(t, df), FixedJoint(p_adjusted, half_width))


@dataclass(frozen=True, slots=True)
class UnpairedMethod(Method):
    """A test of systems that met different items, each with a variance of its own.

    Parameters
    ----------
    name : str
        What a user types.
    title : str
        The test in words.
    joint : bool
        Whether all pairs are tested at once, so that nothing is left to correct.
    text : str
        What pairs are compared with, as in `Clause`.
    citation : str
        Key of its source.
    formula : str
        How a pair is tested.
    """

    name: str
    title: str
    joint: bool
    text: str
    citation: str
    formula: str
    claims: tuple[Claim, ...] = (Claim("topic"),)
    layouts: tuple[Dims, ...] = (TABLE, INSTANCES)
    takes_gaps: bool = True
    takes_single_items: bool = True
    limits: str = "Loses much power where systems share their items: use the default there."
    reason: str = "each {system} has {topics} and a variance of its own"

    @property
    def corrections(self) -> tuple[str, ...]:
        """Those of p-values, or none where all pairs are tested at once."""
        return (JOINT,) if self.joint else tuple(STEPWISE)

    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        """Say what pairs are compared with."""
        return Clause(self.text, (self.citation,))

    def uses_normal_theory(self, correction: str) -> bool:
        """Return whether p-values are Student's."""
        return True

    def estimate(self, tables: Tables, claim: Claim) -> Estimates:
        """Estimate the mean of each system over its own items."""
        each = [group_means(y, tables.cluster) for y in tables.topic_means()]
        means = GroupMeans(*(np.stack(part) for part in zip(*each, strict=True)))
        everyone = np.arange(tables.systems)
        ia, ib = (grid.ravel() for grid in np.meshgrid(everyone, everyone, indexing="ij"))
        square = (len(each), tables.systems, tables.systems)
        freedom = means.number - 1.0
        floors = [self._find_floor(y, tables) for y in tables.topic_means()]
        return Estimates(
            labels=tuple(map(str, everyone)),
            values=means.mean,
            variance=means.variance.mean(axis=-1),
            df=means.df.sum(axis=-1),
            claim="",
            model="each system by itself",
            error="items within systems",
            scale=np.sqrt((freedom * means.sd**2).sum(axis=-1) / freedom.sum(axis=-1)),
            difference_variance=(means.variance[..., ia] + means.variance[..., ib]).reshape(square),
            difference_df=welch_df(means.variance, means.df, ia, ib).reshape(square),
            own_sd=means.sd,
            own_count=means.number,
            mean_se=np.sqrt(means.variance),
            mean_df=means.df,
            from_own_scores=True,
            p_floor=np.stack(floors),
            test=GamesHowellTest(means) if self.joint else None,
        )

    def _find_floor(self, y: Floats, tables: Tables) -> Floats:
        """Return (R, R) p-values that those of pairs may not be below; 0 for items in clusters."""
        floor = np.zeros((tables.systems, tables.systems))
        if tables.cluster is None:
            ia, ib = tables.pairs
            floor[ia, ib] = permuted_floor(y, ia, ib, tables.seed)
        return np.maximum(floor, floor.T)


METHODS: tuple[UnpairedMethod, ...] = (
    UnpairedMethod(
        "welch",
        "Welch's unpaired t-test",
        False,
        "Welch's t-tests of unpaired scores, each {system} with a variance of its own",
        "Welch1947",
        "t = d/√(s²_a/n_a + s²_b/n_b), Welch's df; clusters: CR2 variances",
    ),
    UnpairedMethod(
        "games-howell",
        "Games–Howell test of unpaired scores",
        True,
        "Games and Howell's test of unpaired scores, each {system} with a variance of its own",
        "GamesHowell1976",
        "P(q_{R,df} > |t|√2), t and df as Welch's; clusters: CR2 variances",
    ),
)
