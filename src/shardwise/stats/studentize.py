"""Dividing a normal statistic by an independent standard deviation: the step common to all max-type tests.

A statistic W of standard normal variables (their range, their largest distance from a control) has an upper
tail H(w) = P(W > w). With the variance estimated on nu degrees of freedom the tail of W / s is

    sf(q) = ∫ H(q s) f_nu(s) ds,    f_nu the density of sqrt(chi²_nu / nu).

H is tabulated once as piecewise Chebyshev polynomials of log H; the integral is taken in v = log s, panel by
panel outwards from near the peak of its integrand, so that no difference of nearly equal numbers ever occurs and small
tails keep their relative accuracy.
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
from shardwise.stats.quadrature import BEND, COARSE, DEGREE, FINE, W_MAX, Y_MAX, isf_many, read_table, sf_many

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
        out[~inside] = sf(q[~inside], np.full(int((~inside).sum()), self.df), self.tail)
        return out

    def _tabulate_panels(self, asked: Ints, root: float) -> None:
        new = asked[~self.known[asked]]
        y = FINE * (new[:, None] + 0.5 + 0.5 * chebyshev.chebpts1(DEGREE + 1))
        q = (y if math.isinf(root) else root * np.sinh(y / root)).ravel()
        log_sf = np.log(sf(q, np.full(q.shape, self.df), self.tail)).reshape(y.shape)
        self.coefficients[new] = _fit_chebyshev(log_sf)
        self.known[new] = True


def sf(q: Floats, df: Floats, tail: TabulatedTail) -> Floats:
    """P(W / s > q) for each q and its degrees of freedom, by quadrature.

    >>> from scipy.special import ndtr
    >>> def distance(w, size, out):  # of two systems: W / s is then sqrt(2)·|t|
    ...     out[:] = 2 * ndtr(-w / 2**0.5)
    >>> float(sf(np.array([2 * 2**0.5]), np.array([10.0]), tabulate_tail(distance, 2))[0])  # scipy: 2 t.sf(2, 10)
    0.0733880347...
    """
    out = np.empty(q.shape)
    sf_many(q, df, tail.coefficients, NODES, WEIGHTS, out)
    return out


def align_arrays(x: npt.ArrayLike, df: npt.ArrayLike) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Return both as flat arrays of one length, and the shape to give the answer."""
    x_, df_ = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(df, dtype=float))
    return x_.flatten(), df_.flatten(), x_.shape


@lru_cache(maxsize=256)
def _cached_table(tail: TabulatedTail, df: float) -> Studentized:
    return Studentized.of(tail, df)


def sf_by_df(q: Floats, df: Floats, tail: TabulatedTail) -> Floats:
    """P(W / s > q), through a table where enough values share their degrees of freedom to pay for it."""
    out = np.empty(q.shape)
    values, which, counts = np.unique(df, return_inverse=True, return_counts=True)
    often = counts >= ENOUGH
    rest = ~often[which]
    out[rest] = sf(q[rest], df[rest], tail)
    for k in np.flatnonzero(often):
        mine = which == k
        out[mine] = _cached_table(tail, float(values[k])).sf(q[mine])
    return out


def isf(p: Floats, df: Floats, tail: TabulatedTail) -> Floats:
    """The q with P(W / s > q) = p."""
    out = np.empty(p.shape)
    isf_many(p, df, tail.coefficients, NODES, WEIGHTS, out)
    return out
