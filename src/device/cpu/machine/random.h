// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_CPU_RANDOM_H
#define CJ_CPU_RANDOM_H

#include "machine.h"

// The next number of a cluster's random sequence. The CPU device draws every random number here.
uint64_t cj__cpu_random(cj_cpu_cluster *cluster);

#endif
