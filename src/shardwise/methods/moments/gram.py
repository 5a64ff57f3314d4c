"""What a table of any length says of means and their differences: its number of rows, means and cross-products.

One pass over blocks of rows, in any order, in constant memory: each piece of a block is centred by itself, and they are
put together by the update of Chan, Golub & LeVeque (1983), so that nothing large is subtracted from anything large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Floats, Ints

PIECE = 2**19  # scores that are centred and multiplied at a time: 4 MB, which the caches of a processor hold
SHORTEST = 512  # rows of a piece at least, so that the product outweighs adding it to the others


class Gram(NamedTuple):
    """Sufficient statistics of n rows of R columns, with products of different columns or without them."""

    n: int
    mean: Floats  # (R,)
    squares: Floats  # (R,) sum over rows of (x - mean)²
    total: float  # sum over rows of the square of the row's sum of (x - mean)
    cross: Floats | None  # (R, R) sum over rows of (x - mean)(x - mean)'

    @classmethod
    def of_products(cls, n: int, mean: Floats, cross: Floats) -> Gram:
        """Return the statistics with their cross-products, of which squares are the diagonal."""
        return cls(n, mean, cross.diagonal().copy(), float(cross.sum()), cross)

    @property
    def products(self) -> Floats:
        """(R, R) cross-products, where they were kept."""
        assert self.cross is not None, "margins are refused where products are needed"
        return self.cross

    def select_columns(self, order: Ints) -> Gram:
        """The same with columns in another order."""
        cross = None if self.cross is None else self.cross[np.ix_(order, order)]
        return Gram(self.n, self.mean[order], self.squares[order], self.total, cross)


class Room:
    """Memory for a piece and its products, which one thread uses again: fresh pages cost time."""

    def __init__(self) -> None:
        self._kept: dict[str, Floats] = {}

    def get_buffer(self, use: str, size: int) -> Floats:
        """So many numbers of anything, good until the same use is asked for again."""
        if use not in self._kept or self._kept[use].size < size:
            self._kept[use] = np.empty(size)
        return self._kept[use][:size]


Whole = Callable[[Floats, int], Floats]


def compute_gram(columns: Floats) -> Gram:
    """Statistics of (R, n) columns.

    >>> compute_gram(np.array([[1.0, 3.0], [2.0, 2.0]])).cross.tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    return gram_of([columns], len(columns))


def gram_of(
    pieces: Iterable[Floats],
    columns: int,
    whole: Whole | None = None,
    room: Room | None = None,
    *,
    margins: bool = False,
) -> Gram:
    """Statistics of the rows of all (R, n) pieces; a piece may be gone once the next is asked for.

    ``whole`` is given every piece whose sum is not finite, with the number of rows before it, and says what to keep.
    ``room`` is memory of the thread that calls, if there is more to come.

    >>> gram_of([np.array([[1.0, 3.0]]), np.array([[8.0]])], 1).cross.tolist()
    [[26.0]]

    With ``margins`` alone products of different columns are left out, in a fraction of the time.
    """
    room = room or Room()
    cross = np.zeros((columns, columns) if not margins else (0, 0))
    product = room.get_buffer("product", cross.size).reshape(cross.shape)
    squares, total = np.zeros(columns), 0.0
    parts: list[tuple[int, Floats]] = []
    for mean, centred in _center_pieces(pieces, whole, room):
        parts.append((centred.shape[1], mean))
        if margins:
            squares += np.einsum("ij,ij->i", centred, centred)
            together = centred.sum(axis=0)
            total += float(together @ together)
        else:
            # of a matrix and its own transpose numpy makes one half (syrk), and lets other threads go on meanwhile
            cross += np.matmul(centred, centred.T, out=product)
    # means of all, and (R, pieces) how far the pieces' own are from them, times √ of their rows
    if not parts:
        parts = [(0, np.zeros(columns))]
    counts = np.array([rows for rows, _ in parts], dtype=np.float64)
    means, n = np.stack([mean for _, mean in parts], axis=1), int(counts.sum())
    first = means[:, :1]
    mean = (first + ((means - first) @ counts / max(n, 1))[:, None])[:, 0]
    apart = (means - mean[:, None]) * np.sqrt(counts)
    if margins:
        squares += (apart * apart).sum(axis=1)
        return Gram(n, mean, squares, total + float((apart.sum(axis=0) ** 2).sum()), None)
    cross += np.matmul(apart, apart.T, out=product)
    return Gram.of_products(n, mean, cross)


def _center_pieces(
    pieces: Iterable[Floats], whole: Whole | None, room: Room
) -> Iterator[tuple[Floats, Floats]]:
    """Means of each piece and what is left of it, in memory that is used again, laid out as the piece is."""
    rows = 0
    for columns in pieces:
        step = max(SHORTEST, PIECE // max(len(columns), 1))
        for first in range(0, columns.shape[1], step):
            piece = columns[:, first : first + step]
            before, rows = rows, rows + piece.shape[1]
            mean = piece.mean(axis=1)
            if whole is not None and not np.isfinite(mean).all():
                piece = whole(piece, before)
                if not piece.shape[1]:
                    continue
                mean = piece.mean(axis=1)
            buffer = room.get_buffer("centred", piece.size)
            by_row = abs(piece.strides[0]) < abs(piece.strides[1])
            out = buffer.reshape(piece.shape[::-1]).T if by_row else buffer.reshape(piece.shape)
            yield mean, np.subtract(piece, mean[:, None], out=out)


def merge_moments(first: Gram, second: Gram) -> Gram:
    """Statistics of the rows of both (Chan, Golub & LeVeque 1983).

    >>> a, b = compute_gram(np.array([[1.0, 3.0]])), compute_gram(np.array([[8.0]]))
    >>> merge_moments(a, b).mean.tolist(), merge_moments(a, b).cross.tolist()
    ([4.0], [[26.0]])
    >>> merge_moments(a._replace(cross=None), b._replace(cross=None)).squares.tolist()
    [26.0]
    """
    if not first.n or not second.n:
        return first if second.n == 0 else second
    n = first.n + second.n
    apart = second.mean - first.mean
    weight = first.n * (second.n / n)
    mean = first.mean + apart * (second.n / n)
    if first.cross is None or second.cross is None:
        squares = first.squares + second.squares + apart * apart * weight
        return Gram(n, mean, squares, first.total + second.total + float(apart.sum()) ** 2 * weight, None)
    cross = np.multiply.outer(apart, apart)
    cross *= weight
    cross += first.cross
    cross += second.cross
    return Gram.of_products(n, mean, cross)


def pair_variances(gram: Gram, ia: Ints, ib: Ints) -> Floats:
    """(P,) variances over rows (ddof 1) of the differences of pairs of columns; 0 where it is rounding."""
    both = gram.squares[ia] + gram.squares[ib]
    variances = both - 2.0 * gram.products[ia, ib]
    rounding = variances <= 1e-13 * np.maximum(
        both, gram.n * np.maximum(gram.mean[ia] ** 2, gram.mean[ib] ** 2)
    )
    return np.where(rounding, 0.0, variances) / (gram.n - 1.0)


def interaction_square(gram: Gram) -> float:
    """SS(row:column), of an additive model's residuals: the squares of the columns less their mean row's part."""
    return max(0.0, float(gram.squares.sum() - gram.total / len(gram.mean)))
