// SPDX-License-Identifier: Apache-2.0
// The parts of top-k: parameters and shape (topk.c), the kernel (topk_emit.c).
#ifndef CJ_TEMPLATES_TOPK_H
#define CJ_TEMPLATES_TOPK_H

#include "family.h"

// Parameters, in the order of the table.
enum {
    TOPK_ROWS,
    TOPK_COLUMNS,
    TOPK_K,
    TOPK_DTYPE,
    TOPK_ORDER,
    TOPK_INDEX,
    TOPK_RESULT,
    TOPK_STRIDE,
    TOPK_ALIGN,
    TOPK_CLUSTER,
    TOPK_BLOCK
};

extern const cj_param_info cj__topk_params[];

// Bytes a load, lanes, slices on their way, elements that a thread has of a slice, at least and at most.
enum { TOPK_LOAD = 16, TOPK_WARP = 32, TOPK_SLICES = 4, TOPK_EACH = 4, TOPK_EACH_MAX = 8 };

// How a row is read: `slices` slices at once, each of `loads` loads a thread, of `width` elements.
typedef struct topk_shape {
    cj_dtype dtype;
    unsigned bytes, width, loads;
    unsigned block, cluster;
    unsigned k, slice;     // elements of a slice, of one block
    unsigned limit, pool;  // candidates beyond which they are sorted; places for them, a power of two
    bool     smallest, kth, wide_index;
} topk_shape;

void cj__topk_shape(const cj_plan *plan, topk_shape *s);
void cj__topk_emit(const cj_plan *plan, cj_builder *builder);

#endif
