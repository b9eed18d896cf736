// SPDX-License-Identifier: Apache-2.0
// Partials through global memory: each warp stores the sums that it has of a tile, as its registers hold them, and the warp that
// comes last (kit/last.h) loads those of all. split.c and mma/results.c say where partials and counters lie.
#include "epilogue.h"

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
