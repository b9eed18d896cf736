// SPDX-License-Identifier: Apache-2.0
#include "wgmma.h"

#include <string.h>

// ---- matrix descriptors

cj_wgmma_layout cj_wgmma_lay_out(unsigned origin, unsigned width, bool by_k, unsigned chunks) {
    cj_wgmma_layout l = {.origin = origin * 128, .width = width, .by_k = by_k};
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

// Where the element (line of M or N, k) lies, in elements from the pattern's origin: "Strides" and "Swizzling Modes".
static size_t place_of(const cj_wgmma_layout *l, unsigned bits, unsigned line, unsigned k) {
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

uint64_t cj_wgmma_describe(const cj_wgmma_layout *l, unsigned at) {
    const uint64_t mode = l->width == 8 ? 1 : l->width == 4 ? 2 : l->width == 2 ? 3 : 0;
    const uint64_t base = mode ? (at + l->origin) / 128 % 8 : 0;  // the "matrix base offset"
    return (at + l->origin + l->start) / 16 | (uint64_t)(l->leading / 16) << 16 | (uint64_t)(l->stride / 16) << 32 |
           base << 49 | mode << 62;
}

// ---- the kernel

static unsigned d_registers(const cj_matrix_case *c) { return c->n / (c->type[0]->bits == 16 ? 4 : 2); }

static const char *d_type(const cj_matrix_case *c) { return !strcmp(c->type[0]->name, "f32") ? "f32" : "b32"; }

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
                    CJ_WGMMA_IMAGE, CJ_WGMMA_THREADS * 16, CJ_WGMMA_THREADS * 16, CJ_WGMMA_THREADS * 16,
                    CJ_WGMMA_IMAGE);
}

void cj_wgmma_load(const cj_matrix_case *c, const cj_wgmma_way *way, cj_text *text) {
    const unsigned number = d_registers(c);
    write_copy(text);
    cj__text_printf(text, "    .reg .%s %%d<%u>;\n    .reg .b32 %%x<4>;\n", d_type(c), number);
    cj__text_puts(text, "    mad.wide.u32 %in, %thread, 4, %in;\n    mad.wide.u32 %out, %thread, 4, %out;\n");
    for (unsigned i = 0; way->a_in_registers && i < 4; i++) {
        cj__text_printf(text, "    ld.global.b32 %%x%u, [%%in+%u];\n", i, CJ_WGMMA_A_REGISTERS_AT + i * CJ_WGMMA_LINE);
    }
    for (unsigned i = 0; i < number; i++) {
        cj__text_printf(text, "    ld.global.%s %%d%u, [%%in+%u];\n", d_type(c), i, CJ_WGMMA_D_AT + i * CJ_WGMMA_LINE);
    }
}

void cj_wgmma_multiply(const cj_matrix_case *c, const cj_wgmma_way *way, const char *metadata, cj_text *text) {
    const unsigned number = d_registers(c);
    cj__text_printf(text, "    setp.ne.u32 %%adds, %d, 0;\n    wgmma.fence.sync.aligned;\n    %s ", way->adds, c->text);
    add_registers(text, 'd', number);
    cj__text_puts(text, ", ");
    if (way->a_in_registers)
        add_registers(text, 'x', 4);
    else
        cj__text_puts(text, "%a");
    cj__text_printf(text, ", %%b, %s%%adds", metadata);
    if (c->type[0]->exponent) cj__text_printf(text, ", %d, %d", way->a_negated ? -1 : 1, way->b_negated ? -1 : 1);
    if (c->type[1]->bits == 16 && !way->a_in_registers) cj__text_printf(text, ", %d", !way->a_by_k);
    if (c->type[1]->bits == 16) cj__text_printf(text, ", %d", !way->b_by_k);
    cj__text_puts(text, ";\n    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n");
    for (unsigned i = 0; i < number; i++) {
        cj__text_printf(text, "    st.global.%s [%%out+%u], %%d%u;\n", d_type(c), i * CJ_WGMMA_LINE, i);
    }
}

// ---- running

void cj_wgmma_store(unsigned char *image, const cj_wgmma_layout *l, const cj_matrix *matrix, bool is_a) {
    for (unsigned i = 0; i < matrix->rows * matrix->columns; i++) {
        const unsigned row = i / matrix->columns, column = i % matrix->columns, bits = matrix->type->bits;
        const size_t   at = place_of(l, bits, is_a ? row : column, is_a ? column : row);
        cj_matrix_store(image + l->origin, bits, at, matrix->bits[i]);
    }
}

// "Register Fragments for wgmma": four registers of A, each a piece of 8 rows by 4 * per_register.
void cj_wgmma_store_a(unsigned char *slots, const cj_matrix *a) {
    const unsigned e = 32 / a->type->bits;
    for (unsigned thread = 0; thread < CJ_WGMMA_THREADS; thread++) {
        for (unsigned i = 0; i < 4 * e; i++) {
            const unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / e % 2);
            const unsigned column = thread % 4 * e + i % e + 4 * e * (i / (2 * e));
            cj_matrix_store(slots + i / e * CJ_WGMMA_LINE + thread * 4, a->type->bits, i % e,
                            a->bits[row * a->columns + column]);
        }
    }
}

void cj_wgmma_move_d(unsigned char *slots, cj_matrix *d, bool out_of_registers) {
    const unsigned e = 32 / d->type->bits;
    for (unsigned thread = 0; thread < CJ_WGMMA_THREADS; thread++) {
        for (unsigned i = 0; i < d->columns / 2; i++) {
            const unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
            const unsigned column = 8 * (i / 4) + thread % 4 * 2 + i % 2;
            unsigned char *slot = slots + i / e * CJ_WGMMA_LINE + thread * 4;
            uint64_t      *bits = &d->bits[row * d->columns + column];
            if (out_of_registers)
                *bits = cj_matrix_load(slot, d->type->bits, i % e);
            else
                cj_matrix_store(slot, d->type->bits, i % e, *bits);
        }
    }
}
