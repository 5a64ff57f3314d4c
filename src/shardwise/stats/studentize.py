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
from shardwise.core.compiled import njit

FINE, COARSE = 0.25, 1.0  # widths of the panels of w: below and above the bend
BEND = 12.0  # H falls from 1 to almost 0 below this, even for thousands of systems
FINE_PANELS = int(BEND / FINE)
W_MAX = 52.0  # H(w) is about exp(-w²/4): beyond this it leaves the range of double precision
Y_MAX = 40.0  # of the tables by degrees of freedom; tails beyond are below 1e-170
DEGREE = 15
ENOUGH = 32  # values with the same degrees of freedom that make a table worth while
NODES, WEIGHTS = leggauss(16)
NORMAL_DF = 1e14  # from here on nu = ∞ to all printable digits


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The upper tail H(w) of a statistic of standard normal variables, tabulated as log H."""

    coefficients: Floats  # (panels, DEGREE + 1)


@lru_cache(maxsize=128)
def tabulated(upper_tail: Callable[[Floats, int, Floats], None], size: int) -> Tail:
    """The tail of a statistic of so many systems, by its values at the Chebyshev points of each panel of w.

    ``upper_tail(w, size, out)`` puts H(w) into ``out``.
    """
    edges = np.concatenate([np.arange(0, BEND, FINE), np.arange(BEND, W_MAX + COARSE / 2, COARSE)])
    half = np.diff(edges)[:, None] / 2
    w = edges[:-1, None] + half + half * chebyshev.chebpts1(DEGREE + 1)
    h = np.empty(w.size)
    upper_tail(w.ravel(), size, h)
    return Tail(_fit(np.log(h).reshape(w.shape)))


def _fit(values: Floats) -> Floats:
    """Chebyshev coefficients of each row of values at the Chebyshev points.

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

    tail: Tail
    df: float
    coefficients: Floats  # (panels, DEGREE + 1), of log sf
    known: Bools  # (panels,)

    @classmethod
    def of(cls, tail: Tail, df: float) -> Studentized:
        """An empty table."""
        panels = int(Y_MAX / FINE)
        return cls(tail, df, np.zeros((panels, DEGREE + 1)), np.zeros(panels, dtype=bool))

    def sf(self, q: Floats) -> Floats:
        """P(W / s > q), by the table below Y_MAX and by quadrature beyond."""
        root = math.sqrt(2.0 * self.df)
        y = np.maximum(q, 0.0) if math.isinf(root) else root * np.arcsinh(np.maximum(q, 0.0) / root)
        inside = y < Y_MAX
        self._learn(np.unique((y[inside] / FINE).astype(np.int64)), root)
        out = np.empty(q.shape)
        _read(y, self.coefficients, out)
        out[~inside] = sf(q[~inside], np.full(int((~inside).sum()), self.df), self.tail)
        return out

    def _learn(self, asked: Ints, root: float) -> None:
        new = asked[~self.known[asked]]
        y = FINE * (new[:, None] + 0.5 + 0.5 * chebyshev.chebpts1(DEGREE + 1))
        q = (y if math.isinf(root) else root * np.sinh(y / root)).ravel()
        log_sf = np.log(sf(q, np.full(q.shape, self.df), self.tail)).reshape(y.shape)
        self.coefficients[new] = _fit(log_sf)
        self.known[new] = True


def sf(q: Floats, df: Floats, tail: Tail) -> Floats:
    """P(W / s > q) for each q and its degrees of freedom, by quadrature.

    >>> from scipy.special import ndtr
    >>> def distance(w, size, out):  # of two systems: W / s is then sqrt(2)·|t|
    ...     out[:] = 2 * ndtr(-w / 2**0.5)
    >>> float(sf(np.array([2 * 2**0.5]), np.array([10.0]), tabulated(distance, 2))[0])  # 2 * scipy.stats.t.sf(2, 10)
    0.0733880347...
    """
    out = np.empty(q.shape)
    _sf_many(q, df, tail.coefficients, NODES, WEIGHTS, out)
    return out


def aligned(x: npt.ArrayLike, df: npt.ArrayLike) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Both as flat arrays of one length, and the shape to give the answer."""
    x_, df_ = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(df, dtype=float))
    return x_.flatten(), df_.flatten(), x_.shape


@lru_cache(maxsize=256)
def _table(tail: Tail, df: float) -> Studentized:
    return Studentized.of(tail, df)


def sf_by_df(q: Floats, df: Floats, tail: Tail) -> Floats:
    """P(W / s > q), through a table where enough values share their degrees of freedom to pay for it."""
    out = np.empty(q.shape)
    values, which, counts = np.unique(df, return_inverse=True, return_counts=True)
    often = counts >= ENOUGH
    rest = ~often[which]
    out[rest] = sf(q[rest], df[rest], tail)
    for k in np.flatnonzero(often):
        mine = which == k
        out[mine] = _table(tail, float(values[k])).sf(q[mine])
    return out


def isf(p: Floats, df: Floats, tail: Tail) -> Floats:
    """The q with P(W / s > q) = p."""
    out = np.empty(p.shape)
    _isf_many(p, df, tail.coefficients, NODES, WEIGHTS, out)
    return out


@njit(cache=True, nogil=True)
def _clenshaw(x: float, row: Floats) -> float:
    """Chebyshev polynomial at x, as the logarithm of a probability."""
    b1 = 0.0
    b2 = 0.0
    for k in range(DEGREE, 0, -1):
        b1, b2 = row[k] + 2.0 * x * b1 - b2, b1
    return float(min(row[0] + x * b1 - b2, 0.0))


@njit(cache=True, nogil=True)
def _read(y: Floats, coefficients: Floats, out: Floats) -> None:
    for i in range(y.size):
        if y[i] < Y_MAX:
            panel = int(y[i] / FINE)
            out[i] = math.exp(_clenshaw(2.0 * (y[i] / FINE - panel) - 1.0, coefficients[panel]))
        else:
            out[i] = math.nan


@njit(cache=True, nogil=True)
def _log_h(w: float, coefficients: Floats) -> float:
    if w < BEND:
        panel = int(w / FINE)
        x = 2.0 * (w / FINE - panel) - 1.0
    else:
        panel = int((w - BEND) / COARSE)
        x = 2.0 * ((w - BEND) / COARSE - panel) - 1.0
        panel += FINE_PANELS
        if panel >= coefficients.shape[0]:
            return -np.inf
    return _clenshaw(x, coefficients[panel])


@njit(cache=True, nogil=True)
def _log_constant(nu: float) -> float:
    """Constant c of the log density of v = log s: c + nu·(v - (exp(2v) - 1) / 2)."""
    a = nu / 2
    if a < 30.0:
        return math.log(2.0) + a * math.log(a) - math.lgamma(a) - a
    # Stirling's series, because the large terms of the line above cancel
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * a * a)) / (a * a)) / (a * a)) / a
    return math.log(2.0) + 0.5 * math.log(a / (2 * math.pi)) - series


@njit(cache=True, nogil=True)
def _width(v: float, w: float, nu: float) -> float:
    """Width in v of a panel over which a 16-point Gauss rule is exact to rounding."""
    square = math.exp(2.0 * v)
    curvature = 2.0 * nu * square
    slope = abs(nu * (1.0 - square))
    width = min(3.0, 3.5 / math.sqrt(curvature)) if curvature > 0.0 else 3.0
    if slope > 0.0:
        width = min(width, 9.0 / slope)
    return min(width, 0.4 / max(w, 0.4), 8.0 / max(1.0, w * w))


@njit(cache=True, nogil=True)
def _panel(left: float, width: float, q: float, nu: float, coefficients: Floats,
           nodes: Floats, weights: Floats) -> float:  # fmt: skip
    total = 0.0
    for k in range(nodes.size):
        v = left + 0.5 * width * (1.0 + nodes[k])
        log_density = nu * (v - 0.5 * math.expm1(2.0 * v))
        total += weights[k] * math.exp(log_density + _log_h(q * math.exp(v), coefficients))
    return 0.5 * width * total


@njit(cache=True, nogil=True)
def _sf_one(q: float, nu: float, coefficients: Floats, nodes: Floats, weights: Floats) -> float:
    if math.isnan(q) or math.isnan(nu):
        return math.nan
    if q <= 0.0:
        return 1.0
    if math.isinf(q):
        return 0.0
    if nu > NORMAL_DF:
        return math.exp(_log_h(q, coefficients))
    start = -0.5 * math.log1p(q * q / (2.0 * nu))  # peak if H(w) were exp(-w²/4)
    total = 0.0
    for direction in (1, -1):
        v = start
        last = -1.0
        while True:
            width = _width(v, q * math.exp(v), nu)
            left = v if direction > 0 else v - width
            part = _panel(left, width, q, nu, coefficients, nodes, weights)
            total += part
            v += direction * width
            # the integrand is unimodal, so only a falling panel may end the walk
            if part <= last and part <= 1e-15 * total:
                break
            if part == 0.0 and (v > 5.0 or v < -800.0):
                break
            last = part
    return min(math.exp(_log_constant(nu)) * total, 1.0)


@njit(cache=True, nogil=True)
def _sf_many(
    q: Floats, df: Floats, coefficients: Floats, nodes: Floats, weights: Floats, out: Floats
) -> None:
    for i in range(q.size):
        out[i] = _sf_one(q[i], df[i], coefficients, nodes, weights)


@njit(cache=True, nogil=True)
def _excess(x: float, p: float, nu: float, coefficients: Floats, nodes: Floats, weights: Floats) -> float:
    """Log of tail over target, on the side where the logarithm is well conditioned."""
    tail = _sf_one(math.exp(x), nu, coefficients, nodes, weights)
    if p <= 0.5:
        return math.log(max(tail, 1e-320) / p)
    return -math.log(max(1.0 - tail, 1e-320) / (1.0 - p))


@njit(cache=True, nogil=True)
def _isf_one(p: float, nu: float, coefficients: Floats, nodes: Floats, weights: Floats) -> float:
    if not 0.0 <= p <= 1.0 or math.isnan(nu):
        return math.nan
    if p == 0.0:
        return math.inf
    if p == 1.0:
        return 0.0
    low = high = 1.0  # in log q
    f_low = f_high = _excess(low, p, nu, coefficients, nodes, weights)
    while f_low < 0.0:
        low -= 1.0
        f_low = _excess(low, p, nu, coefficients, nodes, weights)
    while f_high > 0.0 and high < 700.0:
        high += 1.0
        f_high = _excess(high, p, nu, coefficients, nodes, weights)
    side = 0
    x = low
    for _ in range(200):  # Illinois variant of regula falsi
        if high - low < 1e-14 * max(1.0, abs(low)):
            break
        before = x
        x = (low * f_high - high * f_low) / (f_high - f_low)
        f = _excess(x, p, nu, coefficients, nodes, weights)
        if f == 0.0 or abs(x - before) < 1e-15:
            break
        if f > 0.0:
            low, f_low = x, f
            if side == 1:
                f_high *= 0.5
            side = 1
        else:
            high, f_high = x, f
            if side == -1:
                f_low *= 0.5
            side = -1
    return math.exp(x)


@njit(cache=True, nogil=True)
def _isf_many(
    p: Floats, df: Floats, coefficients: Floats, nodes: Floats, weights: Floats, out: Floats
) -> None:
    for i in range(p.size):
        out[i] = _isf_one(p[i], df[i], coefficients, nodes, weights)
