// SPDX-License-Identifier: Apache-2.0
#include "topk_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element_order.h"
#include "emit.h"
#include "test.h"

enum { POISON = 0xa5, GUARD = 32 };  // GUARD: bytes after each output

typedef struct problem {
    const char *words;
    cj_params   params;
    cj_dtype    dtype;
    size_t      bytes, index_bytes;
    uint64_t    rows, columns, stride, k, given;  // given: results a row
    bool        smallest, any;
} problem;

static bool has_word(const cj_params *params, const char *name, const char *word) {
    char buffer[16];
    return !strcmp(cj_params_word(params, name, buffer, sizeof buffer), word);
}

static problem read_problem(const char *words) {
    static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};
    problem               p = {.words = words};
    cj_error              error = {0};
    size_t                type = 0;
    cj_test_ok(cj_test_params("topk", words, &p.params, &error), &error);
    while (!has_word(&p.params, "dtype", cj_dtype_name(dtypes[type]))) type++;
    p.dtype = dtypes[type];
    p.bytes = cj_dtype_size(p.dtype);
    p.index_bytes = has_word(&p.params, "index", "i64") ? 8 : 4;
    p.rows = cj_params_get(&p.params, "rows");
    p.columns = cj_params_get(&p.params, "columns");
    p.stride = cj_params_get(&p.params, "stride");
    if (!p.stride) p.stride = p.columns;
    p.k = cj_params_get(&p.params, "k");
    p.given = has_word(&p.params, "result", "kth") ? 1 : p.k;
    p.smallest = has_word(&p.params, "order", "smallest");
    p.any = has_word(&p.params, "result", "any");
    return p;
}

// ---- elements, as their bits

static uint32_t make_bits(const problem *p, cj_topk_fill fill, uint64_t i, uint64_t *seed) {
    static const uint32_t wild[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc00000, 1, 0x80000001};
    const uint64_t        draw = cj_test_random(seed);
    const uint32_t        rising = (uint32_t)(0x20000000 + i * (0x40000000 / p->columns));
    uint32_t              bits = (uint32_t)draw;
    if (p->dtype != CJ_I32 && p->dtype != CJ_U32 && (bits & 0x7f800000) == 0x7f800000) bits ^= 0x10000000;
    switch (fill) {
    case CJ_TOPK_FEW: bits = 0x3f000000 + ((uint32_t)(draw >> 40) % 5) * 0x00100000; break;
    case CJ_TOPK_EQUAL: bits = 0x3fc00000; break;
    case CJ_TOPK_RISING: bits = rising; break;
    case CJ_TOPK_FALLING: bits = 0x60000000 - (rising - 0x20000000); break;
    case CJ_TOPK_WILD: bits = draw >> 33 & 1 ? wild[(draw >> 40) % CJ_TEST_COUNT(wild)] : bits; break;
    default: break;
    }
    return p->bytes == 4 ? bits : bits >> 16;
}

typedef struct entry {
    int64_t  rank;
    uint32_t index;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->rank != y->rank) return x->rank > y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// ---- one kernel

static entry entry_of(const problem *p, const unsigned char *x, uint64_t index) {
    const int64_t rank = cj_test_rank(p->dtype, cj_test_bits(x + index * p->bytes, p->bytes));
    return (entry){p->smallest ? ~rank : rank, (uint32_t)index};
}

// Result i of the row, whose value must have the bits of x at its index.
static entry read_result(const problem *p, uint64_t row, uint64_t i, const unsigned char *x,
                         const unsigned char *values, const unsigned char *indices) {
    const uint64_t at = row * p->given + i, index = cj_test_bits(indices + at * p->index_bytes, p->index_bytes);
    const uint64_t value = cj_test_bits(values + at * p->bytes, p->bytes);
    if (index >= p->columns || value != cj_test_bits(x + index * p->bytes, p->bytes))
        fail_msg("%s: row %" PRIu64 ", result %" PRIu64 " is %" PRIx64 " at %" PRIu64 ", where x has another", p->words,
                 row, i, value, index);
    return entry_of(p, x, index);
}

// entries: of all elements; found: the results, which are sorted if they need not be in order.
static void check_row(const problem *p, uint64_t row, const unsigned char *x, const unsigned char *values,
                      const unsigned char *indices, entry *entries, entry *found) {
    for (uint64_t i = 0; i < p->columns; i++) entries[i] = entry_of(p, x, i);
    for (uint64_t i = 0; i < p->given; i++) found[i] = read_result(p, row, i, x, values, indices);
    qsort(entries, p->columns, sizeof *entries, compare_entries);
    if (p->any) qsort(found, p->given, sizeof *found, compare_entries);
    for (uint64_t i = 0; i < p->given; i++) {
        const uint64_t place = p->k - p->given + i;
        if (found[i].index != entries[place].index)
            fail_msg("%s: row %" PRIu64 ", place %" PRIu64 " is at %" PRIu32 ", not at %" PRIu32, p->words, row, place,
                     found[i].index, entries[place].index);
    }
}

static void check_guard(const problem *p, const unsigned char *after) {
    for (int i = 0; i < GUARD; i++)
        if (after[i] != POISON) fail_msg("%s: wrote after its results", p->words);
}

void cj_test_topk(cj_device *device, const char *words, cj_topk_fill fill, unsigned shift, uint64_t seed) {
    const problem  p = read_problem(words);
    const size_t   bytes = ((p.rows - 1) * p.stride + p.columns) * p.bytes, skip = shift * p.bytes;
    const size_t   values_bytes = p.rows * p.given * p.bytes, indices_bytes = p.rows * p.given * p.index_bytes;
    unsigned char *x = malloc(bytes), *values = malloc(values_bytes + GUARD), *indices = malloc(indices_bytes + GUARD);
    entry         *entries = malloc(p.columns * sizeof *entries), *found = malloc(p.given * sizeof *found);
    cj_error       error = {0};
    cj_kernel     *kernel = NULL;
    cj_ptr         at = 0, to = 0, where = 0;
    assert_true(x && values && indices && entries && found);
    for (uint64_t i = 0; i < bytes / p.bytes; i++) {
        const uint32_t bits = make_bits(&p, fill, i % p.stride, &seed);
        memcpy(x + i * p.bytes, &bits, p.bytes);
    }
    cj_test_ok(cj_mem_alloc(device, bytes + skip, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, values_bytes + GUARD, &to, &error), &error);
    cj_test_ok(cj_mem_alloc(device, indices_bytes + GUARD, &where, &error), &error);
    cj_test_ok(cj_mem_write(device, at + skip, x, bytes, NULL, &error), &error);
    cj_test_ok(cj_mem_fill(device, to, POISON, values_bytes + GUARD, NULL, &error), &error);
    cj_test_ok(cj_mem_fill(device, where, POISON, indices_bytes + GUARD, NULL, &error), &error);
    if (cj_kernel_create(device, &p.params, &kernel, &error)) fail_msg("%s: %s %s", words, error.message, error.hint);
    for (int time = 0; time < 2; time++) {
        cj_ptr from = at + skip;
        void  *arguments[] = {&from, &to, &where};
        if (cj_kernel_launch(kernel, NULL, arguments, 3, &error))
            fail_msg("%s: %s %s", words, error.message, error.hint);
    }
    if (cj_mem_read(device, values, to, values_bytes + GUARD, NULL, &error))
        fail_msg("%s: %s %s", words, error.message, error.hint);
    cj_test_ok(cj_mem_read(device, indices, where, indices_bytes + GUARD, NULL, &error), &error);
    for (uint64_t row = 0; row < p.rows; row++)
        check_row(&p, row, x + row * p.stride * p.bytes, values, indices, entries, found);
    check_guard(&p, values + values_bytes);
    check_guard(&p, indices + indices_bytes);
    cj_kernel_destroy(kernel);
    cj_mem_free(device, at);
    cj_mem_free(device, to);
    cj_mem_free(device, where);
    free(x);
    free(values);
    free(indices);
    free(entries);
    free(found);
}

void cj_test_topk_rounds(cj_device *device, uint64_t seed) {
    static const unsigned     columns[] = {63, 1023, 1024, 1025, 2048, 3101}, ks[] = {1, 32, 33};
    static const char *const  kinds[] = {"dtype=f32", "dtype=bf16 order=smallest", "dtype=i32 result=any"};
    static const cj_topk_fill fills[] = {CJ_TOPK_RANDOM, CJ_TOPK_RISING, CJ_TOPK_WILD, CJ_TOPK_EQUAL};
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t k = 0; k < CJ_TEST_COUNT(ks); k++)
            for (size_t i = 0; i < CJ_TEST_COUNT(fills); i++) {
                char words[160];
                snprintf(words, sizeof words, "rows=2 columns=%u k=%u block=64 %s", columns[c], ks[k],
                         kinds[(c + k + i) % 3]);
                cj_test_topk(device, words, fills[i], 0, seed + i);
            }
}

// Rows about a line of keys, a thread's loads and their alignment; few and many of a row; keys that are equal, so that
// columns decide; blocks of a cluster that have no element.
void cj_test_topk_radix(cj_device *device, uint64_t seed) {
    static const unsigned    columns[] = {1, 127, 128, 129, 256, 257, 1025, 2049, 3101};
    static const char *const kinds[] = {"dtype=f32 block=64",
                                        "dtype=bf16 order=smallest block=128",
                                        "dtype=i32 result=any block=96",
                                        "dtype=f16 index=u32 block=96",
                                        "dtype=f16 cluster=2 block=64",
                                        "dtype=u32 order=smallest cluster=3 block=32",
                                        "dtype=f16 result=kth index=u32",
                                        "dtype=bf16 cluster=8 result=any block=32",
                                        "dtype=f32 order=smallest block=1024"};
    unsigned                 turn = 0;
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t kind = 0; kind < CJ_TEST_COUNT(kinds); kind++, turn++) {
            const unsigned most = columns[c] < 2048 ? columns[c] : 2048,
                           ks[] = {1, (most + 1) / 2, most, (most + 7) / 8};
            char words[160];
            snprintf(words, sizeof words, "rows=2 columns=%u k=%u form=radix %s", columns[c], ks[(turn + c) % 4],
                     kinds[kind]);
            cj_test_topk(device, words, (cj_topk_fill)((turn + turn / CJ_TOPK_FILLS) % CJ_TOPK_FILLS), 0, seed + turn);
        }
}

// Rows of a part of a warp, of a warp, and of several candidates a lane; more and fewer rows than a block has.
void cj_test_topk_warp(cj_device *device, uint64_t seed) {
    static const unsigned    columns[] = {1, 2, 3, 7, 8, 17, 32, 33, 64, 100, 129, 256};
    static const char *const kinds[] = {"dtype=f32", "dtype=bf16 order=smallest", "dtype=i32 result=any index=u32 block=64",
                                        "dtype=f16 result=kth", "dtype=u32 order=smallest stride=260 block=32",
                                        "dtype=f16 index=u32 stride=257 align=2"};
    unsigned                 turn = 0;
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t kind = 0; kind < CJ_TEST_COUNT(kinds); kind++, turn++) {
            const unsigned ks[] = {1, (columns[c] + 1) / 2, columns[c]}, rows[] = {1, 5, 37};
            char           words[160];
            snprintf(words, sizeof words, "rows=%u columns=%u k=%u form=warp %s", rows[(turn + c) % 3], columns[c],
                     ks[turn % 3], kinds[kind]);
            cj_test_topk(device, words, (cj_topk_fill)((turn + turn / CJ_TOPK_FILLS) % CJ_TOPK_FILLS), 0, seed + turn);
        }
}

// Rows in parts, of which the last is short or has nothing; a row that ends within a load, in one block, in parts and in a
// cluster; more candidates in the parts than a block has places for.
void cj_test_topk_parts(cj_device *device, uint64_t seed) {
    static const char *const shapes[] = {
        "rows=2 columns=5000 k=30 parts=3 block=64",
        "rows=1 columns=5003 k=1 parts=7 block=32 dtype=f16 order=smallest",
        "rows=1 columns=5001 k=100 parts=2 block=64 dtype=bf16 result=any index=u32",
        "rows=3 columns=3000 k=300 parts=5 block=32 dtype=i32 stride=3008",
        "rows=1 columns=2000 k=700 parts=16 block=64 dtype=u32 result=kth",
        "rows=2 columns=4003 stride=4008 k=40 block=64 form=sift dtype=f16",
        "rows=2 columns=4003 stride=4008 k=40 block=32 cluster=3 form=sift",
        "rows=1 columns=3 k=3 block=32 form=sift dtype=bf16",
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(shapes); i++)
        for (unsigned fill = 0; fill < CJ_TOPK_FILLS; fill++)
            cj_test_topk(device, shapes[i], (cj_topk_fill)fill, 0, seed + i + fill);
}

// ---- drawn from a seed

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

void cj_test_topk_random(cj_device *device, uint64_t *seed, uint64_t most) {
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "u32"}, *const results[] = {"kth", "any", "all"};
    static const char *const forms[] = {"auto", "sift", "radix", "warp"};
    static const unsigned    aligns[] = {16, 8, 4, 2}, clusters[] = {0, 0, 0, 2, 3, 8};
    static const char *const parts[] = {"2", "3", "9"};
    const unsigned           type = (unsigned)below(seed, 5), align = aligns[below(seed, 4)];
    const uint64_t power = UINT64_C(1) << below(seed, 15), columns = 1 + below(seed, power < most ? power : most);
    const uint64_t most_k = columns < 2048 ? columns : 2048,
                   k = 1 + below(seed, below(seed, 3) ? most_k : 1 + most_k / 50);
    const unsigned cluster = clusters[below(seed, 6)], bytes = type == 1 || type == 2 ? 2 : 4;
    const bool     warp = columns <= 256 && cluster == 0;
    const char    *form = forms[below(seed, warp ? 4 : 3)];
    const bool     parted = !cluster && form[0] != 'r' && form[0] != 'w' && below(seed, 2);
    char           words[256];
    snprintf(words, sizeof words,
             "rows=%u columns=%" PRIu64 " k=%" PRIu64 " dtype=%s order=%s index=%s result=%s stride=%" PRIu64
             " align=%u cluster=%u block=%s form=%s parts=%s",
             (unsigned)(1 + below(seed, 3)), columns, k, types[type], below(seed, 2) ? "largest" : "smallest",
             below(seed, 2) ? "i64" : "u32", results[below(seed, 3)], columns + below(seed, 2) * below(seed, 20), align,
             k * cluster <= 8192 ? cluster : 2, below(seed, 2) ? "64" : "auto", form, parted ? parts[below(seed, 3)] : "auto");
    cj_test_topk(device, words, (cj_topk_fill)below(seed, CJ_TOPK_FILLS), align < 16 ? (align + bytes - 1) / bytes : 0,
                 *seed);
}

// ---- the typed call

// All of the largest, each once, in any order.
void cj_test_topk_call_unsorted(cj_device *device) {
    enum { COLUMNS = 3000, K = 40, STEP = 7 };  // STEP and COLUMNS have no common divisor
    const cj_topk_desc desc = {CJ_INIT(desc),   .columns = COLUMNS, .k = K,
                               .dtype = CJ_U32, .unsorted = true,   .index_u32 = true};
    static uint32_t    x[COLUMNS];
    uint32_t           values[K], indices[K];
    bool               seen[K] = {0};
    cj_error           error = {0};
    cj_ptr             at = 0, to = 0, where = 0;
    for (uint32_t i = 0; i < COLUMNS; i++) x[i * STEP % COLUMNS] = UINT32_MAX - i;
    cj_test_ok(cj_mem_alloc(device, sizeof x, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof values, &to, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof indices, &where, &error), &error);
    cj_test_ok(cj_mem_write(device, at, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_topk_launch(device, &desc, at, to, where, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device, values, to, sizeof values, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device, indices, where, sizeof indices, NULL, &error), &error);
    for (int i = 0; i < K; i++) {
        const uint32_t rank = UINT32_MAX - values[i];
        assert_true(rank < K);
        assert_false(seen[rank]);
        assert_int_equal(indices[i], rank * STEP % COLUMNS);
        seen[rank] = true;
    }
    cj_mem_free(device, at);
    cj_mem_free(device, to);
    cj_mem_free(device, where);
}

// Arrays that are missing or misaligned, and descriptions that are wrong.
static void refuse_calls(cj_device *device, cj_topk *topk, cj_ptr at, cj_ptr to, cj_ptr where) {
    cj_error error = {0};
    cj_topk *none_made = NULL;
    const struct {
        cj_ptr      x, values, indices;
        const char *says;
    } refused[] = {{at + 4, to, where, "x: 0x"},       {0, to, where, "x: NULL"},
                   {at, to + 2, where, "values: 0x"},  {at, 0, where, "values: NULL"},
                   {at, to, where + 4, "indices: 0x"}, {at, to, 0, "indices: NULL"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(refused); i++) {
        assert_int_equal(cj_topk_run(topk, refused[i].x, refused[i].values, refused[i].indices, NULL, &error),
                         CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, refused[i].says)) fail_msg("%s: %s", refused[i].says, error.message);
    }
    const cj_topk_desc none = {CJ_INIT(none), .columns = 8},
                       wrong = {CJ_INIT(wrong), .columns = 8, .k = 1, .dtype = CJ_F64},
                       both = {CJ_INIT(both), .columns = 8, .k = 1, .kth = true, .unsorted = true};
    assert_int_equal(cj_topk_create(device, &none, &none_made, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_topk_create(device, &wrong, &none_made, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "f64"));
    assert_int_equal(cj_topk_create(device, &both, &none_made, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "unsorted"));
}

void cj_test_topk_call(cj_device *device) {
    enum { ROWS = 2, COLUMNS = 300, K = 3 };
    const cj_topk_desc desc = {CJ_INIT(desc), .rows = ROWS, .columns = COLUMNS, .k = K, .dtype = CJ_I32};
    int32_t            x[ROWS][COLUMNS], values[ROWS][K];
    int64_t            indices[ROWS][K];
    cj_error           error = {0};
    cj_topk           *topk = NULL;
    cj_ptr             at = 0, to = 0, where = 0;
    for (int i = 0; i < COLUMNS; i++) x[0][i] = i % 100, x[1][i] = -i;
    cj_test_ok(cj_mem_alloc(device, sizeof x + 16, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof values, &to, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof indices, &where, &error), &error);
    cj_test_ok(cj_mem_write(device, at, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_topk_create(device, &desc, &topk, &error), &error);
    for (int way = 0; way < 2; way++) {
        cj_test_ok(cj_mem_fill(device, where, POISON, sizeof indices, NULL, &error), &error);
        cj_test_ok(way ? cj_topk_launch(device, &desc, at, to, where, NULL, &error)
                       : cj_topk_run(topk, at, to, where, NULL, &error),
                   &error);
        cj_test_ok(cj_mem_read(device, values, to, sizeof values, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, indices, where, sizeof indices, NULL, &error), &error);
        for (int i = 0; i < K; i++) {
            assert_int_equal(values[0][i], 99);
            assert_int_equal(indices[0][i], 99 + 100 * i);
            assert_int_equal(values[1][i], -i);
            assert_int_equal(indices[1][i], i);
        }
    }
    refuse_calls(device, topk, at, to, where);
    cj_topk_destroy(topk);
    cj_mem_free(device, at);
    cj_mem_free(device, to);
    cj_mem_free(device, where);
}
