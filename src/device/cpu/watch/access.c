// SPDX-License-Identifier: Apache-2.0
// Passes accesses to the shadow: finds the agent and the piece of memory.
#include "judge.h"
#include "lanes.h"
#include "learn.h"
#include "report.h"
#include "strong.h"
#include "undefined.h"

// The shadow of a block's shared memory, or of an allocation in global memory; NULL: out of memory.
static cj_shadow *shadow_of(const cj_cpu_launch *launch, const cj_cpu_block *owner, const cj_cpu_range *range) {
    if (owner) return owner->watch->shared;
    cj_shadow **at = &launch->watch->global[range - launch->ranges->range];
    cj_shadow  *shadow = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (shadow) return shadow;
    pthread_mutex_lock(&launch->watch->lock);
    shadow = *at ? *at : cj__shadow_new(range->end - range->begin, range);
    __atomic_store_n(at, shadow, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&launch->watch->lock);
    return shadow;
}

// A block may access another block's shared memory only after that block has certainly started and before it can exit.
static bool may_access(const cj_accessor *a, const cj_cpu_block *self, cj_cpu_block *owner) {
    if (owner == self) return true;
    owner->watch->remote = true;
    return owner->live && cj__clock_met(a->now, cj__watch_index(owner));
}

static void check_peer(const cj_accessor *a, cj_cpu_cluster *cluster, const cj_cpu_block *self, cj_cpu_block *owner,
                       uint64_t offset, uint64_t bytes) {
    if (may_access(a, self, owner)) return;
    const bool entered = cj__clock_met(a->now, cj__watch_index(owner));
    cj__cpu_peer(cluster, entered ? CJ_HAZARD_PEER_EXITED : CJ_HAZARD_PEER_NOT_ENTERED, &a->access,
                 (cj_watch_place){owner, offset, bytes});
}

// Lanes of one weak access that share a clock and lie side by side or, if they read, at one address: those that the
// shadow can be asked for at once.
typedef struct batch {
    uint32_t lanes;
    bool     is_together;
} batch;

static batch next_batch(const cj_watch_warp *watch, uint32_t mask, const uint64_t *address, uint64_t bytes,
                        bool is_read) {
    const unsigned first = cj__cpu_first(mask);
    unsigned       end = first + 1;
    batch          found = {.lanes = 1u << first};
    if (end < CJ_LANES && mask >> end & 1 && is_read) found.is_together = address[end] == address[first];
    const uint64_t step = found.is_together ? 0 : bytes;
    while (end < CJ_LANES && mask >> end & 1 && address[end] == address[end - 1] + step &&
           watch->now[end] == watch->now[first])
        found.lanes |= 1u << end++;
    return found;
}

// Reports a batch to the shadow. False: there is something to report, lane by lane.
static bool reach_quietly(cj_watch_subject *s, cj_shadow *shadow, cj_accessor *a, batch some) {
    const uint64_t bytes = (uint64_t)s->op->bytes * s->op->count,
                   offset = s->address[cj__cpu_first(some.lanes)] - s->begin;
    a->now = s->w->watch->now[cj__cpu_first(some.lanes)];
    if (s->owner && !may_access(a, s->w->block, s->owner)) return false;
    if (!(some.is_together ? cj__shadow_read_together(shadow, a, some.lanes, offset, bytes)
                           : cj__shadow_side_by_side(shadow, a, some.lanes, offset, bytes)))
        return false;
    if (a->access.use.flags != CJ_USE_WRITE) return true;
    if (s->w->undefined)
        CJ_SOME_LANES(i, some.lanes) cj__undefined_write(s->w, i, shadow, s->owner, s->address[i] - s->begin);
    cj__shadow_forget(shadow, offset, bytes * (unsigned)__builtin_popcount(some.lanes));
    return true;
}

// Atomics of lanes, if those order no other accesses. Returns the lanes that may have something to report.
static uint32_t reach_atomics(const cj_watch_subject *s, cj_shadow *shadow, cj_accessor *a, cj_watch_order order) {
    const bool is_own = !s->owner || s->owner == s->w->block;
    uint32_t   left = 0;
    if (!is_own || s->w->undefined || cj__watch_is_ordering(s->w, s->mask, shadow, order)) return s->mask;
    for (uint32_t rest = s->mask, same; rest; rest &= ~same) {
        same = cj__watch_alike(s->w->watch, rest);
        a->now = s->w->watch->now[cj__cpu_first(rest)];
        left |= cj__shadow_atomics(shadow, a, same, s->address, s->begin, (uint64_t)s->op->bytes * s->op->count);
    }
    s->w->watch->ordering &= ~(s->mask & ~left);
    return left;
}

static void reach_one_by_one(cj_watch_subject *s, cj_shadow *shadow, cj_accessor *a, cj_watch_order order,
                             uint32_t lanes) {
    const bool     is_write = order.use.flags & CJ_USE_WRITE, is_atomic = is_write && order.use.flags & CJ_USE_READ;
    const uint64_t bytes = (uint64_t)s->op->bytes * s->op->count;
    cj_cpu_warp   *w = s->w;
    CJ_SOME_LANES(i, lanes) {
        const uint64_t offset = s->address[i] - s->begin;
        s->lane = i;
        a->access.mask = 1u << i;
        a->now = w->watch->now[i];
        if (s->owner) check_peer(a, s->cluster, w->block, s->owner, offset, bytes);
        cj__shadow_access(shadow, a, offset, bytes, cj__watch_judge, s);
        if (is_write && w->undefined) cj__undefined_write(w, i, shadow, s->owner, offset);
        if (is_atomic) {
            w->watch->atomic[i] = (cj_watch_atomic){shadow, offset};
            w->watch->ordering |= 1u << i;
        } else if (order.use.scope) {
            cj__watch_order_strong(w, i, shadow, offset, bytes, order, !is_write, is_write);
            a->access.time = w->watch->time;
        } else if (is_write) {
            cj__shadow_forget(shadow, offset, bytes);
        }
    }
}

void cj__watch_reach(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, cj_cpu_block *owner, uint64_t begin,
                     const uint64_t *address) {
    cj_cpu_cluster      *cluster = w->block->cluster;
    const cj_cpu_launch *launch = cluster->launch;
    const uint32_t       index = (uint32_t)(op - launch->program->op);
    const cj_watch_order order = launch->watch->order[index];
    const uint64_t       bytes = (uint64_t)op->bytes * op->count;
    cj_shadow           *shadow = shadow_of(launch, owner, w->range);
    if (!shadow) return;
    if (!owner) cj__watch_lock_lanes(cluster, mask, address, bytes);
    cj_watch_subject s = {
        .w = w, .cluster = cluster, .owner = owner, .op = op, .mask = mask, .address = address, .begin = begin};
    cj_accessor a = {.access = {.block = cj__watch_index(w->block),
                                .time = cj__watch_time(w->watch, mask),
                                .group = (uint16_t)w->index,
                                .use = order.use,
                                .op = index},
                     .memo = w->watch->memo,
                     .proxy = owner ? CJ_VIEW_SHARED : CJ_VIEW_GLOBAL,
                     .ranks = launch->ranks, .gpus = launch->gpus};
    if (order.use.scope) {
        if (order.use.flags & CJ_USE_READ && order.use.flags & CJ_USE_WRITE)
            mask = reach_atomics(&s, shadow, &a, order);
        reach_one_by_one(&s, shadow, &a, order, mask);
        return;
    }
    while (mask) {
        const batch some = next_batch(w->watch, mask, address, bytes, order.use.flags == CJ_USE_READ);
        if (!reach_quietly(&s, shadow, &a, some)) reach_one_by_one(&s, shadow, &a, order, some.lanes);
        mask &= ~some.lanes;
    }
}

static void access_place(cj_accessor *a, cj_watch_subject *s, const cj_cpu_block *self, cj_watch_place place) {
    const cj_cpu_launch *launch = s->cluster->launch;
    const cj_cpu_range  *range = place.block ? NULL
                                             : cj__cpu_ranges_find(launch->ranges, place.address, place.bytes, NULL);
    if (!place.block && !range) return;
    cj_shadow *shadow = shadow_of(launch, place.block, range);
    if (!place.block) cj__watch_lock_place(s->cluster, place.address, place.bytes);
    s->owner = place.block;
    s->begin = range ? range->begin : 0;
    s->from = place.address - s->begin;
    a->proxy = place.block ? CJ_VIEW_SHARED : CJ_VIEW_GLOBAL;
    if (a->access.use.flags & CJ_USE_TENSORMAP) {
        a->proxy = CJ_VIEW_TENSORMAP;
        a->access.use.flags = CJ_USE_READ | CJ_USE_ASYNC_PROXY;
    }
    a->ranks = launch->ranks;
    a->gpus = launch->gpus;
    if (place.block) check_peer(a, s->cluster, self, place.block, place.address, place.bytes);
    if (shadow) cj__shadow_access(shadow, a, place.address - s->begin, place.bytes, cj__watch_judge, s);
    if (shadow && a->access.use.flags & CJ_USE_WRITE && !a->access.use.scope) {
        cj__shadow_forget(shadow, place.address - s->begin, place.bytes);
    }
}

cj_cpu_step cj__watch_access(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_watch_use use,
                             cj_watch_place place) {
    if (!w->watch) return CJ_STEP_NEXT;
    cj_watch_subject s = {.w = w, .lane = lane, .cluster = w->block->cluster, .op = op};
    cj_accessor      a = {.access = {.block = cj__watch_index(w->block),
                                     .time = cj__watch_time(w->watch, 1u << lane),
                                     .mask = 1u << lane,
                                     .group = (uint16_t)w->index,
                                     .use = use,
                                     .op = (uint32_t)(op - w->block->cluster->launch->program->op)},
                          .now = w->watch->now[lane],
                          .memo = w->watch->memo};
    access_place(&a, &s, w->block, place);
    return CJ_STEP_NEXT;
}

void cj__watch_access_together(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t lanes, cj_watch_use use,
                               cj_watch_place place) {
    if (!w->watch) return;
    const cj_cpu_launch *launch = w->block->cluster->launch;
    cj_accessor          a = {.access = {.block = cj__watch_index(w->block),
                                         .time = cj__watch_time(w->watch, lanes),
                                         .group = (uint16_t)w->index,
                                         .use = use,
                                         .op = (uint32_t)(op - launch->program->op)},
                              .memo = w->watch->memo,
                              .proxy = CJ_VIEW_SHARED,
                              .ranks = launch->ranks, .gpus = launch->gpus};
    for (uint32_t rest = lanes, same; rest; rest &= ~same) {
        same = cj__watch_alike(w->watch, rest);
        a.now = w->watch->now[cj__cpu_first(rest)];
        if (place.block == w->block &&
            cj__shadow_read_together(place.block->watch->shared, &a, same, place.address, place.bytes))
            continue;
        CJ_SOME_LANES(i, same) cj__watch_access(w, op, i, use, place);
    }
}

static cj_accessor accessor_of(const cj_watch_async *async, cj_watch_use use, cj_shadow_memo *memo) {
    const cj_cpu_launch *launch = async->block->cluster->launch;
    const cj_agents      self = cj__watch_agent(async);
    return (cj_accessor){.access = {.block = self.block,
                                    .time = async->time,
                                    .mask = self.mask,
                                    .group = self.group,
                                    .use = use,
                                    .op = (uint32_t)(async->op - launch->program->op)},
                         .now = async->now,
                         .memo = memo,
                         .proxy = CJ_VIEW_SHARED,
                         .ranks = launch->ranks, .gpus = launch->gpus};
}

cj_cpu_step cj__watch_async_access(const cj_watch_async *async, cj_watch_use use, cj_watch_place place,
                                   const unsigned char *written) {
    if (!async->block) return CJ_STEP_NEXT;
    cj_shadow_memo   memo[CJ_SHADOW_MEMOS] = {0};
    cj_watch_subject s = {.cluster = async->block->cluster, .op = async->op, .written = written};
    cj_accessor      a = accessor_of(async, use, memo);
    access_place(&a, &s, async->block, place);
    return CJ_STEP_NEXT;
}

static void access_pieces(const cj_watch_async *async, cj_accessor *a, const cj_watch_piece *piece, unsigned pieces) {
    cj_watch_subject s = {.cluster = async->block->cluster, .owner = async->block, .op = async->op};
    for (unsigned i = 0; i < pieces; i++)
        cj__shadow_access(async->block->watch->shared, a, piece[i].address, piece[i].bytes, cj__watch_judge, &s);
}

void cj__watch_async_together(const cj_watch_async *const *async, unsigned count, cj_watch_use use,
                              const cj_watch_piece *piece, unsigned pieces) {
    if (!async[0]->block) return;
    cj_shadow_memo memo[CJ_SHADOW_MEMOS] = {0};
    cj_accessor    first = accessor_of(async[0], use, memo);
    access_pieces(async[0], &first, piece, pieces);
    use.flags |= CJ_USE_COVERED;
    for (unsigned i = 1; i < count; i++) {
        if (!async[i]->block || cj__shadow_suffices(&first, async[i]->now)) continue;
        cj_shadow_memo its[CJ_SHADOW_MEMOS] = {0};
        cj_accessor    other = accessor_of(async[i], use, its);
        access_pieces(async[i], &other, piece, pieces);
    }
}

void cj__watch_renew(cj_cpu_warp *w, uint64_t address, uint64_t bytes) {
    cj_cpu_cluster     *cluster = w->block->cluster;
    const cj_cpu_range *range = w->watch ? cj__cpu_ranges_find(cluster->launch->ranges, address, bytes, NULL) : NULL;
    if (!range) return;
    cj_shadow *shadow = shadow_of(cluster->launch, NULL, range);
    cj__watch_lock_place(cluster, address, bytes);
    cj__cpu_written_clear(range, address - range->begin, bytes);
    if (shadow) cj__shadow_renew(shadow, address - range->begin, bytes);
}
