"""Rows of one file -> rankings in trec_eval order, compiled.

trec_eval sorts by score, descending, and breaks ties by document name, descending; it ignores the rank
column. Until 9.0.7 it kept scores in single precision, since 9.0.8 in double.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shardwise.arrays import Codes, Floats, Ints, Words


@njit(cache=True, nogil=True)
def _before(a: int, b: int, docs: Codes, scores: Floats, words: Words, stride: int) -> bool:
    """Whether row a stands before row b."""
    if scores[a] != scores[b]:
        return bool(scores[a] > scores[b])
    for k in range(stride):
        x = words[docs[a] * stride + k]
        y = words[docs[b] * stride + k]
        if x != y:
            return bool(x > y)
    return False


@njit(cache=True, nogil=True)
def _insertion_sort(rows: Ints, docs: Codes, scores: Floats, words: Words, stride: int) -> bool:
    """Sort what is nearly sorted, as runs with a few ties are; give up, returning False, if it is not."""
    moves = 0
    for i in range(1, len(rows)):
        row = rows[i]
        j = i
        while j > 0 and _before(row, rows[j - 1], docs, scores, words, stride):
            rows[j] = rows[j - 1]
            j -= 1
        rows[j] = row
        moves += i - j
        if moves > 4 * len(rows):
            return False
    return True


@njit(cache=True, nogil=True)
def _merge_sort(rows: Ints, spare: Ints, docs: Codes, scores: Floats, words: Words, stride: int) -> None:
    n = len(rows)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and not _before(rows[j], rows[i], docs, scores, words, stride)):
                    spare[k] = rows[i]
                    i += 1
                else:
                    spare[k] = rows[j]
                    j += 1
        rows[:] = spare[:n]
        width *= 2


@njit(cache=True, nogil=True)
def order_groups(
    docs: Codes,
    scores: Floats,
    rows: Ints,
    edges: Ints,
    stamps: Codes,
    serial: int,
    single: bool,
    words: Words,
    stride: int,
    ordered: Codes,
) -> int:
    """Write each group's documents in trec_eval order; return -1, or the row that repeats a document.

    Group g is ``rows[edges[g]:edges[g + 1]]``. ``stamps`` remembers per document the last group that had it;
    groups are numbered from ``serial`` on.
    """
    if single:
        for i in range(len(scores)):
            scores[i] = np.float64(np.float32(scores[i]))
    spare = np.empty(len(rows), dtype=np.int64)
    for g in range(len(edges) - 1):
        low, high = edges[g], edges[g + 1]
        for i in range(low, high):
            row = rows[i]
            if stamps[docs[row]] == serial + g:
                return int(row)
            stamps[docs[row]] = serial + g
        if not _insertion_sort(rows[low:high], docs, scores, words, stride):
            _merge_sort(rows[low:high], spare, docs, scores, words, stride)
        for i in range(low, high):
            ordered[i] = docs[rows[i]]
    return -1


@njit(cache=True, nogil=True)
def group_rows(topic_of_run: Codes, run_rows: Ints, n_rows: int, n_topics: int) -> tuple[Ints, Ints]:
    """Bring rows of the same topic together, in file order; return rows and the edges of the topics."""
    edges = np.zeros(n_topics + 1, dtype=np.int64)
    n_runs = len(run_rows)
    for r in range(n_runs):
        stop = run_rows[r + 1] if r + 1 < n_runs else n_rows
        edges[topic_of_run[r] + 1] += stop - run_rows[r]
    for t in range(n_topics):
        edges[t + 1] += edges[t]
    at = edges[:-1].copy()
    rows = np.empty(n_rows, dtype=np.int64)
    for r in range(n_runs):
        stop = run_rows[r + 1] if r + 1 < n_runs else n_rows
        t = topic_of_run[r]
        for row in range(run_rows[r], stop):
            rows[at[t]] = row
            at[t] += 1
    return rows, edges
