"""Systems that give another result each time: what their scores vary by, for many tables at once (J15).

Scores are (B, T, R, M): topics, systems, instances. A system may have fewer instances than others, and scores may be
missing (NaN). A deterministic system's instances are copies.

Seeds or samples? Whether instances have an effect in common over all topics, or are drawn anew for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import special

from shardwise.core.arguments import resolve_alpha
from shardwise.core.arguments import validate_level as checked_level
from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.claim import pluralize_noun
from shardwise.core.errors import InputError, Option
from shardwise.core.scores import Scores, as_scores
from shardwise.methods.mixed.balanced import DIMENSIONS, Order
from shardwise.methods.moderated.moments import pair_moments
from shardwise.methods.paired import statistics as paired
from shardwise.stats.student import NOISE


@dataclass(frozen=True, slots=True, eq=False)
class InstanceSpread:
    """How the scores of every system vary over instances and topics, (B, R) each.

    A system's mean varies by (ms_instance - ms_error) / size over instances, nothing if that is negative.
    """

    ms_instance: Floats  # 0 for deterministic systems
    ms_error: Floats
    df_instance: Floats  # of the mean squares, at least 1
    df_error: Floats
    topics: Floats  # k, over which the mean of an instance is: N on complete scores
    size: Floats  # M N on complete scores
    counts: Floats  # instances; 1 for deterministic systems
    fixed: Bools  # deterministic: all instances alike
    borrowed: Bools  # no instances to compare: the mean squares are those of the other systems together

    @property
    def shown(self) -> Bools:
        """Systems whose own scores show how instances vary."""
        return ~(self.fixed | self.borrowed)

    @property
    def residual_variance(self) -> Floats:
        """(B,) spread of the scores of the non-deterministic systems around topics and instances, pooled."""
        return _weighted_mean(self.ms_error, np.where(self.shown, self.df_error, 0.0))

    @property
    def counted(self) -> Bools:
        """Systems whose instances vary by more than their error."""
        return self.ms_instance > self.ms_error


def _weighted_mean(values: Floats, weight: Floats) -> Floats:
    """(B,) means of (B, R) values with these weights, NaN where all are 0."""
    total = weight.sum(axis=-1)
    return np.where(total > 0.0, (values * weight).sum(axis=-1) / np.where(total > 0.0, total, 1.0), np.nan)


def instance_spread(y: Floats, deterministic: Bools | None = None) -> InstanceSpread:
    """Two-way (instance × topic) mean squares of each system's own scores.

    MS_I = N Σ(ȳ_m - ȳ)²/(M - 1), MS_E what instance and topic leave, on (M - 1)(N - 1) degrees of freedom. Where scores
    are missing, MS_I is that of instances after topics (Henderson's method 3): with n_mn = 1 for scores that are there,
    E MS_I = σ² + k σ_i², k = Σ_mn n_mn (1 - 1/n_.n) / df, and the mean of topic means has the variance σ_i² Σ_m w_m²,
    w_m the mean over topics of n_mn/n_.n. A system with a single instance takes the mean squares of the others.

    >>> y = np.random.default_rng(1).normal(size=(1, 40, 2, 6))
    >>> found = instance_spread(y)
    >>> bool(abs(found.ms_error[0, 0] - 1.0) < 0.2), found.counts.tolist()
    (True, [[6.0, 6.0]])
    """
    present_cells = np.isfinite(y)
    whole = bool(present_cells.all())  # then nothing has to be masked
    present = np.asarray(present_cells.any(axis=1))  # (B, R, M)
    counts = present.sum(axis=-1)
    if (counts == 0).any():
        raise InputError("a system has no scores", remedy="leave it out")
    filled = y if whole else np.where(present_cells, y, 0.0)
    per_topic = present_cells.sum(axis=-1)  # (B, T, R)
    share = present_cells / np.maximum(per_topic, 1)[..., None]
    rest = y - (filled * share).sum(axis=-1)[..., None]  # around the topic
    rest = rest if whole else np.where(present_cells, rest, 0.0)
    # (B, R) systems whose instances are copies: those that are said to be, or are; rounding does not
    # count
    alike = (np.abs(rest) <= NOISE * np.abs(filled).max(axis=(1, 2, 3))[:, None, None, None]).all(axis=(1, 3))
    if deterministic is None:
        fixed = np.asarray(alike & (counts > 1))
    else:
        fixed = np.broadcast_to(deterministic, counts.shape)
        if (fixed & ~alike).any():
            raise InputError(
                "a system is flagged deterministic, but its instances differ", remedy="remove the flag"
            )
    observed = (per_topic > 0).sum(axis=1)  # (B, R): topics that a system has
    weight = share.sum(axis=1) / np.maximum(observed, 1)[..., None]  # (B, R, M)
    if (present_cells.all(axis=1) == present).all():
        n = y.shape[1]
        df = counts - 1.0
        topic_means = np.where(present, rest.mean(axis=1), 0.0)
        ss_instance = n * (topic_means**2).sum(axis=-1)
        residuals = rest - topic_means[:, None]
        residuals = residuals if whole else np.where(present_cells, residuals, 0.0)
        ss_error, trace = (residuals**2).sum(axis=(1, 3)), n * df
    else:
        ss_instance, df, trace = _after_topics(present_cells, share, rest)
        ss_error = (rest**2).sum(axis=(1, 3)) - ss_instance
    df_error = present_cells.sum(axis=(1, 3)) - observed - df
    lacking = ~fixed & ((df < 1.0) | (df_error < 1.0))
    free, free_error = np.maximum(df, 1.0), np.maximum(df_error, 1.0)
    per_instance = np.where(trace > 0.0, trace, observed) / free
    spread = InstanceSpread(
        np.where(fixed, 0.0, ss_instance / free),
        np.where(fixed, 0.0, np.maximum(ss_error, 0.0) / free_error),
        free,
        free_error,
        per_instance,
        per_instance / (weight**2).sum(axis=-1),
        np.where(fixed, 1.0, counts.astype(np.float64)),
        fixed,
        lacking,
    )
    return _borrow_squares(spread, (weight**2).sum(axis=-1)) if lacking.any() else spread


def _after_topics(present: Bools, share: Floats, rest: Floats) -> tuple[Floats, Floats, Floats]:
    """(B, R) sum of squares of instances after topics, its df, and the trace of its equations."""
    equations = -np.einsum("btrm,btrk->brmk", share, present.astype(np.float64))
    m = np.arange(equations.shape[-1])
    equations[..., m, m] += present.sum(axis=1)
    trace = equations[..., m, m].sum(axis=-1)
    values, vectors = np.linalg.eigh(equations)
    kept = values > 1e-9 * np.maximum(present.sum(axis=1).max(axis=-1), 1)[..., None]
    along = np.einsum("brm,brmk->brk", rest.sum(axis=1), vectors)
    ss = np.where(kept, along**2 / np.where(kept, values, 1.0), 0.0).sum(axis=-1)
    return ss, kept.sum(axis=-1).astype(np.float64), trace


def _borrow_squares(spread: InstanceSpread, squares: Floats) -> InstanceSpread:
    """The same with the mean squares of all other systems for those that have no instances to compare."""
    own_df, own_error = (np.where(spread.shown, df, 0.0) for df in (spread.df_instance, spread.df_error))
    if (own_df.sum(axis=-1) == 0.0).any():
        raise InputError(
            "a single instance does not show how instances vary",
            remedy=(
                "give two or more of each system, or say that it is deterministic, or that scores were sampled anew "
                "for each topic, ",
                Option("repeats", "samples"),
            ),
        )
    take = spread.borrowed
    topics = _weighted_mean(spread.topics, own_df)[:, None]
    return replace(
        spread,
        ms_instance=np.where(take, _weighted_mean(spread.ms_instance, own_df)[:, None], spread.ms_instance),
        ms_error=np.where(take, _weighted_mean(spread.ms_error, own_error)[:, None], spread.ms_error),
        df_instance=np.where(take, own_df.sum(axis=-1)[:, None], spread.df_instance),
        df_error=np.where(take, own_error.sum(axis=-1)[:, None], spread.df_error),
        topics=np.where(take, topics, spread.topics),
        size=np.where(take, topics / squares, spread.size),
    )


class Moments(NamedTuple):
    """Differences of pairs over topics, (B, P) each: mean, its standard error, and the topics that both have."""

    mean: Floats
    se: Floats
    topics: Floats


def complete_moments(topic_means: Floats, ia: Ints, ib: Ints) -> Moments:
    """Differences of pairs of (B, T, R) topic means of which none is missing."""
    mean, se = paired.pair_moments(topic_means, ia, ib)
    return Moments(mean, se, np.full(mean.shape, float(topic_means.shape[1])))


def run_unified(
    differences: Moments, spread: InstanceSpread, ia: Ints, ib: Ints
) -> tuple[Floats, Floats, Floats]:
    """The unified test: difference, standard error and Satterthwaite df of pairs, (B, P) each.

    Var = s_d²/N + Σ_l max(MS_I,l - MS_E,l, 0)/(M_l N). On two complete systems with as many instances and equal
    variances it is the nested mixed model; it needs neither, and a deterministic system just has no term.
    """
    mean, se, n = differences
    extra = np.where(spread.counted, spread.ms_instance - spread.ms_error, 0.0) / spread.size
    squared_terms = spread.ms_instance**2 / spread.df_instance + spread.ms_error**2 / spread.df_error
    squared_terms = np.where(spread.counted, squared_terms / spread.size**2, 0.0)
    variance = se**2 + extra[:, ia] + extra[:, ib]
    uncertain = se**4 / np.maximum(n - 1.0, 1.0) + squared_terms[:, ia] + squared_terms[:, ib]
    positive = uncertain > 0.0
    df = np.where(positive, variance**2 / np.where(positive, uncertain, 1.0), np.maximum(n - 1.0, 1.0))
    return mean, np.sqrt(variance), df


class InstanceEffect(NamedTuple):
    """What instances have in common over all topics, (B,) each: the test of it, and its standard deviation."""

    f: Floats
    df: Floats
    df_error: Floats
    p: Floats
    sd: Floats  # of an instance's mean on many topics; 0 where estimated below
    lower: Floats
    upper: Floats
    error_sd: Floats  # of a score around its topic and instance


def instance_effect(spread: InstanceSpread, level: float = 0.95) -> InstanceEffect:
    """Test whether instances have an effect common to all topics (seeds) or none (samples), all systems together.

    F is the mean of MS_I/MS_E over systems by their df: with equal ratios σ_i²/σ² it is (1 + k σ_i²/σ²) times an F
    variable, whose quantiles give the limits of σ_i; each system's own error stands under its own instances, so that
    systems may differ in noise.

    >>> g = np.random.default_rng(1)
    >>> samples = instance_effect(instance_spread(g.normal(size=(1, 60, 4, 5))))
    >>> seeds = instance_effect(instance_spread(g.normal(size=(1, 60, 4, 5)) + g.normal(size=(1, 1, 4, 5))))
    >>> bool(samples.p[0] > 0.05), bool(seeds.p[0] < 0.001), bool(seeds.lower[0] < 1.0 < seeds.upper[0])
    (True, True, True)
    """
    use = spread.shown & (spread.ms_error > 0.0)
    df, df_error = (np.where(use, x, 0.0) for x in (spread.df_instance, spread.df_error))
    f = _weighted_mean(spread.ms_instance / np.where(use, spread.ms_error, 1.0), df)
    error = spread.residual_variance
    total, total_error = df.sum(axis=-1), df_error.sum(axis=-1)
    tail = (1.0 - level) / 2.0
    limits = (1.0, scipy.stats.f.isf(tail, total, total_error), scipy.stats.f.ppf(tail, total, total_error))
    topics = _weighted_mean(spread.topics, df)
    sd, lower, upper = (np.sqrt(np.maximum(f / q - 1.0, 0.0) * error / topics) for q in limits)
    p = scipy.stats.f.sf(f, total, total_error)
    return InstanceEffect(f, total, total_error, p, sd, lower, upper, np.sqrt(error))


def unified_order(
    topic_se: float, topics: float, spread: InstanceSpread, a: int, b: int
) -> tuple[Order, Floats]:
    """Lines and order of the posterior that belongs to the unified test of a pair, and their weights in the variance.

    φ_d of the per-topic differences, φ_I ≥ φ_E of each system, φ_d ≥ Σ φ_E/M. The prior is 1/φ for each but φ_I, which
    has φ_I^(-3/2), one degree of freedom more: with 1/φ_I the 95 % interval of two seeds covers 100 % and is four times
    as wide as that of the test, with this one as wide, and covers 98 %. The spread is that of one table.
    """
    ss, df, weights = [topic_se**2 * topics * (topics - 1.0)], [topics - 1.0], [1.0 / topics]
    lower = [1.0]
    orders: list[tuple[int, int]] = []
    for k in (a, b):
        if spread.fixed[0, k]:
            continue
        own_df = [float(spread.df_instance[0, k]), float(spread.df_error[0, k])]
        offset = len(ss)
        orders.append((offset, offset + 1))
        ss += [float(spread.ms_instance[0, k]) * own_df[0], float(spread.ms_error[0, k]) * own_df[1]]
        df += [own_df[0] + 1.0, own_df[1]]
        weights += [1.0 / float(spread.size[0, k]), -1.0 / float(spread.size[0, k])]
        lower += [0.0, -1.0 / float(spread.counts[0, k])]
    rows = [np.array(lower)]
    for up, down in orders:
        row = np.zeros(len(ss))
        row[up], row[down] = 1.0, -1.0
        rows.append(row)
    return Order(np.array(ss), np.array(df), np.array(rows)), np.array(weights)


KINDS = ("seeds", "samples")
SAMPLED = ("sample", "generation", "attempt", "epoch", "completion", "response", "rollout")
"""Words for repeats that are drawn anew for each item: several answers of one model to one question."""
LARGE_SHARE = 0.1
"""Share of the variance of a difference from which on a common effect of samples is told."""
DOUBT = 0.05  # a level at which scores stand against what was said of them


def infer_repeats(scores: Scores) -> str:
    """Infer what repeats are from what their source calls them: "seeds", or "samples" drawn anew for each item.

    >>> table = Scores(np.zeros((1, 1, 2)), DIMENSIONS, dict(zip(DIMENSIONS, ("a", "b", "cd"))))
    >>> infer_repeats(table), infer_repeats(replace(table, nouns={"instance": "epoch"}))
    ('seeds', 'samples')
    """
    if scores.repeats in KINDS:
        return scores.repeats
    return "samples" if scores.nouns.get("instance", "") in SAMPLED else "seeds"


@dataclass(frozen=True, slots=True)
class Repeats:
    """What scores say of their instances: the test of a common effect, and its standard deviation with limits.

    A *seed* (one training, one index, one sample of documents) moves the scores of all topics together; *samples* are
    drawn anew for each topic and have no such effect (J15 eq. 9 and eq. 7).
    """

    f: float
    df: tuple[float, float]
    p: float
    sd: float  # of the effect that an instance has on all topics
    lower: float
    upper: float
    error_sd: float  # of a score around its topic and instance
    level: float
    # of the variance of a difference of two systems, by the effect as estimated; the median over pairs
    share: float
    nouns: Mapping[str, str] = field(default_factory=dict)

    @property
    def doubtful(self) -> bool:
        """Whether the effect as estimated would make false alarms of samples notably more frequent than nominal."""
        return self.share > LARGE_SHARE

    def false_alarms(self, alpha: float | None = None, *, level: float | None = None) -> float:
        """Return the false-alarm rate of a pair if repeats are taken as samples and the effect is as estimated.

        Parameters
        ----------
        alpha : float, optional
            The nominal rate, below 0.5; 0.05 without it.
        level : float, optional
            1 - alpha, in its place.

        Returns
        -------
        float
            2Φ(-z√(1 - ρ)), ρ the share of the variance of a difference that samples do not show.

        >>> round(Repeats(1.5, (4, 200), 0.2, 0.01, 0.0, 0.03, 0.1, 0.95, 0.3).false_alarms(), 3)
        0.101
        """
        return float(
            2.0 * special.ndtr(special.ndtri(resolve_alpha(alpha, level) / 2.0) * np.sqrt(1.0 - self.share))
        )

    @property
    def shown(self) -> bool:
        """Whether the scores show an effect on all topics, so that these are no samples."""
        return self.p <= DOUBT

    def __str__(self) -> str:
        topics, instance = (
            pluralize_noun(self.nouns.get("topic", "topic")),
            self.nouns.get("instance", "repeat"),
        )
        if self.shown:
            limits = f"sd {self.sd:.4f}, {self.lower:.4f} to {self.upper:.4f}"
            return f"each {instance} moves all {topics} together ({limits}; p = {self.p:.2g})"
        most = f"sd at most {self.upper:.4f}; p = {self.p:.2g}"
        return f"no evidence that any {instance} moves all {topics} together ({most})"


def seeds_or_samples(scores: Any, level: float = 0.95) -> Repeats:
    """Test whether instances have an effect on all topics (seeds) or are drawn anew for each topic (samples).

    F is the mean over systems of MS(instance)/MS(error), each system's instances against its own error; the limits are
    those of σ_i where systems share the ratio σ_i²/σ². Not finding an effect does not prove samples: the upper limit
    says how large it may still be.

    Parameters
    ----------
    scores : object
        Any table that `as_scores` takes, by topic, system and instance; NaN is missing.
    level : float
        Level of the limits.

    Returns
    -------
    Repeats
        The test, and what the instances are taken for.

    >>> import xarray as xr
    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(0, 0.1, (60, 3, 1)) + rng.normal(0, 0.05, (60, 3, 5))
    >>> print(seeds_or_samples(xr.DataArray(y, dims=("topic", "system", "instance"))))
    no evidence that any repeat moves all topics together (sd at most 0.0097; p = 0.3)
    """
    table = as_scores(scores, needs=DIMENSIONS, only=True)
    y = np.asarray(table.values, dtype=float)[None]
    spread = instance_spread(y, table.deterministic if table.has_copies else None)
    effect = instance_effect(spread, checked_level(level, "level"))
    f, df, df_error, p, sd, lower, upper, error_sd = (float(x[0]) for x in effect)
    # the share ρ = c/(c + s²/T) of a common effect in the variance of a difference, c = sd²(1/M_a +
    # 1/M_b)
    y = y[0]
    present = np.isfinite(y)
    per_topic = present.sum(axis=-1)
    sums = np.where(present, y, 0.0).sum(axis=-1)
    means = np.where(per_topic > 0, sums / np.maximum(per_topic, 1), np.nan)
    ia, ib = np.triu_indices(y.shape[1], 1)
    topics, _, variance = (x[0] for x in pair_moments(np.ascontiguousarray(means[None]), ia, ib))
    each = np.where(spread.fixed[0], 0.0, sd**2 / spread.counts[0])
    common = each[ia] + each[ib]
    total = common + variance / np.maximum(topics, 1.0)
    share = float(np.median(np.divide(common, total, out=np.zeros_like(total), where=total > 0.0)))
    return Repeats(f, (df, df_error), p, sd, lower, upper, error_sd, level, share, table.nouns)
