/* The two inner loops over a pool of residuals, each once for all that calls it. */
#ifndef SHARDWISE_POOL_H
#define SHARDWISE_POOL_H

#include "clones.h"

#define LANES 8

/* T_k+1 = 2 x T_k - T_k-1 in place; return the sum of T_k, in eight sums that are added up at the end.
 * count is a multiple of eight. */
CLONED static double step_chebyshev(const double *restrict x, double *restrict before, double *restrict now,
                                    int64_t count) {
    double sums[LANES] = {0.0};
    for (int64_t i = 0; i < count; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            const double value = now[i + lane];
            sums[lane] += value;
            now[i + lane] = 2.0 * x[i + lane] * value - before[i + lane];
            before[i + lane] = value;
        }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* Sum of count values of a pool of that size, drawn at random; each word gives two, in sums of their own.
 * The generator is that of shardwise/stats/resampling.pxd. */
static inline double sum_draws(const double *restrict pool, uint64_t size, int64_t count, uint64_t *state) {
    uint64_t at = *state;
    double one = 0.0, other = 0.0;
    for (int64_t k = 0; k < count; k += 2) {
        at += 0x9E3779B97F4A7C15u;
        uint64_t word = at;
        word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
        word ^= word >> 31;
        one += pool[((word >> 32) * size) >> 32];
        if (k + 1 < count)
            other += pool[((word & 0xFFFFFFFFu) * size) >> 32];
    }
    *state = at;
    return one + other;
}

#endif
