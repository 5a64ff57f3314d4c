"""Eight and 64 bytes at a time: the C header for Cython, and the few functions that need no more than it."""

from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef extern from "bytewise.h" nogil:
    ctypedef struct Look:
        uint64_t blank
        uint64_t gap
        uint64_t point

    uint64_t reversed_bytes(uint64_t word)
    uint64_t load8(const uint8_t* place)
    int64_t trailing_zeros(uint64_t word)
    int64_t leading_zeros(uint64_t word)
    uint64_t product(uint64_t a, uint64_t b, uint64_t* high)
    void prefetch(const void* place)
    double double_of_bits(uint64_t bits)
    Look look(const uint8_t* place)


cdef inline uint64_t mark_blanks(uint64_t word) noexcept nogil:
    """Mark bytes below 33; the lowest mark is exact, and there is none where there is no such byte."""
    return (word - 0x2121212121212121u) & ~word & 0x8080808080808080u


cdef inline const uint8_t* token_end(const uint8_t* place) noexcept nogil:
    """Find the first byte below 33 from a place on."""
    cdef uint64_t mark = mark_blanks(load8(place))
    while mark == 0:
        place += 8
        mark = mark_blanks(load8(place))
    return place + (trailing_zeros(mark) >> 3)


cdef inline uint64_t low_bytes(uint64_t word, int64_t count) noexcept nogil:
    """Keep the lowest bytes of a word, fewer than eight."""
    return word & ((<uint64_t>1 << (8 * count)) - 1)


cdef inline bint same_bytes(const uint8_t* a, const uint8_t* b, int64_t count) noexcept nogil:
    """Whether ``count`` bytes at one place equal those at another; eight more are read behind them."""
    while count >= 8:
        if load8(a) != load8(b):
            return False
        a += 8
        b += 8
        count -= 8
    return low_bytes(load8(a) ^ load8(b), count) == 0
