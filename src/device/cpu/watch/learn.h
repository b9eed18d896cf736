// SPDX-License-Identifier: Apache-2.0
// How lanes acquire and release knowledge: the steps that releases, acquires, fences and forks consist of.
#ifndef CJ_CPU_WATCH_LEARN_H
#define CJ_CPU_WATCH_LEARN_H

#include "state.h"

// Of the lanes of `mask`, those that hold the same clock as the first.
uint32_t cj__watch_alike(const cj_watch_warp *watch, uint32_t mask);
// The lanes of `mask` learn what a clock knows, by `join`. Lanes that shared a clock share one afterwards.
void cj__watch_learn(cj_watch_warp *watch, uint32_t mask, const cj_clock *what,
                     void (*join)(cj_clock **, const cj_clock *));
// They learn what the completed phase of a sync object knows.
void cj__watch_learn_phase(const cj_cpu_warp *w, uint32_t mask, const cj_sync *sync);
// A `join` of the PROGRESS view alone.
void cj__watch_join_progress(cj_clock **into, const cj_clock *from);
// In a view, *into learns these lanes up to their times; of lanes with the time 0, nothing.
void cj__watch_add_times(const cj_cpu_warp *w, uint32_t mask, cj_clock **into, cj_view view, const uint32_t *times);
// Ends the warp's time step: what the warp does next is later than what it did.
void cj__watch_step(cj_watch_warp *watch);
// The time of these lanes' next accesses.
uint32_t cj__watch_time(cj_watch_warp *watch, uint32_t mask);
// *into learns all that these lanes know and did.
void cj__watch_tell(const cj_cpu_warp *w, uint32_t mask, cj_clock **into);
// The same, and what they do next is later.
void cj__watch_give(cj_cpu_warp *w, uint32_t mask, cj_clock **into);
// The same for the running phase of a sync object.
void cj__watch_give_sync(cj_cpu_warp *w, uint32_t mask, cj_sync *sync);
// *into learns what a lane's last releasing fence of this scope released.
void cj__watch_give_fenced(cj_cpu_warp *w, unsigned lane, unsigned scope, cj_clock **into);

#endif
