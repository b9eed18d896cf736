// SPDX-License-Identifier: Apache-2.0
// Beginning and end: of launches, clusters and threads.
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"
#include "lanes.h"
#include "learn.h"
#include "report.h"
#include "spare.h"
#include "state.h"
#include "undefined.h"

cj_status cj__watch_open(cj_cpu_launch *launch, cj_error *error) {
    const cj_cpu_program *program = launch->program;
    cj_watch             *watch = cj__calloc(1, sizeof *watch);
    launch->watch = watch;
    cj__watch_starved = false;
    if (watch) {
        watch->order = cj__watch_orders(program);
        watch->global = cj__calloc(launch->ranges->count + 1, sizeof(cj_shadow *));
        cj__watch_open_locks(watch, launch->options.threads > 1);
        for (size_t i = 0; i < launch->ranges->count; i++)
            if (launch->ranges->range[i].heap) cj__cpu_written_itemize(&launch->ranges->range[i]);
    }
    if (!watch || !watch->order || !watch->global) {
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to watch %s", program->entry->name);
    }
    return CJ_OK;
}

void cj__watch_close(cj_cpu_launch *launch) {
    cj_watch *watch = launch->watch;
    if (!watch) return;
    cj__watch_close_locks(watch);
    for (size_t i = 0; watch->global && i < launch->ranges->count; i++) {
        if (watch->global[i]) cj__shadow_settle(watch->global[i]);
        cj__shadow_free(watch->global[i]);
    }
    cj__free(watch->global);
    cj__free(watch->order);
    cj__free(watch);
    cj__spare_free();
    launch->watch = NULL;
}

// ---- clusters

bool cj__watch_attach(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    for (uint32_t i = 0; launch->watch && i < launch->ranks; i++) {
        cj_cpu_block   *block = &cluster->block[i];
        cj_watch_block *watch = cj__calloc(1, sizeof *watch + launch->warps * sizeof *watch->warp);
        if (!watch) return false;
        block->watch = watch;
        watch->shared = cj__shadow_new(launch->reserved_end, NULL);
        if (!watch->shared) return false;
        cj__shadow_initialize(watch->shared, launch->reserved_begin);
    }
    return true;
}

// The lanes, which exit or whose launch has ended, give up their clocks.
static void drop_lanes(cj_watch_warp *watch, uint32_t lanes) {
    for (uint32_t rest = lanes, same; rest; rest &= ~same) {
        same = cj__watch_alike(watch, rest);
        cj__clock_drop_many(watch->now[cj__cpu_first(rest)], (uint32_t)__builtin_popcount(same));
    }
    CJ_SOME_LANES(lane, lanes) {
        watch->now[lane] = NULL;
        for (unsigned i = 0; i < CJ_SCOPES; i++) {
            if (watch->pending[lane][i]) cj__clock_drop(watch->pending[lane][i]);
            if (watch->fenced[lane][i].clock) cj__clock_drop(watch->fenced[lane][i].clock);
            watch->pending[lane][i] = watch->fenced[lane][i].clock = NULL;
        }
    }
    watch->held &= ~lanes;
}

static void reset_block(cj_cpu_block *block) {
    cj_watch_block *watch = block->watch;
    for (uint32_t i = 0; i < block->cluster->launch->warps; i++) {
        drop_lanes(&watch->warp[i], watch->warp[i].held);
        cj__watch_forget_told(&watch->warp[i]);
    }
    for (unsigned i = 0; i < CJ_BARRIERS; i++) cj__sync_free(&block->barrier[i].sync);
    if (watch->shared) cj__shadow_clear(watch->shared);
    cj__clock_drop(watch->exits);
    watch->exits = NULL;
    cj__joins_free(&watch->joins);
    watch->remote = false;
    cj__free(watch->chain);
    watch->chain = NULL;
    watch->chain_count = watch->chain_capacity = 0;
    memset(watch->running, 0, sizeof watch->running);
    memset(watch->before, 0, sizeof watch->before);
}

void cj__watch_start(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    for (uint32_t i = 0; launch->watch && i < launch->ranks; i++) {
        cj_cpu_block *block = &cluster->block[i];
        reset_block(block);
        for (uint32_t k = 0; k < launch->warps; k++) {
            block->warp[k].watch = &block->watch->warp[k];
            *block->warp[k].watch = (cj_watch_warp){
                .time = 1, .whole = block->warp[k].live, .held = block->warp[k].live};
        }
        cj__undefined_start(block);
    }
    cj__sync_free(&cluster->sync);
}

void cj__watch_detach(cj_cpu_cluster *cluster) {
    for (uint32_t i = 0; i < cluster->launch->ranks; i++) {
        cj_cpu_block *block = &cluster->block[i];
        if (!block->watch) continue;
        reset_block(block);
        cj__shadow_free(block->watch->shared);
        cj__free(block->watch);
    }
    cj__sync_free(&cluster->sync);
}

// ---- exits

// A block that has exited, and the last recorded access to it that one of its threads knew.
typedef struct exited {
    cj_cpu_block *block;
    cj_access     known;
} exited;

// Checks a recorded access to a block that has exited: one of its threads must have known of the access when it exited.
static void check_exit(void *user, const cj_access *access, uint64_t offset, uint64_t bytes) {
    exited         *it = user;
    cj_cpu_block   *block = it->block;
    const cj_clock *exits = block->watch->exits;
    if (access->block == it->known.block && access->group == it->known.group && access->mask == it->known.mask &&
        access->time == it->known.time)
        return;
    cj_access       late = *access;
    const cj_agents agents = {.block = access->block, .group = access->group, .mask = access->mask};
    late.mask = cj__clock_unknown(exits, CJ_VIEW_MEMORY, &agents, access->time);
    if (!late.mask) it->known = *access;
    if (!late.mask) return;
    const bool executed = !cj__clock_unknown(exits, CJ_VIEW_PROGRESS, &agents, access->time);
    cj__cpu_peer(block->cluster, executed ? CJ_HAZARD_RELAXED_ARRIVE : CJ_HAZARD_PEER_EXITED, &late,
                 (cj_watch_place){block, offset, bytes});
}

void cj__watch_exit(cj_cpu_warp *w, uint32_t mask) {
    cj_watch_block *watch = w->block->watch;
    if (!watch) return;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const unsigned  i = cj__cpu_first(rest);
        const cj_clock *next = rest & (rest - 1) ? w->watch->now[cj__cpu_first(rest & (rest - 1))] : NULL;
        if (w->watch->now[i] != next) cj__clock_join(&watch->exits, w->watch->now[i]);
    }
    drop_lanes(w->watch, mask);
    if (!w->block->live && watch->remote)
        cj__shadow_visit(watch->shared, cj__watch_index(w->block), check_exit, &(exited){.block = w->block});
}
