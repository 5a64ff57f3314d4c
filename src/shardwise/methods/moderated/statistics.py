"""Moderated statistics of pairs of systems, in closed form.

What moves a system's mean besides the topics: a chance effect of shards or of instances.

The effect of a system has a variance that two mean squares tell: `upper`, which holds it, and `lower`, which does not.
The mean of the system over `size` scores then varies by (upper - lower) / size, nothing if that is negative.

Shards. With y = … + (topic:system) + (system:shard) + error on T topics and S shards, the difference of two system
means has variance 2 (σ²_ts / T + σ²_ss / S + σ²_e / (TS)). On shard means s²_k estimates 2 (σ²_ts + σ²_e / S), so that
s²_k / T lacks only 2 σ²_ss / S. As E MS(system:shard) = T σ²_ss + σ²_e, each system's mean has
(MS(system:shard) - MS(error)) / (TS) to add. With s̄² for s²_k that is 2 / (TS) times
MS(topic:system) + MS(system:shard) - MS(error), the error term of MD6 for topics and shards.

Where all systems lack some cells, a topic has S_t shards and its means are over these. With w_s the mean over topics of
1/S_t where the topic has shard s, and else 0, the difference varies by 2 σ²_ss Σ w²_s, of which s²_k / T already holds
2 σ²_ss (mean of 1/S_t - Σ w²_s) / (T - 1). MS(system:shard) after topic:system has expectation σ²_e + k σ²_ss,
k = (cells - T) / (S - 1) (Henderson's third method).

Instances. The same with a system's own instances: s²_k of instance means holds topic:system and the error over M, and
(MS(instance) - MS(error)) / (M T) of each system's own two-way table is what is left.

In a resample the effect itself is drawn, normal with that variance, and so is its estimate: mean squares of shards move
as their value times χ²/df. Where upper ≤ lower there is no effect and no estimate of one.

Instances are few, and the share w of their variance in that of a difference is badly known: the distribution of an
observed t is that of `cochran_cox_df`. In a resample the estimate moves as the variance times χ²/df, of which
Satterthwaite's df speak; so an observed t is held against resamples after division by the ratio of the two critical
values (`Statistics.care`). Below two degrees of freedom even w is hardly known, and counts as w^(df/2), which is more;
docs/repeats.md has what was measured.

Differences on these topics: the units are the T·S cells of topics by shards, their errors the residuals of MD6.

A pair's own variance is s²_k = Σ (e_a - e_b)² / ν over all cells, ν = (T - 1)(S - 1), and s̄² is twice MS(error); what
holds for topics with T - 1 degrees of freedom then holds for cells with ν.

No distribution drawn from the residuals holds its level everywhere (docs/validation.md); `cell_statistics(y).p` with
Holm's correction does. So does `run_stratified`, where each pair has a variance of its own on every topic (one with few
relevant documents has unsteady scores).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.model import MD6
from shardwise.methods.moderated.moments import pair_moments, sums_by_topic
from shardwise.methods.repeats.unified import InstanceSpread
from shardwise.stats.balanced import Decomposition, all_terms, decompose
from shardwise.stats.least_squares import fit_incomplete
from shardwise.stats.moderation import get_prior_df, own_share, shrink_variances
from shardwise.stats.student import LEVEL, NOISE, cochran_cox_df, student_critical, t_statistic, two_sided
from shardwise.stats.units import ClusterCare, care_for_clusters

SHARDS = ("topic", "system", "shard")


class Noise(NamedTuple):
    """A chance effect on each system's mean of variance max(upper - lower, 0) / size; arrays are (…, R)."""

    upper: Floats
    lower: Floats
    upper_df: Floats
    lower_df: Floats
    size: Floats  # scores that a system's mean is over
    shared: bool  # the mean squares are one and the same for all systems

    @property
    def variance(self) -> Floats:
        """Variance of each system's mean by this effect."""
        return np.asarray(np.maximum(self.upper - self.lower, 0.0) / self.size)

    def of_pairs(self, ia: Ints, ib: Ints) -> tuple[Floats, Floats]:
        """(…, P) variance of differences by this effect, and the variance of that estimate over 2."""
        variance = self.variance
        if not self.shared:
            spread = variance**2 / self.upper_df
            return variance[..., ia] + variance[..., ib], spread[..., ia] + spread[..., ib]
        positive = (self.upper > self.lower) / self.size**2
        spread = positive * (self.upper**2 / self.upper_df + self.lower**2 / self.lower_df)
        return variance[..., ia] + variance[..., ib], 2.0 * (spread[..., ia] + spread[..., ib])

    def select_part(self, index: int | Ints) -> Noise:
        """The noise of one table of a batch (B, R), by its number; or that of one table with systems in this order."""
        return Noise._make([*(part[index] for part in self[:5]), self.shared])

    def scaled(self, unit: float) -> Noise:
        """The noise of scores in another unit."""
        return self._replace(upper=unit**2 * self.upper, lower=unit**2 * self.lower)


def batch_noise(each: list[Noise]) -> Noise:
    """The noise of single tables as that of a batch."""
    return Noise._make(
        [*(np.stack(parts) for parts in zip(*(noise[:5] for noise in each), strict=True)), each[0].shared]
    )


def over_splits(noise: Noise, splits: int) -> Noise:
    """The noise of tables whose splits stand next to each other: mean squares averaged, with the df of one split."""
    parts = (part.reshape(-1, splits, part.shape[-1]).mean(axis=1) for part in noise[:5])
    return Noise._make([*parts, noise.shared])


NO_NOISE = Noise._make([*np.empty((5, 0)), True])


def of_shards(decomposition: Decomposition) -> Noise:
    """The system:shard effect of full scores (…, T, R, S), from the mean squares of MD6.

    >>> from shardwise.stats.balanced import all_terms, decompose
    >>> g = np.random.default_rng(1)
    >>> dims = ("topic", "system", "shard")
    >>> y = g.normal(size=(20, 3, 5)) + g.normal(size=(1, 3, 5))
    >>> of_shards(decompose(y, dims, all_terms(dims))).variance.round(2)
    array([0.04, 0.04, 0.04])
    """
    term = frozenset({"system", "shard"})
    systems = decomposition.shape["system"]
    squares = (
        np.asarray(decomposition.ss[term]) / decomposition.df[term],
        np.asarray(decomposition.ss_error) / decomposition.df_error,
    )
    mean_squares = [ms[..., None] for ms in squares]
    shape = (*squares[0].shape, systems)
    return _make_noise(
        shape,
        *mean_squares,
        decomposition.df[term],
        decomposition.df_error,
        decomposition.n / systems,
        shared=True,
    )


def with_cells(y: Floats) -> Floats:
    """The topics and shards of scores (T, R, S) that have a cell of all systems."""
    present = np.asarray(np.isfinite(y).all(axis=1))
    return y[present.any(axis=1)][:, :, present.any(axis=0)]


def of_shards_with_gaps(y: Floats) -> Noise:
    """The system:shard effect of scores (T, R, S) that lack some cells (NaN) for all systems alike.

    >>> g = np.random.default_rng(1)
    >>> y = g.normal(size=(20, 3, 5)) + g.normal(size=(1, 3, 5))
    >>> y[0, :, 0] = np.nan
    >>> of_shards_with_gaps(y).variance.round(3)
    array([0.045, 0.045, 0.045])
    """
    y = with_cells(y)
    fit = fit_incomplete(y, SHARDS, MD6.sets)
    term = frozenset({"system", "shard"})
    weights = np.isfinite(y[:, 0])
    weights = weights / weights.sum(axis=1, keepdims=True)
    together = float((weights.mean(axis=0) ** 2).sum())
    seen = (float((weights**2).sum(axis=1).mean()) - together) / (len(y) - 1.0)
    weight = fit.random_weight(term)
    assert weight is not None, "MD6 holds system:shard last"
    size = weight / (together - seen) if together > seen else math.inf
    test = fit.tests[term]
    squares = test.ss / test.df, fit.ss_error / fit.df_error
    return _make_noise((y.shape[1],), *squares, test.df, fit.df_error, size, shared=True)


def of_instances(spread: InstanceSpread) -> Noise:
    """Each system's own effect of its instances, none of a deterministic one, from its instance by topic mean squares.

    >>> from shardwise.methods.repeats.unified import instance_spread
    >>> g = np.random.default_rng(1)
    >>> y = g.normal(size=(1, 20, 2, 5)) + 2 * g.normal(size=(1, 1, 2, 5))
    >>> of_instances(instance_spread(y)).variance.round(2)
    array([[1.72, 1.2 ]])
    """
    parts = (spread.ms_instance, spread.ms_error, spread.df_instance, spread.df_error, spread.size)
    return _make_noise(spread.ms_instance.shape, *parts, shared=False)


def _make_noise(shape: tuple[int, ...], *parts: Floats | float, shared: bool) -> Noise:
    """Every part for each system, as compiled code takes it."""
    each = (np.ascontiguousarray(np.broadcast_to(part, shape), np.float64) for part in parts)
    return Noise._make([*each, shared])


FEWEST_COMMON = 5  # topics that a pair must share to be tested where scores are missing


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What the moderated test knows of each pair without resampling; arrays are (…, P) unless said."""

    difference: Floats  # of the means of the two systems; NaN for pairs without a common topic
    units: Floats  # topics (or cells) that both have
    own_df: Floats  # of the pair's own variance
    own: Floats  # s²_k
    common: Floats  # s̄², (…)
    moderated: Floats  # v_k
    extra: Floats  # variance of the difference that topics do not show: shards, instances
    df: Floats  # of Student's distribution for a single pair
    drawn_df: Floats  # of that in resamples: Satterthwaite's of what is drawn
    d0: float
    cluster_care: float = 1.0  # factor of intervals because clusters are few or unequal

    @property
    def se(self) -> Floats:
        """Standard error of the difference, √(v_k / T) where nothing but topics is random."""
        return np.asarray(np.sqrt(self.moderated / np.maximum(self.units, 1.0) + self.extra))

    @property
    def t(self) -> Floats:
        """The moderated t; without any spread 0 for equal systems and ∞ for unequal ones."""
        return t_statistic(self.difference, self.se)

    @property
    def p(self) -> Floats:
        """Two-sided p-value of each pair by itself, Student with T - 1 + min(d0, (T - 1)(R - 2)) df."""
        return two_sided(self.t, self.df)

    @property
    def care(self) -> Floats:
        """How much larger a t has to be than by the distribution of resamples, at 5 %."""
        return np.asarray(
            self.cluster_care * student_critical(LEVEL, self.df) / student_critical(LEVEL, self.drawn_df)
        )

    @property
    def drawn(self) -> Statistics:
        """The same with t that are as far in the distribution of resamples as these are in their own."""
        return replace(self, difference=self.difference / self.care)


def moderated_statistics(
    y: Floats,
    ia: Ints | None = None,
    ib: Ints | None = None,
    *,
    d0: float | None = None,
    noise: Noise | None = None,
    unit_df: float | None = None,
) -> Statistics:
    """Moderated statistics of the pairs (ia, ib) of tables of topics by systems.

    A topic that a system lacks (NaN) does not count for the pairs of that system: their mean and variance are those of
    the n_k topics that both have, and n_k stands for T. Pairs with fewer than `FEWEST_COMMON` are then not tested: they
    have a difference, but NaN for its variance, and do not count for s̄².

    The pairs are all a < b by default; s̄² is of the pairs given where they are all those of one system, else of all.
    ``noise`` moves system means besides the topics. Units that count unequally say less than their number: the variance
    of a mean over them has ``unit_df`` degrees of freedom (`care_for_clusters`).

    >>> y = np.array([[0.1, 0.3, 0.2], [0.4, 0.5, 0.5], [0.2, 0.4, 0.1], [0.6, 0.7, 0.8]])
    >>> moderated_statistics(y).t.round(3)
    array([-2.496, -1.183,  1.124])
    >>> moderated_statistics(y, d0=0.0).t.round(3)  # the paired t
    array([-5.196, -1.192,  0.878])
    """
    ia, ib = pairs_of(y.shape[-1], ia, ib)
    tables = np.ascontiguousarray(y.reshape(-1, *y.shape[-2:]), dtype=np.float64)
    units, difference, own_variance = pair_moments(tables, ia, ib)
    if np.isfinite(tables).all():
        shared = find_common(ia, ib)
        common = own_variance.mean(axis=-1) if shared is not None else 2.0 * interaction_mean_square(tables)
    else:
        common = np.array([_pool_variances(table, ia, ib) for table in tables])
        own_variance = np.where(find_tested(tables, units), own_variance, np.nan)
    shape = (*y.shape[:-2], ia.size)
    # (N, P) error df of MD1 on the cells that are there, less those of each pair: (T - 1)(R - 2) on
    # full tables
    present = np.isfinite(tables)
    cells = present.sum(axis=(1, 2), dtype=np.float64)
    error = cells - present.any(axis=2).sum(axis=1) - present.any(axis=1).sum(axis=1) + 1.0
    return moderate_variances(
        difference.reshape(shape),
        units.reshape(shape),
        np.maximum(units - 1.0, 0.0).reshape(shape),
        own_variance.reshape(shape),
        common.reshape(y.shape[:-2]),
        np.maximum(error[:, None] - np.maximum(units - 1.0, 0.0), 0.0).reshape(shape),
        d0,
        None if noise is None else noise.of_pairs(ia, ib),
        weighed=noise is not None and not noise.shared,
        care=None if unit_df is None else care_for_clusters(unit_df, y.shape[-2], y.shape[-1], prior_df=d0),
    )


def find_tested(tables: Floats, units: Floats) -> Bools:
    """(N, P) whether pairs share enough topics to be tested: two, or more where pairs have topics of their own."""
    many = tables.shape[2] > 2
    fewest = np.array([FEWEST_COMMON if many and has_gaps(y) else 2 for y in tables])
    return np.asarray(units >= fewest[:, None])


def has_gaps(y: Floats) -> bool:
    """Return whether systems of a (T, R) table lack different topics.

    >>> has_gaps(np.array([[0.1, 0.2], [np.nan, np.nan]])), has_gaps(np.array([[0.1, 0.2], [np.nan, 0.3]]))
    (False, True)
    """
    present = np.isfinite(y)
    return bool((present.any(axis=1) & ~present.all(axis=1)).any())


def pool_pairs(y: Floats, ia: Ints, ib: Ints) -> tuple[Ints, Ints]:
    """Return the tested pairs of a (T, R) table with gaps whose variances are pooled: of a baseline, or else all."""
    ia, ib = (ia, ib) if find_common(ia, ib) is not None else pairs_of(y.shape[1])
    present = np.isfinite(y).astype(np.float64)
    units = (present[:, ia] * present[:, ib]).sum(axis=0)
    tested = find_tested(y[None], units[None])[0]
    return ia[tested], ib[tested]


def _pool_variances(y: Floats, ia: Ints, ib: Ints) -> float:
    """s̄² of a (T, R) table with gaps, the plain mean of s²_k; NaN where no pair is tested."""
    variance = pair_moments(np.ascontiguousarray(y[None]), *pool_pairs(y, ia, ib))[2]
    return float(variance.mean()) if variance.size else float("nan")


def moderate_variances(
    difference: Floats,
    units: Floats,
    own_df: Floats,
    own_variance: Floats,
    common: Floats,
    spare: Floats,
    d0: float | None = None,
    extra: tuple[Floats, Floats] | None = None,
    *,
    weighed: bool = False,
    care: ClusterCare | None = None,
) -> Statistics:
    """Draw each pair's variance towards the common one, as if that were known from d0 more degrees of freedom.

    Of these no more count than ``spare`` (…, P), those that s̄² (…) has besides the pair's own. ``extra`` is the
    variance of the difference besides that of its units, and half the variance of that estimate; ``weighed`` where it
    rests on few numbers. ``care`` is for units that count unequally.
    """
    d0 = get_prior_df(d0)
    moderated = shrink_variances(own_variance, common[..., None], own_share(own_df, prior_df=d0))
    df = own_df + np.minimum(d0, spare)
    if care is not None:
        df = np.minimum(df, care.single_df)
    extra_variance, drawn_df = np.zeros(difference.shape), df
    if extra is not None:
        extra_variance, spread = (np.broadcast_to(part, difference.shape) for part in extra)
        units_part = moderated / np.maximum(units, 1.0)
        total = units_part + extra_variance
        every = spread + units_part**2 / np.maximum(df, 1.0)
        satterthwaite = np.divide(total**2, every, out=df.copy(), where=every > 0.0)
        few = np.divide(extra_variance**2, spread, out=np.ones(df.shape), where=spread > 0.0)
        share = np.divide(extra_variance, total, out=np.zeros(df.shape), where=total > 0.0)
        careful = cochran_cox_df(df, few, share ** np.minimum(few / 2.0, 1.0))
        df, drawn_df = np.where(share > 0.0, careful, df) if weighed else satterthwaite, satterthwaite
    factor = 1.0 if care is None else care.factor
    return Statistics(
        difference, units, own_df, own_variance, common, moderated, extra_variance, df, drawn_df, d0, factor
    )


def find_common(ia: Ints, ib: Ints) -> int | None:
    """Find the system that is in every one of several pairs, as a baseline is.

    >>> find_common(np.array([0, 2]), np.array([1, 1])), find_common(np.array([0, 0, 1]), np.array([1, 2, 2]))
    (1, None)
    """
    if len(ia) < 2:
        return None
    for system in (int(ia[0]), int(ib[0])):
        if bool(((ia == system) | (ib == system)).all()):
            return system
    return None


def pairs_of(systems: int, ia: Ints | None = None, ib: Ints | None = None) -> tuple[Ints, Ints]:
    """The pairs given, or all pairs a < b of so many systems.

    >>> pairs_of(3)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    if ia is None or ib is None:
        ia, ib = np.triu_indices(systems, 1)
    return np.asarray(ia, dtype=np.int64), np.asarray(ib, dtype=np.int64)


def interaction_mean_square(y: Floats) -> Floats:
    """MS(topic:system) of full tables (…, T, R); 0 where it is rounding.

    >>> float(interaction_mean_square(np.array([[0.0, 1.0], [0.0, 3.0]])))
    1.0
    """
    topics, systems = y.shape[-2:]
    z = doubly_centred(y)
    return np.asarray((z**2).sum(axis=(-2, -1)) / ((topics - 1.0) * (systems - 1.0)))


def doubly_centred(y: Floats) -> Floats:
    """Tables (…, T, R) without topic and system means, rounding set to 0."""
    z = y - y.mean(axis=-1, keepdims=True)
    z = z - z.mean(axis=-2, keepdims=True)
    size = np.abs(y).max(axis=(-2, -1), keepdims=True, initial=0.0)
    return np.where(np.abs(z) <= NOISE * size, 0.0, z)


def cell_residuals(y: Floats) -> Floats:
    """Residuals of MD6 of full scores (…, T, R, S), as cells by systems (…, T·S, R); rounding is set to 0.

    >>> y = np.arange(8.0).reshape(2, 2, 2) ** 2
    >>> cell_residuals(y)
    array([[0., 0.],
           [0., 0.],
           [0., 0.],
           [0., 0.]])
    """
    topics, systems, shards = y.shape[-3:]
    decomposition = decompose(y, SHARDS, all_terms(SHARDS))
    if decomposition is None:
        raise InputError("scores are missing", remedy="leave out or fill the topics that lack them")
    remainders = _without_rounding(decomposition.residuals(y), y)
    return np.ascontiguousarray(np.swapaxes(remainders, -1, -2)).reshape(
        *y.shape[:-3], topics * shards, systems
    )


def _without_rounding(remainders: Floats, y: Floats) -> Floats:
    size = np.nanmax(np.abs(y), axis=(-3, -2, -1), keepdims=True, initial=0.0)
    return np.where(np.abs(remainders) <= NOISE * size, 0.0, remainders)


class CellErrors(NamedTuple):
    """MD6 of scores by cell; arrays are (…) unless said."""

    means: Floats  # (…, R) of the systems, over all cells of a full table, by least squares where some are missing
    squares: Floats  # (…, R, R) sums over cells of products of the residuals of two systems
    df: Floats  # of a pair's own variance
    units: Floats  # cells that the difference of two means counts for


def of_cells(y: Floats) -> CellErrors:
    """Fit MD6 to scores (…, T, R, S), of which some cells may be missing (NaN) for all systems alike."""
    topics, _, shards = y.shape[-3:]
    full = np.ones(y.shape[:-3])
    if np.isfinite(y).all():
        e = cell_residuals(y)
        squares = np.swapaxes(e, -1, -2) @ e
        return CellErrors(
            y.mean(axis=(-3, -1)), squares, (topics - 1.0) * (shards - 1.0) * full, topics * shards * full
        )
    each = [_with_gaps(table) for table in y.reshape(-1, *y.shape[-3:])]
    return CellErrors(
        *(np.stack(part).reshape((*y.shape[:-3], *part[0].shape)) for part in zip(*each, strict=True))
    )


def _with_gaps(y: Floats) -> CellErrors:
    """One table by least squares; ν is the error df of MD6 in each of the R - 1 contrasts of systems."""
    y = with_cells(y)
    fit = fit_incomplete(y, SHARDS, MD6.sets)
    effects, variances = fit.adjusted_effects("system")
    e = np.nan_to_num(_without_rounding(y - fit.fitted(), y))
    squares = np.einsum("tas,tbs->ab", e, e)
    df = np.asarray(fit.df_error / (y.shape[1] - 1.0))
    return CellErrors(fit.grand_mean + effects, squares, df, np.asarray(2.0 / variances[0, 1]))


def cell_statistics(
    y: Floats, ia: Ints | None = None, ib: Ints | None = None, *, d0: float | None = None
) -> Statistics:
    """Moderated statistics of pairs of systems for differences on these topics, from scores (…, T, R, S).

    The pairs are all a < b by default, s̄² is of all in any case, and d0 = ∞ is the error term of HSD on MD6. Cells may
    be missing for all systems alike: then means are those of least squares, and ν the df that are left.

    >>> y = np.random.default_rng(1).normal(size=(10, 3, 4))
    >>> cell_statistics(y, d0=np.inf).df  # those of MD6's error
    array([54., 54., 54.])
    >>> y[0, :, 0] = np.nan
    >>> cell_statistics(y, d0=np.inf).df
    array([52., 52., 52.])
    """
    systems = y.shape[-2]
    ia, ib = pairs_of(systems, ia, ib)
    mean, squares, df, units = of_cells(y)
    every = np.diagonal(squares, axis1=-2, axis2=-1)
    df, units = df[..., None], units[..., None]
    pair_variances = np.maximum(every[..., ia] + every[..., ib] - 2.0 * squares[..., ia, ib], 0.0) / df
    full = np.ones(pair_variances.shape)
    return moderate_variances(
        mean[..., ia] - mean[..., ib],
        units * full,
        df * full,
        pair_variances,
        2.0 * every.sum(axis=-1) / (df[..., 0] * (systems - 1.0)),
        df * (systems - 2.0) * full,
        d0,
    )


def run_stratified(
    y: Floats, ia: Ints | None = None, ib: Ints | None = None
) -> tuple[Floats, Floats, Floats]:
    """Difference, standard error and Satterthwaite df of pairs, each with a variance of its own on every topic.

    With e the residuals of MD6, topic t has s²_t = Σ_shards (e_a - e_b)² · T / ((T - 1)(S - 1)), the difference of
    means has variance Σ s²_t / (T² S), and df = (Σ s²_t)² / Σ (s⁴_t / (S + 1)), as s⁴ / (S + 1) is unbiased for
    σ⁴ / (S - 1). Scores are (…, T, R, S), pairs all a < b by default.
    """
    topics, systems, shards = y.shape[-3:]
    ia, ib = pairs_of(systems, ia, ib)
    e = cell_residuals(y).reshape(-1, topics, shards, systems)
    total, squares = sums_by_topic(e, ia, ib)
    scale = topics / ((topics - 1.0) * (shards - 1.0))
    shape = (*y.shape[:-3], ia.size)
    mean = y.mean(axis=(-3, -1))
    se = np.sqrt(scale * total / (topics**2 * shards)).reshape(shape)
    simplest = np.full(total.shape, shards - 1.0)
    df = np.divide(total**2 * (shards + 1.0), squares, out=simplest, where=squares > 0.0).reshape(shape)
    return mean[..., ia] - mean[..., ib], se, np.minimum(df, (topics - 1.0) * (shards - 1.0))
