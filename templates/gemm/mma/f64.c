// SPDX-License-Identifier: Apache-2.0
// Fragments and products of f64, which ldmatrix does not load: each lane loads its own elements.
//
// A slice is 8 elements of K. For sm_90 and later one mma.sync.m16n8k8 multiplies 16 lines of A by 8 of B, for targets before that four of
// m8n8k4: both halves of the lines, first at 4 elements of K, then at the other 4. The fragments lie alike: lane 4 g + t has of the lines g
// and g + 8 the elements t and t + 4 of K, each of which it loads by itself: two side by side in memory would not be side by side in the
// registers that m16n8k8 takes.
//
// 16 lanes, which a wavefront serves, read 4 lines (by line: 4 rows of K) of 32 bytes each, two chunks. Lines are 128 bytes, so these would be
// the same banks. Chunk c of line l lies at chunk c ^ 2 (l % 4): the four pairs lie in different banks.
#include "mma.h"

enum { TARGET_16_LINES = 90, HALF = MMA_LINES / 2, ELEMENT = 8, QUADS = 4 };  // QUADS: elements of K that the lanes of a line have at once

// ---- fragments

// m8n8k4 takes so long that a warp beside this one hides the loads of A's fragments; two sets of registers left ptxas none to spare.
bool cj__mma_f64_spares(const mma_kernel *k) { return cj__target_number(k->base.plan) < TARGET_16_LINES; }

// Lines of the matrix go down by lines of the stage, or along its rows, where K goes down.
void cj__mma_f64_begin(const mma_kernel *k, mma_fragments *x, cj_reg line, uint32_t first) {
    const bool by_k = x->operand->order == CJ_BY_K;
    cj_func   *f = k->base.f;
    cj_reg     g = cj_shr(f, "own_line", k->base.lane, 2), t = cj_and(f, "own_k", k->base.lane, 3);
    cj_reg     down = by_k ? g : t, along = by_k ? t : g;
    cj_reg     turn = cj_mul(f, "turn", by_k ? cj_and(f, "turn", down, MMA_F64_LINES - 1) : down, MMA_F64_TURN);
    x->at = cj_add(f, "operand", k->pool, first);
    x->at = cj_mad(f, "at", line, GEMM_ROW, x->at);  // by line: a box for each 16 of them, of 16 rows
    x->at = cj_mad(f, "at", down, GEMM_ROW, x->at);
    x->at = cj_mad(f, "at", cj_xor(f, "chunk", cj_shr(f, "chunk", along, 1), turn), MMA_CHUNK, x->at);
    x->at = cj_mad(f, "at", cj_and(f, "odd", along, 1), ELEMENT, x->at);
}

// The register of a fragment that has of the lines `half` (0: g, 1: g + 8) the element of K `late` (0: t, 1: t + 4). In A lines change
// first, as mma.sync has them; in B two fragments of 8 lines are side by side.
static cj_reg place_of(const mma_kernel *k, const mma_fragments *x, const cj_reg to[4], uint32_t half, uint32_t late) {
    return x->operand == &k->base.g->a ? to[half + 2 * late] : to[2 * half + late];
}

// Of an element so many chunks along a row, and so many rows down.
static void load(const mma_kernel *k, const mma_fragments *x, cj_reg when, uint32_t along, uint32_t down, cj_reg to) {
    cj_reg at = along ? cj_xor(k->base.f, "fragment", x->in_stage, along * MMA_CHUNK) : x->in_stage;
    cj__load(k->base.f, when, "ld.shared", "f64", &to, 1, at, down * GEMM_ROW);
}

void cj__mma_f64_load(const mma_kernel *k, const mma_fragments *x, cj_reg when, uint32_t slice, uint32_t i, const cj_reg to[4]) {
    for (uint32_t part = 0; part < 4; part++) {
        const uint32_t half = part % 2, late = part / 2, lines = i * MMA_LINES + half * HALF, element = (2 * slice + late) * QUADS;
        if (x->operand->order == CJ_BY_K)
            load(k, x, when, element * ELEMENT / MMA_CHUNK, lines, place_of(k, x, to, half, late));
        else
            load(k, x, when, half * HALF * ELEMENT / MMA_CHUNK, i * cj__mma_box(x->operand) + element, place_of(k, x, to, half, late));
    }
}

// ---- products

void cj__mma_f64_multiply(const mma_kernel *k, const cj_reg a[4], const cj_reg b[2], const cj_reg d[4]) {
    cj_func *f = k->base.f;
    if (cj__target_number(k->base.plan) >= TARGET_16_LINES) {
        cj_ptx(f, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {$1, $2, $3, $4}, {$5, $6, $7, $8}, {$9, $10}, {$1, $2, $3, $4};", d[0], d[1],
               d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1]);
        return;
    }
    for (uint32_t i = 0; i < 4; i++)
        cj_ptx(f, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$1, $2}, {$3}, {$4}, {$1, $2};", d[i % 2 * 2], d[i % 2 * 2 + 1], a[i],
               b[i / 2]);
}
