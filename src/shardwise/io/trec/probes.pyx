"""Python's view of functions that are inlined into the parser, so that tests can try them one by one.

A place is a number of bytes from the beginning of the text, which has `PADDING` bytes behind it.
"""

from libc.stdint cimport uint8_t, uint64_t

from shardwise.io.trec cimport bytewise, decimals, names

decimals.fill_tables()


def parse_number(const uint8_t[::1] text not None):
    """Return where reading stopped, and the number or None where it is left to the caller."""
    cdef const uint8_t* end
    cdef double value
    understood = decimals.parse_number(&text[0], &end, &value)
    return end - &text[0], value if understood else None


def parse_plain(const uint8_t[::1] text not None, Py_ssize_t end, Py_ssize_t point):
    """Return the number, or None where it is left to the caller."""
    cdef double value
    understood = decimals.parse_plain(&text[0], &text[0] + end, &text[0] + point, &value)
    return value if understood else None


def look(const uint8_t[::1] text not None):
    """Return masks of the first 64 bytes: those below 33, spaces and tabs, points."""
    seen = bytewise.look(&text[0])
    return seen.blank, seen.gap, seen.point


def same_bytes(const uint8_t[::1] text not None, Py_ssize_t a, Py_ssize_t b, Py_ssize_t count):
    """Whether ``count`` bytes at place a equal those at place b."""
    return bool(bytewise.same_bytes(&text[0] + a, &text[0] + b, count))


def token_end(const uint8_t[::1] text not None):
    """Return the place of the first byte below 33."""
    return bytewise.token_end(&text[0]) - &text[0]


def mix(uint64_t a, uint64_t b):
    """Return both halves of a product, one laid over the other."""
    return names.mix(a, b)


def hash_name(const uint64_t[::1] words not None, uint64_t key):
    """Return the hash of the words of one name."""
    return names.hash_name(&words[0], words.shape[0], key)
