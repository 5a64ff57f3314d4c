"""The method for votes: differences of strength, with the joint distribution over prompts and voters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.methods.base import JOINT, Clause, Estimates, Method, Outcome
from shardwise.methods.paired.method import describe_resamples
from shardwise.methods.tables import TABLE, Dims, Tables
from shardwise.methods.votes.joint import VoteJoint, VoteStatistics, measure_pairs, measure_systems
from shardwise.stats import student
from shardwise.stats.corrections import STEPWISE
from shardwise.stats.resampling import key_of

MANY_SYSTEMS = 60
OTHER_WAY = 1 << 32
"""Added to the seed of the second way, so that prompts and voters are drawn independently."""


@dataclass(frozen=True, eq=False)
class VoteJoints:
    """The joint distributions of the pairs of a batch of tables."""

    parts: tuple[VoteJoint, ...]

    @cached_property
    def p_adjusted(self) -> Floats:
        """(B, P) step-down p-values."""
        return np.stack([part.p_adjusted for part in self.parts])

    @cached_property
    def p(self) -> Floats:
        """(B, P) p-values of single pairs."""
        return np.stack([part.p for part in self.parts])

    def half_width(self, alpha: float) -> Floats:
        """(B, P) half-widths of simultaneous intervals."""
        return np.stack([part.half_width(alpha) for part in self.parts])


@dataclass(frozen=True, slots=True, eq=False)
class VoteTest:
    """Differences of strengths by their cluster-robust variances."""

    tables: Tables

    @property
    def name(self) -> str:
        """How many bootstrap samples are drawn for the joint distribution."""
        return describe_resamples(self.tables)

    def outcome(self, ia: Ints, ib: Ints) -> Outcome:
        """Test the pairs: Student's distribution for each by itself, the joint one for all of them."""
        members = np.union1d(ia, ib)
        a, b = np.searchsorted(members, ia), np.searchsorted(members, ib)
        values = self.tables.y.mean(axis=1)[:, members]
        statistics, joints = [], []
        for strengths, units, seed in zip(values, self.tables.votes, self.tables.seeds, strict=True):
            own = units.select_systems(members)
            measured = measure_pairs(strengths, own, a, b)
            statistics.append(measured)
            keys = key_of(seed), key_of(seed + OTHER_WAY)
            joints.append(VoteJoint(own, a, b, measured, *keys, self.tables.n_resamples))

        def stack(figure: str) -> Floats:
            return np.stack([np.asarray(getattr(measured, figure)) for measured in statistics])

        t, df = stack("t"), stack("df")
        return Outcome(
            stack("difference"), stack("se"), df, t, student.two_sided(t, df), VoteJoints(tuple(joints))
        )


@dataclass(frozen=True, slots=True)
class VoteMethod(Method):
    """Davidson's Bradley–Terry model with prompts and voters as clusters."""

    name: str = "bradley-terry"
    title: str = "Bradley–Terry model with ties"
    claims: tuple[Claim, ...] = (Claim("topic"),)
    layouts: tuple[Dims, ...] = (TABLE,)
    corrections: tuple[str, ...] = (JOINT, *STEPWISE)
    uses_votes: bool = True
    bounded_statistic: bool = False
    reason: str = "strengths of {systems} from votes, ties and position included"
    formula: str = (
        "P(a wins) ∝ e^(η/2), P(tie) ∝ e^κ, P(b wins) ∝ e^(−η/2), η = θ_a − θ_b + position;"
        " t = (θ_a − θ_b)/√v, v = V⁰·(w·e + (1 − w)·ē), e = V/V⁰ the design effect of the pair, ē its mean,"
        " V over prompts + voters − cells, w = (G − 1)/(G − 1 + 20)"
    )
    limits: str = (
        "Needs votes, five prompts or five voters; fewer of one kind are held fixed, and the claim says so."
        " Careful with fewer than about 10 voters (false alarms 1 to 3% at nominal 5%)."
    )

    def draws(self, correction: str) -> bool:
        """Return whether p-values come from resamples: those of the joint distribution do."""
        return correction == JOINT

    def default_resamples(self, systems: int) -> int:
        """Return how many bootstrap samples are drawn where no number is asked for: fewer of many systems."""
        return 9_999 if systems <= MANY_SYSTEMS else 1_999

    def clause(self, correction: str, claim: Claim, systems: int) -> Clause:
        """Say what pairs are compared with."""
        text = (
            "strengths of Davidson's Bradley–Terry model with ties, with cluster-robust variances over the {topics}"
            " and voters of the claim, shrinking each pair's design effect towards the mean of all pairs"
        )
        sources: tuple[str, ...] = ("BradleyTerry1952", "Davidson1970", "CameronEtAl2011", "Smyth2004")
        if correction != JOINT:
            return Clause(text, sources)
        steps = ", with a step-down max-t bootstrap of these clusters ({resamples} samples)"
        return Clause(text + steps, (*sources, "RomanoWolf2005"))

    def estimate(self, tables: Tables, claim: Claim) -> Estimates:
        """Estimate strengths, and test their pairs."""
        if len(tables.votes) != len(tables):
            raise InputError(
                "there are no votes behind these scores",
                remedy="give a file of votes with the columns model_a, model_b, winner",
            )
        values = tables.y.mean(axis=1)
        measured: list[VoteStatistics] = [
            measure_systems(strengths, units) for strengths, units in zip(values, tables.votes, strict=True)
        ]
        nothing = np.full(len(tables), np.nan)
        return Estimates(
            labels=tuple(map(str, range(tables.systems))),
            values=values,
            variance=nothing,
            df=nothing,
            claim="",
            model="Davidson's Bradley–Terry model",
            scale=nothing,
            mean_se=np.stack([one.se for one in measured]),
            mean_df=np.stack([one.df for one in measured]),
            own_sd=np.stack([one.se * np.sqrt(tables.topics) for one in measured]),
            own_count=np.full(values.shape, float(tables.topics)),
            test=VoteTest(tables),
            win_share=tables.votes[0].share,
        )


METHODS: tuple[Method, ...] = (VoteMethod(),)
"""Votes on pairs of systems."""
