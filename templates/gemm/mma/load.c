// SPDX-License-Identifier: Apache-2.0
// Elements of operands whose address or lines are no multiples of 4 bytes, which cp.async cannot copy: a thread loads those of its
// pieces into registers, two of 16 bits or four of 8 a piece, and stores a piece at a time. They are on their way while a stage is
// multiplied (loop.c): all that a stage needs, or, where both operands have elements of 8 bits, A's and then B's. A warp loads a line of
// 128 bytes, or four of 32.
//
// No load reaches beyond the matrix: an element is loaded where the piece has bytes of the matrix (copy.c), else it is 0.
#include "mma.h"

// ---- where a piece lies in its stage

cj_reg cj__mma_line_at(const mma_kernel *k, const mma_copies *c, uint32_t i) {
    const bool     is_f64 = cj__gemm_is_f64(c->operand->type);
    const uint32_t further = i * c->lines, turn = is_f64 ? further % MMA_F64_LINES * MMA_F64_TURN : further % (GEMM_ROW / MMA_CHUNK);
    return turn ? cj_xor(k->base.f, "line_at", c->line_to, turn * MMA_CHUNK) : c->line_to;
}

uint32_t cj__mma_line_offset(const mma_copies *c, uint32_t i, uint32_t box) {
    return i * c->lines * GEMM_ROW + box * cj__mma_box_bytes(c->operand);
}

// ---- elements

static const char *type_of(const mma_copies *c) { return c->operand->type->bytes == 2 ? "b16" : "u8"; }

uint32_t cj__mma_loads(const gemm_shape *g, const mma_tile *t) {
    const uint32_t threads = cj__mma_warps(t) * GEMM_WARP, pieces = GEMM_ROW / MMA_COPY_LEAST;
    const uint32_t a = cj__mma_piece_loads(&g->a) * t->m * pieces / threads, b = cj__mma_piece_loads(&g->b) * t->n * pieces / threads;
    return cj__mma_loads_in_turn(g) ? (uint32_t)cj__most(a, b) : a + b;
}

static const cj_reg *loaded_of(const mma_copies *c, uint32_t i, uint32_t box) { return c->loaded + (i * c->boxes + box) * c->loads; }

void cj__mma_load(const mma_kernel *k, const mma_copies *c, cj_reg when, uint32_t i, uint32_t box, cj_reg size) {
    cj_func       *f = k->base.f;
    const uint32_t bytes = c->operand->type->bytes;
    const cj_reg  *x = loaded_of(c, i, box);
    for (uint32_t e = 0; e < c->loads; e++) {
        cj_reg is_there = cj_let(f, "pred", "is_there", "setp.gt.and.u32 $1, $2, $3, $4;", size, e * bytes, when);
        cj_ptx(f, "mov.b$1 $2, 0;", bytes == 2 ? 16 : 32, x[e]);
        cj_ptx(f, "@$1 ld.global.$2 $3, [$4 + $5];", is_there, type_of(c), x[e], c->from, box * GEMM_ROW + e * bytes);
    }
}

// The elements of a piece side by side.
static cj_reg packed(cj_func *f, const mma_copies *c, const cj_reg *x) {
    if (c->loads == 2) return cj_let(f, "b32", "piece", "mov.b32 $1, {$2, $3};", x[0], x[1]);
    cj_reg low = cj_let(f, "b32", "low", "prmt.b32 $1, $2, $3, 0x0040;", x[0], x[1]);
    cj_reg high = cj_let(f, "b32", "high", "prmt.b32 $1, $2, $3, 0x0040;", x[2], x[3]);
    return cj_let(f, "b32", "piece", "prmt.b32 $1, $2, $3, 0x5410;", low, high);
}

void cj__mma_copies_store(const mma_kernel *k, const mma_copies *c, cj_reg when) {
    for (uint32_t i = 0; c->loads && i < c->count; i++) {
        cj_reg at = cj__mma_line_at(k, c, i);
        for (uint32_t box = 0; box < c->boxes; box++)
            cj_ptx(k->base.f, "@$1 st.shared.b32 [$2 + $3], $4;", when, at, cj__mma_line_offset(c, i, box), packed(k->base.f, c, loaded_of(c, i, box)));
    }
}
