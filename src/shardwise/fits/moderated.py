"""The moderated test: each pair its own variance drawn towards the common one, with the joint law of all pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.estimates import Estimates, Outcome
from shardwise.core.model import MD6
from shardwise.fits.instances import spread_of
from shardwise.fits.topics import by_pairs
from shardwise.numerics import student
from shardwise.numerics.corrections import STEPWISE
from shardwise.numerics.moderated.cells import cell_statistics, stratified
from shardwise.numerics.moderated.law import Law
from shardwise.numerics.moderated.noise import Noise, of_instances, of_shards
from shardwise.numerics.moderated.resample import resampled
from shardwise.numerics.moderated.statistics import Statistics, statistics
from shardwise.numerics.tables import INSTANCES, LAYOUTS, SHARDS, Dims, Tables

TOPICS, CELLS = Claim("topic"), Claim()
KINDS: dict[Claim, tuple[Dims, ...]] = {
    TOPICS: LAYOUTS,
    Claim("topic", "shard"): (SHARDS,),
    Claim("topic", "instance"): (INSTANCES,),
    CELLS: (SHARDS,),
}  # claims, and the layouts that can speak of them


@dataclass(frozen=True, eq=False)
class ModeratedJoint:
    """The joint law of the pairs asked for, drawn when it is first looked at."""

    test: ModeratedTest
    ia: Ints
    ib: Ints
    found: Statistics

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """One law a table."""
        tables, test = self.test.tables, self.test
        jobs = 1 if tables.keyed else None  # batches come in threads of their own
        laws = []
        for i, key in enumerate(tables.keys):
            own = _of_table(self.found, i)
            drawn = (self.ia, self.ib, own, key, tables.n_resamples)
            if test.noise is None:
                laws.append(resampled(test.y[i], *drawn, jobs=jobs))
            else:
                laws.append(_with_noise(test.y[i], test.noise.at(i), drawn, jobs))
        return tuple(laws)

    @property
    def p_adjusted(self) -> Floats:
        """Step-down p-values (Romano & Wolf 2005)."""
        return np.stack([law.p_adjusted for law in self.laws])

    def half_width(self, alpha: float) -> Floats:
        """c times each pair's own standard error, c the upper alpha quantile of the largest |t*|."""
        critical = np.array([law.critical(alpha) for law in self.laws])[:, None]
        return np.where(self.found.se == 0.0, 0.0, self.found.se * critical)

    def top(self, alpha: float) -> Bools | None:
        """Hsu's (1981) group, which holds the best with probability 1 - alpha."""
        return np.stack([law.p_best > alpha for law in self.laws])


def _with_noise(
    y: Floats, noise: Noise, drawn: tuple[Ints, Ints, Statistics, np.uint64, int], jobs: int | None
) -> Law:
    """The law with chance effects on the systems, which are drawn in the order of their means, not of the table."""
    ia, ib, found, key, n_resamples = drawn
    order = np.argsort(-np.nanmean(y, axis=0), kind="stable")
    place = np.argsort(order)
    moved = noise.at(order)
    law = resampled(y[:, order], place[ia], place[ib], found, key, n_resamples, noise=moved, jobs=jobs)
    return replace(law, p_best=law.p_best[place])


def _of_table(found: Statistics, i: int) -> Statistics:
    names = ("difference", "units", "own_df", "own", "common", "moderated", "extra", "df")
    return replace(found, **{name: np.asarray(getattr(found, name))[i] for name in names})


@dataclass(frozen=True, eq=False)
class ModeratedTest:
    """The moderated test of tables for one claim, of which pairs are asked for."""

    tables: Tables
    claim: Claim

    @property
    def name(self) -> str:
        """How many resamples are drawn for the joint law; on cells there is none."""
        return "" if self.claim == CELLS else f"{self.tables.n_resamples} resamples, seed {self.tables.seed}"

    @property
    def y(self) -> Floats:
        """(B, T, R) scores, averaged over what else there is."""
        return self.tables.topic_means()

    @cached_property
    def noise(self) -> Noise | None:
        """What moves system means besides the topics, for claims that are about more than topics."""
        if "shard" in self.claim:
            return of_shards(self.tables.decomposition(MD6))
        return of_instances(spread_of(self.tables)) if "instance" in self.claim else None

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs: Student's law for each by itself, and the joint law for all of them but on cells."""
        if self.claim == CELLS:
            found, joint = cell_statistics(self.tables.y, ia, ib), None
        else:
            found = statistics(self.y, ia, ib, noise=self.noise)
            joint = ModeratedJoint(self, ia, ib, found)
        return Outcome(found.difference, found.se, found.df, found.t, found.p, joint)


@dataclass(frozen=True, slots=True)
class ByModerated:
    """Fit by the moderated test, for one kind of claim."""

    claim: Claim

    name: str = "moderated"
    title: str = "moderated test"
    usual_claim: Claim = TOPICS
    sound: bool = True

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claim that it speaks for."""
        return (self.claim,)

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrections that can follow; no resampled joint law holds its level on the cells of these topics."""
        return tuple(STEPWISE) if self.claim == CELLS else ("", *STEPWISE)

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts that can speak of the claim."""
        return KINDS[self.claim]

    @property
    def takes_gaps(self) -> bool:
        """Topics that a system lacks do not count for its pairs; effects of shards need full tables."""
        return self.claim != CELLS and "shard" not in self.claim

    def source(self, correction: str, claim: Claim) -> str:
        """No paper uses it."""
        return ""

    def estimates(self, tables: Tables, claim: Claim) -> Estimates:
        """System means, and the moderated test of their pairs."""
        test = ModeratedTest(tables, claim)
        if np.isfinite(tables.topic_means()).all():
            return by_pairs(
                tables, test, "moderated, each pair its own variance drawn towards the common one"
            )
        return _with_gaps(tables, test)


def _with_gaps(tables: Tables, test: ModeratedTest) -> Estimates:
    """Means over the topics that each system has."""
    y = tables.topic_means()
    there = np.isfinite(y)
    count = there.sum(axis=1)
    found = statistics(y)
    nothing = np.full(len(y), np.nan)
    return Estimates(
        labels=tuple(map(str, range(y.shape[2]))),
        values=np.where(there, y, 0.0).sum(axis=1) / np.maximum(count, 1),
        variance=nothing,
        df=nothing,
        claim="",
        model="moderated, each pair on the topics that both have",
        scale=np.sqrt(np.asarray(found.common) / 2.0),
        own_sd=np.nanstd(y, axis=1, ddof=1),
        own_count=count.astype(np.float64),
        test=test,
        notes=(
            f"{int((~there).sum())} scores are missing: each pair is judged on the topics that both have",
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedTest:
    """Each pair with a variance of its own on every topic, for differences on these topics."""

    tables: Tables

    name: str = ""

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs by Student's t with Satterthwaite's df."""
        difference, se, df = stratified(self.tables.y, ia, ib)
        t = student.t_statistic(difference, se)
        return Outcome(difference, se, df, t, student.two_sided(t, df))


@dataclass(frozen=True, slots=True)
class ByStratified:
    """Fit by topics as strata: the heteroskedastic test that F19 §10 wishes for."""

    name: str = "stratified"
    title: str = "t with topics as strata"
    usual_claim: Claim = CELLS
    claims: tuple[Claim, ...] = (CELLS,)
    corrections: tuple[str, ...] = tuple(STEPWISE)
    layouts: tuple[Dims, ...] = (SHARDS,)
    sound: bool = True
    takes_gaps: bool = False

    def source(self, correction: str, claim: Claim) -> str:
        """No paper uses it."""
        return ""

    def estimates(self, tables: Tables, claim: Claim) -> Estimates:
        """System means, and the stratified test of their pairs."""
        parts = tables.decomposition(MD6)
        found = by_pairs(tables, StratifiedTest(tables), "topics as strata")
        return replace(found, scale=np.sqrt(parts.ss_error / parts.df_error))


MODERATED = tuple(ByModerated(claim) for claim in KINDS)
