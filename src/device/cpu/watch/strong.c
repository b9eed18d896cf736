// SPDX-License-Identifier: Apache-2.0
#include "strong.h"

#include "learn.h"

static cj_scope distance(const cj_cpu_launch *launch, uint32_t a, uint32_t b) {
    const uint32_t one = a / launch->ranks, other = b / launch->ranks;
    if (one == other) return a == b ? CJ_SCOPE_CTA : CJ_SCOPE_CLUSTER;
    return cj__cpu_gpu(launch, one) == cj__cpu_gpu(launch, other) ? CJ_SCOPE_GPU : CJ_SCOPE_SYS;
}

// The lane has read the location: it acquires what was released there, as far as both scopes reach.
static void acquire_at(cj_cpu_warp *w, unsigned lane, const cj_location *location, cj_watch_order order) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    for (unsigned i = 0; i < CJ_SCOPES; i++) {
        const cj_released *released = &location->released[i];
        cj_scope           needed = distance(launch, released->block, cj__watch_index(w->block));
        if (needed < released->spread) needed = released->spread;
        if (!released->clock || cj__watch_slot(needed) > i || cj__watch_slot(needed) > cj__watch_slot(order.use.scope))
            continue;
        if (order.acquire)
            cj__watch_learn(w->watch, 1u << lane, released->clock, cj__clock_join);
        else
            cj__clock_join(&w->watch->pending[lane][cj__watch_slot(needed)], released->clock);
    }
}

// The clock released at the location with this scope, to which this block now adds.
static cj_clock **open_released(const cj_cpu_warp *w, cj_location *location, unsigned scope) {
    cj_released   *released = &location->released[scope];
    const uint32_t self = cj__watch_index(w->block);
    if (!released->clock) *released = (cj_released){.block = self};
    const cj_scope far = distance(w->block->cluster->launch, released->block, self);
    if (far > released->spread && far > CJ_SCOPE_CTA) released->spread = far;
    return &released->clock;
}

// The lane has written the location: it releases all it knows, or what its last fences released, as far as both scopes
// reach.
static void release_at(cj_cpu_warp *w, unsigned lane, cj_location *location, cj_watch_order order) {
    const unsigned scope = cj__watch_slot(order.use.scope);
    if (order.release) {
        cj__watch_give(w, 1u << lane, open_released(w, location, scope));
        return;
    }
    for (unsigned i = 0; i < CJ_SCOPES; i++) {
        if (!w->watch->fenced[lane][i].time) continue;
        cj__watch_give_fenced(w, lane, i, open_released(w, location, i < scope ? i : scope));
    }
}

static bool releases(const cj_cpu_warp *w, unsigned lane, cj_watch_order order) {
    bool is_fenced = order.release;
    for (unsigned i = 0; i < CJ_SCOPES && !is_fenced; i++) is_fenced = w->watch->fenced[lane][i].time;
    return is_fenced;
}

void cj__watch_order_strong(cj_cpu_warp *w, unsigned lane, cj_shadow *shadow, uint64_t offset, uint64_t bytes,
                            cj_watch_order order, bool reads, bool writes) {
    cj_location *location = cj__shadow_location(shadow, offset, false);
    if (reads && location) acquire_at(w, lane, location, order);
    if (!writes) return;
    if (!reads) cj__shadow_forget(shadow, offset, bytes);
    if (!releases(w, lane, order)) return;
    if (!location) location = cj__shadow_location(shadow, offset, true);
    if (location) release_at(w, lane, location, order);
}

bool cj__watch_is_ordering(const cj_cpu_warp *w, uint32_t lanes, const cj_shadow *shadow, cj_watch_order order) {
    bool is_ordering = cj__shadow_has_locations(shadow);
    for (uint32_t rest = lanes; rest && !is_ordering; rest &= rest - 1)
        is_ordering = releases(w, (unsigned)__builtin_ctz(rest), order);
    return is_ordering;
}

void cj__watch_atomic(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, bool wrote) {
    if (!w->watch || !(w->watch->ordering >> lane & 1)) return;
    const cj_cpu_launch  *launch = w->block->cluster->launch;
    const cj_watch_atomic at = w->watch->atomic[lane];
    const cj_watch_order  order = launch->watch->order[op - launch->program->op];
    if (!cj__watch_is_ordering(w, 1u << lane, at.shadow, order)) return;
    cj__watch_order_strong(w, lane, at.shadow, at.offset, op->bytes, order, true, wrote);
}
