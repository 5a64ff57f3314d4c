"""Compiled: measures estimated from a pool of which every stratum was sampled at its own rate.

On a shard the counts of a stratum are those of its documents in the shard; the strata themselves stay those of the
whole collection (V17 §4).
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from shardwise.core.arrays import Codes, Floats, Grades, Ints
from shardwise.scoring.kernels.ranked import EPSILON
from shardwise.scoring.kernels.walk import (
    close_shards,
    compiled,
    longest,
    no_places,
    note_judged,
    open_shards,
    read_only,
)
from shardwise.scoring.measures.definitions import Kernel

_PRECISION = int(Kernel.STRATIFIED_PRECISION)
_POOLED, _SAMPLED, _RELEVANT = 0, 1, 2


@compiled
def count_in(seen: Ints, worth: float) -> None:
    """Count a document of one stratum: pooled, sampled, relevant."""
    seen[_POOLED] += 1
    if worth > -2.0:
        seen[_SAMPLED] += 1
    if worth > 0.0:
        seen[_RELEVANT] += 1


@compiled
def estimated_relevant(seen: Ints) -> float:
    """Relevant documents of the pool that the sampled ones stand for, over all strata."""
    total = 0.0
    for c in range(seen.shape[0]):
        if seen[c, _SAMPLED] > 0:
            total += seen[c, _RELEVANT] * seen[c, _POOLED] / seen[c, _SAMPLED]
    return total


@compiled
def stratified_precision(
    ranks: Codes,
    places: Codes,
    strata: Codes,
    levels: Codes,
    worth: Floats,
    cutoff: int,
    pool: Ints,
    above: Ints,
) -> float:
    """Average precision: expected precision at the relevant documents, each standing for its stratum."""
    above[:] = 0
    total = 0.0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        c, here = strata[places[i]], worth[levels[places[i]]]
        if here > 0.0:
            relevant_above = 0.0
            for a in range(above.shape[0]):
                rate = (above[a, _RELEVANT] + EPSILON) / (above[a, _SAMPLED] + 3.0 * EPSILON)
                relevant_above += above[a, _POOLED] * rate
            total += (1.0 + relevant_above) / ranks[i] * pool[c, _POOLED] / pool[c, _SAMPLED]
        count_in(above[c], here)
    return total / estimated_relevant(pool)


@compiled
def stratified_gain(
    ranks: Codes,
    places: Codes,
    strata: Codes,
    levels: Codes,
    worth: Floats,
    discounts: Floats,
    cutoff: int,
    above: Ints,
    gain: Floats,
) -> float:
    """Discounted gain, that of each stratum scaled up by the share of its retrieved documents sampled."""
    above[:] = 0
    gain[:] = 0.0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        c, here = strata[places[i]], worth[levels[places[i]]]
        count_in(above[c], here)
        if here > 0.0:
            gain[c] += here * discounts[ranks[i]]
    total = 0.0
    for c in range(len(gain)):
        if above[c, _SAMPLED] > 0:
            total += gain[c] * above[c, _POOLED] / above[c, _SAMPLED]
    return total


@compiled
def ideal_gain(
    counts: Ints, pool: Ints, worth: Floats, order: Codes, discounts: Floats, cutoff: int
) -> float:
    """Discounted gain of the best ranking of as many documents of each grade as there should be."""
    total, rank = 0.0, 0
    for level in order:
        if worth[level] <= 0.0:
            break
        expected = 0.0
        for c in range(pool.shape[0]):
            if counts[c, level] > 0:
                expected += counts[c, level] * pool[c, _POOLED] / pool[c, _SAMPLED]
        for _ in range(int(expected + 0.5)):
            rank += 1
            if rank > cutoff:
                return total
            total += worth[level] * discounts[rank]
    return total


_int32s, _int64s = read_only(types.int32, 1), read_only(types.int64, 1)
_tables = read_only(types.float64, 2)
_SIGNATURE = types.int64(
    *(_int32s, _int64s, read_only(types.int16, 1), _int32s, _int64s),
    *(_int32s, _int32s, types.int64),
    *(read_only(types.int16, 2), types.int64, types.int64, types.int64),
    *(_int64s, _int64s, _tables, read_only(types.int32, 2), _tables),
    *(types.int64, types.int64, types.Array(types.float64, 5, "C")),
)


@njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy")
def score_strata(
    docs: Codes,
    starts: Ints,
    grades: Grades,
    qrel_docs: Codes,
    qrel_starts: Ints,
    qrel_levels: Codes,
    qrel_strata: Codes,
    n_strata: int,
    shards: Grades,
    n_shards: int,
    n_docs: int,
    split: int,
    kernels: Ints,
    cutoffs: Ints,
    values: Floats,
    orders: Codes,
    discounts: Floats,
    first_topic: int,
    end_topic: int,
    out: Floats,
) -> int:
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    Returns -1, or the number of the ranking whose grades do not fit the judgments.
    """
    n_topics = len(qrel_starts) - 1
    n_measures, _, _, n_systems, _ = out.shape
    whole = shards.shape[1] == 0
    shard_of = shards[split]
    most = longest(qrel_starts, first_topic, end_topic)
    place_of = no_places(n_docs)
    ranks = np.empty(most, dtype=np.int32)
    places = np.empty(most, dtype=np.int32)
    members = np.empty(most, dtype=np.int32)
    begin = np.empty(n_shards + 1, dtype=np.int32)
    end = np.empty(n_shards, dtype=np.int32)
    seen = np.empty(n_shards, dtype=np.int32)
    counts = np.empty((n_shards, n_strata, values.shape[1]), dtype=np.int64)
    pool = np.empty((n_measures, n_shards, n_strata, 3), dtype=np.int64)
    ideal = np.empty((n_measures, n_shards))  # undefined where it is 0
    above = np.empty((n_strata, 3), dtype=np.int64)
    gain = np.empty(n_strata)

    for t in range(first_topic, end_topic):
        judged = qrel_docs[qrel_starts[t] : qrel_starts[t + 1]]
        levels = qrel_levels[qrel_starts[t] : qrel_starts[t + 1]]
        strata = qrel_strata[qrel_starts[t] : qrel_starts[t + 1]]
        open_shards(judged, shard_of, whole, place_of, begin, members)
        counts[:] = 0
        pool[:] = 0
        for s in range(n_shards):
            for j in members[begin[s] : begin[s + 1]]:
                counts[s, strata[j], levels[j]] += 1
                for m in range(n_measures):
                    count_in(pool[m, s, strata[j]], values[m, levels[j]])
        for m in range(n_measures):
            for s in range(n_shards):
                ideal[m, s] = (
                    estimated_relevant(pool[m, s])
                    if kernels[m] == _PRECISION
                    else ideal_gain(counts[s], pool[m, s], values[m], orders[m], discounts[m], cutoffs[m])
                )

        for r in range(n_systems):
            ranking = r * n_topics + t
            ranked = docs[starts[ranking] : starts[ranking + 1]]
            graded = grades[starts[ranking] : starts[ranking + 1]]
            if not note_judged(ranked, graded, shard_of, whole, place_of, begin, end, seen, ranks, places):
                return ranking
            for m in range(n_measures):
                for s in range(n_shards):
                    if ideal[m, s] <= 0.0:
                        out[m, split, t, r, s] = np.nan
                        continue
                    at_ranks, at_places = ranks[begin[s] : end[s]], places[begin[s] : end[s]]
                    if kernels[m] == _PRECISION:
                        out[m, split, t, r, s] = stratified_precision(
                            at_ranks, at_places, strata, levels, values[m], cutoffs[m], pool[m, s], above
                        )
                    else:
                        total = stratified_gain(
                            at_ranks,
                            at_places,
                            strata,
                            levels,
                            values[m],
                            discounts[m],
                            cutoffs[m],
                            above,
                            gain,
                        )
                        out[m, split, t, r, s] = total / ideal[m, s]
        close_shards(judged, place_of)
    return -1
