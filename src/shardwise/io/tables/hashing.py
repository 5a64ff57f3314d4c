"""Hashes and order of names for the kernels of tables."""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Codes, Words
from shardwise.core.compiled import njit
from shardwise.io.trec.intrinsics import product

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def mix(h: np.uint64, word: np.uint64) -> np.uint64:
    """Both halves of a product, one laid over the other: every bit of both numbers has its say in every bit."""
    words: tuple[np.uint64, np.uint64] = product(h, word)
    return words[0] ^ words[1]


@njit(cache=True, nogil=True)
def hash_more(h: np.uint64, word: np.uint64) -> np.uint64:
    """Hash of a name with one more word behind the first four."""
    return mix(h ^ word, _SPREAD)


@njit(cache=True, nogil=True)
def home(slots: Words, h: np.uint64) -> int:
    """Slot at which the search for a hash begins."""
    return int(h >> _HALF) & (len(slots) - 1)


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
