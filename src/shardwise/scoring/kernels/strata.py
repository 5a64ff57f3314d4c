"""Compiled: measures estimated from a pool of which every stratum was sampled at its own rate.

On a shard the counts of a stratum are those of its documents in the shard; the strata themselves stay those of the
whole collection (V17 §4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Codes, Floats, Ints
from shardwise.scoring.kernels.arguments import Part, Rankings, Rule, StratumGrades
from shardwise.scoring.kernels.ranked import EPSILON
from shardwise.scoring.kernels.walk import (
    JUDGED,
    blank_notes,
    close_shards,
    compiled,
    longest,
    look_up,
    no_places,
    note_judged,
    open_shards,
    rule_of,
)
from shardwise.scoring.measures.definitions import Kernel
from shardwise.scoring.measures.tables import Tables

_POOLED, _SAMPLED, _RELEVANT = 0, 1, 2


class Drawn(NamedTuple):
    """The pooled documents of one ranking in one shard, best first."""

    ranks: Codes
    strata: Codes
    levels: Codes  # number of each one's grade in the tables


@compiled
def count_in(seen: Ints, gain: float) -> None:
    """Count a document of one stratum: pooled, sampled, relevant."""
    seen[_POOLED] += 1
    if gain > -2.0:
        seen[_SAMPLED] += 1
    if gain > 0.0:
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
def stratified_precision(drawn: Drawn, rule: Rule, pool: Ints, above: Ints) -> float:
    """Average precision: expected precision at the relevant documents, each standing for its stratum."""
    ranks, strata, levels = drawn
    above[:] = 0
    total = 0.0
    for i in range(len(ranks)):
        if ranks[i] > rule.cutoff:
            break
        c, gain = strata[i], rule.gain[levels[i]]
        if gain > 0.0:
            relevant_above = 0.0
            for a in range(above.shape[0]):
                rate = (above[a, _RELEVANT] + EPSILON) / (above[a, _SAMPLED] + 3.0 * EPSILON)
                relevant_above += above[a, _POOLED] * rate
            total += (1.0 + relevant_above) / ranks[i] * pool[c, _POOLED] / pool[c, _SAMPLED]
        count_in(above[c], gain)
    return total / estimated_relevant(pool)


@compiled
def stratified_gain(drawn: Drawn, rule: Rule, above: Ints, gained: Floats) -> float:
    """Discounted gain, that of each stratum scaled up by the share of its retrieved documents sampled."""
    ranks, strata, levels = drawn
    above[:] = 0
    gained[:] = 0.0
    for i in range(len(ranks)):
        if ranks[i] > rule.cutoff:
            break
        c, gain = strata[i], rule.gain[levels[i]]
        count_in(above[c], gain)
        if gain > 0.0:
            gained[c] += gain * rule.discount[ranks[i]]
    total = 0.0
    for c in range(len(gained)):
        if above[c, _SAMPLED] > 0:
            total += gained[c] * above[c, _POOLED] / above[c, _SAMPLED]
    return total


@compiled
def ideal_gain(counts: Ints, pool: Ints, rule: Rule) -> float:
    """Discounted gain of the best ranking of as many documents of each grade as there should be."""
    total, rank = 0.0, 0
    for level in rule.order:
        if rule.gain[level] <= 0.0:
            break
        expected = 0.0
        for c in range(pool.shape[0]):
            if counts[c, level] > 0:
                expected += counts[c, level] * pool[c, _POOLED] / pool[c, _SAMPLED]
        for _ in range(int(expected + 0.5)):
            rank += 1
            if rank > rule.cutoff:
                return total
            total += rule.gain[level] * rule.discount[rank]
    return total


@compiled
def score_strata(
    rankings: Rankings, judgments: StratumGrades, tables: Tables, part: Part, out: Floats
) -> int:
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    Returns -1, or the number of the ranking whose grades do not fit the judgments.
    """
    docs, starts, grades, qrel_docs, qrel_starts = rankings
    n_strata, n_shards, split = judgments.n_strata, part.n_shards, part.split
    n_topics = len(qrel_starts) - 1
    n_measures, _, _, n_systems, _ = out.shape
    shard_of = part.shards[split]
    most = longest(qrel_starts, part.first, part.end)
    place_of = no_places(part.n_docs)
    notes = blank_notes(most, n_shards)
    begin, end = notes.begin, notes.end
    drawn_strata = np.empty(most, dtype=np.int32)
    drawn_levels = np.empty(most, dtype=np.int32)
    members = np.empty(most, dtype=np.int32)
    counts = np.empty((n_shards, n_strata, tables.gains.shape[1]), dtype=np.int64)
    pool = np.empty((n_measures, n_shards, n_strata, 3), dtype=np.int64)
    ideal = np.empty((n_measures, n_shards))  # undefined where it is 0
    above = np.empty((n_strata, 3), dtype=np.int64)
    gained = np.empty(n_strata)

    for t in range(part.first, part.end):
        judged = qrel_docs[qrel_starts[t] : qrel_starts[t + 1]]
        levels = judgments.levels[qrel_starts[t] : qrel_starts[t + 1]]
        strata = judgments.strata[qrel_starts[t] : qrel_starts[t + 1]]
        open_shards(judged, shard_of, place_of, begin, members)
        counts[:] = 0
        pool[:] = 0
        for s in range(n_shards):
            for j in members[begin[s] : begin[s + 1]]:
                counts[s, strata[j], levels[j]] += 1
                for m in range(n_measures):
                    count_in(pool[m, s, strata[j]], tables.gains[m, levels[j]])
        for m in range(n_measures):
            rule = rule_of(tables, m)
            for s in range(n_shards):
                ideal[m, s] = (
                    estimated_relevant(pool[m, s])
                    if rule.kernel == Kernel.STRATIFIED_PRECISION
                    else ideal_gain(counts[s], pool[m, s], rule)
                )

        for r in range(n_systems):
            ranking = r * n_topics + t
            ranked = docs[starts[ranking] : starts[ranking + 1]]
            graded = grades[starts[ranking] : starts[ranking + 1]]
            fits = note_judged(ranked, graded, shard_of, JUDGED, notes)
            if not fits or not look_up(ranked, place_of, notes):
                return ranking
            for s in range(n_shards):
                for k in range(begin[s], end[s]):
                    drawn_strata[k] = strata[notes.places[k]]
                    drawn_levels[k] = levels[notes.places[k]]
            for m in range(n_measures):
                rule = rule_of(tables, m)
                for s in range(n_shards):
                    if ideal[m, s] <= 0.0:
                        out[m, split, t, r, s] = np.nan
                        continue
                    a, b = begin[s], end[s]
                    drawn = Drawn(notes.ranks[a:b], drawn_strata[a:b], drawn_levels[a:b])
                    out[m, split, t, r, s] = (
                        stratified_precision(drawn, rule, pool[m, s], above)
                        if rule.kernel == Kernel.STRATIFIED_PRECISION
                        else stratified_gain(drawn, rule, above, gained) / ideal[m, s]
                    )
        close_shards(judged, place_of)
    return -1
