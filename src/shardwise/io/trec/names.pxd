"""Hashes of names, inlined wherever names are looked up."""

from libc.stdint cimport int64_t, uint64_t

from shardwise.io.trec.bytewise cimport product

cdef enum:
    # longest document name in bytes; a longer one means a damaged file
    LONGEST_NAME = 1024
    # words behind the last name, so that as many can be read from any name on, whatever the stride
    SPARE_WORDS = 4


cdef inline uint64_t mix(uint64_t h, uint64_t word) noexcept nogil:
    """Lay both halves of a product over each other, so that every bit of both numbers affects every bit."""
    cdef uint64_t high
    cdef uint64_t low = product(h, word, &high)
    return high ^ low


cdef inline uint64_t hash_start(uint64_t key, uint64_t a, uint64_t b, uint64_t c, uint64_t d) noexcept nogil:
    """Hash the first four words of a name, zeros behind those of a shorter one.

    Three more keys are made of the one: whoever knew what a word is multiplied with could make all products zero.
    """
    cdef uint64_t spread = 0x9E3779B97F4A7C15u
    cdef uint64_t second = (key ^ spread) * spread
    cdef uint64_t third = (second ^ (second >> 32)) * spread
    cdef uint64_t fourth = (third ^ (third >> 32)) * spread
    return mix(a ^ key, b ^ second) ^ mix(c ^ third, d ^ fourth)


cdef inline uint64_t hash_more(uint64_t h, uint64_t word) noexcept nogil:
    """Hash one more word behind the first four."""
    return mix(h ^ word, 0x9E3779B97F4A7C15u)


cdef inline uint64_t hash_name(const uint64_t* name, int64_t n_words, uint64_t key) noexcept nogil:
    """Hash a name of that many words."""
    cdef uint64_t a = name[0] if n_words > 0 else 0
    cdef uint64_t b = name[1] if n_words > 1 else 0
    cdef uint64_t c = name[2] if n_words > 2 else 0
    cdef uint64_t d = name[3] if n_words > 3 else 0
    cdef uint64_t h = hash_start(key, a, b, c, d)
    cdef int64_t k
    for k in range(4, n_words):
        h = hash_more(h, name[k])
    return h


cdef inline int64_t home_slot(int64_t n_slots, uint64_t h) noexcept nogil:
    """Slot at which the search for a hash begins."""
    return <int64_t>(h >> 32) & (n_slots - 1)
