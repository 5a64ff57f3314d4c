"""Bytes of a run or qrels file to columns of numbers, without the interpreter's lock.

The parser stops where Python has to act (make room, read an unusual number, report an error) and is called again to
go on at the line where it stopped. ``state`` carries its place between the calls.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from shardwise.io.trec.bytewise cimport (
    Look,
    load8,
    look,
    low_bytes,
    mark_blanks,
    prefetch,
    reversed_bytes,
    same_bytes,
    token_end,
    trailing_zeros,
)
from shardwise.io.trec.decimals cimport fill_tables, parse_number, parse_plain
from shardwise.io.trec.names cimport (
    LONGEST_NAME,
    SPARE_WORDS,
    hash_more,
    hash_name,
    hash_start,
    home_slot,
)

cdef enum:
    # names that are looked up together, so that the memory answers for all of them at once
    BATCH_SIZE = 64
    # words that names of a batch have at least, zeros behind: most are compared without asking how long they are
    NEAR = SPARE_WORDS

# places in state
cdef enum:
    AT_POS
    AT_LINE
    AT_ROWS
    AT_RUNS
    AT_SLOW
    AT_NAMES
    AT_LABEL
    AT_LABEL_LEN
    AT_ONE_LABEL
    AT_TOPIC
    AT_TOPIC_LEN
    AT_ERROR
    AT_COLUMNS
    AT_NEED
    AT_COMMENTS
    AT_TAILS
    AT_BY_RANK
    N_PLACES

# why the parser came back
cdef enum Status:
    IS_DONE
    NEEDS_ROOM
    NEEDS_ROWS
    NEEDS_RUNS
    NEEDS_SLOW
    HAS_BAD_COLUMNS
    HAS_BAD_BYTE
    HAS_LONG_NAME

POS, LINE, ROWS, RUNS, SLOW, NAMES = AT_POS, AT_LINE, AT_ROWS, AT_RUNS, AT_SLOW, AT_NAMES
LABEL, LABEL_LEN, ONE_LABEL = AT_LABEL, AT_LABEL_LEN, AT_ONE_LABEL
TOPIC, TOPIC_LEN = AT_TOPIC, AT_TOPIC_LEN
ERROR_AT, COLUMNS, NEED, STATE_SIZE = AT_ERROR, AT_COLUMNS, AT_NEED, N_PLACES
COMMENTS, TAILS, BY_RANK = AT_COMMENTS, AT_TAILS, AT_BY_RANK
DONE, NO_ROOM, NO_ROWS, NO_RUNS, NO_SLOW = IS_DONE, NEEDS_ROOM, NEEDS_ROWS, NEEDS_RUNS, NEEDS_SLOW
BAD_COLUMNS, BAD_BYTE, LONG_NAME = HAS_BAD_COLUMNS, HAS_BAD_BYTE, HAS_LONG_NAME
BATCH = BATCH_SIZE

fill_tables()

# read from ``8 * NEAR - n`` on, a mask of ``n`` bytes
cdef uint8_t[16 * NEAR] KEEP
for _place in range(16 * NEAR):
    KEEP[_place] = 255 if _place < 8 * NEAR else 0


cdef struct Table:
    # the names so far, as in `Interner`
    uint64_t* slots
    int64_t n_slots
    uint64_t* words
    int64_t stride
    uint64_t key
    int64_t count
    # the batch that waits to be looked up
    uint64_t* names
    uint64_t* hashes
    int64_t pending
    int64_t width


cdef inline const uint8_t* skip_blanks(const uint8_t* place) noexcept nogil:
    """Pass over spaces, tabs, and the carriage return of a line's end."""
    while place[0] < 33:
        if place[0] == 13 and place[1] == 10:
            return place + 1
        if place[0] != 32 and place[0] != 9:
            break
        place += 1
    return place


cdef void intern_batch(Table* table, int32_t* docs) noexcept nogil:
    """Give the names of the batch their codes, in ``docs``."""
    cdef uint64_t* slots = table.slots
    cdef uint64_t* words = table.words
    cdef uint64_t* name
    cdef uint64_t* known
    cdef int64_t stride = table.stride
    cdef int64_t mask = table.n_slots - 1
    cdef int64_t count = table.count
    cdef int64_t k, j, at, code
    cdef uint64_t h, top, slot, differ
    cdef uint64_t third = <uint64_t>-1 if stride > 2 else 0
    cdef uint64_t fourth = <uint64_t>-1 if stride > 3 else 0

    # by now the slots are near: ask for the names that they most likely stand for
    for k in range(table.pending):
        code = <int64_t>(slots[home_slot(table.n_slots, table.hashes[k])] & 0xFFFFFFFFu) - 1
        if code >= 0:
            prefetch(words + code * stride)
            prefetch(words + code * stride + stride - 1)

    for k in range(table.pending):
        h = table.hashes[k]
        top = h << 32
        name = table.names + k * table.width
        at = home_slot(table.n_slots, h)
        while True:
            slot = slots[at]
            if slot == 0:
                slots[at] = top | <uint64_t>(count + 1)
                for j in range(stride):
                    words[count * stride + j] = name[j]
                docs[k] = <int32_t>count
                count += 1
                break
            if (slot & 0xFFFFFFFF00000000u) == top:
                code = <int64_t>(slot & 0xFFFFFFFFu) - 1
                known = words + code * stride
                differ = known[0] ^ name[0]
                differ |= known[1] ^ name[1]
                differ |= (known[2] ^ name[2]) & third
                differ |= (known[3] ^ name[3]) & fourth
                for j in range(NEAR, stride):
                    differ |= known[j] ^ name[j]
                if differ == 0:
                    docs[k] = <int32_t>code
                    break
            at = (at + 1) & mask
    table.count = count
    table.pending = 0


cdef const uint8_t* read_alike(
    const uint8_t* pos,
    const uint8_t* end,
    const uint8_t* prefix,
    int64_t prefix_len,
    const uint8_t* suffix,
    int64_t suffix_len,
    Table* table,
    double* values,
    int64_t most,
) noexcept nogil:
    """Read lines of a run that begin and end as one before, until the batch has ``most`` names; return where it stopped.

    Nearly all lines of a run differ from the one before in document, rank and score alone. What is unusual in any way
    is left to the caller. ``values`` are those of the batch.
    """
    cdef const uint8_t* name
    cdef const uint8_t* stop
    cdef const uint8_t* number
    cdef const uint8_t* after
    cdef const uint8_t* mask
    cdef Look seen
    cdef uint64_t ends, starts, last, first, a, b, c, d, h, word
    cdef int64_t size, rest, k
    cdef int64_t stride = table.stride
    cdef int64_t pending = table.pending
    cdef uint64_t* row = table.names + pending * table.width
    cdef double value
    while pending < most and pos < end and same_bytes(pos, prefix, prefix_len):
        # the third blank behind the name ends the score, the second word behind it is the score
        name = pos + prefix_len
        seen = look(name)
        ends = seen.blank & ~(seen.blank << 1)
        starts = ~seen.blank & (seen.blank << 1)
        last = ends & (ends - 1)
        last &= last - 1
        if last == 0 or seen.blank & 1:
            break
        last &= 0 - last
        first = starts & (starts - 1)
        first &= 0 - first
        if seen.blank & ~seen.gap & (last - 1):
            break
        stop = name + trailing_zeros(last)
        if not same_bytes(stop, suffix, suffix_len):
            break
        size = trailing_zeros(seen.blank)
        if (size + 7) >> 3 > stride:
            break
        number = name + trailing_zeros(first)
        if not parse_plain(number, stop, name + trailing_zeros((seen.point & (last - first)) | last), &value):
            if not parse_number(number, &after, &value):
                break
        values[pending] = value

        # the name as words, zeros behind
        mask = KEEP + 8 * NEAR - min(size, 8 * NEAR)
        a = reversed_bytes(load8(name) & load8(mask))
        b = reversed_bytes(load8(name + 8) & load8(mask + 8))
        c = reversed_bytes(load8(name + 16) & load8(mask + 16))
        d = reversed_bytes(load8(name + 24) & load8(mask + 24))
        row[0], row[1], row[2], row[3] = a, b, c, d
        h = hash_start(table.key, a, b, c, d)
        for k in range(NEAR, stride):
            rest = size - 8 * k
            word = 0
            if rest > 0:
                word = load8(name + 8 * k)
                if rest < 8:
                    word = low_bytes(word, rest)
                word = reversed_bytes(word)
                h = hash_more(h, word)
            row[k] = word
        table.hashes[pending] = h
        prefetch(table.slots + home_slot(table.n_slots, h))
        pending += 1
        row += table.width
        pos = stop + suffix_len
    table.pending = pending
    return pos


cdef Status find_bad_column(const uint8_t* text, const uint8_t* place, int64_t[::1] state) noexcept nogil:
    """Find out what is wrong with a line: a byte that is no text, or the number of its columns."""
    cdef int64_t n_columns = 0
    cdef const uint8_t* after
    while place[0] != 10:
        if place[0] > 32:
            n_columns += 1
            place = token_end(place)
        else:
            after = skip_blanks(place)
            if after == place:
                state[AT_ERROR] = place - text
                return HAS_BAD_BYTE
            place = after
    state[AT_COLUMNS] = n_columns
    return HAS_BAD_COLUMNS


cdef const uint8_t* skip_tail(const uint8_t* place) noexcept nogil:
    """Pass over text behind the run tag to the end of the line; NULL where it looks like the columns of another line.

    Two lines that run into one another leave five words or more behind the tag, the last but one of them a score.
    """
    cdef const uint8_t* word = place
    cdef const uint8_t* last = place
    cdef const uint8_t* after
    cdef int64_t n_words = 0
    while place[0] != 10:
        if place[0] > 32:
            word, last = last, place
            n_words += 1
            place = token_end(place)
        else:
            after = skip_blanks(place)
            if after == place:
                return NULL
            place = after
    if n_words >= 5 and (48 <= word[0] <= 57 or word[0] == 45 or word[0] == 46 or word[0] == 43):
        return NULL
    return place


def parse_lines(
    const uint8_t[::1] buf not None,
    int64_t length,
    bint is_run,
    uint64_t[::1] slots not None,
    uint64_t[::1] words not None,
    int64_t stride,
    uint64_t key,
    int32_t[::1] docs not None,
    double[::1] values not None,
    int64_t[::1] run_rows not None,
    int64_t[::1] run_spans not None,
    int64_t[:, ::1] slow not None,
    uint64_t[::1] names not None,
    uint64_t[::1] hashes not None,
    int64_t[::1] state not None,
):
    """Read lines from ``state[POS]`` to the end: topic, document and score (or grade) of each.

    A run has six columns (topic, Q0, document, rank, score, label), qrels have four (topic, iteration, document,
    grade). Text behind the label is passed over and counted in ``state[TAILS]``, lines that begin with # in
    ``state[COMMENTS]`` unless that is below 0, when they are lines as any other. ``state[BY_RANK]`` makes the rank the
    number that is read. Return why the parser came back.
    """
    cdef const uint8_t* text = &buf[0]
    cdef const uint8_t* end = text + length
    cdef const uint8_t* pos = text + state[AT_POS]
    cdef const uint8_t* last_topic = text + state[AT_TOPIC]
    cdef const uint8_t* first_label = text + state[AT_LABEL]
    cdef const uint8_t* prefix = pos
    cdef const uint8_t* suffix = pos
    cdef const uint8_t* i
    cdef const uint8_t* topic
    cdef const uint8_t* name
    cdef const uint8_t* number
    cdef const uint8_t* number_end
    cdef const uint8_t* label
    cdef int64_t line = state[AT_LINE], rows = state[AT_ROWS], runs = state[AT_RUNS], n_slow = state[AT_SLOW]
    cdef int64_t last_topic_len = state[AT_TOPIC_LEN], first_label_len = state[AT_LABEL_LEN]
    cdef int64_t topic_len, label_len, n_words, rest, k, before, most
    cdef int64_t prefix_len = -1, suffix_len = -1
    cdef bint one_label = state[AT_ONE_LABEL] == 1
    cdef bint by_rank = state[AT_BY_RANK] == 1
    cdef int64_t comments = state[AT_COMMENTS], tails = state[AT_TAILS]
    cdef bint understood, has_tail = False
    cdef uint64_t word, mark
    cdef uint64_t* row
    cdef double value
    cdef Status status = IS_DONE
    # names that the table can hold
    cdef int64_t room = min((slots.shape[0] - 1) // 2, (words.shape[0] - SPARE_WORDS) // stride)
    cdef Table table
    table.slots, table.n_slots = &slots[0], slots.shape[0]
    table.words, table.stride, table.key, table.count = &words[0], stride, key, state[AT_NAMES]
    table.names, table.hashes = &names[0], &hashes[0]
    table.pending, table.width = 0, max(stride, NEAR)

    with nogil:
        while pos < end:
            # lines that begin and end as the last one that was read in full
            if prefix_len >= 0:
                before = table.pending
                most = min(<int64_t>BATCH_SIZE, before + docs.shape[0] - rows, room - table.count)
                pos = read_alike(
                    pos, end, prefix, prefix_len, suffix, suffix_len, &table, &values[0] + rows - before, most
                )
                rows += table.pending - before
                line += table.pending - before
                if has_tail:
                    tails += table.pending - before
                if table.pending == BATCH_SIZE:
                    intern_batch(&table, &docs[0] + rows - BATCH_SIZE)
                    continue
                if pos >= end:
                    break

            i = skip_blanks(pos)
            if i[0] == 10:
                pos = i + 1
                line += 1
                continue
            if i[0] == 35 and comments >= 0:
                while i[0] != 10:
                    i += 1
                pos = i + 1
                line += 1
                comments += 1
                continue
            if rows == docs.shape[0]:
                status = NEEDS_ROWS
                break
            if runs == run_rows.shape[0]:
                status = NEEDS_RUNS
                break

            # topic, Q0 or iteration, name
            topic = i
            i = token_end(i)
            topic_len = i - topic
            i = token_end(skip_blanks(i))
            name = skip_blanks(i)
            i = name
            n_words = 0
            row = table.names + table.pending * table.width
            while i - name <= LONGEST_NAME:
                word = load8(i)
                mark = mark_blanks(word)
                if mark != 0:
                    rest = trailing_zeros(mark) >> 3
                    i += rest
                    if rest:
                        row[n_words] = reversed_bytes(low_bytes(word, rest))
                        n_words += 1
                    break
                row[n_words] = reversed_bytes(word)
                n_words += 1
                i += 8
            if i - name > LONGEST_NAME:
                status = HAS_LONG_NAME
                break

            # the rank, which is ignored unless it is asked for; score or grade; label
            i = skip_blanks(i)
            if is_run and not by_rank:
                i = skip_blanks(token_end(i))
            number = i
            understood, value = False, 0.0
            if i[0] > 32:
                understood = parse_number(number, &i, &value)
                if not understood:
                    i = token_end(i)
            number_end = i
            label = i
            if is_run and by_rank:
                i = token_end(skip_blanks(i))
            if is_run:
                label = skip_blanks(i)
                i = token_end(label)
            label_len = i - label
            i = skip_blanks(i)
            has_tail = is_run and label_len > 0 and i[0] != 10
            if has_tail:
                i = skip_tail(i)
                if i == NULL:
                    status = find_bad_column(text, pos, state)
                    break
            if i[0] != 10 or number_end == number or (is_run and label_len == 0):
                status = find_bad_column(text, pos, state)
                break
            if not understood and n_slow == slow.shape[0]:
                status = NEEDS_SLOW
                break
            if n_words > stride or table.count + table.pending >= room:
                state[AT_NEED] = n_words
                status = NEEDS_ROOM
                break

            # the line is sound: keep it
            for k in range(n_words, table.width):
                row[k] = 0
            table.hashes[table.pending] = hash_name(row, n_words, key)
            prefetch(table.slots + home_slot(table.n_slots, table.hashes[table.pending]))
            table.pending += 1
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
            tails += has_tail
            if is_run and not by_rank:
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
            if table.pending == BATCH_SIZE:
                intern_batch(&table, &docs[0] + rows - BATCH_SIZE)
        intern_batch(&table, &docs[0] + rows - table.pending)

    state[AT_POS], state[AT_LINE], state[AT_ROWS], state[AT_RUNS] = pos - text, line, rows, runs
    state[AT_NAMES], state[AT_SLOW] = table.count, n_slow
    state[AT_COMMENTS], state[AT_TAILS] = comments, tails
    state[AT_TOPIC], state[AT_TOPIC_LEN] = last_topic - text, last_topic_len
    state[AT_LABEL], state[AT_LABEL_LEN], state[AT_ONE_LABEL] = first_label - text, first_label_len, one_label
    return <int>status
