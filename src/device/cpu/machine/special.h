// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_CPU_SPECIAL_H
#define CJ_CPU_SPECIAL_H

#include "machine.h"

// Whether a special register keeps its value as long as a warp lives.
bool cj__cpu_special_fixed(cj_special special);
// Places the system's part of shared memory after the program's, if the program asks where it is. Cooperative groups synchronize
// tiles of several warps there, and rely on zeros.
void cj__cpu_reserve(cj_cpu_launch *launch);
// Fills in the program's fixed special registers.
void cj__cpu_special_fill(cj_cpu_warp *w);
// The executor of an op that reads a changing special register: op->mode names it, op->bytes is its width.
cj_cpu_step cj__cpu_read_special(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);
// Reads a special register for one lane.
uint64_t cj__cpu_special(const cj_cpu_warp *w, cj_special special, unsigned component, unsigned lane);

#endif
