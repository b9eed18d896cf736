// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_CPU_RANDOM_H
#define CJ_CPU_RANDOM_H

#include "machine.h"

// The next number of a sequence. The CPU device draws every random number here.
uint64_t cj__cpu_random_next(uint64_t *state);
// The next number of a cluster's sequence; a number below `below`; true once in so many calls.
uint64_t cj__cpu_random(cj_cpu_cluster *cluster);
uint64_t cj__cpu_draw(cj_cpu_cluster *cluster, uint64_t below);
bool     cj__cpu_once_in(cj_cpu_cluster *cluster, uint64_t calls);

#endif
