"""Dunnett's distribution: the largest distance of m systems from one baseline, when all are equal.

Each comparison is t_i = (m_i - m_0) / se_i. They share the baseline: any two of them correlate by 1/2 where all means
have one variance, and by l_i·l_j with loadings l_i = sqrt(v_0 / (v_0 + v_i)) where they have not (Dunnett 1964). The
p-value is the upper tail of max |t_i|, by quadrature rather than by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from shardwise.core.arrays import Floats, Ints
from shardwise.stats import studentized_range
from shardwise.stats.quadrature import distance_sf

LARGEST_LOADING = math.sqrt(1.0 - 0.05**2)
"""Loadings above this count as this: the integrand would be a step."""
STEP = 0.2
"""Step of the trapezoidal rule, in standard deviations of what the baseline leaves of a comparison."""
REACH = 10.0
"""Standard deviations beyond which the baseline's density is 0 to all digits."""
FACTOR_STEPS = 300
"""Steps of fitting loadings to correlations."""


def sf(t: npt.ArrayLike, m: int, df: npt.ArrayLike) -> Floats:
    """P(max |t_i| > t) for m comparisons with one baseline.

    >>> float(np.round(sf(2.5, 4, 30), 5))  # R: 1 - pmvt of mvtnorm with correlations 1/2
    0.05941
    >>> from scipy import stats
    >>> bool(np.isclose(sf(2.5, 1, 30), 2 * stats.t.sf(2.5, 30), rtol=1e-12))
    True
    """
    t_, df_, shape = studentized_range.align_arrays(t, df)
    w = math.sqrt(2.0) * t_  # the distance Z_i - Z_0 has variance 2
    return studentized_range.sf_by_df(w, df_, studentized_range.tabulate_tail(distance_sf, m)).reshape(shape)


def isf(p: npt.ArrayLike, m: int, df: npt.ArrayLike) -> Floats:
    """The |t| that the largest of m comparisons exceeds with probability p."""
    p_, df_, shape = studentized_range.align_arrays(p, df)
    w = studentized_range.ratio_isf(p_, df_, studentized_range.tabulate_tail(distance_sf, m)).reshape(shape)
    return np.asarray(w / math.sqrt(2.0))


@dataclass(frozen=True, slots=True)
class UnequalDistance:
    """Upper tail of max |x_i| of standard normal x_i that correlate by the products of their loadings."""

    loadings: tuple[float, ...]

    def __call__(self, w: Floats, size: int, out: Floats) -> None:
        """Put P(sqrt(2)·max |x_i| > w) into ``out``; ``size`` is the number of loadings.

        With x_i = l_i·z + sqrt(1 - l_i²)·e_i this is the mean over z of 1 - Π P(|x_i| ≤ w / sqrt(2) | z), whose
        product is taken by logarithms, so that small tails keep their digits.
        """
        loadings = np.minimum(np.array(self.loadings), LARGEST_LOADING)
        rest = np.sqrt(1.0 - loadings**2)
        step = STEP * float(rest.min())
        limit = w / math.sqrt(2.0)
        # even in z: half the axis will do
        z = np.arange(0.5, (float(limit.max()) + REACH) / step) * step
        weights = 2.0 * step * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        for k, bound in enumerate(limit):
            # beyond the bound and ten deviations more, the density has no digits left against the tail
            inside = z < bound + REACH
            near, moved = z[inside], np.multiply.outer(loadings, z[inside])
            above = special.ndtr((moved - bound) / rest[:, None])
            outside = above + special.ndtr((-bound - moved) / rest[:, None])
            with np.errstate(divide="ignore"):
                tail = -np.expm1(np.log1p(-np.minimum(outside, 1.0)).sum(axis=0))
            out[k] = min(float(weights[: near.size] @ tail), 1.0)


def fit_loadings(variances: Floats, systems: Ints, baseline: int) -> Floats | None:
    """Fit the loadings of the comparisons of systems with a baseline to the variances of all differences.

    The correlation of two comparisons i and j is (V_i0 + V_j0 - V_ij) / (2·sqrt(V_i0·V_j0)). For independent means
    these are products of loadings; where they are not, as with gaps in a two-way table, the loadings are their
    least-squares fit (one factor).

    >>> v = np.array([1.0, 2.0, 4.0])
    >>> fit_loadings(v[:, None] + v, np.array([1, 2]), 0).round(4) ** 2  # product: 1 / sqrt(3·5)
    array([0.25816561, 0.25816561])
    """
    own = variances[..., systems, baseline]
    between = variances[..., systems[:, None], systems]
    covariance = (own[..., :, None] + own[..., None, :] - between) / 2.0
    root = np.sqrt(own)
    scale = root[..., :, None] * root[..., None, :]
    correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0.0)
    count = len(systems)
    off = ~np.eye(count, dtype=bool)
    correlation = np.where(off, np.clip(correlation, 0.0, LARGEST_LOADING**2), 0.0)
    if count < 2 or np.abs(correlation[..., off] - 0.5).max() < 1e-9:
        return None
    loadings = np.sqrt(correlation.sum(axis=-1) / (count - 1.0))
    for _ in range(FACTOR_STEPS):
        squares = loadings**2
        others = squares.sum(axis=-1, keepdims=True) - squares
        products = (correlation * loadings[..., None, :]).sum(axis=-1)
        fitted = np.divide(products, others, out=np.zeros_like(products), where=others > 0.0)
        # half steps: whole ones swing for two comparisons
        loadings = np.clip((loadings + fitted) / 2.0, 0.0, LARGEST_LOADING)
    return np.asarray(loadings)


def sf_unequal(t: Floats, df: Floats, loadings: Floats) -> Floats:
    """Return P(max |t_i| > t) of each row of comparisons with these loadings.

    >>> bool(np.isclose(sf_unequal(np.array([2.5]), np.array([30.0]), np.full(4, 0.5**0.5))[0], sf(2.5, 4, 30)))
    True
    """
    return _map_rows(
        lambda w, nu, tail: studentized_range.sf_by_df(math.sqrt(2.0) * w, nu, tail), t, df, loadings
    )


def isf_unequal(p: float, df: Floats, loadings: Floats) -> Floats:
    """Return the |t| that the largest comparison exceeds with probability p, for each row of loadings."""
    return _map_rows(
        lambda w, nu, tail: studentized_range.ratio_isf(w, nu, tail) / math.sqrt(2.0),
        np.full(df.shape, p),
        df,
        loadings,
    )


def _map_rows(
    function: Callable[[Floats, Floats, studentized_range.TabulatedTail], Floats],
    x: Floats,
    df: Floats,
    loadings: Floats,
) -> Floats:
    """Apply a function of values, their degrees of freedom and a tail to each row with the tail of its loadings."""
    x, df = np.broadcast_arrays(x, df)
    rows = loadings.reshape(-1, loadings.shape[-1])
    shape = x.shape
    x, df = (np.ascontiguousarray(part.reshape(len(rows), -1)) for part in (x, df))
    out = np.empty(x.shape)
    for i, row in enumerate(rows):
        tail = studentized_range.tabulate_tail(UnequalDistance(tuple(np.sort(row).tolist())), row.size)
        out[i] = function(x[i], df[i], tail)
    return out.reshape(shape)
