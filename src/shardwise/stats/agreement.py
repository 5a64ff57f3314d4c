"""Measure the agreement of raters: percent, Cohen's κ, Krippendorff's α, for one sample or for many resamples at once.

Krippendorff's α is 1 - D_o/D_e with D_o the mean distance of values within units and D_e that of values of all units.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from shardwise.core.arrays import Floats, Ints

Metric = Literal["nominal", "ordinal", "interval"]


def cross_tabulate(a: Floats, b: Floats, unit: Ints, units: int) -> tuple[Floats, Floats]:
    """Count the pairs of categories of two raters in each unit.

    Parameters
    ----------
    a, b : array
        (n,) values of the two raters.
    unit : array of int
        (n,) number of each value's unit.
    units : int
        Number of units, U.

    Returns
    -------
    tuple of arrays
        (U, K, K) counts, and the K categories in order.
    """
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    k, n = len(values), len(a)
    keys = (unit.astype(np.int64) * k + codes[:n]) * k + codes[n:]
    counts = np.bincount(keys, minlength=units * k * k).reshape(units, k, k)
    return counts.astype(np.float64), values


def percent_agreement(counts: Floats) -> Floats:
    """Return the share of equal values in tables of two raters.

    Parameters
    ----------
    counts : array
        (…, K, K) counts.

    Returns
    -------
    array
        (…) shares.

    >>> float(percent_agreement(np.array([[20.0, 5.0], [10.0, 15.0]])))
    0.7
    """
    return np.asarray(np.trace(counts, axis1=-2, axis2=-1) / counts.sum(axis=(-2, -1)))


def cohen_kappa(counts: Floats, power: int = 0) -> Floats:
    """Return Cohen's κ of tables of two raters, 1 - Σ w·o / Σ w·e.

    Parameters
    ----------
    counts : array
        (…, K, K) counts, categories in order.
    power : int
        Weights of disagreement |i - j|^power: 0 for none (any disagreement counts 1), 1 linear, 2 quadratic.

    Returns
    -------
    array
        (…) κ; NaN where both raters have one and the same category.

    >>> round(float(cohen_kappa(np.array([[20.0, 5.0], [10.0, 15.0]]))), 6)
    0.4
    """
    k = counts.shape[-1]
    gap = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
    weight = (gap > 0.0).astype(np.float64) if power == 0 else gap**power
    total = counts.sum(axis=(-2, -1))
    expected = counts.sum(axis=-1)[..., :, None] * counts.sum(axis=-2)[..., None, :]
    seen = (weight * counts).sum(axis=(-2, -1)) / total
    chance = (weight * expected).sum(axis=(-2, -1)) / total**2
    return np.asarray(1.0 - np.divide(seen, chance, out=np.full(np.shape(seen), np.nan), where=chance > 0.0))


def krippendorff_alpha(
    ratings: Floats, metric: Metric = "nominal", unit: Ints | None = None, weights: Floats | None = None
) -> Floats:
    """Return Krippendorff's α of several raters, some of whose values may be missing.

    Parameters
    ----------
    ratings : array
        (raters, items) values, NaN where one is missing.
    metric : str
        "nominal", "ordinal" or "interval" distances.
    unit : array of int, optional
        (items,) number of the unit that each item is drawn with; every item is a unit without it.
    weights : array, optional
        (B, U) how often each unit is drawn.

    Returns
    -------
    array
        (B,) α, or one number without weights; NaN where all values are equal.

    >>> ratings = np.array([[1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 3.0, 1.0]])
    >>> round(float(krippendorff_alpha(ratings)), 6)
    0.666667
    """
    known = np.isfinite(ratings)
    size = known.sum(axis=0)
    items = np.arange(ratings.shape[1]) if unit is None else unit
    draws = np.ones((1, int(items.max()) + 1)) if weights is None else weights
    each = draws[:, items] * (size >= 2)
    if metric == "interval":
        alpha = _interval_alpha(np.where(known, ratings, 0.0), size, each)
    else:
        alpha = _category_alpha(ratings, known, size, each, ordinal=metric == "ordinal")
    return np.asarray(alpha[0] if weights is None else alpha)


def _interval_alpha(values: Floats, size: Ints, each: Floats) -> Floats:
    """α with squared differences for distances, from the sums of each item."""
    total, squares = values.sum(axis=0), (values**2).sum(axis=0)
    within = 2.0 * (size * squares - total**2) / np.maximum(size - 1.0, 1.0)
    n, s, q = each @ size, each @ total, each @ squares
    # values of equal items have rounding for a variance
    between = 2.0 * np.maximum(n * q - s**2, 0.0) / np.maximum(n - 1.0, 1.0)
    ratio = np.divide(each @ within, between, out=np.full(len(each), np.nan), where=between > 1e-12 * q)
    return np.asarray(1.0 - ratio)


def _category_alpha(ratings: Floats, known: Floats, size: Ints, each: Floats, *, ordinal: bool) -> Floats:
    """α with distances between categories, from their coincidences."""
    values, codes = np.unique(ratings[known], return_inverse=True)
    k, items = len(values), ratings.shape[1]
    item = np.broadcast_to(np.arange(items), ratings.shape)[known]
    counts = np.bincount(item * k + codes, minlength=items * k).reshape(items, k).astype(np.float64)
    pairs = counts[:, :, None] * counts[:, None, :]
    diagonal = np.arange(k)
    pairs[:, diagonal, diagonal] -= counts
    pairs /= np.maximum(size - 1.0, 1.0)[:, None, None]
    seen = (each @ pairs.reshape(items, -1)).reshape(-1, k, k)
    margin = each @ counts
    n = margin.sum(axis=1)
    if ordinal:
        # the number of values between two categories, half of their own included
        middle = np.cumsum(margin, axis=1) - margin / 2.0
        distance = (middle[:, :, None] - middle[:, None, :]) ** 2
    else:
        distance = np.broadcast_to(1.0 - np.eye(k), seen.shape)
    expected = margin[:, :, None] * margin[:, None, :]
    chance = (distance * expected).sum(axis=(1, 2)) / np.maximum(n - 1.0, 1.0)
    within = (distance * seen).sum(axis=(1, 2))
    return np.asarray(1.0 - np.divide(within, chance, out=np.full(len(n), np.nan), where=chance > 0.0))
