// SPDX-License-Identifier: Apache-2.0
// Judges two accesses that nothing orders. They are a hazard; or a note, if their order cannot change the result: both
// write the same value, or one is the load with which a compare-and-swap loop begins.
#ifndef CJ_CPU_JUDGE_H
#define CJ_CPU_JUDGE_H

#include "watch.h"

// The access to be judged: its agent, its op and its memory.
typedef struct cj_watch_subject {
    cj_cpu_warp     *w;  // of a thread, else NULL
    unsigned         lane;
    cj_cpu_cluster  *cluster;
    cj_cpu_block    *owner;
    const cj_cpu_op *op;
    uint32_t         mask;
    const uint64_t  *address;  // of the lanes in `mask`; NULL: the access does not use the op's memory operand
    uint64_t         begin;    // of the memory
    const unsigned char
            *written;  // what an asynchronous operation is about to write, from offset `from`; NULL: not known
    uint64_t from;
} cj_watch_subject;

// The cj_shadow_found of a cj_watch_subject.
cj_verdict cj__watch_judge(void *user, const cj_accessor *a, const cj_access *earlier, uint64_t offset, uint64_t bytes);

#endif
