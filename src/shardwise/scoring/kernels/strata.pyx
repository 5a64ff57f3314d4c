"""Measures estimated from a pool of which every stratum was sampled at its own rate.

On a shard the counts of a stratum are those of its documents in the shard; the strata themselves stay those of the
whole collection (V17 §4).
"""

from libc.math cimport NAN
from libc.stdint cimport int16_t, int32_t, int64_t

import numpy as np

from shardwise.scoring.kernels.walk cimport (
    EPSILON,
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

from shardwise.scoring.measures.definitions import Kernel

cdef int64_t STRATIFIED_PRECISION = Kernel.STRATIFIED_PRECISION


cdef struct Stratum:
    # documents of one stratum
    int64_t pooled
    int64_t sampled
    int64_t relevant


cdef struct Drawn:
    # the pooled documents of one ranking in one shard, best first
    int64_t count
    const int32_t* ranks
    const int32_t* strata
    # number of each one's grade in the tables
    const int32_t* levels


cdef inline void count_in(Stratum* stratum, double gain) noexcept nogil:
    """Count a document of one stratum: pooled, sampled, relevant."""
    stratum.pooled += 1
    stratum.sampled += gain > -2.0
    stratum.relevant += gain > 0.0


cdef void clear(Stratum* strata, int64_t count) noexcept nogil:
    cdef int64_t c
    for c in range(count):
        strata[c] = Stratum(0, 0, 0)


cdef double estimated_relevant(const Stratum* pool, int64_t n_strata) noexcept nogil:
    """Relevant documents of the pool that the sampled ones stand for, over all strata."""
    cdef double total = 0.0
    cdef int64_t c
    for c in range(n_strata):
        if pool[c].sampled > 0:
            total += <double>(pool[c].relevant * pool[c].pooled) / <double>pool[c].sampled
    return total


cdef double stratified_precision(
    const Drawn* drawn, const Rule* rule, const Stratum* pool, int64_t n_strata, Stratum* above
) noexcept nogil:
    """Average precision: expected precision at the relevant documents, each standing for its stratum."""
    cdef double total = 0.0, relevant_above, rate, gain
    cdef int64_t i, c, a
    clear(above, n_strata)
    for i in range(drawn.count):
        if drawn.ranks[i] > rule.cutoff:
            break
        c, gain = drawn.strata[i], rule.gain[drawn.levels[i]]
        if gain > 0.0:
            relevant_above = 0.0
            for a in range(n_strata):
                rate = (<double>above[a].relevant + EPSILON) / (<double>above[a].sampled + 3.0 * EPSILON)
                relevant_above += <double>above[a].pooled * rate
            total += (
                (1.0 + relevant_above) / <double>drawn.ranks[i] * <double>pool[c].pooled / <double>pool[c].sampled
            )
        count_in(&above[c], gain)
    return total / estimated_relevant(pool, n_strata)


cdef double stratified_gain(
    const Drawn* drawn, const Rule* rule, int64_t n_strata, Stratum* above, double* gained
) noexcept nogil:
    """Discounted gain, that of each stratum scaled up by the share of its retrieved documents sampled."""
    cdef double total = 0.0, gain
    cdef int64_t i, c
    clear(above, n_strata)
    for c in range(n_strata):
        gained[c] = 0.0
    for i in range(drawn.count):
        if drawn.ranks[i] > rule.cutoff:
            break
        c, gain = drawn.strata[i], rule.gain[drawn.levels[i]]
        count_in(&above[c], gain)
        if gain > 0.0:
            gained[c] += gain * rule.discount[drawn.ranks[i]]
    for c in range(n_strata):
        if above[c].sampled > 0:
            total += gained[c] * <double>above[c].pooled / <double>above[c].sampled
    return total


cdef double ideal_gain(
    const int64_t* counts, const Stratum* pool, int64_t n_strata, const Rule* rule
) noexcept nogil:
    """Discounted gain of the best ranking of as many documents of each grade as there should be."""
    cdef double total = 0.0, expected, gain
    cdef int64_t rank = 0, k, c, i, count
    for k in range(rule.n_levels):
        gain = rule.gain[rule.order[k]]
        if gain <= 0.0:
            break
        expected = 0.0
        for c in range(n_strata):
            count = counts[c * rule.n_levels + rule.order[k]]
            if count > 0:
                expected += <double>(count * pool[c].pooled) / <double>pool[c].sampled
        for i in range(<int64_t>(expected + 0.5)):
            rank += 1
            if rank > rule.cutoff:
                return total
            total += gain * rule.discount[rank]
    return total


def score_strata(rankings, judgments, tables, part, double[:, :, :, :, :] out not None):
    """Score all systems on some topics of one split into ``out[measure, split, topic, system, shard]``.

    Return -1, or the number of the ranking whose grades do not fit the judgments.
    """
    cdef const int32_t[::1] docs = rankings.docs
    cdef const int64_t[::1] starts = rankings.starts
    cdef const int16_t[::1] grades = rankings.grades
    cdef const int32_t[::1] qrel_docs = rankings.qrel_docs
    cdef const int64_t[::1] qrel_starts = rankings.qrel_starts
    cdef const int32_t[::1] judged_levels = judgments.levels, judged_strata = judgments.strata
    cdef const int64_t[::1] kernels = tables.kernels, norms = tables.norms, cutoffs = tables.cutoffs
    cdef const double[::1] numbers = tables.numbers, endless = tables.endless
    cdef const double[:, ::1] gains = tables.gains, discounts = tables.discounts
    cdef const int32_t[:, ::1] orders = tables.orders
    cdef const int16_t[:, ::1] shards = part.shards
    cdef int64_t n_strata = judgments.n_strata, n_shards = part.n_shards, split = part.split
    cdef int64_t first_topic = part.first, end_topic = part.end
    cdef int64_t n_topics = qrel_starts.shape[0] - 1
    cdef int64_t n_measures = out.shape[0], n_systems = out.shape[3], n_levels = gains.shape[1]
    cdef const int16_t* shard_of = shards_of(shards, split)
    cdef int64_t most = longest(qrel_starts, first_topic, end_topic)

    # one more than needed, so that nothing is empty
    cdef int32_t[::1] place_of = np.full(part.n_docs + 1, -1, dtype=np.int32)
    cdef int32_t[::1] ranks = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] places = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] begin = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] end = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] seen = np.empty(n_shards + 1, dtype=np.int32)
    cdef int32_t[::1] drawn_strata = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] drawn_levels = np.empty(most + 1, dtype=np.int32)
    cdef int32_t[::1] members = np.empty(most + 1, dtype=np.int32)
    cdef int64_t[:, :, ::1] counts = np.empty((n_shards, n_strata + 1, n_levels), dtype=np.int64)
    cdef int64_t[:, :, ::1] pools = np.empty((n_measures, n_shards, 3 * (n_strata + 1)), dtype=np.int64)
    cdef int64_t[::1] above = np.empty(3 * (n_strata + 1), dtype=np.int64)
    cdef double[:, ::1] ideal = np.empty((n_measures, n_shards))
    cdef double[::1] gained = np.empty(n_strata + 1)
    cdef Notes notes = Notes(n_shards, &ranks[0], &places[0], &begin[0], &end[0], &seen[0])
    cdef unsigned char[::1] room = np.empty(n_measures * sizeof(Rule) + 1, dtype=np.uint8)
    cdef Rule* rules = <Rule*>&room[0]
    cdef Stratum* pool
    cdef const int32_t* judged
    cdef const int32_t* ranked
    cdef const int16_t* graded
    cdef const Rule* rule
    cdef Drawn drawn
    cdef int64_t t, s, m, r, k, j, n_judged, base, ranking, length
    if docs.shape[0] == 0:
        docs, grades = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int16)
    if qrel_docs.shape[0] == 0 or n_levels == 0:
        out[:, split, first_topic:end_topic] = NAN
        return -1
    for m in range(n_measures):
        rules[m] = rule_of(m, kernels, norms, cutoffs, numbers, endless, gains, orders, discounts)

    with nogil:
        for t in range(first_topic, end_topic):
            # what the judgments alone decide
            base = qrel_starts[t]
            judged, n_judged = &qrel_docs[0] + base, qrel_starts[t + 1] - base
            open_shards(judged, n_judged, shard_of, &place_of[0], &notes, &members[0])
            counts[:] = 0
            pools[:] = 0
            for s in range(n_shards):
                for k in range(begin[s], begin[s + 1]):
                    j = base + members[k]
                    counts[s, judged_strata[j], judged_levels[j]] += 1
                    for m in range(n_measures):
                        count_in(
                            <Stratum*>&pools[m, s, 3 * judged_strata[j]], gains[m, judged_levels[j]]
                        )
            for m in range(n_measures):
                rule = &rules[m]
                for s in range(n_shards):
                    pool = <Stratum*>&pools[m, s, 0]
                    if rule.kernel == STRATIFIED_PRECISION:
                        ideal[m, s] = estimated_relevant(pool, n_strata)
                    else:
                        ideal[m, s] = ideal_gain(&counts[s, 0, 0], pool, n_strata, rule)

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
                for s in range(n_shards):
                    for k in range(begin[s], end[s]):
                        drawn_strata[k] = judged_strata[base + places[k]]
                        drawn_levels[k] = judged_levels[base + places[k]]

                # every measure in every shard, undefined where its ideal is 0
                for m in range(n_measures):
                    rule = &rules[m]
                    for s in range(n_shards):
                        if ideal[m, s] <= 0.0:
                            out[m, split, t, r, s] = NAN
                            continue
                        drawn = Drawn(
                            end[s] - begin[s], &ranks[begin[s]], &drawn_strata[begin[s]], &drawn_levels[begin[s]]
                        )
                        if rule.kernel == STRATIFIED_PRECISION:
                            pool = <Stratum*>&pools[m, s, 0]
                            out[m, split, t, r, s] = stratified_precision(
                                &drawn, rule, pool, n_strata, <Stratum*>&above[0]
                            )
                        else:
                            out[m, split, t, r, s] = (
                                stratified_gain(&drawn, rule, n_strata, <Stratum*>&above[0], &gained[0]) / ideal[m, s]
                            )
            close_shards(judged, n_judged, &place_of[0])
    return -1
