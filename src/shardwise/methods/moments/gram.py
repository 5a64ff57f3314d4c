"""What a table of any length says of means and their differences: its number of rows, means and cross-products.

One pass over blocks of rows, in any order, in constant memory: each piece of a block is centred by itself, and they are
put together by the update of Chan, Golub & LeVeque (1983), so that nothing large is subtracted from anything large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from shardwise.core.arrays import Floats, Ints

PIECE = 2**19  # scores that are centred and multiplied at a time: 4 MB, which the caches of a processor hold
SHORTEST = 512  # rows of a piece at least, so that the product outweighs adding it to the others


class Margins(NamedTuple):
    """What n rows of R columns say of each column, and of one error for all differences."""

    n: int
    mean: Floats  # (R,)
    squares: Floats  # (R,) sum over rows of (x - mean)²
    total: float  # sum over rows of the square of the row's sum of (x - mean)

    @property
    def margins(self) -> Margins:
        """These."""
        return self


class Gram(NamedTuple):
    """Sufficient statistics of n rows of R columns."""

    n: int
    mean: Floats  # (R,)
    cross: Floats  # (R, R) sum over rows of (x - mean)(x - mean)'

    @property
    def margins(self) -> Margins:
        """The same without products of different columns."""
        return Margins(self.n, self.mean, self.cross.diagonal().copy(), float(self.cross.sum()))


class Room:
    """Memory for a piece and its products, which one thread uses again: fresh pages cost time."""

    def __init__(self) -> None:
        self._kept: dict[str, Floats] = {}

    def of(self, use: str, size: int) -> Floats:
        """So many numbers of anything, good until the same use is asked for again."""
        if use not in self._kept or self._kept[use].size < size:
            self._kept[use] = np.empty(size)
        return self._kept[use][:size]


Kept = TypeVar("Kept", Gram, Margins)
Whole = Callable[[Floats, int], Floats]


def piece_rows(columns: int) -> int:
    """Rows of so many columns that are best taken at a time.

    >>> piece_rows(500), piece_rows(100_000)
    (1048, 512)
    """
    return max(SHORTEST, PIECE // max(columns, 1))


def gram(columns: Floats) -> Gram:
    """Statistics of (R, n) columns.

    >>> gram(np.array([[1.0, 3.0], [2.0, 2.0]])).cross.tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    return gram_of([columns], len(columns))


def gram_of(
    pieces: Iterable[Floats], columns: int, whole: Whole | None = None, room: Room | None = None
) -> Gram:
    """Statistics of the rows of all (R, n) pieces; a piece may be gone once the next is asked for.

    ``whole`` is given every piece whose sum is not finite, with the number of rows before it, and says what to keep.
    ``room`` is memory of the thread that calls, if there is more to come.

    >>> gram_of([np.array([[1.0, 3.0]]), np.array([[8.0]])], 1).cross.tolist()
    [[26.0]]
    """
    room = room or Room()
    cross, product = np.zeros((columns, columns)), room.of("product", columns**2).reshape(columns, columns)
    parts: list[tuple[int, Floats]] = []
    for mean, centred in _centred(pieces, whole, room):
        parts.append((centred.shape[1], mean))
        # of a matrix and its own transpose numpy makes one half (syrk), and lets other threads go on meanwhile
        cross += np.matmul(centred, centred.T, out=product)
    n, mean, apart = _means(parts, columns)
    cross += np.matmul(apart, apart.T, out=product)
    return Gram(n, mean, cross)


def margins_of(
    pieces: Iterable[Floats], columns: int, whole: Whole | None = None, room: Room | None = None
) -> Margins:
    """The same without products of different columns, in a fraction of the time.

    >>> margins_of([np.array([[1.0, 3.0], [2.0, 2.0]])], 2)[2:]
    (array([2., 0.]), 2.0)
    """
    squares, total = np.zeros(columns), 0.0
    parts: list[tuple[int, Floats]] = []
    for mean, centred in _centred(pieces, whole, room or Room()):
        parts.append((centred.shape[1], mean))
        squares += np.einsum("ij,ij->i", centred, centred)
        together = centred.sum(axis=0)
        total += float(together @ together)
    n, mean, apart = _means(parts, columns)
    squares += (apart * apart).sum(axis=1)
    return Margins(n, mean, squares, total + float((apart.sum(axis=0) ** 2).sum()))


def _centred(pieces: Iterable[Floats], whole: Whole | None, room: Room) -> Iterator[tuple[Floats, Floats]]:
    """Means of each piece and what is left of it, in memory that is used again, laid out as the piece is."""
    rows = 0
    for columns in pieces:
        step = piece_rows(len(columns))
        for first in range(0, columns.shape[1], step):
            piece = columns[:, first : first + step]
            before, rows = rows, rows + piece.shape[1]
            mean = piece.mean(axis=1)
            if whole is not None and not np.isfinite(mean).all():
                piece = whole(piece, before)
                if not piece.shape[1]:
                    continue
                mean = piece.mean(axis=1)
            place = room.of("centred", piece.size)
            by_row = abs(piece.strides[0]) < abs(piece.strides[1])
            out = place.reshape(piece.shape[::-1]).T if by_row else place.reshape(piece.shape)
            yield mean, np.subtract(piece, mean[:, None], out=out)


def _means(parts: list[tuple[int, Floats]], columns: int) -> tuple[int, Floats, Floats]:
    """Number of rows, means of all, and (R, pieces) how far the pieces' own are from them, times √ of their rows."""
    if not parts:
        return 0, np.zeros(columns), np.zeros((columns, 1))
    counts = np.array([n for n, _ in parts], dtype=np.float64)
    means = np.stack([mean for _, mean in parts], axis=1)
    first = means[:, :1]
    mean = (first + ((means - first) @ counts / counts.sum())[:, None])[:, 0]
    return int(counts.sum()), mean, (means - mean[:, None]) * np.sqrt(counts)


def merged(one: Kept, other: Kept) -> Kept:
    """Statistics of the rows of both (Chan, Golub & LeVeque 1983).

    >>> a, b = gram(np.array([[1.0, 3.0]])), gram(np.array([[8.0]]))
    >>> merged(a, b).mean.tolist(), merged(a, b).cross.tolist()
    ([4.0], [[26.0]])
    >>> merged(a.margins, b.margins).squares.tolist()
    [26.0]
    """
    if not one.n or not other.n:
        return one if other.n == 0 else other
    n = one.n + other.n
    apart = other.mean - one.mean
    weight = one.n * (other.n / n)
    mean = one.mean + apart * (other.n / n)
    if isinstance(one, Margins):
        squares = one.squares + other.squares + apart * apart * weight
        return Margins(n, mean, squares, one.total + other.total + float(apart.sum()) ** 2 * weight)
    cross = np.multiply.outer(apart, apart)
    cross *= weight
    cross += one.cross
    cross += other.cross
    return Gram(n, mean, cross)


def pair_variances(found: Gram, ia: Ints, ib: Ints) -> Floats:
    """(P,) variances over rows (ddof 1) of the differences of pairs of columns; 0 where it is rounding."""
    squares = found.cross.diagonal()
    both = squares[ia] + squares[ib]
    own = both - 2.0 * found.cross[ia, ib]
    rounding = own <= 1e-13 * np.maximum(both, found.n * np.maximum(found.mean[ia] ** 2, found.mean[ib] ** 2))
    return np.where(rounding, 0.0, own) / (found.n - 1.0)


def interaction_square(found: Margins) -> float:
    """SS(row:column), of an additive model's residuals: the squares of the columns less their mean row's part."""
    return max(0.0, float(found.squares.sum() - found.total / len(found.mean)))
