"""Rows of one file -> rankings in trec_eval order, compiled.

trec_eval sorts by score, descending, and breaks ties by document name, descending; it ignores the rank
column. Until 9.0.7 it kept scores in single precision, since 9.0.8 in double.
"""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Codes, Floats, Ints, Stamps
from shardwise.core.compiled import njit
from shardwise.io.trec.interning import NameTable

LAST_STAMP = (1 << 16) - 1


@njit(cache=True, nogil=True)
def _name_follows(a: int, b: int, table: NameTable) -> bool:
    """Whether document a has the greater name."""
    _, words, stride, _ = table
    for k in range(stride):
        x = words[a * stride + k]
        y = words[b * stride + k]
        if x != y:
            return bool(x > y)
    return False


@njit(cache=True, nogil=True)
def _merge_sort(docs: Codes, scores: Floats, table: NameTable) -> None:
    n = len(docs)
    spare_docs, spare_scores = np.empty(n, dtype=docs.dtype), np.empty(n, dtype=scores.dtype)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high:
                    left = True
                elif i >= middle:
                    left = False
                elif scores[i] != scores[j]:
                    left = scores[i] > scores[j]
                else:
                    left = not _name_follows(docs[j], docs[i], table)
                if left:
                    spare_docs[k], spare_scores[k] = docs[i], scores[i]
                    i += 1
                else:
                    spare_docs[k], spare_scores[k] = docs[j], scores[j]
                    j += 1
        for k in range(n):  # by a loop, for assigning arrays takes three seconds to compile
            docs[k], scores[k] = spare_docs[k], spare_scores[k]
        width *= 2


@njit(cache=True, nogil=True)
def round_to_single(scores: Floats) -> None:
    """Round scores to single precision, in place."""
    for i in range(len(scores)):
        scores[i] = np.float64(np.float32(scores[i]))


@njit(cache=True, nogil=True)
def order_groups(
    docs: Codes, scores: Floats, edges: Ints, table: NameTable, stamps: Stamps, serial: int
) -> tuple[int, int]:
    """Sort each group of rows, in place; return (-1, -1), or the group and row where a document is repeated.

    Group g is rows ``edges[g]`` to ``edges[g + 1]``. ``stamps`` remembers per document the last group that had
    it; groups are numbered from ``serial`` on, and all stamps are taken back when the numbers begin anew: small
    ones stay in the cache. What is nearly sorted, as runs with a few ties are, is sorted by insertion.
    """
    for g in range(len(edges) - 1):
        low, high = edges[g], edges[g + 1]
        stamp = np.uint16((serial + g) % LAST_STAMP + 1)
        if stamp == 1:
            for k in range(len(stamps)):
                stamps[k] = 0
        moves_left = 4 * (high - low)
        for i in range(low, high):
            doc, score = docs[i], scores[i]
            if stamps[doc] == stamp:
                return g, i
            stamps[doc] = stamp
            if i == low or scores[i - 1] > score or moves_left < 0:
                continue
            j = i
            while j > low and (
                score > scores[j - 1] or (score == scores[j - 1] and _name_follows(doc, docs[j - 1], table))
            ):
                docs[j], scores[j] = docs[j - 1], scores[j - 1]
                j -= 1
            docs[j], scores[j] = doc, score
            moves_left -= i - j
        if moves_left < 0:
            _merge_sort(docs[low:high], scores[low:high], table)
    return -1, -1


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
