// SPDX-License-Identifier: Apache-2.0
// Asynchronous operations as agents: a thread forks them; threads join them directly or through a sync object.
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "learn.h"

// Adds one agent for every thread. The array doubles, since a thread may have thousands of operations in flight.
static bool add_chains(cj_watch_block *watch, uint32_t stride) {
    const uint32_t count = watch->chain_count + stride;
    if (count > watch->chain_capacity) {
        const uint32_t  capacity = 2 * watch->chain_capacity > count ? 2 * watch->chain_capacity : count;
        cj_watch_chain *more = cj__realloc(watch->chain, watch->chain_capacity * sizeof *more, capacity * sizeof *more);
        if (!more) return cj__watch_starved = true, false;
        watch->chain = more;
        watch->chain_capacity = capacity;
    }
    memset(watch->chain + watch->chain_count, 0, stride * sizeof *watch->chain);
    watch->chain_count = count;
    return true;
}

// Lists the lane's numbers that no operation in flight has, and whose earlier operations the lane knows; the lowest first.
static void find_free(const cj_cpu_warp *w, unsigned lane, uint32_t stride) {
    cj_watch_numbers *numbers = &w->watch->numbers[lane];
    for (uint32_t k = numbers->count; k; k--) {
        const uint32_t  agent = w->index * CJ_LANES + lane + k * stride;
        const cj_agents agents = {
            .block = cj__watch_index(w->block), .group = (uint16_t)(agent / CJ_LANES), .mask = 1u << lane};
        cj_watch_chain *before = &w->block->watch->chain[agent - stride];
        if (before->busy || cj__clock_unknown(w->watch->now[lane], CJ_VIEW_MEMORY, &agents, before->time)) continue;
        before->next = numbers->free;
        numbers->free = (uint16_t)agent;
    }
}

// A free number of the lane's own, or a new one. A search looks at all numbers, so it happens once for each SEARCH_SHARE-th
// of them that operations have taken: then there are few more than needed, and an operation costs the same however many
// are in flight. If there are no more numbers, the last one: it then stands for several operations, and a race among them
// may be missed. 0: out of memory.
static uint16_t choose_agent(cj_cpu_warp *w, unsigned lane) {
    enum { SEARCH_SHARE = 8 };
    cj_watch_block   *watch = w->block->watch;
    cj_watch_numbers *numbers = &w->watch->numbers[lane];
    const uint32_t    stride = cj__watch_stride(w->block->cluster->launch);
    if (numbers->forks) {
        numbers->forks--;
    } else if (!numbers->free) {
        find_free(w, lane, stride);
        numbers->forks = numbers->count / SEARCH_SHARE;
    }
    const uint16_t free = numbers->free;
    if (free) {
        numbers->free = watch->chain[free - stride].next;
        return free;
    }
    const uint32_t last = w->index * CJ_LANES + lane + numbers->count * stride, agent = last + stride;
    if (agent > UINT16_MAX) return (uint16_t)last;
    while (agent - stride >= watch->chain_count) {
        if (!add_chains(watch, stride)) return 0;
    }
    numbers->count++;
    return (uint16_t)agent;
}

// A clock of all that the lane knows and did.
static cj_clock *tell(cj_cpu_warp *w, unsigned lane) {
    cj_watch_told *last = &w->watch->told;
    if (!last->told || last->lane != lane || last->time != w->watch->time || last->of != w->watch->now[lane]) {
        cj__watch_forget_told(w->watch);
        *last = (cj_watch_told){.of = cj__clock_hold(w->watch->now[lane]), .time = w->watch->time, .lane = lane};
        cj__watch_tell(w, 1u << lane, &last->told);
    }
    return cj__clock_hold(last->told);
}

cj_watch_async cj__watch_fork(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane) {
    cj_watch_async async = {0};
    if (!w->watch) return async;
    async.agent = choose_agent(w, lane);
    if (!async.agent) return async;
    async.block = w->block;
    async.op = op;
    async.thread = w->index * CJ_LANES + lane;
    cj_watch_chain *mine = &w->block->watch->chain[async.agent - cj__watch_stride(w->block->cluster->launch)];
    mine->busy = true;
    async.time = ++mine->time;
    async.now = tell(w, lane);
    w->watch->forked |= 1u << lane;
    return async;
}

void cj__watch_end(cj_watch_async *async) {
    if (!async->block) return;
    cj_watch_block *watch = async->block->watch;
    const uint32_t  stride = cj__watch_stride(async->block->cluster->launch);
    if (async->agent - stride < watch->chain_count) watch->chain[async->agent - stride].busy = false;
    cj__clock_drop(async->now);
    *async = (cj_watch_async){0};
}

void cj__watch_ended(const cj_watch_async *async, cj_clock **into) {
    // The completion includes a proxy fence: its writes are visible to both proxies.
    if (async->block) cj__clock_add(into, CJ_VIEW_MEMORY, cj__watch_agent(async), async->time);
}

void cj__watch_join(cj_cpu_warp *w, uint32_t mask, const cj_watch_async *async) {
    if (!w->watch || !async->block) return;
    cj_clock *its = NULL;
    cj__watch_ended(async, &its);
    cj__watch_join_ended(w, mask, its);
    cj__clock_drop(its);
}

void cj__watch_join_ended(cj_cpu_warp *w, uint32_t mask, const cj_clock *ended) {
    if (w->watch && ended) cj__watch_learn(w->watch, mask, ended, cj__clock_join);
}

void cj__sync_complete(const cj_watch_async *async, bool is_proxy, cj_sync *sync) {
    if (!async->block) return;
    cj__watch_ended(async, &sync->gathering);
    if (!is_proxy) cj__clock_join(&sync->gathering, async->now);
}
