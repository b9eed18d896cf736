// SPDX-License-Identifier: Apache-2.0
// Time for what waits for other processes.
#ifndef CJ_GPUS_CLOCK_H
#define CJ_GPUS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t cj__clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline void cj__clock_rest(void) { nanosleep(&(struct timespec){.tv_nsec = 200 * 1000}, NULL); }

#endif
