// SPDX-License-Identifier: Apache-2.0
// The asynchronous work of a cluster: which transfer takes the next step, which waits it ends, and the transfers that a
// block has in flight when it exits.
#include "async.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "hazard.h"
#include "late.h"
#include "random.h"
#include "transfer.h"

enum {
    STEPS_AT_ONCE = 64,   // as long as no thread can continue
    PICK_AMONG = 16,      // the youngest or the oldest so many
    VAIN_MAX = 256,       // time-outs in a row without any change: nothing will ever happen
    POLLS = 1024,         // of memory, since a transfer began or took a step
    LATE_MOST = 1 << 14,  // rounds
    TIRES_IN = 16         // times that lanes ask for a phase, until they stop waiting, on average
};

// ---- a cluster's

bool cj__cpu_async_new(cj_cpu_cluster *cluster) {
    const size_t  warps = (size_t)cluster->launch->ranks * cluster->launch->warps;
    cj_cpu_async *async = cj__calloc(1, sizeof *async);
    if (!async) return false;
    cluster->async = async;
    cluster->mbarriers = &async->mbarriers;
    async->threads = warps * CJ_LANES;
    async->groups = cj__calloc(async->threads, sizeof *async->groups);
    async->polls = cj__calloc(warps, sizeof *async->polls);
    return async->groups && async->polls;
}

static void forget(cj_cpu_async *async) {
    for (size_t i = 0; async->used && i < async->threads; i++) cj__clock_drop(async->groups[i].signalled);
    for (unsigned i = 0; i < CJ_STAGES; i++) {
        while (async->stage[i].first) cj__transfer_discard(async, async->stage[i].first);
    }
    cj__cpu_mbarriers_clear(&async->mbarriers);
}

void cj__cpu_async_free(cj_cpu_async *async) {
    if (!async) return;
    forget(async);
    cj__cpu_mbarriers_free(&async->mbarriers);
    cj__free(async->groups);
    cj__free(async->polls);
    cj__free(async);
}

// How each kind of work is scheduled in this cluster, and whether waits for mbarriers tire.
static void draw_paces(cj_cpu_cluster *cluster) {
    // In a watched launch none is done at once: nothing would be in flight any more that nobody has waited for.
    const uint8_t at_once = cluster->launch->watch ? CJ_PACE_ANY : CJ_PACE_AT_ONCE;
    const uint8_t drawn[] = {CJ_PACE_ANY, CJ_PACE_ANY, at_once, CJ_PACE_LATE};
    cj_cpu_async *async = cluster->async;
    const uint8_t pace = cluster->launch->options.late_schedule ? CJ_PACE_LATE : CJ_PACE_ANY;
    const bool    is_random = cj__async_is_random(cluster);
    for (unsigned i = 0; i < CJ_KINDS; i++)
        async->pace[i] = is_random ? drawn[cj__cpu_draw(cluster, sizeof drawn)] : pace;
    // Not where warps sleep: threads that ask again and again would keep the cluster busy without them.
    async->tires = is_random && !cluster->drowsy && cj__cpu_once_in(cluster, 2);
}

void cj__cpu_async_start(cj_cpu_cluster *cluster) {
    cj_cpu_async *async = cluster->async;
    const size_t  warps = (size_t)cluster->launch->ranks * cluster->launch->warps;
    forget(async);
    if (async->used) {
        memset(async->groups, 0, async->threads * sizeof *async->groups);
        memset(async->polls, 0, warps * sizeof *async->polls);
    }
    async->used = false;
    async->round = async->expired = async->in_vain = 0;
    async->polls_before = async->round_before = 0;
    draw_paces(cluster);
}

cj_cpu_poll *cj__cpu_async_poll(const cj_cpu_warp *w) {
    cj_cpu_async *async = w->block->cluster->async;
    async->used = true;
    return &async->polls[cj__async_warp(w)];
}

cj_cpu_groups *cj__cpu_async_groups(const cj_cpu_warp *w, unsigned lane) {
    cj_cpu_async *async = w->block->cluster->async;
    async->used = true;
    return &async->groups[cj__async_warp(w) * CJ_LANES + lane];
}

// ---- the schedule

static bool step_due(cj_cpu_async *async, bool *stepped) {
    cj_cpu_transfers *due = &async->due[async->round % CJ_DUE_ROUNDS];
    bool              ok = true;
    async->is_due = true;
    while (ok && due->first) {
        ok = cj__transfer_step(async, due->first);
        *stepped |= ok;
    }
    async->is_due = false;
    return ok;
}

// A pending transfer, none that is late: the youngest, or one that the seed draws.
static cj_cpu_transfer *pick(cj_cpu_cluster *cluster) {
    const cj_cpu_transfers *pending = &cluster->async->stage[CJ_STAGE_PENDING];
    cj_cpu_transfer        *t = pending->last;
    if (t && cj__async_is_random(cluster)) {
        const bool oldest = cj__cpu_draw(cluster, 2);
        if (oldest) t = pending->first;
        for (uint64_t skip = cj__cpu_draw(cluster, PICK_AMONG); skip; skip--) {
            cj_cpu_transfer *other = oldest ? cj__transfer_next(t) : t->link[CJ_LIST_CLUSTER].before;
            if (other) t = other;
        }
    }
    return t;
}

// Makes steps of transfers that are not late until one of them completes a phase or a group.
static bool step_some(cj_cpu_cluster *cluster, bool *stepped) {
    cj_cpu_async  *async = cluster->async;
    const uint64_t before = async->mbarriers.flips + async->signals;
    for (unsigned i = 0; i < STEPS_AT_ONCE && async->mbarriers.flips + async->signals == before; i++) {
        cj_cpu_transfer *t = pick(cluster);
        if (!t) break;
        if (!cj__transfer_step(async, t)) return false;
        *stepped = true;
    }
    return true;
}

// No thread can continue: makes steps of transfers that may let one continue.
static bool step_idle(cj_cpu_cluster *cluster, bool *stepped) {
    const bool late_first = cluster->launch->options.late_schedule ||
                            (cj__async_is_random(cluster) && cj__cpu_draw(cluster, 2));
    if (late_first && !cj__late_serve(cluster, stepped)) return false;
    if (!*stepped && !step_some(cluster, stepped)) return false;
    return *stepped || late_first || cj__late_serve(cluster, stepped);
}

// Whether threads may wait for a late transfer in a way that the device does not see: they have polled memory for long, or a
// very long time has passed.
static bool has_polled(const cj_cpu_cluster *cluster) {
    const cj_cpu_async *async = cluster->async;
    return async->stage[CJ_STAGE_LATE].first &&
           (cluster->polls - async->polls_before > POLLS || async->round - async->round_before > LATE_MOST);
}

// Ends the waits of lanes at mbarriers, as PTX allows after a time limit; the kernel may then do something else. False
// if no lane waits, or if VAIN_MAX time-outs in a row have changed nothing.
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
    const bool    polled = has_polled(cluster);
    bool          stepped = false, goes_on = true;
    if (!step_due(async, &stepped)) return true;
    if ((idle || polled) && !stepped && !step_idle(cluster, &stepped)) return true;
    if (!stepped && (polled || (idle && !time_out(cluster)))) {
        if (!cj__late_push(cluster, &stepped)) return true;  // nobody waits for it, but nothing else is left
        goes_on = stepped || !idle;
    }
    if (stepped) async->polls_before = cluster->polls, async->round_before = async->round;
    async->round++;
    return goes_on;
}

bool cj__cpu_async_timeout(const cj_cpu_warp *w) {
    const cj_cpu_async *async = w->block->cluster->async;
    return async->expired && async->expired == async->round;
}

bool cj__cpu_async_tires(cj_cpu_warp *w) {
    cj_cpu_cluster *cluster = w->block->cluster;
    return cluster->async->tires && cj__cpu_once_in(cluster, TIRES_IN);
}

// ---- groups

bool cj__cpu_async_pending(const cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only) {
    const cj_cpu_groups   *groups = cj__cpu_async_groups(w, lane);
    const cj_cpu_transfer *t = cj__transfer_first(groups, signal, read_only);
    for (; t && (t->signal != signal || t->group <= last); t = cj__transfer_next_own(t)) {
        if (cj__transfer_is_awaited(t, signal, last, read_only)) return true;
    }
    return false;
}

void cj__cpu_async_join(cj_cpu_warp *w, unsigned lane, cj_cpu_signal signal, uint32_t last, bool read_only) {
    cj_cpu_async    *async = w->block->cluster->async;
    cj_cpu_groups   *groups = cj__cpu_async_groups(w, lane);
    cj_cpu_transfer *t = read_only ? groups->reading : groups->own[signal].first, *after;
    for (; t && (t->signal != signal || t->group <= last); t = after) {
        after = cj__transfer_next_own(t);
        if (t->signal != signal) continue;
        if (groups->reading == t) groups->reading = after;
        cj__watch_join(w, 1u << lane, &t->reader);
        cj__transfer_end_watch(&t->reader);
        if (t->stage != CJ_STAGE_DONE || read_only) continue;
        cj__watch_join(w, 1u << lane, &t->writer);
        cj__transfer_discard(async, t);
    }
    if (signal == CJ_SIGNAL_COPY_GROUP && groups->signalled_last <= last)
        cj__watch_join_ended(w, 1u << lane, groups->signalled);
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

// In a watched launch: what is in flight races with what it would race with later, and its mbarrier gets its bytes.
static void expose(cj_cpu_async *async, const cj_cpu_block *block, cj_cpu_stage stage) {
    const char *use;
    for (cj_cpu_transfer *t = async->stage[stage].first; t; t = cj__transfer_next(t)) {
        if (!use_of(t, block, &use)) continue;
        if (t->signal != CJ_SIGNAL_MBARRIER || t->mbarrier.block != block) continue;
        cj_cpu_mbarrier *m = cj__cpu_mbarrier_at(t->actor, &t->mbarrier);
        if (!m) continue;
        m->bytes -= (int32_t)t->bytes;
        m->bringer = t->actor;
    }
}

// Whether its thread has waited for each bulk store that has read the block's memory: it need not have been read that early. Only a
// watched launch knows.
static bool are_awaited(const cj_cpu_async *async, const cj_cpu_block *block) {
    for (unsigned i = 0; i < CJ_STAGES; i++) {
        for (const cj_cpu_transfer *t = async->stage[i].first; t; t = cj__transfer_next(t)) {
            if (t->signal != CJ_SIGNAL_BULK_GROUP || !t->is_read || !t->reader.block || t->from.block != block)
                continue;
            cj__cpu_hazard(t->actor.w, t->actor.op, t->actor.lane, CJ_HAZARD_EXIT_IN_FLIGHT,
                           "reads the shared memory of the block of rank %u, which exited without a wait for that",
                           block->rank);
            return false;
        }
    }
    return true;
}

// Small copies end with their block, and arrivals that wait for them. False: another transfer uses the block.
static bool drop_small(cj_cpu_async *async, const cj_cpu_block *block, cj_cpu_stage stage) {
    for (cj_cpu_transfer *t = async->stage[stage].first, *after; t; t = after) {
        const char *use;
        after = cj__transfer_next(t);
        if (!use_of(t, block, &use)) continue;
        cj__transfer_expose(t);
        if (t->signal == CJ_SIGNAL_COPY_GROUP || t->signal == CJ_SIGNAL_COPY_ARRIVAL) {
            cj__transfer_discard(async, t);
            continue;
        }
        cj__cpu_hazard(t->actor.w, t->actor.op, t->actor.lane, CJ_HAZARD_EXIT_IN_FLIGHT,
                       "%s the shared memory of the block of rank %u, which exited before it was complete", use,
                       block->rank);
        return false;
    }
    return true;
}

void cj__cpu_async_leave(cj_cpu_block *block) {
    cj_cpu_async *async = block->cluster->async;
    if (block->watch) {
        expose(async, block, CJ_STAGE_BLOCKED);
        expose(async, block, CJ_STAGE_PENDING);
        expose(async, block, CJ_STAGE_LATE);
        cj__cpu_mbarriers_settle(block);
    }
    static const cj_cpu_stage in_flight[] = {CJ_STAGE_BLOCKED, CJ_STAGE_PENDING, CJ_STAGE_LATE};
    for (size_t i = 0; i < sizeof in_flight / sizeof *in_flight; i++) {
        if (!drop_small(async, block, in_flight[i])) return;
    }
    are_awaited(async, block);
}

void cj__cpu_async_stop(cj_cpu_cluster *cluster) {
    for (cj_cpu_stage stage = CJ_STAGE_PENDING; stage < CJ_STAGE_DONE; stage++) {
        cj_cpu_transfer *t = cluster->async->stage[stage].first;
        for (; t; t = cj__transfer_next(t)) cj__transfer_expose(t);
    }
}

void cj__cpu_async_finish(cj_cpu_cluster *cluster) {
    cj_cpu_async           *async = cluster->async;
    const cj_cpu_transfers *pending = &async->stage[CJ_STAGE_PENDING], *late = &async->stage[CJ_STAGE_LATE];
    while ((pending->first || late->first) && cj__transfer_step(async, pending->first ? pending->first : late->first))
        continue;
}
