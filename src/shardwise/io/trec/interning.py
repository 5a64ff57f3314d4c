"""Document names -> integers: a growing table over exact names, and the names of several tables as one.

The table itself is compiled: `shardwise.io.trec.names` says how a name is kept.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np

from shardwise.core.arguments import map_parallel
from shardwise.core.arrays import Bytes, Codes, Ints, Words
from shardwise.io.trec.names import (
    SPARE,
    copy_sorted,
    intern_texts,
    measure_names,
    merge_sorted,
    rehash,
    sort_names,
    spell_names,
)

SECRET = np.uint64(secrets.randbits(64))


class Interner:
    """A growing dictionary of names, filled by one worker.

    Hashes begin with a secret of this process, so that nobody can choose names that all fall into one slot; codes do
    not depend on it.
    """

    def __init__(self) -> None:
        self.key = SECRET
        self.clear_names()

    def clear_names(self) -> None:
        """Forget all names, and give their memory back."""
        self.count = 0
        self.stride = 2
        self.slots: Words = np.zeros(1 << 14, dtype=np.uint64)
        self.words: Words = np.zeros((self.stride << 13) + SPARE, dtype=np.uint64)

    def make_room(self, n_words: int) -> None:
        """Make room for one more name of that many words, and for as many again as there are."""
        if n_words > self.stride:
            wide = np.zeros(len(self.words) // self.stride * n_words + SPARE, dtype=np.uint64)
            wide[: self.count * n_words].reshape(-1, n_words)[:, : self.stride] = self.get_words()
            self.words, self.stride = wide, n_words
        if (self.count + 1) * 2 >= len(self.slots):
            self.slots = np.zeros(len(self.slots) * 2, dtype=np.uint64)
            rehash(self.slots, self.words, self.stride, self.key, self.count)
        if (self.count + 1) * self.stride + SPARE > len(self.words):
            self.words = np.concatenate([self.words, np.zeros(len(self.words), dtype=np.uint64)])

    def get_words(self) -> Words:
        """Return (count, stride) words of the names so far, by code."""
        return self.words[: self.count * self.stride].reshape(self.count, self.stride)

    def intern_names(self, names: list[bytes]) -> Codes:
        """Return codes of some names, new ones included."""
        codes = np.empty(len(names), dtype=np.int32)
        edges = np.concatenate([[0], np.cumsum([len(name) for name in names])]).astype(np.int64)
        text = np.frombuffer(b"".join(names), dtype=np.uint8)
        scratch = np.empty(-(-max(map(len, names), default=1) // 8), dtype=np.uint64)
        done = 0
        while done < len(names):
            self.make_room(-(-len(names[done]) // 8))
            done, self.count = intern_texts(
                text, edges, codes, done, self.slots, self.words, self.stride, self.key, self.count, scratch
            )
        return codes


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


def merge_interners(interners: list[Interner]) -> Merged:
    """Number the names of all interners in byte order, so that codes depend on nothing but the names.

    The interners are empty afterwards: with what is made of them, they would take twice the memory.
    """
    jobs = len(interners)
    stride = max(interner.stride for interner in interners)
    parts = list(map_parallel(lambda interner: _sort_interner(interner, stride), interners, jobs=jobs))
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = list(map_parallel(_unite_parts, pairs, jobs=jobs))
        del pairs
    rows = parts[0].rows
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    measure_names(rows, starts)
    names = np.empty(int(starts[-1]), dtype=np.uint8)
    spell_names(rows, starts, names)
    return Merged(names=names, name_starts=starts, codes=parts[0].codes)


def _sort_interner(interner: Interner, stride: int) -> _Ordered:
    """Return the names of one interner, in as many words each as asked."""
    order = np.arange(interner.count, dtype=np.int32)
    sort_names(interner.words, interner.stride, order, np.empty(interner.count, dtype=np.uint64))
    rows = np.empty((interner.count, stride), dtype=np.uint64)
    codes = np.empty(interner.count, dtype=np.int32)
    copy_sorted(interner.words, interner.stride, order, rows, codes)
    interner.clear_names()
    return _Ordered(rows, (codes,))


def _unite_parts(parts: list[_Ordered]) -> _Ordered:
    """Return the names of one part or two, each once."""
    if len(parts) == 1:
        return parts[0]
    a, b = parts
    rows = np.empty((len(a.rows) + len(b.rows), a.rows.shape[1]), dtype=np.uint64)
    code_of_a, code_of_b = np.empty(len(a.rows), dtype=np.int32), np.empty(len(b.rows), dtype=np.int32)
    count = merge_sorted(a.rows, b.rows, rows, code_of_a, code_of_b)
    return _Ordered(
        rows[:count], (*(code_of_a[codes] for codes in a.codes), *(code_of_b[codes] for codes in b.codes))
    )
