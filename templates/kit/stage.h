// SPDX-License-Identifier: Apache-2.0
// Stages of shared memory that one producer warp fills by bulk copies and whole consumer warps of the same block read.
// clusterjit/pipeline.h has the general pipeline, whose consumers release stages at mbarriers, of other blocks too. Here a
// stage is handed back at the named barrier of its number, which costs no memory and which racecheck follows.
//
//   producer warp                                    consumer warps
//     cj__stage_wait_free                              cj__stages_begin: all stages are free
//     cj__stage_expect, copies to cj__stage_at         cj__stage_wait_full
//     cj__ring_next                                    reads of cj__stage_at, then cj__stage_release
//                                                      cj__ring_next
//
// Contract. All threads of the block take part: `threads` counts both sides. A consumer warp releases a stage once for each
// fill, after its last read, and before it releases a later fill it waits for something that the producer does after it has
// taken the release before (here: the next fill of that stage, or a barrier that follows it). docs/maintaining/kit.md,
// "Stages", has the proof that phases of a barrier then never overlap.
#ifndef CJ_TEMPLATES_STAGE_H
#define CJ_TEMPLATES_STAGE_H

#include <clusterjit/cluster.h>
#include <clusterjit/control.h>
#include <stdbool.h>

// A count that goes round: 0, 1, … count - 1, 0, …, by cj_pipeline_next; `parity` is that of the mbarrier phase to wait for in this
// round. Apart from stages it also numbers what has no pipeline: taken rows, turns.
typedef struct cj_ring {
    cj_reg   number, parity;  // parity: cj_none() where nobody waits for phases
    unsigned count;
} cj_ring;

cj_ring cj__ring(cj_func *f, const char *name, unsigned count, bool phases);
void    cj__ring_next(cj_func *f, const cj_ring *ring);
cj_reg  cj__ring_at(cj_func *f, const char *name, cj_reg first, const cj_ring *ring, uint64_t bytes);

// mbarriers of shared memory, each for one arrival of its own block: the address of the first; and their initialization.
cj_reg cj__mbarriers(cj_func *f, const char *name, unsigned count);
void   cj__mbarriers_init(cj_func *f, cj_reg when, cj_reg first, unsigned count);

typedef struct cj_stages {
    unsigned threads;  // of the block
    uint64_t bytes;    // of a stage
    cj_reg   pool;     // address of stage 0
    cj_reg   full;     // address of the mbarrier of stage 0, from cj__mbarriers
} cj_stages;

void   cj__stages_begin(cj_func *f, const cj_stages *s, unsigned count);
void   cj__stage_wait_free(cj_func *f, const cj_stages *s, const cj_ring *ring);
void   cj__stage_wait_full(cj_func *f, const cj_stages *s, const cj_ring *ring, const char *why);
void   cj__stage_release(cj_func *f, const cj_stages *s, const cj_ring *ring);
cj_reg cj__stage_at(cj_func *f, const cj_stages *s, const cj_ring *ring);
cj_reg cj__stage_full(cj_func *f, const cj_stages *s, const cj_ring *ring);  // its mbarrier

#endif
