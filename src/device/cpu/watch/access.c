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
static void check_peer(const cj_accessor *a, cj_cpu_cluster *cluster, const cj_cpu_block *self, cj_cpu_block *owner,
                       uint64_t offset, uint64_t bytes) {
    if (owner != self) owner->watch->remote = true;
    const bool entered = owner == self || cj__clock_met(a->now, CJ_VIEW_PROGRESS, cj__watch_index(owner));
    if (entered && (owner->live || owner == self)) return;
    cj__cpu_peer(cluster, entered ? CJ_HAZARD_PEER_EXITED : CJ_HAZARD_PEER_NOT_ENTERED, &a->access,
                 (cj_watch_place){owner, offset, bytes});
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
    const bool       is_write = order.use.flags & CJ_USE_WRITE, is_atomic = is_write && order.use.flags & CJ_USE_READ;
    cj_watch_subject s = {
        .w = w, .cluster = cluster, .owner = owner, .op = op, .mask = mask, .address = address, .begin = begin};
    cj_accessor a = {.access = {.block = cj__watch_index(w->block),
                                .time = cj__watch_time(w->watch, mask),
                                .group = (uint16_t)w->index,
                                .use = order.use,
                                .op = index},
                     .proxy = owner ? CJ_VIEW_SHARED : CJ_VIEW_GLOBAL,
                     .ranks = launch->ranks};
    CJ_SOME_LANES(i, mask) {
        const uint64_t offset = address[i] - begin;
        s.lane = i;
        a.access.mask = 1u << i;
        a.now = w->watch->now[i];
        if (owner && owner != w->block) check_peer(&a, cluster, w->block, owner, offset, bytes);
        cj__shadow_access(shadow, &a, offset, bytes, cj__watch_judge, &s);
        if (is_write) cj__undefined_write(w, i, shadow, owner, offset);
        if (is_atomic) {
            w->watch->atomic[i] = (cj_watch_atomic){shadow, offset};
        } else if (order.use.scope) {
            cj__watch_order_strong(w, i, shadow, offset, bytes, order, !is_write, is_write);
            a.access.time = w->watch->time;
        } else if (is_write) {
            cj__shadow_forget(shadow, offset, bytes);
        }
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
                          .now = w->watch->now[lane]};
    access_place(&a, &s, w->block, place);
    return CJ_STEP_NEXT;
}

cj_cpu_step cj__watch_async_access(const cj_watch_async *async, cj_watch_use use, cj_watch_place place,
                                   const unsigned char *written) {
    if (!async->block) return CJ_STEP_NEXT;
    const cj_agents  self = cj__watch_agent(async);
    cj_watch_subject s = {.cluster = async->block->cluster, .op = async->op, .written = written};
    cj_accessor      a = {.access = {.block = self.block,
                                     .time = async->time,
                                     .mask = self.mask,
                                     .group = self.group,
                                     .use = use,
                                     .op = (uint32_t)(async->op - s.cluster->launch->program->op)},
                          .now = async->now};
    access_place(&a, &s, async->block, place);
    return CJ_STEP_NEXT;
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
