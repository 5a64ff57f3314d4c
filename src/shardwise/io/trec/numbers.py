"""Decimal text -> the nearest double, compiled.

Short numbers take Clinger's exact path; the others Lemire's (2021, "Number parsing at a gigabyte per
second"): a 64 x 128-bit product with a truncated power of ten decides the rounding, or says that it cannot.
What it cannot decide, and anything that is not plain decimal (``inf``, ``nan``, garbage), is left to the caller.
"""

from __future__ import annotations

import numpy as np

from shardwise.core.arrays import Bytes, Floats, Words
from shardwise.core.compiled import njit
from shardwise.io.trec.intrinsics import byte

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

_1 = np.uint64(1)
_3 = np.uint64(3)
_10 = np.uint64(10)
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_EXACT = np.uint64(1 << 53)
_UNSURE = np.uint64(0x1FF)
_HIDDEN = np.uint64(1 << 52)


@njit(cache=True, nogil=True, inline="always")
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """High and low word of a 64 x 64-bit product."""
    a0, a1 = a & _LOW, a >> _32
    b0, b1 = b & _LOW, b >> _32
    low = a0 * b0
    middle = a1 * b0 + (low >> _32)
    other = a0 * b1 + (middle & _LOW)
    return a1 * b1 + (middle >> _32) + (other >> _32), (other << _32) | (low & _LOW)


@njit(cache=True, nogil=True)
def _rounded(w: np.uint64, q: int, bits: Words, value: Floats) -> bool:
    """Put the double nearest to w * 10^q into value[0]; False where the product cannot decide.

    ``bits`` is the same memory as ``value``, seen as a word.
    """
    zeros = 0
    while w >> np.uint64(63) == 0:
        w <<= _1
        zeros += 1
    high, low = _product(w, _POWERS[q - _LEAST, 0])
    if high & _UNSURE == _UNSURE:
        more, _ = _product(w, _POWERS[q - _LEAST, 1])
        low += more
        if low < more:
            high += _1
        if low == _ALL:
            return False
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    m = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if exponent <= 0 or exponent >= 2046:
        return False
    if low <= _1 and -4 <= q <= 23 and (m & _3) == _1 and (m << shift) == high:
        return False  # exactly half way: to even, by the caller
    m = (m + (m & _1)) >> _1
    if m == _HIDDEN << _1:
        m = _HIDDEN
        exponent += 1
    bits[0] = (m & (_HIDDEN - _1)) | (np.uint64(exponent) << np.uint64(52))
    return True


@njit(cache=True, nogil=True)
def parse_number(buf: Bytes, at: int, bits: Words, value: Floats) -> tuple[int, bool]:
    """Read the decimal number that starts at ``at``; return where it ends and whether it was understood.

    The value is left in ``value[0]``, which shares its memory with ``bits``. A number ends at a byte below 33.
    """
    negative = byte(buf, at) == 45
    i = at + 1 if negative or byte(buf, at) == 43 else at
    w = np.uint64(0)
    digits = 0
    q = 0
    first = i
    while True:
        c = byte(buf, i) - 48
        if c < 0 or c > 9:
            break
        w = w * _10 + np.uint64(c)
        if digits or c:
            digits += 1
        i += 1
    seen = i - first
    if byte(buf, i) == 46:
        i += 1
        first = i
        while True:
            c = byte(buf, i) - 48
            if c < 0 or c > 9:
                break
            w = w * _10 + np.uint64(c)
            if digits or c:
                digits += 1
            i += 1
        q = first - i
        seen -= q
    if seen == 0 or digits > 19:
        return i, False
    if byte(buf, i) == 101 or byte(buf, i) == 69:
        i += 1
        down = byte(buf, i) == 45
        if down or byte(buf, i) == 43:
            i += 1
        first = i
        e = 0
        while True:
            c = byte(buf, i) - 48
            if c < 0 or c > 9:
                break
            if e < 10000:
                e = e * 10 + c
            i += 1
        if i == first:
            return i, False
        q += -e if down else e
    if byte(buf, i) > 32:
        return i, False
    if w == 0:
        value[0] = 0.0
    elif w <= _EXACT and -22 <= q <= 22:
        value[0] = float(w) / _TENS[-q] if q < 0 else float(w) * _TENS[q]
    elif q < _LEAST or q > _MOST or not _rounded(w, q, bits, value):
        return i, False
    if negative:
        value[0] = -value[0]
    return i, True
