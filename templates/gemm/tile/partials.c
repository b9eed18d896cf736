// SPDX-License-Identifier: Apache-2.0
// Partials through global memory: each warp stores the sums that it has of a tile, as its registers hold them, and increments a
// counter; the warp that comes last loads those of all. split.c and mma/results.c say where partials and counters lie.
//
// Why that is enough. bar.warp.sync before lane 0 increments: all lanes have stored, and the atomic's release (which is
// cumulative) publishes their stores with lane 0's own. The atomic of the last warp acquires all of them; bar.warp.sync after it
// lets all lanes see what lane 0 has acquired. The counter wraps at the last warp, so it is 0 for the next launch.
#include "partials.h"

void cj__gemm_sums_load(const gemm_kernel *k, const char *load, const cj_reg *to, uint32_t count, cj_reg at,
                        uint32_t offset) {
    for (uint32_t i = 0; i < count; i += GEMM_VECTOR, offset += GEMM_VECTOR_BYTES)
        cj__load(k->f, cj_always(), load, "f32", to + i, GEMM_VECTOR, at, offset);
}

void cj__gemm_sums_store(const gemm_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at) {
    for (uint32_t i = 0; i < count; i += GEMM_VECTOR)
        cj__store(k->f, cj_always(), "st.global", "f32", sum + i, GEMM_VECTOR, at, i / GEMM_VECTOR * GEMM_VECTOR_BYTES);
}

void cj__gemm_sums_add(const gemm_kernel *k, const cj_reg *sum, const cj_reg *summand, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) cj_ptx(k->f, "add.rn.f32 $1, $1, $2;", sum[i], summand[i]);
}

cj_reg cj__gemm_comes_last(const gemm_kernel *k, cj_reg counter) {
    const uint32_t others = k->g->parts - 1;
    cj_ptx(k->f, "bar.warp.sync -1; // all lanes have stored their partials:");
    cj_reg before = cj_let(k->f, "u32", "before",
                           "@$2 atom.acq_rel.gpu.global.inc.u32 $1, [$3], $4; // lane 0 publishes them", k->leader,
                           counter, others);
    cj_ptx(k->f, "shfl.sync.idx.b32 $1, $1, 0, 31, -1;", before);
    return cj_let(k->f, "pred", "came_last", "setp.eq.u32 $1, $2, $3;", before, others);
}

void cj__gemm_see_partials(const gemm_kernel *k) {
    cj_ptx(k->f, "bar.warp.sync -1; // all lanes see what lane 0 has acquired");
}
