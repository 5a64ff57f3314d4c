"""Compiled: measures on the grades of a ranking, every one on the few documents that matter.

What a measure needs of one ranking in one shard is the rank and the grade of each judged document that has a gain for
some measure, the number of documents retrieved, and what the judgments alone decide (the norm).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Codes, Floats, Grades
from shardwise.scoring.kernels.arguments import Part, Rankings, Rule
from shardwise.scoring.kernels.walk import blank_notes, compiled, longest, note_judged, rule_of
from shardwise.scoring.measures.definitions import Kernel, Norm
from shardwise.scoring.measures.tables import OFFSET, Tables

EPSILON = 1e-5  # keeps estimated precisions from 0/0, as trec_eval and sample_eval have it


class Found(NamedTuple):
    """The judged documents of one ranking in one shard, best first."""

    ranks: Codes
    levels: Codes  # number of each one's grade in the tables
    retrieved: int


class Pool(NamedTuple):
    """What the judgments of one topic in one shard decide."""

    counts: Codes  # documents of each level
    norm: float
    nonrelevant: float


@compiled
def average_precision(found: Found, rule: Rule) -> float:
    """Sum of the precisions at the relevant documents."""
    ranks, levels, _ = found
    total, relevant = 0.0, 0
    for i in range(len(ranks)):
        if ranks[i] > rule.cutoff:
            break
        if rule.gain[levels[i]] > 0.0:
            relevant += 1
            total += relevant / ranks[i]
    return total


@compiled
def weighted_sum(found: Found, rule: Rule, cutoff: int) -> float:
    """Sum of gain x discount of the rank."""
    ranks, levels, _ = found
    total = 0.0
    for i in range(len(ranks)):
        if ranks[i] > cutoff:
            break
        total += rule.gain[levels[i]] * rule.discount[ranks[i]]
    return total


@compiled
def first(found: Found, rule: Rule) -> float:
    """Discount of the rank of the first document with any gain."""
    ranks, levels, _ = found
    for i in range(len(ranks)):
        if ranks[i] > rule.cutoff:
            break
        if rule.gain[levels[i]] > 0.0:
            return float(rule.discount[ranks[i]])
    return 0.0


@compiled
def cascade(found: Found, rule: Rule) -> float:
    """Mean discount of the rank where a reader stops whose probability of stopping is the gain."""
    ranks, levels, _ = found
    total, still_reading = 0.0, 1.0
    for i in range(len(ranks)):
        if ranks[i] > rule.cutoff:
            break
        stop = rule.gain[levels[i]]
        total += still_reading * stop * rule.discount[ranks[i]]
        still_reading *= 1.0 - stop
    return total


@compiled
def preferences(found: Found, rule: Rule, pool: Pool) -> float:
    """Sum over relevant documents of the share of nonrelevant ones that they precede."""
    relevant, nonrelevant = pool.norm, pool.nonrelevant
    total, above = 0.0, 0
    for level in found.levels:
        if rule.gain[level] < 0.0:
            above += 1
        elif rule.gain[level] > 0.0:
            total += 1.0 - min(float(above), relevant) / min(nonrelevant, relevant) if above else 1.0
    return total


@compiled
def blended_ratio(found: Found, rule: Rule, counts: Codes) -> float:
    """Sum over relevant documents of (C + beta G) / (r + beta I), I being the gain of the best r documents."""
    ranks, levels, _ = found
    gain, order, beta = rule.gain, rule.order, rule.number
    total, relevant, gained = 0.0, 0, 0.0
    ideal, reached, at, left = 0.0, 0, 0, counts[order[0]]
    for i in range(len(ranks)):
        rank = ranks[i]
        if rank > rule.cutoff:
            break
        if gain[levels[i]] <= 0.0:
            continue
        relevant += 1
        gained += gain[levels[i]]
        while reached < rank and at < len(order) and gain[order[at]] > 0.0:
            taken = min(rank - reached, left)
            ideal += taken * gain[order[at]]
            reached += taken
            left -= taken
            if left == 0:
                at += 1
                if at < len(order):
                    left = counts[order[at]]
        total += (relevant + beta * gained) / (rank + beta * ideal)
    return total


@compiled
def inferred(found: Found, rule: Rule) -> float:
    """Sum of the precisions at the relevant documents, as the judged part of the pool above suggests them."""
    ranks, levels, _ = found
    total, relevant, nonrelevant, unjudged = 0.0, 0, 0, 0
    for i in range(len(ranks)):
        if rule.gain[levels[i]] < -1.0:
            unjudged += 1
        elif rule.gain[levels[i]] < 0.0:
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


@compiled
def value(found: Found, rule: Rule, pool: Pool) -> float:
    """One measure on one ranking in one shard."""
    kernel, norm = rule.kernel, pool.norm
    if kernel == Kernel.AVERAGE_PRECISION:
        return average_precision(found, rule) / norm
    if kernel == Kernel.WEIGHTED_SUM:
        return weighted_sum(found, rule, rule.cutoff) / norm
    if kernel == Kernel.FIRST:
        return first(found, rule)
    if kernel == Kernel.CASCADE:
        return cascade(found, rule) / norm
    if kernel == Kernel.PREFERENCES:
        return preferences(found, rule, pool) / norm
    if kernel == Kernel.R_PRECISION:
        return weighted_sum(found, rule, int(norm)) / norm
    if kernel == Kernel.SHARE:
        depth = min(rule.cutoff, found.retrieved)
        return weighted_sum(found, rule, depth) / depth if depth else 0.0
    if kernel == Kernel.RETRIEVED:
        return float(found.retrieved)
    if kernel == Kernel.BLENDED_RATIO:
        return blended_ratio(found, rule, pool.counts) / norm
    if kernel == Kernel.INFERRED:
        return inferred(found, rule) / norm
    return norm


@compiled
def norm_of(counts: Codes, rule: Rule) -> float:
    """What a sum is divided by, given the number of documents of each level."""
    if rule.norm == Norm.CUTOFF:
        return float(rule.cutoff)
    if rule.norm == Norm.TOTAL:
        return total_gain(counts, rule.gain)
    if rule.norm == Norm.CAPPED:
        return min(float(rule.cutoff), relevant_count(counts, rule.gain))
    if rule.norm == Norm.IDEAL_CASCADE:
        return ideal_cascade(counts, rule)
    if rule.norm != Norm.IDEAL:
        return 1.0
    total, rank = 0.0, 0
    for level in rule.order:
        if rule.gain[level] <= 0.0:
            break
        for _ in range(counts[level]):
            rank += 1
            if rank > rule.cutoff:
                return total
            total += rule.gain[level] * rule.discount[rank]
    return total


@compiled
def ideal_cascade(counts: Codes, rule: Rule) -> float:
    """Mean discount of the rank where a reader stops who reads the best possible ranking."""
    total, rank, still_reading = 0.0, 0, 1.0
    for level in rule.order:
        if rule.gain[level] <= 0.0:
            break
        for _ in range(counts[level]):
            rank += 1
            if rank > rule.cutoff:
                return total
            total += still_reading * rule.gain[level] * rule.discount[rank]
            still_reading *= 1.0 - rule.gain[level]
    return total


@compiled
def relevant_count(counts: Codes, gain: Floats) -> float:
    """Number of judged documents with a gain."""
    total = 0.0
    for level in range(len(counts)):
        if gain[level] > 0.0:
            total += counts[level]
    return total


@compiled
def nonrelevant_count(counts: Codes, gain: Floats) -> float:
    """Number of judged documents that count against a ranking."""
    total = 0.0
    for level in range(len(counts)):
        if gain[level] < 0.0:
            total += counts[level]
    return total


@compiled
def total_gain(counts: Codes, gain: Floats) -> float:
    """Summed gain of the judged documents that have one."""
    total = 0.0
    for level in range(len(counts)):
        if gain[level] > 0.0:
            total += counts[level] * gain[level]
    return total


@compiled
def score_topics(rankings: Rankings, qrel_grades: Grades, tables: Tables, part: Part, out: Floats) -> int:
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    Returns -1, or the number of the ranking whose grades do not fit the judgments.
    """
    docs, starts, grades, qrel_docs, qrel_starts = rankings
    level_of, floor, n_shards, split = tables.level_of, tables.floor, part.n_shards, part.split
    n_topics = len(qrel_starts) - 1
    n_measures, _, _, n_systems, _ = out.shape
    shard_of = part.shards[split]
    whole = len(shard_of) == 0
    most = longest(qrel_starts, part.first, part.end)
    notes = blank_notes(most, n_shards)
    begin, end = notes.begin, notes.end
    levels = np.empty(most, dtype=np.int32)
    counts = np.empty((n_shards, tables.gains.shape[1]), dtype=np.int32)
    norm = np.empty((n_measures, n_shards))
    nonrelevant = np.empty((n_measures, n_shards))
    defined = np.empty((n_measures, n_shards), dtype=np.bool_)

    for t in range(part.first, part.end):
        counts[:] = 0
        begin[:] = 0
        for i in range(qrel_starts[t], qrel_starts[t + 1]):
            s = 0 if whole else shard_of[qrel_docs[i]]
            counts[s, level_of[qrel_grades[i] + OFFSET]] += 1
            if qrel_grades[i] >= floor:
                begin[s + 1] += 1
        for s in range(n_shards):
            begin[s + 1] += begin[s]
        for m in range(n_measures):
            rule = rule_of(tables, m)
            for s in range(n_shards):
                defined[m, s] = not tables.needs_relevant[m] or total_gain(counts[s], rule.gain) > 0.0
                norm[m, s] = norm_of(counts[s], rule)
                nonrelevant[m, s] = nonrelevant_count(counts[s], rule.gain)

        for r in range(n_systems):
            ranking = r * n_topics + t
            ranked = docs[starts[ranking] : starts[ranking + 1]]
            graded = grades[starts[ranking] : starts[ranking + 1]]
            if not note_judged(ranked, graded, shard_of, floor, notes):
                return ranking
            for s in range(n_shards):
                for k in range(begin[s], end[s]):
                    levels[k] = level_of[graded[notes.places[k]] + OFFSET]
                    if levels[k] < 0:
                        return ranking
            for m in range(n_measures):
                rule = rule_of(tables, m)
                for s in range(n_shards):
                    if not defined[m, s]:
                        out[m, split, t, r, s] = np.nan
                        continue
                    a, b = begin[s], end[s]
                    found = Found(notes.ranks[a:b], levels[a:b], notes.seen[s])
                    pool = Pool(counts[s], norm[m, s], nonrelevant[m, s])
                    out[m, split, t, r, s] = value(found, rule, pool)
    return -1
