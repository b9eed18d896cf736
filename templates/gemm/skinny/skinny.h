// SPDX-License-Identifier: Apache-2.0
// The form of the matrix product for a few rows (or columns) of D: the other operand, which is most of the bytes, is
// read once, from global memory straight into registers. It shares the parameters of the form mma's kernels (mma.h) and
// the values of epilogue.h:
//
//   skinny.h  plan.c     its tiles, what is refused, the launch
//             skinny.c   the algorithm, loads and products, emit
//             results.c  the sums of a block's warps to D
#ifndef CJ_TEMPLATES_GEMM_SKINNY_H
#define CJ_TEMPLATES_GEMM_SKINNY_H

#include "mma.h"

enum {
    SKINNY_WARPS = 8,
    SKINNY_SLICE = 64,      // bytes of K of a line: four lanes load 16 each
    SKINNY_EIGHTS_MAX = 2,  // eights of the few lines
    SKINNY_GROUPS_MAX = 4,  // of 16 lines of the many
    SKINNY_SLICES_MAX = 2,
    SKINNY_SETS_MAX = 3,  // of registers that are loaded ahead
    SKINNY_PAD = 4        // sums after each row of them in shared memory: the lanes of a store are in different banks
};

// `tile` numbers this form's tiles after those of the form mma: 16x64, 16x32, 16x16.
enum { SKINNY_TILE_FIRST = MMA_TILES, SKINNY_TILES = 3 };

// The operand whose lines are many, and the one whose lines are few.
typedef struct skinny_shape {
    const gemm_operand *many, *few;
    bool                many_is_a;
    uint32_t            groups, eights;  // of 16 lines of the many; of 8 of the few
    uint32_t            slices, sets;    // slices of K of a set; sets of registers
} skinny_shape;

skinny_shape cj__skinny_shape(const gemm_shape *g);

// K of a set of all warps, in bytes.
static inline uint32_t cj__skinny_set_bytes(const skinny_shape *s) { return SKINNY_WARPS * s->slices * SKINNY_SLICE; }

// A row of sums in shared memory: of one of the few lines; and the bytes of all warps' rows.
static inline uint32_t cj__skinny_row(const skinny_shape *s) { return s->groups * MMA_LINES + SKINNY_PAD; }
static inline uint32_t cj__skinny_warp_bytes(const skinny_shape *s) {
    return s->eights * MMA_COLUMNS * cj__skinny_row(s) * (uint32_t)sizeof(float);
}

static inline uint32_t cj__skinny_sums(const skinny_shape *s) { return 4 * s->groups * s->eights; }  // of a thread

// Whether form=auto takes it: nothing is asked for that it has not, and memory bounds the product.
bool cj__skinny_pays(const cj_params *params, const cj_limits *limits);

void      cj__skinny_read(const cj_params *params, gemm_shape *g);
cj_status cj__skinny_plan(cj_plan *plan, const cj_limits *limits, cj_error *error);
void      cj__skinny_emit(const cj_plan *plan, cj_builder *builder);

// A thread's sums: four of each 16 lines of the many and 8 of the few.
enum { SKINNY_SUMS_MAX = 4 * SKINNY_GROUPS_MAX * SKINNY_EIGHTS_MAX };

// The sums of all warps become D. `first`: the block's first line of the many.
void cj__skinny_results(const mma_kernel *k, const skinny_shape *s, const cj_reg *sum, cj_reg first);

#endif
