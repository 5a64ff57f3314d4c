"""Bytes of a run or qrels file -> columns of numbers, compiled and without the interpreter's lock.

The kernel stops where Python has to act (make room, read an unusual number, report an error) and is called
again to go on at the line where it stopped. ``state`` carries its place between the calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Bytes, Codes, Floats, Ints, Words
from shardwise.core.compiled import njit
from shardwise.io.trec.interning import MAX_NAME, SPARE, hash_more, hash_name, hash_start, home
from shardwise.io.trec.intrinsics import (
    address,
    blanks,
    byte,
    load8,
    look,
    low_bytes,
    prefetch,
    reversed_bytes,
    same_bytes,
    token_end,
    trailing_zeros,
)
from shardwise.io.trec.numbers import parse_number, parse_plain

# places in state
POS, LINE, ROWS, RUNS, SLOW, NAMES, LABEL, LABEL_LEN, ONE_LABEL, TOPIC, TOPIC_LEN, ERROR_AT, COLUMNS, NEED = (
    range(14)
)
STATE_SIZE = 14
BATCH = 64
"""Names that are looked up together, so that the memory answers for all of them at once."""
_NEAR = SPARE
"""Words that names of a batch have at least, zeros behind: most are compared without asking how long they are."""
# why the kernel came back
DONE, NO_ROOM, NO_ROWS, NO_RUNS, NO_SLOW, BAD_COLUMNS, BAD_BYTE, LONG_NAME = range(8)

_0 = np.uint64(0)
_1 = np.uint64(1)
_HALF = np.uint64(32)
_TOP = np.uint64(0xFFFFFFFF00000000)
_LOW = np.uint64(0x00000000FFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_KEEP: Bytes = np.repeat(np.array([255, 0], dtype=np.uint8), 8 * _NEAR)
"""Read from place ``8 * _NEAR - n`` on, a mask of ``n`` bytes."""


class Text(NamedTuple):
    """Bytes of a file up to ``end``, newlines behind (`PADDING` of them), and what they are."""

    buf: Bytes
    end: int
    is_run: bool


class Columns(NamedTuple):
    """Where the kernel puts what it reads."""

    docs: Codes
    values: Floats
    run_rows: Ints  # rows where the topic changes
    run_spans: Ints  # begin and end of the topic there
    slow: Ints  # (n, 4): row, begin, end and line of numbers that are left to Python


class Scratch(NamedTuple):
    """Room to work in: the names of a batch, and their hashes."""

    names: Words
    hashes: Words


def scratch() -> Scratch:
    """Make room to work in."""
    names = np.empty((BATCH + 1) * (MAX_NAME // 8 + 1), dtype=np.uint64)
    return Scratch(names, np.empty(BATCH, dtype=np.uint64))


@njit(cache=True, nogil=True)
def skip_blanks(at: int) -> int:
    """Pass over spaces, tabs, and the carriage return of a line's end."""
    c = byte(at)
    while c < 33:
        if c == 13 and byte(at + 1) == 10:
            return at + 1
        if c != 32 and c != 9:
            break
        at += 1
        c = byte(at)
    return at


@njit(cache=True, nogil=True)
def intern_batch(
    slots: Words,
    words: Words,
    stride: int,
    names: Words,
    hashes: Words,
    pending: int,
    count: int,
    docs: Codes,
    row: int,
) -> int:
    """Give the pending names their codes, in ``docs`` from ``row`` on; return how many names there are now."""
    width = max(stride, _NEAR)
    mask = len(slots) - 1
    third = _ALL if stride > 2 else _0
    fourth = _ALL if stride > 3 else _0
    for k in range(
        pending
    ):  # by now the slot is near: ask for the name that it most likely stands for, all of it
        base = (np.int64(slots[home(slots, hashes[k])] & _LOW) - 1) * stride
        prefetch(words, base)
        prefetch(words, base + stride - 1)
    for k in range(pending):
        h = hashes[k]
        top = h << _HALF
        name = k * width
        at = home(slots, h)
        while True:
            slot = slots[at]
            if slot == _0:
                slots[at] = top | np.uint64(count + 1)
                for j in range(stride):
                    words[count * stride + j] = names[name + j]
                docs[row + k] = count
                count += 1
                break
            if slot & _TOP == top:
                code = np.int64(slot & _LOW) - 1
                base = code * stride
                differ = words[base] ^ names[name]
                differ |= words[base + 1] ^ names[name + 1]
                differ |= (words[base + 2] ^ names[name + 2]) & third
                differ |= (words[base + 3] ^ names[name + 3]) & fourth
                for j in range(_NEAR, stride):
                    differ |= words[base + j] ^ names[name + j]
                if differ == _0:
                    docs[row + k] = code
                    break
            at = (at + 1) & mask
    return count


@njit(cache=True, nogil=True)
def read_alike(
    pos: int,
    end: int,
    prefix: int,
    prefix_len: int,
    suffix: int,
    suffix_len: int,
    slots: Words,
    stride: int,
    key: np.uint64,
    names: Words,
    hashes: Words,
    values: Floats,
    row: int,
    pending: int,
    most: int,
) -> tuple[int, int]:
    """Read lines of a run that begin and end as one before; return where it stopped and how many names wait.

    Nearly all lines of a run differ from the one before in document, rank and score alone. What is unusual in any way
    is left to the caller. ``row`` is that of the first name of the batch.
    """
    width = max(stride, _NEAR)
    keep = address(_KEEP)
    while pending < most and pos < end and same_bytes(pos, prefix, prefix_len):
        name = pos + prefix_len
        blank, gaps, points = look(name)
        ends = blank & ~(blank << _1)
        starts = ~blank & (blank << _1)
        last = ends & (ends - _1)
        last &= last - _1
        if last == _0 or blank & _1:
            break
        last &= _0 - last  # the end of the score
        first = starts & (starts - _1)
        first &= _0 - first  # its beginning
        if blank & ~gaps & (last - _1):
            break
        stop = name + trailing_zeros(last)
        if not same_bytes(stop, suffix, suffix_len):
            break
        size = trailing_zeros(blank)
        n_words = (size + 7) >> 3
        if n_words > stride:
            break
        number = name + trailing_zeros(first)
        value, understood = parse_plain(number, stop, name + trailing_zeros(points & (last - first) | last))
        if not understood:
            _, understood, value = parse_number(number)
            if not understood:
                break
        values[row + pending] = value

        at = pending * width
        mask = keep + 8 * _NEAR - min(size, 8 * _NEAR)
        a = reversed_bytes(load8(name) & load8(mask))
        b = reversed_bytes(load8(name + 8) & load8(mask + 8))
        c = reversed_bytes(load8(name + 16) & load8(mask + 16))
        d = reversed_bytes(load8(name + 24) & load8(mask + 24))
        names[at], names[at + 1], names[at + 2], names[at + 3] = a, b, c, d
        h = hash_start(key, a, b, c, d)
        for k in range(_NEAR, stride):
            left = size - 8 * k
            word = _0
            if left > 0:
                word = load8(name + 8 * k)
                if left < 8:
                    word = low_bytes(word, left)
                word = reversed_bytes(word)
                h = hash_more(h, word)
            names[at + k] = word
        hashes[pending] = h
        prefetch(slots, home(slots, h))
        pending += 1
        pos = stop + suffix_len
    return pos, pending


@njit(cache=True, nogil=True)
def parse_lines(
    buf: Bytes,
    end: int,
    is_run: bool,
    slots: Words,
    words: Words,
    stride: int,
    key: np.uint64,
    docs: Codes,
    values: Floats,
    run_rows: Ints,
    run_spans: Ints,
    slow: Ints,
    names: Words,
    hashes: Words,
    state: Ints,
) -> int:
    """Read lines from ``state[POS]`` to the end: topic, document and score (or grade) of each.

    A run has six columns (topic, Q0, document, rank, score, label), qrels have four (topic, iteration, document,
    grade). Returns why the kernel came back. Called as ``parse_lines(*text, *table, *columns, *room, state)``: arrays
    that a kernel takes out of tuples are counted as references in the loop, and reading took a quarter longer.
    """
    text = address(buf)  # places are addresses inside, and counted from the text's beginning in what is told
    pos = text + state[POS]
    end += text
    line = state[LINE]
    rows = state[ROWS]
    runs = state[RUNS]
    count = state[NAMES]
    n_slow = state[SLOW]
    last_topic, last_topic_len = text + state[TOPIC], state[TOPIC_LEN]
    first_label, first_label_len = text + state[LABEL], state[LABEL_LEN]
    one_label = state[ONE_LABEL] == 1
    width = max(stride, _NEAR)
    room = min((len(slots) - 1) // 2, (len(words) - SPARE) // stride)  # names that the table can hold
    pending = int(np.int64(0))  # not a literal, for which what is called would be compiled once more
    prefix = suffix = pos
    prefix_len = suffix_len = int(np.int64(-1))
    status = DONE
    while pos < end:
        if prefix_len >= 0:
            most = min(BATCH, pending + len(docs) - rows, room - count)
            pos, waiting = read_alike(
                pos, end, prefix, prefix_len, suffix, suffix_len, slots, stride, key, names, hashes,
                values, rows - pending, pending, most,
            )  # fmt: skip
            rows += waiting - pending
            line += waiting - pending
            pending = waiting
            if pending == BATCH:
                count = intern_batch(
                    slots, words, stride, names, hashes, pending, count, docs, rows - pending
                )
                pending = 0
                continue
            if pos >= end:
                break
        i = skip_blanks(pos)
        if byte(i) == 10:
            pos = i + 1
            line += 1
            continue
        if rows == len(docs):
            status = NO_ROWS
            break
        if runs == len(run_rows):
            status = NO_RUNS
            break

        topic = i
        i = token_end(i)
        topic_len = i - topic
        i = token_end(skip_blanks(i))  # Q0, or the iteration
        name = skip_blanks(i)
        i = name
        n_words = 0
        at = pending * width
        while i - name <= MAX_NAME:
            word = load8(i)
            mark = blanks(word)
            if mark != _0:
                left = trailing_zeros(mark) >> 3
                i += left
                if left:
                    names[at + n_words] = reversed_bytes(low_bytes(word, left))
                    n_words += 1
                break
            names[at + n_words] = reversed_bytes(word)
            n_words += 1
            i += 8
        if i - name > MAX_NAME:
            status = LONG_NAME
            break

        i = skip_blanks(i)
        if is_run:  # the rank, which is ignored
            i = skip_blanks(token_end(i))
        number = i
        understood, value = False, 0.0
        if byte(i) > 32:
            i, understood, value = parse_number(i)
            if not understood:
                i = token_end(i)
        number_end = i
        label = i
        if is_run:
            label = skip_blanks(i)
            i = token_end(label)
        label_len = i - label
        i = skip_blanks(i)
        if byte(i) != 10 or number_end == number or (is_run and label_len == 0):
            status = BAD_COLUMNS
            n_columns = 0
            i = pos
            while byte(i) != 10:
                if byte(i) > 32:
                    n_columns += 1
                    i = token_end(i)
                else:
                    j = skip_blanks(i)
                    if j == i:
                        state[ERROR_AT] = i - text
                        status = BAD_BYTE
                        break
                    i = j
            state[COLUMNS] = n_columns
            break
        if not understood and n_slow == len(slow):
            status = NO_SLOW
            break
        if n_words > stride or count + pending >= room:
            state[NEED] = n_words
            status = NO_ROOM
            break
        for k in range(n_words, width):
            names[at + k] = _0
        h = hash_name(address(names) + 8 * at, n_words, key)
        hashes[pending] = h
        prefetch(slots, home(slots, h))
        pending += 1

        if topic_len != last_topic_len or not same_bytes(topic, last_topic, topic_len):
            run_rows[runs] = rows
            run_spans[2 * runs] = topic - text
            run_spans[2 * runs + 1] = topic - text + topic_len
            runs += 1
        last_topic, last_topic_len = topic, topic_len
        if first_label_len < 0:
            first_label, first_label_len = label, label_len
        elif one_label:
            one_label = label_len == first_label_len and same_bytes(label, first_label, label_len)
        if is_run:
            prefix, prefix_len = pos, name - pos
            suffix, suffix_len = number_end, i + 1 - number_end

        if understood:
            values[rows] = value
        else:
            slow[n_slow, 0] = rows
            slow[n_slow, 1] = number - text
            slow[n_slow, 2] = number_end - text
            slow[n_slow, 3] = line + 1
            n_slow += 1
        rows += 1
        line += 1
        pos = i + 1
        if pending == BATCH:
            count = intern_batch(slots, words, stride, names, hashes, pending, count, docs, rows - pending)
            pending = 0
    count = intern_batch(slots, words, stride, names, hashes, pending, count, docs, rows - pending)
    state[POS], state[LINE], state[ROWS], state[RUNS], state[NAMES] = pos - text, line, rows, runs, count
    state[SLOW] = n_slow
    state[TOPIC], state[TOPIC_LEN] = last_topic - text, last_topic_len
    state[LABEL], state[LABEL_LEN], state[ONE_LABEL] = first_label - text, first_label_len, one_label
    return status
