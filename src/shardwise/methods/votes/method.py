"""The method for votes: differences of strength, with the joint distribution over prompts and voters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.methods.base import Estimates
from shardwise.methods.method import TOPICS, Clause, Method
from shardwise.methods.paired.method import describe_resamples
from shardwise.methods.pairs import JOINT, JointDraws, Pairs, student_pairs
from shardwise.methods.tables import TABLE, Tables
from shardwise.methods.votes.joint import VoteJoint, VoteStatistics, measure_pairs, measure_systems
from shardwise.stats.resampling import key_of

OTHER_WAY = 1 << 32
"""Added to the seed of the second way, so that prompts and voters are drawn independently."""


def vote_pairs(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Test the pairs: Student's distribution for each by itself, the joint one for all of them."""
    members = np.union1d(ia, ib)
    a, b = np.searchsorted(members, ia), np.searchsorted(members, ib)
    values = tables.y.mean(axis=1)[:, members]
    statistics, joints = [], []
    for strengths, units, seed in zip(values, tables.votes, tables.seeds, strict=True):
        own = units.select_systems(members)
        measured = measure_pairs(strengths, own, a, b)
        statistics.append(measured)
        keys = key_of(seed), key_of(seed + OTHER_WAY)
        joints.append(VoteJoint(own, a, b, measured, *keys, tables.n_resamples))

    def stack(figure: str) -> Floats:
        return np.stack([np.asarray(getattr(measured, figure)) for measured in statistics])

    draws = JointDraws(
        lambda: np.stack([joint.p_adjusted for joint in joints]),
        lambda alpha: np.stack([joint.half_width(alpha) for joint in joints]),
        lambda: np.stack([joint.p for joint in joints]),
    )
    pairs = student_pairs(stack("difference"), stack("se"), stack("df"), draws)
    return replace(pairs, words=describe_resamples(tables))


def vote_means(tables: Tables, claim: Claim) -> Estimates:
    """Estimate strengths."""
    if len(tables.votes) != len(tables):
        raise InputError(
            "there are no votes behind these scores",
            remedy="give a file of votes with the columns model_a, model_b, winner",
        )
    values = tables.y.mean(axis=1)
    measured: list[VoteStatistics] = [
        measure_systems(strengths, units) for strengths, units in zip(values, tables.votes, strict=True)
    ]
    return Estimates(
        labels=tuple(map(str, range(tables.systems))),
        values=values,
        mean_se=np.stack([one.se for one in measured]),
        mean_df=np.stack([one.df for one in measured]),
        own_sd=np.stack([one.se * np.sqrt(tables.topics) for one in measured]),
        own_count=np.full(values.shape, float(tables.topics)),
        win_share=tables.votes[0].share,
    )


def describe_votes(correction: str, claim: Claim, systems: int) -> Clause:
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


BRADLEY_TERRY = Method(
    name="bradley-terry",
    title="Bradley–Terry model with ties",
    layouts_by_claim=((TOPICS, (TABLE,)),),
    means=vote_means,
    pairs=vote_pairs,
    describe=describe_votes,
    reason="strengths of {systems} from votes, ties and position included",
    equation=(
        "P(a wins) ∝ e^(η/2), P(tie) ∝ e^κ, P(b wins) ∝ e^(−η/2), η = θ_a − θ_b + position;"
        " t = (θ_a − θ_b)/√v, v = V⁰·(w·e + (1 − w)·ē), e = V/V⁰ the design effect of the pair, ē its mean,"
        " V over prompts + voters − cells, w = (G − 1)/(G − 1 + {d0})"
    ),
    limits=(
        "Needs votes, five prompts or five voters; fewer of one kind are held fixed, and the claim says so."
        " Careful with fewer than about 10 voters (false alarms 1 to 3% at nominal 5%)."
    ),
    joint=True,
    drawn=True,
    uses_votes=True,
    resamples=(9_999, 1_999, 60),
)
METHODS: tuple[Method, ...] = (BRADLEY_TERRY,)
"""Votes on pairs of systems."""
