/* Loops over the draws of a block, many at a time: plain C that compilers turn into vector instructions. */
#ifndef SHARDWISE_LANES_H
#define SHARDWISE_LANES_H

#include "clones.h"

/* draws of a block: enough to pay for the calls, few enough for the second-level cache */
#define BLOCK 256
/* topics that a pair's spread is bounded by */
#define LARGEST 8
/* share by which bounds in single precision give way, several times their rounding: 2^-20 */
#define SINGLE 9.5367431640625e-07

/* one[i] = sum over t of first[t] * weights[t, i], and the same for the second row, as fast as a product of BLAS. */
CLONED static void weigh(const double *restrict first, const double *restrict second, int64_t units,
                         const float *restrict weights, double *restrict one, double *restrict other) {
    for (int i = 0; i < BLOCK; i++) {
        one[i] = 0.0;
        other[i] = 0.0;
    }
    int64_t t = 0;
    for (; t + 4 <= units; t += 4) {
        const double a0 = first[t], a1 = first[t + 1], a2 = first[t + 2], a3 = first[t + 3];
        const double b0 = second[t], b1 = second[t + 1], b2 = second[t + 2], b3 = second[t + 3];
        const float *restrict w0 = weights + t * BLOCK;
        const float *restrict w1 = w0 + BLOCK;
        const float *restrict w2 = w1 + BLOCK;
        const float *restrict w3 = w2 + BLOCK;
        for (int i = 0; i < BLOCK; i++) {
            const double x0 = w0[i], x1 = w1[i], x2 = w2[i], x3 = w3[i];
            one[i] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3;
            other[i] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3;
        }
    }
    for (; t < units; t++) {
        const double a = first[t], b = second[t];
        const float *restrict w = weights + t * BLOCK;
        for (int i = 0; i < BLOCK; i++) {
            one[i] += a * w[i];
            other[i] += b * w[i];
        }
    }
}

/* Sum over t of values[t] * counts[t], in eight sums that are added up at the end. */
CLONED static double weigh_one(const double *restrict values, const float *restrict counts, int64_t units) {
    double sums[8] = {0.0};
    int64_t t = 0;
    for (; t + 8 <= units; t += 8)
        for (int lane = 0; lane < 8; lane++)
            sums[lane] += values[t + lane] * (double)counts[t + lane];
    for (int lane = 0; t < units; t++, lane++)
        sums[lane] += values[t] * (double)counts[t];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* Upper bounds of the squared difference of two means. */
CLONED static void bound_gaps(const float *restrict one, const float *restrict other, float slack,
                              float *restrict gap) {
    for (int i = 0; i < BLOCK; i++) {
        const float wide = fabsf(one[i] - other[i]) + slack;
        gap[i] = wide * wide;
    }
}

/* Lower bounds of a pair's variance, from the topics on which it differs most. */
CLONED static void bound_variances(const int32_t *restrict topics, const float *restrict squares,
                                   const float *restrict weights, const float *restrict gap,
                                   const float *restrict common, float part, float *restrict least) {
    const float less = (float)(1.0 - SINGLE);
    const float *restrict w0 = weights + (int64_t)topics[0] * BLOCK;
    const float *restrict w1 = weights + (int64_t)topics[1] * BLOCK;
    const float *restrict w2 = weights + (int64_t)topics[2] * BLOCK;
    const float *restrict w3 = weights + (int64_t)topics[3] * BLOCK;
    for (int i = 0; i < BLOCK; i++)
        least[i] = squares[0] * w0[i] + squares[1] * w1[i] + squares[2] * w2[i] + squares[3] * w3[i];
    w0 = weights + (int64_t)topics[4] * BLOCK;
    w1 = weights + (int64_t)topics[5] * BLOCK;
    w2 = weights + (int64_t)topics[6] * BLOCK;
    w3 = weights + (int64_t)topics[7] * BLOCK;
    for (int i = 0; i < BLOCK; i++) {
        const float sum = least[i] + (squares[4] * w0[i] + squares[5] * w1[i] + squares[6] * w2[i] + squares[7] * w3[i]);
        const float own = less * sum - part * gap[i];
        least[i] = less * ((own > 0.0f ? own : 0.0f) + common[i]);
    }
}

/* The same with the variances of chance effects added. */
CLONED static void add_variances(const float *restrict one, const float *restrict other, float *restrict least) {
    const float less = (float)(1.0 - SINGLE);
    for (int i = 0; i < BLOCK; i++)
        least[i] += less * (one[i] + other[i]);
}

/* Mark the draws whose t² may be the largest so far; NaN, which is ∞ times 0, is marked. */
CLONED static void mark_largest(const float *restrict gap, const float *restrict least,
                                const float *restrict largest, uint8_t *restrict seen) {
    for (int i = 0; i < BLOCK; i++)
        seen[i] = !(gap[i] <= largest[i] * least[i]);
}

#endif
