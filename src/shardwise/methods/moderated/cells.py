"""Differences on these topics: the units are the T·S cells of topics by shards, their errors the residuals of MD6.

A pair's own variance is s²_k = Σ (e_a - e_b)² / ν over all cells, ν = (T - 1)(S - 1), and s̄² is twice MS(error); what
holds for topics with T - 1 degrees of freedom then holds for cells with ν.

No distribution drawn from the residuals holds its level everywhere (docs/validation.md); `cell_statistics(y).p` with
Holm's correction does. So does `run_stratified`, where each pair has a variance of its own on every topic (one with few
relevant documents has unsteady scores).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints
from shardwise.core.errors import InputError
from shardwise.core.model import MD6
from shardwise.methods.moderated.moments import sums_by_topic
from shardwise.methods.moderated.noise import SHARDS, with_cells
from shardwise.methods.moderated.statistics import Statistics, moderate_variances, pairs_of
from shardwise.stats.balanced import all_terms, decompose
from shardwise.stats.least_squares import fit_incomplete
from shardwise.stats.student import NOISE


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
