"""The moderated test: each pair its own variance drawn towards the common one, with the joint law of all pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError, Option
from shardwise.core.model import MD6
from shardwise.methods.base import Estimates, Outcome
from shardwise.methods.moderated.cells import cell_statistics, of_cells, stratified
from shardwise.methods.moderated.law import Law
from shardwise.methods.moderated.noise import (
    Noise,
    batched,
    of_instances,
    of_shards,
    of_shards_with_gaps,
    over_splits,
)
from shardwise.methods.moderated.resample import resampled
from shardwise.methods.moderated.statistics import D0, Statistics, statistics
from shardwise.methods.paired.method import by_pairs
from shardwise.methods.repeats.method import BOTH, UNIFIED, borrowed_note, spread_of, with_effect_sizes
from shardwise.methods.tables import INSTANCES, LAYOUTS, SHARDS, SPLITS, Dims, Tables
from shardwise.stats import student
from shardwise.stats.corrections import STEPWISE

COMMON = 0.5  # share of the topics that all systems must have where instances are random
TOPICS, CELLS = Claim("topic"), Claim()
KINDS: dict[Claim, tuple[Dims, ...]] = {
    TOPICS: LAYOUTS,
    Claim("topic", "shard"): (SHARDS, SPLITS),
    BOTH: (INSTANCES,),
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
        critical = np.array([law.critical(alpha) for law in self.laws])[:, None] * self.found.care
        return np.where(self.found.se == 0.0, 0.0, self.found.se * critical)

    def top(self, alpha: float) -> Bools | None:
        """Hsu's (1981) group, which holds the best with probability 1 - alpha."""
        return np.stack([law.p_best > alpha for law in self.laws])


def _with_noise(
    y: Floats, noise: Noise, drawn: tuple[Ints, Ints, Statistics, np.uint64, int], jobs: int | None
) -> Law:
    """The law with chance effects on the systems, which are drawn in the order of their means, not of the table.

    Where a system lacks topics, the law is that of the topics that all have, for the statistics of all topics.
    """
    ia, ib, found, key, n_resamples = drawn
    common = np.isfinite(y).all(axis=1)
    if common.sum() < max(2.0, COMMON * len(y)):
        raise InputError(
            f"only {int(common.sum())} of {len(y)} topics have scores of all systems, too few for their joint law",
            remedy=("use ", Option("method", "unified holm"), ", or drop a system"),
        )
    y = y[common]
    order = np.argsort(-y.mean(axis=0), kind="stable")
    place = np.argsort(order)
    moved = noise.at(order)
    law = resampled(y[:, order], place[ia], place[ib], found.drawn, key, n_resamples, noise=moved, jobs=jobs)
    return replace(law, p_best=law.p_best[place])


def _of_table(found: Statistics, i: int) -> Statistics:
    names = ("difference", "units", "own_df", "own", "common", "moderated", "extra", "df", "drawn_df")
    return replace(found, **{name: np.asarray(getattr(found, name))[i] for name in names})


@dataclass(frozen=True, eq=False)
class ModeratedTest:
    """The moderated test of tables for one claim, of which pairs are asked for."""

    tables: Tables
    claim: Claim
    d0: float = D0

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
            split = self.tables.dims == SPLITS
            each = self.tables.each_split() if split else self.tables
            if each.complete:
                found = of_shards(each.decomposition(MD6))
            else:
                found = batched([of_shards_with_gaps(y) for y in each.y])
            return over_splits(found, self.tables.shape["split"]) if split else found
        return of_instances(spread_of(self.tables)) if "instance" in self.claim else None

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs: Student's law for each by itself, and the joint law for all of them but on cells."""
        if self.claim == CELLS:
            found, joint = cell_statistics(self.tables.y, ia, ib), None
        else:
            lost = self.tables.topics - 1.0 - self.tables.df
            found = statistics(self.y, ia, ib, d0=self.d0, noise=self.noise, lost=lost)
            joint = ModeratedJoint(self, ia, ib, found)
        return Outcome(found.difference, found.se, found.df, found.t, found.p, joint)


@dataclass(frozen=True, slots=True)
class ByModerated:
    """Fit by the moderated test, for one kind of claim; samples are instances drawn anew for each topic.

    With d0 = 0 nothing is drawn towards the common variance: the unified test with the joint law of all pairs.
    """

    claim: Claim
    samples: bool = False
    d0: float = D0

    sound: bool = True

    @property
    def name(self) -> str:
        """What a user types."""
        return "moderated samples" if self.samples else "moderated" if self.d0 else "unified max-t"

    @property
    def title(self) -> str:
        """The test in words."""
        if not self.d0:
            return f"{UNIFIED.title}, step-down max-t"
        return f"moderated test{' of samples' * self.samples}"

    @property
    def usual_claim(self) -> Claim:
        """The claim that is meant where none is named."""
        return self.claim if self.samples or not self.d0 else TOPICS

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claim that it speaks for."""
        return (self.claim,)

    @property
    def corrections(self) -> tuple[str, ...]:
        """The corrections that can follow; no resampled joint law holds its level on the cells of these topics."""
        if not self.d0:
            return ("",)
        return tuple(STEPWISE) if self.claim == CELLS else ("", *STEPWISE)

    @property
    def layouts(self) -> tuple[Dims, ...]:
        """The layouts that can speak of the claim."""
        return KINDS[self.claim]

    @property
    def takes_gaps(self) -> bool:
        """Topics that a system lacks do not count for its pairs; on cells and shards no system may lack its own."""
        return self.claim != CELLS and "shard" not in self.claim

    def source(self, correction: str, claim: Claim) -> str:
        """No paper uses it."""
        return ""

    def estimates(self, tables: Tables, claim: Claim) -> Estimates:
        """System means, and the moderated test of their pairs."""
        test = ModeratedTest(tables, TOPICS if self.samples else claim, self.d0)  # topic means hold samples
        words = (
            "moderated, each pair its own variance drawn towards the common one" if self.d0 else UNIFIED.title
        )
        found = by_pairs(tables, test, words)
        if claim == CELLS and not tables.complete:  # adjusted for the topics and shards of what is not there
            found = replace(found, values=of_cells(tables.y).means)
        if claim != BOTH:
            return replace(found, notes=(*found.notes, *_undefined_note(tables)))
        notes = () if self.samples else borrowed_note(tables)
        return with_effect_sizes(replace(found, notes=(*found.notes, *notes)), tables)


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


MODERATED = (
    *(ByModerated(claim) for claim in KINDS),
    ByModerated(BOTH, samples=True),
    ByModerated(BOTH, d0=0.0),
)
