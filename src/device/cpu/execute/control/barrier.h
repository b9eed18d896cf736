// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_CPU_BARRIER_H
#define CJ_CPU_BARRIER_H

#include "machine.h"

// Lanes have exited: barriers that waited for them may complete.
void cj__cpu_barriers_leave(cj_cpu_warp *w, uint32_t mask);

#endif
