// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

enum { MBARRIER_BYTES = 8, NAME = 32 };

// ---- rings

cj_ring cj__ring(cj_func *f, const char *name, unsigned count, bool phases) {
    cj_ring ring = {.number = cj_mov(f, "u32", name, 0), .parity = cj_none(), .count = count};
    if (phases) ring.parity = cj_mov(f, "u32", "parity", 0);
    return ring;
}

void cj__ring_next(cj_func *f, const cj_ring *ring) {
    const cj_pipeline    stages = {.stages = ring->count};
    const cj_pipeline_at at = {ring->number, ring->parity};
    cj_pipeline_next(f, &stages, &at);
}

cj_reg cj__ring_at(cj_func *f, const char *name, cj_reg first, const cj_ring *ring, uint64_t bytes) {
    return cj_mad(f, name, ring->number, bytes, first);
}

// ---- mbarriers

cj_reg cj__mbarriers(cj_func *f, const char *name, unsigned count) {
    char base[NAME];
    snprintf(base, sizeof base, "%s_base", name);
    return cj_mov(f, "u32", base, cj_shared(f, "b64", name, count, 0));
}

void cj__mbarriers_init(cj_func *f, cj_reg when, cj_reg first, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        cj_mbarrier_init(f, when, cj_add(f, "mbarrier", first, MBARRIER_BYTES * i), CJ_ARG(1), NULL);
}

// ---- stages

cj_reg cj__stage_at(cj_func *f, const cj_stages *s, const cj_ring *ring) {
    return cj__ring_at(f, "stage_at", s->pool, ring, s->bytes);
}

cj_reg cj__stage_full(cj_func *f, const cj_stages *s, const cj_ring *ring) {
    return cj__ring_at(f, "full_at", s->full, ring, MBARRIER_BYTES);
}

void cj__stages_begin(cj_func *f, const cj_stages *s, unsigned count) {
    for (unsigned i = 0; i < count; i++) cj_ptx(f, "bar.arrive $1, $2; // S2", i, s->threads);
}

void cj__stage_wait_free(cj_func *f, const cj_stages *s, const cj_ring *ring) {
    cj_ptx(f, "bar.sync $1, $2; // S2: the stage is free", ring->number, s->threads);
}

void cj__stage_release(cj_func *f, const cj_stages *s, const cj_ring *ring) {
    cj_ptx(f, "bar.arrive $1, $2; // S2: this warp has read the stage", ring->number, s->threads);
}

void cj__stage_wait_full(cj_func *f, const cj_stages *s, const cj_ring *ring, const char *why) {
    cj_mbarrier_wait(f, cj__stage_full(f, s, ring), CJ_ARG(ring->parity), CJ_SCOPE_BLOCK, why);
}
