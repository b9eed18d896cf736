// SPDX-License-Identifier: Apache-2.0
// Partials through global memory: each warp stores the sums that it has of a tile, as its registers hold them, and the warp that
// comes last (kit/last.h) loads those of all. split.c and mma/results.c say where partials and counters lie.
#include "epilogue.h"

const char *cj__gemm_sum_type(const gemm_shape *g) {
    return cj__gemm_is_f64(g->a.type) ? "f64" : cj__gemm_is_integer(g) ? "b32" : "f32";
}

cj_reg cj__gemm_sum(const gemm_kernel *k, const char *name) { return cj_register(k->f, cj__gemm_sum_type(k->g), name); }

void cj__gemm_sum_clear(const gemm_kernel *k, cj_reg sum) {
    if (cj__gemm_is_integer(k->g))
        cj_ptx(k->f, "mov.b32 $1, 0;", sum);
    else if (cj__gemm_is_f64(k->g->a.type))
        cj_ptx(k->f, "mov.f64 $1, $2;", sum, 0.0);
    else
        cj_ptx(k->f, "mov.f32 $1, $2;", sum, 0.0F);
}

void cj__gemm_sums_load(const gemm_kernel *k, const char *load, const cj_reg *to, uint32_t count, cj_reg at,
                        uint32_t offset) {
    const uint32_t vector = cj__gemm_vector(k->g);
    for (uint32_t i = 0; i < count; i += vector, offset += GEMM_VECTOR_BYTES)
        cj__load(k->f, cj_always(), load, cj__gemm_sum_type(k->g), to + i, vector, at, offset);
}

void cj__gemm_sums_store(const gemm_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at) {
    const uint32_t vector = cj__gemm_vector(k->g);
    for (uint32_t i = 0; i < count; i += vector)
        cj__store(k->f, cj_always(), "st.global", cj__gemm_sum_type(k->g), sum + i, vector, at, i / vector * GEMM_VECTOR_BYTES);
}

void cj__gemm_sums_add(const gemm_kernel *k, const cj_reg *sum, const cj_reg *summand, uint32_t count) {
    const char *add = cj__gemm_is_f64(k->g->a.type) ? "add.rn.f64 $1, $1, $2;" : cj__gemm_is_integer(k->g) ? "add.s32 $1, $1, $2;" : "add.rn.f32 $1, $1, $2;";
    for (uint32_t i = 0; i < count; i++) cj_ptx(k->f, add, sum[i], summand[i]);
}
