"""Dunnett's law: the largest distance of m systems from one baseline, when all are equal.

Each comparison is t_i = (m_i - m_0) / se; as they share the baseline, any two of them correlate by 1/2. The p-value
is the upper tail of max |t_i|, by quadrature rather than by simulation.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Floats
from shardwise.core.compiled import njit
from shardwise.stats import studentize


def sf(t: npt.ArrayLike, m: int, df: npt.ArrayLike) -> Floats:
    """P(max |t_i| > t) for m comparisons with one baseline.

    >>> float(np.round(sf(2.5, 4, 30), 5))  # R: 1 - pmvt of mvtnorm with correlations 1/2
    0.05941
    >>> from scipy import stats
    >>> bool(np.isclose(sf(2.5, 1, 30), 2 * stats.t.sf(2.5, 30), rtol=1e-12))
    True
    """
    t_, df_, shape = studentize.aligned(t, df)
    w = math.sqrt(2.0) * t_  # the distance Z_i - Z_0 has variance 2
    return studentize.sf_by_df(w, df_, studentize.tabulated(_distance_sf, m)).reshape(shape)


def isf(p: npt.ArrayLike, m: int, df: npt.ArrayLike) -> Floats:
    """The |t| that the largest of m comparisons exceeds with probability p."""
    p_, df_, shape = studentize.aligned(p, df)
    w = studentize.isf(p_, df_, studentize.tabulated(_distance_sf, m)).reshape(shape)
    return np.asarray(w / math.sqrt(2.0))


@njit(cache=True, nogil=True)
def _distance_sf(w: Floats, m: int, out: Floats) -> None:
    """H(w) = 2 ∫₀^∞ φ(z) {1 - [1 - Φ(z - w) - Φ(-z - w)]^m} dz, z being the baseline's value."""
    step = 0.08
    for i in range(w.size):
        total = 0.0
        for k in range(int((0.5 * w[i] + 9.0) / step)):
            z = k * step
            far = 0.5 * math.erfc((w[i] - z) / math.sqrt(2.0)) + 0.5 * math.erfc((w[i] + z) / math.sqrt(2.0))
            some = 1.0 if far >= 1.0 else -math.expm1(m * math.log1p(-far))
            total += (0.5 if k == 0 else 1.0) * math.exp(-0.5 * z * z) * some
        out[i] = min(2.0 * step * total / math.sqrt(2.0 * math.pi), 1.0)
