"""Document names -> integers: an open-addressing table over exact names.

A name is kept as ``stride`` words of eight bytes, big-endian, padded with zero bytes (no name contains one),
so equal words mean equal names: the hash only says where to look, and a collision cannot mix two names up.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shardwise.core.arguments import mapped
from shardwise.core.arrays import Bytes, Codes, Ints, Words
from shardwise.core.compiled import njit
from shardwise.io.trec.intrinsics import address, load8, product, trailing_zeros

MAX_NAME = 1024
"""Longest document name in bytes; a longer one means a damaged file."""

SPARE = 4
"""Words behind the last name, so that as many can be read from any name on, whatever the stride."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_TOP = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0x00000000FFFFFFFF)
_0 = np.uint64(0)
SECRET = np.uint64(secrets.randbits(64))


@njit(cache=True, nogil=True)
def mix(h: np.uint64, word: np.uint64) -> np.uint64:
    """Both halves of a product, one laid over the other: every bit of both numbers has its say in every bit."""
    words: tuple[np.uint64, np.uint64] = product(h, word)
    return words[0] ^ words[1]


@njit(cache=True, nogil=True)
def keys(key: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Three more keys made of one, for whoever knows what a word is multiplied with can make all products zero."""
    second = (key ^ _SPREAD) * _SPREAD
    third = (second ^ (second >> _HALF)) * _SPREAD
    fourth = (third ^ (third >> _HALF)) * _SPREAD
    return second, third, fourth


@njit(cache=True, nogil=True)
def hash_start(key: np.uint64, a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64) -> np.uint64:
    """Hash of the first four words of a name, zeros behind those of a shorter one; `mix` in what follows."""
    second, third, fourth = keys(key)
    return mix(a ^ key, b ^ second) ^ mix(c ^ third, d ^ fourth)


@njit(cache=True, nogil=True)
def hash_more(h: np.uint64, word: np.uint64) -> np.uint64:
    """Hash of a name with one more word behind the first four."""
    return mix(h ^ word, _SPREAD)


@njit(cache=True, nogil=True)
def hash_name(name: int, n_words: int, key: np.uint64) -> np.uint64:
    """Hash of the words at a place."""
    a = load8(name) if n_words > 0 else _0
    b = load8(name + 8) if n_words > 1 else _0
    c = load8(name + 16) if n_words > 2 else _0
    d = load8(name + 24) if n_words > 3 else _0
    h = hash_start(key, a, b, c, d)
    for k in range(4, n_words):
        h = hash_more(h, load8(name + 8 * k))
    return h


class NameTable(NamedTuple):
    """The arrays of an `Interner`, as kernels see them.

    Kernels that look up every name of a file take them one by one, as `parse_lines` says why.
    """

    slots: Words  # upper half of a hash and code + 1; 0: empty
    words: Words  # the names, ``stride`` words each, by code
    stride: int
    key: np.uint64  # what hashes begin with


@njit(cache=True, nogil=True)
def home(slots: Words, h: np.uint64) -> int:
    """Slot at which the search for a hash begins."""
    return int(h >> _HALF) & (len(slots) - 1)


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
def _rehash(slots: Words, words: Words, stride: int, key: np.uint64, count: int) -> None:
    mask = len(slots) - 1
    for code in range(count):
        n_words = 0
        while n_words < stride and words[code * stride + n_words] != _0:
            n_words += 1
        h = hash_name(address(words) + 8 * code * stride, n_words, key)
        at = home(slots, h)
        while slots[at] != _0:
            at = (at + 1) & mask
        slots[at] = ((h << _HALF) & _TOP) | np.uint64(code + 1)


@njit(cache=True, nogil=True)
def pack(text: Bytes, start: int, stop: int, name: Words, key: np.uint64) -> tuple[int, np.uint64]:
    """Write a name into words; return how many and their hash."""
    n_words = 0
    word = _0
    for i in range(start, stop):
        word = (word << np.uint64(8)) | np.uint64(text[i])
        if (i - start) & 7 == 7:
            name[n_words] = word
            n_words += 1
            word = _0
    left = (stop - start) & 7
    if left:
        name[n_words] = word << np.uint64(8 * (8 - left))
        n_words += 1
    return n_words, hash_name(address(name), n_words, key)


class Interner:
    """A growing dictionary of names, filled by one worker.

    Hashes begin with a secret of this process, so that nobody can choose names that all fall into one slot; codes do
    not depend on it.
    """

    def __init__(self) -> None:
        self.key = SECRET
        self.clear()

    def clear(self) -> None:
        """Forget all names, and give their memory back."""
        self.count = 0
        self.stride = 2
        self.slots: Words = np.zeros(1 << 14, dtype=np.uint64)
        self.words: Words = np.zeros((self.stride << 13) + SPARE, dtype=np.uint64)

    @property
    def table(self) -> NameTable:
        """The arrays as they are now; they change when room is made."""
        return NameTable(self.slots, self.words, self.stride, self.key)

    def make_room(self, n_words: int) -> None:
        """Make room for one more name of that many words, and for as many again as there are."""
        if n_words > self.stride:
            wide = np.zeros(len(self.words) // self.stride * n_words + SPARE, dtype=np.uint64)
            wide[: self.count * n_words].reshape(-1, n_words)[:, : self.stride] = self.matrix()
            self.words, self.stride = wide, n_words
        if (self.count + 1) * 2 >= len(self.slots):
            self.slots = np.zeros(len(self.slots) * 2, dtype=np.uint64)
            _rehash(self.slots, self.words, self.stride, self.key, self.count)
        if (self.count + 1) * self.stride + SPARE > len(self.words):
            self.words = np.concatenate([self.words, np.zeros(len(self.words), dtype=np.uint64)])

    def matrix(self) -> Words:
        """(count, stride) words of the names so far, by code."""
        return self.words[: self.count * self.stride].reshape(self.count, self.stride)

    def codes(self, names: list[bytes]) -> Codes:
        """Codes of some names, new ones included."""
        codes = np.empty(len(names), dtype=np.int32)
        edges = np.concatenate([[0], np.cumsum([len(name) for name in names])]).astype(np.int64)
        text = np.frombuffer(bytearray(b"".join(names)), dtype=np.uint8)  # writable: one compiled version
        scratch = np.empty(-(-max(map(len, names), default=1) // 8), dtype=np.uint64)
        done = 0
        while done < len(names):
            self.make_room(-(-len(names[done]) // 8))
            done, self.count = _intern_texts(text, edges, codes, done, *self.table, self.count, scratch)
        return codes


@njit(cache=True, nogil=True)
def _intern_texts(
    text: Bytes,
    edges: Ints,
    codes: Codes,
    done: int,
    slots: Words,
    words: Words,
    stride: int,
    key: np.uint64,
    count: int,
    scratch: Words,
) -> tuple[int, int]:
    """Code names until all are done or room has to be made; return (done, count)."""
    while done < len(codes):
        n_words, h = pack(text, edges[done], edges[done + 1], scratch, key)
        if n_words > stride or (count + 1) * 2 >= len(slots) or (count + 1) * stride + SPARE > len(words):
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
    """The names of several interners in byte order, and what became of each one's codes."""

    names: Bytes
    name_starts: Ints
    codes: tuple[Codes, ...]  # of each interner: old code -> new code


@dataclass(frozen=True, slots=True, eq=False)
class _Ordered:
    """Names in byte order, and where those of each interner are among them."""

    rows: Words
    codes: tuple[Codes, ...]


def merge(interners: list[Interner]) -> Merged:
    """Number the names of all interners in byte order, so that codes depend on nothing but the names.

    The interners are empty afterwards: with what is made of them, they would take twice the memory.
    """
    jobs = len(interners)
    stride = max(interner.stride for interner in interners)
    parts = list(mapped(lambda interner: _ordered(interner, stride), interners, jobs=jobs))
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = list(mapped(_united, pairs, jobs=jobs))
        del pairs
    rows = parts[0].rows
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    _measure(rows, starts)
    names = np.empty(int(starts[-1]), dtype=np.uint8)
    _spell(rows, starts, names)
    return Merged(names=names, name_starts=starts, codes=parts[0].codes)


def _ordered(interner: Interner, stride: int) -> _Ordered:
    """The names of one interner, in as many words each as asked."""
    order = np.arange(interner.count, dtype=np.int32)
    sort_names(interner.words, interner.stride, order, np.empty(interner.count, dtype=np.uint64))
    rows = np.empty((interner.count, stride), dtype=np.uint64)
    codes = np.empty(interner.count, dtype=np.int32)
    _put_in_order(interner.words, interner.stride, order, rows, codes)
    interner.clear()
    return _Ordered(rows, (codes,))


def _united(parts: list[_Ordered]) -> _Ordered:
    """The names of one part or two, each once."""
    if len(parts) == 1:
        return parts[0]
    a, b = parts
    rows = np.empty((len(a.rows) + len(b.rows), a.rows.shape[1]), dtype=np.uint64)
    of_a, of_b = np.empty(len(a.rows), dtype=np.int32), np.empty(len(b.rows), dtype=np.int32)
    count = _unite(a.rows, b.rows, rows, of_a, of_b)
    return _Ordered(rows[:count], (*(of_a[codes] for codes in a.codes), *(of_b[codes] for codes in b.codes)))


@njit(cache=True, nogil=True)
def _put_in_order(words: Words, stride: int, order: Codes, rows: Words, codes: Codes) -> None:
    for i in range(len(order)):
        code = order[i]
        codes[code] = i
        for k in range(stride):
            rows[i, k] = words[code * stride + k]
        for k in range(stride, rows.shape[1]):
            rows[i, k] = _0


@njit(cache=True, nogil=True)
def _unite(a: Words, b: Words, rows: Words, of_a: Codes, of_b: Codes) -> int:
    """Merge names in order, equal ones into one; say where each went and how many there are."""
    i, j, count = 0, 0, 0
    stride = rows.shape[1]
    while i < len(a) or j < len(b):
        k = 0
        from_a, from_b = i < len(a), j < len(b)
        if from_a and from_b:
            while k < stride and a[i, k] == b[j, k]:
                k += 1
            if k < stride:
                from_a = a[i, k] < b[j, k]
                from_b = not from_a
        for k in range(stride):
            rows[count, k] = a[i, k] if from_a else b[j, k]
        if from_a:
            of_a[i] = count
            i += 1
        if from_b:
            of_b[j] = count
            j += 1
        count += 1
    return count


@njit(cache=True, nogil=True)
def _follows(words: Words, stride: int, a: int, b: int, depth: int) -> bool:
    """Whether name a stands after name b, given that they agree in the first words."""
    for k in range(depth, stride):
        x = words[a * stride + k]
        y = words[b * stride + k]
        if x != y:
            return bool(x > y)
    return False


@njit(cache=True, nogil=True)
def sort_names(words: Words, stride: int, order: Codes, keys: Words) -> None:
    """Sort codes by their names: quicksort on one word, three ways, the equal part going on to the next word.

    Bentley & Sedgewick 1997, "Fast algorithms for sorting and searching strings", with words for characters. ``keys``
    is room for the words compared, which move with their codes: looked up in the table, each would be a wait.
    """
    for i in range(len(order)):
        keys[i] = words[order[i] * stride]
    stack = [(0, len(order), 0)]
    while len(stack) > 0:
        low, high, depth = stack.pop()
        if high - low < 16 or depth == stride:
            for i in range(low + 1, high):
                code, key = order[i], keys[i]
                j = i
                while j > low and (
                    keys[j - 1] > key
                    or (keys[j - 1] == key and _follows(words, stride, order[j - 1], code, depth + 1))
                ):
                    order[j], keys[j] = order[j - 1], keys[j - 1]
                    j -= 1
                order[j], keys[j] = code, key
            continue
        a, b, c = keys[low], keys[(low + high) // 2], keys[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        less, i, more = low, low, high
        while i < more:
            word = keys[i]
            if word < pivot:
                order[less], order[i] = order[i], order[less]
                keys[less], keys[i] = word, keys[less]
                less += 1
                i += 1
            elif word > pivot:
                more -= 1
                order[more], order[i] = order[i], order[more]
                keys[more], keys[i] = word, keys[more]
            else:
                i += 1
        stack.append((low, less, depth))
        stack.append((more, high, depth))
        if depth + 1 < stride:  # otherwise they are equal to the end
            for i in range(less, more):
                keys[i] = words[order[i] * stride + depth + 1]
            stack.append((less, more, depth + 1))


@njit(cache=True, nogil=True)
def _measure(rows: Words, starts: Ints) -> None:
    """Where each name begins if they are written one behind another, and the last one ends."""
    for i in range(len(rows)):
        k = rows.shape[1] - 1
        while k > 0 and rows[i, k] == _0:
            k -= 1
        word = rows[i, k]
        starts[i + 1] = starts[i] + (8 * (k + 1) - (trailing_zeros(word) >> 3) if word else 0)


@njit(cache=True, nogil=True)
def _spell(rows: Words, starts: Ints, names: Bytes) -> None:
    for i in range(len(rows)):
        for j in range(starts[i + 1] - starts[i]):
            names[starts[i] + j] = np.uint8(
                (rows[i, j >> 3] >> np.uint64(8 * (7 - (j & 7)))) & np.uint64(255)
            )
