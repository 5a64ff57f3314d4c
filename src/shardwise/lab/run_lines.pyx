"""Lines of simulated runs."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy


cdef inline int64_t write_digits(int64_t value, uint8_t* place, int64_t least) noexcept nogil:
    """Write a whole number with at least that many digits; return how many."""
    cdef int64_t size = 1, power = 10, k
    while value >= power or size < least:
        power *= 10
        size += 1
    for k in range(size):
        place[size - 1 - k] = <uint8_t>(48 + value % 10)
        value //= 10
    return size


def format_ranking(
    const uint8_t[::1] head not None,
    const uint8_t[::1] tail not None,
    const int32_t[::1] docs not None,
    const double[::1] scores not None,
    const uint8_t[::1] names not None,
    const int64_t[::1] starts not None,
    uint8_t[::1] buffer not None,
):
    """Write the lines of one ranking, scores to four decimals; return the number of bytes."""
    cdef uint8_t* place = &buffer[0]
    cdef int64_t k, size, whole
    cdef double value
    with nogil:
        for k in range(docs.shape[0]):
            memcpy(place, &head[0], head.shape[0])
            place += head.shape[0]
            size = starts[docs[k] + 1] - starts[docs[k]]
            memcpy(place, &names[starts[docs[k]]], size)
            place += size
            place[0] = 32
            place += 1
            place += write_digits(k + 1, place, 1)
            place[0] = 32
            place += 1
            value = scores[k]
            if value < 0:
                place[0] = 45
                place += 1
                value = -value
            whole = <int64_t>(value * 10000 + 0.5)
            place += write_digits(whole // 10000, place, 1)
            place[0] = 46
            place += 1
            place += write_digits(whole % 10000, place, 4)
            memcpy(place, &tail[0], tail.shape[0])
            place += tail.shape[0]
    return place - &buffer[0]
