// SPDX-License-Identifier: Apache-2.0
// Clocks of threads and operations, and what orders them. watch.h tells the words, shadow.c finds the conflicts,
// hazard.c reports them.
//
// A launch that is watched runs on one host thread: global memory has one shadow then, and what orders two clusters is
// seen in the order in which it happened. Clusters still take turns, so that one may wait for another.
#include "watch.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "exec.h"
#include "judge.h"
#include "undefined.h"

// What an op does to memory and order.
typedef struct op_order {
    cj_watch_use use;
    bool         acquire, release;
    bool         is_guess;  // a weak load of what a compare-and-swap of the same place then compares with
} op_order;

struct cj_watch {
    op_order   *order;   // of each op
    cj_shadow **global;  // of each range of the launch, once it is accessed
    struct {
        cj_shadow *shadow;
        uint64_t   offset;
    } atomic[CJ_LANES];  // where the lanes of the running atomic access
};

// What a releasing fence of a lane released: what the lane knew and did until then.
typedef struct fenced {
    cj_clock *clock;
    uint32_t  time;  // 0: there was none
} fenced;

struct cj_watch_warp {
    uint32_t  time;    // of the warp: stands in its accesses, steps at each release
    uint32_t  forked;  // the lanes that have begun an operation at this time; what they do next is later
    uint32_t  whole;   // the lanes that it began with
    cj_clock *now[CJ_LANES];
    cj_clock *pending[CJ_LANES][CJ_SCOPES];  // what was read of, for a fence of this scope or a wider one
    fenced    fenced[CJ_LANES][CJ_SCOPES];   // the lane's last fence of each scope, but for those before a wider one
    uint32_t  passed[3][CJ_LANES];           // time of the lane's last fence for the views SHARED, GLOBAL, INIT
};

// Operations of thread t are agents t + stride, t + 2 * stride, …: one that is known to its thread lends its number to
// the next, whose later time then stands for both. So there are as many as a thread has under way at once.
typedef struct chain {
    uint32_t time;
    bool     busy;
} chain;

struct cj_watch_block {
    cj_shadow    *shared;
    bool          remote;  // others have accessed its shared memory
    cj_clock     *exits;   // what its threads knew when they exited
    chain        *chain;   // of agents from stride on
    uint32_t      chain_count, chain_capacity;
    cj_watch_warp warp[];
};

static uint32_t stride_of(const cj_cpu_launch *launch) { return launch->warps * CJ_LANES; }

static uint32_t index_of(const cj_cpu_block *block) {
    return (uint32_t)(block->cluster->index * block->cluster->launch->ranks) + block->rank;
}

static cj_agents agents_of(const cj_cpu_warp *w, uint32_t mask) {
    return (cj_agents){.block = index_of(w->block),
                       .group = (uint16_t)w->index,
                       .warps = (uint16_t)w->block->cluster->launch->warps,
                       .mask = mask,
                       .whole = mask == w->watch->whole};
}

static cj_agents agent_of(const cj_watch_async *async) {
    return (cj_agents){.block = index_of(async->block),
                       .group = (uint16_t)(async->agent / CJ_LANES),
                       .warps = (uint16_t)async->block->cluster->launch->warps,
                       .mask = 1u << async->agent % CJ_LANES};
}

// ---- what lanes learn and give

// The lanes of `mask` learn what a clock knows; those with one clock before have one afterwards.
static void learn(cj_watch_warp *watch, uint32_t mask, const cj_clock *what,
                  void (*join)(cj_clock **, const cj_clock *)) {
    for (uint32_t rest = what ? mask : 0, same; rest; rest &= ~same) {
        cj_clock *before = watch->now[cj__cpu_first(rest)], *after = cj__clock_hold(before);
        same = 0;
        join(&after, what);
        CJ_SOME_LANES(i, rest) {
            if (watch->now[i] != before) continue;
            same |= 1u << i;
        }
        CJ_SOME_LANES(i, same) {
            cj__clock_hold(after);
            cj__clock_drop(watch->now[i]);
            watch->now[i] = after;
        }
        cj__clock_drop(after);
    }
}

static void join_progress(cj_clock **into, const cj_clock *from) {
    cj__clock_join_view(into, CJ_VIEW_PROGRESS, from, CJ_VIEW_PROGRESS);
}

// In a view, *into learns these lanes up to their times; of lanes with the time 0, nothing.
static void add_times(const cj_cpu_warp *w, uint32_t mask, cj_clock **into, cj_view view, const uint32_t *times) {
    for (uint32_t rest = mask, same; rest; rest &= ~same) {
        const uint32_t time = times[cj__cpu_first(rest)];
        same = 0;
        CJ_SOME_LANES(i, rest) {
            if (times[i] == time) same |= 1u << i;
        }
        if (time) cj__clock_add(into, view, agents_of(w, same), time);
    }
}

static void add_passed(const cj_cpu_warp *w, uint32_t mask, cj_clock **into) {
    for (unsigned k = 0; k < 3; k++) add_times(w, mask, into, (cj_view)(CJ_VIEW_SHARED + k), w->watch->passed[k]);
}

static void step_time(cj_watch_warp *watch) {
    watch->time++;
    watch->forked = 0;
}

// The time of what these lanes do next.
static uint32_t time_of(cj_watch_warp *watch, uint32_t mask) {
    if (watch->forked & mask) step_time(watch);
    return watch->time;
}

// *into learns all that these lanes know and did.
static void tell(const cj_cpu_warp *w, uint32_t mask, cj_clock **into) {
    const cj_watch_warp *watch = w->watch;
    CJ_SOME_LANES(i, mask) cj__clock_join(into, watch->now[i]);
    cj__clock_add(into, CJ_VIEW_MEMORY, agents_of(w, mask), watch->time);
    cj__clock_add(into, CJ_VIEW_PROGRESS, agents_of(w, mask), watch->time);
    add_passed(w, mask, into);
}

// The same, and what they do next is later.
static void give(cj_cpu_warp *w, uint32_t mask, cj_clock **into) {
    tell(w, mask, into);
    step_time(w->watch);
}

// *into learns what a lane's last releasing fence of this scope released.
static void give_fenced(cj_cpu_warp *w, unsigned lane, unsigned scope, cj_clock **into) {
    const cj_watch_warp *watch = w->watch;
    const fenced        *before = &watch->fenced[lane][scope];
    const cj_agents      self = agents_of(w, 1u << lane);
    if (!before->time) return;
    cj__clock_join(into, before->clock);
    cj__clock_add(into, CJ_VIEW_MEMORY, self, before->time);
    cj__clock_add(into, CJ_VIEW_PROGRESS, self, before->time);
    for (unsigned k = 0; k < 3; k++) {
        const uint32_t time = watch->passed[k][lane];
        if (time && time <= before->time) cj__clock_add(into, (cj_view)(CJ_VIEW_SHARED + k), self, time);
    }
}

void cj__sync_release(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order) {
    if (!w->watch) return;
    if (order == CJ_ORDER_FULL) {
        give(w, mask, &sync->gathering);
        return;
    }
    CJ_SOME_LANES(i, mask) {
        for (unsigned k = 0; k < CJ_SCOPES; k++) give_fenced(w, i, k, &sync->gathering);
        join_progress(&sync->gathering, w->watch->now[i]);
    }
    add_times(w, mask, &sync->gathering, CJ_VIEW_INIT, w->watch->passed[CJ_VIEW_INIT - CJ_VIEW_SHARED]);
    cj__clock_add(&sync->gathering, CJ_VIEW_PROGRESS, agents_of(w, mask), w->watch->time);
    step_time(w->watch);
}

// Where a scope stands among those that are told apart.
static unsigned slot_of(unsigned scope) { return (scope > CJ_SCOPE_GPU ? CJ_SCOPE_GPU : scope) - CJ_SCOPE_CTA; }

void cj__sync_acquire(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order) {
    if (!w->watch) return;
    learn(w->watch, mask, sync->complete, order == CJ_ORDER_FULL ? cj__clock_join : join_progress);
    if (order == CJ_ORDER_FULL) return;
    CJ_SOME_LANES(i, mask) cj__clock_join(&w->watch->pending[i][slot_of(CJ_SCOPE_CLUSTER)], sync->complete);
}

void cj__watch_meet(cj_cpu_warp *w, uint32_t mask) {
    if (!w->watch) return;
    cj_clock *all = NULL;
    give(w, mask, &all);
    learn(w->watch, mask, all, cj__clock_join);
    cj__clock_drop(all);
}

void cj__watch_barrier(cj_cpu_block *block, cj_cpu_barrier *barrier) {
    if (!block->watch) return;
    for (uint32_t i = 0; i < block->cluster->launch->warps; i++) {
        if (barrier->waits[i]) learn(block->warp[i].watch, barrier->waits[i], barrier->sync.gathering, cj__clock_join);
    }
    cj__sync_free(&barrier->sync);
}

// ---- fences

static void fence_acquire(cj_watch_warp *watch, unsigned lane, cj_scope scope) {
    for (unsigned i = 0; i <= slot_of(scope); i++) {
        cj_clock **read = &watch->pending[lane][i];
        learn(watch, 1u << lane, *read, cj__clock_join);
        cj__clock_drop(*read);
        *read = NULL;
    }
}

static void fence_release(cj_watch_warp *watch, unsigned lane, cj_scope scope) {
    fenced *last = watch->fenced[lane];
    for (unsigned i = 0; i <= slot_of(scope); i++) {
        cj__clock_drop(last[i].clock);
        last[i] = (fenced){0};
    }
    last[slot_of(scope)] = (fenced){cj__clock_hold(watch->now[lane]), watch->time};
}

static void join_shared(cj_clock **into, const cj_clock *from) {
    cj__clock_join_view(into, CJ_VIEW_SHARED, from, CJ_VIEW_MEMORY);
}

static void join_global(cj_clock **into, const cj_clock *from) {
    cj__clock_join_view(into, CJ_VIEW_GLOBAL, from, CJ_VIEW_MEMORY);
}

// What the lanes know and did passes into the view.
static void fence_proxy(cj_watch_warp *watch, uint32_t mask, cj_view view) {
    for (uint32_t rest = mask, same; rest; rest &= ~same) {
        cj_clock *now = cj__clock_hold(watch->now[cj__cpu_first(rest)]);
        same = 0;
        CJ_SOME_LANES(i, rest) {
            if (watch->now[i] == now) same |= 1u << i;
        }
        learn(watch, same, now, view == CJ_VIEW_SHARED ? join_shared : join_global);
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
    CJ_SOME_LANES(i, mask) {
        if (fences & CJ_FENCE_INIT) watch->passed[CJ_VIEW_INIT - CJ_VIEW_SHARED][i] = watch->time;
        if (fences & CJ_FENCE_RELEASE) fence_release(watch, i, scope);
    }
    step_time(watch);
}

// ---- atomics and strong accesses at a location

static cj_scope distance(const cj_cpu_launch *launch, uint32_t a, uint32_t b) {
    return a == b ? CJ_SCOPE_CTA : a / launch->ranks == b / launch->ranks ? CJ_SCOPE_CLUSTER : CJ_SCOPE_GPU;
}

// The lane has read what was written there.
static void acquire_at(cj_cpu_warp *w, unsigned lane, const cj_location *location, op_order order) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    for (unsigned i = 0; i < CJ_SCOPES; i++) {
        const cj_released *released = &location->released[i];
        cj_scope           needed = distance(launch, released->block, index_of(w->block));
        if (needed < released->spread) needed = released->spread;
        if (!released->clock || slot_of(needed) > i || slot_of(needed) > slot_of(order.use.scope)) continue;
        if (order.acquire)
            learn(w->watch, 1u << lane, released->clock, cj__clock_join);
        else
            cj__clock_join(&w->watch->pending[lane][slot_of(needed)], released->clock);
    }
}

// What is released there with this scope, now by this block too.
static cj_clock **open_released(const cj_cpu_warp *w, cj_location *location, unsigned scope) {
    cj_released   *released = &location->released[scope];
    const uint32_t self = index_of(w->block);
    if (!released->clock) *released = (cj_released){.block = self};
    const cj_scope far = distance(w->block->cluster->launch, released->block, self);
    if (far > released->spread && far > CJ_SCOPE_CTA) released->spread = far;
    return &released->clock;
}

// The lane writes there, with what it releases itself, or what its last fences did, each as far as both reach.
static void release_at(cj_cpu_warp *w, unsigned lane, cj_location *location, op_order order) {
    const unsigned scope = slot_of(order.use.scope);
    if (order.release) {
        give(w, 1u << lane, open_released(w, location, scope));
        return;
    }
    for (unsigned i = 0; i < CJ_SCOPES; i++) {
        if (!w->watch->fenced[lane][i].time) continue;
        give_fenced(w, lane, i, open_released(w, location, i < scope ? i : scope));
    }
}

static bool releases(const cj_cpu_warp *w, unsigned lane, op_order order) {
    const fenced *last = w->watch->fenced[lane];
    return order.release || last[0].time || last[1].time || last[2].time;
}

static void order_strong(cj_cpu_warp *w, unsigned lane, cj_shadow *shadow, uint64_t offset, uint64_t bytes,
                         op_order order, bool reads, bool writes) {
    cj_location *location = cj__shadow_location(shadow, offset, false);
    if (reads && location) acquire_at(w, lane, location, order);
    if (!writes) return;
    if (!reads) cj__shadow_forget(shadow, offset, bytes);
    if (!releases(w, lane, order)) return;
    if (!location) location = cj__shadow_location(shadow, offset, true);
    if (location) release_at(w, lane, location, order);
}

void cj__watch_atomic(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, bool wrote) {
    if (!w->watch) return;
    const cj_cpu_launch *launch = w->block->cluster->launch;
    const cj_watch      *watch = launch->watch;
    if (!watch->atomic[lane].shadow) return;
    order_strong(w, lane, watch->atomic[lane].shadow, watch->atomic[lane].offset, op->bytes,
                 watch->order[op - launch->program->op], true, wrote);
}

// ---- accesses

// The shadow of a block's shared memory, or of a global range; NULL when out of memory.
static cj_shadow *shadow_of(const cj_cpu_launch *launch, const cj_cpu_block *owner, const cj_cpu_range *range) {
    if (owner) return owner->watch->shared;
    cj_shadow **shadow = &launch->watch->global[range - launch->ranges->range];
    if (!*shadow) *shadow = cj__shadow_new(range->end - range->begin, range);
    return *shadow;
}

// A peer's shared memory may be accessed only from when it has certainly started until it can exit.
static void check_peer(const cj_accessor *a, cj_cpu_cluster *cluster, const cj_cpu_block *self, cj_cpu_block *owner,
                       uint64_t offset, uint64_t bytes) {
    if (owner != self) owner->watch->remote = true;
    const bool entered = owner == self || cj__clock_met(a->now, CJ_VIEW_PROGRESS, index_of(owner));
    if (entered && owner->live) return;
    cj__cpu_peer(cluster, entered ? CJ_HAZARD_PEER_EXITED : CJ_HAZARD_PEER_NOT_ENTERED, &a->access,
                 (cj_watch_place){owner, offset, bytes});
}

void cj__watch_reach(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, cj_cpu_block *owner, uint64_t begin,
                     const uint64_t *address) {
    cj_cpu_cluster      *cluster = w->block->cluster;
    const cj_cpu_launch *launch = cluster->launch;
    const uint32_t       index = (uint32_t)(op - launch->program->op);
    const op_order       order = launch->watch->order[index];
    const uint64_t       bytes = (uint64_t)op->bytes * op->count;
    cj_shadow           *shadow = shadow_of(launch, owner, w->range);
    if (!shadow) return;
    const bool       is_write = order.use.flags & CJ_USE_WRITE, is_atomic = is_write && order.use.flags & CJ_USE_READ;
    cj_watch_subject s = {
        .w = w, .cluster = cluster, .owner = owner, .op = op, .mask = mask, .address = address, .begin = begin};
    cj_accessor a = {.access = {.block = index_of(w->block),
                                .time = time_of(w->watch, mask),
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
            launch->watch->atomic[i].shadow = shadow;
            launch->watch->atomic[i].offset = offset;
        } else if (order.use.scope) {
            order_strong(w, i, shadow, offset, bytes, order, !is_write, is_write);
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
    s->owner = place.block;
    s->begin = range ? range->begin : 0;
    s->from = place.address - s->begin;
    a->proxy = place.block ? CJ_VIEW_SHARED : CJ_VIEW_GLOBAL;
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
    cj_accessor      a = {.access = {.block = index_of(w->block),
                                     .time = time_of(w->watch, 1u << lane),
                                     .mask = 1u << lane,
                                     .group = (uint16_t)w->index,
                                     .use = use,
                                     .op = (uint32_t)(op - w->block->cluster->launch->program->op)},
                          .now = w->watch->now[lane]};
    access_place(&a, &s, w->block, place);
    return CJ_STEP_NEXT;
}

// ---- asynchronous operations

// One more agent for every thread. Room is made for twice as many, since there may be thousands.
static bool add_chains(cj_watch_block *watch, uint32_t stride) {
    const uint32_t count = watch->chain_count + stride;
    if (count > watch->chain_capacity) {
        const uint32_t capacity = 2 * watch->chain_capacity > count ? 2 * watch->chain_capacity : count;
        chain         *more = realloc(watch->chain, capacity * sizeof *more);
        if (!more) return cj__watch_starved = true, false;
        watch->chain = more;
        watch->chain_capacity = capacity;
    }
    memset(watch->chain + watch->chain_count, 0, stride * sizeof *watch->chain);
    watch->chain_count = count;
    return true;
}

// An agent of the thread that no operation under way uses, and all of whose past the thread knows. Where more are under
// way than can be told apart, the last: it stands for several then, and a race among them may be missed. 0: no memory.
static uint16_t choose_agent(cj_cpu_warp *w, unsigned lane) {
    cj_watch_block *watch = w->block->watch;
    const uint32_t  stride = stride_of(w->block->cluster->launch), thread = w->index * CJ_LANES + lane;
    for (uint32_t at = thread;; at += stride) {
        if (at >= watch->chain_count && !add_chains(watch, stride)) return 0;
        const uint32_t agent = at + stride;
        if (agent + stride > UINT16_MAX) return (uint16_t)agent;
        const cj_agents agents = {
            .block = index_of(w->block), .group = (uint16_t)(agent / CJ_LANES), .mask = 1u << lane};
        const chain *before = &watch->chain[at];
        if (before->busy) continue;
        if (!before->time) return (uint16_t)agent;  // it has no past
        if (!cj__clock_unknown(w->watch->now[lane], CJ_VIEW_MEMORY, &agents, before->time)) return (uint16_t)agent;
    }
}

cj_watch_async cj__watch_fork(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane) {
    cj_watch_async async = {0};
    if (!w->watch) return async;
    async.agent = choose_agent(w, lane);
    if (!async.agent) return async;
    async.block = w->block;
    async.op = op;
    async.thread = w->index * CJ_LANES + lane;
    chain *mine = &w->block->watch->chain[async.agent - stride_of(w->block->cluster->launch)];
    mine->busy = true;
    async.time = ++mine->time;
    if (w->watch->forked & 1u << lane) step_time(w->watch);
    tell(w, 1u << lane, &async.now);
    w->watch->forked |= 1u << lane;
    return async;
}

void cj__watch_end(cj_watch_async *async) {
    if (!async->block) return;
    cj_watch_block *watch = async->block->watch;
    const uint32_t  stride = stride_of(async->block->cluster->launch);
    if (async->agent - stride < watch->chain_count) watch->chain[async->agent - stride].busy = false;
    cj__clock_drop(async->now);
    *async = (cj_watch_async){0};
}

cj_cpu_step cj__watch_async_access(const cj_watch_async *async, cj_watch_use use, cj_watch_place place,
                                   const unsigned char *written) {
    if (!async->block) return CJ_STEP_NEXT;
    const cj_agents  self = agent_of(async);
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

static void add_async(const cj_watch_async *async, cj_clock **into) {
    // Its writes are visible to both proxies: completion has the fence in it.
    for (cj_view view = CJ_VIEW_MEMORY; view <= CJ_VIEW_GLOBAL; view++) {
        cj__clock_add(into, view, agent_of(async), async->time);
    }
    cj__clock_add(into, CJ_VIEW_PROGRESS, agent_of(async), async->time);
}

void cj__watch_join(cj_cpu_warp *w, uint32_t mask, const cj_watch_async *async) {
    if (!w->watch || !async->block) return;
    cj_clock *its = NULL;
    add_async(async, &its);
    learn(w->watch, mask, its, cj__clock_join);
    cj__clock_drop(its);
}

void cj__sync_complete(const cj_watch_async *async, bool is_proxy, cj_sync *sync) {
    if (!async->block) return;
    add_async(async, &sync->gathering);
    if (!is_proxy) cj__clock_join(&sync->gathering, async->now);
}

// ---- the launch

static const struct {
    cj_word  word;
    cj_scope scope;
} scopes[] = {{CJ_W_CTA, CJ_SCOPE_CTA},
              {CJ_W_CLUSTER, CJ_SCOPE_CLUSTER},
              {CJ_W_GPU, CJ_SCOPE_GPU},
              {CJ_W_GL, CJ_SCOPE_GPU},
              {CJ_W_SYS, CJ_SCOPE_SYS}};

cj_scope cj__watch_scope(const cj_mnemonic *mnemonic, cj_scope otherwise) {
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        if (cj__mnemonic_has(mnemonic, scopes[i].word)) return scopes[i].scope;
    }
    return otherwise;
}

// Loads and stores are strong where they say so, atomics always; volatile is relaxed among all threads.
static op_order order_of(const cj_cpu_op *op) {
    if (!op->inst || !(op->inst->row->effects & (CJ_READS | CJ_WRITES))) return (op_order){0};
    const cj_mnemonic *m = op->inst->mnemonic;
    const bool         reads = op->inst->row->effects & CJ_READS, writes = op->inst->row->effects & CJ_WRITES;
    const bool         both = cj__mnemonic_has(m, CJ_W_ACQ_REL);
    const cj_scope     least = cj__mnemonic_has(m, CJ_W_VOLATILE) ? CJ_SCOPE_SYS
                               : reads && writes                  ? CJ_SCOPE_GPU
                                                                  : CJ_SCOPE_WEAK;
    return (op_order){.use = {.flags = (uint8_t)((reads ? CJ_USE_READ : 0) | (writes ? CJ_USE_WRITE : 0)),
                              .scope = (uint8_t)cj__watch_scope(m, least)},
                      .acquire = both || cj__mnemonic_has(m, CJ_W_ACQUIRE),
                      .release = both || cj__mnemonic_has(m, CJ_W_RELEASE)};
}

// Marks the weak loads with which compare-and-swap loops begin: of what the swap has at its memory operand.
static void find_guesses(const cj_cpu_program *program, op_order *order) {
    for (size_t i = 0; i < program->op_count; i++) {
        const cj_cpu_op *swap = &program->op[i];
        if (!(order[i].use.flags & CJ_USE_WRITE) || !cj__mnemonic_has(swap->inst->mnemonic, CJ_W_CAS)) continue;
        for (size_t k = 0; k < program->op_count; k++) {
            const bool is_load = order[k].use.flags == CJ_USE_READ && !order[k].use.scope;
            order[k].is_guess |= is_load && cj__watch_guesses(program, &program->op[k], swap);
        }
    }
}

bool cj__watch_is_guess(const cj_cpu_launch *launch, uint32_t op) { return launch->watch->order[op].is_guess; }

cj_status cj__watch_open(cj_cpu_launch *launch, cj_error *error) {
    const cj_cpu_program *program = launch->program;
    cj_watch             *watch = calloc(1, sizeof *watch);
    launch->watch = watch;
    cj__watch_starved = false;
    launch->undefined = cj__undefined_open(program);
    if (watch) {
        watch->order = calloc(program->op_count + 1, sizeof *watch->order);
        watch->global = calloc(launch->ranges->count + 1, sizeof(cj_shadow *));
    }
    if (!watch || !watch->order || !watch->global || !launch->undefined) {
        return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to watch %s", program->entry->name);
    }
    for (size_t i = 0; i < program->op_count; i++) watch->order[i] = order_of(&program->op[i]);
    find_guesses(program, watch->order);
    return CJ_OK;
}

void cj__watch_close(cj_cpu_launch *launch) {
    cj_watch *watch = launch->watch;
    cj__undefined_close(launch->undefined);
    launch->undefined = NULL;
    if (!watch) return;
    for (size_t i = 0; watch->global && i < launch->ranges->count; i++) {
        if (watch->global[i]) cj__shadow_settle(watch->global[i]);
        cj__shadow_free(watch->global[i]);
    }
    free(watch->global);
    free(watch->order);
    free(watch);
    launch->watch = NULL;
}

// ---- clusters

bool cj__watch_attach(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    for (uint32_t i = 0; launch->watch && i < launch->ranks; i++) {
        cj_cpu_block   *block = &cluster->block[i];
        cj_watch_block *watch = calloc(1, sizeof *watch + launch->warps * sizeof *watch->warp);
        if (!watch) return false;
        block->watch = watch;
        watch->shared = cj__shadow_new(launch->shared_bytes, NULL);
        if (!watch->shared) return false;
    }
    return true;
}

static void drop_lane(cj_watch_warp *watch, unsigned lane) {
    cj__clock_drop(watch->now[lane]);
    watch->now[lane] = NULL;
    for (unsigned i = 0; i < CJ_SCOPES; i++) {
        cj__clock_drop(watch->pending[lane][i]);
        cj__clock_drop(watch->fenced[lane][i].clock);
        watch->pending[lane][i] = watch->fenced[lane][i].clock = NULL;
    }
}

static void reset_block(cj_cpu_block *block) {
    cj_watch_block *watch = block->watch;
    for (uint32_t i = 0; i < block->cluster->launch->warps; i++) {
        for (unsigned lane = 0; lane < CJ_LANES; lane++) drop_lane(&watch->warp[i], lane);
        watch->warp[i] = (cj_watch_warp){0};
    }
    for (unsigned i = 0; i < CJ_BARRIERS; i++) cj__sync_free(&block->barrier[i].sync);
    if (watch->shared) cj__shadow_clear(watch->shared);
    cj__clock_drop(watch->exits);
    watch->exits = NULL;
    watch->remote = false;
    free(watch->chain);
    watch->chain = NULL;
    watch->chain_count = watch->chain_capacity = 0;
}

void cj__watch_start(cj_cpu_cluster *cluster) {
    const cj_cpu_launch *launch = cluster->launch;
    for (uint32_t i = 0; launch->watch && i < launch->ranks; i++) {
        cj_cpu_block *block = &cluster->block[i];
        reset_block(block);
        for (uint32_t k = 0; k < launch->warps; k++) {
            block->warp[k].watch = &block->watch->warp[k];
            *block->warp[k].watch = (cj_watch_warp){.time = 1, .whole = block->warp[k].live};
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
        free(block->watch);
    }
    cj__sync_free(&cluster->sync);
}

// ---- exits

// A recorded access to a block that has exited: a thread of it must have known of the access when it exited.
static void check_exit(void *user, const cj_access *access, uint64_t offset, uint64_t bytes) {
    cj_cpu_block   *block = user;
    const cj_clock *exits = block->watch->exits;
    cj_access       late = *access;
    const cj_agents agents = {.block = access->block, .group = access->group, .mask = access->mask};
    late.mask = cj__clock_unknown(exits, CJ_VIEW_MEMORY, &agents, access->time);
    if (!late.mask) return;
    const bool executed = !cj__clock_unknown(exits, CJ_VIEW_PROGRESS, &agents, access->time);
    cj__cpu_peer(block->cluster, executed ? CJ_HAZARD_RELAXED_ARRIVE : CJ_HAZARD_PEER_EXITED, &late,
                 (cj_watch_place){block, offset, bytes});
}

void cj__watch_exit(cj_cpu_warp *w, uint32_t mask) {
    cj_watch_block *watch = w->block->watch;
    if (!watch) return;
    CJ_SOME_LANES(i, mask) {
        cj__clock_join(&watch->exits, w->watch->now[i]);
        drop_lane(w->watch, i);
    }
    if (!w->block->live && watch->remote) cj__shadow_visit(watch->shared, index_of(w->block), check_exit, w->block);
}
