// SPDX-License-Identifier: Apache-2.0
// Watching a launch: which accesses are ordered, and which are not. If a launch is not watched, w->watch and
// block->watch are NULL and the calls below do nothing. docs/maintaining/cpu_device.md explains the method.
//
// An agent accesses memory: it is a thread, or an asynchronous operation (a copy, a st.async, a wgmma) that a thread
// forked. An agent's clock says what the agent knows: for each other agent, the time up to which all its accesses
// happen before the agent's next access. A release adds a clock to a sync object; an acquire adds the sync object's
// clock to the thread's. A fork gives an operation the clock of its thread; a join adds the operation's accesses to a
// thread's clock. Two accesses to the same bytes, one of them a write, are a hazard if neither is ordered before the
// other and they are not both strong with scopes that include each other.
//
// A clock has several views (PTX ISA, "Memory Consistency Model"). Each is a set of accesses known in one respect:
//   MEMORY     ordered for the generic proxy
//   SHARED     ordered for the async proxy too, in shared memory: a proxy fence came between
//   GLOBAL     the same in global memory
//   TENSORMAP  visible to copies that read a tensor map there: a fence.proxy.tensormap acquired it
//   INIT       initializations of mbarriers before a fence.mbarrier_init; the MEMORY view counts, too
//   PROGRESS   executed, whether or not memory is ordered: all that a relaxed arrive gives
//
// Global memory has one shadow for all host threads: an op locks what it accesses until it has done so (lock.c).
#ifndef CJ_CPU_WATCH_H
#define CJ_CPU_WATCH_H

#include "machine.h"
#include "shadow.h"

// ---- agents

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

// An access of an operation, made when its bytes are moved; for a copy `written` is what it is about to write there,
// else NULL. CJ_STEP_STOP: a hazard was reported and the launch ends; otherwise hazards are recorded and the launch
// continues. The caller checks bounds and alignment.
cj_cpu_step cj__watch_async_access(const cj_watch_async *async, cj_watch_use use, cj_watch_place place,
                                   const unsigned char *written);
// Operations of one block that end together read the same pieces of its shared memory. The shadow checks the reads of all, and
// records those of the first: a thread that learns of one of the operations learns of all.
typedef struct cj_watch_piece {
    uint32_t address, bytes;
} cj_watch_piece;
void cj__watch_async_together(const cj_watch_async *const *async, unsigned count, cj_watch_use use,
                              const cj_watch_piece *piece, unsigned pieces);
// The same for a thread, for instructions that do not use op->reach (mbarrier operations, ldmatrix, …).
cj_cpu_step cj__watch_access(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_watch_use use,
                             cj_watch_place place);
// The same for several lanes that read one place.
void cj__watch_access_together(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t lanes, cj_watch_use use,
                               cj_watch_place place);

// Global memory, a multiple of 16 bytes, becomes a new piece of memory, as malloc gives it: what was done with it before does not
// count, and nothing has written it.
void cj__watch_renew(cj_cpu_warp *w, uint64_t address, uint64_t bytes);

// These threads have waited for the operation directly (cp.async.wait_group, bulk wait_group, wgmma.wait_group).
void cj__watch_join(cj_cpu_warp *w, uint32_t mask, const cj_watch_async *async);
// The same in two steps: *into learns of an operation that has ended; the threads have waited for all operations in a clock.
void cj__watch_ended(const cj_watch_async *async, cj_clock **into);
void cj__watch_join_ended(cj_cpu_warp *w, uint32_t mask, const cj_clock *ended);

// ---- sync objects (clock.h): mbarriers, barriers

typedef enum cj_order { CJ_ORDER_RELAXED, CJ_ORDER_FULL } cj_order;  // FULL: release, acquire

// Threads (the lanes in `mask`) release together; relaxed: they release what their fences released before, and
// PROGRESS. When all lanes of an op have released, cj__watch_released says that what the warp does next is later.
void cj__watch_released(cj_cpu_warp *w);
void cj__sync_release(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order);
// An operation completes on an mbarrier, which releases its accesses (PTX ISA, "st.async"). It counts as a thread that
// began with its thread's knowledge: so it releases that, too. An operation of the async proxy does not: what its
// thread did is as unordered to it as any other access of the generic proxy.
void cj__sync_complete(const cj_watch_async *async, bool is_proxy, cj_sync *sync);
// Lanes acquire the completed phase; relaxed: they acquire PROGRESS now, and the rest at their next acquiring fence.
void cj__sync_acquire(cj_cpu_warp *w, uint32_t mask, cj_sync *sync, cj_order order);

// ---- fences of lanes

typedef enum cj_fence {
    CJ_FENCE_ACQUIRE = 1,
    CJ_FENCE_RELEASE = 2,
    CJ_FENCE_PROXY_SHARED = 4,  // fence.proxy.async: both
    CJ_FENCE_PROXY_GLOBAL = 8,
    CJ_FENCE_INIT = 16,      // fence.mbarrier_init.release.cluster
    CJ_FENCE_TENSORMAP = 32  // fence.proxy.tensormap::generic.acquire, whatever map it names
} cj_fence;

void cj__watch_fence(cj_cpu_warp *w, uint32_t mask, unsigned fences, cj_scope scope);

// ---- calls of the machine (run.c, address.c, executors)

// Begins to watch a launch, and ends it: bytes that the kernel has written are initialized for the next launch.
cj_status cj__watch_open(cj_cpu_launch *launch, cj_error *error);
void      cj__watch_close(cj_cpu_launch *launch);
// Allocates the watch's state of a new cluster's blocks and warps; false when out of memory. Detach frees it.
bool cj__watch_attach(cj_cpu_cluster *cluster);
void cj__watch_detach(cj_cpu_cluster *cluster);
// A cluster of the grid begins to run.
void cj__watch_start(cj_cpu_cluster *cluster);
// Lanes exit; with the last one of a block its shared memory ends.
void cj__watch_exit(cj_cpu_warp *w, uint32_t mask);

// Lanes access memory by the op's memory operand: a block's shared memory or, with owner NULL, the warp's global range,
// which begins at `begin`. Strong loads and stores order memory here; atomics do so one by one, after they are done.
void cj__watch_reach(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, cj_cpu_block *owner, uint64_t begin,
                     const uint64_t *address);
void cj__watch_atomic(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, bool wrote);
// The scope that a mnemonic names.
cj_scope cj__watch_scope(const cj_mnemonic *mnemonic, cj_scope otherwise);
// The op, or the transfer, has moved its bytes: gives up what its accesses have locked.
void cj__watch_unlock(cj_cpu_cluster *cluster);
// Lanes reach a bar.warp.sync together; threads of a block reach a barrier that has just completed.
void cj__watch_converge(cj_cpu_warp *w, uint32_t mask);
// Lanes arrive at a barrier of fewer threads than the block. False if nothing orders this after the phase before, to which
// they did not belong: then they could as well have arrived in that one.
bool cj__watch_gather(cj_cpu_warp *w, uint32_t lanes, uint32_t barrier);
void cj__watch_barrier(cj_cpu_block *block, cj_cpu_barrier *barrier);

#endif
