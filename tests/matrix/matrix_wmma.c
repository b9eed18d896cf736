// SPDX-License-Identifier: Apache-2.0
// wmma: matrices in memory by rows or by columns, with room between the lines in every second case.
#include <stdio.h>
#include <string.h>

#include "matrix.h"
#include "test.h"

enum { LANES = 32, PART = 16 * 1024 };  // bytes for A, B and C, one after the other

// Shape, number of registers of A, B, C and D, types as wmma.mma names them, type of A and B.
typedef struct form {
    const char *shape, *types, *operand, *addend, *result;
    unsigned    a, b, c, d;
} form;

static const form forms[] = {
    {"m16n16k16", "f16.f16", "f16", "f16", "f16", 8, 8, 4, 4},
    {"m16n16k16", "f16.f32", "f16", "f32", "f16", 8, 8, 8, 4},
    {"m16n16k16", "f32.f16", "f16", "f16", "f32", 8, 8, 4, 8},
    {"m16n16k16", "f32.f32", "f16", "f32", "f32", 8, 8, 8, 8},
    {"m8n32k16", "f16.f16", "f16", "f16", "f16", 8, 8, 4, 4},
    {"m8n32k16", "f32.f32", "f16", "f32", "f32", 8, 8, 8, 8},
    {"m32n8k16", "f16.f16", "f16", "f16", "f16", 8, 8, 4, 4},
    {"m32n8k16", "f32.f32", "f16", "f32", "f32", 8, 8, 8, 8},
    {"m16n16k16", "f32.bf16.bf16.f32", "bf16", "f32", "f32", 4, 4, 8, 8},
    {"m8n32k16", "f32.bf16.bf16.f32", "bf16", "f32", "f32", 2, 8, 8, 8},
    {"m32n8k16", "f32.bf16.bf16.f32", "bf16", "f32", "f32", 8, 2, 8, 8},
    {"m16n16k8", "f32.tf32.tf32.f32", "tf32", "f32", "f32", 4, 4, 8, 8},
    {"m8n8k4", "f64.f64.f64.f64", "f64", "f64", "f64", 1, 1, 2, 2},
    {"m16n16k16", "s32.u8.u8.s32", "u8", "s32", "s32", 2, 2, 8, 8},
    {"m16n16k16", "s32.s8.s8.s32.satfinite", "s8", "s32", "s32", 2, 2, 8, 8},
    {"m8n32k16", "s32.s8.s8.s32", "s8", "s32", "s32", 1, 4, 8, 8},
    {"m8n32k16", "s32.u8.u8.s32.satfinite", "u8", "s32", "s32", 1, 4, 8, 8},
    {"m32n8k16", "s32.u8.u8.s32", "u8", "s32", "s32", 4, 1, 8, 8},
    {"m32n8k16", "s32.s8.s8.s32.satfinite", "s8", "s32", "s32", 4, 1, 8, 8},
    {"m8n8k32", "s32.u4.u4.s32", "u4", "s32", "s32", 1, 1, 2, 2},
    {"m8n8k32", "s32.s4.s4.s32.satfinite", "s4", "s32", "s32", 1, 1, 2, 2},
    {"m8n8k128", "s32.b1.b1.s32.xor", "b1", "s32", "s32", 1, 1, 2, 2},
    {"m8n8k128", "s32.b1.b1.s32.and", "b1", "s32", "s32", 1, 1, 2, 2},
};

enum { WAYS = 8 };  // bit 0: A by columns, 1: B by rows, 2: C and D by columns, with room between lines

static unsigned count(void) { return CJ_TEST_COUNT(forms) * WAYS; }

static const cj_matrix_type *type(const char *name) { return cj_matrix_type_find(name, strlen(name)); }

// Operands of less than a byte lie along k only.
static bool is_small(const form *f) { return type(f->operand)->bits < 8; }
static bool a_by_rows(const cj_matrix_case *c) { return is_small(&forms[c->variant / WAYS]) || !(c->variant & 1); }
static bool b_by_rows(const cj_matrix_case *c) { return !is_small(&forms[c->variant / WAYS]) && c->variant >> 1 & 1; }
static bool c_by_rows(const cj_matrix_case *c) { return !(c->variant >> 2 & 1); }
static unsigned spread(const cj_matrix_case *c) { return c->variant >> 2 & 1 ? 2 : 1; }  // of a line, in its lengths

static void make(unsigned index, cj_matrix_case *c) {
    const form *f = &forms[index / WAYS];
    char        mnemonic[128], bitwise[8] = "";
    int         length = (int)strlen(f->types);
    if (type(f->operand)->bits == 1) {  // .xor.popc stands in front
        length -= 4;
        snprintf(bitwise, sizeof bitwise, "%s", f->types + length);
    }
    cj_matrix_case layout = {.variant = index};
    snprintf(mnemonic, sizeof mnemonic, "wmma.mma%s%s.sync.aligned.%s.%s.%s.%.*s", bitwise, *bitwise ? ".popc" : "",
             a_by_rows(&layout) ? "row" : "col", b_by_rows(&layout) ? "row" : "col", f->shape, length, f->types);
    cj_matrix_parse(c, mnemonic);
    c->variant = index;
    c->type[0] = type(f->result);
    c->type[1] = c->type[2] = type(f->operand);
    c->type[3] = type(f->addend);
}

// ---- the kernel

static void add_registers(cj_text *text, char letter, unsigned number) {
    for (unsigned i = 0; i < number; i++) cj__text_printf(text, "%s%%%c%u", i ? ", " : "{", letter, i);
    cj__text_puts(text, "}");
}

static void declare(cj_text *text, char letter, const cj_matrix_type *t, unsigned number) {
    const char *name = t->bits == 64 ? "f64" : !strcmp(t->name, "f32") ? "f32" : "b32";
    cj__text_printf(text, "    .reg .%s %%%c<%u>;\n", name, letter, number);
}

// ", stride" where lines do not touch.
static void add_stride(const cj_matrix_case *c, cj_text *text, unsigned line) {
    if (spread(c) > 1) cj__text_printf(text, ", %u", line * spread(c));
    cj__text_puts(text, ";\n");
}

static void load(const cj_matrix_case *c, cj_text *text, char letter, unsigned number, const cj_matrix_type *t,
                 bool by_rows, unsigned line, unsigned offset) {
    const form *f = &forms[c->variant / WAYS];
    cj__text_printf(text, "    wmma.load.%c.sync.aligned.%s.%s.global.%s ", letter, by_rows ? "row" : "col", f->shape,
                    t->name);
    add_registers(text, letter, number);
    cj__text_printf(text, ", [%%in+%u]", offset);
    add_stride(c, text, line);
}

static void write(const cj_matrix_case *c, cj_text *text) {
    const form *f = &forms[c->variant / WAYS];
    declare(text, 'a', c->type[1], f->a);
    declare(text, 'b', c->type[2], f->b);
    declare(text, 'c', c->type[3], f->c);
    declare(text, 'd', c->type[0], f->d);
    load(c, text, 'a', f->a, c->type[1], a_by_rows(c), a_by_rows(c) ? c->k : c->m, 0);
    load(c, text, 'b', f->b, c->type[2], b_by_rows(c), b_by_rows(c) ? c->n : c->k, PART);
    load(c, text, 'c', f->c, c->type[3], c_by_rows(c), c_by_rows(c) ? c->n : c->m, 2 * PART);
    cj__text_printf(text, "    %s ", c->text);
    add_registers(text, 'd', f->d);
    cj__text_puts(text, ", ");
    add_registers(text, 'a', f->a);
    cj__text_puts(text, ", ");
    add_registers(text, 'b', f->b);
    cj__text_puts(text, ", ");
    add_registers(text, 'c', f->c);
    cj__text_printf(text, ";\n    wmma.store.d.sync.aligned.%s.%s.global.%s [%%out], ", c_by_rows(c) ? "row" : "col",
                    f->shape, f->result);
    add_registers(text, 'd', f->d);
    add_stride(c, text, c_by_rows(c) ? c->n : c->m);
}

// ---- running

static void move(const cj_matrix_case *c, unsigned char *memory, cj_matrix *matrix, bool by_rows, bool out_of_memory) {
    const unsigned bits = matrix->type->bits;
    for (unsigned i = 0; i < matrix->rows * matrix->columns; i++) {
        const unsigned row = i / matrix->columns, column = i % matrix->columns;
        const size_t   at = by_rows ? row * matrix->columns * spread(c) + column
                                    : column * matrix->rows * spread(c) + row;
        if (out_of_memory)
            matrix->bits[i] = cj_matrix_load(memory, bits, at);
        else
            cj_matrix_store(memory, bits, at, matrix->bits[i]);
    }
}

static bool run(const cj_matrix_case *c, cj_matrix_buffers *buffers, bool (*launch)(void *user), void *user,
                uint64_t *random) {
    static cj_matrix a, b, added, d;
    cj_matrix_fill(&a, c, c->type[1], c->m, c->k, random);
    cj_matrix_fill(&b, c, c->type[2], c->k, c->n, random);
    cj_matrix_fill_addend(&added, c, c->type[3], c->m, c->n, random);
    cj_matrix_fill(&d, c, c->type[0], c->m, c->n, random);
    move(c, buffers->in, &a, a_by_rows(c), false);
    move(c, buffers->in + PART, &b, b_by_rows(c), false);
    move(c, buffers->in + 2 * PART, &added, c_by_rows(c), false);
    if (!launch(user)) return false;
    move(c, buffers->out, &d, c_by_rows(c), true);
    return cj_matrix_agrees(c, &a, &b, &added, &d, false);
}

const cj_matrix_family cj_matrix_wmma = {"wmma", LANES, count, make, write, run};
