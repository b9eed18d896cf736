// SPDX-License-Identifier: Apache-2.0
// Shadow memory: for each byte of a piece of memory, who has accessed it and is not yet overruled by someone later.
//
// A page of memory gets its shadow when it is first accessed: one cell for each granule, of the size of that first
// access (1 to 16 bytes, and divided when a smaller access comes), so that all bytes of a granule have one history and
// nothing is approximated. A cell holds
//
//   the last weak write, and
//   the accesses since then that do not conflict among each other: weak reads, strong reads, strong writes (atomics).
//     One warp's fit into the cell; those of several go to a table beside it, in which each warp is found at once.
//
// A weak write that is ordered behind all of these takes their place: what is ordered behind it is ordered behind them.
// Atomics never do, since they need not be ordered among each other. Of one warp the later access of a kind takes the
// place of an earlier one by the same lanes. So every pair of accesses that conflict is seen, whatever the schedule.
#ifndef CJ_CPU_SHADOW_H
#define CJ_CPU_SHADOW_H

#include "clock.h"
#include "memory.h"

// How an access counts: strong accesses carry the scope of their atomicity.
typedef enum cj_scope { CJ_SCOPE_WEAK, CJ_SCOPE_CTA, CJ_SCOPE_CLUSTER, CJ_SCOPE_GPU, CJ_SCOPE_SYS } cj_scope;

enum { CJ_SCOPES = 3 };  // that are told apart where strong operations order others: cta, cluster, gpu with sys

enum {
    CJ_USE_READ = 1,
    CJ_USE_WRITE = 2,
    CJ_USE_INIT = 4,  // of a write: makes an mbarrier; of others: is an operation on one, which the INIT view orders
    CJ_USE_ASYNC_PROXY = 8,  // through the async proxy: generic writes before it must have passed a proxy fence
};

typedef struct cj_watch_use {
    uint8_t flags;
    uint8_t scope;  // cj_scope
} cj_watch_use;

// An access, of one agent or, once recorded, of several lanes of a warp.
typedef struct cj_access {
    uint32_t     block, time, mask;
    uint16_t     group;
    cj_watch_use use;
    uint32_t     op;  // index in the program
} cj_access;

// Who accesses: the access, and what its agent knows.
typedef struct cj_accessor {
    cj_access       access;
    const cj_clock *now;
    cj_view         proxy;  // SHARED or GLOBAL: the view in which generic writes are visible to the async proxy
    uint32_t        ranks;  // blocks of a cluster: what the scope `cluster` is
} cj_accessor;

typedef struct cj_shadow cj_shadow;

// What becomes of an access that is found to break a rule: it was reported, and nothing more is looked for; it breaks none
// with this earlier access, but may with others; or it is no access of its own, and stays unrecorded.
typedef enum cj_verdict { CJ_VERDICT_REPORTED, CJ_VERDICT_HARMLESS, CJ_VERDICT_SAME } cj_verdict;

// Judges it. `earlier` is NULL for a read of bytes that nobody has written; else a conflicting access, its mask the lanes
// that are not ordered before this one.
typedef cj_verdict (*cj_shadow_found)(void *user, const cj_accessor *accessor, const cj_access *earlier,
                                      uint64_t offset, uint64_t bytes);

// Of `bytes` bytes; `range` tells what is initialized, NULL: nothing. NULL when out of memory.
cj_shadow *cj__shadow_new(uint64_t bytes, const cj_cpu_range *range);
void       cj__shadow_free(cj_shadow *shadow);   // NULL is allowed
void       cj__shadow_clear(cj_shadow *shadow);  // as new
// Marks what was written in the range's own record.
void cj__shadow_settle(const cj_shadow *shadow);

// Checks and records an access; reports at most one conflict and one uninitialized read. False when out of memory.
bool cj__shadow_access(cj_shadow *shadow, const cj_accessor *accessor, uint64_t offset, uint64_t bytes,
                       cj_shadow_found found, void *user);

// What these bytes hold is as if nothing had written them; they have been accessed.
void cj__shadow_undefine(cj_shadow *shadow, uint64_t offset, uint64_t bytes);

// Calls for each recorded access by another block than this one.
void cj__shadow_visit(const cj_shadow *shadow, uint32_t                                                          block,
                      void (*visit)(void *user, const cj_access *access, uint64_t offset, uint64_t bytes), void *user);

// ---- what atomics release at an address

// What was released there with one scope (cta, cluster, gpu): by a block, and by others as far from it as `spread`
// says.
typedef struct cj_released {
    cj_clock *clock;
    uint32_t  block;
    cj_scope  spread;
} cj_released;

typedef struct cj_location {
    struct cj_location *next;
    uint64_t            offset;
    cj_released         released[CJ_SCOPES];
} cj_location;

// The location at an offset of an accessed page; made on request, else NULL where there is none.
cj_location *cj__shadow_location(cj_shadow *shadow, uint64_t offset, bool make);
// A weak write, or a strong one that is no read-modify-write, ends what was released in these bytes.
void cj__shadow_forget(cj_shadow *shadow, uint64_t offset, uint64_t bytes);

#endif
