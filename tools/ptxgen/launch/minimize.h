// SPDX-License-Identifier: Apache-2.0
// The smallest launch that still shows a hazard: the same rule at the same lines.
#ifndef PTXGEN_MINIMIZE_H
#define PTXGEN_MINIMIZE_H

#include "lane.h"

typedef struct minimize {
    const document *ptx;
    const char     *entry;
    cj_entry_info   info;             // of the entry
    launch_options  launch;           // that shows the hazard; then the smallest one
    machine_options machine;          // its schedule
    uint64_t  first_seed, last_seed;  // that are tried for each size, beside the schedules `machine`, fixed and late
    cj_hazard hazard;
    unsigned  trials;  // launches that were tried
} minimize;

#define MINIMIZE_OPTION(number)                                                                           \
    {                                                                                                     \
        .name = "minimize", .key = number, .group = ARGS_CPU,                                             \
        .doc =                                                                                            \
            "Shrink grid, cluster and block as far as the first hazard stays: the same rule at the same " \
            "lines, under some schedule; show the smallest launch as a command"                           \
    }

enum { MINIMIZE_PASSES = 4, MINIMIZE_SEEDS = 8 };  // over all numbers; seeds of a size, unless --schedule gives a range

// Shrinks a number, `least` at least: to the least power of two with which the failure stays, then, between that and half of it,
// by bisection. `stays` looks at *number. Returns whether it became smaller.
bool minimize_number(uint64_t *number, uint64_t least, bool (*stays)(void *user), void *user);

// Instructions that the whole launch executes bound those of smaller ones: a kernel may wait for blocks that are gone.
static inline uint64_t minimize_limit(const cj_cpu_stats *whole) {
    enum { SLACK = 4 };
    return SLACK * whole->thread_instructions + 1000000;
}

// Shrinks the clusters of the grid, the cluster and the block, each where the kernel's directives leave it free. The same input
// gives the same result. Returns whether it became smaller.
bool minimize_run(minimize *m);

// A note with the command that launches it.
void minimize_note(const minimize *m, bool smaller, const char *text);

// The device's hazard that is the same: rule and lines; NULL: there is none.
const cj_hazard *minimize_find(const cj_hazard *hazard, const cj_device *device);

#endif
