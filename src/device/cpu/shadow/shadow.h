// SPDX-License-Identifier: Apache-2.0
// Shadow memory: for each byte of a piece of memory, the accesses that a later access can still conflict with.
// docs/maintaining/cpu_device.md proves that no conflict is missed.
//
// A page gets its shadow at its first access: granules of the size of that access, 1 to 32 bytes; of an operation's long
// read, a 32nd of it. A smaller access divides the granules, so all bytes of a granule have one history. It is in a cell:
//
//   the last weak write, and
//   the accesses since then that do not conflict with each other: weak reads, strong reads, strong writes (atomics).
//     Accesses of one warp fit into the cell; those of several warps are in a table beside it.
//
// A weak write replaces all accesses that are ordered before it: a later access that is ordered after the write is
// ordered after them, too. An atomic replaces none, since atomics need not be ordered with each other. A later access
// replaces an earlier one of its kind by the same lanes.
//
// A row of 32 granules needs one cell only, while each access is to all of it (page.h).
#ifndef CJ_CPU_SHADOW_H
#define CJ_CPU_SHADOW_H

#include "clock.h"
#include "memory.h"

// How an access counts: strong accesses carry the scope of their atomicity.
typedef enum cj_scope { CJ_SCOPE_WEAK, CJ_SCOPE_CTA, CJ_SCOPE_CLUSTER, CJ_SCOPE_GPU, CJ_SCOPE_SYS } cj_scope;

enum { CJ_SCOPES = 4 };  // that are distinguished when strong operations order others: cta, cluster, gpu, sys

enum {
    CJ_USE_READ = 1,
    CJ_USE_WRITE = 2,
    CJ_USE_INIT = 4,         // a write that makes an mbarrier, or an operation on one, which the INIT view orders
    CJ_USE_ASYNC_PROXY = 8,  // through the async proxy: a proxy fence must come between it and generic writes before it
    CJ_USE_TENSORMAP = 16,   // of a caller: a copy reads a tensor map; recorded as CJ_USE_ASYNC_PROXY
    CJ_USE_TEXTURE =
        32,  // a read through a texture or surface: conflicts with each write, ordered or not. Is not recorded
    CJ_USE_COVERED =
        64,  // a read that is not recorded: a thread learns of it whenever it learns of another, recorded read
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

// The result of a comparison of clocks: in a view, the clock `now` knows these lanes of warp `group` of `block` up to
// `time`. All zero: none. The last of a list is of all warps of a block, `group` of them.
typedef struct cj_shadow_memo {
    const cj_clock *now;
    cj_view         view;
    uint32_t        block, group, time, mask;
} cj_shadow_memo;

enum { CJ_SHADOW_WARPS = 8, CJ_SHADOW_MEMOS = CJ_SHADOW_WARPS + 1 };

// The accessor: the access, and its agent's knowledge.
typedef struct cj_accessor {
    cj_access       access;
    const cj_clock *now;
    cj_shadow_memo *memo;        // CJ_SHADOW_MEMOS of them, whose clocks have lived since
    bool            is_partial;  // what was found depends on more comparisons than those in `memo`
    cj_view         proxy;  // SHARED, GLOBAL or TENSORMAP: the view in which generic writes are visible to the proxy
    uint32_t        ranks;  // blocks of a cluster, for the scope `cluster`
    uint32_t        gpus;   // whose clusters take turns in the numbers of blocks, for the scope `gpu`; 0 and 1: one
} cj_accessor;

// Whether two blocks are of one GPU; and the narrowest scope that includes all threads.
static inline bool cj__is_same_gpu(const cj_accessor *a, uint32_t block, uint32_t other) {
    return a->gpus <= 1 || block / a->ranks % a->gpus == other / a->ranks % a->gpus;
}
static inline cj_scope cj__scope_of_all(const cj_accessor *a) { return a->gpus > 1 ? CJ_SCOPE_SYS : CJ_SCOPE_GPU; }

// Whether another agent, with this clock, would have found nothing to report where the accessor found nothing.
bool cj__shadow_suffices(const cj_accessor *accessor, const cj_clock *other);

typedef struct cj_shadow cj_shadow;

// A judgement of an access that conflicts with an earlier one. REPORTED: the shadow looks for no further conflict.
// HARMLESS: it looks for further ones. SAME: the access is part of the earlier one, and is not recorded.
typedef enum cj_verdict { CJ_VERDICT_REPORTED, CJ_VERDICT_HARMLESS, CJ_VERDICT_SAME } cj_verdict;

// Judges it. `earlier` is NULL for a read of bytes that were never written; else a conflicting access, whose mask holds
// the lanes that are not ordered before this access.
typedef cj_verdict (*cj_shadow_found)(void *user, const cj_accessor *accessor, const cj_access *earlier,
                                      uint64_t offset, uint64_t bytes);

// A shadow of `bytes` bytes; `range` says which are initialized, NULL: none. NULL when out of memory.
cj_shadow *cj__shadow_new(uint64_t bytes, const cj_cpu_range *range);
// Without a range: the bytes from there on are initialized.
void cj__shadow_initialize(cj_shadow *shadow, uint64_t from);
void cj__shadow_free(cj_shadow *shadow);   // NULL is allowed
void cj__shadow_clear(cj_shadow *shadow);  // resets it to a new shadow
// Copies which bytes were written to the range's own record.
void cj__shadow_settle(const cj_shadow *shadow);

// Checks and records an access; reports at most one conflict and one uninitialized read. False when out of memory.
bool cj__shadow_access(cj_shadow *shadow, cj_accessor *accessor, uint64_t offset, uint64_t bytes, cj_shadow_found found,
                       void *user);

// The same for weak accesses of several lanes with one clock, if there is nothing to report: true. False: it must be
// asked for each lane, in their order, with cj__shadow_access. The accessor's mask is not used.
// Consecutive lanes access `bytes` each, a power of two, side by side from `offset` on.
bool cj__shadow_side_by_side(cj_shadow *shadow, cj_accessor *accessor, uint32_t lanes, uint64_t offset, uint64_t bytes);
// The same for atomics, of which each lane has its own address, less `begin`: records those with nothing to report, and returns the
// lanes of the others.
uint32_t cj__shadow_atomics(cj_shadow *shadow, cj_accessor *accessor, uint32_t lanes, const uint64_t *address,
                            uint64_t begin, uint64_t bytes);
// The lanes read the same bytes.
bool cj__shadow_read_together(cj_shadow *shadow, cj_accessor *accessor, uint32_t lanes, uint64_t offset,
                              uint64_t bytes);

// These bytes, which have been accessed, count as unwritten again.
void cj__shadow_undefine(cj_shadow *shadow, uint64_t offset, uint64_t bytes);

// These bytes are a new piece of memory: no access before counts, and nothing has written them. Both are multiples of 16.
void cj__shadow_renew(cj_shadow *shadow, uint64_t offset, uint64_t bytes);

typedef void cj_shadow_visit(void *user, const cj_access *access, uint64_t offset, uint64_t bytes);
// Calls `visit` for each recorded access to a granule that was not made by this block.
void cj__shadow_visit(cj_shadow *shadow, uint32_t block, cj_shadow_visit *visit, void *user);

// ---- releases of atomics at an address

// What was released there with one scope: by a block, and by others as far from it as `spread`
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

// Whether there are any, or were.
bool cj__shadow_has_locations(const cj_shadow *shadow);
// The location at an offset of an accessed page; if there is none it is made (`make`), or NULL.
cj_location *cj__shadow_location(cj_shadow *shadow, uint64_t offset, bool make);
// A weak write, or a strong write that is no read-modify-write, ends the releases at these bytes.
void cj__shadow_forget(cj_shadow *shadow, uint64_t offset, uint64_t bytes);

#endif
