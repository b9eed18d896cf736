// SPDX-License-Identifier: Apache-2.0
// Watching a launch: who has touched which memory, and which accesses are ordered. Exists only where hazards are watched
// for: every call below does nothing on a launch without (w->watch, block->watch are NULL).
//
// Words. An agent is what accesses memory: a thread, or an asynchronous operation (a copy, a st.async, a wgmma) that a
// thread forked. An agent's clock is what it knows: for each other agent, up to where everything it did happens before
// what comes next here. Releasing adds a clock to a sync object, acquiring adds what lies there to a clock; a fork gives
// the operation its thread's clock, a join gives the operation's accesses to a thread. Two accesses of the same bytes, one
// a write, not ordered and not both strong with scopes that include each other, are a hazard.
//
// A clock has several views (PTX ISA, "Memory Consistency Model"), each a set of what is known in one respect:
//   MEMORY     ordered for the generic proxy
//   SHARED     ordered for the async proxy too, in shared memory: passed a proxy fence on its way here
//   GLOBAL     the same in global memory
//   INIT       initializations of mbarriers (fence.mbarrier_init); the MEMORY view counts besides
//   PROGRESS   has been executed, whatever memory says: what a relaxed arrive gives
#ifndef CJ_CPU_WATCH_H
#define CJ_CPU_WATCH_H

#include "clock.h"
#include "machine.h"

// ---- agents

// How an access counts: strong accesses carry the scope of their atomicity.
typedef enum cj_scope { CJ_SCOPE_WEAK, CJ_SCOPE_CTA, CJ_SCOPE_CLUSTER, CJ_SCOPE_GPU, CJ_SCOPE_SYS } cj_scope;

enum {
    CJ_USE_READ = 1,
    CJ_USE_WRITE = 2,
    CJ_USE_INIT = 4,         // of a write: makes an mbarrier; of a read: is an operation on one, which the INIT view orders
    CJ_USE_ASYNC_PROXY = 8,  // through the async proxy: generic writes before it must have passed a proxy fence
};

typedef struct cj_watch_use {
    uint8_t flags;
    uint8_t scope;  // cj_scope
} cj_watch_use;

// Memory: bytes at an offset of a block's shared memory, or at a global address (block NULL).
typedef struct cj_watch_place {
    cj_cpu_block *block;
    uint64_t      address, bytes;
} cj_watch_place;

// An asynchronous operation, from its issue to its completion. All zero: none, or not watched. May be moved in memory.
typedef struct cj_watch_async {
    cj_cpu_block    *block;  // of the thread that forked it
    const cj_cpu_op *op;
    cj_clock        *now;
    uint32_t         thread;  // in the block
    uint32_t         time;
    uint16_t         agent;  // in the block
} cj_watch_async;

// A thread issues an operation: it knows what the thread knows and has done. Every fork ends in one cj__watch_end.
cj_watch_async cj__watch_fork(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane);
void           cj__watch_end(cj_watch_async *async);

// An access of an operation, made when its bytes are moved. CJ_STEP_STOP: a hazard was reported and the launch ends;
// else hazards are noted and the run goes on. Bounds and alignment are the caller's.
cj_cpu_step cj__watch_async_access(const cj_watch_async *async, cj_watch_use use, cj_watch_place place);
// The same by a thread, for instructions that do not go through op->reach (mbarrier operations, ldmatrix, …).
cj_cpu_step cj__watch_access(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_watch_use use,
                             cj_watch_place place);

// The thread has waited for the operation by itself (cp.async.wait_group, bulk wait_group, wgmma.wait_group).
void cj__watch_join(cj_cpu_warp *w, unsigned lane, const cj_watch_async *async);

// ---- sync objects

// What was released to an mbarrier, a barrier, a location: all zero is new; cj__sync_free drops what it holds.
// Phases: releases gather for the running phase; a flip, when the phase completes, makes them what is acquired.
typedef struct cj_sync {
    cj_clock *gathering, *complete;
} cj_sync;

typedef enum cj_order { CJ_ORDER_RELAXED, CJ_ORDER_FULL } cj_order;  // FULL: release, acquire

// Threads release together (the lanes in `mask`): relaxed gives what their fences released before, and PROGRESS.
void cj__sync_release(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order);
// An operation completes on an mbarrier: its accesses are released, nothing else.
void cj__sync_complete(const cj_watch_async *async, cj_sync *sync);
void cj__sync_flip(cj_sync *sync);
// Lanes acquire the complete phase: relaxed gives PROGRESS now, and the rest at their next acquiring fence.
void cj__sync_acquire(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order);
void cj__sync_free(cj_sync *sync);

// ---- fences of lanes

typedef enum cj_fence {
    CJ_FENCE_ACQUIRE = 1,
    CJ_FENCE_RELEASE = 2,
    CJ_FENCE_PROXY_SHARED = 4,  // fence.proxy.async: both
    CJ_FENCE_PROXY_GLOBAL = 8,
    CJ_FENCE_INIT = 16          // fence.mbarrier_init.release.cluster
} cj_fence;

void cj__watch_fence(cj_cpu_warp *w, uint32_t mask, unsigned fences, cj_scope scope);

#endif
