/* CLONED before a function: on Linux with GNU's C library it is compiled twice, also for processors with AVX2, and the
 * loader takes the one that runs. Nothing is fused or added up in another order by either, so that results are the same
 * bit for bit. SHARDWISE_PORTABLE leaves the second one out. */
#ifndef SHARDWISE_CLONES_H
#define SHARDWISE_CLONES_H

#include <math.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && !defined(SHARDWISE_PORTABLE) && \
    defined(__has_attribute)
#if __has_attribute(target_clones)
#define CLONED __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef CLONED
#define CLONED
#endif
#if defined(_MSC_VER)
#define restrict __restrict
#endif

#endif
