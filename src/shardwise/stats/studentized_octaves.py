"""A studentized statistic for many tables, each with degrees of freedom of its own.

Satterthwaite's degrees of freedom differ from table to table, and tabulating the distribution for each of them would
cost more than it saves. At fixed y = sqrt(2 nu)·asinh(q / sqrt(2 nu)), log P(Q > q) is a smooth function of u = 1/nu:
it is tabulated for a few nu per octave, and a polynomial in u through these gives the distribution for any nu between
them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev

from shardwise.core.arrays import Floats, Ints
from shardwise.stats import studentize
from shardwise.stats.quadrature import FINE, Y_MAX, read_rows
from shardwise.stats.studentize import Studentized, TabulatedTail

NODES = 9  # distributions of an octave
LAST = 12  # the octave from 2^12 on, which has no end
FEW = 64  # values below which single quadratures cost less than a table


def sf(q: Floats, df: Floats, tail: TabulatedTail) -> Floats:
    """P(W / s > q) for (B, P) values, row b having df[b] degrees of freedom."""
    out = np.empty(q.shape)
    octaves = _number_octaves(df)
    for k in np.unique(octaves):
        rows = octaves == k
        if k < 0 or int(rows.sum()) * q.shape[1] < FEW:
            each = np.repeat(df[rows], q.shape[1])
            out[rows] = studentize.sf(q[rows].ravel(), each, tail).reshape(-1, q.shape[1])
        else:
            out[rows] = _by_table(q[rows], df[rows], int(k), tail)
    return out


def isf(alpha: float, df: Floats, tail: TabulatedTail) -> Floats:
    """The q exceeded with probability alpha, for each of the df."""
    out = np.empty(df.shape)
    octaves = _number_octaves(df)
    for k in np.unique(octaves):
        rows = octaves == k
        if k < 0:
            out[rows] = studentize.isf(np.full(int(rows.sum()), alpha), df[rows], tail)
        else:
            out[rows] = np.exp(_lagrange_weights(df[rows], int(k)) @ _log_critical(alpha, tail, int(k)))
    return out


def _number_octaves(df: Floats) -> Ints:
    """Number the octave of each df; -1 below 1, where the distribution changes too fast for a table."""
    return np.where(df < 1.0, -1, np.minimum(np.log2(np.maximum(df, 1.0)), LAST)).astype(np.int64)


def _octave_ends(octave: int) -> tuple[float, float]:
    """Return the range of 1/nu in an octave."""
    high = 0.5**octave
    return 0.0 if octave == LAST else high / 2.0, high


def _octave_nodes(octave: int) -> Floats:
    """Return the nu at which the distributions of an octave are tabulated."""
    low, high = _octave_ends(octave)
    return np.asarray(1.0 / (0.5 * (low + high) + 0.5 * (high - low) * chebyshev.chebpts1(NODES)))


@lru_cache(maxsize=256)
def _octave_tables(tail: TabulatedTail, octave: int) -> tuple[Studentized, ...]:
    return tuple(Studentized.of(tail, float(df)) for df in _octave_nodes(octave))


@lru_cache(maxsize=1024)
def _log_critical(alpha: float, tail: TabulatedTail, octave: int) -> Floats:
    nodes = _octave_nodes(octave)
    return np.log(studentize.isf(np.full(nodes.shape, alpha), nodes, tail))


def _lagrange_weights(df: Floats, octave: int) -> Floats:
    """(…, NODES) weights of an octave's distributions in that of each df: Lagrange's polynomials in 1/nu."""
    low, high = _octave_ends(octave)
    x = (2.0 / df - low - high) / (high - low)
    at_nodes = chebyshev.chebvander(chebyshev.chebpts1(NODES), NODES - 1)
    return np.ascontiguousarray(chebyshev.chebvander(x, NODES - 1) @ np.linalg.inv(at_nodes))


def _by_table(q: Floats, df: Floats, octave: int, tail: TabulatedTail) -> Floats:
    root = np.sqrt(2.0 * df)[:, None]
    y = root * np.arcsinh(q / root)
    inside = y < Y_MAX
    middle = FINE * (np.unique((y[inside] / FINE).astype(np.int64)) + 0.5)
    distributions = _octave_tables(tail, octave)
    for distribution in distributions:
        own_root = np.sqrt(2.0 * distribution.df)
        distribution.sf(own_root * np.sinh(middle / own_root))  # so that the panels asked for are there
    out = np.empty(q.shape)
    read_rows(
        y,
        _lagrange_weights(df, octave),
        np.stack([distribution.coefficients for distribution in distributions]),
        out,
    )
    if not inside.all():
        freedom = np.broadcast_to(df[:, None], q.shape)
        out[~inside] = studentize.sf(q[~inside], freedom[~inside], tail)
    return out
