/* Loops over systems and pairs under sign flips of topics: plain C that compilers turn into vector instructions. */
#ifndef SHARDWISE_FLIPS_H
#define SHARDWISE_FLIPS_H

#include "clones.h"

/* sums[a] += sign * row[a]. */
CLONED static void add_row(int64_t *restrict sums, const int64_t *restrict row, int64_t sign, int64_t count) {
    if (sign > 0)
        for (int64_t a = 0; a < count; a++)
            sums[a] += row[a];
    else
        for (int64_t a = 0; a < count; a++)
            sums[a] -= row[a];
}

CLONED static void add_scores(double *restrict sums, const double *restrict row, double sign, int64_t count) {
    for (int64_t a = 0; a < count; a++)
        sums[a] += sign * row[a];
}

/* counts[b] += |one - sums[b]| >= target[b]. */
CLONED static void count_reached(int64_t one, const int64_t *restrict sums, const int64_t *restrict target,
                                 int64_t *restrict counts, int64_t count) {
    for (int64_t b = 0; b < count; b++) {
        const int64_t gap = one - sums[b];
        counts[b] += (gap < 0 ? -gap : gap) >= target[b];
    }
}

/* Count, pair by pair, the samples with |t*| >= |t|, from means and mean squares of the samples. */
CLONED static void count_as_large(const double *restrict mean, const double *restrict square,
                                  const double *restrict shift, const double *restrict squared_t, double df,
                                  int64_t *restrict found, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        const double spread = square[k] - mean[k] * mean[k];
        const double variance = (spread > 0.0 ? spread : 0.0) / df;
        const double away = mean[k] - shift[k];
        found[k] += away * away >= squared_t[k] * variance;
    }
}

#endif
