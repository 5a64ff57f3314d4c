"""Measures on the grades of a ranking, every one on the few documents that matter.

What a measure needs of one ranking in one shard is the rank and the grade of each judged document that has a gain for
some measure, the number of documents retrieved, and what the judgments alone decide (the norm).
"""

from libc.math cimport NAN
from libc.stdint cimport int16_t, int32_t, int64_t

import numpy as np

from shardwise.scoring.kernels.walk cimport EPSILON, Notes, Rule, longest, note_judged, rule_of, shards_of

from shardwise.scoring.measures.definitions import Kernel, Norm
from shardwise.scoring.measures.tables import OFFSET

cdef int64_t AVERAGE_PRECISION = Kernel.AVERAGE_PRECISION
cdef int64_t WEIGHTED_SUM = Kernel.WEIGHTED_SUM
cdef int64_t FIRST = Kernel.FIRST
cdef int64_t CASCADE = Kernel.CASCADE
cdef int64_t PREFERENCES = Kernel.PREFERENCES
cdef int64_t R_PRECISION = Kernel.R_PRECISION
cdef int64_t SHARE = Kernel.SHARE
cdef int64_t RETRIEVED = Kernel.RETRIEVED
cdef int64_t BLENDED_RATIO = Kernel.BLENDED_RATIO
cdef int64_t INFERRED = Kernel.INFERRED
cdef int64_t BY_CUTOFF = Norm.CUTOFF
cdef int64_t BY_TOTAL = Norm.TOTAL
cdef int64_t BY_CAPPED = Norm.CAPPED
cdef int64_t BY_IDEAL_CASCADE = Norm.IDEAL_CASCADE
cdef int64_t BY_IDEAL = Norm.IDEAL
cdef int64_t GRADE_OFFSET = OFFSET


cdef struct Found:
    # the judged documents of one ranking in one shard, best first
    int64_t count
    const int32_t* ranks
    # number of each one's grade in the tables
    const int32_t* levels
    int64_t retrieved


cdef struct Pool:
    # what the judgments of one topic in one shard decide: documents of each level, and
    const int32_t* counts
    double norm
    double nonrelevant


cdef double average_precision(const Found* found, const Rule* rule) noexcept nogil:
    """Sum of the precisions at the relevant documents."""
    cdef double total = 0.0
    cdef int64_t i, relevant = 0
    for i in range(found.count):
        if found.ranks[i] > rule.cutoff:
            break
        if rule.gain[found.levels[i]] > 0.0:
            relevant += 1
            total += <double>relevant / <double>found.ranks[i]
    return total


cdef double weighted_sum(const Found* found, const Rule* rule, int64_t cutoff) noexcept nogil:
    """Sum of gain x discount of the rank."""
    cdef double total = 0.0
    cdef int64_t i
    for i in range(found.count):
        if found.ranks[i] > cutoff:
            break
        total += rule.gain[found.levels[i]] * rule.discount[found.ranks[i]]
    return total


cdef double first(const Found* found, const Rule* rule) noexcept nogil:
    """Discount of the rank of the first document with any gain."""
    cdef int64_t i
    for i in range(found.count):
        if found.ranks[i] > rule.cutoff:
            break
        if rule.gain[found.levels[i]] > 0.0:
            return rule.discount[found.ranks[i]]
    return 0.0


cdef double cascade(const Found* found, const Rule* rule) noexcept nogil:
    """Mean discount of the rank where a reader stops whose probability of stopping is the gain."""
    cdef double total = 0.0, still_reading = 1.0, stop
    cdef int64_t i
    for i in range(found.count):
        if found.ranks[i] > rule.cutoff:
            break
        stop = rule.gain[found.levels[i]]
        total += still_reading * stop * rule.discount[found.ranks[i]]
        still_reading *= 1.0 - stop
    return total


cdef double preferences(const Found* found, const Rule* rule, const Pool* pool) noexcept nogil:
    """Sum over relevant documents of the share of nonrelevant ones that they precede."""
    cdef double total = 0.0, gain
    cdef int64_t i, above = 0
    for i in range(found.count):
        gain = rule.gain[found.levels[i]]
        if gain < 0.0:
            above += 1
        elif gain > 0.0 and above:
            total += 1.0 - min(<double>above, pool.norm) / min(pool.nonrelevant, pool.norm)
        elif gain > 0.0:
            total += 1.0
    return total


cdef double blended_ratio(const Found* found, const Rule* rule, const int32_t* counts) noexcept nogil:
    """Sum over relevant documents of (C + beta G) / (r + beta I), I being the gain of the best r documents."""
    cdef double total = 0.0, gained = 0.0, ideal = 0.0, beta = rule.number
    cdef int64_t relevant = 0, reached = 0, at = 0, remaining = counts[rule.order[0]], i, rank, taken
    for i in range(found.count):
        rank = found.ranks[i]
        if rank > rule.cutoff:
            break
        if rule.gain[found.levels[i]] <= 0.0:
            continue
        relevant += 1
        gained += rule.gain[found.levels[i]]
        while reached < rank and at < rule.n_levels and rule.gain[rule.order[at]] > 0.0:
            taken = min(rank - reached, remaining)
            ideal += <double>taken * rule.gain[rule.order[at]]
            reached += taken
            remaining -= taken
            if remaining == 0:
                at += 1
                if at < rule.n_levels:
                    remaining = counts[rule.order[at]]
        total += (<double>relevant + beta * gained) / (<double>rank + beta * ideal)
    return total


cdef double inferred(const Found* found, const Rule* rule) noexcept nogil:
    """Sum of the precisions at the relevant documents, as the judged part of the pool above suggests them."""
    cdef double total = 0.0, rate, gain
    cdef int64_t relevant = 0, nonrelevant = 0, unjudged = 0, i, pooled
    for i in range(found.count):
        gain = rule.gain[found.levels[i]]
        if gain < -1.0:
            unjudged += 1
        elif gain < 0.0:
            nonrelevant += 1
        else:
            # trec_eval gives the first rank 1 exactly
            if found.ranks[i] > 1:
                pooled = relevant + nonrelevant + unjudged
                rate = (<double>relevant + EPSILON) / (<double>(relevant + nonrelevant) + 2.0 * EPSILON)
                total += (1.0 + <double>pooled * rate) / <double>found.ranks[i]
            else:
                total += 1.0
            relevant += 1
    return total


cdef double measure(const Found* found, const Rule* rule, const Pool* pool) noexcept nogil:
    """Compute one measure on one ranking in one shard."""
    cdef int64_t kernel = rule.kernel, depth
    if kernel == AVERAGE_PRECISION:
        return average_precision(found, rule) / pool.norm
    if kernel == WEIGHTED_SUM:
        return weighted_sum(found, rule, rule.cutoff) / pool.norm
    if kernel == FIRST:
        return first(found, rule)
    if kernel == CASCADE:
        return cascade(found, rule) / pool.norm
    if kernel == PREFERENCES:
        return preferences(found, rule, pool) / pool.norm
    if kernel == R_PRECISION:
        return weighted_sum(found, rule, <int64_t>pool.norm) / pool.norm
    if kernel == SHARE:
        depth = min(rule.cutoff, found.retrieved)
        return weighted_sum(found, rule, depth) / <double>depth if depth else 0.0
    if kernel == RETRIEVED:
        return <double>found.retrieved
    if kernel == BLENDED_RATIO:
        return blended_ratio(found, rule, pool.counts) / pool.norm
    if kernel == INFERRED:
        return inferred(found, rule) / pool.norm
    return pool.norm


cdef double norm_of(const int32_t* counts, const Rule* rule) noexcept nogil:
    """What a sum is divided by, given the number of documents of each level."""
    if rule.norm == BY_CUTOFF:
        return <double>rule.cutoff
    if rule.norm == BY_TOTAL:
        return total_gain(counts, rule)
    if rule.norm == BY_CAPPED:
        return min(<double>rule.cutoff, relevant_count(counts, rule))
    if rule.norm == BY_IDEAL_CASCADE:
        return ideal_cascade(counts, rule)
    if rule.norm == BY_IDEAL:
        return ideal_sum(counts, rule)
    return 1.0


cdef double ideal_sum(const int32_t* counts, const Rule* rule) noexcept nogil:
    """Sum of gain x discount of the best possible ranking."""
    cdef double total = 0.0, gain
    cdef int64_t rank = 0, k, i
    for k in range(rule.n_levels):
        gain = rule.gain[rule.order[k]]
        if gain <= 0.0:
            break
        for i in range(counts[rule.order[k]]):
            rank += 1
            if rank > rule.cutoff:
                return total
            total += gain * rule.discount[rank]
    return total


cdef double ideal_cascade(const int32_t* counts, const Rule* rule) noexcept nogil:
    """Mean discount of the rank where a reader stops who reads the best possible ranking."""
    cdef double total = 0.0, still_reading = 1.0, gain
    cdef int64_t rank = 0, k, i
    for k in range(rule.n_levels):
        gain = rule.gain[rule.order[k]]
        if gain <= 0.0:
            break
        for i in range(counts[rule.order[k]]):
            rank += 1
            if rank > rule.cutoff:
                return total
            total += still_reading * gain * rule.discount[rank]
            still_reading *= 1.0 - gain
    return total


cdef double relevant_count(const int32_t* counts, const Rule* rule) noexcept nogil:
    """Number of judged documents with a gain."""
    cdef double total = 0.0
    cdef int64_t level
    for level in range(rule.n_levels):
        if rule.gain[level] > 0.0:
            total += counts[level]
    return total


cdef double nonrelevant_count(const int32_t* counts, const Rule* rule) noexcept nogil:
    """Number of judged documents that count against a ranking."""
    cdef double total = 0.0
    cdef int64_t level
    for level in range(rule.n_levels):
        if rule.gain[level] < 0.0:
            total += counts[level]
    return total


cdef double total_gain(const int32_t* counts, const Rule* rule) noexcept nogil:
    """Summed gain of the judged documents that have one."""
    cdef double total = 0.0
    cdef int64_t level
    for level in range(rule.n_levels):
        if rule.gain[level] > 0.0:
            total += <double>counts[level] * rule.gain[level]
    return total


def score_topics(rankings, const int16_t[::1] qrel_grades not None, tables, part, double[:, :, :, :, :] out not None):
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    Return -1, or the number of the ranking whose grades do not fit the judgments.
    """
    cdef const int32_t[::1] docs = rankings.docs
    cdef const int64_t[::1] starts = rankings.starts
    cdef const int16_t[::1] grades = rankings.grades
    cdef const int32_t[::1] qrel_docs = rankings.qrel_docs
    cdef const int64_t[::1] qrel_starts = rankings.qrel_starts
    cdef const int64_t[::1] kernels = tables.kernels, norms = tables.norms, cutoffs = tables.cutoffs
    cdef const double[::1] numbers = tables.numbers, endless = tables.endless
    cdef const double[:, ::1] gains = tables.gains, discounts = tables.discounts
    cdef const int32_t[:, ::1] orders = tables.orders
    cdef const int32_t[::1] level_of = tables.level_of
    cdef const unsigned char[::1] needs_relevant = tables.needs_relevant.view(np.uint8)
    cdef const int16_t[:, ::1] shards = part.shards
    cdef int64_t floor = tables.floor, n_shards = part.n_shards, split = part.split
    cdef int64_t first_topic = part.first, end_topic = part.end
    cdef int64_t n_topics = qrel_starts.shape[0] - 1
    cdef int64_t n_measures = out.shape[0], n_systems = out.shape[3], n_levels = gains.shape[1]
    cdef const int16_t* shard_of = shards_of(shards, split)
    cdef int64_t most = longest(qrel_starts, first_topic, end_topic)

    # one more than needed, so that nothing is empty
    cdef int32_t[::1] ranks = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] places = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] levels = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] begin = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] end = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] seen = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[:, ::1] counts = np.empty((n_shards, n_levels + 1), dtype=np.int32)
    cdef double[:, ::1] norm = np.empty((n_measures, n_shards))
    cdef double[:, ::1] nonrelevant = np.empty((n_measures, n_shards))
    cdef unsigned char[:, ::1] defined = np.empty((n_measures, n_shards), dtype=np.uint8)
    cdef Notes notes = Notes(n_shards, &ranks[0], &places[0], &begin[0], &end[0], &seen[0])
    cdef int64_t t, i, s, m, r, k, ranking, length
    cdef const int32_t* ranked
    cdef const int16_t* graded
    cdef const Rule* rule
    cdef Found found
    cdef Pool pool
    # arrays without elements have no address: where nothing is judged or retrieved, nothing is looked up in these
    if n_levels == 0:
        gains, orders = np.zeros((n_measures, 1)), np.zeros((n_measures, 1), dtype=np.int32)
    if docs.shape[0] == 0:
        docs, grades = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int16)
    cdef unsigned char[::1] room = np.empty(n_measures * sizeof(Rule) + 1, dtype=np.uint8)
    cdef Rule* rules = <Rule*>&room[0]
    for m in range(n_measures):
        rules[m] = rule_of(m, kernels, norms, cutoffs, numbers, endless, gains, orders, discounts)

    with nogil:
        for t in range(first_topic, end_topic):
            # what the judgments alone decide
            counts[:] = 0
            begin[:] = 0
            for i in range(qrel_starts[t], qrel_starts[t + 1]):
                s = 0 if shard_of is NULL else shard_of[qrel_docs[i]]
                counts[s, level_of[qrel_grades[i] + GRADE_OFFSET]] += 1
                if qrel_grades[i] >= floor:
                    begin[s + 1] += 1
            for s in range(n_shards):
                begin[s + 1] += begin[s]
            for m in range(n_measures):
                rule = &rules[m]
                for s in range(n_shards):
                    defined[m, s] = not needs_relevant[m] or total_gain(&counts[s, 0], rule) > 0.0
                    norm[m, s] = norm_of(&counts[s, 0], rule)
                    nonrelevant[m, s] = nonrelevant_count(&counts[s, 0], rule)

            for r in range(n_systems):
                # down the ranking once
                ranking = r * n_topics + t
                ranked, graded = &docs[0] + starts[ranking], &grades[0] + starts[ranking]
                length = starts[ranking + 1] - starts[ranking]
                if not note_judged(ranked, graded, length, shard_of, floor, &notes):
                    with gil:
                        return ranking
                for s in range(n_shards):
                    for k in range(begin[s], end[s]):
                        levels[k] = level_of[graded[places[k]] + GRADE_OFFSET]
                        if levels[k] < 0:
                            with gil:
                                return ranking

                # every measure in every shard
                for m in range(n_measures):
                    rule = &rules[m]
                    for s in range(n_shards):
                        if not defined[m, s]:
                            out[m, split, t, r, s] = NAN
                            continue
                        found = Found(end[s] - begin[s], &ranks[begin[s]], &levels[begin[s]], seen[s])
                        pool = Pool(&counts[s, 0], norm[m, s], nonrelevant[m, s])
                        out[m, split, t, r, s] = measure(&found, rule, &pool)
    return -1
