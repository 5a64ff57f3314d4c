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
from shardwise.io.trec.interning import SECRET, hash_more, home, sort_names
from shardwise.io.trec.intrinsics import address, load8, low_bytes, prefetch, reversed_bytes

Values = TypeVar("Values", Bytes, Codes, Words, Ints, Floats)

MANY = 10_000
"""Rows or names from which compiled code is used."""

_SHARE = 100_000  # rows that are worth a thread
_AHEAD = 32  # rows that are hashed before the first of them is looked up
_TEXT = 2  # what a text in a key begins with; a number begins with one less, and 0 ends
_LONGEST = 255  # bytes of a name whose numbers tell their length in a byte
_HALF = np.uint64(32)
_TOP = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0x00000000FFFFFFFF)
_8 = np.uint64(8)
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
    shares = min(workers(None), max(1, len(data) // _SHARE))
    cuts = np.searchsorted(edges, np.linspace(0, len(data), shares + 1))
    parts = [
        (data.chunks[first:last], codes[edges[first] : edges[last]])
        for first, last in pairwise(cuts)
        if last > first
    ]
    names = list(mapped(_coded, parts))
    if len(names) < 2:
        return codes, names[0] if names else pa.array([], pa.large_string())
    every = np.empty(sum(map(len, names)), dtype=np.int32)
    common = _coded(([one.cast(pa.string()) for one in names], every))
    at = len(names[0])  # whose codes stay as they are
    for one, (_, own) in zip(names[1:], parts[1:], strict=True):
        own[:] = every[at : at + len(one)][own]
        at += len(one)
    return codes, common


def _coded(part: tuple[Sequence[pa.Array], Codes]) -> pa.Array:
    """Write the codes of some blocks; return the texts by code."""
    chunks, codes = part
    slots: Words = np.zeros(1 << 13, dtype=np.uint64)
    hashes: Words = np.empty(1 << 12, dtype=np.uint64)
    starts: Ints = np.zeros((1 << 12) + 1, dtype=np.int64)
    names: Bytes = np.empty(1 << 16, dtype=np.uint8)
    count = before = 0
    for chunk in chunks:
        if not len(chunk):
            continue
        _, where, what = chunk.buffers()
        edges = fixed(np.frombuffer(where, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1])
        text = fixed(np.frombuffer(what if what is not None else b"", dtype=np.uint8))
        own = codes[before : before + len(chunk)]
        before += len(chunk)
        done = 0
        while True:
            done, count = _code_texts(text, edges, own, done, slots, hashes, starts, names, count, SECRET)
            if done == len(own):
                break
            if 2 * (count + 1) >= len(slots):
                slots = np.zeros(4 * len(slots), dtype=np.uint64)
                _put_again(slots, hashes, count)
            if count == len(hashes):
                hashes, starts = _larger(hashes, 2 * count), _larger(starts, 2 * count + 1)
            need = int(starts[count]) + int(edges[done + 1] - edges[done])
            if need > len(names):
                names = _larger(names, 2 * need)
    ends, spelled = pa.py_buffer(starts[: count + 1]), pa.py_buffer(names[: starts[count]])
    return pa.LargeStringArray.from_buffers(count, ends, spelled)


def text_array(names: Sequence[str]) -> npt.NDArray[np.str_]:
    """Names as an array of fixed width, as numpy makes it, in a tenth of the time where there are many.

    >>> text_array(["b", "cc"])
    array(['b', 'cc'], dtype='<U2')
    """
    joined = "".join(names) if len(names) >= MANY else "…"
    if not joined.isascii() or not joined:
        return np.array(names, dtype=np.str_)
    sizes = np.fromiter(map(len, names), np.int64, len(names))
    letters = np.zeros((len(names), sizes.max()), dtype=np.int32)
    _spread(fixed(np.frombuffer(joined.encode(), dtype=np.uint8)), sizes, letters)
    return letters.view(f"<U{letters.shape[1]}")[:, 0]


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
    edges: Codes,
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
    for first in range(done, len(codes), _AHEAD):
        rows = min(_AHEAD, len(codes) - first)
        for k in range(rows):
            start, stop = int(edges[first + k]), int(edges[first + k + 1])
            before = int(edges[first + k - 1]) if k else start
            size = stop - start
            again[k] = k > 0 and start - before == size and _same(text, start, text, before, size)
            if not again[k]:
                own[k] = _hashed(text, start, stop, key)
                prefetch(slots, home(slots, own[k]))
        for k in range(rows):
            if again[k]:
                codes[first + k] = codes[first + k - 1]
                continue
            h = own[k]
            start = int(edges[first + k])
            size = int(edges[first + k + 1]) - start
            top = (h << _HALF) & _TOP
            place = home(slots, h)
            while True:
                slot = slots[place]
                if slot == _0:
                    if 2 * (count + 1) >= len(slots) or count == len(hashes):
                        return first + k, count
                    begin = starts[count]
                    if begin + size > len(names):
                        return first + k, count
                    for j in range(size):
                        names[begin + j] = text[start + j]
                    slots[place] = top | np.uint64(count + 1)
                    hashes[count] = h
                    starts[count + 1] = begin + size
                    codes[first + k] = count
                    count += 1
                    break
                if slot & _TOP == top:
                    code = int(slot & _LOW) - 1
                    begin = starts[code]
                    if starts[code + 1] - begin == size and _same(text, start, names, begin, size):
                        codes[first + k] = code
                        break
                place = (place + 1) & mask
    return len(codes), count


@njit(cache=True, nogil=True, inline="always")
def _last(text: Bytes, at: int, count: int) -> np.uint64:
    """Fewer than eight bytes as one word, whether or not eight may be read."""
    if at + 8 <= len(text):
        return low_bytes(load8(address(text) + at), count)
    word = _0
    for k in range(count):
        word |= np.uint64(text[at + k]) << (_8 * np.uint64(k))
    return word


@njit(cache=True, nogil=True, inline="always")
def _hashed(text: Bytes, start: int, stop: int, key: np.uint64) -> np.uint64:
    h = key ^ np.uint64(stop - start)
    while start + 8 <= stop:
        h = hash_more(h, load8(address(text) + start))
        start += 8
    return hash_more(h, _last(text, start, stop - start))


@njit(cache=True, nogil=True, inline="always")
def _same(a: Bytes, i: int, b: Bytes, k: int, count: int) -> bool:
    """Whether ``count`` bytes of a from i on equal those of b from k on."""
    while count >= 8:
        if load8(address(a) + i) != load8(address(b) + k):
            return False
        i += 8
        k += 8
        count -= 8
    return bool(_last(a, i, count) == _last(b, k, count))


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


@njit(cache=True, nogil=True)
def code_numbers(values: Ints, low: int, codes: Codes, there: Bools) -> None:
    """Write how far whole numbers are above the lowest, and which of these distances there are."""
    for i in range(len(values)):
        code = values[i] - low
        codes[i] = code
        there[code] = True


@njit(cache=True, nogil=True)
def loses_zeros(text: Bytes) -> bool:
    """Whether a zero stands before a digit and behind what is none, or between a minus sign and no number."""
    before, at, after = text[:-2], text[1:-1], text[2:]
    found = False
    for i in range(len(after)):
        a, b, c = before[i], at[i], after[i]
        found |= (b == 48) & (((a < 48) & (a != 46) & (c >= 48)) | ((a == 45) & (c < 46)))
    return found


@njit(cache=True, nogil=True)
def fill(at: Ints, values: Floats, there: Bools, out: Floats) -> int:
    """Put values into cells and mark these; return how many were marked."""
    count = 0
    for i in range(len(at)):
        cell = at[i]
        count += not there[cell]
        there[cell] = True
        out[cell] = values[i]
    return count


def natural_places(names: Sequence[str]) -> Ints | None:
    """Places of names in their natural order; None for names that differ in leading zeros only, or are strange.

    Strange are those of over 255 bytes, and digits of other scripts than this one.

    >>> natural_places(["b", "a10", "a09", "a"]).tolist()
    [3, 2, 1, 0]
    """
    joined = "".join(names)
    if "\0" in joined or (not joined.isascii() and any(map(str.isdecimal, set(joined) - set("0123456789")))):
        return None
    if joined.isascii():
        text, sizes = joined.encode(), np.fromiter(map(len, names), np.int64, len(names))
    else:
        spelled = [name.encode("utf-8", "surrogatepass") for name in names]
        text, sizes = b"".join(spelled), np.fromiter(map(len, spelled), np.int64, len(names))
    if sizes.max(initial=0) > _LONGEST:
        return None
    keys: Bytes = np.empty(
        3 * len(text) + 2 * len(names) + 8, dtype=np.uint8
    )  # a part of one byte takes three
    edges = _natural_keys(fixed(np.frombuffer(text, dtype=np.uint8)), sizes, keys)
    stride = -(-int(np.diff(edges).max(initial=1)) // 8)
    words = np.empty(len(names) * stride, dtype=np.uint64)
    _into_words(keys, edges, words, stride)
    order: Codes = np.arange(len(names), dtype=np.int32)
    if not _rises(words, stride, order):
        sort_names(words, stride, order, np.empty(len(names), dtype=np.uint64))
        if not _rises(words, stride, order):
            return None
    return order.astype(np.int64)


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
