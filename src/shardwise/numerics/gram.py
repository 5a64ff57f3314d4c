"""What a table of any length says of means and their differences: its number of rows, means and cross-products.

One pass over blocks of rows, in any order, in constant memory: each block is centred by itself, and two blocks are put
together by the update of Chan, Golub & LeVeque (1983), so that nothing large is subtracted from anything large.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints


class Gram(NamedTuple):
    """Sufficient statistics of n rows of R columns."""

    n: int
    mean: Floats  # (R,)
    cross: Floats  # (R, R) sum over rows of (x - mean)(x - mean)'


def gram(columns: Floats) -> Gram:
    """Statistics of (R, n) columns.

    >>> gram(np.array([[1.0, 3.0], [2.0, 2.0]])).cross.tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    n = columns.shape[1]
    if not n:
        return Gram(0, np.zeros(len(columns)), np.zeros((len(columns), len(columns))))
    mean = columns.mean(axis=1)
    centred = columns - mean[:, None]
    return Gram(n, mean, centred @ centred.T)


def merged(one: Gram, other: Gram) -> Gram:
    """Statistics of the rows of both (Chan, Golub & LeVeque 1983).

    >>> a, b = gram(np.array([[1.0, 3.0]])), gram(np.array([[8.0]]))
    >>> merged(a, b).mean.tolist(), merged(a, b).cross.tolist()
    ([4.0], [[26.0]])
    """
    if not one.n or not other.n:
        return one if other.n == 0 else other
    n = one.n + other.n
    apart = other.mean - one.mean
    cross = one.cross + other.cross
    cross += np.multiply.outer(apart, apart) * (one.n * (other.n / n))
    return Gram(n, one.mean + apart * (other.n / n), cross)


def all_merged(parts: Iterable[Gram]) -> Gram:
    """Statistics of the rows of all parts, of which there is at least one."""
    return reduce(merged, parts)


def pair_variances(found: Gram, ia: Ints, ib: Ints) -> Floats:
    """(P,) variances over rows (ddof 1) of the differences of pairs of columns; 0 where it is rounding."""
    squares = found.cross.diagonal()
    both = squares[ia] + squares[ib]
    own = both - 2.0 * found.cross[ia, ib]
    rounding = own <= 1e-13 * np.maximum(both, found.n * np.maximum(found.mean[ia] ** 2, found.mean[ib] ** 2))
    return np.where(rounding, 0.0, own) / (found.n - 1.0)


def interaction_square(found: Gram) -> float:
    """SS(row:column), of an additive model's residuals: the trace of the cross-products less their mean row's part."""
    return max(0.0, float(np.trace(found.cross) - found.cross.sum() / len(found.mean)))
