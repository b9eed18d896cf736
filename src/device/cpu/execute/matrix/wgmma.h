// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_CPU_WGMMA_H
#define CJ_CPU_WGMMA_H

#include "prepare.h"

// From `begin` on, ops that name accumulators of a wgmma.mma_async report it while that is in flight.
bool cj__cpu_watch_accumulators(cj_cpu_prepare *p, size_t begin);
// Drops what the warp has in flight: the warp has exited, or its launch has ended.
void cj__cpu_wgmma_drop(cj_cpu_warp *w);

#endif
