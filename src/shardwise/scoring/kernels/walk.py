"""Compiled: where each judged document of a ranking stands, in all shards in one pass.

Measures on subtopics or strata ask more of a document than its grade. They are told its rank in the shard and its
place among the judgments of the topic, and look up there what they need.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from shardwise.core.arrays import Codes, Grades, Ints
from shardwise.io.collection import UNJUDGED

compiled = njit(cache=True, nogil=True, error_model="numpy")
_unjudged = int(UNJUDGED)


def read_only(dtype: types.Type, ndim: int) -> types.Array:
    """Type of an array that is only read."""
    return types.Array(dtype, ndim, "C", readonly=True)


@compiled
def open_shards(
    judged: Codes, shard_of: Grades, whole: bool, place_of: Codes, begin: Codes, members: Codes
) -> None:
    """Note down the places of the judged documents of one topic, shard after shard, from ``begin[s]`` on."""
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
def note_judged(
    ranked: Codes,
    graded: Grades,
    shard_of: Grades,
    whole: bool,
    place_of: Codes,
    begin: Codes,
    end: Codes,
    seen: Codes,
    ranks: Codes,
    places: Codes,
) -> bool:
    """Rank and place of each judged document of a ranking, those of shard s at ``begin[s]`` to ``end[s]``.

    Returns False where a grade does not fit the judgments.
    """
    seen[:] = 0
    for s in range(len(end)):
        end[s] = begin[s]
    for i in range(len(ranked)):
        s = 0 if whole else shard_of[ranked[i]]
        seen[s] += 1
        if graded[i] != _unjudged:
            if end[s] == begin[s + 1] or place_of[ranked[i]] < 0:
                return False
            ranks[end[s]] = seen[s]
            places[end[s]] = place_of[ranked[i]]
            end[s] += 1
    return True


@compiled
def longest(starts: Ints, first: int, stop: int) -> int:
    """Length of the longest of some stretches."""
    most = 0
    for t in range(first, stop):
        most = max(most, starts[t + 1] - starts[t])
    return most


@compiled
def no_places(n_docs: int) -> Codes:
    """A table of places with nothing in it."""
    return np.full(n_docs, -1, dtype=np.int32)
