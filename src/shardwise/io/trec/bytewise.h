/* Eight and 64 bytes at a time: what a parser of bytes needs and Cython lacks.
 *
 * A word holds eight bytes, the first one lowest, on every machine. load8 reads eight bytes from a place on and
 * look 64, so that much must be readable behind the text (PADDING in io/files.py). SHARDWISE_PORTABLE leaves out
 * what only some machines have; builds that check indexes use it, so that tests reach both.
 */
#ifndef SHARDWISE_BYTEWISE_H
#define SHARDWISE_BYTEWISE_H

#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#include <intrin.h>
#include <stdlib.h>
#endif
#if (defined(__SSE2__) || defined(_M_X64)) && !defined(SHARDWISE_PORTABLE)
#include <emmintrin.h>
#define SHARDWISE_SSE2 1
#endif

static inline uint64_t reversed_bytes(uint64_t word) {
#if defined(_MSC_VER)
    return _byteswap_uint64(word);
#else
    return __builtin_bswap64(word);
#endif
}

static inline uint64_t load8(const unsigned char *place) {
    uint64_t word;
    memcpy(&word, place, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = reversed_bytes(word);
#endif
    return word;
}

/* Zero bits below the lowest one of a word that is not zero. */
static inline int64_t trailing_zeros(uint64_t word) {
#if defined(_MSC_VER)
    unsigned long index;
    _BitScanForward64(&index, word);
    return index;
#else
    return __builtin_ctzll(word);
#endif
}

/* Zero bits above the highest one of a word that is not zero. */
static inline int64_t leading_zeros(uint64_t word) {
#if defined(_MSC_VER)
    unsigned long index;
    _BitScanReverse64(&index, word);
    return 63 - (int64_t)index;
#else
    return __builtin_clzll(word);
#endif
}

/* Low word of a 64 x 64-bit product; the high one goes to *high. */
static inline uint64_t product(uint64_t a, uint64_t b, uint64_t *high) {
#if defined(__SIZEOF_INT128__) && !defined(SHARDWISE_PORTABLE)
    unsigned __int128 whole = (unsigned __int128)a * b;
    *high = (uint64_t)(whole >> 64);
    return (uint64_t)whole;
#elif defined(_M_X64) && !defined(SHARDWISE_PORTABLE)
    return _umul128(a, b, high);
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
    *high = a1 * b1 + (middle >> 32) + (other >> 32);
    return (other << 32) | (uint32_t)low;
#endif
}

/* Ask for memory to be brought near, without waiting for it. The place need not be valid. */
static inline void prefetch(const void *place) {
#if defined(_MSC_VER)
#if defined(_M_X64)
    _mm_prefetch((const char *)place, _MM_HINT_T0);
#endif
#else
    __builtin_prefetch(place, 0, 3);
#endif
}

static inline double double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

/* Compare 64 bytes at once: which are below 33, which a space or tab, which a point. Bit i stands for byte i. */
typedef struct {
    uint64_t blank, gap, point;
} Look;

#if defined(SHARDWISE_SSE2)
static inline Look look(const unsigned char *place) {
    const __m128i last = _mm_set1_epi8(32), tab = _mm_set1_epi8(9), dot = _mm_set1_epi8(46);
    Look seen = {0, 0, 0};
    for (int part = 0; part < 4; part++) {
        __m128i text = _mm_loadu_si128((const __m128i *)(place + 16 * part));
        __m128i space = _mm_cmpeq_epi8(text, last);
        uint64_t blank = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(text, last), text));
        uint64_t gap = (unsigned)_mm_movemask_epi8(_mm_or_si128(space, _mm_cmpeq_epi8(text, tab)));
        uint64_t point = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, dot));
        seen.blank |= blank << (16 * part);
        seen.gap |= gap << (16 * part);
        seen.point |= point << (16 * part);
    }
    return seen;
}
#else
#define EVERY_BYTE 0x0101010101010101u
#define TOP_BITS 0x8080808080808080u

/* The top bits of eight bytes, gathered into eight neighbouring bits. */
static inline uint64_t gather_tops(uint64_t word) {
    return ((word >> 7) * 0x0102040810204080u) >> 56;
}

static inline uint64_t equal_bytes(uint64_t word, unsigned char byte) {
    uint64_t differ = word ^ (EVERY_BYTE * byte);
    return ~(((differ & ~TOP_BITS) + ~TOP_BITS) | differ) & TOP_BITS;
}

static inline Look look(const unsigned char *place) {
    Look seen = {0, 0, 0};
    for (int part = 0; part < 8; part++) {
        uint64_t word = load8(place + 8 * part);
        uint64_t blank = ~(((word & ~TOP_BITS) + EVERY_BYTE * (128 - 33)) | word) & TOP_BITS;
        uint64_t gap = equal_bytes(word, 32) | equal_bytes(word, 9);
        seen.blank |= gather_tops(blank) << (8 * part);
        seen.gap |= gather_tops(gap) << (8 * part);
        seen.point |= gather_tops(equal_bytes(word, 46)) << (8 * part);
    }
    return seen;
}
#endif

#endif
