// SPDX-License-Identifier: Apache-2.0
#include "learn.h"

#include <string.h>

#include "lanes.h"

uint32_t cj__watch_alike(const cj_watch_warp *watch, uint32_t mask) {
    const cj_clock *now = watch->now[cj__cpu_first(mask)];
    uint32_t        same = 0;
    CJ_SOME_LANES(i, mask) same |= (uint32_t)(watch->now[i] == now) << i;
    return same;
}

// The lanes, which hold the same clock, hold this one from now on; takes over the reference.
static void take(cj_watch_warp *watch, uint32_t lanes, cj_clock *after) {
    cj_clock *const before = watch->now[cj__cpu_first(lanes)];
    if (before != after) {
        memset(watch->memo, 0, sizeof watch->memo);
        cj__clock_hold_many(after, (uint32_t)__builtin_popcount(lanes));
        CJ_SOME_LANES(i, lanes) watch->now[i] = after;
        cj__clock_drop_many(before, (uint32_t)__builtin_popcount(lanes));
    }
    cj__clock_drop(after);
}

// Lanes with the same clock are processed together, so that they share a clock afterwards, too.
void cj__watch_learn(cj_watch_warp *watch, uint32_t mask, const cj_clock *what,
                     void (*join)(cj_clock **, const cj_clock *)) {
    for (uint32_t rest = what ? mask : 0, same; rest; rest &= ~same) {
        cj_clock *after = cj__clock_hold(watch->now[cj__cpu_first(rest)]);
        same = cj__watch_alike(watch, rest);
        join(&after, what);
        take(watch, same, after);
    }
}

void cj__watch_learn_phase(const cj_cpu_warp *w, uint32_t mask, const cj_sync *sync) {
    cj_watch_warp *watch = w->watch;
    for (uint32_t rest = sync->complete ? mask : 0, same; rest; rest &= ~same) {
        cj_clock *after = cj__clock_hold(watch->now[cj__cpu_first(rest)]);
        same = cj__watch_alike(watch, rest);
        cj__sync_join(sync, &w->block->watch->joins, &after);
        take(watch, same, after);
    }
}

void cj__watch_join_progress(cj_clock **into, const cj_clock *from) {
    cj__clock_join_view(into, CJ_VIEW_PROGRESS, from, CJ_VIEW_PROGRESS);
    cj__clock_join_view(into, CJ_VIEW_PROGRESS, from, CJ_VIEW_MEMORY);
}

// In a view, *into learns these lanes up to their times; of lanes with the time 0, nothing.
void cj__watch_add_times(const cj_cpu_warp *w, uint32_t mask, cj_clock **into, cj_view view, const uint32_t *times) {
    for (uint32_t rest = mask, same; rest; rest &= ~same) {
        const uint32_t time = times[cj__cpu_first(rest)];
        same = 0;
        CJ_SOME_LANES(i, rest) {
            if (times[i] == time) same |= 1u << i;
        }
        if (time) cj__clock_add(into, view, cj__watch_agents(w, same), time);
    }
}

static void add_passed(const cj_cpu_warp *w, uint32_t mask, cj_clock **into) {
    for (unsigned k = 0; k < CJ_WATCH_PASSED; k++)
        cj__watch_add_times(w, mask, into, (cj_view)(CJ_VIEW_SHARED + k), w->watch->passed[k]);
}

void cj__watch_step(cj_watch_warp *watch) {
    watch->time++;
    watch->forked = 0;
}

// The time of these lanes' next accesses.
uint32_t cj__watch_time(cj_watch_warp *watch, uint32_t mask) {
    if (watch->forked & mask) cj__watch_step(watch);
    return watch->time;
}

static void tell_times(const cj_cpu_warp *w, uint32_t mask, cj_clock **into) {
    cj__clock_add(into, CJ_VIEW_MEMORY, cj__watch_agents(w, mask), w->watch->time);
    add_passed(w, mask, into);
}

// *into learns all that these lanes know and did.
void cj__watch_tell(const cj_cpu_warp *w, uint32_t mask, cj_clock **into) {
    const cj_clock *last = NULL;
    CJ_SOME_LANES(i, mask) {
        if (w->watch->now[i] == last) continue;
        last = w->watch->now[i];
        cj__clock_join(into, last);
    }
    tell_times(w, mask, into);
}

// The same; what they do next is later.
void cj__watch_give(cj_cpu_warp *w, uint32_t mask, cj_clock **into) {
    cj__watch_tell(w, mask, into);
    cj__watch_step(w->watch);
}

void cj__watch_give_sync(cj_cpu_warp *w, uint32_t mask, cj_sync *sync) {
    CJ_SOME_LANES(i, mask) cj__sync_gather(sync, w->watch->now[i]);
    tell_times(w, mask, &sync->gathering);
}

// *into learns what a lane's last releasing fence of this scope released.
void cj__watch_give_fenced(cj_cpu_warp *w, unsigned lane, unsigned scope, cj_clock **into) {
    const cj_watch_warp   *watch = w->watch;
    const cj_watch_fenced *before = &watch->fenced[lane][scope];
    const cj_agents        self = cj__watch_agents(w, 1u << lane);
    if (!before->time) return;
    cj__clock_join(into, before->clock);
    cj__clock_add(into, CJ_VIEW_MEMORY, self, before->time);
    for (unsigned k = 0; k < CJ_WATCH_PASSED; k++) {
        const uint32_t time = watch->passed[k][lane];
        if (time && time <= before->time) cj__clock_add(into, (cj_view)(CJ_VIEW_SHARED + k), self, time);
    }
}
