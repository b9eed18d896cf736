// SPDX-License-Identifier: Apache-2.0
// Sync objects, barriers and fences: their effects on clocks.
#include <string.h>

#include "lanes.h"
#include "learn.h"

void cj__sync_release(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order) {
    if (!w->watch) return;
    if (order == CJ_ORDER_FULL) {
        cj__watch_give_sync(w, mask, sync);
        return;
    }
    CJ_SOME_LANES(i, mask) {
        for (unsigned k = 0; k < CJ_SCOPES; k++) cj__watch_give_fenced(w, i, k, &sync->gathering);
    }
    for (uint32_t rest = mask; rest; rest &= ~cj__watch_alike(w->watch, rest))
        cj__watch_join_progress(&sync->gathering, w->watch->now[cj__cpu_first(rest)]);
    cj__watch_add_times(w, mask, &sync->gathering, CJ_VIEW_INIT, w->watch->passed[CJ_VIEW_INIT - CJ_VIEW_SHARED]);
    cj__clock_add(&sync->gathering, CJ_VIEW_PROGRESS, cj__watch_agents(w, mask), w->watch->time);
}

void cj__watch_released(cj_cpu_warp *w) {
    if (w->watch) cj__watch_step(w->watch);
}

void cj__sync_acquire(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order) {
    if (!w->watch) return;
    if (order == CJ_ORDER_FULL) {
        cj__watch_learn_phase(w, mask, sync);
        return;
    }
    cj__watch_learn(w->watch, mask, sync->complete, cj__watch_join_progress);
    CJ_SOME_LANES(i, mask) cj__clock_join(&w->watch->pending[i][cj__watch_slot(CJ_SCOPE_CLUSTER)], sync->complete);
}

void cj__watch_converge(cj_cpu_warp *w, uint32_t mask) {
    if (!w->watch) return;
    cj_clock *all = NULL;
    cj__watch_give(w, mask, &all);
    cj__watch_learn(w->watch, mask, all, cj__clock_join);
    cj__clock_drop(all);
}

bool cj__watch_gather(cj_cpu_warp *w, uint32_t lanes, uint32_t barrier) {
    if (!w->watch) return true;
    cj_watch_phase       *running = &w->block->watch->running[barrier];
    const cj_watch_phase *before = &w->block->watch->before[barrier];
    const cj_clock       *now = w->watch->now[cj__cpu_first(lanes)];
    if (!running->lanes[w->index]) running->time[w->index] = w->watch->time;
    running->lanes[w->index] |= lanes;
    for (uint32_t i = 0; i < w->block->cluster->launch->warps; i++) {
        const cj_agents agents = {.block = cj__watch_index(w->block),
                                  .group = (uint16_t)i,
                                  .mask = before->lanes[i] & ~(i == w->index ? lanes : 0)};
        if (agents.mask && cj__clock_unknown(now, CJ_VIEW_PROGRESS, &agents, before->time[i])) return false;
    }
    return true;
}

void cj__watch_barrier(cj_cpu_block *block, cj_cpu_barrier *barrier) {
    if (!block->watch) return;
    const size_t index = (size_t)(barrier - block->barrier);
    block->watch->before[index] = block->watch->running[index];
    memset(&block->watch->running[index], 0, sizeof *block->watch->running);
    for (uint32_t i = 0; i < block->cluster->launch->warps; i++) {
        if (barrier->waits[i])
            cj__watch_learn(block->warp[i].watch, barrier->waits[i], barrier->sync.gathering, cj__clock_join);
    }
    cj__sync_free(&barrier->sync);
}

// ---- fences

static void fence_acquire(cj_watch_warp *watch, unsigned lane, cj_scope scope) {
    for (unsigned i = 0; i <= cj__watch_slot(scope); i++) {
        cj_clock **read = &watch->pending[lane][i];
        cj__watch_learn(watch, 1u << lane, *read, cj__clock_join);
        cj__clock_drop(*read);
        *read = NULL;
    }
}

static void fence_release(cj_watch_warp *watch, unsigned lane, cj_scope scope) {
    cj_watch_fenced *last = watch->fenced[lane];
    for (unsigned i = 0; i <= cj__watch_slot(scope); i++) {
        cj__clock_drop(last[i].clock);
        last[i] = (cj_watch_fenced){0};
    }
    last[cj__watch_slot(scope)] = (cj_watch_fenced){cj__clock_hold(watch->now[lane]), watch->time};
}

static void join_shared(cj_clock **into, const cj_clock *from) {
    cj__clock_join_view(into, CJ_VIEW_SHARED, from, CJ_VIEW_MEMORY);
}

static void join_global(cj_clock **into, const cj_clock *from) {
    cj__clock_join_view(into, CJ_VIEW_GLOBAL, from, CJ_VIEW_MEMORY);
}

static void join_tensormap(cj_clock **into, const cj_clock *from) {
    cj__clock_join_view(into, CJ_VIEW_TENSORMAP, from, CJ_VIEW_MEMORY);
}

// The lanes execute a proxy fence: from now on this view, too, includes what they know and did.
static void fence_proxy(cj_watch_warp *watch, uint32_t mask, cj_view view) {
    static void (*const joins[])(cj_clock **, const cj_clock *) = {join_shared, join_global, join_tensormap};
    for (uint32_t rest = mask, same; rest; rest &= ~same) {
        cj_clock *now = cj__clock_hold(watch->now[cj__cpu_first(rest)]);
        same = cj__watch_alike(watch, rest);
        cj__watch_learn(watch, same, now, joins[view - CJ_VIEW_SHARED]);
        cj__clock_drop(now);
    }
    CJ_SOME_LANES(i, mask) watch->passed[view - CJ_VIEW_SHARED][i] = watch->time;
}

void cj__watch_fence(cj_cpu_warp *w, uint32_t mask, unsigned fences, cj_scope scope) {
    cj_watch_warp *watch = w->watch;
    if (!watch) return;
    CJ_SOME_LANES(i, mask) {
        if (fences & CJ_FENCE_ACQUIRE) fence_acquire(watch, i, scope);
    }
    if (fences & CJ_FENCE_PROXY_SHARED) fence_proxy(watch, mask, CJ_VIEW_SHARED);
    if (fences & CJ_FENCE_PROXY_GLOBAL) fence_proxy(watch, mask, CJ_VIEW_GLOBAL);
    if (fences & CJ_FENCE_TENSORMAP) fence_proxy(watch, mask, CJ_VIEW_TENSORMAP);
    CJ_SOME_LANES(i, mask) {
        if (fences & CJ_FENCE_INIT) watch->passed[CJ_VIEW_INIT - CJ_VIEW_SHARED][i] = watch->time;
        if (fences & CJ_FENCE_RELEASE) fence_release(watch, i, scope);
    }
    cj__watch_step(watch);
}
