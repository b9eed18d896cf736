// SPDX-License-Identifier: Apache-2.0
// The statistics of a launch, if they were asked for: ops are counted when they execute, accesses when they reach
// memory. Each host thread counts for itself; the sums are made at the end.
#ifndef CJ_CPU_STATS_H
#define CJ_CPU_STATS_H

#include "machine.h"

// Of one op. Bytes are those that its threads reached, whether they read or wrote.
typedef struct cj_cpu_op_counts {
    uint64_t threads, warps;  // that executed it
    uint64_t global, shared, dsmem, local;
    uint64_t sectors;  // of global memory, in each access of a warp
    uint64_t bank_conflicts;
    uint64_t async, from_peer,
        to_peer;  // bytes moved asynchronously; of them, those from and to a peer's shared memory
} cj_cpu_op_counts;

struct cj_cpu_counts {
    size_t           count;
    cj_cpu_op_counts op[];  // in the order of the program's
};

cj_cpu_counts *cj__stats_new(const cj_cpu_program *program);  // NULL when out of memory
void           cj__stats_add(cj_cpu_counts *into, const cj_cpu_counts *from);
void           cj__stats_sum(const cj_cpu_program *program, const cj_cpu_counts *counts, cj_cpu_stats *stats);  // adds

// What each line of the PTX did, in the order of the lines; malloc'ed, NULL when out of memory.
cj_cpu_line_stats *cj__stats_lines(const cj_cpu_program *program, const cj_cpu_counts *counts, size_t *count);

// Lanes access memory: a block's shared memory, global memory, or (neither) local memory. Bytes that a lane reads and
// writes count as both.
void cj__stats_access(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const cj_cpu_block *owner, bool is_global,
                      const uint64_t *address);

// Asynchronous work of that instruction has written its bytes, from or to a peer's shared memory, or neither.
void cj__stats_transfer(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t bytes, bool from_peer, bool to_peer);

#endif
