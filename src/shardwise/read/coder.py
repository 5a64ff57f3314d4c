"""Document names -> integers: an open-addressing table over exact names.

A name is kept as ``stride`` words of eight bytes, big-endian, padded with zero bytes (no name contains one),
so equal words mean equal names: the hash only says where to look, and a collision cannot mix two names up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from shardwise.arrays import Bytes, Codes, Ints, Words
from shardwise.read.words import prefetch

MAX_NAME = 1024
"""Longest document name in bytes; a longer one means a damaged file."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_TOP = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0x00000000FFFFFFFF)
_1 = np.uint64(1)
_0 = np.uint64(0)


@njit(cache=True, nogil=True, inline="always")
def mix(h: np.uint64, word: np.uint64) -> np.uint64:
    """Stir one more word of a name into its hash.

    Short names differ in the upper bytes only, which a product alone would never carry downwards.
    """
    h ^= word
    h = (h ^ (h >> _HALF)) * _SPREAD
    h = (h ^ (h >> np.uint64(29))) * _SPREAD
    return h ^ (h >> _HALF)


@njit(cache=True, nogil=True, inline="always")
def home(slots: Words, h: np.uint64) -> int:
    """Slot at which the search for a hash begins."""
    return int(h >> _HALF) & (len(slots) - 1)


@njit(cache=True, nogil=True)
def bring_near(slots: Words, words: Words, stride: int, h: np.uint64) -> None:
    """Ask for the name that a hash most likely stands for, whose slot is near already."""
    slot = slots[home(slots, h)]
    if slot != _0:
        prefetch(words, (int(slot & _LOW) - 1) * stride)


@njit(cache=True, nogil=True)
def find(slots: Words, words: Words, stride: int, name: Words, n_words: int, h: np.uint64) -> tuple[int, int]:
    """Return (code, slot) of a name of ``n_words`` words with hash ``h``; code -1: it may be put into that slot."""
    mask = len(slots) - 1
    at = home(slots, h)
    top = (h << _HALF) & _TOP
    while True:
        slot = slots[at]
        if slot == _0:
            return -1, at
        if slot & _TOP == top:
            code = int(slot & _LOW) - 1
            base = code * stride
            same = True
            for k in range(n_words):
                if words[base + k] != name[k]:
                    same = False
                    break
            if same and n_words < stride and words[base + n_words] != _0:
                same = False
            if same:
                return code, at
        at = (at + 1) & mask


@njit(cache=True, nogil=True)
def put(
    slots: Words, words: Words, stride: int, name: Words, n_words: int, h: np.uint64, code: int, slot: int
) -> None:
    """Give a new name its code; the caller has seen to it that there is room."""
    slots[slot] = ((h << _HALF) & _TOP) | np.uint64(code + 1)
    base = code * stride
    for k in range(n_words):
        words[base + k] = name[k]
    for k in range(n_words, stride):
        words[base + k] = _0


@njit(cache=True, nogil=True)
def _rehash(slots: Words, words: Words, stride: int, count: int) -> None:
    mask = len(slots) - 1
    for code in range(count):
        h = _0
        for k in range(stride):
            word = words[code * stride + k]
            if word == _0:
                break
            h = mix(h, word)
        at = home(slots, h)
        while slots[at] != _0:
            at = (at + 1) & mask
        slots[at] = ((h << _HALF) & _TOP) | np.uint64(code + 1)


@njit(cache=True, nogil=True)
def pack(text: Bytes, start: int, stop: int, name: Words) -> tuple[int, np.uint64]:
    """Write a name into words; return how many and their hash."""
    n_words = 0
    h = _0
    word = _0
    for i in range(start, stop):
        word = (word << np.uint64(8)) | np.uint64(text[i])
        if (i - start) & 7 == 7:
            name[n_words] = word
            h = mix(h, word)
            n_words += 1
            word = _0
    left = (stop - start) & 7
    if left:
        word <<= np.uint64(8 * (8 - left))
        name[n_words] = word
        h = mix(h, word)
        n_words += 1
    return n_words, h


class Coder:
    """A growing dictionary of names, filled by one worker."""

    def __init__(self) -> None:
        self.count = 0
        self.stride = 2
        self.slots: Words = np.zeros(1 << 14, dtype=np.uint64)
        self.words: Words = np.zeros(self.stride << 13, dtype=np.uint64)

    def make_room(self, n_words: int) -> None:
        """Make room for one more name of that many words, and for as many again as there are."""
        if n_words > self.stride:
            wide = np.zeros((len(self.words) // self.stride, n_words), dtype=np.uint64)
            wide[: self.count, : self.stride] = self.matrix()
            self.words, self.stride = wide.ravel(), n_words
        if (self.count + 1) * 2 >= len(self.slots):
            self.slots = np.zeros(len(self.slots) * 2, dtype=np.uint64)
            _rehash(self.slots, self.words, self.stride, self.count)
        if (self.count + 1) * self.stride > len(self.words):
            self.words = np.concatenate([self.words, np.zeros(len(self.words), dtype=np.uint64)])

    def matrix(self) -> Words:
        """(count, stride) words of the names so far, by code."""
        return self.words[: self.count * self.stride].reshape(self.count, self.stride)

    def code(self, names: list[bytes]) -> Codes:
        """Codes of some names, new ones included."""
        codes = np.empty(len(names), dtype=np.int32)
        edges = np.concatenate([[0], np.cumsum([len(name) for name in names])]).astype(np.int64)
        text = np.frombuffer(bytearray(b"".join(names)), dtype=np.uint8)  # writable: one compiled version
        scratch = np.empty(MAX_NAME // 8, dtype=np.uint64)
        done = 0
        while done < len(names):
            self.make_room(-(-len(names[done]) // 8))
            done, self.count = _code_all(
                text, edges, codes, done, self.slots, self.words, self.stride, self.count, scratch
            )
        return codes


@njit(cache=True, nogil=True)
def _code_all(
    text: Bytes,
    edges: Ints,
    codes: Codes,
    done: int,
    slots: Words,
    words: Words,
    stride: int,
    count: int,
    scratch: Words,
) -> tuple[int, int]:
    """Code names until all are done or room has to be made; return (done, count)."""
    while done < len(codes):
        n_words, h = pack(text, edges[done], edges[done + 1], scratch)
        if n_words > stride or (count + 1) * 2 >= len(slots) or (count + 1) * stride > len(words):
            break
        code, slot = find(slots, words, stride, scratch, n_words, h)
        if code < 0:
            code = count
            put(slots, words, stride, scratch, n_words, h, code, slot)
            count += 1
        codes[done] = code
        done += 1
    return done, count


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The names of several coders in byte order, and what became of each coder's codes."""

    names: Bytes
    name_starts: Ints
    codes: tuple[Codes, ...]  # per coder: old code -> new code


def merge(coders: list[Coder]) -> Merged:
    """Number the names of all coders in byte order, so that codes depend on nothing but the names."""
    stride = max(coder.stride for coder in coders)
    blocks = []
    for coder in coders:
        block = np.zeros((coder.count, stride), dtype=np.uint64)
        block[:, : coder.stride] = coder.matrix()
        blocks.append(block)
    pooled = np.concatenate(blocks)
    used = [k for k in range(stride) if pooled[:, k].any()] or [0]
    order = np.lexsort([pooled[:, k] for k in reversed(used)])
    new, firsts = _renumber(pooled, order)
    kept = pooled[firsts]
    lengths = _name_lengths(kept)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    names = np.empty(int(starts[-1]), dtype=np.uint8)
    _spell(kept, starts, names)
    edges = np.cumsum([len(block) for block in blocks])[:-1]
    return Merged(names=names, name_starts=starts, codes=tuple(np.split(new, edges)))


@njit(cache=True, nogil=True)
def _renumber(pooled: Words, order: Ints) -> tuple[Codes, Ints]:
    """Give equal rows one number, in sorted order; return number by row and one row by number."""
    new = np.empty(len(order), dtype=np.int32)
    firsts = np.empty(len(order), dtype=np.int64)
    count = 0
    for i in range(len(order)):
        row = order[i]
        fresh = i == 0
        if not fresh:
            before = order[i - 1]
            for k in range(pooled.shape[1]):
                if pooled[row, k] != pooled[before, k]:
                    fresh = True
                    break
        if fresh:
            firsts[count] = row
            count += 1
        new[row] = count - 1
    return new, firsts[:count].copy()


@njit(cache=True, nogil=True)
def _name_lengths(rows: Words) -> Ints:
    lengths = np.zeros(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        for k in range(rows.shape[1]):
            word = rows[i, k]
            while word != _0:
                lengths[i] += 1
                word <<= np.uint64(8)
    return lengths


@njit(cache=True, nogil=True)
def _spell(rows: Words, starts: Ints, names: Bytes) -> None:
    for i in range(len(rows)):
        for j in range(starts[i + 1] - starts[i]):
            names[starts[i] + j] = np.uint8(
                (rows[i, j >> 3] >> np.uint64(8 * (7 - (j & 7)))) & np.uint64(255)
            )
