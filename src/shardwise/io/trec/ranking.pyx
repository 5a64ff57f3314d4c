"""Rows of one file to rankings in trec_eval order, and rankings to the codes and grades of a collection.

trec_eval sorts by score, descending, and breaks ties by document name, descending; it ignores the rank column. Until
9.0.7 it kept scores in single precision, since 9.0.8 in double.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint64_t

import numpy as np

cdef enum:
    LARGEST_STAMP = (1 << 16) - 1

LAST_STAMP = LARGEST_STAMP


cdef inline bint goes_first(
    const uint64_t[::1] words, int64_t stride, bint ascending, int64_t a, int64_t b
) noexcept nogil:
    """Whether document a comes before b of the same score: the one with the greater name, ascending the smaller."""
    cdef int64_t k
    for k in range(stride):
        if words[a * stride + k] != words[b * stride + k]:
            return (words[a * stride + k] > words[b * stride + k]) != ascending
    return False


cdef void merge_sort(
    int32_t[::1] docs,
    double[::1] scores,
    int64_t start,
    int64_t stop,
    const uint64_t[::1] words,
    int64_t stride,
    bint ascending,
    int32_t[::1] spare_docs,
    double[::1] spare_scores,
) noexcept nogil:
    """Sort the rows from ``start`` to ``stop``; the spare arrays have room for them."""
    cdef int64_t width = 1, low, middle, high, i, j, k
    cdef bint from_left
    while width < stop - start:
        low = start
        while low < stop:
            middle = min(low + width, stop)
            high = min(low + 2 * width, stop)
            i, j = low, middle
            for k in range(low, high):
                if j >= high:
                    from_left = True
                elif i >= middle:
                    from_left = False
                elif scores[i] != scores[j]:
                    from_left = scores[i] > scores[j]
                else:
                    from_left = not goes_first(words, stride, ascending, docs[j], docs[i])
                if from_left:
                    spare_docs[k - start], spare_scores[k - start] = docs[i], scores[i]
                    i += 1
                else:
                    spare_docs[k - start], spare_scores[k - start] = docs[j], scores[j]
                    j += 1
            low = high
        for k in range(start, stop):
            docs[k], scores[k] = spare_docs[k - start], spare_scores[k - start]
        width *= 2


def order_groups(
    int32_t[::1] docs not None,
    double[::1] scores not None,
    const int64_t[::1] edges not None,
    const uint64_t[::1] words not None,
    int64_t stride,
    uint16_t[::1] stamps not None,
    int64_t serial,
    bint ascending=False,
):
    """Sort each group of rows, in place; return (-1, -1), or the group and row where a document is repeated.

    Group g is rows ``edges[g]`` to ``edges[g + 1]``. ``words`` are the names, ``stride`` words each. ``stamps``
    remembers per document the last group that had it; groups are numbered from ``serial`` on, and all stamps are taken
    back when the numbers begin anew: small ones stay in the cache. What is nearly sorted, as runs with a few ties are,
    is sorted by insertion. Documents of the same score are in descending order of their names unless ``ascending``.
    """
    cdef int64_t g, i, j, k, low, high, moves_left
    cdef int64_t repeated = -1
    cdef int64_t n_groups = edges.shape[0] - 1
    cdef int32_t doc
    cdef double score
    cdef uint16_t stamp
    cdef int32_t[::1] spare_docs = None
    cdef double[::1] spare_scores = None
    with nogil:
        for g in range(n_groups):
            low, high = edges[g], edges[g + 1]
            stamp = <uint16_t>((serial + g) % LARGEST_STAMP + 1)
            if stamp == 1:
                for k in range(stamps.shape[0]):
                    stamps[k] = 0
            moves_left = 4 * (high - low)
            for i in range(low, high):
                doc, score = docs[i], scores[i]
                if stamps[doc] == stamp:
                    repeated = i
                    break
                stamps[doc] = stamp
                if i == low or scores[i - 1] > score or moves_left < 0:
                    continue
                j = i
                while j > low and (
                    score > scores[j - 1]
                    or (score == scores[j - 1] and goes_first(words, stride, ascending, doc, docs[j - 1]))
                ):
                    docs[j], scores[j] = docs[j - 1], scores[j - 1]
                    j -= 1
                docs[j], scores[j] = doc, score
                moves_left -= i - j
            if repeated >= 0:
                break
            if moves_left < 0:
                if spare_docs is None or spare_docs.shape[0] < high - low:
                    with gil:
                        spare_docs = np.empty(high - low, dtype=np.int32)
                        spare_scores = np.empty(high - low)
                merge_sort(docs, scores, low, high, words, stride, ascending, spare_docs, spare_scores)
    if repeated >= 0:
        return g, repeated
    return -1, -1


def group_rows(
    const int32_t[::1] topic_of_run not None, const int64_t[::1] run_rows not None, int64_t n_rows, int64_t n_topics
):
    """Bring rows of the same topic together, in file order; return rows and the edges of the topics."""
    sizes = np.zeros(n_topics + 1, dtype=np.int64)
    lengths = np.diff(run_rows, append=n_rows)
    np.add.at(sizes, np.asarray(topic_of_run) + 1, lengths)
    edges = np.cumsum(sizes)
    grouped = np.empty(n_rows, dtype=np.int64)
    cdef int64_t[::1] rows = grouped
    cdef int64_t[::1] at = edges[:n_topics].copy()
    cdef const int64_t[::1] run_lengths = lengths
    cdef int64_t r, t, k
    with nogil:
        for r in range(run_rows.shape[0]):
            t = topic_of_run[r]
            for k in range(run_lengths[r]):
                rows[at[t] + k] = run_rows[r] + k
            at[t] += run_lengths[r]
    return grouped, edges


def place_rankings(
    const int32_t[::1] run_docs not None,
    const int64_t[::1] edges not None,
    const int64_t[::1] target not None,
    const int32_t[::1] codes not None,
    const int64_t[::1] starts not None,
    const int64_t[::1] counts not None,
    int32_t[::1] docs not None,
):
    """Copy the rankings of one run to their places, in the common codes; target -1 leaves a topic out."""
    cdef int64_t g, t, i
    with nogil:
        for g in range(target.shape[0]):
            t = target[g]
            if t >= 0:
                for i in range(counts[t]):
                    docs[starts[t] + i] = codes[run_docs[edges[g] + i]]


def grade_rankings(
    const int64_t[::1] topics not None,
    const int32_t[::1] docs not None,
    const int64_t[::1] starts not None,
    int16_t[::1] grades not None,
    const int32_t[::1] judged_docs not None,
    const int16_t[::1] judged_grades not None,
    const int64_t[::1] judged_starts not None,
    int16_t[::1] grade_of not None,
    int16_t unjudged,
):
    """Look up the grade of every ranked document, a topic at a time so that the table stays in cache.

    Rankings stand one after another, systems outermost. ``grade_of`` has the grade of an unjudged document for every
    document, before and after.
    """
    cdef int64_t n_topics = judged_starts.shape[0] - 1
    cdef int64_t k, t, j, i, ranking
    with nogil:
        for k in range(topics.shape[0]):
            t = topics[k]
            for j in range(judged_starts[t], judged_starts[t + 1]):
                grade_of[judged_docs[j]] = judged_grades[j]
            ranking = t
            while ranking < starts.shape[0] - 1:
                for i in range(starts[ranking], starts[ranking + 1]):
                    grades[i] = grade_of[docs[i]]
                ranking += n_topics
            for j in range(judged_starts[t], judged_starts[t + 1]):
                grade_of[judged_docs[j]] = unjudged
