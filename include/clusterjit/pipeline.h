// SPDX-License-Identifier: Apache-2.0
// Stages: buffers in shared memory between a producer, which starts asynchronous copies into them, and consumers:
// calls that write its PTX into a kernel under construction (clusterjit/ptx.h). With clusters the copies may be
// multicast: then a stage is free when the consumers of every block that receives have released it, and each arrives
// at every block that sends.
//
//     cj_pipeline ring = cj_pipeline_declare(f, "stage", stages);
//     cj_pipeline_init(f, first_thread, &ring, CJ_ARG(consumers));      // then a barrier of the cluster
//     producer                                          consumer
//     c = cj_pipeline_begin(f, &ring, CJ_PRODUCER)      c = cj_pipeline_begin(f, &ring, CJ_CONSUMER)
//     for each item:                                    for each item:
//       full = cj_pipeline_acquire(f, &ring, &c, bytes)   cj_pipeline_wait(f, &ring, &c)
//       copies, counted by the mbarrier `full`            reads of stage c.stage
//       cj_pipeline_next(f, &ring, &c)                    cj_pipeline_release(f, when, peer, c.stage, why)
//                                                         cj_pipeline_next(f, &ring, &c)
//
// Each stage has two mbarriers: `full` completes when the bytes that are expected have come, `empty` when all consumers
// have released it. `when` is a predicate or cj_always(), as in clusterjit/cluster.h.
// Sources: PTX ISA 9.7.13 (mbarrier), 9.7.9 (cp.async.bulk).
#ifndef CLUSTERJIT_PIPELINE_H
#define CLUSTERJIT_PIPELINE_H

#include <clusterjit/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

// `full` and `empty`: addresses of stage 0's mbarriers, in the block's own window; each next stage's is 8 bytes on.
typedef struct cj_pipeline {
    uint32_t stages;
    cj_reg   full, empty;
} cj_pipeline;

// Where one side of the ring is: the stage's number, and the parity of the phase that it waits for next.
typedef struct cj_pipeline_at {
    cj_reg stage, parity;
} cj_pipeline_at;

typedef enum cj_pipeline_side { CJ_PRODUCER, CJ_CONSUMER } cj_pipeline_side;

// Shared memory for the mbarriers of `stages` stages (1 to 64).
CJ_API cj_pipeline cj_pipeline_declare(cj_func *f, const char *name, uint32_t stages);

// One thread makes the mbarriers ready: a stage is free again after `releases` releases. A barrier of all that use
// the ring (the cluster's, where it has one) must follow.
CJ_API void cj_pipeline_init(cj_func *f, cj_reg when, const cj_pipeline *ring, cj_arg releases);

// The first stage, as one side sees it: the producer finds all stages free. Two new u32 registers.
CJ_API cj_pipeline_at cj_pipeline_begin(cj_func *f, const cj_pipeline *ring, cj_pipeline_side side);

// To the next stage. The parity may be cj_none() where nobody waits for phases.
CJ_API void cj_pipeline_next(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at);

// Waits until the stage is free and lets it expect `bytes`: a new register with the mbarrier that the copies shall
// name.
CJ_API cj_reg cj_pipeline_acquire(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at, cj_arg bytes);

// Waits until the stage is free, as acquire does, and fills it no more: a block whose peers release its stages stays until
// it has done so with as many stages as there are.
CJ_API void cj_pipeline_wait_free(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at);

// Waits until the stage is full; the thread sees what was copied.
CJ_API void cj_pipeline_wait(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at);

// The `empty` mbarriers of the block of that rank, for releases: a new register. Without clusters it is ring->empty.
CJ_API cj_reg cj_pipeline_peer(cj_func *f, const cj_pipeline *ring, cj_reg rank);

// One release of a stage, at the mbarriers of cj_pipeline_peer (`peer`) or at the block's own (ring->empty). It says
// that reads are over and publishes nothing: after wgmma.wait_group, or reads whose values are in registers.
CJ_API void cj_pipeline_release(cj_func *f, cj_reg when, cj_reg peer, cj_reg stage, const char *why);

// ---- stages that another block fills
//
// The consumer's block holds the stages and their `full` mbarriers; the producer's block holds the `empty` ones, since a
// thread waits only at mbarriers of its own block. Both blocks declare and initialize the same ring, then wait at a
// barrier of the cluster. The producer pushes with cj_bulk_push, of one thread, or with cj_st_async, of many.
//
//     producer, in block p                                       consumer, in block c
//     to = cj_pipeline_consumer(f, &ring, c)                     from = cj_pipeline_peer(f, &ring, p)
//     at = cj_pipeline_begin(f, &ring, CJ_PRODUCER)              at = cj_pipeline_begin(f, &ring, CJ_CONSUMER)
//     for each item:                                             for each item:
//       full = cj_pipeline_acquire_peer(f, one, &ring, &at,        cj_pipeline_wait_peer(f, &ring, &at)
//                                       to, bytes)                 reads of stage at.stage
//       pushes into c's stage, counted by `full`                   cj_pipeline_release(f, when, from, at.stage, why)
//       cj_pipeline_next(f, &ring, &at)                            cj_pipeline_next(f, &ring, &at)
//     a barrier of the cluster                                   a barrier of the cluster
//
// The last barrier keeps each block alive while the other still writes to it. A stage that is free again has been pushed
// to its end, so the producer may then reuse what it pushed from. tests/examples/producer_consumer.c is a whole kernel.

// The `full` mbarriers of the block of that rank, which this block fills: a new register.
CJ_API cj_reg cj_pipeline_consumer(cj_func *f, const cj_pipeline *ring, cj_reg rank);

// Waits until the consumer has released the stage, and returns its `full` mbarrier in the consumer's block, a new
// register in the shared::cluster window: every thread that pushes executes it. `one` is a predicate that is true in one
// thread of the producer (cj_always() where one thread pushes): that thread lets the stage expect `bytes` from all
// pushes. The bytes of other threads' pushes may arrive before: the phase ends only after the announcement.
CJ_API cj_reg cj_pipeline_acquire_peer(cj_func *f, cj_reg one, const cj_pipeline *ring, const cj_pipeline_at *at,
                                       cj_reg consumer, cj_arg bytes);

// Waits until the stage is full, as cj_pipeline_wait does; the thread sees what a peer has pushed.
CJ_API void cj_pipeline_wait_peer(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at);

#ifdef __cplusplus
}
#endif
#endif
