// SPDX-License-Identifier: Apache-2.0
// Vector clocks: for each agent of the grid, the time up to which its accesses are known.
//
// Clocks are immutable and shared. After a barrier all threads hold one clock; a clock that learns a little shares the
// rest. The knowledge is a tree over the grid's blocks with 16 children a node and one block a leaf. A clock therefore
// knows of other clusters as exactly as of its own, and the cost of joining two clocks is proportional to their
// difference:
//
//   inner node   | child 0 | … | child 15 |
//   leaf         | time of warp 0, 1, … : all lanes of the warp are known up to there | extras: lanes known beyond that |
//
// A view has such a tree of threads. Operations are in trees of their own, whose leaves are the roots of trees of the same
// kind over a block's operations, 64 groups a leaf. An operation that has ended is known in MEMORY, SHARED and GLOBAL alike:
// these views share one tree of operations. PROGRESS has only what MEMORY has not.
//
// Agents of a block are numbered: thread t is agent t; asynchronous operations have the numbers after the last warp.
// 32 agents are a group. Agents of a group that are known up to the same time are one extra, so that actions of single
// lanes cost little more than actions of the whole warp. Each warp counts time, one step at each release. A block may
// know thousands of operations that others in flight have followed under the same numbers: a clock that learns of one
// more copies its path in their tree alone.
//
// Several host threads may hold a clock, but only its owner changes it. If memory runs out, clocks lose knowledge and accesses
// look less ordered than they are: then cj__watch_starved is set, and the launch gives no verdict.
#ifndef CJ_CPU_CLOCK_H
#define CJ_CPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "spare.h"

typedef enum cj_view {
    CJ_VIEW_MEMORY,
    CJ_VIEW_SHARED,
    CJ_VIEW_GLOBAL,
    CJ_VIEW_TENSORMAP,
    CJ_VIEW_INIT,
    CJ_VIEW_PROGRESS,  // watch.h describes each view
    CJ_VIEW_COUNT
} cj_view;

// The trees of a clock: first, for each view, that of its threads; then those of operations.
enum {
    CJ_TREE_OPERATIONS = CJ_VIEW_COUNT,  // of all views but TENSORMAP, and PROGRESS in part
    CJ_TREE_TENSORMAP_OPERATIONS,
    CJ_TREE_PROGRESS_OPERATIONS,
    CJ_TREES
};

typedef struct cj_known cj_known;  // a node; NULL: nothing

typedef struct cj_clock {
    uint32_t  refs;
    cj_known *tree[CJ_TREES];
} cj_clock;  // NULL: knows nothing

// What was released to an mbarrier or a barrier. All zero: nothing yet; cj__sync_free releases its clocks. Releases are
// gathered for the running phase. When the phase completes, a flip makes the gathered clock the one that is acquired.
typedef struct cj_sync {
    cj_clock *gathering, *complete;
    cj_clock *last;  // gathered in this phase: threads of one phase mostly hold the same clock
} cj_sync;

// What the clocks of a block became when they learnt a phase: warps that held one clock and learn one phase, each in its own turn,
// then hold one clock again. All zero: nothing; cj__joins_free releases the clocks.
enum { CJ_JOINS = 16 };
typedef struct cj_joined {
    cj_clock *before, *phase, *after;
} cj_joined;

typedef struct cj_joins {
    unsigned  next;  // the oldest
    cj_joined of[CJ_JOINS];
} cj_joins;

void cj__sync_gather(cj_sync *sync, cj_clock *clock);
void cj__sync_flip(cj_sync *sync);
// *into learns what the completed phase knows.
void cj__sync_join(const cj_sync *sync, cj_joins *joins, cj_clock **into);
void cj__joins_free(cj_joins *joins);
void cj__sync_free(cj_sync *sync);

// Agents of one block: the lanes in `mask` of a warp; or, from group `warps` on, 32 asynchronous operations.
typedef struct cj_agents {
    uint32_t block;
    uint16_t group;
    uint16_t warps;  // of the block
    uint32_t mask;
    bool     whole;  // the mask holds all threads that the warp began with
} cj_agents;

cj_clock *cj__clock_hold(cj_clock *clock);
void      cj__clock_drop(cj_clock *clock);
// The same as so many calls.
void cj__clock_hold_many(cj_clock *clock, uint32_t count);
void cj__clock_drop_many(cj_clock *clock, uint32_t count);

// *into learns what `from` knows.
void cj__clock_join(cj_clock **into, const cj_clock *from);
// In one view, *into learns what `from` knows in another view. PROGRESS's own trees leave out what MEMORY has.
void cj__clock_join_view(cj_clock **into, cj_view to, const cj_clock *from, cj_view from_view);
// In one view, *into learns these agents up to a time; in MEMORY also in PROGRESS, and operations in SHARED and GLOBAL.
void cj__clock_add(cj_clock **into, cj_view view, cj_agents agents, uint32_t time);

// The agents in the mask that are not known up to this time.
uint32_t cj__clock_unknown(const cj_clock *clock, cj_view view, const cj_agents *agents, uint32_t time);
// The time up to which all threads of a block are known in MEMORY; *warps: how many warps it has. 0: not known.
uint32_t cj__clock_least(const cj_clock *clock, uint32_t block, uint16_t *warps);
// Whether anything of a block is known in PROGRESS.
bool cj__clock_met(const cj_clock *clock, uint32_t block);

#endif
