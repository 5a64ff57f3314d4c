"""What moves a system's mean besides the topics: a chance effect of shards or of instances.

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
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.model import MD6
from shardwise.methods.repeats.unified import InstanceSpread
from shardwise.stats.balanced import Decomposition
from shardwise.stats.least_squares import fit_incomplete

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
