"""Bytes of a run or qrels file -> columns of numbers, compiled and without the interpreter's lock.

The kernel stops where Python has to act (make room, read an unusual number, report an error) and is called
again to go on at the line where it stopped. ``state`` carries its place between the calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shardwise.core.arrays import Bytes, Codes, Floats, Ints, Words
from shardwise.core.compiled import njit
from shardwise.io.trec.interning import MAX_NAME, bring_near, find, home, mix, put
from shardwise.io.trec.intrinsics import (
    blanks,
    byte,
    load8,
    low_bytes,
    prefetch,
    reversed_bytes,
    same_bytes,
    token_end,
    trailing_zeros,
)
from shardwise.io.trec.numbers import parse_number

# places in state
POS, LINE, ROWS, RUNS, SLOW, NAMES, LABEL, LABEL_LEN, ONE_LABEL, TOPIC, TOPIC_LEN, ERROR_AT, COLUMNS, NEED = (
    range(14)
)
STATE_SIZE = 14
BATCH = 64
"""Names that are looked up together, so that the memory answers for all of them at once."""
_SCRATCH = 4 * BATCH + MAX_NAME // 8 + 2
"""Words for the names of one batch, and for one name more of the greatest length."""
# why the kernel came back
DONE, NO_ROOM, NO_ROWS, NO_RUNS, NO_SLOW, BAD_COLUMNS, BAD_BYTE, LONG_NAME = range(8)

_0 = np.uint64(0)


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
    """Room to work in: the names of a batch, and one number."""

    names: Words
    bits: Words  # the number, bit by bit
    value: Floats  # the same as a float


def scratch() -> Scratch:
    """Make room to work in."""
    value = np.zeros(1)
    return Scratch(np.empty(_SCRATCH, dtype=np.uint64), value.view(np.uint64), value)


@njit(cache=True, nogil=True, inline="always")
def skip_blanks(buf: Bytes, at: int) -> int:
    """Pass over spaces, tabs, and the carriage return of a line's end."""
    c = byte(buf, at)
    while c < 33:
        if c == 13 and byte(buf, at + 1) == 10:
            return at + 1
        if c != 32 and c != 9:
            break
        at += 1
        c = byte(buf, at)
    return at


@njit(cache=True, nogil=True)
def intern_batch(
    slots: Words,
    words: Words,
    stride: int,
    scratch: Words,
    begins: Ints,
    hashes: Words,
    sizes: Ints,
    pending: int,
    count: int,
    docs: Codes,
) -> int:
    """Give the pending names their codes; return how many names there are now."""
    for k in range(pending):
        bring_near(slots, words, stride, hashes[k])
    for k in range(pending):
        name = scratch[begins[k] :]
        code, slot = find(slots, words, stride, name, sizes[k], hashes[k])
        if code < 0:
            code = count
            put(slots, words, stride, name, sizes[k], hashes[k], code, slot)
            count += 1
        docs[k] = code
    return count


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
    scratch: Words,
    bits: Words,
    value: Floats,
    state: Ints,
) -> int:
    """Read lines from ``state[POS]`` to the end: topic, document and score (or grade) of each.

    A run has six columns (topic, Q0, document, rank, score, label), qrels have four (topic, iteration, document,
    grade). Returns why the kernel came back. Called as ``parse_lines(*text, *table, *columns, *room, state)``: arrays
    that a kernel takes out of tuples are counted as references in the loop, and reading took a quarter longer.
    """
    pos = state[POS]
    line = state[LINE]
    rows = state[ROWS]
    runs = state[RUNS]
    count = state[NAMES]
    n_slow = state[SLOW]
    last_topic, last_topic_len = state[TOPIC], state[TOPIC_LEN]
    first_label, first_label_len = state[LABEL], state[LABEL_LEN]
    one_label = state[ONE_LABEL] == 1
    hashes = np.empty(BATCH, dtype=np.uint64)
    sizes = np.empty(BATCH, dtype=np.int64)
    begins = np.empty(BATCH, dtype=np.int64)
    pending = 0
    used = 0
    status = DONE
    while pos < end:
        i = skip_blanks(buf, pos)
        if byte(buf, i) == 10:
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
        i = token_end(buf, i)
        topic_len = i - topic
        i = token_end(buf, skip_blanks(buf, i))  # Q0, or the iteration
        name = skip_blanks(buf, i)
        i = name
        n_words = 0
        h = key
        begins[pending] = used
        while i - name <= MAX_NAME:
            word = load8(buf, i)
            mark = blanks(word)
            if mark != _0:
                left = trailing_zeros(mark) >> 3
                i += left
                if left:
                    word = reversed_bytes(low_bytes(word, left))
                    scratch[used + n_words] = word
                    h = mix(h, word)
                    n_words += 1
                break
            word = reversed_bytes(word)
            scratch[used + n_words] = word
            h = mix(h, word)
            n_words += 1
            i += 8
        if i - name > MAX_NAME:
            status = LONG_NAME
            break

        i = skip_blanks(buf, i)
        if is_run:  # the rank, which is ignored
            i = skip_blanks(buf, token_end(buf, i))
        number = i
        understood = False
        if byte(buf, i) > 32:
            i, understood = parse_number(buf, i, bits, value)
            if not understood:
                i = token_end(buf, i)
        number_end = i
        label = i
        if is_run:
            label = skip_blanks(buf, i)
            i = token_end(buf, label)
        label_len = i - label
        i = skip_blanks(buf, i)
        if byte(buf, i) != 10 or number_end == number or (is_run and label_len == 0):
            status = BAD_COLUMNS
            n_columns = 0
            i = pos
            while buf[i] != 10:
                if buf[i] > 32:
                    n_columns += 1
                    i = token_end(buf, i)
                else:
                    j = skip_blanks(buf, i)
                    if j == i:
                        state[ERROR_AT] = i
                        status = BAD_BYTE
                        break
                    i = j
            state[COLUMNS] = n_columns
            break
        if not understood and n_slow == len(slow):
            status = NO_SLOW
            break

        most = count + pending + 1
        if n_words > stride or most * 2 >= len(slots) or most * stride > len(words):
            state[NEED] = n_words
            status = NO_ROOM
            break
        hashes[pending] = h
        sizes[pending] = n_words
        used += n_words
        prefetch(slots, home(slots, h))
        pending += 1

        if topic_len != last_topic_len or not same_bytes(buf, topic, last_topic, topic_len):
            run_rows[runs] = rows
            run_spans[2 * runs] = topic
            run_spans[2 * runs + 1] = topic + topic_len
            runs += 1
        last_topic, last_topic_len = topic, topic_len
        if first_label_len < 0:
            first_label, first_label_len = label, label_len
        elif one_label:
            one_label = label_len == first_label_len and same_bytes(buf, label, first_label, label_len)

        if understood:
            values[rows] = value[0]
        else:
            slow[n_slow, 0] = rows
            slow[n_slow, 1] = number
            slow[n_slow, 2] = number_end
            slow[n_slow, 3] = line + 1
            n_slow += 1
        rows += 1
        line += 1
        pos = i + 1
        if pending == BATCH or used > 4 * BATCH:
            count = intern_batch(
                slots, words, stride, scratch, begins, hashes, sizes, pending, count, docs[rows - pending :]
            )
            pending = used = 0
    count = intern_batch(
        slots, words, stride, scratch, begins, hashes, sizes, pending, count, docs[rows - pending :]
    )
    state[POS], state[LINE], state[ROWS], state[RUNS], state[NAMES] = pos, line, rows, runs, count
    state[SLOW] = n_slow
    state[TOPIC], state[TOPIC_LEN] = last_topic, last_topic_len
    state[LABEL], state[LABEL_LEN], state[ONE_LABEL] = first_label, first_label_len, one_label
    return status
