// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async.sp: as wgmma, with half of A in shared memory or in registers, and metadata in registers.
#include <stdio.h>
#include <string.h>

#include "matrix_sparse.h"
#include "test.h"

enum {
    THREADS = 128,
    M = 64,
    B_AT = 16 * 1024,
    IMAGE = 48 * 1024,       // bytes: A, then B in shared memory
    A_REGISTERS_AT = IMAGE,  // in `in`, behind the image
    METADATA_AT = 52 * 1024,
    D_AT = 64 * 1024,
    LINE = THREADS * 4  // bytes of one register
};

static const struct {
    const char *types;
    unsigned    k;
} forms[] = {{"f32.f16.f16", 32},         {"f16.f16.f16", 32},        {"f32.bf16.bf16", 32},
             {"f32.tf32.tf32", 16},       {"f32.e4m3.e4m3", 64},      {"f32.e4m3.e5m2", 64},
             {"f32.e5m2.e4m3", 64},       {"f16.e5m2.e5m2", 64},      {"f16.e4m3.e5m2", 64},
             {"s32.u8.u8", 64},           {"s32.s8.s8", 64},          {"s32.u8.s8.satfinite", 64},
             {"s32.s8.u8.satfinite", 64}, {"s32.s8.s8.satfinite", 64}};

// What varies besides. Widths: chunks of 16 bytes in a row of the swizzled pattern, 1 for none.
typedef struct variation {
    unsigned form, n, a_width, b_width, selector;
    bool     a_in_registers, a_by_k, b_by_k, adds, a_negated, b_negated;
} variation;

// First every N; then every way of lying in memory, of f16 and of bf16; then every form with a few N, A in memory and
// in registers, under every selector.
enum { EVERY_N = 32, LAYOUTS = 64, FEW = 16, FORMS = CJ_TEST_COUNT(forms) * FEW };

static unsigned count(void) { return EVERY_N + LAYOUTS + FORMS; }

// Four chunks along k are in one row of the pattern, or there is none.
static unsigned width_of_b(unsigned way, bool by_k) {
    static const unsigned along[] = {1, 4, 8, 8};
    return by_k ? along[way % 4] : 1u << way % 4;
}

static variation variation_of(unsigned index) {
    static const unsigned few[] = {8, 32, 96, 256};
    variation             v = {.form = 0, .n = 64, .a_by_k = true, .b_by_k = true, .adds = true};
    v.a_width = 1u << index % 4;
    if (index < EVERY_N) {
        v.n = 8 * (index + 1);
        v.selector = index / 4 % 2;
    } else if (index < EVERY_N + LAYOUTS) {
        v.form = index % 3 ? 2 : 0;
        v.a_by_k = (index - EVERY_N) >> 4 & 1;
        v.b_by_k = (index - EVERY_N) >> 5 & 1;
        v.a_negated = index % 5 == 0;
    } else {
        const unsigned way = (index - EVERY_N - LAYOUTS) % FEW;
        v.form = (index - EVERY_N - LAYOUTS) / FEW;
        v.n = few[way / 2 % 4];
        v.a_in_registers = way % 2;
        v.adds = way != 3;
        v.b_negated = forms[v.form].types[0] == 'f' && way == 5;
        v.selector = way / 8;
    }
    v.b_width = width_of_b(index / 4, v.b_by_k);
    return v;
}

// ---- matrix descriptors: the canonical layouts, in bytes, as tests/matrix_wgmma.c has them

typedef struct layout {
    unsigned start, leading, stride, width;
    bool     by_k;
} layout;

// Of `chunks` of 16 bytes along k. Where a row of the pattern has room for several steps of k the last one is taken.
static layout lay_out(unsigned width, bool by_k, unsigned chunks) {
    layout l = {.width = width, .by_k = by_k};
    if (by_k) {
        l.start = width > chunks ? (width - chunks) * 16 : 0;
        l.leading = width == 1 ? 128 : 16;
        l.stride = width == 1 ? 128 * chunks : 128 * width;
    } else {
        l.leading = width == 1 ? 128 : 128 * chunks * width;  // without a pattern: from 8 k to the next
        l.stride = width == 1 ? 128 * chunks : 128 * width;
    }
    return l;
}

static size_t place_of(const layout *l, unsigned bits, unsigned line, unsigned k) {
    const unsigned per_chunk = 128 / bits, row = 16 * l->width;
    size_t         at = l->start;
    if (l->by_k) {
        at += line % 8 * row + line / 8 * l->stride + k / per_chunk * l->leading;
    } else {
        const unsigned across = per_chunk * l->width;  // lines in a row
        at += line % per_chunk * bits / 8 + k % 8 * row;
        if (l->width == 1)
            at += line / per_chunk * l->stride + k / 8 * l->leading;
        else
            at += line % across / per_chunk * 16 + line / across * l->leading + k / 8 * l->stride;
    }
    at ^= (at / 128 % l->width) * 16;
    return at * 8 / bits + (l->by_k ? k % per_chunk : 0);
}

static uint64_t describe(const layout *l, unsigned at) {
    const uint64_t mode = l->width == 8 ? 1 : l->width == 4 ? 2 : l->width == 2 ? 3 : 0;
    return (at + l->start) / 16 | (uint64_t)(l->leading / 16) << 16 | (uint64_t)(l->stride / 16) << 32 | mode << 62;
}

static layout layout_of_a(const variation *v) { return lay_out(v->a_width, v->a_by_k, 2); }
static layout layout_of_b(const variation *v) { return lay_out(v->b_width, v->b_by_k, 4); }

static void make(unsigned index, cj_matrix_case *c) {
    const variation v = variation_of(index);
    const layout    a = layout_of_a(&v), b = layout_of_b(&v);
    char            mnemonic[128];
    snprintf(mnemonic, sizeof mnemonic, "wgmma.mma_async.sp.sync.aligned.m64n%uk%u.%s", v.n, forms[v.form].k,
             forms[v.form].types);
    cj_matrix_parse(c, mnemonic);
    c->type[3] = c->type[0];
    c->a = describe(&a, 0);
    c->b = describe(&b, B_AT);
    c->variant = index;
}

// ---- the kernel

static unsigned d_registers(const cj_matrix_case *c) { return c->n / (c->type[0]->bits == 16 ? 4 : 2); }

static unsigned selector_of(const cj_matrix_case *c, const variation *v) {
    return v->selector % cj_sparse_selectors(c->type[1]->bits, c->k);
}

static void add_registers(cj_text *text, char letter, unsigned number) {
    for (unsigned i = 0; i < number; i++) cj__text_printf(text, "%s%%%c%u", i ? ", " : "{", letter, i);
    cj__text_puts(text, "}");
}

static void write_copy(cj_text *text) {
    cj__text_printf(text,
                    "    .shared .align 1024 .b8 buffer[%d];\n"
                    "    .reg .b32 %%at, %%i, %%v<4>;\n    .reg .b64 %%from, %%base;\n    .reg .pred %%more, %%adds;\n"
                    "    mov.u32 %%at, buffer;\n    cvt.u64.u32 %%base, %%at;\n    shr.u64 %%base, %%base, 4;\n"
                    "    add.u64 %%a, %%a, %%base;\n    add.u64 %%b, %%b, %%base;\n"
                    "    mad.lo.u32 %%at, %%thread, 16, %%at;\n    mad.wide.u32 %%from, %%thread, 16, %%in;\n"
                    "    mov.u32 %%i, 0;\n"
                    "more:\n"
                    "    ld.global.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%from];\n"
                    "    st.shared.v4.b32 [%%at], {%%v0, %%v1, %%v2, %%v3};\n"
                    "    add.u64 %%from, %%from, %d;\n    add.u32 %%at, %%at, %d;\n    add.u32 %%i, %%i, %d;\n"
                    "    setp.lt.u32 %%more, %%i, %d;\n    @%%more bra more;\n"
                    "    fence.proxy.async.shared::cta;\n    bar.sync 0;\n",
                    IMAGE, THREADS * 16, THREADS * 16, THREADS * 16, IMAGE);
}

static void write_operands(const cj_matrix_case *c, const variation *v, cj_text *text) {
    if (v->a_in_registers)
        add_registers(text, 'x', 4);
    else
        cj__text_puts(text, "%a");
    cj__text_printf(text, ", %%b, %%meta, %u, %%adds", selector_of(c, v));
    if (c->type[0]->exponent) cj__text_printf(text, ", %d, %d", v->a_negated ? -1 : 1, v->b_negated ? -1 : 1);
    if (c->type[1]->bits != 16) return;
    if (!v->a_in_registers) cj__text_printf(text, ", %d", !v->a_by_k);
    cj__text_printf(text, ", %d", !v->b_by_k);
}

static void write(const cj_matrix_case *c, cj_text *text) {
    const variation v = variation_of(c->variant);
    const char     *type = !strcmp(c->type[0]->name, "f32") ? "f32" : "b32";
    const unsigned  number = d_registers(c);
    write_copy(text);
    cj__text_printf(text, "    .reg .%s %%d<%u>;\n    .reg .b32 %%x<4>, %%meta;\n", type, number);
    cj__text_puts(text, "    mad.wide.u32 %in, %thread, 4, %in;\n    mad.wide.u32 %out, %thread, 4, %out;\n");
    cj__text_printf(text, "    ld.global.b32 %%meta, [%%in+%u];\n", METADATA_AT);
    for (unsigned i = 0; v.a_in_registers && i < 4; i++) {
        cj__text_printf(text, "    ld.global.b32 %%x%u, [%%in+%u];\n", i, A_REGISTERS_AT + i * LINE);
    }
    for (unsigned i = 0; i < number; i++) {
        cj__text_printf(text, "    ld.global.%s %%d%u, [%%in+%u];\n", type, i, D_AT + i * LINE);
    }
    cj__text_printf(text, "    setp.ne.u32 %%adds, %d, 0;\n    wgmma.fence.sync.aligned;\n    %s ", v.adds, c->text);
    add_registers(text, 'd', number);
    cj__text_puts(text, ", ");
    write_operands(c, &v, text);
    cj__text_puts(text, ";\n    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < number; i++) {
        cj__text_printf(text, "    st.global.%s [%%out+%u], %%d%u;\n", type, i * LINE, i);
    }
}

// ---- running

static void store_matrix(unsigned char *image, const layout *l, const cj_matrix *matrix, bool is_a) {
    for (unsigned i = 0; i < matrix->rows * matrix->columns; i++) {
        const unsigned row = i / matrix->columns, column = i % matrix->columns, bits = matrix->type->bits;
        const size_t   at = place_of(l, bits, is_a ? row : column, is_a ? column : row);
        cj_matrix_store(image, bits, at, matrix->bits[i]);
    }
}

// "Register Fragments for wgmma": four registers of A, each a piece of 8 rows by 4 * per_register.
static void store_a_registers(unsigned char *slots, const cj_matrix *a) {
    const unsigned e = 32 / a->type->bits;
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned i = 0; i < 4 * e; i++) {
            const unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / e % 2);
            const unsigned column = thread % 4 * e + i % e + 4 * e * (i / (2 * e));
            cj_matrix_store(slots + i / e * LINE + thread * 4, a->type->bits, i % e,
                            a->bits[row * a->columns + column]);
        }
    }
}

static void move_d(unsigned char *slots, cj_matrix *d, bool out_of_registers) {
    const unsigned e = 32 / d->type->bits;
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned i = 0; i < d->columns / 2; i++) {
            const unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
            const unsigned column = 8 * (i / 4) + thread % 4 * 2 + i % 2;
            unsigned char *slot = slots + i / e * LINE + thread * 4;
            uint64_t      *bits = &d->bits[row * d->columns + column];
            if (out_of_registers)
                *bits = cj_matrix_load(slot, d->type->bits, i % e);
            else
                cj_matrix_store(slot, d->type->bits, i % e, *bits);
        }
    }
}

static bool run(const cj_matrix_case *c, cj_matrix_buffers *buffers, bool (*launch)(void *user), void *user,
                uint64_t *random) {
    static cj_matrix a, stored, b, added, d;
    const variation  v = variation_of(c->variant);
    const layout     a_layout = layout_of_a(&v), b_layout = layout_of_b(&v);
    uint32_t         metadata[THREADS];
    cj_sparse_fill(&a, &stored, metadata, c, M, selector_of(c, &v), random);
    cj_matrix_fill(&b, c, c->type[2], c->k, c->n, random);
    cj_matrix_fill_addend(&added, c, c->type[0], M, c->n, random);
    cj_matrix_fill(&d, c, c->type[0], M, c->n, random);
    memset(buffers->in, 0xff, IMAGE);  // NaN, wherever nothing belongs
    store_matrix(buffers->in, &a_layout, &stored, true);
    store_matrix(buffers->in + B_AT, &b_layout, &b, false);
    store_a_registers(buffers->in + A_REGISTERS_AT, &stored);
    memcpy(buffers->in + METADATA_AT, metadata, sizeof metadata);
    move_d(buffers->in + D_AT, &added, false);
    if (!launch(user)) return false;
    move_d(buffers->out, &d, true);
    return cj_matrix_agrees(c, &a, &b, v.adds ? &added : NULL, &d, v.a_negated != v.b_negated);
}

const cj_matrix_family cj_matrix_wgmma_sparse = {"wgmma.sp", THREADS, count, make, write, run};
