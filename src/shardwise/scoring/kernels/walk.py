"""Compiled: down a ranking once, in all shards at the same time, noting down the judged documents.

A measure sees, of one ranking in one shard, the rank of each judged document that matters to it and where that
document stands in the ranking; its grade, or its place among the judgments, is looked up for these few. So the walk
costs the same whatever the number of shards and measures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Codes, Grades, Ints
from shardwise.core.compiled import njit
from shardwise.io.collection import UNJUDGED
from shardwise.scoring.kernels.arguments import Rule
from shardwise.scoring.measures.tables import Tables

compiled = njit(cache=True, nogil=True, error_model="numpy")
JUDGED = int(UNJUDGED) + 1  # lowest grade that a judged document can have
_index = np.uintp  # an index that may be negative costs a test and doubles the time of the walk
_one = np.uintp(1)


class Notes(NamedTuple):
    """Judged documents of one ranking, those of shard s from ``begin[s]`` to ``end[s]``."""

    ranks: Codes  # in the shard
    places: Codes  # in the ranking
    begin: Codes  # (shard + 1,)
    end: Codes  # (shard,)
    seen: Codes  # (shard,): documents retrieved


@compiled
def blank_notes(most: int, n_shards: int) -> Notes:
    """Room for the judged documents of a ranking, ``most`` of them."""
    return Notes(
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty(n_shards + 1, dtype=np.int32),
        np.empty(n_shards, dtype=np.int32),
        np.empty(n_shards, dtype=np.int32),
    )


@compiled
def note_judged(ranked: Codes, graded: Grades, shard_of: Grades, floor: int, notes: Notes) -> bool:
    """Note down the documents of a ranking whose grade is ``floor`` or more.

    ``notes.begin`` says how many there can be in each shard; returns False where there are more, so that the grades
    cannot be those of the judgments.
    """
    ranks, places, begin, end, seen = notes
    whole = len(shard_of) == 0
    seen[:] = 0
    for shard in range(len(end)):  # a slice into a slice takes seconds to compile
        end[shard] = begin[shard]
    for i in range(_index(len(ranked))):
        s = _index(0) if whole else _index(shard_of[_index(ranked[i])])
        seen[s] += 1
        if graded[i] >= floor:
            at = _index(end[s])
            if at == _index(begin[s + _one]):
                return False
            ranks[at] = seen[s]
            places[at] = i
            end[s] += 1
    return True


@compiled
def open_shards(judged: Codes, shard_of: Grades, place_of: Codes, begin: Codes, members: Codes) -> None:
    """Note down the places of the judged documents of one topic, shard after shard, from ``begin[s]`` on."""
    whole = len(shard_of) == 0
    begin[:] = 0
    for j in range(len(judged)):
        begin[(0 if whole else shard_of[judged[j]]) + 1] += 1
    for s in range(len(begin) - 1):
        begin[s + 1] += begin[s]
    at = begin[:-1].copy()
    for j in range(len(judged)):
        s = 0 if whole else shard_of[judged[j]]
        members[at[s]] = j
        at[s] += 1
        place_of[judged[j]] = j


@compiled
def close_shards(judged: Codes, place_of: Codes) -> None:
    """Forget the places of one topic."""
    for j in range(len(judged)):
        place_of[judged[j]] = -1


@compiled
def look_up(ranked: Codes, place_of: Codes, notes: Notes) -> bool:
    """Turn places in the ranking into places among the judgments; False where a document has none."""
    for s in range(len(notes.end)):
        for k in range(notes.begin[s], notes.end[s]):
            place = place_of[ranked[notes.places[k]]]
            if place < 0:
                return False
            notes.places[k] = place
    return True


@compiled
def longest(starts: Ints, first: int, end: int) -> int:
    """Length of the longest of some stretches."""
    most = 0
    for t in range(first, end):
        most = max(most, starts[t + 1] - starts[t])
    return most


@compiled
def no_places(n_docs: int) -> Codes:
    """A table of places with nothing in it."""
    return np.full(n_docs, -1, dtype=np.int32)


@compiled
def rule_of(tables: Tables, m: int) -> Rule:
    """One measure out of the tables."""
    return Rule(
        tables.kernels[m],
        tables.norms[m],
        tables.cutoffs[m],
        tables.numbers[m],
        tables.endless[m],
        tables.gains[m],
        tables.orders[m],
        tables.discounts[m],
    )
