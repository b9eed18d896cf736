// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix: 8 x 8 matrices of 16 bits between rows in shared memory and registers.
#include <stdio.h>
#include <string.h>

#include "matrix.h"
#include "test.h"

enum { LANES = 32, SIZE = 8, ROW_BYTES = 16, PITCH = 48, MATRICES = 4, IMAGE = MATRICES * SIZE * PITCH };

// Each with 1, 2, 4 matrices.
static const struct {
    const char *opcode, *rest;
} forms[] = {{"ldmatrix", ".shared.b16"},
             {"ldmatrix", ".trans.shared::cta.b16"},
             {"stmatrix", ".shared.b16"},
             {"stmatrix", ".trans.shared.b16"},
             {"ldmatrix", ".b16"}};

enum { SIZES = 3, STORED = CJ_TEST_COUNT(forms) * SIZES };

static unsigned count(void) { return STORED + 1; }

static unsigned matrices(const cj_matrix_case *c) { return c->variant < STORED ? 1u << c->variant % SIZES : 1; }
static bool     is_store(const cj_matrix_case *c) { return c->text[0] == 's'; }
static bool     is_move(const cj_matrix_case *c) { return c->text[0] == 'm'; }
static bool     is_generic(const cj_matrix_case *c) { return c->variant / SIZES == 4; }

static void make(unsigned index, cj_matrix_case *c) {
    char mnemonic[128];
    *c = (cj_matrix_case){.variant = index};
    if (index < STORED)
        snprintf(mnemonic, sizeof mnemonic, "%s.sync.aligned.m8n8.x%u%s", forms[index / SIZES].opcode, matrices(c),
                 forms[index / SIZES].rest);
    else
        snprintf(mnemonic, sizeof mnemonic, "movmatrix.sync.aligned.m8n8.trans.b16");
    cj_matrix_parse(c, mnemonic);
    c->variant = index;
}

// Every lane points to its row, lane 0 to 7 of the first matrix, and those that need not, too. The image in shared
// memory is copied to the output in the end.
static void write(const cj_matrix_case *c, cj_text *text) {
    const unsigned words = IMAGE / 4;
    cj__text_printf(
        text,
        "    .shared .align 16 .b32 tile[%u];\n    .reg .b32 %%r<4>, %%v<4>, %%row;\n    .reg .b64 %%at, %%row64;\n"
        "    mul.lo.u32 %%r0, %%thread, 4;\n    cvt.u64.u32 %%at, %%r0;\n    add.u64 %%in, %%in, %%at;\n"
        "    add.u64 %%out, %%out, %%at;\n    mov.u32 %%r1, tile;\n    mad.lo.u32 %%row, %%thread, %d, %%r1;\n"
        "    cvt.u64.u32 %%row64, %%row;\n    cvta.shared.u64 %%row64, %%row64;\n    add.u32 %%r1, %%r1, %%r0;\n",
        words, PITCH);
    for (unsigned i = 0; i < words; i += LANES) {
        cj__text_printf(text, "    ld.global.b32 %%r2, [%%in+%u];\n    st.shared.b32 [%%r1+%u], %%r2;\n", i * 4, i * 4);
    }
    for (unsigned i = 0; i < MATRICES; i++) {
        cj__text_printf(text, "    ld.global.b32 %%v%u, [%%in+%u];\n", i, IMAGE + i * LANES * 4);
    }
    char vector[64] = "";
    for (unsigned i = 0; i < matrices(c); i++) {
        const size_t length = strlen(vector);
        snprintf(vector + length, sizeof vector - length, "%s%%v%u", i ? ", " : "", i);
    }
    const char *row = is_generic(c) ? "%row64" : "%row";
    cj__text_puts(text, "    bar.sync 0;\n");
    if (is_move(c))
        cj__text_printf(text, "    %s %%v0, %%v0;\n", c->text);
    else if (is_store(c))
        cj__text_printf(text, "    %s [%s], {%s};\n", c->text, row, vector);
    else
        cj__text_printf(text, "    %s {%s}, [%s];\n", c->text, vector, row);
    cj__text_puts(text, "    bar.sync 0;\n");
    for (unsigned i = 0; i < words; i += LANES) {
        cj__text_printf(text, "    ld.shared.b32 %%r2, [%%r1+%u];\n    st.global.b32 [%%out+%u], %%r2;\n", i * 4,
                        i * 4);
    }
    for (unsigned i = 0; i < MATRICES; i++) {
        cj__text_printf(text, "    st.global.b32 [%%out+%u], %%v%u;\n", IMAGE + i * LANES * 4, i);
    }
}

// Element (row, column) of a matrix in the registers: in row / column order, lane by lane two a register.
static unsigned char *in_registers(unsigned char *registers, unsigned matrix, unsigned row, unsigned column) {
    return registers + (matrix * LANES + row * 4 + column / 2) * 4 + column % 2 * 2;
}

static unsigned char *in_rows(unsigned char *image, unsigned matrix, unsigned row, unsigned column) {
    return image + (matrix * SIZE + row) * PITCH + column * 2;
}

static void expect(const cj_matrix_case *c, unsigned char *memory, const unsigned char *before) {
    const bool     transposed = strstr(c->text, ".trans");
    unsigned char *registers = memory + IMAGE;
    for (unsigned i = 0; i < matrices(c) * SIZE * SIZE; i++) {
        const unsigned k = i / SIZE / SIZE, row = i / SIZE % SIZE, column = i % SIZE;
        const unsigned to_row = transposed ? column : row, to_column = transposed ? row : column;
        unsigned char *source = (unsigned char *)(uintptr_t)before;
        if (is_move(c))
            memcpy(in_registers(registers, k, column, row), in_registers(source + IMAGE, k, row, column), 2);
        else if (is_store(c))
            memcpy(in_rows(memory, k, row, column), in_registers(source + IMAGE, k, to_row, to_column), 2);
        else
            memcpy(in_registers(registers, k, row, column), in_rows(source, k, to_row, to_column), 2);
    }
}

static bool run(const cj_matrix_case *c, cj_matrix_buffers *buffers, bool (*launch)(void *user), void *user,
                uint64_t *random) {
    enum { BYTES = IMAGE + MATRICES * LANES * 4 };
    unsigned char expected[BYTES];
    for (unsigned i = 0; i < BYTES; i++) buffers->in[i] = (unsigned char)cj_test_random(random);
    memcpy(expected, buffers->in, BYTES);
    expect(c, expected, buffers->in);
    if (!launch(user)) return false;
    if (!memcmp(expected, buffers->out, BYTES)) return true;
    print_error("%s: wrong bytes\n", c->text);
    return false;
}

const cj_matrix_family cj_matrix_rows = {"ldmatrix", LANES, count, make, write, run};
