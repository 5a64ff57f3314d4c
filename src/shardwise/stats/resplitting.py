"""What averaging over splits of the same documents leaves of an error.

On one split a difference d has variance V over documents (and topics, where the claim is about more than these). Part
of that is the split's own: another split of the same documents would have given another d. By the law of total
variance the mean over J splits has

    Var(mean of d) = V - (1 - 1/J) · B,    B = Var(d | documents),

as in within-cluster resampling, where each draw is a valid analysis by itself (Hoffman, Sen & Weinberg 2001; Follmann,
Proschan & Leifer 2003). B is the part that re-splitting removes; V - B is the part that it cannot. Every split
estimates V, and the spread of d over splits estimates B, of each pair from J values only: what all pairs share is the
ratio B / V (on 143 runs of TREC-COVID eight pairs of ten lie within a third of it), so that this is what is estimated.
"""

from __future__ import annotations

from math import ceil, log
from typing import Any

import numpy as np
import scipy

from shardwise.core.arrays import Floats

MOST = (
    0.5  # of V that may be taken off: where splits are nearly all of the error, V - B is a small difference
)


def removable_share(difference: Floats, variance: Floats) -> Floats:
    """Return the share of the variance of differences on one split that is the split's own, B / V.

    >>> float(removable_share(np.array([[0.1], [0.3]]), np.array([[0.05], [0.03]])).round(3))
    0.5
    """
    between = difference.var(axis=0, ddof=1).sum(axis=-1)
    whole = np.broadcast_to(variance, difference.shape).mean(axis=0).sum(axis=-1)
    share = np.divide(between, whole, out=np.zeros_like(whole), where=whole > 0.0)
    return np.asarray(np.clip(share, 0.0, 1.0))


def remaining_share(share: Floats, splits: int) -> Floats:
    """Return the share of the variance that the mean over splits leaves; never less than half of what none removed.

    >>> float(remaining_share(np.array(0.2), 5).round(2)), float(remaining_share(np.array(1.0), 10).round(2))
    (0.84, 0.55)
    """
    return np.asarray(1.0 - (1.0 - 1.0 / splits) * np.minimum(share, MOST))


def satterthwaite_df(df: Any, share: Floats, splits: int, systems: int) -> Floats:
    """Return Satterthwaite's degrees of freedom of V - (1 - 1/J) B.

    Splits of the same documents are no new evidence on V, which keeps the degrees of freedom of one split.
    """
    taken = 1.0 - remaining_share(share, splits)
    return np.asarray((1.0 - taken) ** 2 / (1.0 / np.asarray(df) + taken**2 / ((splits - 1) * (systems - 1))))


def splits_enough(share: float, *, p: float = 0.001, factor: float = 2.0, sets: int = 20) -> int:
    """Number of splits after which a p-value no longer depends on which they are.

    The smallest J with which, for a pair of this p-value, the largest p-value from several independent sets of J splits
    is less than ``factor`` times the smallest, with probability .95. Over sets of splits t = d / sqrt(V) has the
    variance B / (J V - (J - 1) B), and log p falls by φ(t) / (1 - Φ(t)) with t.

    >>> [splits_enough(share) for share in (0.0, 0.01, 0.13)]
    [1, 7, 99]
    """
    t = scipy.stats.norm.isf(p / 2.0)
    slope = scipy.stats.norm.pdf(t) / (p / 2.0)
    # the upper 5 % point of the range of so many standard normal numbers
    reach = float(scipy.stats.studentized_range.isf(0.05, sets, np.inf))
    variance = (log(factor) / (slope * reach)) ** 2
    return max(1, ceil(min(share, 1.0 - 1e-6) * (1.0 / variance - 1.0) / (1.0 - min(share, 1.0 - 1e-6))))


def in_words(share: float, splits: int) -> str:
    """Say what splits do to the error, and how many are enough.

    >>> print(in_words(0.13, 11))
    13% of the error of one split is the split's own; p-values to .001 are steady from 99 splits on, and these are 11
    """
    enough = splits_enough(share)
    have = f"and these are {splits}" if splits < enough else f"and {splits} are enough"
    percent = f"{100 * share:.0f}%" if share >= 0.01 or share == 0.0 else "less than 1%"
    many = f"{enough} splits on" if enough > 1 else "the first split on"
    return f"{percent} of the error of one split is the split's own; p-values to .001 are steady from {many}, {have}"
