// SPDX-License-Identifier: Apache-2.0
// The schedule of one cluster: lanes of a warp, warps of a cluster. machine.h describes the scheme; grid.c runs the
// clusters.
#include "run.h"

#include <string.h>

#include "async.h"
#include "delay.h"
#include "group.h"
#include "lanes.h"
#include "picture.h"
#include "printout.h"
#include "random.h"
#include "special.h"
#include "stats.h"
#include "undefined.h"
#include "watch.h"

enum { PATIENCE = 16 };  // turns that the group with the smallest pc may use up while others are ready

// ---- lanes of a warp

// Executes the running group until it ends, waits, reaches another group's pc, or has used up the quantum. Returns the
// number of ops executed; a wait counts as none, and lanes that wait do not count.
static uint32_t run_group(cj_cpu_warp *w, const cj_cpu_op *code) {
    cj_cpu_counts *counts = w->block->cluster->counts;
    const uint32_t budget = w->budget;
    uint32_t       waits = 0;
    uint64_t       threads = 0;
    do {
        const uint32_t   pc = w->pc;
        const cj_cpu_op *op = &code[pc];
        const uint32_t   mask = w->active & (*(const uint32_t *)(const void *)(w->file + op->guard) ^ op->guard_flip);
        if (w->undefined && !cj__undefined_step(w, op, mask)) return 0;
        const cj_cpu_step step = mask ? op->run(w, op, mask) : CJ_STEP_NEXT;
        if (w->block->cluster->locked) cj__watch_unlock(w->block->cluster);
        const uint32_t waiting = step == CJ_STEP_WAIT ? w->waiting : 0;
        const uint32_t executed = mask & ~waiting;
        const uint32_t lanes = executed == CJ_ALL_LANES ? CJ_LANES : cj__cpu_count(executed);
        threads += lanes;
        if (counts && !waiting) {
            counts->op[pc].threads += lanes;
            counts->op[pc].warps++;
        }
        w->budget--;
        if (step == CJ_STEP_NEXT) {
            w->pc++;
        } else if (step == CJ_STEP_WAIT) {
            waits++;
            cj__group_put(w, w->pc, waiting, true);
            w->active &= ~waiting;
            w->pc++;
            w->stop = cj__group_stop(w);
        } else if (step == CJ_STEP_STOP) {
            return 0;
        }
    } while (w->active && w->budget && w->pc < w->stop);
    w->block->cluster->instructions += threads;
    return budget - w->budget - waits;
}

// Gives a warp one turn, in which waiting lanes try again. False if all of its lanes still wait.
static bool run_warp(cj_cpu_warp *w, const cj_cpu_op *code, uint32_t quantum) {
    uint32_t done = 0;
    bool     oldest = w->spins >= PATIENCE;
    if (w->undefined) cj__undefined_settle(w);
    if (oldest) w->spins = 0;
    w->turn++;
    w->quantum = w->budget = quantum;
    for (uint32_t i = 0; i < w->group_count; i++) w->group[i].waits = false;

    for (cj_cpu_group *group; w->budget && (group = cj__group_choose(w, oldest)); oldest = false) {
        cj__group_take(w, group, oldest);
        done += run_group(w, code);
        if (w->block->cluster->status) return false;
        if (w->active) cj__group_put(w, w->pc, w->active, false);
    }
    w->spins = !w->budget && w->group_count > 1 ? w->spins + 1 : 0;
    return done || cj__group_choose(w, false);
}

// ---- warps of a cluster

static void start_warp(cj_cpu_warp *w, const cj_cpu_launch *launch) {
    const uint32_t first = w->index * CJ_LANES;
    const uint32_t lanes = launch->threads - first < CJ_LANES ? launch->threads - first : CJ_LANES;
    const uint32_t live = UINT32_MAX >> (CJ_LANES - lanes);
    *w = (cj_cpu_warp){.file = w->file,
                       .block = w->block,
                       .index = w->index,
                       .live = live,
                       .is_clean = w->is_clean && !w->undefined,
                       .group_count = 1};
    w->group[0].mask = live;
    memcpy(w->file, launch->program->image, launch->program->file_bytes);
    cj__cpu_special_fill(w);
}

static void start_block(cj_cpu_block *block, const cj_cpu_launch *launch) {
    block->position = cj__cpu_position(launch, block->cluster->index, block->rank);
    block->live = launch->threads;
    block->entered = false;
    for (unsigned i = 0; i < CJ_BARRIERS; i++) {
        cj__sync_free(&block->barrier[i].sync);
        block->barrier[i] = (cj_cpu_barrier){0};
    }
    memset(block->shared, CJ_POISON, launch->shared_bytes);
    memset(block->shared + launch->reserved_begin, 0, launch->reserved_end - launch->reserved_begin);
    memset(block->local, CJ_POISON, (size_t)launch->local_bytes * launch->threads);
    for (uint32_t i = 0; i < launch->warps; i++) start_warp(&block->warp[i], launch);
}

void cj__cpu_start(cj_cpu_cluster *cluster, uint64_t index) {
    const cj_cpu_launch *launch = cluster->launch;
    const cj_dim3        count = launch->clusters;
    cj__print_end(cluster);  // of the cluster that ran here before
    cluster->index = index;
    const uint64_t number = cj__cpu_in_grid(launch, index);
    cluster->position = (cj_dim3){(uint32_t)(number % count.x), (uint32_t)(number / count.x % count.y),
                                  (uint32_t)(number / count.x / count.y)};
    cluster->phase = cluster->arrived = 0;
    cluster->live = launch->threads * launch->ranks;
    cluster->clock = cluster->rounds = cluster->polls = 0;
    // Each cluster has a random sequence of its own, so that results do not depend on which host thread runs it, or
    // when.
    cluster->random = launch->options.seed;
    cluster->random = cj__cpu_random(cluster) ^ index;
    for (uint32_t i = 0; i < launch->ranks * launch->warps; i++) cluster->order[i] = (uint16_t)i;
    for (uint32_t i = 0; i < launch->ranks; i++) start_block(&cluster->block[i], launch);
    cj__delay_start(cluster);
    cj__cpu_async_start(cluster);  // first discards what the previous cluster in this memory has left
    cj__watch_start(cluster);
}

static void shuffle(cj_cpu_cluster *cluster, uint32_t count) {
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t other = (uint32_t)(cj__cpu_random(cluster) % i);
        const uint16_t warp = cluster->order[i - 1];
        cluster->order[i - 1] = cluster->order[other];
        cluster->order[other] = warp;
    }
}

// 1 to 256 ops. Short turns interleave warps finely; a rare long one lets a warp run far ahead.
static uint32_t draw_quantum(cj_cpu_cluster *cluster) { return 1u << cj__cpu_draw(cluster, 9); }

bool cj__cpu_take_turns(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    const bool           is_random = launch->options.random_schedule;
    const uint32_t       count = launch->ranks * launch->warps;
    bool                 is_alive = false;
    if (is_random) shuffle(cluster, count);
    cj__delay_round(cluster);
    for (uint32_t i = 0; i < count; i++) {
        cj_cpu_block *block = &cluster->block[cluster->order[i] / launch->warps];
        cj_cpu_warp  *w = &block->warp[cluster->order[i] % launch->warps];
        if (!w->live || cj__delay_sleeps(w)) continue;
        block->entered = true;
        is_alive |= run_warp(w, launch->program->op, is_random ? draw_quantum(cluster) : CJ_QUANTUM);
        if (cluster->status) return false;
        cluster->clock += w->quantum - w->budget;
    }
    is_alive = is_alive || cj__delay_wake(cluster);
    cluster->rounds++;
    if (!cluster->live)
        cj__cpu_async_finish(cluster);
    else if (!cj__cpu_async_round(cluster, !is_alive))
        cj__cpu_deadlock(cluster);
    return !cluster->status;
}
