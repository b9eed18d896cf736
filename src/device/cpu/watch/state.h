// SPDX-License-Identifier: Apache-2.0
// The state of a launch, a block and a warp that are watched; and the numbering of blocks and agents.
#ifndef CJ_CPU_WATCH_STATE_H
#define CJ_CPU_WATCH_STATE_H

#include <pthread.h>

#include "order.h"
#include "watch.h"

enum { CJ_WATCH_SHARDS = 64 };

struct cj_watch {
    cj_watch_order *order;        // of each op
    cj_shadow     **global;       // of each range of the launch, NULL until it is accessed
    bool            is_parallel;  // several host threads run clusters: those share the shadows of global memory
    pthread_mutex_t lock;         // of `global`
    pthread_mutex_t shard[CJ_WATCH_SHARDS];  // lock.c
};

// Views that a fence of the lane itself extends: SHARED, GLOBAL, TENSORMAP, INIT.
enum { CJ_WATCH_PASSED = CJ_VIEW_INIT - CJ_VIEW_SHARED + 1 };

// Where a lane of the running atomic accesses memory.
typedef struct cj_watch_atomic {
    cj_shadow *shadow;
    uint64_t   offset;
} cj_watch_atomic;

// What a releasing fence of a lane released: what the lane knew and did before it.
typedef struct cj_watch_fenced {
    cj_clock *clock;
    uint32_t  time;  // 0: there was none
} cj_watch_fenced;

// What the last operation that a lane of the warp began knows. The next one knows the same, if the lane has learnt and
// done nothing since.
typedef struct cj_watch_told {
    cj_clock *of, *told;  // the lane's clock, and that with what the lane had done
    uint32_t  time;
    unsigned  lane;
} cj_watch_told;

// The numbers of a lane's operations.
typedef struct cj_watch_numbers {
    uint16_t free;   // the first that is known to be free, 0: none
    uint16_t count;  // so many
    uint16_t forks;  // so many operations are still to begin before the numbers are searched for free ones again
} cj_watch_numbers;

struct cj_watch_warp {
    uint32_t        time;    // of the warp: recorded with its accesses, one step at each release
    uint32_t        forked;  // the lanes that have begun an operation at this time; their next accesses are later
    uint32_t        whole;   // the lanes that it began with
    uint32_t        held;    // the lanes that may hold clocks
    cj_watch_told   told;
    cj_clock       *now[CJ_LANES];
    cj_clock       *pending[CJ_LANES][CJ_SCOPES];  // read; a fence of this scope or a wider one acquires it
    cj_watch_fenced fenced[CJ_LANES]
                          [CJ_SCOPES];           // the lane's last fence of each scope, except those before a wider one
    uint32_t passed[CJ_WATCH_PASSED][CJ_LANES];  // time of the lane's last fence for the views from SHARED to INIT
    uint32_t ordering;                           // of the running atomic: the lanes that may order other accesses
    cj_watch_atomic  atomic[CJ_LANES];
    cj_watch_numbers numbers[CJ_LANES];
    cj_shadow_memo   memo[CJ_SHADOW_MEMOS];  // of clocks that lanes hold
};

static inline void cj__watch_forget_told(cj_watch_warp *watch) {
    cj__clock_drop(watch->told.of);
    cj__clock_drop(watch->told.told);
    watch->told = (cj_watch_told){0};
}

// Operations of thread t are agents t + stride, t + 2 * stride, …: once the thread knows an operation, a later one may take
// its number, and its later time then stands for both. So there are about as many numbers as a thread has operations in
// flight at once.
typedef struct cj_watch_chain {
    uint32_t time;  // of its last operation; 0: it has had none
    uint16_t next;  // in the thread's list of free numbers
    bool     busy;
} cj_watch_chain;

// The arrivals of a phase of a named barrier: of each warp its lanes, and the time at which the first of them arrived.
typedef struct cj_watch_phase {
    uint32_t lanes[CJ_WARPS_MAX], time[CJ_WARPS_MAX];
} cj_watch_phase;

struct cj_watch_block {
    cj_shadow      *shared;
    bool            remote;  // other blocks have accessed its shared memory
    cj_clock       *exits;   // what its threads knew when they exited
    cj_joins        joins;
    cj_watch_chain *chain;  // of agents from stride on
    uint32_t        chain_count, chain_capacity;
    cj_watch_phase  running[CJ_BARRIERS], before[CJ_BARRIERS];  // of barriers with a count of threads
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

// lock.c: the locks of a launch; those of the bytes that lanes, or a place in global memory, access.
void cj__watch_open_locks(cj_watch *watch, bool is_parallel);
void cj__watch_close_locks(cj_watch *watch);
void cj__watch_lock_lanes(cj_cpu_cluster *cluster, uint32_t mask, const uint64_t *address, uint64_t bytes);
void cj__watch_lock_place(cj_cpu_cluster *cluster, uint64_t address, uint64_t bytes);

// The index of a scope among those that are distinguished.
static inline unsigned cj__watch_slot(unsigned scope) {
    return scope - CJ_SCOPE_CTA;
}

#endif
