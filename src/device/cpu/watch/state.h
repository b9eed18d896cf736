// SPDX-License-Identifier: Apache-2.0
// What is kept of a launch, a block and a warp that are watched; and the numbers of blocks and agents.
#ifndef CJ_CPU_WATCH_STATE_H
#define CJ_CPU_WATCH_STATE_H

#include "order.h"
#include "watch.h"

struct cj_watch {
    cj_watch_order *order;   // of each op
    cj_shadow     **global;  // of each range of the launch, once it is accessed
    struct {
        cj_shadow *shadow;
        uint64_t   offset;
    } atomic[CJ_LANES];  // where the lanes of the running atomic access
};

// What a releasing fence of a lane released: what the lane knew and did until then.
typedef struct cj_watch_fenced {
    cj_clock *clock;
    uint32_t  time;  // 0: there was none
} cj_watch_fenced;

struct cj_watch_warp {
    uint32_t        time;    // of the warp: stands in its accesses, steps at each release
    uint32_t        forked;  // the lanes that have begun an operation at this time; what they do next is later
    uint32_t        whole;   // the lanes that it began with
    cj_clock       *now[CJ_LANES];
    cj_clock       *pending[CJ_LANES][CJ_SCOPES];  // what was read of, for a fence of this scope or a wider one
    cj_watch_fenced fenced[CJ_LANES]
                          [CJ_SCOPES];  // the lane's last fence of each scope, but for those before a wider one
    uint32_t passed[3][CJ_LANES];       // time of the lane's last fence for the views SHARED, GLOBAL, INIT
};

// Operations of thread t are agents t + stride, t + 2 * stride, …: one that is known to its thread lends its number to
// the next, whose later time then stands for both. So there are as many as a thread has under way at once.
typedef struct cj_watch_chain {
    uint32_t time;
    bool     busy;
} cj_watch_chain;

struct cj_watch_block {
    cj_shadow      *shared;
    bool            remote;  // others have accessed its shared memory
    cj_clock       *exits;   // what its threads knew when they exited
    cj_watch_chain *chain;   // of agents from stride on
    uint32_t        chain_count, chain_capacity;
    cj_watch_warp   warp[];
};

static inline uint32_t cj__watch_stride(const cj_cpu_launch *launch) { return launch->warps * CJ_LANES; }

static inline uint32_t cj__watch_index(const cj_cpu_block *block) {
    return (uint32_t)(block->cluster->index * block->cluster->launch->ranks) + block->rank;
}

static inline cj_agents cj__watch_agents(const cj_cpu_warp *w, uint32_t mask) {
    return (cj_agents){.block = cj__watch_index(w->block),
                       .group = (uint16_t)w->index,
                       .warps = (uint16_t)w->block->cluster->launch->warps,
                       .mask = mask,
                       .whole = mask == w->watch->whole};
}

static inline cj_agents cj__watch_agent(const cj_watch_async *async) {
    return (cj_agents){.block = cj__watch_index(async->block),
                       .group = (uint16_t)(async->agent / CJ_LANES),
                       .warps = (uint16_t)async->block->cluster->launch->warps,
                       .mask = 1u << async->agent % CJ_LANES};
}

// Where a scope stands among those that are told apart.
static inline unsigned cj__watch_slot(unsigned scope) {
    return (scope > CJ_SCOPE_GPU ? CJ_SCOPE_GPU : scope) - CJ_SCOPE_CTA;
}

#endif
