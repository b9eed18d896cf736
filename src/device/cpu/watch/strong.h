// SPDX-License-Identifier: Apache-2.0
// Atomics and strong accesses: what is released and acquired at a location.
#ifndef CJ_CPU_WATCH_STRONG_H
#define CJ_CPU_WATCH_STRONG_H

#include "state.h"

// A lane accesses a location by a strong load or store, or by an atomic.
void cj__watch_order_strong(cj_cpu_warp *w, unsigned lane, cj_shadow *shadow, uint64_t offset, uint64_t bytes,
                            cj_watch_order order, bool reads, bool writes);
// Whether an atomic of these lanes in this memory may release or acquire anything.
bool cj__watch_is_ordering(const cj_cpu_warp *w, uint32_t lanes, const cj_shadow *shadow, cj_watch_order order);

#endif
