// SPDX-License-Identifier: Apache-2.0
// One transfer: it begins, moves its bytes, and signals its end.
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "hazard.h"
#include "random.h"
#include "stats.h"

enum {
    LATE_ROUNDS = 4,   // rounds that a transfer takes at most, under the fixed schedule
    LATE_RANDOM = 12,  // under a random schedule, for three transfers in four
    LATE_LONG = 64,    // for the fourth
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

void cj__transfer_end_watch(cj_watch_async *async) {
    cj__watch_end(async);
    *async = (cj_watch_async){0};
}

// Among the transfers of its round, which are in the order begun: mostly it is the youngest, the oldest, or stands beside the one
// that came before it.
static void make_due(cj_cpu_async *async, cj_cpu_transfer *t) {
    cj_cpu_transfers *list = &async->due[t->due % CJ_DUE_ROUNDS];
    cj_cpu_transfer **came = &async->came[t->due % CJ_DUE_ROUNDS], *before = *came;
    if (!list->first || list->last->begun < t->begun) before = list->last;
    if (list->first && list->first->begun > t->begun) before = NULL;
    while (before && before->begun > t->begun) before = before->link[CJ_LIST_WAIT].before;
    while (before && before->link[CJ_LIST_WAIT].after && before->link[CJ_LIST_WAIT].after->begun < t->begun)
        before = before->link[CJ_LIST_WAIT].after;
    cj_cpu_transfer *after = before ? before->link[CJ_LIST_WAIT].after : list->first;
    t->link[CJ_LIST_WAIT] = (cj_cpu_link){before, after};
    *(before ? &before->link[CJ_LIST_WAIT].after : &list->first) = t;
    *(after ? &after->link[CJ_LIST_WAIT].before : &list->last) = t;
    *came = t;
}

static void unmake_due(cj_cpu_async *async, cj_cpu_transfer *t) {
    cj_cpu_transfer **came = &async->came[t->due % CJ_DUE_ROUNDS];
    const cj_cpu_link at = t->link[CJ_LIST_WAIT];
    if (*came == t) *came = at.before ? at.before : at.after;
    unlink_from(&async->due[t->due % CJ_DUE_ROUNDS], CJ_LIST_WAIT, t);
}

static cj_cpu_flight *flight_of(const cj_cpu_transfer *t) {
    return cj__cpu_mbarrier_flight(t->mbarrier.block, (uint32_t)t->mbarrier.address);
}

// The list of its mbarrier that it is in; NULL: none.
static cj_cpu_transfers *signal_list(const cj_cpu_transfer *t) {
    const bool waits = t->stage == CJ_STAGE_LATE || t->stage == CJ_STAGE_BLOCKED;
    if (!waits || !t->mbarrier.block) return NULL;
    return t->stage == CJ_STAGE_LATE ? &flight_of(t)->late : &flight_of(t)->blocked;
}

static void enter(cj_cpu_async *async, cj_cpu_transfer *t, cj_cpu_stage stage) {
    t->stage = stage;
    append(&async->stage[stage], CJ_LIST_CLUSTER, t);
    if (stage == CJ_STAGE_PENDING) make_due(async, t);
    if (signal_list(t)) append(signal_list(t), CJ_LIST_WAIT, t);
}

static void leave_stage(cj_cpu_async *async, cj_cpu_transfer *t) {
    if (t->stage == CJ_STAGE_PENDING) unmake_due(async, t);
    if (signal_list(t)) unlink_from(signal_list(t), CJ_LIST_WAIT, t);
    unlink_from(&async->stage[t->stage], CJ_LIST_CLUSTER, t);
}

static void await_step(cj_cpu_async *async, cj_cpu_transfer *t) {
    enter(async, t, t->is_late ? CJ_STAGE_LATE : CJ_STAGE_PENDING);
}

// Its mbarrier knows what it brings, from its beginning to its end; false when out of memory.
static bool count_in_flight(const cj_cpu_transfer *t, int sign) {
    cj_cpu_flight *flight = t->mbarrier.block ? flight_of(t) : NULL;
    if (!flight) return !t->mbarrier.block;
    flight->arrivals += (uint32_t)sign * (t->signal == CJ_SIGNAL_COPY_ARRIVAL);
    flight->bytes += (int64_t)sign * t->bytes;
    return true;
}

static void unblock(cj_cpu_async *async, cj_cpu_transfer *arrival) {
    const uint64_t next = async->round + !async->is_due;
    leave_stage(async, arrival);
    if (arrival->due < next) arrival->due = next;
    await_step(async, arrival);
}

// From this one on: finds the thread's oldest copy that is not done. All copies before the arrivals on the way have ended.
static void find_copying(cj_cpu_async *async, cj_cpu_groups *groups, cj_cpu_transfer *t) {
    for (; t && (t->signal == CJ_SIGNAL_COPY_ARRIVAL || t->stage == CJ_STAGE_DONE); t = cj__transfer_next_own(t)) {
        if (t->stage == CJ_STAGE_BLOCKED) unblock(async, t);
    }
    groups->copying = t;
}

static void enter_own(cj_cpu_groups *groups, cj_cpu_transfer *t) {
    append(cj__transfer_own(groups, t->signal), CJ_LIST_THREAD, t);
    if (t->signal == CJ_SIGNAL_COPY_GROUP && !groups->copying) groups->copying = t;
    if (t->signal == CJ_SIGNAL_BULK_GROUP && !groups->reading) groups->reading = t;
}

static void leave_own(cj_cpu_async *async, cj_cpu_transfer *t) {
    cj_cpu_groups *groups = cj__transfer_groups(async, t);
    groups->copied -= t->signal == CJ_SIGNAL_COPY_GROUP && t->stage == CJ_STAGE_DONE;
    if (groups->copying == t) find_copying(async, groups, cj__transfer_next_own(t));
    if (groups->reading == t) groups->reading = cj__transfer_next_own(t);
    unlink_from(cj__transfer_own(groups, t->signal), CJ_LIST_THREAD, t);
}

void cj__transfer_discard(cj_cpu_async *async, cj_cpu_transfer *t) {
    leave_stage(async, t);
    leave_own(async, t);
    count_in_flight(t, -1);
    cj__transfer_end_watch(&t->reader);
    cj__transfer_end_watch(&t->writer);
    cj__clock_drop(t->copies);
    cj__cpu_tile_drop(t->tile);
    cj__free(t->data);
    cj__free(t);
}

// ---- begin

static cj_cpu_kind kind_of(const cj_cpu_transfer *t) {
    if (t->signal == CJ_SIGNAL_MBARRIER) return t->is_proxy ? CJ_KIND_LOAD : CJ_KIND_REGISTERS;
    return t->signal == CJ_SIGNAL_BULK_GROUP ? CJ_KIND_STORE : CJ_KIND_COPY;
}

// How many rounds from now on a transfer that is not late takes its next step.
static uint64_t lateness(cj_cpu_cluster *cluster) {
    if (!cj__async_is_random(cluster)) return LATE_ROUNDS;
    return cj__cpu_draw(cluster, 4) ? cj__cpu_draw(cluster, LATE_RANDOM) : LATE_LONG;
}

// All steps of a transfer that has just begun.
static cj_cpu_step make_at_once(cj_cpu_async *async, cj_cpu_transfer *t) {
    const bool has_two = t->signal == CJ_SIGNAL_BULK_GROUP;
    if (has_two && !cj__transfer_step(async, t)) return CJ_STEP_STOP;
    return cj__transfer_step(async, t) ? CJ_STEP_NEXT : CJ_STEP_STOP;
}

static bool out_of_memory(cj_cpu_cluster *cluster) {
    cluster->status = CJ_OUT_OF_MEMORY;
    return false;
}

cj_cpu_step cj__cpu_async_begin(cj_cpu_transfer transfer) {
    const cj_cpu_actor actor = transfer.actor;
    cj_cpu_cluster    *cluster = actor.w->block->cluster;
    cj_cpu_async      *async = cluster->async;
    cj_cpu_transfer   *made = cj__malloc(sizeof *made);
    if (!made || !count_in_flight(&transfer, 1)) {
        cj__free(made);
        out_of_memory(cluster);
        return CJ_STEP_STOP;
    }
    *made = transfer;
    if (made->tile) made->tile->users++;
    made->begun = ++async->begun;
    const uint8_t pace = async->pace[kind_of(made)];
    made->is_late = pace == CJ_PACE_LATE;
    made->due = async->round + lateness(cluster);
    async->polls_before = cluster->polls;
    async->round_before = async->round;
    made->writer = cj__watch_fork(actor.w, actor.op, actor.lane);
    if (made->signal == CJ_SIGNAL_BULK_GROUP) made->reader = cj__watch_fork(actor.w, actor.op, actor.lane);
    cj_cpu_groups *groups = cj__transfer_groups(async, made);
    const bool     waits = made->signal == CJ_SIGNAL_COPY_ARRIVAL && groups->copying;
    if (waits)
        enter(async, made, CJ_STAGE_BLOCKED);
    else
        await_step(async, made);
    enter_own(groups, made);
    return pace == CJ_PACE_AT_ONCE && !waits ? make_at_once(async, made) : CJ_STEP_NEXT;
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
    if (t->bytes > CJ_SMALL_BYTES && !(t->data = cj__malloc(t->bytes))) {
        return out_of_memory(t->actor.w->block->cluster);
    }
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
        cj__watch_unlock(t->actor.w->block->cluster);
        if (loads_tile) cj__cpu_tile_round(t->tile, data + run.offset, run.bytes);
    }
    if (t->tile) cj__cpu_tile_swizzle(t->tile, loads_tile ? t->to.address : t->from.address, data);
    t->is_read = true;
    return true;
}

static void copy_masked(unsigned char *to, const unsigned char *from, uint32_t bytes, uint16_t mask) {
    for (uint32_t i = 0; i < bytes; i++) {
        if (mask >> i % 16 & 1) to[i] = from[i];
    }
}

// Whether this end is in the shared memory of another block than the block that began the transfer.
static bool of_peer(const cj_cpu_transfer *t, const cj_cpu_spot *end) {
    return end->block && end->block != t->actor.w->block;
}

static bool write_destination(const cj_cpu_transfer *t) {
    const unsigned char *data = t->data ? t->data : t->small;
    cj_cpu_run           run;
    if (t->actor.w->block->cluster->counts)
        cj__stats_transfer(t->actor.w, t->actor.op, t->bytes, of_peer(t, &t->from), of_peer(t, &t->to));
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
        cj__watch_unlock(t->actor.w->block->cluster);
    }
    return true;
}

static bool watch_mbarrier(const cj_cpu_transfer *t) {
    static const cj_watch_use use = {.flags = CJ_USE_READ | CJ_USE_INIT, .scope = CJ_SCOPE_CLUSTER};
    const cj_watch_place      place = {t->mbarrier.block, t->mbarrier.address, CJ_MBARRIER_BYTES};
    return cj__watch_async_access(&t->writer, use, place, NULL) != CJ_STEP_STOP;
}

void cj__transfer_expose(cj_cpu_transfer *t) {
    if (!t->writer.block) return;
    if (t->signal == CJ_SIGNAL_COPY_ARRIVAL)
        watch_mbarrier(t);
    else if (t->is_read || read_source(t))
        write_destination(t);
}

// ---- signals

static cj_cpu_mbarrier *mbarrier_of(const cj_cpu_transfer *t) {
    return watch_mbarrier(t) ? cj__cpu_mbarrier_at(t->actor, &t->mbarrier) : NULL;
}

static bool signal_bytes(cj_cpu_async *async, cj_cpu_transfer *t) {
    cj_cpu_mbarrier *m = mbarrier_of(t);
    if (!m) return false;
    cj__sync_complete(&t->writer, t->is_proxy, &m->sync);
    const bool fits = cj__cpu_mbarrier_transact(t->actor, m, -(int64_t)t->bytes);
    cj__transfer_discard(async, t);
    return fits;
}

// Ends the copies of its thread before an arrival, which knows them from now on, as do the arrivals between the two, which are still
// to come, and the thread once it waits for their groups.
static void end_copies(cj_cpu_async *async, cj_cpu_transfer *arrival) {
    cj_cpu_groups   *groups = cj__transfer_groups(async, arrival);
    cj_cpu_transfer *first = groups->copied ? cj__transfer_own(groups, arrival->signal)->first : arrival;
    cj_clock        *copies = NULL;
    for (cj_cpu_transfer *t = first, *after; t != arrival; t = after) {
        after = cj__transfer_next_own(t);
        if (t->signal == CJ_SIGNAL_COPY_ARRIVAL) {
            cj__clock_join(&t->copies, copies);
            continue;
        }
        cj__watch_ended(&t->writer, &copies);
        groups->signalled_last = t->group;
        cj__transfer_discard(async, t);
    }
    cj__clock_join(&arrival->copies, copies);
    cj__clock_join(&groups->signalled, copies);
    cj__clock_drop(copies);
}

// The arrival of cp.async.mbarrier.arrive, once its thread's earlier copies are done.
static bool signal_arrival(cj_cpu_async *async, cj_cpu_transfer *t) {
    cj_cpu_mbarrier *m = mbarrier_of(t);
    if (!m) return false;
    end_copies(async, t);
    cj__clock_join(&m->sync.gathering, t->copies);
    cj__sync_complete(&t->writer, true, &m->sync);
    const bool fits = cj__cpu_mbarrier_arrive(t->actor, m, 1, false);
    cj__transfer_discard(async, t);
    return fits;
}

static bool signal_group(cj_cpu_async *async, cj_cpu_transfer *t) {
    async->signals += t->signal == CJ_SIGNAL_BULK_GROUP;
    if (!t->writer.block) {  // the launch is not watched
        cj__transfer_discard(async, t);
        return true;
    }
    cj__free(t->data);
    t->data = NULL;
    leave_stage(async, t);
    enter(async, t, CJ_STAGE_DONE);
    cj_cpu_groups *groups = cj__transfer_groups(async, t);
    groups->copied += t->signal == CJ_SIGNAL_COPY_GROUP;
    if (groups->copying == t) find_copying(async, groups, t);
    return true;
}

bool cj__transfer_step(cj_cpu_async *async, cj_cpu_transfer *t) {
    static bool (*const signals[])(cj_cpu_async * async, cj_cpu_transfer * t) = {
        [CJ_SIGNAL_MBARRIER] = signal_bytes,
        [CJ_SIGNAL_BULK_GROUP] = signal_group,
        [CJ_SIGNAL_COPY_GROUP] = signal_group,
        [CJ_SIGNAL_COPY_ARRIVAL] = signal_arrival,
    };
    if (!t->is_read) {
        if (!read_source(t)) return false;
        if (t->signal == CJ_SIGNAL_BULK_GROUP) {
            async->signals++;
            if (t->is_late) return true;
            const uint64_t late = lateness(t->actor.w->block->cluster);
            unmake_due(async, t);
            t->due = async->round + (late ? late : 1);
            make_due(async, t);
            return true;
        }
    }
    return write_destination(t) && signals[t->signal](async, t);
}
