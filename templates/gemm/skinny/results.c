// SPDX-License-Identifier: Apache-2.0
// From the sums of a block's warps, each of its part of K, to D.
//
//   shared memory   warp 0: few line 0 | 16 to 64 lines of the many |, few line 1, …    warp 1: …
//
// bar.sync: all warps have stored their sums before threads add them up, in the order of the warps: results are the same
// each time. Each thread then has elements of D of its own, which it alone reads of C and writes.
#include "skinny.h"

static void store_sums(const mma_kernel *k, const skinny_shape *s, const cj_reg *sum) {
    cj_func       *f = k->base.f;
    const uint32_t row = cj__skinny_row(s) * 4;
    cj_step(f, "the warp's sums, of each of the few lines side by side");
    cj_reg at = cj_mad(f, "at", k->base.warp, cj__skinny_warp_bytes(s), k->pool);
    at = cj_mad(f, "at", cj_and(f, "quarter", k->base.lane, 3), 2 * row, at);
    at = cj_mad(f, "at", cj_shr(f, "eighth", k->base.lane, 2), 4, at);
    for (uint32_t n = 0; n < s->groups; n++)
        for (uint32_t m = 0; m < s->eights; m++)
            for (uint32_t j = 0; j < 4; j++)
                cj_ptx(f, "st.shared.$4 [$1 + $2], $3;", at, (m * MMA_COLUMNS + j % 2) * row + (n * MMA_LINES + j / 2 * 8) * 4,
                       sum[4 * (n * s->eights + m) + j], cj__gemm_sum_type(k->base.g));
    cj_ptx(f, "bar.sync 0; // all warps' sums are there");
}

// What the elements of D need.
typedef struct target {
    gemm_values values;
    cj_reg      m, n, c, c_pitch, d, d_pitch;
} target;

static target begin(const mma_kernel *k) {
    const gemm_shape *g = k->base.g;
    target            t = {.m = cj__load_param(k->base.f, "s32", k->m, "m_end")};
    t.n = cj__load_param(k->base.f, "s32", k->n, "n_end");
    cj__gemm_values_begin(&k->base, &t.values);
    t.d = cj__mma_matrix(k, GEMM_MAP_D, false, g->d_type->bytes);
    t.d_pitch = cj__mma_line_bytes(k, GEMM_MAP_D, g->d_type->bytes);
    if (!g->adds_c) return t;
    t.c = cj__mma_matrix(k, GEMM_MAP_C, g->shared_c, g->c_type->bytes);
    t.c_pitch = cj__mma_line_bytes(k, GEMM_MAP_C, g->c_type->bytes);
    return t;
}

static void store_value(const mma_kernel *k, cj_reg at, cj_reg value) {
    const gemm_type *type = k->base.g->d_type;
    cj_func         *f = k->base.f;
    if (type->bytes == 4) {
        cj_ptx(f, "st.global.$3 [$1], $2;", at, value, cj__gemm_sum_type(k->base.g));
        return;
    }
    cj_reg rounded = type->bytes == 1 ? cj__gemm_narrow(&k->base, value, value)
                                      : cj_let(f, "b16", "rounded", "cvt.rn.$3.f32 $1, $2;", value, type->in_ptx);
    cj_ptx(f, "st.global.b$1 [$2], $3;", 8 * type->bytes, at, rounded);
}

// One element of D, whose sum is complete.
static void finish(const mma_kernel *k, const target *t, cj_reg row, cj_reg column, cj_reg sum) {
    const gemm_shape *g = k->base.g;
    cj_func          *f = k->base.f;
    cj_reg            addend = cj_none(), bias = cj_none();
    if (g->bias) {
        cj_reg at = cj_let(f, "u64", "bias_at", "mad.wide.u32 $1, $2, $3, $4;",
                           g->bias == GEMM_BIAS_ROWS ? row : column, g->c_type->bytes,
                           cj__load_pointer(f, k->base.bias, "bias"));
        bias = cj__mma_element(&k->base, cj_always(), at, 0, "bias");
    }
    if (g->adds_c) {
        cj_reg at = cj__mma_element_at(f, t->c, row, t->c_pitch, column, g->c_type->bytes);
        addend = cj__mma_element(&k->base, cj_always(), at, 0, "addend");
    }
    cj__gemm_value(&k->base, &t->values, &sum, &addend, &bias, 1);
    store_value(k, cj__mma_element_at(f, t->d, row, t->d_pitch, column, g->d_type->bytes), sum);
}

// The thread's element of D, the i-th: D's lines are of the many, or of the few; threads side by side have neighbours in
// them.
static void emit_element(const mma_kernel *k, const skinny_shape *s, const target *t, cj_reg first, cj_reg number) {
    cj_func       *f = k->base.f;
    const uint32_t lines = s->groups * MMA_LINES, few = s->eights * MMA_COLUMNS, row = cj__skinny_row(s) * 4;
    const uint32_t inner = s->many_is_a ? few : lines;
    cj_reg         in = cj_and(f, "inner", number, inner - 1), out = cj_shr(f, "outer", number, cj__log2(inner));
    cj_reg         of_many = s->many_is_a ? out : in, of_few = s->many_is_a ? in : out;
    cj_reg         at = cj_mad(f, "at", of_many, 4, cj_mad(f, "at", of_few, row, k->pool));
    cj_reg         line = cj_let(f, "s32", "line", "add.s32 $1, $2, $3;", of_many, first);
    cj_reg         other = cj_let(f, "s32", "other", "mov.b32 $1, $2;", of_few);
    cj_reg         d_row = s->many_is_a ? line : other, d_column = s->many_is_a ? other : line;
    cj_reg         is_row = cj_lt(f, "is_row", d_row, t->m);
    if (lines * few < SKINNY_WARPS * GEMM_WARP)
        is_row = cj_let(f, "pred", "is_row", "setp.lt.and.u32 $1, $2, $3, $4;", number, lines * few, is_row);
    cj_reg inside = cj_let(f, "pred", "inside", "setp.lt.and.s32 $1, $2, $3, $4;", d_column, t->n, is_row);
    CJ_IF(f, inside, "outside") {
        cj_reg sum = cj__gemm_sum(&k->base, "sum");
        cj__gemm_sum_clear(&k->base, sum);
        for (uint32_t w = 0; w < SKINNY_WARPS; w++) {
            cj_reg part = cj__gemm_sum(&k->base, "part");
            cj_ptx(f, "ld.shared.$4 $1, [$2 + $3];", part, at, w * cj__skinny_warp_bytes(s), cj__gemm_sum_type(k->base.g));
            cj__gemm_sums_add(&k->base, &sum, &part, 1);
        }
        finish(k, t, d_row, d_column, sum);
    }
}

void cj__skinny_results(const mma_kernel *k, const skinny_shape *s, const cj_reg *sum, cj_reg first) {
    const uint32_t elements = s->groups * MMA_LINES * s->eights * MMA_COLUMNS, threads = SKINNY_WARPS * GEMM_WARP;
    store_sums(k, s, sum);
    cj_step(k->base.f, "each thread adds up the sums of its elements of D");
    const target t = begin(k);
    for (uint32_t i = 0; i < elements; i += threads)
        emit_element(k, s, &t, first, i ? cj_add(k->base.f, "number", k->base.thread, i) : k->base.thread);
}
