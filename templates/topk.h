// SPDX-License-Identifier: Apache-2.0
// The parts of top-k: parameters and shape (topk.c), the kernel (topk_emit.c), selection without a sort
// (topk_select.c).
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
    bool     smallest, kth, any, wide_index;  // any: in any order
} topk_shape;

typedef struct topk_kernel {
    const cj_plan *plan;
    cj_func       *f;
    topk_shape     s;
    cj_var         x, values, indices, columns_at, stride_at, count_at, differs_at;
    cj_reg         thread, lane, rank, row;
    cj_reg         below;               // mask of the lanes before this one
    cj_reg         pool;                // address
    cj_reg         base, columns;       // of the row; elements, u32
    cj_reg         threshold, filling;  // no more than k candidates yet: everything becomes one
    cj_reg         count, full;         // of candidates; too many
    cj_reg         resume;              // where the sort goes on, one of `after`
    cj_reg         element[TOPK_SLICES][TOPK_EACH_MAX];
    cj_label       sort, after[TOPK_SLICES + 2];  // sort: or, for a result in any order, the selection
} topk_kernel;

void cj__topk_shape(const cj_plan *plan, topk_shape *s);
void cj__topk_emit(const cj_plan *plan, cj_builder *builder);

// Candidates to the pool. Each lane has `count` of them, those for which passes[] is true count: place = where the
// warp's first goes, all = how many it has. Then, for one after the other with its ballot: where `passes`, it goes
// there.
void cj__topk_reserve(topk_kernel *k, unsigned count, const cj_reg *passes, cj_reg *ballot, cj_reg place, cj_reg all);
void cj__topk_put(topk_kernel *k, cj_reg passes, cj_reg ballot, cj_reg place, cj_reg candidate);

// Of more candidates than k the first k stay, in any order (topk_select.c).
void cj__topk_select(topk_kernel *k);

#endif
