// SPDX-License-Identifier: Apache-2.0
// wgmma: an image of shared memory, swizzled and described here, one wgmma.mma_async, and D from its registers.
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "wgmma.h"

static const struct {
    const char *types;
    unsigned    k;
} forms[] = {{"f32.f16.f16", 16},         {"f16.f16.f16", 16},        {"f32.bf16.bf16", 16},
             {"f32.tf32.tf32", 8},        {"f32.e4m3.e4m3", 32},      {"f32.e4m3.e5m2", 32},
             {"f32.e5m2.e4m3", 32},       {"f16.e5m2.e5m2", 32},      {"f16.e4m3.e5m2", 32},
             {"s32.u8.u8", 32},           {"s32.s8.s8", 32},          {"s32.u8.s8.satfinite", 32},
             {"s32.s8.u8.satfinite", 32}, {"s32.b1.b1.and.popc", 256}};

// What varies besides. Widths: chunks of 16 bytes in a row of the swizzled pattern, 1 for none. Origins: where the
// pattern begins, in units of 128 bytes, of which it repeats after at most 8.
typedef struct variation {
    unsigned     form, n, a_width, b_width, a_origin, b_origin;
    cj_wgmma_way way;
} variation;

// First every N; then every way of lying in memory; then every form with a few N, A in memory and in registers; then
// patterns that begin in the middle of their repeat.
enum { EVERY_N = 32, LAYOUTS = 64, FEW = 8, FORMS = CJ_TEST_COUNT(forms) * FEW, ORIGINS = 56 };

static unsigned count(void) { return EVERY_N + LAYOUTS + FORMS + ORIGINS; }

static variation variation_of(unsigned index) {
    static const unsigned few[] = {8, 32, 96, 256};
    variation             v = {.form = 0, .n = 64, .way = {.a_by_k = true, .b_by_k = true, .adds = true}};
    v.a_width = 1u << index % 4;
    v.b_width = 1u << index / 4 % 4;
    if (index < EVERY_N) {
        v.n = 8 * (index + 1);
    } else if (index < EVERY_N + LAYOUTS) {
        v.form = index % 3 ? 2 : 0;
        v.way.a_by_k = (index - EVERY_N) >> 4 & 1;
        v.way.b_by_k = (index - EVERY_N) >> 5 & 1;
        v.way.a_negated = index % 5 == 0;
    } else if (index >= EVERY_N + LAYOUTS + FORMS) {
        const unsigned way = index - EVERY_N - LAYOUTS - FORMS;
        v.form = way % 2 ? 2 : 0;
        v.a_origin = way % 7 + 1;
        v.b_origin = way % 5 + way / 28;
        v.a_width = v.b_width = 2u << way / 7 % 3;
        v.way.a_by_k = way / 7 % 2;
        v.way.b_by_k = way / 14 % 2;
    } else {
        const unsigned way = (index - EVERY_N - LAYOUTS) % FEW;
        v.form = (index - EVERY_N - LAYOUTS) / FEW;
        v.n = few[way / 2];
        v.way.a_in_registers = way % 2;
        v.way.adds = way != 3;
        v.way.b_negated = forms[v.form].types[0] == 'f' && way == 5;
    }
    return v;
}

// Chunks along k of A and of B.
static cj_wgmma_layout layout_of_a(const variation *v) {
    return cj_wgmma_lay_out(v->a_origin, v->a_width, v->way.a_by_k, 2);
}
static cj_wgmma_layout layout_of_b(const variation *v) {
    return cj_wgmma_lay_out(v->b_origin, v->b_width, v->way.b_by_k, 2);
}

static void make(unsigned index, cj_matrix_case *c) {
    const variation       v = variation_of(index);
    const cj_wgmma_layout a = layout_of_a(&v), b = layout_of_b(&v);
    char                  mnemonic[128];
    snprintf(mnemonic, sizeof mnemonic, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s", v.n, forms[v.form].k,
             forms[v.form].types);
    cj_matrix_parse(c, mnemonic);
    c->type[3] = c->type[0];
    c->a = cj_wgmma_describe(&a, 0);
    c->b = cj_wgmma_describe(&b, CJ_WGMMA_B_AT);
    c->variant = index;
}

static void write(const cj_matrix_case *c, cj_text *text) {
    const variation v = variation_of(c->variant);
    cj_wgmma_load(c, &v.way, text);
    cj_wgmma_multiply(c, &v.way, "", text);
}

static bool run(const cj_matrix_case *c, cj_matrix_buffers *buffers, bool (*launch)(void *user), void *user,
                uint64_t *random) {
    static cj_matrix      a, b, added, d;
    const variation       v = variation_of(c->variant);
    const cj_wgmma_layout a_layout = layout_of_a(&v), b_layout = layout_of_b(&v);
    cj_matrix_fill(&a, c, c->type[1], CJ_WGMMA_M, c->k, random);
    cj_matrix_fill(&b, c, c->type[2], c->k, c->n, random);
    cj_matrix_fill_addend(&added, c, c->type[0], CJ_WGMMA_M, c->n, random);
    cj_matrix_fill(&d, c, c->type[0], CJ_WGMMA_M, c->n, random);
    memset(buffers->in, 0xff, CJ_WGMMA_IMAGE);  // NaN, wherever nothing belongs
    cj_wgmma_store(buffers->in, &a_layout, &a, true);
    cj_wgmma_store(buffers->in + CJ_WGMMA_B_AT, &b_layout, &b, false);
    cj_wgmma_store_a(buffers->in + CJ_WGMMA_A_REGISTERS_AT, &a);
    cj_wgmma_move_d(buffers->in + CJ_WGMMA_D_AT, &added, false);
    if (!launch(user)) return false;
    cj_wgmma_move_d(buffers->out, &d, true);
    return cj_matrix_agrees(c, &a, &b, v.way.adds ? &added : NULL, &d, v.way.a_negated != v.way.b_negated);
}

const cj_matrix_family cj_matrix_wgmma = {"wgmma", CJ_WGMMA_THREADS, count, make, write, run};
