/* One step of Chebyshev's recurrence over a block, with the sum of what it leaves behind. */
#ifndef SHARDWISE_CHEBYSHEV_H
#define SHARDWISE_CHEBYSHEV_H

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

#endif
