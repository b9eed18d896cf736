// SPDX-License-Identifier: Apache-2.0
// The form wgmma: a producer's warp group and those of consumers (producer.c, consumer.c). Several blocks or clusters may split
// the K of a tile (split.c).
#ifndef CJ_TEMPLATES_GEMM_WGMMA_H
#define CJ_TEMPLATES_GEMM_WGMMA_H

#include "epilogue.h"

// ---- split-K (split.c)

// The mbarriers for the sums of peers, made by one thread; from the sums of this block's steps to D.
void cj__gemm_split_begin(gemm_kernel *k, cj_reg first_thread);
void cj__gemm_split_results(const gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place);

// ---- the warp groups' roles: one produces stages, all others consume them (producer.c, consumer.c)

// The producer goes to `done`; the consumers fall through.
void cj__gemm_produce(gemm_kernel *k, cj_label done);
void cj__gemm_consume(gemm_kernel *k);

#endif
