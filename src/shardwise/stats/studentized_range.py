"""The studentized range: the distribution of the largest of all differences between R equal systems.

Q = (max - min of R standard normal variables) / s, with s² an independent estimate of the variance on df degrees
of freedom. Tukey's honestly significant difference reads its p-values off the upper tail of Q (F19 eq. 2).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shardwise.core.arrays import Floats
from shardwise.core.errors import InputError
from shardwise.stats import studentize
from shardwise.stats import studentized_octaves as octaves
from shardwise.stats.quadrature import range_sf

MOST_SYSTEMS = 5000
FEW = 16  # degrees of freedom from which on their octaves are worth a table


def sf(q: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """P(Q > q) for the range of r systems; relative error below 1e-8 down to the smallest tails.

    >>> float(np.round(sf(3.5, 3, 20), 6))  # R: ptukey(3.5, 3, 20, lower.tail = FALSE)
    0.055892
    """
    tail, df_ = _tabulate_tail(r), np.asarray(df, dtype=float)
    if df_.ndim > 1 and df_.shape[-1] == 1 and np.ptp(df_) > 0.0:  # rows of tables, each with its own df
        rows = np.broadcast_to(np.asarray(q, dtype=float), np.broadcast_shapes(np.shape(q), df_.shape))
        flat = np.broadcast_to(df_, (*rows.shape[:-1], 1)).reshape(-1)
        return octaves.sf(rows.reshape(flat.size, -1), flat, tail).reshape(rows.shape)
    q_, df_, shape = studentize.align_arrays(q, _checked_df(df))
    return studentize.sf_by_df(q_, df_, tail).reshape(shape)


def isf(p: npt.ArrayLike, r: int, df: npt.ArrayLike) -> Floats:
    """The q exceeded with probability p: Q of F19 eq. 3.

    >>> float(np.round(isf(0.05, 3, 20), 4))  # R: qtukey(.95, 3, 20)
    3.5779
    """
    tail, df_ = _tabulate_tail(r), np.asarray(df, dtype=float)
    if np.ndim(p) == 0 and df_.size > FEW:
        return octaves.isf(float(np.asarray(p)), df_.ravel(), tail).reshape(df_.shape)
    p_, df_, shape = studentize.align_arrays(p, _checked_df(df))
    return studentize.isf(p_, df_, tail).reshape(shape)


def _tabulate_tail(r: int) -> studentize.TabulatedTail:
    if r != int(r) or not 2 <= r <= MOST_SYSTEMS:
        raise InputError(
            f"a range of {r} systems is not tabulated", remedy=f"use 2 to {MOST_SYSTEMS} systems"
        )
    return studentize.tabulate_tail(range_sf, int(r))


def _checked_df(df: npt.ArrayLike) -> Floats:
    df_ = np.asarray(df, dtype=float)
    if (df_ < 1).any():
        raise InputError(f"{df_.min():g} degrees of freedom are too few", remedy="at least 1 is needed")
    return df_
