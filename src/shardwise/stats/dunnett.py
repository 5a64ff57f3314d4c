"""Dunnett's law: the largest distance of m systems from one baseline, when all are equal.

Each comparison is t_i = (m_i - m_0) / se; as they share the baseline, any two of them correlate by 1/2. The p-value
is the upper tail of max |t_i|, by quadrature rather than by simulation.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Floats
from shardwise.stats import studentize
from shardwise.stats.quadrature import distance_sf


def sf(t: npt.ArrayLike, m: int, df: npt.ArrayLike) -> Floats:
    """P(max |t_i| > t) for m comparisons with one baseline.

    >>> float(np.round(sf(2.5, 4, 30), 5))  # R: 1 - pmvt of mvtnorm with correlations 1/2
    0.05941
    >>> from scipy import stats
    >>> bool(np.isclose(sf(2.5, 1, 30), 2 * stats.t.sf(2.5, 30), rtol=1e-12))
    True
    """
    t_, df_, shape = studentize.align_arrays(t, df)
    w = math.sqrt(2.0) * t_  # the distance Z_i - Z_0 has variance 2
    return studentize.sf_by_df(w, df_, studentize.tabulate_tail(distance_sf, m)).reshape(shape)


def isf(p: npt.ArrayLike, m: int, df: npt.ArrayLike) -> Floats:
    """The |t| that the largest of m comparisons exceeds with probability p."""
    p_, df_, shape = studentize.align_arrays(p, df)
    w = studentize.isf(p_, df_, studentize.tabulate_tail(distance_sf, m)).reshape(shape)
    return np.asarray(w / math.sqrt(2.0))
