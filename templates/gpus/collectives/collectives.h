// SPDX-License-Identifier: Apache-2.0
// The collectives of several GPUs: parameters, plan, and the parts of their kernels. collectives.c says what they do.
#ifndef CJ_TEMPLATES_GPUS_COLLECTIVES_H
#define CJ_TEMPLATES_GPUS_COLLECTIVES_H

#include "gpus.h"

enum {
#define PARAM(id, ...) GPUS_##id,
#include "params.def"
    GPUS_COMBINE,
    GPUS_SHOTS,
    GPUS_TAGS,
    GPUS_ROOT = GPUS_COMBINE
};

// ---- plan.c
gpus_shape cj__gpus_shape(const cj_plan *plan);
uint32_t   cj__gpus_checksum(const gpus_shape *s);  // of what all ranks must have in common
cj_status  cj__gpus_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// ---- move.c: the loop over messages
void cj__gpus_move(gpus_kernel *k);

// words = got[0] and got[1] and … of all GPUs, each s.words words of elements, in the order of a cluster's collectives.
void cj__gpus_fold(const gpus_kernel *k, cj_reg got[CJ_BOX_GPUS][GPUS_WORDS], cj_reg *words);

// ---- direct.c: copies between registered arrays. It declares its arrays and opens them in the place of x and out.
void cj__gpus_declare_arrays(gpus_kernel *k);
void cj__gpus_open_arrays(gpus_kernel *k);
void cj__gpus_copy(gpus_kernel *k);

// ---- multicast.c: a unit of x of all GPUs, combined, by one load; a unit to out of all GPUs by one store
void cj__gpus_load_reduced(const gpus_kernel *k, cj_reg at, cj_reg *words);
void cj__gpus_store_to_all(const gpus_kernel *k, cj_reg at, const cj_reg *words);
cj_status cj__gpus_refuse_multicast(const gpus_shape *s, uint32_t align, bool has_multimem, cj_error *error);

#endif
