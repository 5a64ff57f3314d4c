"""Down a ranking once, in all shards at the same time, noting down the judged documents.

A measure sees, of one ranking in one shard, the rank of each judged document that matters to it and where that
document stands in the ranking; its grade, or its place among the judgments, is looked up for these few. So the walk
costs the same whatever the number of shards and measures.
"""

from libc.stdint cimport int16_t, int32_t, int64_t

cdef extern from *:
    """
    /* keeps estimated precisions from 0/0, as trec_eval and sample_eval have it */
    #define EPSILON 1e-5
    """
    const double EPSILON

cdef enum:
    # lowest grade that a judged document can have: unjudged is one below
    JUDGED = -32767


cdef struct Rule:
    # one measure: a row of `shardwise.scoring.measures.tables.Tables`
    int64_t kernel
    int64_t norm
    int64_t cutoff
    double number
    double endless
    int64_t n_levels
    # gain of each level of grade
    const double* gain
    # levels from the highest gain to the lowest
    const int32_t* order
    # of each rank
    const double* discount


cdef struct Notes:
    # judged documents of one ranking, those of shard s from begin[s] to end[s]
    int64_t n_shards
    # rank in the shard
    int32_t* ranks
    # place in the ranking
    int32_t* places
    # (shard + 1,)
    int32_t* begin
    # (shard,)
    int32_t* end
    # (shard,): documents retrieved
    int32_t* seen


cdef inline Rule rule_of(
    int64_t m,
    const int64_t[::1] kernels,
    const int64_t[::1] norms,
    const int64_t[::1] cutoffs,
    const double[::1] numbers,
    const double[::1] endless,
    const double[:, ::1] gains,
    const int32_t[:, ::1] orders,
    const double[:, ::1] discounts,
) noexcept nogil:
    """Take one measure out of the tables."""
    cdef Rule rule
    rule.kernel, rule.norm, rule.cutoff = kernels[m], norms[m], cutoffs[m]
    rule.number, rule.endless = numbers[m], endless[m]
    rule.n_levels = gains.shape[1]
    rule.gain, rule.order, rule.discount = &gains[m, 0], &orders[m, 0], &discounts[m, 0]
    return rule


cdef inline bint note_judged(
    const int32_t* ranked, const int16_t* graded, int64_t length, const int16_t* shard_of, int64_t floor, Notes* notes
) noexcept nogil:
    """Note down the documents of a ranking whose grade is ``floor`` or more.

    ``shard_of`` is NULL where the only shard is the whole. ``notes.begin`` says how many documents there can be in each
    shard; return False where there are more, so that the grades cannot be those of the judgments.
    """
    cdef int64_t i, s, at
    cdef int32_t rank
    cdef int32_t* ranks = notes.ranks
    cdef int32_t* places = notes.places
    if shard_of is NULL:
        at = notes.begin[0]
        for i in range(length):
            if graded[i] >= floor:
                if at == notes.begin[1]:
                    return False
                ranks[at] = <int32_t>(i + 1)
                places[at] = <int32_t>i
                at += 1
        notes.end[0] = <int32_t>at
        notes.seen[0] = <int32_t>length
        return True
    for s in range(notes.n_shards):
        notes.seen[s] = 0
        notes.end[s] = notes.begin[s]
    for i in range(length):
        s = shard_of[ranked[i]]
        rank = notes.seen[s] + 1
        notes.seen[s] = rank
        if graded[i] >= floor:
            at = notes.end[s]
            if at == notes.begin[s + 1]:
                return False
            ranks[at] = rank
            places[at] = <int32_t>i
            notes.end[s] = <int32_t>(at + 1)
    return True


cdef inline void open_shards(
    const int32_t* judged, int64_t n_judged, const int16_t* shard_of, int32_t* place_of, Notes* notes, int32_t* members
) noexcept nogil:
    """Note down the places of the judged documents of one topic, shard after shard, from ``notes.begin[s]`` on."""
    cdef int64_t j, s
    for s in range(notes.n_shards + 1):
        notes.begin[s] = 0
    for j in range(n_judged):
        notes.begin[(0 if shard_of is NULL else shard_of[judged[j]]) + 1] += 1
    for s in range(notes.n_shards):
        notes.begin[s + 1] += notes.begin[s]
        notes.end[s] = notes.begin[s]
    for j in range(n_judged):
        s = 0 if shard_of is NULL else shard_of[judged[j]]
        members[notes.end[s]] = <int32_t>j
        notes.end[s] += 1
        place_of[judged[j]] = <int32_t>j


cdef inline void close_shards(const int32_t* judged, int64_t n_judged, int32_t* place_of) noexcept nogil:
    """Forget the places of one topic."""
    cdef int64_t j
    for j in range(n_judged):
        place_of[judged[j]] = -1


cdef inline bint look_up(const int32_t* ranked, const int32_t* place_of, Notes* notes) noexcept nogil:
    """Turn places in the ranking into places among the judgments; False where a document has none."""
    cdef int64_t s, k
    for s in range(notes.n_shards):
        for k in range(notes.begin[s], notes.end[s]):
            notes.places[k] = place_of[ranked[notes.places[k]]]
            if notes.places[k] < 0:
                return False
    return True


cdef inline int64_t longest(const int64_t[::1] starts, int64_t first, int64_t end) noexcept nogil:
    """Length of the longest of some stretches."""
    cdef int64_t t, most = 0
    for t in range(first, end):
        most = max(most, starts[t + 1] - starts[t])
    return most


cdef inline const int16_t* shards_of(const int16_t[:, ::1] shards, int64_t split) noexcept nogil:
    """Shard of each document in one split; NULL where the only shard is the whole."""
    if shards.shape[1] == 0:
        return NULL
    return &shards[split, 0]
