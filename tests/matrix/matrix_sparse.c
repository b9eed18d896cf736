// SPDX-License-Identifier: Apache-2.0
// mma.sp: as mma, with half of A in the registers, and metadata.
#include "matrix_sparse.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

enum { LANES = 32, SLOT = LANES * 4 };  // bytes of one register

// ---- metadata. For every size of elements and length of rows: which thread has the indices of the chunks of a row, four bits
// each.

typedef struct figure {
    unsigned bits, k, chunk;     // elements of a chunk
    unsigned selectors;          // the next one counts so many threads further in each group of four
    unsigned threads, a_thread;  // threads that share a row; chunks of one thread
    unsigned next;               // from one of these threads to the next
    bool     row_in_thread;      // rows g and g + 8: in halves of a register, else in neighbouring threads
} figure;

static const figure figures[] = {
    {16, 16, 4, 4, 1, 4, 0, true}, {16, 32, 4, 2, 2, 4, 1, true},   // "m16n8k16", "m16n8k32", of .f16 and .bf16
    {32, 8, 2, 4, 1, 4, 0, true},  {32, 16, 2, 2, 2, 4, 1, true},   // "m16n8k8", "m16n8k16", of .tf32
    {8, 32, 4, 2, 1, 8, 0, false}, {8, 64, 4, 1, 2, 8, 2, false},   // "m16n8k32", "m16n8k64", of .u8, .s8 and the like
    {4, 64, 8, 2, 1, 8, 0, false}, {4, 128, 8, 1, 2, 8, 2, false},  // "m16n8k64", "m16n8k128", of .u4 and .s4
};

static const figure *figure_of(unsigned bits, unsigned k) {
    for (size_t i = 0; i < CJ_TEST_COUNT(figures); i++)
        if (figures[i].bits == bits && figures[i].k == k) return &figures[i];
    fail_msg("no figure for %u bits, k = %u", bits, k);
    return NULL;
}

unsigned cj_sparse_selectors(unsigned bits, unsigned k) { return figure_of(bits, k)->selectors; }

static void put_indices(const figure *f, uint32_t *metadata, unsigned selector, unsigned row, unsigned chunk,
                        unsigned indices) {
    const unsigned group = row / 16 * LANES + row % 8 * 4 + selector * (4 / f->selectors), lower = row / 8 % 2;
    const unsigned thread = group + chunk / f->a_thread * f->next + (f->row_in_thread ? 0 : lower);
    const unsigned shift = chunk % f->a_thread * 4 + (f->row_in_thread ? 16 * lower : 0);
    metadata[thread] = (metadata[thread] & ~(0xfu << shift)) | indices << shift;
}

// Two of four that ascend; of tf32 the two halves of one element.
static unsigned draw_indices(const figure *f, uint64_t *random) {
    static const unsigned pairs[] = {0x4, 0x8, 0x9, 0xc, 0xd, 0xe}, halves[] = {0x4, 0xe};
    return f->bits == 32 ? halves[cj_test_random(random) % 2] : pairs[cj_test_random(random) % 6];
}

void cj_sparse_fill(cj_matrix *full, cj_matrix *stored, uint32_t *metadata, const cj_matrix_case *c, unsigned rows,
                    unsigned selector, uint64_t *random) {
    const figure  *f = figure_of(c->type[1]->bits, c->k);
    const unsigned kept = f->chunk / 2, unit = f->bits == 4 ? 2 : 1;
    cj_matrix_fill(stored, c, c->type[1], rows, c->k / 2, random);
    *full = (cj_matrix){.type = c->type[1], .rows = rows, .columns = c->k};
    for (unsigned i = 0; i < rows * 2; i++) metadata[i] = (uint32_t)cj_test_random(random);
    for (unsigned i = 0; i < rows * c->k / f->chunk; i++) {
        const unsigned row = i / (c->k / f->chunk), chunk = i % (c->k / f->chunk), indices = draw_indices(f, random);
        put_indices(f, metadata, selector, row, chunk, indices);
        for (unsigned e = 0; e < kept; e++) {
            const unsigned index = indices >> 2 * (e / unit) & 3;
            const unsigned to = f->bits == 32 ? index / 2 : index * unit + e % unit;
            full->bits[row * c->k + chunk * f->chunk + to] = stored->bits[row * c->k / 2 + chunk * kept + e];
        }
    }
}

// ---- forms

// Each with every pair of types of A and B (floats of 16 and 32 bits: of one type), every result, in both variants of
// the instruction, and under every selector.
static const struct {
    unsigned    k;
    const char *types[2], *results[2];
} forms[] = {{16, {"f16"}, {"f32", "f16"}},
             {32, {"f16"}, {"f32", "f16"}},
             {16, {"bf16"}, {"f32"}},
             {32, {"bf16"}, {"f32"}},
             {8, {"tf32"}, {"f32"}},
             {16, {"tf32"}, {"f32"}},
             {32, {"u8", "s8"}, {"s32", ".satfinite"}},
             {64, {"u8", "s8"}, {"s32", ".satfinite"}},
             {64, {"u4", "s4"}, {"s32", ".satfinite"}},
             {128, {"u4", "s4"}, {"s32", ".satfinite"}},
             {64, {"e4m3", "e5m2"}, {"f32"}}};

static unsigned choices(const char *const of[2]) { return of[1] ? 2 : 1; }

static unsigned selectors_of(unsigned form) {
    const char *type = forms[form].types[0];
    return cj_sparse_selectors(cj_matrix_type_find(type, strlen(type))->bits, forms[form].k);
}

static unsigned ways(unsigned form) {
    const unsigned types = choices(forms[form].types);
    return types * types * choices(forms[form].results) * 2 * selectors_of(form);
}

static unsigned count(void) {
    unsigned sum = 0;
    for (unsigned form = 0; form < CJ_TEST_COUNT(forms); form++) sum += ways(form);
    return sum;
}

// The next digit of a way.
static unsigned take(unsigned *way, unsigned choices_left) {
    const unsigned digit = *way % choices_left;
    *way /= choices_left;
    return digit;
}

static void make(unsigned index, cj_matrix_case *c) {
    unsigned form = 0, way = index;
    while (way >= ways(form)) way -= ways(form++);
    const char *const *types = forms[form].types, *const *results = forms[form].results;
    const char        *a = types[take(&way, choices(types))], *b = types[take(&way, choices(types))];
    const char        *result = results[take(&way, choices(results))], *options = "";
    const char        *variant = take(&way, 2) ? "sp::ordered_metadata" : "sp";
    char               mnemonic[128];
    if (*result == '.') options = result, result = "s32";
    snprintf(mnemonic, sizeof mnemonic, "mma.%s.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s", variant, forms[form].k,
             options, result, a, b, result);
    cj_matrix_parse(c, mnemonic);
    c->variant = way;
}

// ---- registers: A, B, C, the metadata; of 32 bits all

typedef struct parts {
    unsigned a, b, c;
} parts;

static parts parts_of(const cj_matrix_case *c) {
    const unsigned bits = c->type[1]->bits;
    return (parts){16 * c->k / 2 * bits / 32 / LANES, 8 * c->k * bits / 32 / LANES,
                   16 * 8 * c->type[0]->bits / 32 / LANES};
}

static void add_vector(cj_text *text, char letter, unsigned number) {
    for (unsigned i = 0; i < number; i++) cj__text_printf(text, "%s%%%c%u", i ? ", " : "{", letter, i);
    cj__text_puts(text, "}");
}

static void load(cj_text *text, char letter, unsigned number, unsigned *slot) {
    cj__text_printf(text, "    .reg .b32 %%%c<%u>;\n", letter, number);
    for (unsigned i = 0; i < number; i++)
        cj__text_printf(text, "    ld.global.b32 %%%c%u, [%%in+%u];\n", letter, i, (*slot)++ * SLOT);
}

static void write(const cj_matrix_case *c, cj_text *text) {
    const parts p = parts_of(c);
    unsigned    slot = 0;
    cj__text_puts(text, "    mad.wide.u32 %in, %thread, 4, %in;\n    mad.wide.u32 %out, %thread, 4, %out;\n");
    load(text, 'x', p.a, &slot);
    load(text, 'y', p.b, &slot);
    load(text, 'z', p.c, &slot);
    load(text, 'm', 1, &slot);
    cj__text_printf(text, "    .reg .b32 %%d<%u>;\n    %s ", p.c, c->text);
    add_vector(text, 'd', p.c);
    cj__text_puts(text, ", ");
    add_vector(text, 'x', p.a);
    cj__text_puts(text, ", ");
    add_vector(text, 'y', p.b);
    cj__text_puts(text, ", ");
    add_vector(text, 'z', p.c);
    cj__text_printf(text, ", %%m0, %u;\n", c->variant);
    for (unsigned i = 0; i < p.c; i++) cj__text_printf(text, "    st.global.b32 [%%out+%u], %%d%u;\n", i * SLOT, i);
}

// ---- running

typedef enum role { ROLE_A, ROLE_B, ROLE_C } role;

// Element i of a lane, as the figures say: a register full of neighbours along k, then the rows below, then further
// along.
static unsigned place_of(const cj_matrix *matrix, role which, unsigned lane, unsigned i) {
    const unsigned e = 32 / matrix->type->bits, group = lane / 4, in_group = lane % 4;
    if (which == ROLE_C) return (group + 8 * (i / 2)) * matrix->columns + in_group * 2 + i % 2;
    if (which == ROLE_B) return (in_group * e + i % e + 4 * e * (i / e)) * matrix->columns + group;
    return (group + 8 * (i / e % 2)) * matrix->columns + in_group * e + i % e + 4 * e * (i / (2 * e));
}

static void move(unsigned char *slots, cj_matrix *matrix, role which, bool out_of_registers) {
    const unsigned bits = matrix->type->bits, e = 32 / bits, elements = matrix->rows * matrix->columns / LANES;
    for (unsigned i = 0; i < elements * LANES; i++) {
        const unsigned lane = i % LANES, element = i / LANES;
        unsigned char *slot = slots + element / e * SLOT + lane * 4;
        uint64_t      *at = &matrix->bits[place_of(matrix, which, lane, element)];
        if (out_of_registers)
            *at = cj_matrix_load(slot, bits, element % e);
        else
            cj_matrix_store(slot, bits, element % e, *at);
    }
}

static bool run(const cj_matrix_case *c, cj_matrix_buffers *buffers, bool (*launch)(void *user), void *user,
                uint64_t *random) {
    static cj_matrix a, stored, b, added, d;
    const parts      p = parts_of(c);
    unsigned char   *b_slots = buffers->in + p.a * SLOT, *c_slots = b_slots + p.b * SLOT;
    uint32_t         metadata[LANES];
    cj_sparse_fill(&a, &stored, metadata, c, 16, c->variant, random);
    cj_matrix_fill(&b, c, c->type[2], c->k, 8, random);
    cj_matrix_fill_addend(&added, c, c->type[3], 16, 8, random);
    cj_matrix_fill(&d, c, c->type[0], 16, 8, random);
    move(buffers->in, &stored, ROLE_A, false);
    move(b_slots, &b, ROLE_B, false);
    move(c_slots, &added, ROLE_C, false);
    memcpy(c_slots + p.c * SLOT, metadata, sizeof metadata);
    if (!launch(user)) return false;
    move(buffers->out, &d, ROLE_C, true);
    return cj_matrix_agrees(c, &a, &b, &added, &d, false);
}

const cj_matrix_family cj_matrix_mma_sparse = {"mma.sp", LANES, count, make, write, run};
