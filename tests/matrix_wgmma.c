// SPDX-License-Identifier: Apache-2.0
// wgmma: an image of shared memory, swizzled and described here, one wgmma.mma_async, and D from its registers.
#include <stdio.h>
#include <string.h>

#include "matrix.h"
#include "test.h"

enum {
    THREADS = 128,
    M = 64,
    B_AT = 16 * 1024,
    IMAGE = 48 * 1024,  // bytes: A, then B in shared memory
    A_REGISTERS_AT = IMAGE,
    D_AT = 64 * 1024,   // in `in`, behind the image
    LINE = THREADS * 4  // bytes of one register
};

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
    unsigned form, n, a_width, b_width, a_origin, b_origin;
    bool     a_in_registers, a_by_k, b_by_k, adds, a_negated, b_negated;
} variation;

// First every N; then every way of lying in memory; then every form with a few N, A in memory and in registers; then
// patterns that begin in the middle of their repeat.
enum { EVERY_N = 32, LAYOUTS = 64, FEW = 8, FORMS = CJ_TEST_COUNT(forms) * FEW, ORIGINS = 56 };

static unsigned count(void) { return EVERY_N + LAYOUTS + FORMS + ORIGINS; }

static variation variation_of(unsigned index) {
    static const unsigned few[] = {8, 32, 96, 256};
    variation             v = {.form = 0, .n = 64, .a_by_k = true, .b_by_k = true, .adds = true};
    v.a_width = 1u << index % 4;
    v.b_width = 1u << index / 4 % 4;
    if (index < EVERY_N) {
        v.n = 8 * (index + 1);
    } else if (index < EVERY_N + LAYOUTS) {
        v.form = index % 3 ? 2 : 0;
        v.a_by_k = (index - EVERY_N) >> 4 & 1;
        v.b_by_k = (index - EVERY_N) >> 5 & 1;
        v.a_negated = index % 5 == 0;
    } else if (index >= EVERY_N + LAYOUTS + FORMS) {
        const unsigned way = index - EVERY_N - LAYOUTS - FORMS;
        v.form = way % 2 ? 2 : 0;
        v.a_origin = way % 7 + 1;
        v.b_origin = way % 5 + way / 28;
        v.a_width = v.b_width = 2u << way / 7 % 3;
        v.a_by_k = way / 7 % 2;
        v.b_by_k = way / 14 % 2;
    } else {
        const unsigned way = (index - EVERY_N - LAYOUTS) % FEW;
        v.form = (index - EVERY_N - LAYOUTS) / FEW;
        v.n = few[way / 2];
        v.a_in_registers = way % 2;
        v.adds = way != 3;
        v.b_negated = forms[v.form].types[0] == 'f' && way == 5;
    }
    return v;
}

// ---- matrix descriptors: the canonical layouts, in bytes

typedef struct layout {
    unsigned origin;  // of the pattern, from which `start` counts
    unsigned start, leading, stride, width;
    bool     by_k;
} layout;

// Pieces follow each other closely. Where a row of the pattern has room for several steps of k the last one is taken.
static layout lay_out(unsigned origin, unsigned width, bool by_k) {
    layout l = {.origin = origin * 128, .width = width, .by_k = by_k};
    if (by_k) {
        l.start = width > 2 ? (width - 2) * 16 : 0;
        l.leading = width == 1 ? 128 : 16;
        l.stride = width == 1 ? 256 : 128 * width;
    } else {
        l.leading = width == 1 ? 128 : 256 * width;  // without a pattern: from 8 k to the next
        l.stride = width == 1 ? 256 : 128 * width;
    }
    return l;
}

// Where the element (line of M or N, k) lies, in elements from the pattern's origin: "Strides" and "Swizzling Modes".
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
    const uint64_t base = mode ? (at + l->origin) / 128 % 8 : 0;  // the "matrix base offset"
    return (at + l->origin + l->start) / 16 | (uint64_t)(l->leading / 16) << 16 | (uint64_t)(l->stride / 16) << 32 |
           base << 49 | mode << 62;
}

static void make(unsigned index, cj_matrix_case *c) {
    const variation v = variation_of(index);
    const layout    a = lay_out(v.a_origin, v.a_width, v.a_by_k), b = lay_out(v.b_origin, v.b_width, v.b_by_k);
    char            mnemonic[128];
    snprintf(mnemonic, sizeof mnemonic, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s", v.n, forms[v.form].k,
             forms[v.form].types);
    cj_matrix_parse(c, mnemonic);
    c->type[3] = c->type[0];
    c->a = describe(&a, 0);
    c->b = describe(&b, B_AT);
    c->variant = index;
}

// ---- the kernel

static unsigned d_registers(const cj_matrix_case *c) { return c->n / (c->type[0]->bits == 16 ? 4 : 2); }

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

static void write(const cj_matrix_case *c, cj_text *text) {
    const variation v = variation_of(c->variant);
    const char     *type = !strcmp(c->type[0]->name, "f32") ? "f32" : "b32";
    const unsigned  number = d_registers(c);
    write_copy(text);
    cj__text_printf(text, "    .reg .%s %%d<%u>;\n    .reg .b32 %%x<4>;\n", type, number);
    cj__text_puts(text, "    mad.wide.u32 %in, %thread, 4, %in;\n    mad.wide.u32 %out, %thread, 4, %out;\n");
    for (unsigned i = 0; v.a_in_registers && i < 4; i++) {
        cj__text_printf(text, "    ld.global.b32 %%x%u, [%%in+%u];\n", i, A_REGISTERS_AT + i * LINE);
    }
    for (unsigned i = 0; i < number; i++) {
        cj__text_printf(text, "    ld.global.%s %%d%u, [%%in+%u];\n", type, i, D_AT + i * LINE);
    }
    cj__text_printf(text, "    setp.ne.u32 %%adds, %d, 0;\n    wgmma.fence.sync.aligned;\n    %s ", v.adds, c->text);
    add_registers(text, 'd', number);
    cj__text_puts(text, ", ");
    if (v.a_in_registers)
        add_registers(text, 'x', 4);
    else
        cj__text_puts(text, "%a");
    cj__text_puts(text, ", %b, %adds");
    if (c->type[0]->exponent) cj__text_printf(text, ", %d, %d", v.a_negated ? -1 : 1, v.b_negated ? -1 : 1);
    if (c->k == 16 && !v.a_in_registers) cj__text_printf(text, ", %d", !v.a_by_k);
    if (c->k == 16) cj__text_printf(text, ", %d", !v.b_by_k);
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
        cj_matrix_store(image + l->origin, bits, at, matrix->bits[i]);
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
    static cj_matrix a, b, added, d;
    const variation  v = variation_of(c->variant);
    const layout     a_layout = lay_out(v.a_origin, v.a_width, v.a_by_k);
    const layout     b_layout = lay_out(v.b_origin, v.b_width, v.b_by_k);
    cj_matrix_fill(&a, c, c->type[1], M, c->k, random);
    cj_matrix_fill(&b, c, c->type[2], c->k, c->n, random);
    cj_matrix_fill_addend(&added, c, c->type[0], M, c->n, random);
    cj_matrix_fill(&d, c, c->type[0], M, c->n, random);
    memset(buffers->in, 0xff, IMAGE);  // NaN, wherever nothing belongs
    store_matrix(buffers->in, &a_layout, &a, true);
    store_matrix(buffers->in + B_AT, &b_layout, &b, false);
    store_a_registers(buffers->in + A_REGISTERS_AT, &a);
    move_d(buffers->in + D_AT, &added, false);
    if (!launch(user)) return false;
    move_d(buffers->out, &d, true);
    return cj_matrix_agrees(c, &a, &b, v.adds ? &added : NULL, &d, v.a_negated != v.b_negated);
}

const cj_matrix_family cj_matrix_wgmma = {"wgmma", THREADS, count, make, write, run};
