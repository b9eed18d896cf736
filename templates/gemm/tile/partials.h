// SPDX-License-Identifier: Apache-2.0
// Blocks or clusters that split the K of a tile combine their sums through global memory.
#ifndef CJ_TEMPLATES_GEMM_PARTIALS_H
#define CJ_TEMPLATES_GEMM_PARTIALS_H

#include "epilogue.h"

// A lane's sums as they lie there: four of them, the lanes of a warp side by side.
enum { GEMM_VECTOR = 4, GEMM_VECTOR_BYTES = GEMM_WARP * 16 };

// `count` sums, a multiple of GEMM_VECTOR, from or to where this lane's lie; `load` is "ld.global" or "ld.shared".
void cj__gemm_sums_load(const gemm_kernel *k, const char *load, const cj_reg *to, uint32_t count, cj_reg at,
                        uint32_t offset);
void cj__gemm_sums_store(const gemm_kernel *k, const cj_reg *sum, uint32_t count, cj_reg at);
void cj__gemm_sums_add(const gemm_kernel *k, const cj_reg *sum, const cj_reg *summand, uint32_t count);

#endif
