// SPDX-License-Identifier: Apache-2.0
// Matrices of a warp (PTX ISA, "ldmatrix", "stmatrix", "movmatrix", "mma"); fragment.h describes their layout in
// registers.
#include <string.h>

#include "address.h"
#include "exec.h"
#include "fragment.h"
#include "sparse.h"

enum { ROWS = 8, ROW_BYTES = 16, QUAD = 4 };

// ---- 8 x 8 matrices of 16 bits: a lane has two neighbours of row lane / 4, or .trans of column lane / 4. Slots: one
// register a matrix. Lanes 0 to 7 point to the rows of the first matrix, 8 to 15 to those of the second, …

typedef struct pair_place {
    unsigned row[2], column[2];
} pair_place;

static pair_place place_of(unsigned lane, bool transposed) {
    const unsigned along = lane % QUAD * 2, across = lane / QUAD;
    if (transposed) return (pair_place){{along, along + 1}, {across, across}};
    return (pair_place){{across, across}, {along, along + 1}};
}

typedef struct rows_plan {
    unsigned matrices;
    bool     transposed;
    uint32_t pointing;  // the lanes whose addresses are used
} rows_plan;

CJ_EXEC(ldmatrix) {
    const rows_plan  *plan = op->plan;
    unsigned char    *at[CJ_LANES];
    const cj_cpu_step step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    if (!op->reach(w, op, plan->pointing, at)) return CJ_STEP_STOP;
    for (unsigned k = 0; k < plan->matrices; k++) {
        lane_u32 *d = CJ_LANES_OF(lane_u32, k);
        for (unsigned i = 0; i < CJ_LANES; i++) {
            const pair_place p = place_of(i, plan->transposed);
            const lane_u16  *first = (const lane_u16 *)(void *)at[k * ROWS + p.row[0]];
            const lane_u16  *second = (const lane_u16 *)(void *)at[k * ROWS + p.row[1]];
            d[i] = first[p.column[0]] | (uint32_t)second[p.column[1]] << 16;
        }
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(stmatrix) {
    const rows_plan  *plan = op->plan;
    unsigned char    *at[CJ_LANES];
    const cj_cpu_step step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    if (!op->reach(w, op, plan->pointing, at)) return CJ_STEP_STOP;
    for (unsigned k = 0; k < plan->matrices; k++) {
        const lane_u32 *a = CJ_LANES_OF(const lane_u32, k);
        for (unsigned i = 0; i < CJ_LANES; i++) {
            const pair_place p = place_of(i, plan->transposed);
            for (unsigned half = 0; half < 2; half++) {
                ((lane_u16 *)(void *)at[k * ROWS + p.row[half]])[p.column[half]] = (uint16_t)(a[i] >> 16 * half);
            }
        }
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(movmatrix) {
    const cj_cpu_step step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    uint16_t        matrix[ROWS][ROWS];
    lane_u32       *d = CJ_LANES_OF(lane_u32, 0);
    const lane_u32 *a = CJ_LANES_OF(const lane_u32, 1);
    for (unsigned i = 0; i < CJ_LANES; i++) {
        const pair_place p = place_of(i, true);
        for (unsigned half = 0; half < 2; half++) matrix[p.row[half]][p.column[half]] = (uint16_t)(a[i] >> 16 * half);
    }
    for (unsigned i = 0; i < CJ_LANES; i++) {
        const pair_place p = place_of(i, false);
        d[i] = matrix[p.row[0]][p.column[0]] | (uint32_t)matrix[p.row[1]][p.column[1]] << 16;
    }
    return CJ_STEP_NEXT;
}

static bool select_rows(cj_cpu_prepare *p, cj_cpu_exec run) {
    rows_plan *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan || p->slot_count * ROWS > CJ_LANES) return false;
    plan->matrices = p->slot_count;
    plan->transposed = cj__cpu_has(p, CJ_W_TRANS);
    plan->pointing = CJ_ALL_LANES >> (CJ_LANES - ROWS * plan->matrices);
    p->op.plan = plan;
    p->op.run = run;
    p->op.reach = cj__cpu_reach_of(p->mnemonic);
    p->op.bytes = ROW_BYTES;
    p->op.count = 1;
    return p->op.aligned = true;
}

bool cj__cpu_select_ldmatrix(cj_cpu_prepare *p) { return select_rows(p, ldmatrix); }
bool cj__cpu_select_stmatrix(cj_cpu_prepare *p) { return select_rows(p, stmatrix); }

bool cj__cpu_select_movmatrix(cj_cpu_prepare *p) {
    p->op.run = movmatrix;
    return p->op.aligned = true;
}

// ---- mma. Slots: the registers of D, A, B and C.

CJ_EXEC(mma) {
    const cj_cpu_step step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    cj__product_run(w, op->slot, op->plan);
    return CJ_STEP_NEXT;
}

CJ_EXEC(mma_undefined) {
    if (mask == CJ_ALL_LANES) cj__product_undefined(w, op->slot, op->plan);
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_mma(cj_cpu_prepare *p) {
    const cj_mnemonic *mnemonic = p->mnemonic;
    const cj_element  *type[CJ_ELEMENTS_MAX];
    cj_product        *product = cj__cpu_keep(p, sizeof *product);
    if (!product || cj__elements_of(mnemonic, type) < 4) return false;
    *product = cj__product_make(mnemonic, cj__shape_of(mnemonic), type[0], type[1], type[2], type[3], 0);
    if (product->shape.m == 8 && type[1]->type == CJ_W_F16) {
        cj__product_make_quads(product, mnemonic->word[3] == CJ_W_ROW, mnemonic->word[4] == CJ_W_ROW);
    }
    p->op.plan = product;
    p->op.run = mma;
    p->op.twin = product->in_quads ? NULL : mma_undefined;
    p->op.aligned = true;
    if (product->how == CJ_MULTIPLY_FMA) cj__cpu_round(p);
    return cj__product_fits(p, product, 0);
}

// ---- mma.sp. Slots: the registers of D, A, B and C, the metadata, and the selector, a constant.

typedef struct sparse_plan {
    cj_product product;
    cj_sparse  sparse;
    unsigned   metadata;  // operand
} sparse_plan;

CJ_EXEC(mma_sparse) {
    const sparse_plan       *plan = op->plan;
    const cj_product        *p = &plan->product;
    const cj_tiling         *t = &p->tiling;
    const cj_tile_registers  stored = {w->file, op->slot + p->d.registers};
    CJ_TILE_ALIGNED uint32_t word[CJ_SPARSE_TILES_MAX * CJ_TILE_WORDS];
    const cj_tile_registers  a = {(unsigned char *)word, plan->sparse.place};
    const cj_cpu_step        step = cj__cpu_whole_warp(w, op, mask);
    if (step) return step;
    if (!cj__sparse_spread(w, op, &plan->sparse, t, op->slot[plan->metadata], stored, word)) return CJ_STEP_STOP;
    cj__product_run_sparse(w, op->slot, p, a);
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_mma_sparse(cj_cpu_prepare *p) {
    enum { SELECTOR = 5, MORE = 2 };
    const cj_element *type[CJ_ELEMENTS_MAX];
    sparse_plan      *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan || cj__elements_of(p->mnemonic, type) < 4) return false;
    plan->product = cj__product_make(p->mnemonic, cj__shape_of(p->mnemonic), type[0], type[1], type[2], type[3], 0);
    cj__product_make_sparse(&plan->product);
    plan->metadata = p->slot_count - MORE;
    p->op.plan = plan;
    p->op.run = mma_sparse;
    p->op.aligned = true;
    return cj__sparse_select(p, SELECTOR, &plan->product, &plan->sparse) && cj__product_fits(p, &plan->product, MORE);
}
