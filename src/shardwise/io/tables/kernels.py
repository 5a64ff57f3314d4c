"""What takes long in tables of many rows, compiled: names to codes, names in their order, scores to their cells.

Small tables do without: compiling takes longer than they do, where the compiled code is not there yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shardwise.core.arguments import mapped, workers
from shardwise.core.arrays import Bools, Bytes, Codes, Floats, Ints, Words
from shardwise.core.compiled import njit
from shardwise.io.tables.hashing import hash_more, home, sort_names
from shardwise.io.tables.names import MANY, letters
from shardwise.io.trec.interning import SECRET
from shardwise.io.trec.intrinsics import address, byte, load8, low_bytes, prefetch, reversed_bytes

Values = TypeVar("Values", Bytes, Codes, Words, Ints, Floats)

_BLOCK = 1 << 14  # rows whose places are known at a time
_SHARE = 100_000  # rows that are worth a thread
_TRIED = 8  # of these, which are compared with the row before also where most of them differed
_LETTERS = 1 << 17  # bytes of names that are worth a thread
_AHEAD = 32  # rows that are hashed before the first of them is looked up
_TEXT = 2  # what a text in a key begins with; a number begins with one less, and 0 ends
_LONGEST = 255  # bytes of a name whose numbers tell their length in a byte
_HALF = np.uint64(32)
_TOP = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0x00000000FFFFFFFF)
_0 = np.uint64(0)


def coded_texts(data: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Codes of texts without gaps, in the order in which they first stand, and the texts by code.

    Each block is gone through where it lies: nothing is put together but the texts that differ. Each processor codes a
    share of the blocks by itself.

    >>> codes, names = coded_texts(pa.chunked_array([["b", "a"], ["a", "cc", "b"]]))
    >>> codes.tolist(), names.to_pylist()
    ([0, 1, 1, 2, 0], ['b', 'a', 'cc'])
    """
    codes = np.empty(len(data), dtype=np.int32)
    edges = [0, *np.cumsum([len(chunk) for chunk in data.chunks])]
    cuts = np.searchsorted(edges, np.linspace(0, len(data), _shares(len(data)) + 1))
    parts = [
        (data.chunks[first:last], codes[edges[first] : edges[last]])
        for first, last in pairwise(cuts)
        if last > first
    ]
    return codes, united(list(mapped(_coded, parts)), [own for _, own in parts])


def united(parts: Sequence[Coder], codes: Sequence[Codes]) -> pa.Array:
    """Give the codes of all parts one meaning, that of the order of their names; return the texts by code."""
    if not parts:
        return pa.array([], pa.large_string())
    first = parts[0]  # whose codes stay as they are
    for one, own in zip(parts[1:], codes[1:], strict=True):
        to = np.empty(one.count, dtype=np.int32)
        first.code(fixed(one.names.view()), fixed(one.starts[:-1]), fixed(one.starts[1:]), to)
        translate(fixed(to), own)
    return first.texts()


def _coded(part: tuple[Sequence[pa.Array], Codes]) -> Coder:
    """Write the codes of some blocks."""
    chunks, codes = part
    coder, before = Coder(), 0
    for chunk in chunks:
        if not len(chunk):
            continue
        _, where, what = chunk.buffers()
        edges = np.frombuffer(where, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1].astype(
            np.int64
        )
        text = np.frombuffer(what if what is not None else b"", dtype=np.uint8)
        if len(text) < edges[-1] + 8:
            text = np.concatenate([text, np.zeros(8, dtype=np.uint8)])
        coder.code(fixed(text), fixed(edges[:-1]), fixed(edges[1:]), codes[before : before + len(chunk)])
        before += len(chunk)
    return coder


class Coder:
    """A growing dictionary of texts, filled by one worker: codes are in the order in which they first stand."""

    def __init__(self) -> None:
        self.count = 0
        self.slots: Words = np.zeros(1 << 13, dtype=np.uint64)
        self.hashes: Words = np.empty(1 << 12, dtype=np.uint64)
        self.starts: Ints = np.zeros((1 << 12) + 1, dtype=np.int64)
        self.names: Bytes = np.empty(1 << 16, dtype=np.uint8)

    def code(self, text: Bytes, starts: Ints, stops: Ints, codes: Codes) -> None:
        """Write the codes of texts that stand from some places to others, with eight bytes behind the last."""
        done = 0
        while True:
            done, self.count = _code_texts(
                text, starts, stops, codes, done, self.slots, self.hashes, self.starts, self.names, self.count, SECRET
            )  # fmt: skip
            if done == len(codes):
                return
            self._make_room(int(stops[done]) - int(starts[done]))

    def _make_room(self, size: int) -> None:
        """Make room for a text of that size, and for as many again as there are."""
        count = self.count
        if 2 * (count + 1) >= len(self.slots):
            self.slots = np.zeros(4 * len(self.slots), dtype=np.uint64)
            _put_again(self.slots, self.hashes, count)
        if count == len(self.hashes):
            self.hashes, self.starts = _larger(self.hashes, 2 * count), _larger(self.starts, 2 * count + 1)
        need = int(self.starts[count]) + size + 8
        if need > len(self.names):
            self.names = _larger(self.names, 2 * need)

    def texts(self) -> pa.Array:
        """The texts by code."""
        ends, names = self.starts[: self.count + 1], self.names[: self.starts[self.count]]
        return pa.LargeStringArray.from_buffers(self.count, pa.py_buffer(ends), pa.py_buffer(names))


def differ(names: Sequence[str]) -> bool:
    """Whether no name is there twice.

    >>> differ(["a", "b"]), differ(["a", "a"])
    (True, False)
    """
    if len(names) < MANY:
        return len(set(names)) == len(names)
    text, sizes = letters(names)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    coder = Coder()
    coder.code(
        fixed(np.frombuffer(text + bytes(8), dtype=np.uint8)),
        fixed(edges[:-1]),
        fixed(edges[1:]),
        np.empty(len(names), dtype=np.int32),
    )
    return coder.count == len(names)


def text_array(names: Sequence[str]) -> npt.NDArray[np.str_]:
    """Names as an array of fixed width, as numpy makes it, in a tenth of the time where there are many.

    >>> text_array(["b", "cc"])
    array(['b', 'cc'], dtype='<U2')
    """
    text, sizes = letters(names) if len(names) >= MANY else (b"", np.zeros(0, dtype=np.int64))
    if not text.isascii() or not text:
        return np.array(list(names), dtype=np.str_)
    spread = np.zeros((len(names), sizes.max()), dtype=np.int32)
    _spread(fixed(np.frombuffer(text, dtype=np.uint8)), sizes, spread)
    return spread.view(f"<U{spread.shape[1]}")[:, 0]


@njit(cache=True, nogil=True)
def _spread(text: Bytes, sizes: Ints, letters: Codes) -> None:
    """Write each name's letters into a row."""
    at = 0
    for n in range(len(sizes)):
        for k in range(sizes[n]):
            letters[n, k] = text[at + k]
        at += sizes[n]


def fixed(values: Values) -> Values:
    """The same, not to be written to whatever it is of: kernels are compiled for one kind of array."""
    values.flags.writeable = False
    return values


def _larger(values: Values, size: int) -> Values:
    room = np.empty(size, dtype=values.dtype)
    room[: len(values)] = values
    return room


@njit(cache=True, nogil=True)
def _code_texts(
    text: Bytes,
    begins: Ints,
    ends: Ints,
    codes: Codes,
    done: int,
    slots: Words,
    hashes: Words,
    starts: Ints,
    names: Bytes,
    count: int,
    key: np.uint64,
) -> tuple[int, int]:
    """Code texts until all are done or room has to be made; return (done, count).

    Some rows are hashed before they are looked up, so that what they will be compared with is near by then.
    """
    mask = len(slots) - 1
    own = np.empty(_AHEAD, dtype=np.uint64)
    again = np.zeros(
        _AHEAD, dtype=np.bool_
    )  # says the same as the row before, as most do where rows stand in order
    here, kept = address(text), address(names)
    ordered = True
    for first in range(done, len(codes), _AHEAD):
        rows = min(_AHEAD, len(codes) - first)
        repeats = 0
        for k in range(rows):
            start = here + begins[first + k]
            size = ends[first + k] - begins[first + k]
            again[k] = False
            if k > 0 and (ordered or k < _TRIED):
                before = begins[first + k - 1]
                again[k] = ends[first + k - 1] - before == size and _same(start, here + before, size)
            if again[k]:
                repeats += 1
            else:
                own[k] = _hashed(start, size, key)
                prefetch(slots, np.int64(own[k] >> _HALF) & mask)
        ordered = repeats * 2 > (rows if ordered else _TRIED)
        if not ordered:
            for k in range(rows):
                code = np.int64(slots[np.int64(own[k] >> _HALF) & mask] & _LOW) - 1
                prefetch(starts, code)
            for k in range(rows):
                code = np.int64(slots[np.int64(own[k] >> _HALF) & mask] & _LOW) - 1
                prefetch(names, starts[code])
        for k in range(rows):
            if again[k]:
                codes[first + k] = codes[first + k - 1]
                continue
            h = own[k]
            start = here + begins[first + k]
            size = ends[first + k] - begins[first + k]
            top = (h << _HALF) & _TOP
            place = np.int64(h >> _HALF) & mask
            while True:
                slot = slots[place]
                if slot == _0:
                    if 2 * (count + 1) >= len(slots) or count == len(hashes):
                        return first + k, count
                    begin = starts[count]
                    if begin + size + 8 > len(names):
                        return first + k, count
                    for j in range(size):
                        names[begin + j] = byte(start + j)
                    slots[place] = top | np.uint64(count + 1)
                    hashes[count] = h
                    starts[count + 1] = begin + size
                    codes[first + k] = count
                    count += 1
                    break
                if slot & _TOP == top:
                    code = np.int64(slot & _LOW) - 1
                    begin = starts[code]
                    if starts[code + 1] - begin == size and _same(start, kept + begin, size):
                        codes[first + k] = code
                        break
                place = (place + 1) & mask
    return len(codes), count


@njit(cache=True, nogil=True)
def _hashed(at: int, size: int, key: np.uint64) -> np.uint64:
    h = key ^ np.uint64(size)
    while size > 8:
        h = hash_more(h, load8(at))
        at += 8
        size -= 8
    return hash_more(h, _word(at, size))


@njit(cache=True, nogil=True)
def _same(a: int, b: int, size: int) -> bool:
    """Whether as many bytes at one place equal those at another."""
    differ = _0
    while size > 8:
        differ |= load8(a) ^ load8(b)
        a += 8
        b += 8
        size -= 8
    return bool((differ | (_word(a, size) ^ _word(b, size))) == _0)


@njit(cache=True, nogil=True)
def _word(at: int, size: int) -> np.uint64:
    """Up to eight bytes as one word."""
    half = np.uint64(4 * (8 - size))  # shifted twice, for a shift by all 64 bits is undefined
    word: np.uint64 = (load8(at) << half) << half
    return word


@njit(cache=True, nogil=True)
def _put_again(slots: Words, hashes: Words, count: int) -> None:
    """Put names into a larger table."""
    mask = len(slots) - 1
    for code in range(count):
        h = hashes[code]
        place = home(slots, h)
        while slots[place] != _0:
            place = (place + 1) & mask
        slots[place] = ((h << _HALF) & _TOP) | np.uint64(code + 1)


def _shares(rows: int) -> int:
    """How many workers these rows are worth."""
    return min(workers(None), max(1, rows // _SHARE))


@njit(cache=True, nogil=True)
def translate(to: Codes, codes: Codes) -> None:
    """Put other codes in the place of codes."""
    for i in range(len(codes)):
        codes[i] = to[codes[i]]


@njit(cache=True, nogil=True)
def mark(codes: Codes, there: Bools) -> None:
    """Mark the codes that there are."""
    for i in range(len(codes)):
        there[codes[i]] = True


@njit(cache=True, nogil=True)
def code_numbers(values: Ints, low: int, codes: Codes, there: Bools) -> None:
    """Write how far whole numbers are above the lowest, and which of these distances there are."""
    for i in range(len(values)):
        code = values[i] - low
        codes[i] = code
        there[code] = True


@njit(cache=True, nogil=True)
def loses_zeros(text: Bytes) -> bool:
    """Whether a zero stands before a digit and behind what is none, or between a minus sign and no number.

    A semicolon, alone of what separates cells, stands above the digits.
    """
    before, at, after = text[:-2], text[1:-1], text[2:]
    found = False
    for i in range(len(after)):
        a, b, c = before[i], at[i], after[i]
        starts = ((a < 48) & (a != 46)) | (a == 59)
        found |= (b == 48) & ((starts & (c >= 48) & (c != 59)) | ((a == 45) & ((c < 46) | (c == 59))))
    return found


def put_scores(axes: Sequence[tuple[Codes, Codes]], values: Floats, there: Bools, out: Floats) -> None:
    """Put values into their cells and mark these; an axis has codes and the place on it of each code."""

    def put(rows: Ints) -> None:
        at = np.empty(_BLOCK, dtype=np.int64)
        for first in range(int(rows[0]), int(rows[1]), _BLOCK):
            own = slice(first, min(first + _BLOCK, int(rows[1])))
            cells = at[: own.stop - own.start]
            cells[:] = 0
            for codes, to in axes:
                _step(fixed(codes[own]), fixed(to.view()), cells)
            _fill(cells, fixed(values[own]), there, out)

    edges = np.linspace(0, len(values), _shares(len(values)) + 1).astype(np.int64)
    list(mapped(put, list(np.stack([edges[:-1], edges[1:]], axis=1))))


@njit(cache=True, nogil=True)
def _step(codes: Codes, to: Codes, cells: Ints) -> None:
    """From the place on some axes to that on one more."""
    for i in range(len(cells)):
        cells[i] = cells[i] * len(to) + to[codes[i]]


@njit(cache=True, nogil=True)
def _fill(cells: Ints, values: Floats, there: Bools, out: Floats) -> None:
    for i in range(len(cells)):
        there[cells[i]] = True
        out[cells[i]] = values[i]


def natural_places(names: Sequence[str]) -> Ints | None:
    """Places of names in their natural order; None for names that differ in leading zeros only, or are strange.

    Strange are those of over 255 bytes, and digits of other scripts than this one.

    >>> natural_places(["b", "a10", "a09", "a"]).tolist()
    [3, 2, 1, 0]
    """
    text, sizes = letters(names)
    signs = set() if text.isascii() else set(text.decode("utf-8", "surrogatepass"))
    if b"\0" in text or any(map(str.isdecimal, signs - set("0123456789"))):
        return None
    if sizes.max(initial=0) > _LONGEST:
        return None
    shares = max(1, min(workers(None), len(text) // _LETTERS))
    own = np.array_split(sizes, shares)
    starts = np.cumsum([0, *(int(one.sum()) for one in own)])
    whole = np.frombuffer(text, dtype=np.uint8)
    parts = [(whole[a:b], one) for (a, b), one in zip(pairwise(starts), own, strict=True)]
    keys = list(mapped(_keys, parts))
    stride = max(-(-int(np.diff(edges).max(initial=1)) // 8) for _, edges in keys)
    words = np.empty(len(names) * stride, dtype=np.uint64)
    firsts = np.cumsum([0, *map(len, own)]) * stride
    rooms = [(*pair, words[a:b]) for (a, b), pair in zip(pairwise(firsts), keys, strict=True)]
    list(mapped(lambda room: _into_words(*room, stride), rooms))
    order: Codes = np.arange(len(names), dtype=np.int32)
    if not _rises(words, stride, order):
        sort_names(words, stride, order, np.empty(len(names), dtype=np.uint64))
        if not _rises(words, stride, order):
            return None
    return order.astype(np.int64)


def _keys(part: tuple[Bytes, Ints]) -> tuple[Bytes, Ints]:
    """Keys of some names, and where each begins."""
    text, sizes = part
    room: Bytes = np.empty(
        3 * len(text) + 2 * len(sizes) + 8, dtype=np.uint8
    )  # a part of one byte takes three
    return room, _natural_keys(fixed(text), fixed(sizes), room)


@njit(cache=True, nogil=True)
def _natural_keys(text: Bytes, sizes: Ints, keys: Bytes) -> Ints:
    """Write bytes for each name that compare as `natural_key` does; return where each begins.

    A number is its length and its digits without leading zeros, and stands before any text; a text ends with a byte
    below all others. Without branches: in names such as those of hexadecimal digits nothing can foresee them.
    """
    edges = np.zeros(len(sizes) + 1, dtype=np.int64)
    at = size = 0
    for n in range(len(sizes)):
        was, told, place = 2, 0, 0
        for i in range(at, at + sizes[n]):
            c = int(text[i])
            digit = int((c >= 48) & (c <= 57))
            new = int(digit != was)
            keys[size] = 0
            size += new & int(was == 0)
            keys[size] = _TEXT - digit
            size += new
            place = size if new else place
            size += new & digit
            told *= 1 - new
            kept = 1 - (digit & int(c == 48) & int(told == 0))
            keys[size] = c
            size += kept
            told += kept
            keys[place if digit else size] = told
            was = digit
        at += sizes[n]
        keys[size] = 0
        size += int(was == 0)
        keys[size] = 0
        size += 1
        edges[n + 1] = size
    return edges


@njit(cache=True, nogil=True)
def _into_words(keys: Bytes, edges: Ints, words: Words, stride: int) -> None:
    """Put keys into words that compare as they do, with zeros behind them."""
    for n in range(len(edges) - 1):
        for k in range(stride):
            left = edges[n + 1] - edges[n] - 8 * k
            word = _0
            if left > 0:
                word = load8(address(keys) + edges[n] + 8 * k)
                if left < 8:
                    word = low_bytes(word, left)
            words[n * stride + k] = reversed_bytes(word)


@njit(cache=True, nogil=True)
def _rises(words: Words, stride: int, order: Codes) -> bool:
    """Whether every name has a key above that of the one before it."""
    for i in range(1, len(order)):
        one, two = order[i - 1] * stride, order[i] * stride
        k = 0
        while k < stride - 1 and words[one + k] == words[two + k]:
            k += 1
        if words[one + k] >= words[two + k]:
            return False
    return True
