"""The studentized range, and the step common to all max-type tests: a normal statistic over a standard deviation.

A statistic W of standard normal variables (their range, their largest distance from a control) has an upper
tail H(w) = P(W > w). With the variance estimated on nu degrees of freedom the tail of W / s is

    P(W / s > q) = ∫ H(q s) f_nu(s) ds,    f_nu the density of sqrt(chi²_nu / nu).

H is tabulated once as piecewise Chebyshev polynomials of log H; the integral is taken in v = log s, panel by
panel outwards from near the peak of its integrand, so that no difference of nearly equal numbers ever occurs and small
tails keep their relative accuracy.

Satterthwaite's degrees of freedom differ from table to table, and tabulating the distribution for each of them would
cost more than it saves. At fixed y = sqrt(2 nu)·asinh(q / sqrt(2 nu)), log P(Q > q) is a smooth function of u = 1/nu:
it is tabulated for a few nu per octave, and a polynomial in u through these gives the distribution for any nu between
them.

The studentized range is the distribution of the largest of all differences between R equal systems:
Q = (max - min of R standard normal variables) / s, with s² an independent estimate of the variance on df degrees
of freedom. Tukey's honestly significant difference reads its p-values off the upper tail of Q (F19 eq. 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev
from numpy.polynomial.legendre import leggauss

from shardwise.core.arrays import Bools, Floats, Ints
from shardwise.core.errors import InputError
from shardwise.stats.quadrature import (
    BEND,
    COARSE,
    DEGREE,
    FINE,
    W_MAX,
    Y_MAX,
    isf_many,
    range_sf,
    read_rows,
    read_table,
    sf_many,
)

ENOUGH = 32  # values with the same degrees of freedom that make a table worth while
NODES, WEIGHTS = leggauss(16)


@dataclass(frozen=True, slots=True, eq=False)
class TabulatedTail:
    """The upper tail H(w) of a statistic of standard normal variables, tabulated as log H."""

    coefficients: Floats  # (panels, DEGREE + 1)


@lru_cache(maxsize=128)
def tabulate_tail(upper_tail: Callable[[Floats, int, Floats], None], size: int) -> TabulatedTail:
    """Tabulate the tail of a statistic of so many systems, by its values at the Chebyshev points of each panel of w.

    ``upper_tail(w, size, out)`` puts H(w) into ``out``.
    """
    edges = np.concatenate([np.arange(0, BEND, FINE), np.arange(BEND, W_MAX + COARSE / 2, COARSE)])
    half = np.diff(edges)[:, None] / 2
    w = edges[:-1, None] + half + half * chebyshev.chebpts1(DEGREE + 1)
    h = np.empty(w.size)
    upper_tail(w.ravel(), size, h)
    return TabulatedTail(_fit_chebyshev(np.log(h).reshape(w.shape)))


def _fit_chebyshev(values: Floats) -> Floats:
    """Fit Chebyshev coefficients of each row of values at the Chebyshev points.

    Each row is a product of its own: in one of all rows the last digit of a panel would depend on those that were asked
    for with it, and so on what a process, or another thread, did before.
    """
    to_coefficients = np.linalg.inv(chebyshev.chebvander(chebyshev.chebpts1(DEGREE + 1), DEGREE))
    return np.ascontiguousarray((values[:, None, :] @ to_coefficients.T)[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class Studentized:
    """The upper tail of W / s for one number of degrees of freedom, tabulated where it has been asked for.

    The variable of the table is y = sqrt(2 nu)·asinh(q / sqrt(2 nu)): like q where the tail is Gaussian, like log q
    where it is a power of q.
    """

    tail: TabulatedTail
    df: float
    coefficients: Floats  # (panels, DEGREE + 1), of log sf
    known: Bools  # (panels,)

    @classmethod
    def of(cls, tail: TabulatedTail, df: float) -> Studentized:
        """An empty table."""
        panels = int(Y_MAX / FINE)
        return cls(tail, df, np.zeros((panels, DEGREE + 1)), np.zeros(panels, dtype=bool))

    def sf(self, q: Floats) -> Floats:
        """P(W / s > q), by the table below Y_MAX and by quadrature beyond."""
        root = math.sqrt(2.0 * self.df)
        y = np.maximum(q, 0.0) if math.isinf(root) else root * np.arcsinh(np.maximum(q, 0.0) / root)
        inside = y < Y_MAX
        self._tabulate_panels(np.unique((y[inside] / FINE).astype(np.int64)), root)
        out = np.empty(q.shape)
        read_table(y, self.coefficients, out)
        out[~inside] = ratio_sf(q[~inside], np.full(int((~inside).sum()), self.df), self.tail)
        return out

    def _tabulate_panels(self, asked: Ints, root: float) -> None:
        new = asked[~self.known[asked]]
        y = FINE * (new[:, None] + 0.5 + 0.5 * chebyshev.chebpts1(DEGREE + 1))
        q = (y if math.isinf(root) else root * np.sinh(y / root)).ravel()
        log_sf = np.log(ratio_sf(q, np.full(q.shape, self.df), self.tail)).reshape(y.shape)
        self.coefficients[new] = _fit_chebyshev(log_sf)
        self.known[new] = True


def ratio_sf(q: Floats, df: Floats, tail: TabulatedTail) -> Floats:
    """P(W / s > q) for each q and its degrees of freedom, by quadrature.

    >>> from scipy.special import ndtr
    >>> def distance(w, size, out):  # of two systems: W / s is then sqrt(2)·|t|
    ...     out[:] = 2 * ndtr(-w / 2**0.5)
    >>> float(ratio_sf(np.array([2 * 2**0.5]), np.array([10.0]), tabulate_tail(distance, 2))[0])  # scipy: 2 t.sf(2, 10)
    0.0733880347...
    """
    out = np.empty(q.shape)
    sf_many(q, df, tail.coefficients, NODES, WEIGHTS, out)
    return out


def align_arrays(x: npt.ArrayLike, df: npt.ArrayLike) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return both as flat arrays of one length, and the shape to give the answer."""
    x_, df_ = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(df, dtype=float))
    return x_.flatten(), df_.flatten(), x_.shape


@lru_cache(maxsize=2048)
def _cached_table(tail: TabulatedTail, df: float) -> Studentized:
    return Studentized.of(tail, df)


def sf_by_df(q: Floats, df: Floats, tail: TabulatedTail) -> Floats:
    """P(W / s > q), through a table where enough values share their degrees of freedom to pay for it."""
    out = np.empty(q.shape)
    values, which, counts = np.unique(df, return_inverse=True, return_counts=True)
    often = counts >= ENOUGH
    rest = ~often[which]
    out[rest] = ratio_sf(q[rest], df[rest], tail)
    for k in np.flatnonzero(often):
        mine = which == k
        out[mine] = _cached_table(tail, float(values[k])).sf(q[mine])
    return out


def ratio_isf(p: Floats, df: Floats, tail: TabulatedTail) -> Floats:
    """The q with P(W / s > q) = p."""
    out = np.empty(p.shape)
    isf_many(p, df, tail.coefficients, NODES, WEIGHTS, out)
    return out


OCTAVE_NODES = 9  # distributions of an octave
LAST = 12  # the octave from 2^12 on, which has no end
FEW_VALUES = 64  # values below which single quadratures cost less than a table


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
    return np.asarray(1.0 / (0.5 * (low + high) + 0.5 * (high - low) * chebyshev.chebpts1(OCTAVE_NODES)))


@lru_cache(maxsize=1024)
def _log_critical(alpha: float, tail: TabulatedTail, octave: int) -> Floats:
    nodes = _octave_nodes(octave)
    return np.log(ratio_isf(np.full(nodes.shape, alpha), nodes, tail))


def _lagrange_weights(df: Floats, octave: int) -> Floats:
    """(…, OCTAVE_NODES) weights of an octave's distributions in that of each df: Lagrange's polynomials in 1/nu."""
    low, high = _octave_ends(octave)
    x = (2.0 / df - low - high) / (high - low)
    at_nodes = chebyshev.chebvander(chebyshev.chebpts1(OCTAVE_NODES), OCTAVE_NODES - 1)
    return np.ascontiguousarray(chebyshev.chebvander(x, OCTAVE_NODES - 1) @ np.linalg.inv(at_nodes))


def _by_table(q: Floats, df: Floats, octave: int, tail: TabulatedTail) -> Floats:
    root = np.sqrt(2.0 * df)[:, None]
    y = root * np.arcsinh(q / root)
    inside = y < Y_MAX
    middle = FINE * (np.unique((y[inside] / FINE).astype(np.int64)) + 0.5)
    distributions = [_cached_table(tail, float(nu)) for nu in _octave_nodes(octave)]
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
        out[~inside] = ratio_sf(q[~inside], freedom[~inside], tail)
    return out


MOST_SYSTEMS = 5000
FEW_DF = 16  # degrees of freedom from which on their octaves are worth a table


def sf(q: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """P(Q > q) for the range of r systems; relative error below 1e-8 down to the smallest tails.

    >>> float(np.round(sf(3.5, 3, 20), 6))  # R: ptukey(3.5, 3, 20, lower.tail = FALSE)
    0.055892
    """
    tail, df_ = range_tail(r), np.asarray(df, dtype=float)
    if df_.ndim > 1 and df_.shape[-1] == 1 and np.ptp(df_) > 0.0:  # rows of tables, each with its own df
        rows = np.broadcast_to(np.asarray(q, dtype=float), np.broadcast_shapes(np.shape(q), df_.shape))
        flat = np.broadcast_to(df_, (*rows.shape[:-1], 1)).reshape(-1)
        values = rows.reshape(flat.size, -1)
        out = np.empty(values.shape)
        octaves = _number_octaves(flat)
        for k in np.unique(octaves):
            here = octaves == k
            if k < 0 or int(here.sum()) * values.shape[1] < FEW_VALUES:
                each = np.repeat(flat[here], values.shape[1])
                out[here] = ratio_sf(values[here].ravel(), each, tail).reshape(-1, values.shape[1])
            else:
                out[here] = _by_table(values[here], flat[here], int(k), tail)
        return out.reshape(rows.shape)
    q_, df_, shape = align_arrays(q, _checked_df(df))
    return sf_by_df(q_, df_, tail).reshape(shape)


def isf(p: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """The q exceeded with probability p: Q of F19 eq. 3.

    >>> float(np.round(isf(0.05, 3, 20), 4))  # R: qtukey(.95, 3, 20)
    3.5779
    """
    tail, df_ = range_tail(r), np.asarray(df, dtype=float)
    if np.ndim(p) == 0 and df_.size > FEW_DF:
        alpha, flat = float(np.asarray(p)), df_.ravel()
        out, octaves = np.empty(flat.shape), _number_octaves(flat)
        for k in np.unique(octaves):
            here = octaves == k
            if k < 0:
                out[here] = ratio_isf(np.full(int(here.sum()), alpha), flat[here], tail)
            else:
                logs = _log_critical(alpha, tail, int(k))
                out[here] = np.exp(_lagrange_weights(flat[here], int(k)) @ logs)
        return out.reshape(df_.shape)
    p_, df_, shape = align_arrays(p, _checked_df(df))
    return ratio_isf(p_, df_, tail).reshape(shape)


def range_tail(r: int) -> TabulatedTail:
    """Tabulate the tail of the range of r standard normal variables."""
    if r != int(r) or not 2 <= r <= MOST_SYSTEMS:
        raise InputError(
            f"a range of {r} systems is not tabulated", remedy=f"use 2 to {MOST_SYSTEMS} systems"
        )
    return tabulate_tail(range_sf, int(r))


def _checked_df(df: npt.ArrayLike) -> Floats:
    df_ = np.asarray(df, dtype=float)
    if (df_ < 1).any():
        raise InputError(f"{df_.min():g} degrees of freedom are too few", remedy="at least 1 is needed")
    return df_
