"""Plain delimited text -> columns, compiled: cells are found, understood and coded where they stand.

Plain is a text in which nothing is quoted, every row has a cell for each column, and numbers are plain decimals. What
is not is left to Arrow, which reads the same of a plain text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardwise.core.arguments import mapped, workers
from shardwise.core.arrays import Bytes, Ints
from shardwise.core.compiled import njit
from shardwise.io.tables.kernels import Coder, fixed, united
from shardwise.io.tables.names import MANY
from shardwise.io.trec.intrinsics import address, byte, load8, matches, ones, trailing_zeros
from shardwise.io.trec.numbers import parse_plain, read_number, spelled

TEXT, WHOLE, NUMBER = range(3)
"""What is expected in the cells of a column: any text, a whole number as it is mostly written, a decimal number."""
DONE, NOT_WHOLE, STRANGE = range(3)
"""How the reading of rows ended."""

_BLOCK = 8192  # rows whose cells are found before they are coded, which are near then
_SHARE = 1 << 20  # bytes that are worth a thread
_LONGEST = 15  # digits of a whole number that any double holds
_SEEN = 63  # bytes of 64 that are looked for, so that a carriage return is seen with what follows it
_WINDOW = np.uint64((1 << 63) - 1)
_0 = np.uint64(0)
_1 = np.uint64(1)


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Room for what stands in all rows: a row of these arrays is a column."""

    kinds: Ints
    places: Ints  # of each column among those of its kind
    codes: npt.NDArray[np.int32]
    wholes: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.float64]

    @classmethod
    def of(cls, kinds: Sequence[int], rows: int) -> _Columns:
        """Room for columns of these kinds."""
        own = np.array(kinds, dtype=np.int64)
        of_kind = [np.flatnonzero(own == kind) for kind in (TEXT, WHOLE, NUMBER)]
        places = np.empty(len(own), dtype=np.int64)
        for found in of_kind:
            places[found] = np.arange(len(found))
        texts, wholes, numbers = ((len(found), rows) for found in of_kind)
        return cls(own, places, np.empty(texts, np.int32), np.empty(wholes, np.int64), np.empty(numbers))


@dataclass(frozen=True, slots=True, eq=False)
class _Share:
    """Rows for one worker: where they stand, and what is his own."""

    text: Bytes  # from the first of them on
    first: int
    rows: int
    coders: tuple[Coder, ...]
    parts: npt.NDArray[np.uint8]  # whether a column of numbers has some that are not whole


def plain_columns(text: Bytes, end: int, delimiter: str, kinds: Sequence[int]) -> tuple[int, list[pa.Array]]:
    """How the reading ended, and the columns of a text, if it is plain.

    Parameters
    ----------
    text
        The rows, with `PADDING` newlines behind their end.
    end
        How many bytes they are.
    delimiter
        What stands between cells.
    kinds
        What to expect in each column.
    """
    cuts = _cuts(text, end)
    texts = [fixed(text[cut:]) for cut in cuts[:-1]]
    counted = list(
        mapped(_surveyed, [(one, b - a) for one, (a, b) in zip(texts, pairwise(cuts), strict=True)])
    )
    firsts = np.cumsum([0, *(rows for rows, _ in counted)]).tolist()
    if any(odd for _, odd in counted) or firsts[-1] < MANY:
        return STRANGE, []
    columns = _Columns.of(kinds, firsts[-1])
    shares = [
        _Share(
            one, first, rows, tuple(Coder() for _ in columns.codes), np.zeros(len(columns.numbers), np.uint8)
        )
        for one, first, (rows, _) in zip(texts, firsts, counted, strict=False)
    ]
    ended = max(mapped(lambda share: _read(share, columns, ord(delimiter)), shares))
    if ended != DONE:
        return ended, []
    try:
        return DONE, [_array(k, columns, shares) for k in range(len(kinds))]
    except pa.ArrowInvalid:  # no text
        return STRANGE, []


def _cuts(text: Bytes, end: int) -> list[int]:
    """Where shares of about one size begin, each at the beginning of a row, and the end."""
    shares = max(1, min(workers(None), end // _SHARE))
    cuts = [0]
    for k in range(1, shares):
        at = end * k // shares
        cut = at + text[at : at + _SHARE].tobytes().find(b"\n") + 1
        if max(cuts[-1], at) < cut < end:
            cuts.append(cut)
    return [*cuts, end]


def _surveyed(part: tuple[Bytes, int]) -> tuple[int, bool]:
    return _survey(*part)


def _read(share: _Share, columns: _Columns, delimiter: int) -> int:
    """Read the rows of a share into the columns."""
    starts, stops = (np.empty((len(share.coders), _BLOCK), dtype=np.int64) for _ in range(2))
    at = 0
    for before in range(0, share.rows, _BLOCK):
        first, rows = share.first + before, min(_BLOCK, share.rows - before)
        at, ended = _split(
            share.text, at, delimiter, columns.kinds, columns.places, starts, stops, columns.wholes, columns.numbers,
            share.parts, first, rows,
        )  # fmt: skip
        if ended != DONE:
            return ended
        for k, coder in enumerate(share.coders):
            own = columns.codes[k, first : first + rows]
            coder.code(share.text, fixed(starts[k, :rows]), fixed(stops[k, :rows]), own)
    return DONE


def _array(column: int, columns: _Columns, shares: Sequence[_Share]) -> pa.Array:
    """What stands in a column."""
    kind, place = columns.kinds[column], columns.places[column]
    if kind == WHOLE:
        return pa.array(columns.wholes[place])
    if kind == NUMBER:
        found = columns.numbers[place]
        return pa.array(found if any(share.parts[place] for share in shares) else found.astype(np.int64))
    codes = columns.codes[place]
    own = [codes[share.first : share.first + share.rows] for share in shares]
    names = united([share.coders[place] for share in shares], own)
    names.validate(full=True)
    return pa.DictionaryArray.from_arrays(pa.array(codes), names.cast(pa.string()), safe=False)


@njit(cache=True, nogil=True)
def _survey(text: Bytes, end: int) -> tuple[int, bool]:
    """How many rows there are, and whether there is a quote, or a carriage return other than at the end of a row."""
    at, stop = address(text), address(text) + end
    rows, odd = 0, _0
    while at < stop:
        seen = _WINDOW if at + _SEEN <= stop else (_1 << np.uint64(stop - at)) - _1
        newlines = matches(at, 10)
        rows += ones(newlines & seen)
        odd |= (matches(at, 34) | (matches(at, 13) & ~(newlines >> _1))) & seen
        at += _SEEN
    if end > 0 and text[end - 1] != 10:
        rows += 1
    return rows, odd != _0


@njit(cache=True, nogil=True)
def _split(
    text: Bytes,
    done: int,
    delimiter: int,
    kinds: Ints,
    places: Ints,
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    wholes: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.float64],
    parts: Bytes,
    first: int,
    rows: int,
) -> tuple[int, int]:
    """Find the cells of some rows and read the numbers among them; return where it stopped, and why."""
    begin = address(text)
    at = begin + done
    columns = len(kinds)
    for row in range(rows):
        base = at
        newlines = matches(base, 10) & _WINDOW
        marks = (matches(base, delimiter) & _WINDOW) | newlines
        points = matches(base, 46)
        for c in range(columns):
            while marks == _0:
                base += _SEEN
                newlines = matches(base, 10) & _WINDOW
                marks = (matches(base, delimiter) & _WINDOW) | newlines
                points = matches(base, 46)
            mark = marks & (_0 - marks)
            marks ^= mark
            start, stop = at, base + trailing_zeros(mark)
            at = stop + 1
            last = c == columns - 1
            if (newlines & mark != _0) != last:
                return at - begin, STRANGE
            if last and byte(stop - 1) == 13:
                stop -= 1
            place = places[c]
            if kinds[c] == TEXT:
                starts[place, row] = start - begin
                stops[place, row] = stop - begin
            elif kinds[c] == WHOLE:
                value, plain = _whole(start, stop - start)
                if not plain:
                    return at - begin, NOT_WHOLE
                wholes[place, first + row] = value
            else:
                point = stop
                if start >= base:
                    below = mark - _1
                    seen = points & below & ~((_1 << np.uint64(start - base)) - _1)
                    point = base + trailing_zeros(seen | mark) if seen != _0 else stop
                number, plain = parse_plain(start, stop, point)
                if plain:
                    parts[place] |= point != stop
                else:
                    number, plain, broken = _unusual(start, stop)
                    if not plain:
                        return at - begin, STRANGE
                    parts[place] |= broken
                numbers[place, first + row] = number
    return at - begin, DONE


@njit(cache=True, nogil=True)
def _whole(at: int, size: int) -> tuple[int, bool]:
    """The whole number of so many digits at a place, and whether it is one that no zeros stand before."""
    if size < 1 or size > _LONGEST or (size > 1 and byte(at) == 48):
        return 0, False
    if size <= 8:
        value, strange = spelled(load8(at), size)
        return int(value), bool(strange == _0)
    high, strange = spelled(load8(at), size - 8)
    low, odd = spelled(load8(at + size - 8), 8)
    return int(high) * 100_000_000 + int(low), bool((strange | odd) == _0)


@njit(cache=True, nogil=True)
def _unusual(start: int, stop: int) -> tuple[float, bool, bool]:
    """The number of a cell, whether all of it is one that Arrow reads too, and whether it is written as not whole."""
    end, understood, value = read_number(start)
    if not understood or end != stop or byte(start) == 43:
        return 0.0, False, False
    for at in range(start, stop):
        c = byte(at)
        if c == 46 or c == 69 or c == 101:
            return value, True, True
    digits = stop - start - (byte(start) == 45)
    return value, digits <= _LONGEST, False
