// SPDX-License-Identifier: Apache-2.0
// The schedule: lanes of a warp, warps of a cluster, clusters of a grid. machine.h tells the idea.
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "machine.h"

enum {
    PATIENCE = 16,  // quanta that the foremost group may use up while others could run
    ALIGNMENT = 64  // of lane arrays and shared memory: a cache line
};

// ---- lanes of a warp

static uint32_t ready_stop(const cj_cpu_warp *w) {
    uint32_t stop = UINT32_MAX;
    for (uint32_t i = 0; i < w->group_count; i++) {
        if (!w->group[i].waits && w->group[i].pc < stop) stop = w->group[i].pc;
    }
    return stop;
}

// Puts lanes down at pc. Lanes that wait there already try again together with these.
static void put(cj_cpu_warp *w, uint32_t pc, uint32_t mask, bool waits) {
    for (uint32_t i = 0; i < w->group_count; i++) {
        cj_cpu_group *group = &w->group[i];
        if (group->pc != pc || group->waits != waits) continue;
        group->mask |= mask;
        group->waits = false;
        return;
    }
    w->group[w->group_count++] = (cj_cpu_group){.pc = pc, .mask = mask, .turn = w->turn, .waits = waits};
}

void cj__cpu_split(cj_cpu_warp *w, uint32_t pc, uint32_t mask) {
    put(w, pc, mask, false);
    w->active &= ~mask;
    if (pc < w->stop) w->stop = pc;
}

// The group to run next, or NULL: the one with the smallest pc, or the one that has not run for longest.
static cj_cpu_group *choose(cj_cpu_warp *w, bool oldest) {
    cj_cpu_group *chosen = NULL;
    for (uint32_t i = 0; i < w->group_count; i++) {
        cj_cpu_group *group = &w->group[i];
        if (group->waits) continue;
        if (!chosen || (oldest ? group->turn < chosen->turn : group->pc < chosen->pc)) chosen = group;
    }
    return chosen;
}

// Makes the chosen group, and all that are ready at its pc, the running one.
static void take(cj_cpu_warp *w, const cj_cpu_group *chosen, bool to_the_end) {
    w->pc = chosen->pc;
    w->active = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->group_count; i++) {
        const cj_cpu_group group = w->group[i];
        if (group.pc == w->pc && !group.waits)
            w->active |= group.mask;
        else
            w->group[kept++] = group;
    }
    w->group_count = kept;
    w->stop = to_the_end ? UINT32_MAX : ready_stop(w);
}

// Executes the running group until it ends, waits, reaches another group's pc, or has used up the quantum.
// Returns the number of ops done; a wait is none.
static uint32_t run_group(cj_cpu_warp *w, const cj_cpu_op *code) {
    const uint32_t budget = w->budget;
    uint32_t       waits = 0;
    do {
        const cj_cpu_op  *op = &code[w->pc];
        const uint32_t    mask = w->active & (*(const uint32_t *)(const void *)(w->file + op->guard) ^ op->guard_flip);
        const cj_cpu_step step = mask ? op->run(w, op, mask) : CJ_STEP_NEXT;
        w->budget--;
        if (step == CJ_STEP_NEXT) {
            w->pc++;
        } else if (step == CJ_STEP_WAIT) {
            waits++;
            put(w, w->pc, w->waiting, true);
            w->active &= ~w->waiting;
            w->pc++;
            w->stop = ready_stop(w);
        } else if (step == CJ_STEP_STOP) {
            return 0;
        }
    } while (w->active && w->budget && w->pc < w->stop);
    return budget - w->budget - waits;
}

// One turn of a warp; returns the number of ops done. What waits tries again.
static uint32_t run_warp(cj_cpu_warp *w, const cj_cpu_op *code) {
    uint32_t done = 0;
    bool     oldest = w->spins >= PATIENCE;
    if (oldest) w->spins = 0;
    w->turn++;
    w->budget = CJ_QUANTUM;
    for (uint32_t i = 0; i < w->group_count; i++) w->group[i].waits = false;

    for (cj_cpu_group *group; w->budget && (group = choose(w, oldest)); oldest = false) {
        take(w, group, oldest);
        done += run_group(w, code);
        if (w->block->cluster->status) return done;
        if (w->active) put(w, w->pc, w->active, false);
    }
    w->spins = !w->budget && w->group_count > 1 ? w->spins + 1 : 0;
    return done;
}

// ---- warps of a cluster

static void start_warp(cj_cpu_warp *w, const cj_cpu_launch *launch) {
    const uint32_t first = w->index * CJ_LANES;
    const uint32_t lanes = launch->threads - first < CJ_LANES ? launch->threads - first : CJ_LANES;
    const uint32_t live = UINT32_MAX >> (CJ_LANES - lanes);
    *w = (cj_cpu_warp){.file = w->file, .block = w->block, .index = w->index, .live = live, .group_count = 1};
    w->group[0].mask = live;
    memcpy(w->file, launch->program->image, launch->program->file_bytes);
    cj__cpu_special_fill(w);
}

static void start_block(cj_cpu_block *block, const cj_cpu_launch *launch) {
    const cj_dim3 size = launch->cluster, at = block->cluster->position;
    block->position = (cj_dim3){at.x * size.x + block->rank % size.x, at.y * size.y + block->rank / size.x % size.y,
                                at.z * size.z + block->rank / size.x / size.y};
    block->live = launch->threads;
    block->entered = false;
    memset(block->barrier, 0, sizeof block->barrier);
    memset(block->shared, CJ_POISON, launch->shared_bytes);
    memset(block->local, CJ_POISON, (size_t)launch->program->local_bytes * launch->threads);
    for (uint32_t i = 0; i < launch->warps; i++) start_warp(&block->warp[i], launch);
}

static void start_cluster(cj_cpu_cluster *cluster, uint64_t index) {
    const cj_cpu_launch *launch = cluster->launch;
    const cj_dim3        count = launch->clusters;
    cluster->index = index;
    cluster->position = (cj_dim3){(uint32_t)(index % count.x), (uint32_t)(index / count.x % count.y),
                                  (uint32_t)(index / count.x / count.y)};
    cluster->phase = cluster->arrived = 0;
    cluster->live = launch->threads * launch->ranks;
    cluster->clock = 0;
    for (uint32_t i = 0; i < launch->ranks; i++) start_block(&cluster->block[i], launch);
}

static cj_status run_cluster(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    const cj_cpu_op     *code = launch->program->op;
    while (cluster->live) {
        uint64_t done = 0;
        for (uint32_t i = 0; i < launch->ranks; i++) {
            cluster->block[i].entered = true;
            for (uint32_t j = 0; j < launch->warps; j++) {
                cj_cpu_warp *w = &cluster->block[i].warp[j];
                if (!w->live) continue;
                done += run_warp(w, code);
                if (cluster->status) return cluster->status;
                cluster->clock += CJ_QUANTUM - w->budget;
            }
        }
        if (!done) cj__cpu_deadlock(cluster);
        if (cluster->status) return cluster->status;
    }
    return CJ_OK;
}

// ---- clusters of a grid

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

// A cluster with everything that its threads own, in one piece of memory.
static cj_cpu_cluster *new_cluster(const cj_cpu_launch *launch, cj_error *error) {
    const cj_cpu_program *program = launch->program;
    const size_t          shared = rounded(launch->shared_bytes);
    const size_t          local = rounded((size_t)program->local_bytes * launch->threads);
    const size_t          warps = rounded(sizeof(cj_cpu_warp) * launch->warps);
    const size_t          files = (size_t)program->file_bytes * launch->warps;
    const size_t          bytes = rounded(sizeof(cj_cpu_cluster)) + launch->ranks * (shared + local + warps + files);

    unsigned char  *at = aligned_alloc(ALIGNMENT, bytes);
    cj_cpu_cluster *cluster = (cj_cpu_cluster *)(void *)at;
    if (!at) {
        cj__fail(error, CJ_OUT_OF_MEMORY, "no host memory for a cluster of %u blocks, %zu bytes", launch->ranks, bytes);
        return NULL;
    }
    *cluster = (cj_cpu_cluster){.launch = launch, .error = error};
    at += rounded(sizeof *cluster);
    for (uint32_t i = 0; i < launch->ranks; i++) {
        cj_cpu_block *block = &cluster->block[i];
        *block = (cj_cpu_block){.cluster = cluster, .rank = i, .warp = (cj_cpu_warp *)(void *)at};
        block->shared = at + warps;
        block->local = block->shared + shared;
        at = block->local + local;
        for (uint32_t j = 0; j < launch->warps; j++, at += program->file_bytes) {
            block->warp[j] = (cj_cpu_warp){.file = at, .block = block, .index = j};
        }
    }
    return cluster;
}

cj_status cj__cpu_run(const cj_cpu_launch *launch, cj_error *error) {
    const uint64_t  count = (uint64_t)launch->clusters.x * launch->clusters.y * launch->clusters.z;
    cj_cpu_cluster *cluster = new_cluster(launch, error);
    cj_status       status = cluster ? CJ_OK : CJ_OUT_OF_MEMORY;
    for (uint64_t i = 0; i < count && !status; i++) {
        start_cluster(cluster, i);
        status = run_cluster(cluster);
    }
    free(cluster);
    return status;
}
