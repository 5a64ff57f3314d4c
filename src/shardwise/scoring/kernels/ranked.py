"""Compiled: all shards of a ranking in one pass, then every measure on the few documents that matter.

A measure sees, of one ranking in one shard, the rank and the grade of each judged document that is worth
something to some measure, the number of documents retrieved, and what the judgments alone decide (the
norm). So the pass over the ranking costs the same whatever the number of shards: it counts documents per
shard and notes down the judged ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from shardwise.core.arrays import Bools, Codes, Floats, Grades, Ints
from shardwise.scoring.measures.definitions import Kernel, Norm

_AVERAGE_PRECISION = int(Kernel.AVERAGE_PRECISION)
_WEIGHTED_SUM = int(Kernel.WEIGHTED_SUM)
_FIRST = int(Kernel.FIRST)
_CASCADE = int(Kernel.CASCADE)
_PREFERENCES = int(Kernel.PREFERENCES)
_R_PRECISION = int(Kernel.R_PRECISION)
_SHARE = int(Kernel.SHARE)
_RETRIEVED = int(Kernel.RETRIEVED)
_BLENDED_RATIO = int(Kernel.BLENDED_RATIO)
_INFERRED = int(Kernel.INFERRED)
_CUTOFF = int(Norm.CUTOFF)
_TOTAL = int(Norm.TOTAL)
_IDEAL = int(Norm.IDEAL)
_CAPPED = int(Norm.CAPPED)
_IDEAL_CASCADE = int(Norm.IDEAL_CASCADE)

EPSILON = 1e-5  # keeps estimated precisions from 0/0, as trec_eval and sample_eval have it
_OFFSET = 32768
_index = np.uintp  # an index that may be negative costs a test and doubles the time of the pass
_compiled = njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def average_precision(ranks: Codes, levels: Codes, worth: Floats, cutoff: int) -> float:
    """Sum of the precisions at the relevant documents."""
    total, found = 0.0, 0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        if worth[levels[i]] > 0.0:
            found += 1
            total += found / ranks[i]
    return total


@_compiled
def weighted_sum(ranks: Codes, levels: Codes, worth: Floats, weights: Floats, cutoff: int) -> float:
    """Sum of worth x weight of the rank."""
    total = 0.0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        total += worth[levels[i]] * weights[ranks[i]]
    return total


@_compiled
def first(ranks: Codes, levels: Codes, worth: Floats, weights: Floats, cutoff: int) -> float:
    """Weight of the rank of the first document of any worth."""
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        if worth[levels[i]] > 0.0:
            return float(weights[ranks[i]])
    return 0.0


@_compiled
def cascade(ranks: Codes, levels: Codes, worth: Floats, weights: Floats, cutoff: int) -> float:
    """Mean weight of the rank where a reader stops who stops at a document with probability worth."""
    total, still_reading = 0.0, 1.0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        stop = worth[levels[i]]
        total += still_reading * stop * weights[ranks[i]]
        still_reading *= 1.0 - stop
    return total


@_compiled
def preferences(levels: Codes, worth: Floats, relevant: float, nonrelevant: float) -> float:
    """Sum over relevant documents of the share of nonrelevant ones that they precede."""
    total, above = 0.0, 0
    for i in range(len(levels)):
        if worth[levels[i]] < 0.0:
            above += 1
        elif worth[levels[i]] > 0.0:
            total += 1.0 - min(float(above), relevant) / min(nonrelevant, relevant) if above else 1.0
    return total


@_compiled
def blended_ratio(
    ranks: Codes, levels: Codes, worth: Floats, counts: Codes, order: Codes, beta: float, cutoff: int
) -> float:
    """Sum over relevant documents of (C + beta G) / (r + beta I), I being the gain of the best r documents."""
    total, found, gain = 0.0, 0, 0.0
    ideal, reached, at, left = 0.0, 0, 0, counts[order[0]]
    for i in range(len(ranks)):
        rank = ranks[i]
        if rank > cutoff:
            break
        if worth[levels[i]] <= 0.0:
            continue
        found += 1
        gain += worth[levels[i]]
        while reached < rank and at < len(order) and worth[order[at]] > 0.0:
            taken = min(rank - reached, left)
            ideal += taken * worth[order[at]]
            reached += taken
            left -= taken
            if left == 0:
                at += 1
                if at < len(order):
                    left = counts[order[at]]
        total += (found + beta * gain) / (rank + beta * ideal)
    return total


@_compiled
def inferred(ranks: Codes, levels: Codes, worth: Floats) -> float:
    """Sum of the precisions at the relevant documents, as the judged part of the pool above suggests them."""
    total, relevant, nonrelevant, unjudged = 0.0, 0, 0, 0
    for i in range(len(ranks)):
        if worth[levels[i]] < -1.0:
            unjudged += 1
        elif worth[levels[i]] < 0.0:
            nonrelevant += 1
        else:
            rank, pooled = ranks[i], relevant + nonrelevant + unjudged
            if rank > 1:  # trec_eval gives the first rank 1 exactly
                rate = (relevant + EPSILON) / (relevant + nonrelevant + 2.0 * EPSILON)
                total += (1.0 + pooled * rate) / rank
            else:
                total += 1.0
            relevant += 1
    return total


@_compiled
def value(
    kernel: int,
    ranks: Codes,
    levels: Codes,
    retrieved: int,
    worth: Floats,
    weights: Floats,
    cutoff: int,
    norm: float,
    nonrelevant: float,
    number: float,
    counts: Codes,
    order: Codes,
) -> float:
    """One measure on one ranking in one shard."""
    if kernel == _AVERAGE_PRECISION:
        return average_precision(ranks, levels, worth, cutoff) / norm
    if kernel == _WEIGHTED_SUM:
        return weighted_sum(ranks, levels, worth, weights, cutoff) / norm
    if kernel == _FIRST:
        return first(ranks, levels, worth, weights, cutoff)
    if kernel == _CASCADE:
        return cascade(ranks, levels, worth, weights, cutoff) / norm
    if kernel == _PREFERENCES:
        return preferences(levels, worth, norm, nonrelevant) / norm
    if kernel == _R_PRECISION:
        return weighted_sum(ranks, levels, worth, weights, int(norm)) / norm
    if kernel == _SHARE:
        depth = min(cutoff, retrieved)
        return weighted_sum(ranks, levels, worth, weights, depth) / depth if depth else 0.0
    if kernel == _RETRIEVED:
        return float(retrieved)
    if kernel == _BLENDED_RATIO:
        return blended_ratio(ranks, levels, worth, counts, order, number, cutoff) / norm
    if kernel == _INFERRED:
        return inferred(ranks, levels, worth) / norm
    return norm


@_compiled
def norm_of(kind: int, counts: Codes, worth: Floats, order: Codes, weights: Floats, cutoff: int) -> float:
    """What the judgments of one topic in one shard make of a norm; counts are documents per grade."""
    if kind == _CUTOFF:
        return float(cutoff)
    if kind == _TOTAL:
        return worthy(counts, worth)
    if kind == _CAPPED:
        return min(float(cutoff), relevant_count(counts, worth))
    if kind == _IDEAL_CASCADE:
        return ideal_cascade(counts, worth, order, weights, cutoff)
    if kind != _IDEAL:
        return 1.0
    total, rank = 0.0, 0
    for level in order:
        if worth[level] <= 0.0:
            break
        for _ in range(counts[level]):
            rank += 1
            if rank > cutoff:
                return total
            total += worth[level] * weights[rank]
    return total


@_compiled
def ideal_cascade(counts: Codes, worth: Floats, order: Codes, weights: Floats, cutoff: int) -> float:
    """Mean weight of the rank where a reader stops who reads the best possible ranking."""
    total, rank, still_reading = 0.0, 0, 1.0
    for level in order:
        if worth[level] <= 0.0:
            break
        for _ in range(counts[level]):
            rank += 1
            if rank > cutoff:
                return total
            total += still_reading * worth[level] * weights[rank]
            still_reading *= 1.0 - worth[level]
    return total


@_compiled
def relevant_count(counts: Codes, worth: Floats) -> float:
    """Number of judged documents that are worth something."""
    total = 0.0
    for level in range(len(counts)):
        if worth[level] > 0.0:
            total += counts[level]
    return total


@_compiled
def worthy(counts: Codes, worth: Floats) -> float:
    """Summed worth of the judged documents that are worth something."""
    total = 0.0
    for level in range(len(counts)):
        if worth[level] > 0.0:
            total += counts[level] * worth[level]
    return total


@_compiled
def unworthy(counts: Codes, worth: Floats) -> float:
    """Number of judged documents that count against a ranking."""
    total = 0.0
    for level in range(len(counts)):
        if worth[level] < 0.0:
            total += counts[level]
    return total


def _read_only(dtype: types.Type, ndim: int) -> types.Array:
    return types.Array(dtype, ndim, "C", readonly=True)


_int16s, _int32s = _read_only(types.int16, 1), _read_only(types.int32, 1)
_int64s, _bools = _read_only(types.int64, 1), _read_only(types.boolean, 1)
_floats = _read_only(types.float64, 2)
_SIGNATURE = types.int64(
    *(_int32s, _int64s, _int16s),
    *(_int32s, _int16s, _int64s),
    *(_read_only(types.int16, 2), types.int64, types.int64),
    *(_int64s, _int64s, _int64s, _bools, _read_only(types.float64, 1)),
    *(_floats, _read_only(types.int32, 2), _floats, _int32s, types.int64),
    *(types.int64, types.int64, types.Array(types.float64, 5, "C")),
)


@njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy")
def score_topics(
    docs: Codes,
    starts: Ints,
    grades: Grades,
    qrel_docs: Codes,
    qrel_grades: Grades,
    qrel_starts: Ints,
    shards: Grades,
    n_shards: int,
    split: int,
    kernels: Ints,
    norms: Ints,
    cutoffs: Ints,
    needs_relevant: Bools,
    numbers: Floats,
    values: Floats,
    orders: Codes,
    discounts: Floats,
    level_of: Codes,
    floor: int,
    first_topic: int,
    end_topic: int,
    out: Floats,
) -> int:
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    ``shards`` without columns means one shard, the whole. Returns -1, or the number of the ranking whose
    grades do not fit the judgments.
    """
    n_topics = len(qrel_starts) - 1
    n_measures, _, _, n_systems, _ = out.shape
    whole = shards.shape[1] == 0
    shard_of = shards[split]
    longest = 0
    for t in range(first_topic, end_topic):
        longest = max(longest, qrel_starts[t + 1] - qrel_starts[t])
    ranks = np.empty(longest, dtype=np.int32)
    levels = np.empty(longest, dtype=np.int32)
    begin = np.empty(n_shards + 1, dtype=np.int32)  # where the notes of a shard begin
    end = np.empty(n_shards, dtype=np.int32)  # and end so far
    limit = np.empty(n_shards, dtype=np.int32)  # and may end at most
    seen = np.empty(n_shards, dtype=np.int32)
    counts = np.empty((n_shards, values.shape[1]), dtype=np.int32)
    norm = np.empty((n_measures, n_shards))
    against = np.empty((n_measures, n_shards))
    defined = np.empty((n_measures, n_shards), dtype=np.bool_)

    for t in range(first_topic, end_topic):
        counts[:] = 0
        begin[:] = 0
        for i in range(qrel_starts[t], qrel_starts[t + 1]):
            s = 0 if whole else shard_of[qrel_docs[i]]
            counts[s, level_of[qrel_grades[i] + _OFFSET]] += 1
            if qrel_grades[i] >= floor:
                begin[s + 1] += 1
        for s in range(n_shards):
            begin[s + 1] += begin[s]
            limit[s] = begin[s + 1]
        for m in range(n_measures):
            for s in range(n_shards):
                defined[m, s] = not needs_relevant[m] or worthy(counts[s], values[m]) > 0.0
                norm[m, s] = norm_of(norms[m], counts[s], values[m], orders[m], discounts[m], cutoffs[m])
                against[m, s] = unworthy(counts[s], values[m])

        for r in range(n_systems):
            ranking = r * n_topics + t
            seen[:] = 0
            for s in range(n_shards):
                end[s] = begin[s]
            ranked = docs[starts[ranking] : starts[ranking + 1]]
            graded = grades[starts[ranking] : starts[ranking + 1]]
            for i in range(_index(len(ranked))):
                s = _index(0) if whole else _index(shard_of[_index(ranked[i])])
                seen[s] += 1
                if graded[i] >= floor:
                    at = _index(end[s])
                    level = level_of[graded[i] + _OFFSET]
                    if at == _index(limit[s]) or level < 0:
                        return ranking
                    ranks[at] = seen[s]
                    levels[at] = level
                    end[s] += 1
            for m in range(n_measures):
                for s in range(n_shards):
                    if not defined[m, s]:
                        out[m, split, t, r, s] = np.nan
                        continue
                    out[m, split, t, r, s] = value(
                        kernels[m],
                        ranks[begin[s] : end[s]],
                        levels[begin[s] : end[s]],
                        seen[s],
                        values[m],
                        discounts[m],
                        cutoffs[m],
                        norm[m, s],
                        against[m, s],
                        numbers[m],
                        counts[s],
                        orders[m],
                    )
    return -1
