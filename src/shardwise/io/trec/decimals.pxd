"""Decimal text to the nearest double.

Short numbers take Clinger's exact path; the others Lemire's (2021, "Number parsing at a gigabyte per second"): a
64 x 128-bit product with a truncated power of ten decides the rounding, or reports that it cannot. Numbers that it
cannot decide, and anything that is not plain decimal (``inf``, ``nan``, garbage), are left to the caller.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from shardwise.io.trec.bytewise cimport double_of_bits, leading_zeros, load8, product


# every module that reads numbers has tables of its own, and calls `fill_tables` once
cdef extern from *:
    """
    /* decimal exponents of the table; beyond them the caller decides */
    #define LEAST_POWER (-64)
    #define MOST_POWER 44
    static uint64_t POWERS[MOST_POWER - LEAST_POWER + 1][2];
    static double TENS[23];
    static uint64_t WHOLE_TENS[9];
    """
    const int64_t LEAST_POWER
    const int64_t MOST_POWER
    uint64_t POWERS[109][2]
    double TENS[23]
    uint64_t WHOLE_TENS[9]


cdef inline int fill_tables() except -1:
    """Fill the tables: powers of ten, and the 128 leading bits of 10^q as (high, low) words."""
    for k in range(23):
        TENS[k] = 10.0**k
    for k in range(9):
        WHOLE_TENS[k] = 10**k
    for q in range(LEAST_POWER, MOST_POWER + 1):
        five = 5 ** abs(q)
        if q >= 0:
            shift = 128 - five.bit_length()
            bits = five << shift if shift >= 0 else five >> -shift
        else:
            # rounded up, so that the product never falls short
            bits = (1 << (127 + five.bit_length())) // five + 1
            if bits.bit_length() > 128:
                bits >>= 1
        POWERS[q - LEAST_POWER][0] = bits >> 64
        POWERS[q - LEAST_POWER][1] = bits & 0xFFFFFFFFFFFFFFFF
    return 0


cdef inline bint round_decimal(uint64_t w, int64_t q, double* value) noexcept nogil:
    """Put the double nearest to w * 10^q into ``value``; False if the product cannot decide which it is."""
    cdef int64_t zeros = leading_zeros(w)
    cdef uint64_t high, low, more, upper, shift, m
    cdef int64_t exponent
    w <<= zeros
    low = product(w, POWERS[q - LEAST_POWER][0], &high)
    if (high & 0x1FF) == 0x1FF:
        product(w, POWERS[q - LEAST_POWER][1], &more)
        low += more
        if low < more:
            high += 1
        if low == 0xFFFFFFFFFFFFFFFFu:
            return False
    upper = high >> 63
    shift = upper + 9
    m = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + <int64_t>upper - zeros + 1023
    if exponent <= 0 or exponent >= 2046:
        return False
    if low <= 1 and -4 <= q <= 23 and (m & 3) == 1 and (m << shift) == high:
        # exactly half way: to even, by the caller
        return False
    m = (m + (m & 1)) >> 1
    if m == <uint64_t>1 << 53:
        m = <uint64_t>1 << 52
        exponent += 1
    value[0] = double_of_bits((m & ((<uint64_t>1 << 52) - 1)) | (<uint64_t>exponent << 52))
    return True


cdef inline uint64_t spell_digits(uint64_t word, int64_t count, uint64_t* strange) noexcept nogil:
    """Return the number that the lowest ``count`` bytes spell, eight at most; mark ``strange`` if one is no digit.

    Digits are taken together in pairs, the pairs in fours, the fours in an eight.
    """
    # shifted twice, because a shift by all 64 bits is undefined
    cdef uint64_t half = 4 * (8 - count)
    word = ((word ^ 0x3030303030303030u) << half) << half
    strange[0] |= ((word + 0x7676767676767676u) | word) & 0x8080808080808080u
    word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FFu
    word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFFu
    return (word * 10_000 + (word >> 32)) & 0xFFFFFFFFu


cdef inline bint parse_plain(
    const uint8_t* place, const uint8_t* end, const uint8_t* point, double* value
) noexcept nogil:
    """Read the number from ``place`` to ``end`` if it is digits with at most a point among them; else return False.

    ``point`` is where the point is, or ``end`` if there is none. `parse_number` may read what is not read here.
    """
    cdef bint negative = place[0] == 45
    place += negative
    cdef int64_t whole = point - place
    cdef int64_t behind = max(end - point - 1, 0)
    cdef int64_t near = min(behind, 8)
    cdef uint64_t w, strange = 0
    if whole > 8 or behind > 16 or whole + behind > 19 or whole + behind == 0:
        return False
    w = spell_digits(load8(place), whole, &strange)
    w = w * WHOLE_TENS[near] + spell_digits(load8(point + 1), near, &strange)
    if behind > 8:
        w = w * WHOLE_TENS[behind - 8] + spell_digits(load8(point + 9), behind - 8, &strange)
    if strange:
        return False
    if w <= <uint64_t>1 << 53:
        value[0] = <double><int64_t>w / TENS[behind]
    elif not round_decimal(w, -behind, value):
        return False
    if negative:
        value[0] = -value[0]
    return True


cdef inline const uint8_t* skip_digits(const uint8_t* place, uint64_t* w, int64_t* digits) noexcept nogil:
    """Read digits into a number, counting those behind leading zeros; return where they end."""
    cdef uint8_t digit
    while True:
        digit = place[0] - 48
        if digit > 9:
            return place
        w[0] = w[0] * 10 + digit
        digits[0] += digits[0] != 0 or digit != 0
        place += 1


cdef inline bint parse_number(const uint8_t* place, const uint8_t** end, double* value) noexcept nogil:
    """Read the decimal number at a place, which ends at a byte below 33; False if it is not understood.

    ``end`` is where reading stopped.
    """
    cdef bint negative = place[0] == 45, down
    cdef const uint8_t* i = place + 1 if negative or place[0] == 43 else place
    cdef const uint8_t* first = i
    cdef uint64_t w = 0
    cdef int64_t digits = 0, q = 0, e = 0, seen
    i = skip_digits(i, &w, &digits)
    seen = i - first
    if i[0] == 46:
        first = i + 1
        i = skip_digits(first, &w, &digits)
        q = first - i
        seen -= q
    end[0] = i
    if seen == 0 or digits > 19:
        return False
    if i[0] == 101 or i[0] == 69:
        i += 1
        down = i[0] == 45
        if down or i[0] == 43:
            i += 1
        first = i
        while i[0] >= 48 and i[0] <= 57:
            if e < 10000:
                e = e * 10 + (i[0] - 48)
            i += 1
        end[0] = i
        if i == first:
            return False
        q += -e if down else e
    if i[0] >= 33:
        return False
    value[0] = 0.0
    if w == 0:
        pass
    elif w <= <uint64_t>1 << 53 and -22 <= q <= 22:
        value[0] = <double><int64_t>w / TENS[-q] if q < 0 else <double><int64_t>w * TENS[q]
    elif q < LEAST_POWER or q > MOST_POWER or not round_decimal(w, q, value):
        return False
    if negative:
        value[0] = -value[0]
    return True
