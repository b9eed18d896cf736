// SPDX-License-Identifier: Apache-2.0
// Runs the clusters of a grid on the host's threads.
//
// Each host thread (worker) takes clusters from the grid in order and runs one at a time. If a cluster does not end
// within a slice, the worker takes a second one and gives both turns; then it doubles their number again, until one
// ends or memory is short. So a cluster that waits for a later one sees it begin, for every number of host threads, and
// clusters that wait for no other mostly run alone.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocate.h"
#include "async.h"
#include "delay.h"
#include "error.h"
#include "picture.h"
#include "printout.h"
#include "run.h"
#include "spare.h"
#include "stats.h"
#include "undefined.h"
#include "watch.h"
#include "wgmma.h"

enum {
    ALIGNMENT = 64,          // bytes, of lane arrays and shared memory: a cache line
    SLICE = 1 << 16,         // ops that a cluster executes before another one gets a turn
    POLLS = 256,             // polls of memory after which its slice ends early: it probably waits for another cluster
    POLLS_RANDOM = 32,       // the same where clusters begin in any order, so that more of them wait
    HELD_BYTES = 512 << 20,  // of the clusters of all workers
    HELD_MAX = 256,          // clusters of a worker, unless the launch is cooperative
    WORKERS_MAX = 256,
    WINDOW_MAX = 64,  // clusters that may begin in any order
    PROGRESS_MS = 500
};

// The run of a grid, shared by its workers.
typedef struct grid {
    const cj_cpu_launch *launch;
    uint64_t             count;  // clusters
    uint32_t             workers;
    uint32_t             held_first, held_most;  // how many clusters a worker begins with; how many it may hold
    size_t               cluster_bytes;
    uint64_t             window;  // of cj__delay_order
    _Atomic uint64_t     next, done, instructions;
    _Atomic uint64_t     progress_at;  // ms
    _Atomic int          status;       // the first failure that ended the launch early
    _Atomic bool         starved;      // some worker had no memory to watch
    pthread_mutex_t      lock;         // of launch->counts
} grid;

typedef struct worker {
    grid            *grid;
    cj_cpu_counts   *counts;
    cj_undefined    *undefined;   // NULL: the launch is not watched
    uint32_t         held, made;  // clusters that run; clusters that have memory, of which the running ones are first
    cj_cpu_cluster **cluster;     // [held_most]
} worker;

// ---- clusters

static size_t rounded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

// The sizes of a cluster's parts.
typedef struct layout {
    size_t shared, local, warps, files, order, all;
} layout;

static layout lay_out(const cj_cpu_launch *launch) {
    const size_t files = launch->watch ? CJ_UNDEFINED_FILES : 1, locals = launch->watch ? CJ_UNDEFINED_LOCALS : 1;

    layout it = {.shared = rounded(launch->reserved_end),
                 .local = rounded((size_t)launch->local_bytes * launch->threads * locals),
                 .warps = rounded(sizeof(cj_cpu_warp) * launch->warps),
                 .files = (size_t)launch->program->file_bytes * launch->warps * files,
                 .order = rounded(sizeof(uint16_t) * launch->warps * launch->ranks)};
    it.all = rounded(sizeof(cj_cpu_cluster)) + it.order + launch->ranks * (it.shared + it.local + it.warps + it.files);
    return it;
}

static void free_cluster(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster ? cluster->launch : NULL;
    for (uint32_t i = 0; launch && i < launch->ranks * launch->warps; i++) {
        cj__cpu_wgmma_drop(&cluster->block[i / launch->warps].warp[i % launch->warps]);
    }
    if (cluster) cj__cpu_async_free(cluster->async);
    if (cluster) cj__watch_detach(cluster);
    if (cluster) cj__print_end(cluster);
    cj__free(cluster);
}

// A cluster with all of its threads' state, in one allocation; NULL when out of memory.
static cj_cpu_cluster *new_cluster(const cj_cpu_launch *launch, cj_cpu_counts *counts, cj_undefined *undefined) {
    const layout    size = lay_out(launch);
    unsigned char  *at = cj__aligned_alloc(ALIGNMENT, size.all);
    cj_cpu_cluster *cluster = (cj_cpu_cluster *)(void *)at;
    if (!at) return NULL;
    *cluster = (cj_cpu_cluster){
        .launch = launch, .counts = counts, .undefined = undefined, .observed = counts || launch->watch};
    at += rounded(sizeof *cluster);
    cluster->order = (uint16_t *)(void *)at;
    at += size.order;
    for (uint32_t i = 0; i < launch->ranks; i++) {
        cj_cpu_block *block = &cluster->block[i];
        *block = (cj_cpu_block){.cluster = cluster, .rank = i, .warp = (cj_cpu_warp *)(void *)at};
        block->shared = at + size.warps;
        block->local = block->shared + size.shared;
        at = block->local + size.local;
        for (uint32_t j = 0; j < launch->warps; j++, at += size.files / launch->warps) {
            block->warp[j] = (cj_cpu_warp){.file = at, .block = block, .index = j};
        }
    }
    if (cj__cpu_async_new(cluster) && cj__watch_attach(cluster)) return cluster;
    free_cluster(cluster);
    return NULL;
}

// ---- what all workers share

static void stop(grid *g, cj_status status) {
    int none = CJ_OK;
    atomic_compare_exchange_strong(&g->status, &none, (int)status);
}

static uint64_t milliseconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// Calls the user's progress function about twice a second, from any worker.
static void report_progress(grid *g) {
    const cj_cpu_options *options = &g->launch->options;
    if (!options->progress) return;
    uint64_t       due = atomic_load(&g->progress_at);
    const uint64_t now = milliseconds();
    if (now < due || !atomic_compare_exchange_strong(&g->progress_at, &due, now + PROGRESS_MS)) return;
    options->progress(options->progress_user, atomic_load(&g->done), g->count, atomic_load(&g->instructions));
}

// The last call, which tells the progress function that the launch has ended.
static void end_progress(grid *g, uint64_t first_at) {
    const cj_cpu_options *options = &g->launch->options;
    if (options->progress && atomic_load(&g->progress_at) != first_at)
        options->progress(options->progress_user, g->count, g->count, atomic_load(&g->instructions));
}

// ---- workers

// Counts what a cluster has executed since the last call; false if the launch may execute no more.
static bool spend(grid *g, cj_cpu_cluster *cluster) {
    const uint64_t limit = g->launch->options.instruction_limit;
    const uint64_t all = atomic_fetch_add(&g->instructions, cluster->instructions) + cluster->instructions;
    cluster->instructions = 0;
    return !limit || all <= limit;
}

// Runs a cluster for a slice. A cluster that has ended has no live threads.
static void run_slice(grid *g, cj_cpu_cluster *cluster) {
    const uint64_t end = cluster->clock + SLICE;
    const bool     is_limited = g->launch->options.instruction_limit != 0;
    const uint64_t polls_end = cluster->polls + (cluster->launch->options.random_schedule ? POLLS_RANDOM : POLLS);
    while (cluster->live && cluster->clock < end && cluster->polls < polls_end && cj__cpu_take_turns(cluster)) {
        if (is_limited && !spend(g, cluster)) cj__cpu_livelock(cluster);
        if (cluster->status || atomic_load_explicit(&g->status, memory_order_relaxed)) break;
    }
    spend(g, cluster);
    if (cluster->status == CJ_HAZARD) cj__cpu_async_stop(cluster);
    if (cluster->status) stop(g, cluster->status);
    if (!cluster->live) atomic_fetch_add(&g->done, 1);
    report_progress(g);
}

// Begins clusters until the worker holds `wanted`. If there is no memory for another cluster it continues with those it
// has, unless all must run at once.
static void take_clusters(worker *me, uint32_t wanted) {
    grid *g = me->grid;
    while (me->held < wanted && atomic_load(&g->next) < g->count) {
        if (me->held == me->made) {
            cj_cpu_cluster *made = new_cluster(g->launch, me->counts, me->undefined);
            if (!made && (!me->held || g->launch->cooperative)) stop(g, CJ_OUT_OF_MEMORY);
            if (!made) return;
            me->cluster[me->made++] = made;
        }
        const uint64_t index = atomic_fetch_add(&g->next, 1);
        if (index >= g->count) return;
        cj__cpu_start(me->cluster[me->held++], cj__delay_order(g->launch, index, g->count, g->window));
    }
}

// Gives each held cluster a turn; returns how many ended.
static uint32_t run_held(worker *me) {
    uint32_t ended = 0;
    for (uint32_t i = 0; i < me->held;) {
        cj_cpu_cluster *cluster = me->cluster[i];
        run_slice(me->grid, cluster);
        if (atomic_load(&me->grid->status)) return ended;
        if (cluster->live) {
            i++;
            continue;
        }
        ended++;
        me->held--;
        memmove(&me->cluster[i], &me->cluster[i + 1], (me->held - i) * sizeof cluster);  // keeps the order of turns
        me->cluster[me->held] = cluster;
    }
    return ended;
}

static void *work(void *user) {
    worker  *me = user;
    grid    *g = me->grid;
    uint32_t wanted = g->held_first;
    while (!atomic_load(&g->status)) {
        take_clusters(me, wanted);
        if (!me->held) break;
        if (!run_held(me)) wanted = wanted * 2 < g->held_most ? wanted * 2 : g->held_most;
    }
    for (uint32_t i = 0; i < me->made; i++) free_cluster(me->cluster[i]);
    cj__spare_free();
    if (cj__watch_starved) atomic_store(&g->starved, true);
    if (me->counts) {
        pthread_mutex_lock(&g->lock);
        cj__stats_add(g->launch->counts, me->counts);
        pthread_mutex_unlock(&g->lock);
    }
    return NULL;
}

static uint32_t worker_count(const cj_cpu_launch *launch, uint64_t clusters) {
    uint32_t count = launch->watch && launch->heap ? 1 : launch->options.threads;  // a block's shadow begins anew
    if (count > WORKERS_MAX) count = WORKERS_MAX;
    return count > clusters ? (uint32_t)clusters : count;
}

// In a cooperative launch the workers divide all clusters among themselves at once; if a worker's thread could not be
// made, the others take its clusters.
static void choose_held(grid *g) {
    const size_t most = HELD_BYTES / g->workers / g->cluster_bytes;
    g->held_first = 1;
    g->held_most = most < 1 ? 1 : most < HELD_MAX ? (uint32_t)most : HELD_MAX;
    if (!g->launch->cooperative) return;
    g->held_first = (uint32_t)((g->count + g->workers - 1) / g->workers);
    g->held_most = (uint32_t)g->count;
}

// How many clusters may begin in another order than that of their numbers. A cluster may wait for those before it, as many
// kernels do, so all clusters of a window must have memory at once. The number of workers must not matter.
static uint64_t window_of(const grid *g) {
    const uint64_t most = HELD_BYTES / 2 / g->cluster_bytes;
    return most < 1 ? 1 : most < WINDOW_MAX ? most : WINDOW_MAX;
}

static worker *open_workers(grid *g) {
    worker *workers = cj__calloc(g->workers, sizeof *workers);
    bool    whole = workers != NULL;
    for (uint32_t i = 0; whole && i < g->workers; i++) workers[i].grid = g;  // which a worker without memory reads, too
    for (uint32_t i = 0; whole && i < g->workers; i++) {
        workers[i].cluster = cj__calloc(g->held_most, sizeof(cj_cpu_cluster *));
        if (g->launch->counts) workers[i].counts = cj__stats_new(g->launch->program);
        if (g->launch->watch) workers[i].undefined = cj__undefined_open(g->launch->program);
        whole = workers[i].cluster && (workers[i].counts || !g->launch->counts) &&
                (workers[i].undefined || !g->launch->watch);
    }
    if (!whole) stop(g, CJ_OUT_OF_MEMORY);
    return workers;
}

static void close_workers(const grid *g, worker *workers) {
    for (uint32_t i = 0; workers && i < g->workers; i++) {
        cj__free(workers[i].counts);
        cj__undefined_close(workers[i].undefined);
        cj__free(workers[i].cluster);
    }
    cj__free(workers);
}

// Runs worker 0 on the caller's thread and the others on threads of their own; continues without a thread that cannot
// be made.
static void run_workers(grid *g, worker *workers) {
    pthread_t thread[WORKERS_MAX];
    uint32_t  started = 1;
    while (started < g->workers && !pthread_create(&thread[started], NULL, work, &workers[started])) started++;
    work(&workers[0]);
    for (uint32_t i = 1; i < started; i++) pthread_join(thread[i], NULL);
    cj__watch_starved |= atomic_load(&g->starved);
}

cj_status cj__cpu_run(const cj_cpu_launch *launch, uint64_t *instructions, cj_error *error) {
    grid           g = {.launch = launch,
                        .count = (uint64_t)launch->clusters.x * launch->clusters.y * launch->clusters.z * launch->gpus,
                        .cluster_bytes = lay_out(launch).all};
    const uint64_t together = launch->cooperative ? g.count : 1;  // clusters that must have memory at the same time
    if (g.cluster_bytes > launch->limits->global_bytes / together) {
        return cj__fail(
            error, CJ_OUT_OF_MEMORY,
            "registers, shared and local memory of a cluster take %zu bytes, and %llu must run at once; the CPU "
            "device has %llu",
            g.cluster_bytes, (unsigned long long)together, (unsigned long long)launch->limits->global_bytes);
    }
    g.workers = worker_count(launch, g.count);
    g.window = window_of(&g);
    choose_held(&g);
    const uint64_t progress_at = milliseconds() + PROGRESS_MS;
    atomic_store(&g.progress_at, progress_at);
    pthread_mutex_init(&g.lock, NULL);
    worker *workers = open_workers(&g);
    if (workers) run_workers(&g, workers);
    end_progress(&g, progress_at);
    close_workers(&g, workers);
    pthread_mutex_destroy(&g.lock);
    *instructions = atomic_load(&g.instructions);
    const cj_status status = (cj_status)atomic_load(&g.status);
    if (status != CJ_OUT_OF_MEMORY) return status;
    return cj__fail(error, status, "no host memory for a cluster of %u blocks, %zu bytes", launch->ranks,
                    g.cluster_bytes);
}
