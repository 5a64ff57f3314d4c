"""Measures of novelty and diversity, on judgments by subtopic."""

from libc.math cimport NAN
from libc.stdint cimport int16_t, int32_t, int64_t
from libc.stdlib cimport qsort

import numpy as np

from shardwise.scoring.kernels.walk cimport (
    JUDGED,
    Notes,
    Rule,
    close_shards,
    longest,
    look_up,
    note_judged,
    open_shards,
    rule_of,
    shards_of,
)

from shardwise.scoring.measures.definitions import Kernel, Norm

cdef int64_t NOVELTY = Kernel.NOVELTY
cdef int64_t COVERAGE = Kernel.COVERAGE
cdef int64_t BY_GREEDY = Norm.GREEDY


cdef struct Topic:
    # the judgments of one topic
    int64_t n_subtopics
    # (document, subtopic): number of the grade in the tables, -1: not judged
    const int32_t* levels
    # probability of each subtopic, up to a factor
    const double* weights
    # room to count down in: what each subtopic has left for the documents below
    double* rest


cdef struct Found:
    # judged documents in one shard: those of a ranking, best first, or all, without ranks
    int64_t count
    const int32_t* ranks
    # among the judgments of the topic
    const int32_t* places


cdef inline bint is_on(const Topic* topic, int64_t doc, int64_t k, const double* gain) noexcept nogil:
    """Whether a document has a gain for a subtopic."""
    cdef int32_t level = topic.levels[doc * topic.n_subtopics + k]
    return level >= 0 and gain[level] > 0.0


cdef void restore(const Topic* topic) noexcept nogil:
    """Let every subtopic have all that it has to give."""
    cdef int64_t k
    for k in range(topic.n_subtopics):
        topic.rest[k] = 1.0


cdef double new_gain(const Topic* topic, int64_t doc, const double* gain) noexcept nogil:
    """What a document adds: the weight of each of its subtopics times what that subtopic has left."""
    cdef double total = 0.0
    cdef int64_t k
    for k in range(topic.n_subtopics):
        if is_on(topic, doc, k, gain):
            total += topic.weights[k] * topic.rest[k]
    return total


cdef void take(const Topic* topic, int64_t doc, const double* gain, double alpha) noexcept nogil:
    """Read a document: further documents on its subtopics gain less from now on."""
    cdef int64_t k
    for k in range(topic.n_subtopics):
        if is_on(topic, doc, k, gain):
            topic.rest[k] *= 1.0 - alpha


cdef double novelty(const Found* found, const Topic* topic, const Rule* rule) noexcept nogil:
    """Discounted sum of what each document adds to those above it."""
    cdef double total = 0.0
    cdef int64_t i
    restore(topic)
    for i in range(found.count):
        if found.ranks[i] > rule.cutoff:
            break
        total += new_gain(topic, found.places[i], rule.gain) * rule.discount[found.ranks[i]]
        take(topic, found.places[i], rule.gain, rule.number)
    return total


cdef double greedy(const Found* members, const Topic* topic, const Rule* rule, int32_t* waiting) noexcept nogil:
    """The same for the ranking that takes the document that adds most, of equals the last by name.

    The best ranking is hard to find; ndeval settles for this one, and ties decide what is left for later ranks.
    ``waiting`` is room for the members.
    """
    cdef double total = 0.0, most, gain
    cdef int64_t rank, i, best
    restore(topic)
    for i in range(members.count):
        waiting[i] = members.places[i]
    for rank in range(1, min(rule.cutoff, members.count) + 1):
        best, most = -1, 0.0
        for i in range(members.count):
            if waiting[i] >= 0:
                gain = new_gain(topic, waiting[i], rule.gain)
                if best < 0 or gain >= most:
                    best, most = i, gain
        if most <= 0.0:
            break
        total += most * rule.discount[rank]
        take(topic, waiting[best], rule.gain, rule.number)
        waiting[best] = -1
    return total


cdef double global_gain(const Topic* topic, int64_t doc, const double* gain) noexcept nogil:
    """Gain of a document over all subtopics, each weighted by its probability."""
    cdef double total = 0.0
    cdef int64_t k
    cdef int32_t level
    for k in range(topic.n_subtopics):
        level = topic.levels[doc * topic.n_subtopics + k]
        if level >= 0:
            total += topic.weights[k] * gain[level]
    return total


cdef int descending(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const double*>a)[0], y = (<const double*>b)[0]
    return (x < y) - (x > y)


cdef double ideal_gain(const Found* members, const Topic* topic, const Rule* rule, double* gains) noexcept nogil:
    """Discounted sum of the global gains in descending order; ``gains`` is room for them."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(members.count):
        gains[i] = global_gain(topic, members.places[i], rule.gain)
    qsort(gains, members.count, sizeof(double), &descending)
    for i in range(min(rule.cutoff, members.count)):
        total += gains[i] * rule.discount[i + 1]
    return total


cdef double coverage(
    const Found* found, const Topic* topic, const Rule* rule, double ideal, double held
) noexcept nogil:
    """gamma x share of the subtopics found + (1 - gamma) x gain over that of the best ranking."""
    cdef double gamma = rule.number, gained = 0.0, n_found = 0.0, total = 0.0
    cdef int64_t i, k
    restore(topic)
    for i in range(found.count):
        if found.ranks[i] > rule.cutoff:
            break
        gained += global_gain(topic, found.places[i], rule.gain) * rule.discount[found.ranks[i]]
        take(topic, found.places[i], rule.gain, 1.0)
    for k in range(topic.n_subtopics):
        if topic.rest[k] == 0.0:
            n_found += 1.0
    if gamma > 0.0:
        total = gamma * n_found / held
    if gamma < 1.0:
        total += (1.0 - gamma) * gained / ideal
    return total


cdef double weight_held(const Found* members, const Topic* topic, const double* gain) noexcept nogil:
    """Summed weight of the subtopics that have a document with any gain."""
    cdef double total = 0.0
    cdef int64_t i, k
    restore(topic)
    for i in range(members.count):
        take(topic, members.places[i], gain, 1.0)
    for k in range(topic.n_subtopics):
        if topic.rest[k] == 0.0:
            total += topic.weights[k]
    return total


def score_subtopics(rankings, judgments, tables, part, double[:, :, :, :, :] out not None):
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    Return -1, or the number of the ranking whose grades do not fit the judgments.
    """
    cdef const int32_t[::1] docs = rankings.docs
    cdef const int64_t[::1] starts = rankings.starts
    cdef const int16_t[::1] grades = rankings.grades
    cdef const int32_t[::1] qrel_docs = rankings.qrel_docs
    cdef const int64_t[::1] qrel_starts = rankings.qrel_starts
    cdef const int64_t[::1] subtopic_starts = judgments.starts, edges = judgments.edges
    cdef const double[::1] subtopic_weights = judgments.weights
    cdef const int32_t[::1] codes = judgments.codes, judged_levels = judgments.levels
    cdef const int64_t[::1] kernels = tables.kernels, norms = tables.norms, cutoffs = tables.cutoffs
    cdef const double[::1] numbers = tables.numbers, endless = tables.endless
    cdef const double[:, ::1] gains = tables.gains, discounts = tables.discounts
    cdef const int32_t[:, ::1] orders = tables.orders
    cdef const int16_t[:, ::1] shards = part.shards
    cdef int64_t n_shards = part.n_shards, split = part.split
    cdef int64_t first_topic = part.first, end_topic = part.end
    cdef int64_t n_topics = qrel_starts.shape[0] - 1
    cdef int64_t n_measures = out.shape[0], n_systems = out.shape[3], n_levels = gains.shape[1]
    cdef const int16_t* shard_of = shards_of(shards, split)
    cdef int64_t most = longest(qrel_starts, first_topic, end_topic)
    cdef int64_t most_subtopics = longest(subtopic_starts, first_topic, end_topic)

    # one more than needed, so that nothing is empty
    cdef int32_t[::1] place_of = np.full(part.n_docs + 1, -1, dtype=np.int32)
    cdef int32_t[::1] ranks = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] places = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] begin = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] end = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] seen = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] members = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] waiting = np.empty(most + 1, dtype=np.int32)
    cdef double[::1] sorted_gains = np.empty(most + 1)
    cdef int32_t[::1] levels = np.empty(most * most_subtopics + 1, dtype=np.int32)
    cdef double[::1] weights = np.append(judgments.weights, 0.0)
    cdef double[::1] ones = np.ones(most_subtopics + 1)
    cdef double[::1] rest = np.empty(most_subtopics + 1)
    # what the sum is divided by, undefined where it is 0, and subtopics there are
    cdef double[:, ::1] ideal = np.empty((n_measures, n_shards))
    cdef double[:, ::1] held = np.empty((n_measures, n_shards))
    cdef Notes notes = Notes(n_shards, &ranks[0], &places[0], &begin[0], &end[0], &seen[0])
    cdef unsigned char[::1] room = np.empty(n_measures * sizeof(Rule) + 1, dtype=np.uint8)
    cdef Rule* rules = <Rule*>&room[0]
    cdef const int32_t* judged
    cdef const int32_t* ranked
    cdef const int16_t* graded
    cdef const Rule* rule
    cdef const Topic* topic
    cdef Topic weighted, alike
    cdef Found found
    cdef int64_t t, s, m, r, j, i, n_judged, base, ranking, length
    if docs.shape[0] == 0:
        docs, grades = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int16)
    if qrel_docs.shape[0] == 0 or n_levels == 0:
        out[:, split, first_topic:end_topic] = NAN
        return -1
    for m in range(n_measures):
        rules[m] = rule_of(m, kernels, norms, cutoffs, numbers, endless, gains, orders, discounts)

    with nogil:
        for t in range(first_topic, end_topic):
            # the judgments of the topic as a table
            base = qrel_starts[t]
            judged, n_judged = &qrel_docs[0] + base, qrel_starts[t + 1] - base
            open_shards(judged, n_judged, shard_of, &place_of[0], &notes, &members[0])
            alike = Topic(subtopic_starts[t + 1] - subtopic_starts[t], &levels[0], &ones[0], &rest[0])
            weighted = alike
            weighted.weights = &weights[subtopic_starts[t]]
            for i in range(n_judged * alike.n_subtopics):
                levels[i] = -1
            for j in range(n_judged):
                for i in range(edges[base + j], edges[base + j + 1]):
                    levels[j * alike.n_subtopics + codes[i]] = judged_levels[i]

            # what the judgments alone decide
            for m in range(n_measures):
                rule = &rules[m]
                topic = &alike if rule.kernel == NOVELTY else &weighted
                for s in range(n_shards):
                    found = Found(begin[s + 1] - begin[s], NULL, &members[begin[s]])
                    held[m, s] = weight_held(&found, &alike, rule.gain)
                    if rule.kernel == COVERAGE and rule.number < 1.0:
                        ideal[m, s] = ideal_gain(&found, &weighted, rule, &sorted_gains[0])
                    elif rule.kernel == COVERAGE:
                        ideal[m, s] = held[m, s]
                    elif rule.norm == BY_GREEDY:
                        ideal[m, s] = greedy(&found, topic, rule, &waiting[0])
                    else:
                        ideal[m, s] = rule.endless * weight_held(&found, topic, rule.gain)

            for r in range(n_systems):
                # down the ranking once
                ranking = r * n_topics + t
                ranked, graded = &docs[0] + starts[ranking], &grades[0] + starts[ranking]
                length = starts[ranking + 1] - starts[ranking]
                if not note_judged(ranked, graded, length, shard_of, JUDGED, &notes) or not look_up(
                    ranked, &place_of[0], &notes
                ):
                    with gil:
                        return ranking

                # every measure in every shard
                for m in range(n_measures):
                    rule = &rules[m]
                    topic = &alike if rule.kernel == NOVELTY else &weighted
                    for s in range(n_shards):
                        if ideal[m, s] <= 0.0:
                            out[m, split, t, r, s] = NAN
                            continue
                        found = Found(end[s] - begin[s], &ranks[begin[s]], &places[begin[s]])
                        if rule.kernel == COVERAGE:
                            out[m, split, t, r, s] = coverage(&found, topic, rule, ideal[m, s], held[m, s])
                        else:
                            out[m, split, t, r, s] = novelty(&found, topic, rule) / ideal[m, s]
            close_shards(judged, n_judged, &place_of[0])
    return -1
