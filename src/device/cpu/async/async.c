// SPDX-License-Identifier: Apache-2.0
#include "async.h"

#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "stats.h"

enum {
    LATE_ROUNDS = 4,     // a transfer takes at most, under the fixed schedule,
    LATE_RANDOM = 12,    // and under a random one, or
    LATE_LONG = 64,      // one in four so many
    STEPS_AT_ONCE = 64,  // while nobody is woken
    PICK_AMONG = 16,     // of the youngest or the oldest
    VAIN_MAX = 256       // timeouts in a row without any change: nothing will ever happen
};

// ---- lists

static void unlink_from(cj_cpu_transfers *list, cj_cpu_list kind, cj_cpu_transfer *t) {
    const cj_cpu_link at = t->link[kind];
    *(at.before ? &at.before->link[kind].after : &list->first) = at.after;
    *(at.after ? &at.after->link[kind].before : &list->last) = at.before;
}

static void append(cj_cpu_transfers *list, cj_cpu_list kind, cj_cpu_transfer *t) {
    t->link[kind] = (cj_cpu_link){.before = list->last};
    *(list->last ? &list->last->link[kind].after : &list->first) = t;
    list->last = t;
}

static cj_cpu_transfer *next_in_cluster(const cj_cpu_transfer *t) { return t->link[CJ_LIST_CLUSTER].after; }
static cj_cpu_transfer *next_of_thread(const cj_cpu_transfer *t) { return t->link[CJ_LIST_THREAD].after; }

static size_t warp_index(const cj_cpu_warp *w) { return w->block->rank * w->block->cluster->launch->warps + w->index; }

// The transfers of its thread.
static cj_cpu_transfers *own_of(const cj_cpu_async *async, const cj_cpu_transfer *t) {
    return &async->groups[warp_index(t->who.w) * CJ_LANES + t->who.lane].own;
}

static void end_watch(cj_watch_async *async) {
    cj__watch_end(async);
    *async = (cj_watch_async){0};
}

static void discard(cj_cpu_async *async, cj_cpu_transfer *t) {
    unlink_from(t->is_done ? &async->done : &async->pending, CJ_LIST_CLUSTER, t);
    unlink_from(own_of(async, t), CJ_LIST_THREAD, t);
    end_watch(&t->reader);
    end_watch(&t->writer);
    cj__cpu_tile_drop(t->tile);
    free(t->data);
    free(t);
}

// ---- a cluster's

cj_cpu_async *cj__cpu_async_new(const cj_cpu_launch *launch) {
    const size_t  warps = (size_t)launch->ranks * launch->warps;
    cj_cpu_async *async = calloc(1, sizeof *async);
    if (!async) return NULL;
    async->groups = calloc(warps * CJ_LANES, sizeof *async->groups);
    async->polls = calloc(warps, sizeof *async->polls);
    if (async->groups && async->polls) return async;
    cj__cpu_async_free(async);
    return NULL;
}

static void forget(cj_cpu_async *async) {
    while (async->pending.first) discard(async, async->pending.first);
    while (async->done.first) discard(async, async->done.first);
    cj__cpu_mbarriers_clear(&async->mbarriers);
}

void cj__cpu_async_free(cj_cpu_async *async) {
    if (!async) return;
    forget(async);
    cj__cpu_mbarriers_free(&async->mbarriers);
    free(async->groups);
    free(async->polls);
    free(async);
}

void cj__cpu_async_start(cj_cpu_cluster *cluster) {
    cj_cpu_async *async = cluster->async;
    const size_t  warps = (size_t)cluster->launch->ranks * cluster->launch->warps;
    forget(async);
    if (async->used) {
        memset(async->groups, 0, warps * CJ_LANES * sizeof *async->groups);
        memset(async->polls, 0, warps * sizeof *async->polls);
    }
    async->used = false;
    async->round = async->expired = async->in_vain = 0;
}

cj_cpu_poll *cj__cpu_async_poll(const cj_cpu_warp *w) {
    cj_cpu_async *async = w->block->cluster->async;
    async->used = true;
    return &async->polls[warp_index(w)];
}

cj_cpu_groups *cj__cpu_async_groups(const cj_cpu_warp *w, unsigned lane) {
    cj_cpu_async *async = w->block->cluster->async;
    async->used = true;
    return &async->groups[warp_index(w) * CJ_LANES + lane];
}

// ---- when

static bool is_random(const cj_cpu_cluster *cluster) { return cluster->launch->options.random_schedule; }

static uint64_t draw(cj_cpu_cluster *cluster, uint64_t below) { return cj__cpu_random(cluster) % below; }

static uint64_t lateness(cj_cpu_cluster *cluster) {
    if (!is_random(cluster)) return LATE_ROUNDS;
    return draw(cluster, 4) ? draw(cluster, LATE_RANDOM) : LATE_LONG;
}

static bool out_of_memory(cj_cpu_cluster *cluster) {
    cluster->status = CJ_OUT_OF_MEMORY;
    return false;
}

cj_cpu_step cj__cpu_async_begin(cj_cpu_transfer transfer) {
    const cj_cpu_who who = transfer.who;
    cj_cpu_cluster  *cluster = who.w->block->cluster;
    cj_cpu_async    *async = cluster->async;
    cj_cpu_transfer *made = malloc(sizeof *made);
    if (!made) return out_of_memory(cluster), CJ_STEP_STOP;
    *made = transfer;
    if (made->tile) made->tile->users++;
    made->begun = ++async->begun;
    made->due = async->round + lateness(cluster);
    made->writer = cj__watch_fork(who.w, who.op, who.lane);
    if (made->signal == CJ_SIGNAL_BULK_GROUP) made->reader = cj__watch_fork(who.w, who.op, who.lane);
    append(&async->pending, CJ_LIST_CLUSTER, made);
    append(own_of(async, made), CJ_LIST_THREAD, made);
    return CJ_STEP_NEXT;
}

// ---- moving the bytes

static bool next_run(const cj_cpu_transfer *t, const cj_cpu_spot *end, uint32_t bytes, uint32_t *next,
                     cj_cpu_run *run) {
    if (t->tile && end->block) return cj__cpu_tile_shared(t->tile, end->address, next, run);
    if (t->tile) return cj__cpu_tile_global(t->tile, next, run);
    if (*next >= bytes) return false;
    *run = (cj_cpu_run){.bytes = bytes, .address = end->address};
    *next = bytes;
    return true;
}

static bool watch(const cj_cpu_transfer *t, const cj_watch_async *agent, unsigned flags, const cj_cpu_spot *end,
                  const cj_cpu_run *run, const unsigned char *written) {
    const cj_watch_use   use = {.flags = (uint8_t)(flags | (t->is_proxy ? CJ_USE_ASYNC_PROXY : 0)), .scope = t->scope};
    const cj_watch_place place = {.block = end->block, .address = run->address, .bytes = run->bytes};
    return cj__watch_async_access(agent, use, place, written) != CJ_STEP_STOP;
}

static unsigned char *host_of(const cj_cpu_spot *end, const cj_cpu_run *run) {
    return end->host + (run->address - end->address);
}

static bool read_source(cj_cpu_transfer *t) {
    const cj_watch_async *agent = t->signal == CJ_SIGNAL_BULK_GROUP ? &t->reader : &t->writer;
    if (t->bytes > CJ_SMALL_BYTES && !(t->data = malloc(t->bytes))) { return out_of_memory(t->who.w->block->cluster); }
    unsigned char *data = t->data ? t->data : t->small;
    const bool     loads_tile = t->tile && !t->from.block;
    if (loads_tile)
        cj__cpu_tile_fill(t->tile, data, t->bytes);
    else
        memset(data, 0, t->bytes);
    cj_cpu_run run;
    for (uint32_t next = 0; next_run(t, &t->from, t->from_bytes, &next, &run);) {
        if (!watch(t, agent, CJ_USE_READ, &t->from, &run, NULL)) return false;
        memcpy(data + run.offset, host_of(&t->from, &run), run.bytes);
        if (loads_tile) cj__cpu_tile_round(t->tile, data + run.offset, run.bytes);
    }
    t->is_read = true;
    return true;
}

static void copy_masked(unsigned char *to, const unsigned char *from, uint32_t bytes, uint16_t mask) {
    for (uint32_t i = 0; i < bytes; i++) {
        if (mask >> i % 16 & 1) to[i] = from[i];
    }
}

// Whether one end lies in the shared memory of another block than the one that began it.
static bool of_peer(const cj_cpu_transfer *t, const cj_cpu_spot *end) {
    return end->block && end->block != t->who.w->block;
}

static bool write_destination(const cj_cpu_transfer *t) {
    const unsigned char *data = t->data ? t->data : t->small;
    cj_cpu_counts       *counts = t->who.w->block->cluster->counts;
    cj_cpu_run           run;
    if (counts) cj__stats_transfer(counts, t->who.op, t->bytes, of_peer(t, &t->from), of_peer(t, &t->to));
    for (uint32_t next = 0; next_run(t, &t->to, t->bytes, &next, &run);) {
        unsigned char *to = host_of(&t->to, &run);
        const bool     is_whole = !t->combine && t->byte_mask == UINT16_MAX;
        if (!watch(t, &t->writer, t->combine ? CJ_USE_READ | CJ_USE_WRITE : CJ_USE_WRITE, &t->to, &run,
                   is_whole ? data + run.offset : NULL)) {
            return false;
        }
        if (t->combine)
            t->combine(to, data + run.offset, run.bytes);
        else if (t->byte_mask != UINT16_MAX)
            copy_masked(to, data + run.offset, run.bytes, t->byte_mask);
        else
            memcpy(to, data + run.offset, run.bytes);
    }
    return true;
}

// ---- what the end of a transfer signals

static cj_cpu_mbarrier *mbarrier_of(const cj_cpu_transfer *t) {
    static const cj_watch_use use = {.flags = CJ_USE_READ | CJ_USE_INIT, .scope = CJ_SCOPE_CLUSTER};
    const cj_watch_place      place = {t->mbarrier.block, t->mbarrier.address, CJ_MBARRIER_BYTES};
    if (cj__watch_async_access(&t->writer, use, place, NULL) == CJ_STEP_STOP) return NULL;
    return cj__cpu_mbarrier_at(t->who, &t->mbarrier);
}

static bool signal_bytes(cj_cpu_async *async, cj_cpu_transfer *t) {
    cj_cpu_mbarrier *m = mbarrier_of(t);
    if (!m) return false;
    cj__sync_complete(&t->writer, t->is_proxy, &m->sync);
    const bool fits = cj__cpu_mbarrier_transact(t->who, m, -(int64_t)t->bytes);
    discard(async, t);
    return fits;
}

// The arrival that stands for the copies that its thread began before.
static bool signal_arrival(cj_cpu_async *async, cj_cpu_transfer *t) {
    cj_cpu_mbarrier *m = mbarrier_of(t);
    if (!m) return false;
    for (cj_cpu_transfer *copy = own_of(async, t)->first, *after; copy != t; copy = after) {
        after = next_of_thread(copy);
        if (copy->signal != CJ_SIGNAL_COPY_GROUP || !copy->is_done) continue;
        cj__sync_complete(&copy->writer, true, &m->sync);
        discard(async, copy);
    }
    const bool fits = cj__cpu_mbarrier_arrive(t->who, m, 1, false);
    discard(async, t);
    return fits;
}

static bool signal_group(cj_cpu_async *async, cj_cpu_transfer *t) {
    async->signals += t->signal == CJ_SIGNAL_BULK_GROUP;
    if (!t->writer.block) {  // nobody watches
        discard(async, t);
        return true;
    }
    free(t->data);
    t->data = NULL;
    unlink_from(&async->pending, CJ_LIST_CLUSTER, t);
    append(&async->done, CJ_LIST_CLUSTER, t);
    t->is_done = true;
    return true;
}

static bool is_ready(const cj_cpu_async *async, const cj_cpu_transfer *t) {
    if (t->signal != CJ_SIGNAL_COPY_ARRIVAL) return true;
    for (const cj_cpu_transfer *other = own_of(async, t)->first; other != t; other = next_of_thread(other)) {
        if (other->signal == CJ_SIGNAL_COPY_GROUP && !other->is_done) return false;
    }
    return true;
}

// One step of a pending transfer, after which it may be gone; false when a hazard was reported.
static bool step(cj_cpu_async *async, cj_cpu_transfer *t) {
    static bool (*const signals[])(cj_cpu_async * async, cj_cpu_transfer * t) = {
        [CJ_SIGNAL_MBARRIER] = signal_bytes,
        [CJ_SIGNAL_BULK_GROUP] = signal_group,
        [CJ_SIGNAL_COPY_GROUP] = signal_group,
        [CJ_SIGNAL_COPY_ARRIVAL] = signal_arrival,
    };
    if (!t->is_read) {
        if (!read_source(t)) return false;
        if (t->signal == CJ_SIGNAL_BULK_GROUP) {
            t->due = async->round + lateness(t->who.w->block->cluster);
            async->signals++;
            return true;
        }
    }
    return write_destination(t) && signals[t->signal](async, t);
}

// ---- the schedule

static bool step_due(cj_cpu_async *async, bool *stepped) {
    for (cj_cpu_transfer *t = async->pending.first, *after; t; t = after) {
        after = next_in_cluster(t);
        if (t->due > async->round || !is_ready(async, t)) continue;
        if (!step(async, t)) return false;
        *stepped = true;
    }
    return true;
}

// A pending transfer that can take a step: the youngest, or one that the seed draws.
static cj_cpu_transfer *pick(cj_cpu_cluster *cluster) {
    const cj_cpu_async *async = cluster->async;
    cj_cpu_transfer    *t = async->pending.last;
    if (t && is_random(cluster)) {
        const bool oldest = draw(cluster, 2);
        if (oldest) t = async->pending.first;
        for (uint64_t skip = draw(cluster, PICK_AMONG); skip; skip--) {
            cj_cpu_transfer *other = oldest ? next_in_cluster(t) : t->link[CJ_LIST_CLUSTER].before;
            if (other) t = other;
        }
    }
    while (t && !is_ready(async, t)) t = t->link[CJ_LIST_CLUSTER].before;  // what it waits for was begun earlier
    return t;
}

// No thread can go on: makes transfers until one may.
static bool step_some(cj_cpu_cluster *cluster, bool *stepped) {
    cj_cpu_async  *async = cluster->async;
    const uint64_t before = async->mbarriers.flips + async->signals;
    for (unsigned i = 0; i < STEPS_AT_ONCE && async->mbarriers.flips + async->signals == before; i++) {
        cj_cpu_transfer *t = pick(cluster);
        if (!t) break;
        if (!step(async, t)) return false;
        *stepped = true;
    }
    return true;
}

// Lanes that wait for an mbarrier give up, as their time limit allows; a kernel may do something else then. False when
// there are none, or when this has come to nothing many times.
static bool time_out(cj_cpu_cluster *cluster) {
    cj_cpu_async  *async = cluster->async;
    const size_t   warps = (size_t)cluster->launch->ranks * cluster->launch->warps;
    const uint64_t seen = async->mbarriers.changes + async->begun + cluster->phase + cluster->live;
    uint32_t       polling = 0;
    for (size_t i = 0; async->used && i < warps; i++) polling |= async->polls[i].lanes;
    async->in_vain = seen == async->seen ? async->in_vain + 1 : 0;
    async->seen = seen;
    async->expired = async->round + 1;
    return polling && async->in_vain < VAIN_MAX;
}

bool cj__cpu_async_round(cj_cpu_cluster *cluster, bool idle) {
    cj_cpu_async *async = cluster->async;
    bool          stepped = false;
    if (!step_due(async, &stepped)) return true;
    if (idle && !stepped && !step_some(cluster, &stepped)) return true;
    const bool goes_on = !idle || stepped || time_out(cluster);
    async->round++;
    return goes_on;
}

bool cj__cpu_async_timeout(const cj_cpu_warp *w) {
    const cj_cpu_async *async = w->block->cluster->async;
    return async->expired && async->expired == async->round;
}

// ---- groups

static bool concerns(const cj_cpu_transfer *t, cj_cpu_signal signal, uint32_t last) {
    return t->signal == signal && t->group <= last;
}

bool cj__cpu_async_pending(const cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only) {
    const cj_cpu_transfer *t = cj__cpu_async_groups(w, lane)->own.first;
    for (; t; t = next_of_thread(t)) {
        if (!t->is_done && concerns(t, signal, last) && !(read_only && t->is_read)) return true;
    }
    return false;
}

void cj__cpu_async_join(cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only) {
    cj_cpu_async *async = w->block->cluster->async;
    for (cj_cpu_transfer *t = cj__cpu_async_groups(w, lane)->own.first, *after; t; t = after) {
        after = next_of_thread(t);
        if (!concerns(t, signal, last)) continue;
        cj__watch_join(w, 1u << lane, &t->reader);
        end_watch(&t->reader);
        if (!t->is_done || read_only) continue;
        cj__watch_join(w, 1u << lane, &t->writer);
        discard(async, t);
    }
}

// ---- exit

static const cj_cpu_block *use_of(const cj_cpu_transfer *t, const cj_cpu_block *block, const char **use) {
    const struct {
        const cj_cpu_block *block;
        const char         *use;
    } uses[] = {
        {t->is_read ? NULL : t->from.block, "reads"}, {t->to.block, "writes"}, {t->mbarrier.block, "signals in"}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        if (uses[i].block != block) continue;
        *use = uses[i].use;
        return block;
    }
    return NULL;
}

void cj__cpu_async_leave(cj_cpu_block *block) {
    cj_cpu_async *async = block->cluster->async;
    for (cj_cpu_transfer *t = async->pending.first, *after; t; t = after) {
        const char *use;
        after = next_in_cluster(t);
        if (!use_of(t, block, &use)) continue;
        if (t->signal == CJ_SIGNAL_COPY_GROUP || t->signal == CJ_SIGNAL_COPY_ARRIVAL) {
            discard(async, t);  // small copies end with their block
            continue;
        }
        cj__cpu_hazard(t->who.w, t->who.op, t->who.lane, CJ_HAZARD_EXIT_IN_FLIGHT,
                       "%s the shared memory of the block of rank %u, which exited before it was complete", use,
                       block->rank);
        return;
    }
}

void cj__cpu_async_finish(cj_cpu_cluster *cluster) {
    cj_cpu_async *async = cluster->async;
    while (async->pending.first && step(async, async->pending.first)) continue;
}
