"""The method for votes: differences of strength, with the joint distribution over prompts and voters.

The joint distribution of all differences of strength: prompts and voters drawn with replacement.

What unit g (a prompt, a voter) adds to the error of the strengths is A_g = H⁻¹ Σ s_i over its votes, s_i the scores of
the likelihood and H its information. For pair k = (a, b) let A_gk = A_ga - A_gb. With prompts and voters crossed the
variance of a difference is that of Cameron, Gelbach & Miller (2011),

    V_k = P/(P-1) Σ_p A_pk² + max(0, V/(V-1) Σ_v A_vk² - Σ_pv A_(pv)k²),

where the way with fewer units leads, and takes the first place. Over the variance V⁰_k of independent votes (from H⁻¹)
it is the pair's design effect, which is moderated: shrunk towards the mean of all pairs, as if that were known from d0
more degrees of freedom (Smyth 2004). So a pair that few votes compare keeps its large variance.

A bootstrap sample draws prompts and, independently, voters; its difference is Σ_p N_p A_pk + c_k Σ_v M_v A_vk with
c_k² the share of the second sum that V_k has, and its t is measured by its own moderated variance (bootstrap-t).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.methods.method import Clause, read_methods
from shardwise.methods.paired.method import describe_resamples
from shardwise.methods.pairs import JOINT, JointDraws, Means, Pairs, student_pairs
from shardwise.methods.tables import Tables
from shardwise.stats import student
from shardwise.stats.moderation import own_share, shrink_variances, spread_share
from shardwise.stats.resampling import key_of, topic_counts
from shardwise.stats.stepdown import adjust_counts, find_critical, order_targets
from shardwise.stats.units import VoteUnits

BLOCK = 2_000_000
"""Numbers that a block of bootstrap samples holds."""


@dataclass(frozen=True, slots=True, eq=False)
class VoteStatistics:
    """Variances of the differences of pairs, arrays (P,) unless said."""

    difference: Floats
    own: Floats
    model: Floats
    share: float
    variance: Floats
    other_share: Floats
    df: Floats
    drawn_df: Floats

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(self.variance)

    @property
    def t(self) -> Floats:
        """Differences over their standard errors."""
        return student.t_statistic(self.difference, self.se)

    @property
    def care(self) -> Floats:
        """How much larger a t has to be than resamples have it, because units count unequally."""
        wide = student.student_critical(student.LEVEL, self.df)
        wide = wide / student.student_critical(student.LEVEL, self.drawn_df)
        return np.asarray(np.maximum(wide, 1.0))


def measure_pairs(
    values: Floats, units: VoteUnits, ia: Ints, ib: Ints, systems: int | None = None
) -> VoteStatistics:
    """Measure the differences of pairs of strengths by their moderated variances.

    Variances are over one way or two, with their design effects drawn towards the mean of all.
    """
    systems = len(np.union1d(ia, ib)) if systems is None else systems

    def take_pairs(square: Floats) -> Floats:
        """(P,) variances of differences from covariances (R, R)."""
        return np.asarray(np.maximum(square[ia, ia] + square[ib, ib] - 2.0 * square[ia, ib], 0.0))

    def measure_way(influence: Floats, counts: Floats) -> tuple[Floats, Floats]:
        """(P,) variances from the influence (G, R) of units that add up to 0, and their degrees of freedom.

        Were votes independent, unit g would add m_g = n_ga/n_a² + n_gb/n_b² to the variance: f = (Σ m)²/Σ m² - 1.
        """
        groups = len(influence)
        weight = counts / np.maximum(counts.sum(axis=0), 1.0) ** 2
        square, sums = weight.T @ weight, weight.sum(axis=0)
        squares = square[ia, ia] + square[ib, ib] + 2.0 * square[ia, ib]
        df = np.maximum((sums[ia] + sums[ib]) ** 2 / squares - 1.0, 1.0)
        return take_pairs(influence.T @ influence) * groups / (groups - 1.0), df

    lead_df, nothing = len(units.lead) - 1.0, np.zeros(len(ia))
    own, effective_df = measure_way(units.lead, units.lead_counts)
    other_share, spread, drawn_spread = nothing, own**2 / effective_df, own**2 / lead_df
    if units.other is not None and units.other_counts is not None and units.shared is not None:
        other, effective_df = measure_way(units.other, units.other_counts)
        beyond = np.maximum(other - take_pairs(units.shared), 0.0)
        other_share = np.divide(beyond, other, out=nothing.copy(), where=other > 0.0)
        own = own + beyond
        spread = spread + beyond**2 / effective_df
        drawn_spread = drawn_spread + beyond**2 / (len(units.other) - 1.0)
    model = take_pairs(units.model)
    effect = np.divide(own, model, out=nothing.copy(), where=model > 0.0)
    df, drawn_df = (
        np.divide(own**2, each, out=np.full(len(ia), lead_df), where=each > 0.0)
        for each in (spread, drawn_spread)
    )
    share = float(own_share(lead_df, max(systems, 2)))
    variance = model * shrink_variances(effect, effect.mean(), share)
    # the mean design effect rests on the contrasts of all systems, R - 1 of which are independent
    kappa = spread_share(share, systems)
    difference = values[ia] - values[ib]
    return VoteStatistics(difference, own, model, share, variance, other_share, df / kappa, drawn_df / kappa)


def measure_systems(values: Floats, units: VoteUnits) -> VoteStatistics:
    """Measure single strengths as `measure_pairs` does differences: from a system without votes and errors."""
    r, column, square = len(values), ((0, 0), (0, 1)), ((0, 1), (0, 1))
    padded = units.turn_arrays(
        lambda x: np.pad(x, column), lambda x: np.pad(x, column), lambda x: np.pad(x, square)
    )
    return measure_pairs(np.append(values, 0.0), padded, np.arange(r), np.full(r, r), systems=r)


def draw_votes(
    units: VoteUnits, ia: Ints, ib: Ints, measured: VoteStatistics, seed: int, n_resamples: int
) -> tuple[Floats, Floats, Floats]:
    """Draw bootstrap samples of prompts and voters: step-down p-values (Romano & Wolf 2005), those of single pairs, and
    the largest t² of every sample in order.
    """
    order, targets = order_targets((measured.t / measured.care) ** 2)
    ia, ib = ia[order], ib[order]
    model, beyond = measured.model[order], measured.other_share[order]
    ways = [(units.lead[:, ia] - units.lead[:, ib], key_of(seed))]
    if units.other is not None:
        other = units.other[:, ia] - units.other[:, ib]
        ways.append((other * np.sqrt(beyond), key_of(seed + OTHER_WAY)))
    squares = [way**2 for way, _ in ways]
    falling, single = np.zeros(len(ia)), np.zeros(len(ia))
    maxima = []
    step = max(1, min(256, BLOCK // max(len(ia), 1)))
    for first in range(0, n_resamples, step):
        n = min(step, n_resamples - first)
        difference, variance = np.zeros((n, len(ia))), np.zeros((n, len(ia)))
        for (way, key), square in zip(ways, squares, strict=True):
            g = len(way)
            counts = topic_counts(g, key, first, n).astype(np.float64)
            part = counts @ way
            difference += part
            variance += np.maximum(counts @ square - part**2 / g, 0.0) * (g / (g - 1.0))
        effect = np.divide(variance, model, out=np.zeros_like(variance), where=model > 0.0)
        pooled = effect.mean(axis=1, keepdims=True)
        moderated = model * shrink_variances(effect, pooled, measured.share)
        t = np.divide(difference**2, moderated, out=np.zeros_like(variance), where=moderated > 0.0)
        single += (t >= targets).sum(axis=0)
        t = np.maximum.accumulate(t[:, ::-1], axis=1)[:, ::-1]
        falling += (t >= targets).sum(axis=0)
        maxima.append(t[:, 0])
    adjusted, alone = adjust_counts(falling, order, n_resamples, len(ia)), np.empty(len(ia))
    alone[order] = (1.0 + single) / (n_resamples + 1.0)
    return adjusted, np.minimum(alone, adjusted), np.sort(np.concatenate(maxima))


OTHER_WAY = 1 << 32
"""Added to the seed of the second way, so that prompts and voters are drawn independently."""


def vote_pairs(tables: Tables, claim: Claim, ia: Ints, ib: Ints) -> Pairs:
    """Test the pairs: Student's distribution for each by itself, the joint one for all of them."""
    members = np.union1d(ia, ib)
    a, b = np.searchsorted(members, ia), np.searchsorted(members, ib)
    values = tables.y.mean(axis=1)[:, members]
    units = [each.select_systems(members) for each in tables.votes]
    measured = [measure_pairs(strengths, part, a, b) for strengths, part in zip(values, units, strict=True)]

    @cache
    def draw() -> list[tuple[Floats, Floats, Floats]]:
        each = zip(units, measured, tables.seeds, strict=True)
        return [draw_votes(part, a, b, pairs, seed, tables.n_resamples) for part, pairs, seed in each]

    def half_width(alpha: float) -> Floats:
        """Standard errors times the 1 - alpha quantile of the largest |t*|."""
        critical = [math.sqrt(find_critical(maxima, alpha)) for _, _, maxima in draw()]
        return np.stack([m.se * m.care * c for m, c in zip(measured, critical, strict=True)])

    difference, se, df = (
        np.stack(part) for part in zip(*((m.difference, m.se, m.df) for m in measured), strict=True)
    )
    draws = JointDraws(
        lambda: np.stack([adjusted for adjusted, _, _ in draw()]),
        half_width,
        lambda: np.stack([single for _, single, _ in draw()]),
    )
    return replace(student_pairs(difference, se, df, draws), words=describe_resamples(tables))


def vote_means(tables: Tables, claim: Claim) -> Means:
    """Estimate strengths."""
    if len(tables.votes) != len(tables):
        raise InputError(
            "there are no votes behind these scores",
            remedy="give a file of votes with the columns model_a, model_b, winner",
        )
    values = tables.y.mean(axis=1)
    measured = [
        measure_systems(strengths, units) for strengths, units in zip(values, tables.votes, strict=True)
    ]
    return Means(
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


METHODS = read_methods(
    "votes", {"bradley-terry": vote_pairs}, means=vote_means, describe={"bradley-terry": describe_votes}
)
"""Votes on pairs of systems."""
