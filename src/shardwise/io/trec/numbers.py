"""Decimal text -> the nearest double, compiled.

Short numbers take Clinger's exact path; the others Lemire's (2021, "Number parsing at a gigabyte per
second"): a 64 x 128-bit product with a truncated power of ten decides the rounding, or says that it cannot.
What it cannot decide, and anything that is not plain decimal (``inf``, ``nan``, garbage), is left to the caller.
"""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Floats, Words
from shardwise.core.compiled import njit
from shardwise.io.trec.intrinsics import as_float, byte, leading_zeros, load8, product

_LEAST, _MOST = -64, 44  # decimal exponents of the table; beyond them the caller decides


def _powers() -> Words:
    """128 leading bits of 10^q for q from _LEAST to _MOST, as (high, low) words."""
    table = np.zeros((_MOST - _LEAST + 1, 2), dtype=np.uint64)
    for q in range(_LEAST, _MOST + 1):
        five = 5 ** abs(q)
        if q >= 0:
            shift = 128 - five.bit_length()
            bits = five << shift if shift >= 0 else five >> -shift
        else:  # rounded up, so that the product never falls short
            bits = (1 << (127 + five.bit_length())) // five + 1
            if bits.bit_length() > 128:
                bits >>= 1
        table[q - _LEAST] = bits >> 64, bits & (2**64 - 1)
    return table


_POWERS = _powers()
_TENS: Floats = np.array([10.0**k for k in range(23)])
_WHOLE_TENS = np.array([10**k for k in range(9)], dtype=np.uint64)

_1 = np.uint64(1)
_3 = np.uint64(3)
_10 = np.uint64(10)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ZEROS = np.uint64(0x3030303030303030)
_OVER_NINE = np.uint64(0x7676767676767676)
_TOPS = np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_FOURS = np.uint64(0x0000FFFF0000FFFF)
_EXACT = np.uint64(1 << 53)
_UNSURE = np.uint64(0x1FF)
_HIDDEN = np.uint64(1 << 52)


@njit(cache=True, nogil=True)
def _rounded(w: np.uint64, q: int) -> tuple[float, bool]:
    """The double nearest to w * 10^q, and whether the product could decide which it is."""
    zeros = leading_zeros(w)
    w <<= np.uint64(zeros)
    high, low = product(w, _POWERS[q - _LEAST, 0])
    if high & _UNSURE == _UNSURE:
        more, _ = product(w, _POWERS[q - _LEAST, 1])
        low += more
        if low < more:
            high += _1
        if low == _ALL:
            return 0.0, False
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    m = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if exponent <= 0 or exponent >= 2046:
        return 0.0, False
    if low <= _1 and -4 <= q <= 23 and (m & _3) == _1 and (m << shift) == high:
        return 0.0, False  # exactly half way: to even, by the caller
    m = (m + (m & _1)) >> _1
    if m == _HIDDEN << _1:
        m = _HIDDEN
        exponent += 1
    return as_float((m & (_HIDDEN - _1)) | (np.uint64(exponent) << np.uint64(52))), True


@njit(cache=True, nogil=True)
def spelled(word: np.uint64, count: int) -> tuple[np.uint64, np.uint64]:
    """The number that the lowest ``count`` bytes spell, eight at most, and 0 if they are digits all.

    Digits are taken together in pairs, the pairs in fours, the fours in an eight.
    """
    half = np.uint64(4 * (8 - count))  # shifted twice, for a shift by all 64 bits is undefined
    word = ((word ^ _ZEROS) << half) << half
    strange = ((word + _OVER_NINE) | word) & _TOPS
    word = (word * _10 + (word >> np.uint64(8))) & _PAIRS
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & _FOURS
    return (word * np.uint64(10_000) + (word >> _32)) & _LOW, strange


@njit(cache=True, nogil=True)
def parse_plain(at: int, end: int, point: int) -> tuple[float, bool]:
    """Read the number from ``at`` to ``end`` if it is but digits with a point among them; else say that it is not.

    ``point`` is where the point is, or ``end`` if there is none. What is not read here `parse_number` may read.
    """
    negative = byte(at) == 45
    at += negative
    whole = point - at
    behind = max(end - point - 1, 0)
    if whole > 8 or behind > 16 or whole + behind > 19 or whole + behind == 0:
        return 0.0, False
    w, strange = spelled(load8(at), whole)
    near = min(behind, 8)
    part, odd = spelled(load8(point + 1), near)
    w = w * _WHOLE_TENS[near] + part
    strange |= odd
    if behind > 8:
        part, odd = spelled(load8(point + 9), behind - 8)
        w = w * _WHOLE_TENS[behind - 8] + part
        strange |= odd
    understood = strange == 0
    if w <= _EXACT:
        value = float(np.int64(w)) / _TENS[behind]
    else:
        value, sure = _rounded(w, -behind)
        understood = understood and sure
    return (-value if negative else value), understood


@njit(cache=True, nogil=True)
def parse_number(at: int) -> tuple[int, bool, float]:
    """Read the decimal number at a place; return where it ends, whether it was understood, and its value.

    A number ends at a byte below 33.
    """
    end, understood, value = read_number(at)
    return end, understood and byte(end) < 33, value


@njit(cache=True, nogil=True)
def read_number(at: int) -> tuple[int, bool, float]:
    """Read the decimal number at a place, whatever follows; return as `parse_number` does."""
    negative = byte(at) == 45
    i = at + 1 if negative or byte(at) == 43 else at
    w = np.uint64(0)
    digits = 0
    q = 0
    first = i
    while True:
        c = byte(i) - 48
        if c < 0 or c > 9:
            break
        w = w * _10 + np.uint64(c)
        if digits or c:
            digits += 1
        i += 1
    seen = i - first
    if byte(i) == 46:
        i += 1
        first = i
        while True:
            c = byte(i) - 48
            if c < 0 or c > 9:
                break
            w = w * _10 + np.uint64(c)
            if digits or c:
                digits += 1
            i += 1
        q = first - i
        seen -= q
    if seen == 0 or digits > 19:
        return i, False, 0.0
    if byte(i) == 101 or byte(i) == 69:
        i += 1
        down = byte(i) == 45
        if down or byte(i) == 43:
            i += 1
        first = i
        e = 0
        while True:
            c = byte(i) - 48
            if c < 0 or c > 9:
                break
            if e < 10000:
                e = e * 10 + c
            i += 1
        if i == first:
            return i, False, 0.0
        q += -e if down else e
    value = 0.0
    if w == 0:
        pass
    elif w <= _EXACT and -22 <= q <= 22:
        value = float(w) / _TENS[-q] if q < 0 else float(w) * _TENS[q]
    else:
        if q < _LEAST or q > _MOST:
            return i, False, 0.0
        value, sure = _rounded(w, q)
        if not sure:
            return i, False, 0.0
    return i, True, -value if negative else value
