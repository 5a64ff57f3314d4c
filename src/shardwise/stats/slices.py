"""Statistics of slices, such as the categories of items: one family over all of them, and whether a difference depends
on the slice.
"""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.stats.moderation import own_share, shrink_variances
from shardwise.stats.resampling import key_of, topic_counts
from shardwise.stats.stepdown import step_down

FEWEST_ITEMS = 5
"""Items that a slice needs to be tested; smaller ones are shown."""
BLOCK = 256
"""Resamples that are held at a time."""


def adjust_across(p: Floats) -> Floats:
    """Correct p-values (K, P) that each slice corrected for its own pairs for all slices; NaN where not tested.

    Holm's steps over slices: a slice makes room for the others once all its pairs are significant, so that pairs of a
    slice are tested at α over the number of slices that may still hold a true hypothesis (Goeman & Solari 2010).

    >>> adjust_across(np.array([[0.01], [0.02], [0.5], [np.nan]])).ravel().tolist()
    [0.03, 0.04, 0.5, nan]
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p).all(axis=1))
    order = tested[np.argsort(np.nanmax(p[tested], axis=1), kind="stable")]
    left = order.size - np.arange(order.size, dtype=np.float64)
    # the level at which all slices before have made room
    largest = np.maximum.accumulate(np.nanmax(p[order], axis=1, initial=0.0) * left)
    reached = np.concatenate([[0.0], largest[:-1]])
    for rank, k in enumerate(order):
        steps = np.maximum(p[k][None, :] * left[: rank + 1, None], reached[: rank + 1, None])
        adjusted[k] = np.minimum(steps.min(axis=0), 1.0)
    return adjusted


def interaction_p(
    y: Floats, code: Ints, ia: Ints, ib: Ints, *, n_resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """(P,) statistics Σ n/v (d - d̄)² of the differences of pairs over slices, and their step-down p-values.

    Scores are (T, R), NaN where missing; ``code`` (T,) numbers the slices. v is a slice's variance shrunk towards the
    pooled one within slices. Items are resampled within slices; slices in which a pair shares few items do not count.

    >>> rng = np.random.default_rng(1)
    >>> y = rng.normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [0.0, 2.0]], 30, axis=0)
    >>> q, p = interaction_p(y, np.repeat([0, 1], 30), np.array([0]), np.array([1]), n_resamples=999, seed=0)
    >>> p.tolist()
    [0.001]
    """
    differences = y[:, ia] - y[:, ib]
    present = ~np.isnan(differences)
    rows = [np.flatnonzero(code == k) for k in range(int(code.max(initial=-1)) + 1)]
    items = np.array([present[members].sum(axis=0) for members in rows], dtype=np.float64).reshape(
        len(rows), -1
    )
    counted = items >= FEWEST_ITEMS
    values = np.where(present, differences, 0.0)
    sums = np.array([values[members].sum(axis=0) for members in rows]).reshape(items.shape)
    means = np.divide(sums, items, out=np.zeros_like(items), where=counted)
    centred = np.where(present, values - means[code], 0.0)
    squares = np.array([(centred[members] ** 2).sum(axis=0) for members in rows]).reshape(items.shape)
    statistic = _measure_spread(means[None], squares[None], items[None], counted)[0]
    drawn = np.empty((n_resamples, ia.size))
    for first in range(0, n_resamples, BLOCK):
        many = min(BLOCK, n_resamples - first)
        moments = np.zeros((3, many, *items.shape))
        for k, members in enumerate(rows):
            counts = topic_counts(members.size, key_of(seed + k), first, many).astype(np.float64)
            moments[0, :, k] = counts @ present[members]
            moments[1, :, k] = counts @ centred[members]
            moments[2, :, k] = counts @ centred[members] ** 2
        size = moments[0]
        mean = np.divide(moments[1], size, out=np.zeros_like(size), where=size > 0.0)
        drawn[first : first + many] = _measure_spread(
            mean, np.maximum(moments[2] - size * mean**2, 0.0), size, counted
        )
    untested = (counted.sum(axis=0) < 2) | ~np.isfinite(statistic)
    statistic = np.where(untested, np.nan, statistic)
    return statistic, step_down(statistic, np.nan_to_num(drawn, nan=0.0, posinf=np.inf))


def _measure_spread(means: Floats, squares: Floats, items: Floats, counted: Bools) -> Floats:
    """(B, P) Σ n/v (d - d̄)² of means, sums of squares and numbers of items (B, K, P) of the slices that count."""
    counted = counted & (items > 1.0)
    df = np.where(counted, items - 1.0, 0.0)
    kept = np.where(counted, squares, 0.0)
    total = df.sum(axis=1, keepdims=True)
    pooled = np.divide(kept.sum(axis=1, keepdims=True), total, out=np.zeros_like(total), where=total > 0.0)
    variances = np.divide(kept, df, out=np.zeros_like(kept), where=df > 0.0)
    variance = shrink_variances(variances, pooled, own_share(df))
    weight = np.divide(items, variance, out=np.zeros_like(variance), where=counted & (variance > 0.0))
    whole = weight.sum(axis=1, keepdims=True)
    centre = np.divide(
        (weight * means).sum(axis=1, keepdims=True), whole, out=np.zeros_like(whole), where=whole > 0.0
    )
    spread = (weight * (means - centre) ** 2).sum(axis=1)
    return np.asarray(np.where(whole[:, 0] > 0.0, spread, np.nan))
