"""Compiled: measures of novelty and diversity, on judgments by subtopic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Codes, Floats
from shardwise.scoring.kernels.arguments import Part, Rankings, Rule, SubtopicGrades
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
from shardwise.scoring.measures.definitions import Kernel, Norm
from shardwise.scoring.measures.tables import Tables


class Topic(NamedTuple):
    """The judgments of one topic, and a place to count down in."""

    levels: Codes  # (document, subtopic): number of the grade in the tables, -1: not judged
    weights: Floats  # probability of each subtopic, up to a factor
    left: Floats  # what each subtopic has left for the documents below


class Found(NamedTuple):
    """The judged documents of one ranking in one shard, best first."""

    ranks: Codes
    places: Codes  # among the judgments of the topic


@compiled
def new_gain(doc: int, topic: Topic, gain: Floats) -> float:
    """What a document adds: the weight of each of its subtopics times what that subtopic has left."""
    levels, weights, left = topic
    total = 0.0
    for k in range(len(weights)):
        if levels[doc, k] >= 0 and gain[levels[doc, k]] > 0.0:
            total += weights[k] * left[k]
    return total


@compiled
def take(doc: int, topic: Topic, gain: Floats, alpha: float) -> None:
    """A document was read: further documents on its subtopics gain less from now on."""
    levels, _, left = topic
    for k in range(len(left)):
        if levels[doc, k] >= 0 and gain[levels[doc, k]] > 0.0:
            left[k] *= 1.0 - alpha


@compiled
def novelty(found: Found, topic: Topic, rule: Rule) -> float:
    """Discounted sum of what each document adds to those above it."""
    ranks, places = found
    topic.left[:] = 1.0
    total = 0.0
    for i in range(len(ranks)):
        if ranks[i] > rule.cutoff:
            break
        total += new_gain(places[i], topic, rule.gain) * rule.discount[ranks[i]]
        take(places[i], topic, rule.gain, rule.number)
    return total


@compiled
def greedy(members: Codes, topic: Topic, rule: Rule) -> float:
    """The same for the ranking that takes the document that adds most, of equals the last by name.

    The best ranking is hard to find; ndeval settles for this one, and ties decide what is left for later ranks.
    """
    topic.left[:] = 1.0
    waiting = members.copy()
    total = 0.0
    for rank in range(1, min(rule.cutoff, len(members)) + 1):
        best, most = -1, 0.0
        for i in range(len(waiting)):
            if waiting[i] >= 0:
                gain = new_gain(waiting[i], topic, rule.gain)
                if best < 0 or gain >= most:
                    best, most = i, gain
        if most <= 0.0:
            break
        total += most * rule.discount[rank]
        take(waiting[best], topic, rule.gain, rule.number)
        waiting[best] = -1
    return total


@compiled
def global_gain(doc: int, topic: Topic, gain: Floats) -> float:
    """Gain of a document over all subtopics, each weighted by its probability."""
    levels, weights, _ = topic
    total = 0.0
    for k in range(len(weights)):
        if levels[doc, k] >= 0:
            total += weights[k] * gain[levels[doc, k]]
    return total


@compiled
def ideal_gain(members: Codes, topic: Topic, rule: Rule) -> float:
    """Discounted sum of the global gains in descending order."""
    gains = np.empty(len(members))
    for i in range(len(members)):
        gains[i] = global_gain(members[i], topic, rule.gain)
    gains.sort()
    total = 0.0
    for rank in range(1, min(rule.cutoff, len(gains)) + 1):
        total += gains[len(gains) - rank] * rule.discount[rank]
    return total


@compiled
def coverage(found: Found, topic: Topic, rule: Rule, ideal: float, held: float) -> float:
    """gamma x share of the subtopics found + (1 - gamma) x gain over that of the best ranking."""
    ranks, places = found
    left, gamma = topic.left, rule.number
    left[:] = 1.0
    gained, n_found = 0.0, 0.0
    for i in range(len(ranks)):
        if ranks[i] > rule.cutoff:
            break
        gained += global_gain(places[i], topic, rule.gain) * rule.discount[ranks[i]]
        take(places[i], topic, rule.gain, 1.0)
    for k in range(len(left)):
        if left[k] == 0.0:
            n_found += 1.0
    covered = gamma * n_found / held if gamma > 0.0 else 0.0
    return covered + ((1.0 - gamma) * gained / ideal if gamma < 1.0 else 0.0)


@compiled
def weight_held(members: Codes, topic: Topic, gain: Floats) -> float:
    """Summed weight of the subtopics that have a document with any gain."""
    left = topic.left
    left[:] = 1.0
    for doc in members:
        take(doc, topic, gain, 1.0)
    total = 0.0
    for k in range(len(left)):
        if left[k] == 0.0:
            total += topic.weights[k]
    return total


@compiled
def score_subtopics(
    rankings: Rankings, judgments: SubtopicGrades, tables: Tables, part: Part, out: Floats
) -> int:
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    Returns -1, or the number of the ranking whose grades do not fit the judgments.
    """
    docs, starts, grades, qrel_docs, qrel_starts = rankings
    n_shards, split = part.n_shards, part.split
    n_topics = len(qrel_starts) - 1
    n_measures, _, _, n_systems, _ = out.shape
    shard_of = part.shards[split]
    most = longest(qrel_starts, part.first, part.end)
    place_of = no_places(part.n_docs)
    notes = blank_notes(most, n_shards)
    begin, end = notes.begin, notes.end
    members = np.empty(most, dtype=np.int32)
    ideal = np.empty((n_measures, n_shards))  # what the sum is divided by; undefined where it is 0
    held = np.empty((n_measures, n_shards))  # subtopics there are

    for t in range(part.first, part.end):
        n_subtopics = judgments.starts[t + 1] - judgments.starts[t]
        judged = qrel_docs[qrel_starts[t] : qrel_starts[t + 1]]
        open_shards(judged, shard_of, place_of, begin, members)
        levels = np.full((len(judged), n_subtopics), -1, dtype=np.int32)
        for j in range(len(judged)):
            at = qrel_starts[t] + j
            for i in range(judgments.edges[at], judgments.edges[at + 1]):
                levels[j, judgments.codes[i]] = judgments.levels[i]
        left = np.empty(n_subtopics)
        weights = judgments.weights[judgments.starts[t] : judgments.starts[t + 1]].copy()
        weighted = Topic(levels, weights, left)
        alike = Topic(levels, np.ones(n_subtopics), left)

        for m in range(n_measures):
            rule = rule_of(tables, m)
            topic = alike if rule.kernel == Kernel.NOVELTY else weighted
            for s in range(n_shards):
                inside = members[begin[s] : begin[s + 1]]
                held[m, s] = weight_held(inside, alike, rule.gain)
                if rule.kernel == Kernel.COVERAGE:
                    ideal[m, s] = ideal_gain(inside, weighted, rule) if rule.number < 1.0 else held[m, s]
                elif rule.norm == Norm.GREEDY:
                    ideal[m, s] = greedy(inside, topic, rule)
                else:
                    ideal[m, s] = rule.endless * weight_held(inside, topic, rule.gain)

        for r in range(n_systems):
            ranking = r * n_topics + t
            ranked = docs[starts[ranking] : starts[ranking + 1]]
            graded = grades[starts[ranking] : starts[ranking + 1]]
            fits = note_judged(ranked, graded, shard_of, JUDGED, notes)
            if not fits or not look_up(ranked, place_of, notes):
                return ranking
            for m in range(n_measures):
                rule = rule_of(tables, m)
                topic = alike if rule.kernel == Kernel.NOVELTY else weighted
                for s in range(n_shards):
                    if ideal[m, s] <= 0.0:
                        out[m, split, t, r, s] = np.nan
                        continue
                    a, b = begin[s], end[s]
                    found = Found(notes.ranks[a:b], notes.places[a:b])
                    out[m, split, t, r, s] = (
                        coverage(found, topic, rule, ideal[m, s], held[m, s])
                        if rule.kernel == Kernel.COVERAGE
                        else novelty(found, topic, rule) / ideal[m, s]
                    )
        close_shards(judged, place_of)
    return -1
