// SPDX-License-Identifier: Apache-2.0
// mma.sync: the registers are made and read here, lane by lane, as the figures of "Matrix Fragments for mma" say.
#include <stdio.h>
#include <string.h>

#include "matrix.h"
#include "test.h"

enum { LANES = 32, SLOT = 8, CASES_MAX = 256 };

static const char *const shapes_and_types[] = {
    "m8n8k4.row.row f16.f16.f16.f16",           "m8n8k4.row.col f16.f16.f16.f16",
    "m8n8k4.col.row f16.f16.f16.f16",           "m8n8k4.col.col f16.f16.f16.f16",
    "m8n8k4.row.row f32.f16.f16.f32",           "m8n8k4.row.col f32.f16.f16.f32",
    "m8n8k4.col.row f32.f16.f16.f32",           "m8n8k4.col.col f32.f16.f16.f32",
    "m8n8k4.row.col f32.f16.f16.f16",           "m8n8k4.col.row f32.f16.f16.f16",
    "m16n8k8.row.col f16.f16.f16.f16",          "m16n8k8.row.col f32.f16.f16.f32",
    "m16n8k16.row.col f16.f16.f16.f16",         "m16n8k16.row.col f32.f16.f16.f32",
    "m16n8k8.row.col f32.bf16.bf16.f32",        "m16n8k16.row.col f32.bf16.bf16.f32",
    "m16n8k4.row.col f32.tf32.tf32.f32",        "m16n8k8.row.col f32.tf32.tf32.f32",
    "m8n8k4.row.col f64.f64.f64.f64",           "m16n8k4.row.col f64.f64.f64.f64",
    "m16n8k8.row.col f64.f64.f64.f64",          "m16n8k16.row.col f64.f64.f64.f64",
    "m8n8k4.row.col.rz f64.f64.f64.f64",        "m8n8k4.row.col.rm f64.f64.f64.f64",
    "m16n8k16.row.col.rp f64.f64.f64.f64",      "m8n8k128.row.col s32.b1.b1.s32.xor.popc",
    "m8n8k128.row.col s32.b1.b1.s32.and.popc",  "m16n8k128.row.col s32.b1.b1.s32.xor.popc",
    "m16n8k128.row.col s32.b1.b1.s32.and.popc", "m16n8k256.row.col s32.b1.b1.s32.xor.popc",
    "m16n8k256.row.col s32.b1.b1.s32.and.popc"};

// Each of these with every pair of types of A and B.
static const struct {
    const char *shape, *types[2], *results[2];
} families[] = {
    {"m8n8k16.row.col", {"u8", "s8"}, {"s32", "s32.satfinite"}},
    {"m16n8k16.row.col", {"u8", "s8"}, {"s32", "s32.satfinite"}},
    {"m16n8k32.row.col", {"u8", "s8"}, {"s32", "s32.satfinite"}},
    {"m8n8k32.row.col", {"u4", "s4"}, {"s32", "s32.satfinite"}},
    {"m16n8k32.row.col", {"u4", "s4"}, {"s32", "s32.satfinite"}},
    {"m16n8k64.row.col", {"u4", "s4"}, {"s32", "s32.satfinite"}},
    {"m16n8k32.row.col", {"e4m3", "e5m2"}, {"f32", "f16"}},
    {"m16n8k16.row.col", {"e4m3", "e5m2"}, {"f32", "f16"}},
};

enum { SINGLE = CJ_TEST_COUNT(shapes_and_types), COMBINED = 8 };

static unsigned count(void) { return SINGLE + CJ_TEST_COUNT(families) * COMBINED; }

static void make(unsigned index, cj_matrix_case *c) {
    char mnemonic[128];
    if (index < SINGLE) {
        const char  *form = shapes_and_types[index];
        const size_t shape = strcspn(form, " ");
        snprintf(mnemonic, sizeof mnemonic, "mma.sync.aligned.%.*s.%s", (int)shape, form, form + shape + 1);
    } else {
        const unsigned i = (index - SINGLE) / COMBINED, way = (index - SINGLE) % COMBINED;
        const char    *result = families[i].results[way >> 2], *a = families[i].types[way & 1];
        const char    *b = families[i].types[way >> 1 & 1];
        const char    *options = strchr(result, '.') ? ".satfinite" : "";
        const int      length = (int)strcspn(result, ".");
        snprintf(mnemonic, sizeof mnemonic, "mma.sync.aligned.%s%s.%.*s.%s.%s.%.*s", families[i].shape, options, length,
                 result, a, b, length, result);
    }
    cj_matrix_parse(c, mnemonic);
    c->variant = index;
}

// ---- fragments. Element i of a lane: where it lies in the matrix.

typedef struct spot {
    unsigned row, column;
} spot;

typedef spot (*finder)(const cj_matrix_case *c, unsigned bits, unsigned lane, unsigned i);

static unsigned packed(unsigned bits) { return bits >= 32 ? 1 : 32 / bits; }

static spot in_a(const cj_matrix_case *c, unsigned bits, unsigned lane, unsigned i) {
    const unsigned e = packed(bits), group = lane >> 2, in_group = lane % 4;
    if (c->m == 8) return (spot){group, in_group * e + i};
    return (spot){group + 8 * (i / e % 2), in_group * e + i % e + 4 * e * (i / (2 * e))};
}

static spot in_b(const cj_matrix_case *c, unsigned bits, unsigned lane, unsigned i) {
    (void)c;
    const unsigned e = packed(bits), group = lane >> 2, in_group = lane % 4;
    return (spot){in_group * e + i % e + 4 * e * (i / e), group};
}

static spot in_c(const cj_matrix_case *c, unsigned bits, unsigned lane, unsigned i) {
    (void)c, (void)bits;
    return (spot){(lane >> 2) + 8 * (i / 2), lane % 4 * 2 + i % 2};
}

// m8n8k4 of f16: matrices of a quad pair, here one below the other (A, C), or side by side (B).
static unsigned pair_of(unsigned lane) { return lane / 4 % 4; }

static spot pair_in_a(const cj_matrix_case *c, unsigned bits, unsigned lane, unsigned i) {
    (void)bits;
    const bool     by_rows = strstr(c->text, "k4.row");
    const unsigned high = lane < 16 ? 0 : 4;
    return by_rows ? (spot){8 * pair_of(lane) + lane % 4 + high, i}
                   : (spot){8 * pair_of(lane) + i % 4 + high, lane % 4};
}

static spot pair_in_b(const cj_matrix_case *c, unsigned bits, unsigned lane, unsigned i) {
    (void)bits;
    const bool     by_rows = strstr(c->text, ".row.f");
    const unsigned high = lane < 16 ? 0 : 4;
    return by_rows ? (spot){lane % 4, 8 * pair_of(lane) + i + high} : (spot){i, 8 * pair_of(lane) + lane % 4 + high};
}

static spot pair_in_c(const cj_matrix_case *c, unsigned bits, unsigned lane, unsigned i) {
    (void)c;
    const unsigned high = lane < 16 ? 0 : 4, first = 8 * pair_of(lane) + high;
    if (bits == 16) return (spot){first + lane % 4, i};
    return (spot){first + (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1)};
}

static bool by_pairs(const cj_matrix_case *c) { return c->m == 8 && c->k == 4 && c->type[1]->bits == 16; }

static unsigned registers(const cj_matrix_type *type, unsigned elements) {
    return type->bits == 64 ? elements : elements * type->bits / 32;
}

static unsigned elements_of(const cj_matrix_case *c, unsigned rows, unsigned columns) {
    return rows * columns / LANES * (by_pairs(c) ? 4 : 1);
}

// Moves between a matrix and registers: slots of 8 bytes, lane by lane, register by register.
static void move(const cj_matrix_case *c, unsigned char *slots, cj_matrix *matrix, unsigned elements, finder find,
                 bool out_of_registers) {
    const unsigned bits = matrix->type->bits, e = packed(bits);
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned i = 0; i < elements; i++) {
            const spot     at = find(c, bits, lane, i);
            unsigned char *slot = slots + (i / e * LANES + lane) * SLOT;
            uint64_t      *element = &matrix->bits[at.row * matrix->columns + at.column];
            assert_true(at.row < matrix->rows && at.column < matrix->columns);
            if (out_of_registers)
                *element = cj_matrix_load(slot, bits, i % e);
            else
                cj_matrix_store(slot, bits, i % e, *element);
        }
    }
}

// ---- the kernel: loads A, B and C from `in`, stores D to `out`

static char prefix(const cj_matrix_type *type) {
    return type->bits == 64 ? 'd' : type->bits == 32 && type->exponent == 8 && !type->unused ? 'f' : 'r';
}

static void add_vector(cj_text *text, char letter, const cj_matrix_type *type, unsigned number) {
    for (unsigned i = 0; i < number; i++) {
        cj__text_printf(text, "%s%%%c%c%u", i ? ", " : "{", letter, prefix(type), i);
    }
    cj__text_puts(text, "}");
}

static void declare(cj_text *text, char letter, const cj_matrix_type *type, unsigned number) {
    const char *name = prefix(type) == 'd' ? "f64" : prefix(type) == 'f' ? "f32" : "b32";
    cj__text_printf(text, "    .reg .%s %%%c%c<%u>;\n", name, letter, prefix(type), number);
}

static void write(const cj_matrix_case *c, cj_text *text) {
    const struct {
        char                  letter;
        const cj_matrix_type *type;
        unsigned              number;
    } parts[] = {{'a', c->type[1], registers(c->type[1], elements_of(c, c->m, c->k))},
                 {'b', c->type[2], registers(c->type[2], elements_of(c, c->k, c->n))},
                 {'c', c->type[3], registers(c->type[3], elements_of(c, c->m, c->n))},
                 {'d', c->type[0], registers(c->type[0], elements_of(c, c->m, c->n))}};
    unsigned slot = 0;
    for (unsigned i = 0; i < 4; i++) declare(text, parts[i].letter, parts[i].type, parts[i].number);
    cj__text_printf(text, "    mad.wide.u32 %%in, %%thread, %d, %%in;\n    mad.wide.u32 %%out, %%thread, %d, %%out;\n",
                    SLOT, SLOT);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned r = 0; r < parts[i].number; r++) {
            cj__text_printf(text, "    ld.global.b%d %%%c%c%u, [%%in+%u];\n", parts[i].type->bits == 64 ? 64 : 32,
                            parts[i].letter, prefix(parts[i].type), r, slot++ * LANES * SLOT);
        }
    }
    cj__text_printf(text, "    %s ", c->text);
    add_vector(text, 'd', parts[3].type, parts[3].number);
    for (unsigned i = 0; i < 3; i++) {
        cj__text_puts(text, ", ");
        add_vector(text, parts[i].letter, parts[i].type, parts[i].number);
    }
    cj__text_puts(text, ";\n");
    for (unsigned r = 0; r < parts[3].number; r++) {
        cj__text_printf(text, "    st.global.b%d [%%out+%u], %%d%c%u;\n", parts[3].type->bits == 64 ? 64 : 32,
                        r * LANES * SLOT, prefix(parts[3].type), r);
    }
}

// ---- running

// Of pairs, product number i of four: rows of A and D, columns of B.
static void take(cj_matrix *part, const cj_matrix *all, unsigned rows, unsigned columns, unsigned first_row,
                 unsigned first_column) {
    part->type = all->type;
    part->rows = rows;
    part->columns = columns;
    for (unsigned i = 0; i < rows * columns; i++) {
        part->bits[i] = all->bits[(first_row + i / columns) * all->columns + first_column + i % columns];
    }
}

static bool run(const cj_matrix_case *c, cj_matrix_buffers *buffers, bool (*launch)(void *user), void *user,
                uint64_t *random) {
    static cj_matrix a, b, added, d, part[4];
    const bool       pairs = by_pairs(c);
    const unsigned   products = pairs ? 4 : 1;
    const unsigned   a_count = elements_of(c, c->m, c->k), b_count = elements_of(c, c->k, c->n);
    const unsigned   d_count = elements_of(c, c->m, c->n);
    unsigned char   *b_slots = buffers->in + registers(c->type[1], a_count) * LANES * SLOT;
    unsigned char   *c_slots = b_slots + registers(c->type[2], b_count) * LANES * SLOT;
    cj_matrix_fill(&a, c, c->type[1], c->m * products, c->k, random);
    cj_matrix_fill(&b, c, c->type[2], c->k, c->n * products, random);
    cj_matrix_fill_addend(&added, c, c->type[3], c->m * products, c->n, random);
    move(c, buffers->in, &a, a_count, pairs ? pair_in_a : in_a, false);
    move(c, b_slots, &b, b_count, pairs ? pair_in_b : in_b, false);
    move(c, c_slots, &added, d_count, pairs ? pair_in_c : in_c, false);
    if (!launch(user)) return false;
    cj_matrix_fill(&d, c, c->type[0], c->m * products, c->n, random);
    move(c, buffers->out, &d, d_count, pairs ? pair_in_c : in_c, true);
    for (unsigned i = 0; i < products; i++) {
        take(&part[0], &a, c->m, c->k, i * c->m, 0);
        take(&part[1], &b, c->k, c->n, 0, i * c->n);
        take(&part[2], &added, c->m, c->n, i * c->m, 0);
        take(&part[3], &d, c->m, c->n, i * c->m, 0);
        if (!cj_matrix_agrees(c, &part[0], &part[1], &part[2], &part[3], false)) return false;
    }
    return true;
}

const cj_matrix_family cj_matrix_mma = {"mma", LANES, count, make, write, run};
