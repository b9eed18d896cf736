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

// A guess is close where no more than a TOPK_CLOSE-th of k too many threads are not below it.
enum { TOPK_CLOSE = 8 };

// Where the selection goes on: behind a round, the row (or the rank's part of it), all ranks' candidates.
enum { TOPK_AFTER_ROUND, TOPK_AFTER_ALL, TOPK_AFTER_RANKS, TOPK_SELECTIONS };

// How a row is read: slices, each of `loads` loads a thread, of `width` elements.
typedef struct topk_shape {
    cj_dtype dtype;
    unsigned bytes, width, loads;
    unsigned block, cluster;
    unsigned k, slice;    // elements of a slice, of one block
    unsigned slack, own;  // candidates of a warp beyond which k of all are selected; its places, for a round's more
    unsigned pool;        // places in all: of those that are together, then of each warp
    bool     guesses;     // a first threshold
    bool     sorts;       // the result, else its places are counted
    bool     smallest, kth, any, wide_index;  // any: in any order
} topk_shape;

typedef struct topk_kernel {
    const cj_plan *plan;
    cj_func       *f;
    topk_shape     s;
    cj_var         x, values, indices, columns_at, stride_at;
    cj_reg         thread, lane, rank, row;
    cj_reg         below;               // mask of the lanes before this one
    cj_reg         pool, own_at;        // addresses: of those that are together, of the warp's own places
    cj_reg         meeting;             // address of what warps tell each other (topk_select.c)
    cj_reg         base, columns;       // of the row; elements, u32
    cj_reg         threshold, filling;  // a key; everything becomes a candidate
    cj_reg         bound;  // the number that goes with the threshold: no element above the one is below the other
    cj_reg         count, mine, most;               // candidates that are together, of the warp, of that with the most
    cj_reg         full;                            // a warp has too many
    cj_reg         results, values_to, indices_to;  // number of the row's first result, and where results go
    cj_reg         resume;                          // where the selection goes on, one of `after`
    cj_reg         element[TOPK_SLICES][TOPK_EACH_MAX], column[TOPK_SLICES][TOPK_EACH];  // of a load's first element
    cj_label       select, after[TOPK_SELECTIONS];
} topk_kernel;

void cj__topk_shape(const cj_plan *plan, topk_shape *s);
void cj__topk_emit(const cj_plan *plan, cj_builder *builder);

// ---- topk_sift.c

unsigned    cj__topk_round(const topk_kernel *k);                   // elements of a round, of all blocks of the row
const char *cj__topk_register(const topk_kernel *k);                // type of an element's registers
cj_reg      cj__topk_new_number(topk_kernel *k, const char *name);  // of what an element is compared as

// How many of a key's lowest bits follow from the others: those that 16-bit elements do not have of an f32.
unsigned cj__topk_key_low(const topk_kernel *k);

// All slices of the first round; slice i of the round that follows.
void cj__topk_load_first(topk_kernel *k);
void cj__topk_load_next(topk_kernel *k, unsigned i);

void cj__topk_guess(topk_kernel *k);             // the first threshold
void cj__topk_set_bound(topk_kernel *k);         // from the threshold
void cj__topk_sift(topk_kernel *k, unsigned i);  // slice i: its candidates get to the warp's places

// ---- the others

void cj__topk_select(topk_kernel *k);  // of more candidates than k the first k stay, in any order
void cj__topk_sort(topk_kernel *k);    // these, the greatest first

// place = of the candidate among all, 0 for the greatest: in the `lanes` lanes, a power of two, that have it together.
void cj__topk_count_place(topk_kernel *k, cj_reg candidate, cj_reg place, unsigned lanes);

#endif
