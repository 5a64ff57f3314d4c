"""Compiled: measures of novelty and diversity, on judgments by subtopic."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from shardwise.core.arrays import Codes, Floats, Grades, Ints
from shardwise.scoring.kernels.walk import (
    close_shards,
    compiled,
    longest,
    no_places,
    note_judged,
    open_shards,
    read_only,
)
from shardwise.scoring.measures.definitions import Kernel, Norm

_NOVELTY = int(Kernel.NOVELTY)
_COVERAGE = int(Kernel.COVERAGE)
_GREEDY = int(Norm.GREEDY)


@compiled
def new_worth(levels: Codes, worth: Floats, weights: Floats, left: Floats) -> float:
    """What a document adds: the weight of each of its subtopics times what that subtopic has left."""
    gain = 0.0
    for k in range(len(weights)):
        if levels[k] >= 0 and worth[levels[k]] > 0.0:
            gain += weights[k] * left[k]
    return gain


@compiled
def take(levels: Codes, worth: Floats, alpha: float, left: Floats) -> None:
    """A document was read: its subtopics are worth less from now on."""
    for k in range(len(left)):
        if levels[k] >= 0 and worth[levels[k]] > 0.0:
            left[k] *= 1.0 - alpha


@compiled
def novelty(
    ranks: Codes,
    places: Codes,
    levels: Codes,
    worth: Floats,
    weights: Floats,
    discounts: Floats,
    alpha: float,
    cutoff: int,
    left: Floats,
) -> float:
    """Discounted sum of what each document adds to those above it."""
    left[:] = 1.0
    total = 0.0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        total += new_worth(levels[places[i]], worth, weights, left) * discounts[ranks[i]]
        take(levels[places[i]], worth, alpha, left)
    return total


@compiled
def greedy(
    members: Codes,
    levels: Codes,
    worth: Floats,
    weights: Floats,
    discounts: Floats,
    alpha: float,
    cutoff: int,
    left: Floats,
) -> float:
    """The same for the ranking that takes the document that adds most, of equals the last by name.

    The best ranking is hard to find; ndeval settles for this one, and ties decide what is left for later ranks.
    """
    left[:] = 1.0
    waiting = members.copy()
    total = 0.0
    for rank in range(1, min(cutoff, len(members)) + 1):
        best, most = -1, 0.0
        for i in range(len(waiting)):
            if waiting[i] >= 0:
                gain = new_worth(levels[waiting[i]], worth, weights, left)
                if best < 0 or gain >= most:
                    best, most = i, gain
        if most <= 0.0:
            break
        total += most * discounts[rank]
        take(levels[waiting[best]], worth, alpha, left)
        waiting[best] = -1
    return total


@compiled
def global_gain(levels: Codes, worth: Floats, weights: Floats) -> float:
    """Gain of a document over all subtopics, each weighted by its probability."""
    gain = 0.0
    for k in range(len(weights)):
        if levels[k] >= 0:
            gain += weights[k] * worth[levels[k]]
    return gain


@compiled
def ideal_gain(
    members: Codes, levels: Codes, worth: Floats, weights: Floats, discounts: Floats, cutoff: int
) -> float:
    """Discounted sum of the global gains in descending order."""
    gains = np.empty(len(members))
    for i in range(len(members)):
        gains[i] = global_gain(levels[members[i]], worth, weights)
    gains.sort()
    total = 0.0
    for rank in range(1, min(cutoff, len(gains)) + 1):
        total += gains[len(gains) - rank] * discounts[rank]
    return total


@compiled
def coverage(
    ranks: Codes,
    places: Codes,
    levels: Codes,
    worth: Floats,
    weights: Floats,
    discounts: Floats,
    gamma: float,
    cutoff: int,
    ideal: float,
    held: float,
    left: Floats,
) -> float:
    """gamma x share of the subtopics found + (1 - gamma) x gain over that of the best ranking."""
    left[:] = 1.0
    gain, found = 0.0, 0.0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        gain += global_gain(levels[places[i]], worth, weights) * discounts[ranks[i]]
        take(levels[places[i]], worth, 1.0, left)
    for k in range(len(left)):
        if left[k] == 0.0:
            found += 1.0
    covered = gamma * found / held if gamma > 0.0 else 0.0
    return covered + ((1.0 - gamma) * gain / ideal if gamma < 1.0 else 0.0)


@compiled
def weight_held(members: Codes, levels: Codes, worth: Floats, weights: Floats, left: Floats) -> float:
    """Summed weight of the subtopics that have a document of any worth."""
    left[:] = 1.0
    for i in range(len(members)):
        take(levels[members[i]], worth, 1.0, left)
    total = 0.0
    for k in range(len(left)):
        if left[k] == 0.0:
            total += weights[k]
    return total


_int32s, _int64s, _floats = (read_only(kind, 1) for kind in (types.int32, types.int64, types.float64))
_tables = read_only(types.float64, 2)
_SIGNATURE = types.int64(
    *(_int32s, _int64s, read_only(types.int16, 1), _int32s, _int64s),
    *(_int64s, _floats, _int64s, _int32s, _int32s),
    *(read_only(types.int16, 2), types.int64, types.int64, types.int64),
    *(_int64s, _int64s, _int64s, _floats, _floats, _tables, _tables),
    *(types.int64, types.int64, types.Array(types.float64, 5, "C")),
)


@njit(_SIGNATURE, cache=True, nogil=True, error_model="numpy")
def score_subtopics(
    docs: Codes,
    starts: Ints,
    grades: Grades,
    qrel_docs: Codes,
    qrel_starts: Ints,
    subtopic_starts: Ints,
    subtopic_weights: Floats,
    edges: Ints,
    codes: Codes,
    code_levels: Codes,
    shards: Grades,
    n_shards: int,
    n_docs: int,
    split: int,
    kernels: Ints,
    norms: Ints,
    cutoffs: Ints,
    numbers: Floats,
    endless: Floats,
    values: Floats,
    discounts: Floats,
    first_topic: int,
    end_topic: int,
    out: Floats,
) -> int:
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    ``codes`` are subtopics and ``code_levels`` the numbers of the grades, judged document after judged document.
    Returns -1, or the number of the ranking whose grades do not fit the judgments.
    """
    n_topics = len(qrel_starts) - 1
    n_measures, _, _, n_systems, _ = out.shape
    whole = shards.shape[1] == 0
    shard_of = shards[split]
    most = longest(qrel_starts, first_topic, end_topic)
    most_subtopics = longest(subtopic_starts, first_topic, end_topic)
    place_of = no_places(n_docs)
    levels = np.empty((most, most_subtopics), dtype=np.int32)
    ranks = np.empty(most, dtype=np.int32)
    places = np.empty(most, dtype=np.int32)
    members = np.empty(most, dtype=np.int32)
    begin = np.empty(n_shards + 1, dtype=np.int32)
    end = np.empty(n_shards, dtype=np.int32)
    seen = np.empty(n_shards, dtype=np.int32)
    ideal = np.empty((n_measures, n_shards))  # what the sum is divided by; undefined where it is 0
    held = np.empty((n_measures, n_shards))  # subtopics there are
    ones = np.ones(most_subtopics)

    for t in range(first_topic, end_topic):
        n_subtopics = subtopic_starts[t + 1] - subtopic_starts[t]
        weights = subtopic_weights[subtopic_starts[t] : subtopic_starts[t + 1]]
        alike = ones[:n_subtopics]
        left = np.empty(n_subtopics)
        judged = qrel_docs[qrel_starts[t] : qrel_starts[t + 1]]
        open_shards(judged, shard_of, whole, place_of, begin, members)
        graded_by = levels[: len(judged), :n_subtopics]
        graded_by[:] = -1
        for j in range(len(judged)):
            at = qrel_starts[t] + j
            for i in range(edges[at], edges[at + 1]):
                graded_by[j, codes[i]] = code_levels[i]

        for m in range(n_measures):
            intents = alike if kernels[m] == _NOVELTY else weights
            for s in range(n_shards):
                inside = members[begin[s] : begin[s + 1]]
                held[m, s] = weight_held(inside, graded_by, values[m], alike, left)
                if kernels[m] == _COVERAGE:
                    ideal[m, s] = (
                        ideal_gain(inside, graded_by, values[m], weights, discounts[m], cutoffs[m])
                        if numbers[m] < 1.0
                        else held[m, s]
                    )
                elif norms[m] == _GREEDY:
                    ideal[m, s] = greedy(
                        inside, graded_by, values[m], intents, discounts[m], numbers[m], cutoffs[m], left
                    )
                else:
                    ideal[m, s] = endless[m] * weight_held(inside, graded_by, values[m], intents, left)

        for r in range(n_systems):
            ranking = r * n_topics + t
            ranked = docs[starts[ranking] : starts[ranking + 1]]
            graded = grades[starts[ranking] : starts[ranking + 1]]
            if not note_judged(ranked, graded, shard_of, whole, place_of, begin, end, seen, ranks, places):
                return ranking
            for m in range(n_measures):
                intents = alike if kernels[m] == _NOVELTY else weights
                for s in range(n_shards):
                    if ideal[m, s] <= 0.0:
                        out[m, split, t, r, s] = np.nan
                        continue
                    at_ranks, at_places = ranks[begin[s] : end[s]], places[begin[s] : end[s]]
                    if kernels[m] == _COVERAGE:
                        out[m, split, t, r, s] = coverage(
                            at_ranks, at_places, graded_by, values[m], weights, discounts[m], numbers[m],
                            cutoffs[m], ideal[m, s], held[m, s], left,
                        )  # fmt: skip
                    else:
                        total = novelty(
                            at_ranks, at_places, graded_by, values[m], intents, discounts[m], numbers[m],
                            cutoffs[m], left,
                        )  # fmt: skip
                        out[m, split, t, r, s] = total / ideal[m, s]
        close_shards(judged, place_of)
    return -1
