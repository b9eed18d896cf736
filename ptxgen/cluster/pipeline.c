// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/pipeline.h>
#include <stdio.h>

#include "builder.h"
#include "cluster_line.h"

enum { STAGES_MAX = 64, MBARRIER_BYTES = 8 };

static cj_reg mbarriers(cj_func *f, const char *name, const char *which, uint32_t stages) {
    char text[64];
    snprintf(text, sizeof text, "%.40s_%s", name, which);
    return cj_shared_address(f, cj_shared(f, "b64", text, stages, MBARRIER_BYTES));
}

cj_pipeline cj_pipeline_declare(cj_func *f, const char *name, uint32_t stages) {
    if (!NEEDS(f, name)) return (cj_pipeline){0};
    if (!stages || stages > STAGES_MAX)
        cj__func_refuse(f, "array-size", "a pipeline of %u stages: it has 1 to %d", (unsigned)stages, STAGES_MAX);
    return (cj_pipeline){stages, mbarriers(f, name, "full", stages), mbarriers(f, name, "empty", stages)};
}

void cj_pipeline_init(cj_func *f, cj_reg when, const cj_pipeline *ring, cj_arg releases) {
    if (!NEEDS(f, ring)) return;
    for (uint32_t i = 0; i < ring->stages; i++) {
        CALL_LINE(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], 1;", when, ring->full, MBARRIER_BYTES * i);
        CALL_LINE(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], $4;", when, ring->empty, MBARRIER_BYTES * i, releases);
    }
    cj_mbarrier_init_done(f, "copies and peers may use them");
}

cj_pipeline_at cj_pipeline_begin(cj_func *f, const cj_pipeline *ring, cj_pipeline_side side) {
    if (!NEEDS(f, ring)) return (cj_pipeline_at){{0}, {0}};
    cj_pipeline_at at = {cj_u32(f, "stage"), cj_u32(f, "parity")};
    (void)ring;
    CALL_LINE(f, "mov.u32 $1, 0;", at.stage);
    CALL_LINE(f, "mov.u32 $1, $2;", at.parity, side == CJ_PRODUCER);
    return at;
}

void cj_pipeline_next(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at) {
    if (!NEEDS(f, ring) || !NEEDS(f, at)) return;
    cj_reg wraps = cj_pred(f, "wraps");
    CALL_LINE(f, "add.u32 $1, $1, 1;", at->stage);
    CALL_LINE(f, "setp.eq.u32 $1, $2, $3;", wraps, at->stage, ring->stages);
    CALL_LINE(f, "@$1 mov.u32 $2, 0;", wraps, at->stage);
    if (!cj_is_none(at->parity)) CALL_LINE(f, "@$1 xor.b32 $2, $2, 1;", wraps, at->parity);
}

static cj_reg of_stage(cj_func *f, const char *name, cj_reg first, cj_reg stage) {
    cj_reg own = cj_u32(f, name);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", own, stage, MBARRIER_BYTES, first);
    return own;
}

void cj_pipeline_wait_free(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at) {
    if (!NEEDS(f, ring) || !NEEDS(f, at)) return;
    cj_mbarrier_wait(f, of_stage(f, "empty", ring->empty, at->stage), CJ_ARG(at->parity), CJ_SCOPE_CLUSTER,
                     "the stage is free in every block");
}

cj_reg cj_pipeline_acquire(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at, cj_arg bytes) {
    if (!NEEDS(f, ring) || !NEEDS(f, at)) return (cj_reg){0};
    cj_reg full = of_stage(f, "full", ring->full, at->stage);
    cj_pipeline_wait_free(f, ring, at);
    cj_mbarrier_arrive_expect(f, cj_always(), full, bytes, NULL);
    return full;
}

static void wait_full(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at, cj_scope writers) {
    cj_mbarrier_wait(f, of_stage(f, "full", ring->full, at->stage), CJ_ARG(at->parity), writers,
                     "the stage's bytes are there");
}

void cj_pipeline_wait(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at) {
    if (!NEEDS(f, ring) || !NEEDS(f, at)) return;
    wait_full(f, ring, at, CJ_SCOPE_BLOCK);
}

void cj_pipeline_wait_peer(cj_func *f, const cj_pipeline *ring, const cj_pipeline_at *at) {
    if (!NEEDS(f, ring) || !NEEDS(f, at)) return;
    wait_full(f, ring, at, CJ_SCOPE_CLUSTER);
}

cj_reg cj_pipeline_peer(cj_func *f, const cj_pipeline *ring, cj_reg rank) {
    if (!NEEDS(f, ring)) return (cj_reg){0};
    return cj_cluster_map_address(f, ring->empty, rank);
}

// Not cj_mbarrier_arrive_peer: a release of cluster scope waits until all that the thread has written is visible, which
// costs as much as a stage's products (a MEMBAR), and there is nothing here to publish.
void cj_pipeline_release(cj_func *f, cj_reg when, cj_reg peer, cj_reg stage, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.arrive.shared::cluster.b64 _, [$2];$3$4", when, of_stage(f, "empty", peer, stage),
              WHY(why));
}

cj_reg cj_pipeline_consumer(cj_func *f, const cj_pipeline *ring, cj_reg rank) {
    if (!NEEDS(f, ring)) return (cj_reg){0};
    return cj_cluster_map_address(f, ring->full, rank);
}

// The announcement publishes nothing, so it does without .release.cluster, as cj_pipeline_release does.
cj_reg cj_pipeline_acquire_peer(cj_func *f, cj_reg one, const cj_pipeline *ring, const cj_pipeline_at *at,
                                cj_reg consumer, cj_arg bytes) {
    if (!NEEDS(f, ring) || !NEEDS(f, at)) return (cj_reg){0};
    cj_reg full = of_stage(f, "full", consumer, at->stage);
    cj_pipeline_wait_free(f, ring, at);
    CALL_LINE(f, "@$1 mbarrier.arrive.expect_tx.shared::cluster.b64 _, [$2], $3;", one, full, bytes);
    return full;
}
