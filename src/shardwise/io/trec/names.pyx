"""The table of names behind `Interner`: looking names up, sorting them, merging those of several tables.

A name is kept as ``stride`` words of eight bytes, big-endian, padded with zero bytes (no name contains one), so equal
words mean equal names: the hash only says where to look, and a collision cannot mix two names up. A slot holds the
lower half of a hash and a code + 1; 0 means empty.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc

from shardwise.io.trec.bytewise cimport trailing_zeros
from shardwise.io.trec.names cimport LONGEST_NAME, SPARE_WORDS, hash_name, home_slot

MAX_NAME = LONGEST_NAME
SPARE = SPARE_WORDS


cdef inline int64_t find_name(
    const uint64_t[::1] slots,
    const uint64_t[::1] words,
    int64_t stride,
    const uint64_t[::1] name,
    int64_t n_words,
    uint64_t h,
    int64_t* code,
) noexcept nogil:
    """Return the slot of a name and put its code into ``code``; code -1: it may be put into that slot."""
    cdef int64_t mask = slots.shape[0] - 1
    cdef int64_t at = home_slot(slots.shape[0], h)
    cdef int64_t base, k
    cdef uint64_t top = h << 32
    cdef bint same
    while slots[at] != 0:
        if (slots[at] & 0xFFFFFFFF00000000u) == top:
            code[0] = <int64_t>(slots[at] & 0xFFFFFFFFu) - 1
            base = code[0] * stride
            same = n_words == stride or words[base + n_words] == 0
            for k in range(n_words):
                same &= words[base + k] == name[k]
            if same:
                return at
        at = (at + 1) & mask
    code[0] = -1
    return at


cdef inline void put_name(
    uint64_t[::1] slots,
    uint64_t[::1] words,
    int64_t stride,
    const uint64_t[::1] name,
    int64_t n_words,
    uint64_t h,
    int64_t code,
    int64_t slot,
) noexcept nogil:
    """Give a new name its code; the caller has made room."""
    cdef int64_t k
    slots[slot] = (h << 32) | <uint64_t>(code + 1)
    for k in range(stride):
        words[code * stride + k] = name[k] if k < n_words else 0


def find(slots, words, stride, name, n_words, h):
    """Return (code, slot) of a name of ``n_words`` words with hash ``h``; code -1: it may be put into that slot."""
    cdef int64_t code
    slot = find_name(slots, words, stride, name, n_words, h, &code)
    return code, slot


def put(slots, words, stride, name, n_words, h, code, slot):
    """Give a new name its code; the caller has made room."""
    put_name(slots, words, stride, name, n_words, h, code, slot)


def rehash(
    uint64_t[::1] slots, const uint64_t[::1] words, int64_t stride, uint64_t key, int64_t count
):
    """Put ``count`` names into empty slots."""
    cdef int64_t mask = slots.shape[0] - 1
    cdef int64_t code, n_words, at
    cdef uint64_t h
    with nogil:
        for code in range(count):
            n_words = 0
            while n_words < stride and words[code * stride + n_words] != 0:
                n_words += 1
            h = hash_name(&words[code * stride], n_words, key)
            at = home_slot(slots.shape[0], h)
            while slots[at] != 0:
                at = (at + 1) & mask
            slots[at] = (h << 32) | <uint64_t>(code + 1)


cdef int64_t pack_name(
    const uint8_t[::1] text, int64_t start, int64_t stop, uint64_t[::1] name
) noexcept nogil:
    """Write a name into words; return how many."""
    cdef int64_t n_words = (stop - start + 7) >> 3
    cdef int64_t k
    for k in range(n_words):
        name[k] = 0
    for k in range(stop - start):
        name[k >> 3] |= <uint64_t>text[start + k] << (8 * (7 - (k & 7)))
    return n_words


def intern_texts(
    const uint8_t[::1] text,
    const int64_t[::1] edges,
    int32_t[::1] codes,
    int64_t done,
    uint64_t[::1] slots,
    uint64_t[::1] words,
    int64_t stride,
    uint64_t key,
    int64_t count,
    uint64_t[::1] scratch,
):
    """Code names until all are done or room has to be made; return (done, count)."""
    cdef int64_t n_words, code, slot
    cdef uint64_t h
    with nogil:
        while done < codes.shape[0]:
            n_words = pack_name(text, edges[done], edges[done + 1], scratch)
            if (
                n_words > stride
                or (count + 1) * 2 >= slots.shape[0]
                or (count + 1) * stride + SPARE_WORDS > words.shape[0]
            ):
                break
            h = hash_name(&scratch[0], n_words, key)
            slot = find_name(slots, words, stride, scratch, n_words, h, &code)
            if code < 0:
                code = count
                put_name(slots, words, stride, scratch, n_words, h, code, slot)
                count += 1
            codes[done] = code
            done += 1
    return done, count


def copy_sorted(
    const uint64_t[::1] words, int64_t stride, const int32_t[::1] order, uint64_t[:, ::1] rows, int32_t[::1] codes
):
    """Copy names in their order to the rows of a matrix, and note the row of each code."""
    cdef int64_t i, k, code
    with nogil:
        for i in range(order.shape[0]):
            code = order[i]
            codes[code] = <int32_t>i
            for k in range(rows.shape[1]):
                rows[i, k] = words[code * stride + k] if k < stride else 0


def merge_sorted(
    const uint64_t[:, ::1] a,
    const uint64_t[:, ::1] b,
    uint64_t[:, ::1] rows,
    int32_t[::1] code_of_a,
    int32_t[::1] code_of_b,
):
    """Merge names in order, equal ones into one; note where each went and return how many there are."""
    cdef int64_t i = 0, j = 0, k, count = 0
    cdef int64_t stride = rows.shape[1]
    cdef bint from_a, from_b
    with nogil:
        while i < a.shape[0] or j < b.shape[0]:
            from_a, from_b = i < a.shape[0], j < b.shape[0]
            if from_a and from_b:
                k = 0
                while k < stride and a[i, k] == b[j, k]:
                    k += 1
                if k < stride:
                    from_a = a[i, k] < b[j, k]
                    from_b = not from_a
            for k in range(stride):
                rows[count, k] = a[i, k] if from_a else b[j, k]
            if from_a:
                code_of_a[i] = <int32_t>count
                i += 1
            if from_b:
                code_of_b[j] = <int32_t>count
                j += 1
            count += 1
    return count


cdef inline bint follows(
    const uint64_t[::1] words, int64_t stride, int64_t a, int64_t b, int64_t depth
) noexcept nogil:
    """Whether name a stands after name b, given that they agree in the first ``depth`` words."""
    cdef int64_t k
    for k in range(depth, stride):
        if words[a * stride + k] != words[b * stride + k]:
            return words[a * stride + k] > words[b * stride + k]
    return False


cdef struct Stretch:
    int64_t low
    int64_t high
    int64_t depth


cdef inline void swap(int32_t[::1] order, uint64_t[::1] keys, int64_t i, int64_t j) noexcept nogil:
    cdef int32_t code = order[i]
    cdef uint64_t key = keys[i]
    order[i], keys[i] = order[j], keys[j]
    order[j], keys[j] = code, key


def sort_names(const uint64_t[::1] words, int64_t stride, int32_t[::1] order, uint64_t[::1] keys):
    """Sort codes by their names: quicksort on one word, three ways, the equal part going on to the next word.

    Bentley & Sedgewick 1997, "Fast algorithms for sorting and searching strings", with words for characters. ``keys``
    is room for the words compared, which move with their codes: looked up in the table, each would be a wait.
    """
    cdef int64_t low, high, depth, i, j, less, more
    cdef int64_t n_stack = 1, room = 64
    cdef int32_t code
    cdef uint64_t key, pivot, a, b, c
    cdef bint full = False
    cdef Stretch* larger
    cdef Stretch* stack = <Stretch*>realloc(NULL, room * sizeof(Stretch))
    if stack is NULL:
        raise MemoryError
    with nogil:
        for i in range(order.shape[0]):
            keys[i] = words[order[i] * stride]
        stack[0] = Stretch(0, order.shape[0], 0)
        while n_stack > 0:
            n_stack -= 1
            low, high, depth = stack[n_stack].low, stack[n_stack].high, stack[n_stack].depth

            # short stretches by insertion
            if high - low < 16 or depth == stride:
                for i in range(low + 1, high):
                    code, key = order[i], keys[i]
                    j = i
                    while j > low and (
                        keys[j - 1] > key
                        or (keys[j - 1] == key and follows(words, stride, order[j - 1], code, depth + 1))
                    ):
                        order[j], keys[j] = order[j - 1], keys[j - 1]
                        j -= 1
                    order[j], keys[j] = code, key
                continue

            # three ways around the median of three
            a, b, c = keys[low], keys[(low + high) // 2], keys[high - 1]
            pivot = max(min(a, b), min(max(a, b), c))
            less, i, more = low, low, high
            while i < more:
                if keys[i] < pivot:
                    swap(order, keys, less, i)
                    less += 1
                    i += 1
                elif keys[i] > pivot:
                    more -= 1
                    swap(order, keys, more, i)
                else:
                    i += 1

            if n_stack + 3 > room:
                room *= 2
                larger = <Stretch*>realloc(stack, room * sizeof(Stretch))
                if larger is NULL:
                    full = True
                    break
                stack = larger
            stack[n_stack] = Stretch(low, less, depth)
            stack[n_stack + 1] = Stretch(more, high, depth)
            n_stack += 2
            # names that agree in their last word are equal
            if depth + 1 < stride:
                for i in range(less, more):
                    keys[i] = words[order[i] * stride + depth + 1]
                stack[n_stack] = Stretch(less, more, depth + 1)
                n_stack += 1
        free(stack)
    if full:
        raise MemoryError


def measure_names(const uint64_t[:, ::1] rows, int64_t[::1] starts):
    """Compute where each name begins if they are written one behind another, and where the last one ends."""
    cdef int64_t i, k
    cdef uint64_t word
    with nogil:
        for i in range(rows.shape[0]):
            k = rows.shape[1] - 1
            while k > 0 and rows[i, k] == 0:
                k -= 1
            word = rows[i, k]
            starts[i + 1] = starts[i] + (8 * (k + 1) - (trailing_zeros(word) >> 3) if word else 0)


def spell_names(const uint64_t[:, ::1] rows, const int64_t[::1] starts, uint8_t[::1] names):
    """Write all names one behind another."""
    cdef int64_t i, j
    with nogil:
        for i in range(rows.shape[0]):
            for j in range(starts[i + 1] - starts[i]):
                names[starts[i] + j] = <uint8_t>(rows[i, j >> 3] >> (8 * (7 - (j & 7))))
