"""The studentized range: the law of the largest of all differences between R equal systems.

Q = (max - min of R standard normal variables) / s, with s² an independent estimate of the variance on df degrees
of freedom. Tukey's honestly significant difference reads its p-values off the upper tail of Q (F19 eq. 2).
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
from numba import njit

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.numerics import studentize
from shardwise.numerics import studentized_octaves as octaves

MOST_SYSTEMS = 5000
W_HALF = studentize.W_MAX / 2
FEW = 16  # degrees of freedom from which on their octaves are worth a table


def sf(q: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """P(Q > q) for the range of r systems; relative error below 1e-8 down to the smallest tails.

    >>> float(np.round(sf(3.5, 3, 20), 6))  # R: ptukey(3.5, 3, 20, lower.tail = FALSE)
    0.055892
    """
    tail, df_ = _range_tail(_checked_size(r)), np.asarray(df, dtype=float)
    if df_.ndim > 1 and df_.shape[-1] == 1 and np.ptp(df_) > 0.0:  # rows of tables, each with its own df
        rows = np.broadcast_to(np.asarray(q, dtype=float), np.broadcast_shapes(np.shape(q), df_.shape))
        flat = np.broadcast_to(df_, (*rows.shape[:-1], 1)).reshape(-1)
        return octaves.sf(rows.reshape(flat.size, -1), flat, tail, partial(_laws, int(r))).reshape(rows.shape)
    q_, df_, shape = studentize.aligned(q, _checked_df(df))
    return studentize.sf_by_df(q_, df_, tail, partial(_table, int(r))).reshape(shape)


def cdf(q: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """P(Q <= q), with an absolute accuracy of 1e-12; small upper tails are the business of `sf`."""
    return np.asarray(1.0 - sf(q, r, df))


def isf(p: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """The q exceeded with probability p: Q of F19 eq. 3.

    >>> float(np.round(isf(0.05, 3, 20), 4))  # R: qtukey(.95, 3, 20)
    3.5779
    """
    tail = _range_tail(_checked_size(r))
    if np.ndim(p) == 0 and np.size(df) > FEW:
        known = partial(_log_critical, float(np.asarray(p)), int(r))
        return octaves.isf(float(np.asarray(p)), np.asarray(df, dtype=float).ravel(), tail, known).reshape(
            np.shape(df)
        )
    p_, df_, shape = studentize.aligned(p, _checked_df(df))
    return studentize.isf(p_, df_, tail).reshape(shape)


def ppf(p: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """The q not exceeded with probability p.

    >>> float(np.round(ppf(0.95, 3, 20), 4))
    3.5779
    """
    return isf(1.0 - np.asarray(p, dtype=float), r, df)


def _checked_size(r: int) -> int:
    if r != int(r) or not 2 <= r <= MOST_SYSTEMS:
        raise InputError(
            f"a range of {r} systems is not tabulated", remedy=f"use 2 to {MOST_SYSTEMS} systems"
        )
    return int(r)


def _checked_df(df: npt.ArrayLike) -> Floats:
    df_ = np.asarray(df, dtype=float)
    if (df_ < 1).any():
        raise InputError(f"{df_.min():g} degrees of freedom are too few", remedy="at least 1 is needed")
    return df_


@lru_cache(maxsize=64)
def _range_tail(r: int) -> studentize.Tail:
    def upper_tail(w: Floats) -> Floats:
        out = np.empty(w.shape)
        _range_sf(w, r, out)
        return out

    return studentize.tabulate(upper_tail)


@lru_cache(maxsize=256)
def _table(r: int, df: float) -> studentize.Studentized:
    return studentize.Studentized.of(_range_tail(r), df)


@lru_cache(maxsize=256)
def _laws(r: int, octave: int) -> tuple[studentize.Studentized, ...]:
    return tuple(studentize.Studentized.of(_range_tail(r), float(df)) for df in octaves.nodes(octave))


@lru_cache(maxsize=1024)
def _log_critical(alpha: float, r: int, octave: int) -> Floats:
    nodes = octaves.nodes(octave)
    return np.log(studentize.isf(np.full(nodes.shape, alpha), nodes, _range_tail(r)))


@njit(cache=True, nogil=True)
def _range_sf(w: Floats, r: int, out: Floats) -> None:
    """H(w) = r ∫ φ(z) Φ(z)^(r-1) {1 - [1 - Φ(z-w)/Φ(z)]^(r-1)} dz, z being the largest of the r values.

    The integrand is positive and analytic and falls off as a Gaussian on both sides, so the trapezoidal rule converges
    geometrically; the curly bracket is taken by expm1 and log1p, so that nothing cancels.
    """
    step = 0.24 / math.sqrt(1.0 + math.log(r))
    lowest = -10.0
    count = int((W_HALF + 10.0 - lowest) / step) + 1
    phi = np.empty(count)
    weight = np.empty(count)
    for k in range(count):
        z = lowest + k * step
        below = 0.5 * math.erfc(-z / math.sqrt(2.0))
        phi[k] = below
        log_below = math.log1p(-0.5 * math.erfc(z / math.sqrt(2.0))) if z > 0.0 else math.log(below)
        weight[k] = r * step * math.exp(-0.5 * z * z + (r - 1) * log_below) / math.sqrt(2.0 * math.pi)
    for i in range(w.size):
        first = max(0, int((0.5 * w[i] - 8.0 - lowest) / step))
        total = 0.0
        last = 0.0
        for k in range(first, count):
            share = 0.5 * math.erfc((w[i] - lowest - k * step) / math.sqrt(2.0)) / phi[k]
            some = 1.0 if share >= 1.0 else -math.expm1((r - 1) * math.log1p(-share))
            part = weight[k] * some
            total += part
            if part < last and part < 1e-18 * total:
                break
            last = part
        out[i] = min(total, 1.0)
