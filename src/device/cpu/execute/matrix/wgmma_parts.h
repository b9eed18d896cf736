// SPDX-License-Identifier: Apache-2.0
// The multiplications of a warp group: each of its four warps records a part (wgmma.c), and all parts are executed together.
#ifndef CJ_CPU_WGMMA_PARTS_H
#define CJ_CPU_WGMMA_PARTS_H

#include "fragment.h"
#include "sparse.h"
#include "watch.h"

enum { CJ_WGMMA_WARPS = 4, CJ_WGMMA_PANEL = CJ_TILE };  // of a group; columns

// What the selector prepares for an instruction. Slots: the registers of D, panel after panel; A's or its descriptor;
// B's descriptor; if A is sparse its metadata and selector; the predicate whether D is added; constants.
typedef struct cj_wgmma_plan {
    cj_product product;  // of one warp and one panel, 8 columns of B
    unsigned   panels;
    unsigned   a_at, b_at, adds_at;
    unsigned   metadata_at;  // 0: A is dense
    cj_sparse  sparse;
    uint32_t   stored_place[CJ_SPARSE_TILES_MAX];  // of the tiles of a sparse A from memory, in the order of registers
    bool       a_in_memory, a_by_k, b_by_k;        // by_k: neighbours in memory are neighbours along k
    double     sign;
} cj_wgmma_plan;

struct cj_cpu_wgmma {
    cj_cpu_wgmma    *next;
    cj_cpu_warp     *w;
    const cj_cpu_op *op;
    uint64_t         a, b;                   // descriptors
    bool             adds, done, has_ended;  // done: this part; has_ended: all parts
    uint32_t         number;                 // among its warp's multiplications, from 0: the same in all four warps
    uint32_t         group;
    cj_sync          ended;  // the accesses of all parts that end with it, once one of the warps has waited for it
    uint64_t         seal;   // a checksum of the registers of A
    cj_watch_async   watch;
};

// Executes parts of one multiplication, of the same matrix B, which all read together. False: a hazard was reported.
bool cj__wgmma_execute(cj_cpu_wgmma *const *part, unsigned count);

#endif
