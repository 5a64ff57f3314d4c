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
from functools import cached_property

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.claim import Claim
from shardwise.core.errors import InputError
from shardwise.methods.base import Estimates
from shardwise.methods.method import TOPICS, Clause, Method
from shardwise.methods.paired.method import describe_resamples
from shardwise.methods.pairs import JOINT, JointDraws, Pairs, student_pairs
from shardwise.methods.tables import TABLE, Tables
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
    values: Floats, units: VoteUnits, ia: Ints, ib: Ints, d0: float | None = None
) -> VoteStatistics:
    """Measure the differences of pairs of strengths by their moderated variances.

    Parameters
    ----------
    values : array
        (R,) strengths.
    units : VoteUnits
        What their errors are made of.
    ia, ib : array of int
        (P,) systems of each pair.
    d0 : float
        Degrees of freedom that the mean design effect counts for.

    Returns
    -------
    VoteStatistics
        Differences, variances and degrees of freedom.
    """
    return _moderate(values[ia] - values[ib], units, _Contrast(ia, ib), len(np.union1d(ia, ib)), d0)


def measure_systems(values: Floats, units: VoteUnits, d0: float | None = None) -> VoteStatistics:
    """Measure single strengths by their moderated variances, as `measure_pairs` does differences.

    Parameters
    ----------
    values : array
        (R,) strengths.
    units : VoteUnits
        What their errors are made of.
    d0 : float
        Degrees of freedom that the mean design effect counts for.

    Returns
    -------
    VoteStatistics
        Strengths, variances and degrees of freedom.
    """
    return _moderate(values, units, _Contrast(np.arange(len(values))), len(values), d0)


@dataclass(frozen=True, slots=True, eq=False)
class _Contrast:
    """Single systems, or pairs of them, taken from squares of all systems."""

    ia: Ints
    ib: Ints | None = None

    def __len__(self) -> int:
        return len(self.ia)

    def of_square(self, square: Floats) -> Floats:
        """(P,) variances from covariances (R, R)."""
        if self.ib is None:
            return np.asarray(square[self.ia, self.ia])
        both = square[self.ia, self.ia] + square[self.ib, self.ib] - 2.0 * square[self.ia, self.ib]
        return np.asarray(np.maximum(both, 0.0))

    def between(self, influence: Floats) -> Floats:
        """(P,) variances from the influence (G, R) of units that add up to 0."""
        units = len(influence)
        return self.of_square(influence.T @ influence) * units / (units - 1.0)

    def effective_df(self, counts: Floats) -> Floats:
        """(P,) degrees of freedom of variances over units with unequal numbers of votes on the systems.

        Were votes independent, unit g would add m_g = n_ga/n_a² + n_gb/n_b² to the variance: f = (Σ m)²/Σ m² - 1.
        """
        weight = counts / np.maximum(counts.sum(axis=0), 1.0) ** 2
        square = weight.T @ weight
        sums = weight.sum(axis=0)
        if self.ib is None:
            total, squares = sums[self.ia], square[self.ia, self.ia]
        else:
            total = sums[self.ia] + sums[self.ib]
            squares = square[self.ia, self.ia] + square[self.ib, self.ib] + 2.0 * square[self.ia, self.ib]
        return np.asarray(np.maximum(total**2 / squares - 1.0, 1.0))


def _moderate(
    difference: Floats, units: VoteUnits, contrast: _Contrast, systems: int, d0: float | None
) -> VoteStatistics:
    """Variances of contrasts over one way or two, with their design effects drawn towards the mean of all."""
    lead = contrast.between(units.lead)
    lead_df = len(units.lead) - 1.0
    own, share_of_other = lead, np.zeros(len(contrast))
    spread, drawn_spread = lead**2 / contrast.effective_df(units.lead_counts), lead**2 / lead_df
    if units.other is not None and units.other_counts is not None and units.shared is not None:
        other = contrast.between(units.other)
        beyond = np.maximum(other - contrast.of_square(units.shared), 0.0)
        share_of_other = np.divide(beyond, other, out=np.zeros(len(contrast)), where=other > 0.0)
        own = lead + beyond
        spread = spread + beyond**2 / contrast.effective_df(units.other_counts)
        drawn_spread = drawn_spread + beyond**2 / (len(units.other) - 1.0)
    model = contrast.of_square(units.model)
    effect = np.divide(own, model, out=np.zeros(len(contrast)), where=model > 0.0)
    df = np.divide(own**2, spread, out=np.full(len(contrast), lead_df), where=spread > 0.0)
    drawn = np.divide(own**2, drawn_spread, out=np.full(len(contrast), lead_df), where=drawn_spread > 0.0)
    share = float(own_share(lead_df, max(systems, 2), d0))
    variance = model * shrink_variances(effect, effect.mean(), share)
    # the mean design effect rests on the contrasts of all systems, R - 1 of which are independent
    kappa = spread_share(share, systems)
    return VoteStatistics(difference, own, model, share, variance, share_of_other, df / kappa, drawn / kappa)


@dataclass(frozen=True, eq=False)
class VoteJoint:
    """The joint distribution of the differences of pairs, drawn when it is first looked at."""

    units: VoteUnits
    ia: Ints
    ib: Ints
    statistics: VoteStatistics
    key: np.uint64
    other_key: np.uint64
    n_resamples: int

    @cached_property
    def _draws(self) -> tuple[Floats, Floats, Floats]:
        """Step-down p-values, p-values of single pairs, and the largest t² of every bootstrap sample in order."""
        found = self.statistics
        order, targets = order_targets((found.t / found.care) ** 2)
        ia, ib = self.ia[order], self.ib[order]
        model, beyond = found.model[order], found.other_share[order]
        lead = self.units.lead[:, ia] - self.units.lead[:, ib]
        ways = [(lead, np.ones(len(ia)), self.key)]
        if self.units.other is not None:
            other = self.units.other[:, ia] - self.units.other[:, ib]
            ways.append((other * np.sqrt(beyond), beyond, self.other_key))
        squares = [way**2 for way, _, _ in ways]
        falling, single = np.zeros(len(ia)), np.zeros(len(ia))
        maxima = []
        step = max(1, min(256, BLOCK // max(len(ia), 1)))
        for first in range(0, self.n_resamples, step):
            n = min(step, self.n_resamples - first)
            difference, variance = np.zeros((n, len(ia))), np.zeros((n, len(ia)))
            for (way, _, key), square in zip(ways, squares, strict=True):
                g = len(way)
                counts = topic_counts(g, key, first, n).astype(np.float64)
                part = counts @ way
                difference += part
                variance += np.maximum(counts @ square - part**2 / g, 0.0) * (g / (g - 1.0))
            effect = np.divide(variance, model, out=np.zeros_like(variance), where=model > 0.0)
            pooled = effect.mean(axis=1, keepdims=True)
            moderated = model * shrink_variances(effect, pooled, found.share)
            t = np.divide(difference**2, moderated, out=np.zeros_like(variance), where=moderated > 0.0)
            single += (t >= targets).sum(axis=0)
            t = np.maximum.accumulate(t[:, ::-1], axis=1)[:, ::-1]
            falling += (t >= targets).sum(axis=0)
            maxima.append(t[:, 0])
        adjusted, alone = adjust_counts(falling, order, self.n_resamples, len(ia)), np.empty(len(ia))
        alone[order] = (1.0 + single) / (self.n_resamples + 1.0)
        return adjusted, np.minimum(alone, adjusted), np.sort(np.concatenate(maxima))

    @property
    def p_adjusted(self) -> Floats:
        """Step-down p-values (Romano & Wolf 2005)."""
        return self._draws[0]

    @property
    def p(self) -> Floats:
        """p-values of single pairs, from the same bootstrap samples."""
        return self._draws[1]

    def half_width(self, alpha: float) -> Floats:
        """Return half-widths of simultaneous intervals: standard errors times the 1 - alpha quantile of max |t*|."""
        critical = math.sqrt(find_critical(self._draws[2], alpha))
        return np.asarray(self.statistics.se * self.statistics.care * critical)


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
