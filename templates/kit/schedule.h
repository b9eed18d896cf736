// SPDX-License-Identifier: Apache-2.0
// Tile scheduling of a persistent kernel: which tile (or row) a block or a cluster has next.
//
//   static        tile = index of the block, then that plus the number of blocks, and so on
//   work counter  tile = the next number of a counter in global memory; blocks take tiles in their order
//   cluster-wide  rank 0 takes the number for its cluster and pushes it to every block by st.async
//
// Contract of the work counter. It is zero before the first launch, and every launch leaves it ready for the next one. Each of
// the launch's takers (a block, or rank 0 of a cluster) takes numbers until one is no tile, and that is its last. So a
// launch takes exactly tiles + takers numbers, and the taker that gets the last of these resets the counter: nobody accesses it
// after that in this launch. The next launch begins after this one has ended. docs/maintaining/kit.md, "Work counter", has the proof.
#ifndef CJ_TEMPLATES_SCHEDULE_H
#define CJ_TEMPLATES_SCHEDULE_H

#include <clusterjit/ptx.h>

// The special register that counts the groups of a grid along x: clusters, or blocks without clusters.
static inline const char *cj__group_count(unsigned cluster) { return cluster ? "%nclusterid.x" : "%nctaid.x"; }

// The group's number, as the new register `name`, or as `number`. `cluster`: its blocks; 0: without clusters. Not %clusterid.x, which
// ptxas computes in f32: in a grid of 10 million blocks or more it may be another cluster's (launch rule cluster-index).
cj_reg cj__group_number(cj_func *f, const char *name, unsigned cluster);
void   cj__group_number_to(cj_func *f, cj_reg number, unsigned cluster);

// ---- static: by every thread, or by the warps that need the number

typedef struct cj_static_schedule {
    cj_reg next, step;  // u32
} cj_static_schedule;

// Of the grid's clusters, or of its blocks without clusters (0). `next` plus `step` is the first tile, and so on.
cj_static_schedule cj__static_begin(cj_func *f, unsigned cluster);

// ---- work counter

// By one thread. `counter` is the address of a 64-bit counter, whose upper half counts launches; `all` = tiles + takers, a u32
// register. `epoch` is even, and another one for each launch (of 2^31).
typedef struct cj_work {
    cj_reg number, epoch;
} cj_work;

cj_work cj__work_take(cj_func *f, cj_reg counter, cj_reg all);

// The next number of a 32-bit counter, as the register `name`, for the thread for which `when` holds. The counter is zero before the
// launch. The taker that gets the launch's last number resets it for the next launch; sort clears its counters itself.
cj_reg cj__work_number(cj_func *f, cj_reg when, const char *name, cj_reg counter);
cj_reg cj__work_is_last(cj_func *f, cj_reg when, cj_reg number, cj_reg last);
void   cj__work_reset(cj_func *f, cj_reg is_last, cj_reg counter);

// By a warp: every lane gets the number that the lane `leads` takes from a 32-bit counter, for which no epoch is needed.
// `takers` is a special register that counts them, `tiles` a u32 register.
cj_reg cj__work_take_by_warp(cj_func *f, cj_reg leads, cj_reg counter, const char *takers, cj_reg tiles);

// ---- cluster-wide, by a warp of each block of a cluster: every lane gets the number that rank 0 takes for all. `full` is the
// mbarrier, of one arrival, that says that the number is in the u32 at `slot`: addresses in the block's shared memory, the same
// in every block. `slot` is free, so no thread of any block still reads what it held before.
typedef struct cj_cluster_work {
    cj_reg   leads, lane, rank;  // leads: lane 0
    cj_reg   counter, tiles;     // as above
    cj_reg   full, slot, parity;
    unsigned cluster;  // blocks
} cj_cluster_work;

cj_reg cj__work_take_for_cluster(cj_func *f, const cj_cluster_work *work, const char *here);

#endif
