// SPDX-License-Identifier: Apache-2.0
// The statistics of a launch, if they were asked for: ops are counted when they execute, accesses when they reach
// memory. Each host thread counts for itself; the sums are made at the end.
#ifndef CJ_CPU_STATS_H
#define CJ_CPU_STATS_H

#include "machine.h"

struct cj_cpu_counts {
    uint64_t global[2], shared[2], dsmem[2];  // bytes read, written
    uint64_t local, bank_conflicts;
    uint64_t async, copy, bulk, tensor, multicast;
    uint64_t op[];  // of each op: threads that executed it, then warps
};

cj_cpu_counts *cj__stats_new(const cj_cpu_program *program);  // NULL when out of memory
void           cj__stats_add(const cj_cpu_program *program, cj_cpu_counts *into, const cj_cpu_counts *from);
void           cj__stats_sum(const cj_cpu_program *program, const cj_cpu_counts *counts, cj_cpu_stats *stats);  // adds

// Counts an access of lanes: to a block's shared memory, to global memory, or (neither) to local memory. Bytes that a
// lane reads and writes count as both.
void cj__stats_access(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const cj_cpu_block *owner, bool is_global,
                      const uint64_t *address);

// Counts asynchronous work of that instruction that has written its bytes: from or to another block's shared memory, or
// neither.
void cj__stats_transfer(cj_cpu_counts *counts, const cj_cpu_op *op, uint32_t bytes, bool from_peer, bool to_peer);

#endif
