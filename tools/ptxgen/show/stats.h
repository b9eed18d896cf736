// SPDX-License-Identifier: Apache-2.0
// The CPU device's counters of a launch.
#ifndef PTXGEN_STATS_H
#define PTXGEN_STATS_H

#include <clusterjit/cpu.h>
#include <jansson.h>

void    stats_print(const cj_cpu_stats *s);  // a table on standard error
json_t *stats_json(const cj_cpu_stats *s);   // every figure, also 0

#endif
