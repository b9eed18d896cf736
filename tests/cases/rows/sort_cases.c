// SPDX-License-Identifier: Apache-2.0
#include "sort_cases.h"

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
    uint64_t    rows, columns, stride;
    bool        descending, values, indices;
} problem;

static const cj_dtype dtypes[] = {CJ_F32, CJ_F64,  CJ_I32, CJ_U32, CJ_I64, CJ_U64,
                                  CJ_F16, CJ_BF16, CJ_I8,  CJ_U8,  CJ_I16, CJ_U16};

static bool has_word(const cj_params *params, const char *name, const char *word) {
    char buffer[16];
    return !strcmp(cj_params_word(params, name, buffer, sizeof buffer), word);
}

static problem read_problem(const char *words) {
    problem  p = {.words = words};
    cj_error error = {0};
    size_t   type = 0;
    cj_test_ok(cj_test_params("sort", words, &p.params, &error), &error);
    while (!has_word(&p.params, "dtype", cj_dtype_name(dtypes[type]))) type++;
    p.dtype = dtypes[type];
    p.bytes = cj_dtype_size(p.dtype);
    p.index_bytes = has_word(&p.params, "index", "i64") ? 8 : 4;
    p.rows = cj_params_get(&p.params, "rows");
    p.columns = cj_params_get(&p.params, "columns");
    p.stride = cj_params_get(&p.params, "stride");
    if (!p.stride) p.stride = p.columns;
    p.descending = has_word(&p.params, "order", "descending");
    p.values = !has_word(&p.params, "result", "indices");
    p.indices = !has_word(&p.params, "result", "values");
    return p;
}

// ---- elements, as their bits

static uint64_t wild_bits(const problem *p, uint64_t draw) {
    const uint64_t infinite = cj_test_is_float(p->dtype) ? cj_test_infinity(p->dtype) : 77, sign = UINT64_C(1) << (8 * p->bytes - 1);
    const uint64_t wild[] = {0, sign,     infinite,  infinite | sign, infinite + 1, (infinite + 1) | sign,
                             1, 1 | sign, UINT64_MAX};
    return draw & 1 ? wild[(draw >> 8) % CJ_TEST_COUNT(wild)] : draw >> 3;
}

static uint64_t make_bits(const problem *p, cj_sort_fill fill, uint64_t i, uint64_t *seed) {
    const uint64_t draw = cj_test_random(seed);
    uint64_t       bits = draw >> 7;
    switch (fill) {
    case CJ_SORT_FEW: bits = 0x31 + draw % 5 * 0x0101010101010101; break;
    case CJ_SORT_EQUAL: bits = 0x3c; break;
    case CJ_SORT_RISING: bits = i; break;
    case CJ_SORT_FALLING: bits = p->columns - i; break;
    case CJ_SORT_NEAR: bits = draw % 7 ? (i < p->columns / 2 ? i << 12 | draw >> 40 : draw >> 58) ^ UINT64_C(0x3f8000003f803f01) : bits; break;
    case CJ_SORT_WILD: bits = wild_bits(p, draw); break;
    default: break;
    }
    return bits & (UINT64_MAX >> (64 - 8 * p->bytes));
}

typedef struct entry {
    int64_t  rank;
    uint64_t index;
} entry;

static int compare_entries(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// ---- one kernel

static void check_row(const problem *p, uint64_t row, const unsigned char *x, const unsigned char *values,
                      const unsigned char *indices, entry *entries) {
    for (uint64_t i = 0; i < p->columns; i++) {
        const int64_t rank = cj_test_rank(p->dtype, cj_test_bits(x + i * p->bytes, p->bytes));
        entries[i] = (entry){p->descending ? ~rank : rank, i};
    }
    qsort(entries, p->columns, sizeof *entries, compare_entries);
    for (uint64_t i = 0; i < p->columns; i++) {
        const uint64_t at = row * p->columns + i, wanted = entries[i].index;
        const uint64_t index = cj_test_bits(indices + at * p->index_bytes, p->index_bytes);
        if (p->indices && index != wanted)
            fail_msg("%s: row %" PRIu64 ", place %" PRIu64 " is at %" PRIu64 ", not at %" PRIu64, p->words, row, i,
                     index, wanted);
        if (p->values && memcmp(values + at * p->bytes, x + wanted * p->bytes, p->bytes))
            fail_msg("%s: row %" PRIu64 ", place %" PRIu64 " has not the bits of element %" PRIu64, p->words, row, i,
                     wanted);
    }
}

static void check_unwritten(const problem *p, const unsigned char *from, size_t bytes, const char *what) {
    for (size_t i = 0; i < bytes; i++)
        if (from[i] != POISON) fail_msg("%s: wrote to %s", p->words, what);
}

// Device arrays: x, values, indices.
typedef struct arrays {
    cj_ptr         at[3];
    size_t         bytes[3];
    unsigned char *host[3];
} arrays;

static void make_arrays(cj_device *device, const problem *p, cj_sort_fill fill, uint64_t seed, arrays *a) {
    cj_error     error = {0};
    const size_t results = p->rows * p->columns;
    a->bytes[0] = ((p->rows - 1) * p->stride + p->columns) * p->bytes;
    a->bytes[1] = results * p->bytes + GUARD;
    a->bytes[2] = results * p->index_bytes + GUARD;
    for (int i = 0; i < 3; i++) {
        assert_non_null(a->host[i] = malloc(a->bytes[i]));
        memset(a->host[i], POISON, a->bytes[i]);
    }
    for (uint64_t i = 0; i < a->bytes[0] / p->bytes; i++) {
        const uint64_t bits = make_bits(p, fill, i % p->stride, &seed);
        memcpy(a->host[0] + i * p->bytes, &bits, p->bytes);
    }
    for (int i = 0; i < 3; i++) {
        cj_test_ok(cj_mem_alloc(device, a->bytes[i], &a->at[i], &error), &error);
        cj_test_ok(cj_mem_write(device, a->at[i], a->host[i], a->bytes[i], NULL, &error), &error);
    }
}

static void check_arrays(const problem *p, const arrays *a) {
    entry *entries = malloc(p->columns * sizeof *entries);
    assert_non_null(entries);
    for (uint64_t row = 0; row < p->rows; row++)
        check_row(p, row, a->host[0] + row * p->stride * p->bytes, a->host[1], a->host[2], entries);
    const size_t values = p->values ? a->bytes[1] - GUARD : 0, indices = p->indices ? a->bytes[2] - GUARD : 0;
    check_unwritten(p, a->host[1] + values, a->bytes[1] - values, "values, after its results");
    check_unwritten(p, a->host[2] + indices, a->bytes[2] - indices, "indices, after its results");
    free(entries);
}

void cj_test_sort(cj_device *device, const char *words, cj_sort_fill fill, uint64_t seed) {
    const problem p = read_problem(words);
    arrays        a;
    cj_error      error = {0};
    cj_kernel    *kernel = NULL;
    make_arrays(device, &p, fill, seed, &a);
    if (cj_kernel_create(device, &p.params, &kernel, &error)) fail_msg("%s: %s %s", words, error.message, error.hint);
    for (int time = 0; time < 2; time++) {
        void *arguments[] = {&a.at[0], &a.at[1], &a.at[2]};
        if (cj_kernel_launch(kernel, NULL, arguments, 3, &error))
            fail_msg("%s: %s %s", words, error.message, error.hint);
    }
    for (int i = 1; i < 3; i++)
        if (cj_mem_read(device, a.host[i], a.at[i], a.bytes[i], NULL, &error))
            fail_msg("%s: %s %s", words, error.message, error.hint);
    check_arrays(&p, &a);
    cj_kernel_destroy(kernel);
    for (int i = 0; i < 3; i++) {
        cj_mem_free(device, a.at[i]);
        free(a.host[i]);
    }
}

void cj_test_sort_bounds(cj_device *device, uint64_t seed) {
    static const struct {
        const char *words;
        unsigned    holds;
    } kinds[] = {{"form=warp block=64 items=4 rows=3", 128},
                 {"form=warp dtype=bf16 order=descending rows=2", 256},
                 {"form=block block=32 items=2 rows=2", 64},
                 {"form=block block=96 items=1 dtype=f16 digit=6 order=descending", 96},
                 {"form=block block=64 items=3 dtype=i16 match=ballots digit=5", 192},
                 {"form=block block=64 items=4 dtype=i64 prefix=2", 256},
                 {"form=warp block=64 items=3 dtype=u32 prefix=1 result=values", 96},
                 {"form=cluster cluster=2 block=32 items=2 dtype=f32", 128},
                 {"form=cluster cluster=2 block=32 items=4 dtype=i32 prefix=1", 256},
                 {"form=cluster cluster=4 block=64 items=1 dtype=u64 prefix=2 digit=9 order=descending", 256},
                 {"form=cluster cluster=3 block=64 items=1 dtype=u8 result=indices", 192},
                 {"form=cluster cluster=4 block=32 items=1 dtype=f16 order=descending", 128},
                 {"form=grid block=256 items=1 rows=2", 257},  // what a tile holds, or tiles, and one more
                 {"rows=1 form=grid block=256 items=2 dtype=i16 result=values order=descending", 1537},
                 {"rows=2 form=grid block=320 items=1 dtype=f64 result=indices index=u32", 641},
                 {"form=grid block=256 items=3 dtype=u8 rows=3", 1537},
                 {"form=grid block=256 items=1 dtype=bf16 digit=5 match=any rows=2", 513}};
    for (size_t i = 0; i < CJ_TEST_COUNT(kinds); i++) {
        const unsigned holds = kinds[i].holds,
                       columns[] = {1 + (unsigned)(i % 2), 31 + (unsigned)(i % 3), holds - 1, holds};
        for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++) {
            char words[160];
            snprintf(words, sizeof words, "columns=%u %s", columns[c], kinds[i].words);
            cj_test_sort(device, words, (cj_sort_fill)((seed + i + c) % CJ_SORT_FILLS), seed + c);
        }
    }
}

// ---- drawn from a seed

// Elements that a block of any GPU holds of any type; one of a cluster holds twice as many. Of more, the plan may leave a row to the grid, which has
// no prefix and no segments.
enum { HELD = 4096 };

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

void cj_test_sort_random(cj_device *device, uint64_t *seed, uint64_t most) {
    static const char *const results[] = {"both", "values", "indices"}, *const clusters[] = {"0", "auto", "8", "3", "2"};
    const uint64_t power = UINT64_C(2) << below(seed, 15), columns = 1 + below(seed, power < most ? power : most);
    static const char *const prefixes[] = {"auto", "1", "2", "3"};
    const bool     by_grid = !below(seed, 6);
    const cj_dtype type = dtypes[below(seed, 12)];
    const char    *cluster = by_grid ? "auto" : clusters[below(seed, columns > 4 * HELD ? 4 : 5)];
    const bool     may_be_grid = by_grid || (columns > HELD && (!strcmp(cluster, "0") || !strcmp(cluster, "auto")));
    char           words[256];
    snprintf(words, sizeof words,
             "rows=%u columns=%" PRIu64 " dtype=%s order=%s index=%s result=%s stride=%" PRIu64
             " cluster=%s match=%s digit=%u form=%s prefix=%s",
             (unsigned)(1 + below(seed, 3)), columns, cj_dtype_name(type),
             below(seed, 2) ? "ascending" : "descending", below(seed, 2) ? "i64" : "u32", results[below(seed, 3)],
             columns + below(seed, 2) * below(seed, 20), cluster, below(seed, 4) ? "any" : "ballots",
             below(seed, 3) || by_grid ? 8 : (unsigned)(5 + below(seed, 5)),
             by_grid ? "grid block=256 items=1" : "auto", cj_dtype_size(type) >= 4 && !may_be_grid ? prefixes[below(seed, 4)] : "auto");
    cj_test_sort(device, words, (cj_sort_fill)below(seed, CJ_SORT_FILLS), *seed);
}

// ---- segments

typedef struct segments {
    uint64_t offset[64];
    uint32_t narrow[64];
    cj_ptr   at;
} segments;

// Some are empty, one is as long as the longest may be.
static void draw_segments(cj_device *device, const problem *p, uint64_t *seed, bool wide, segments *s) {
    cj_error       error = {0};
    const uint64_t longest = below(seed, p->rows), size = wide ? 8 : 4;
    s->offset[0] = s->narrow[0] = (uint32_t)below(seed, p->rows);  // what stands before the first one is not touched
    for (uint64_t i = 0; i < p->rows; i++) {
        const uint64_t length = i == longest ? p->columns : below(seed, 3) ? below(seed, p->columns) : 0;
        s->offset[i + 1] = s->offset[i] + length;
        s->narrow[i + 1] = (uint32_t)s->offset[i + 1];
    }
    cj_test_ok(cj_mem_alloc(device, (p->rows + 1) * size, &s->at, &error), &error);
    cj_test_ok(cj_mem_write(device, s->at, wide ? (void *)s->offset : (void *)s->narrow, (p->rows + 1) * size, NULL, &error), &error);
}

static void check_segments(const problem *p, const segments *s, const arrays *a) {
    entry *entries = malloc(p->columns * sizeof *entries);
    assert_non_null(entries);
    for (uint64_t i = 0; i < p->rows; i++) {
        problem one = *p;
        one.columns = s->offset[i + 1] - s->offset[i];
        check_row(&one, 0, a->host[0] + s->offset[i] * p->bytes, a->host[1] + s->offset[i] * p->bytes,
                  a->host[2] + s->offset[i] * p->index_bytes, entries);
    }
    check_unwritten(p, a->host[1], s->offset[0] * p->bytes, "values before the first segment");
    check_unwritten(p, a->host[2], s->offset[0] * p->index_bytes, "indices before the first segment");
    check_unwritten(p, a->host[1] + s->offset[p->rows] * p->bytes, GUARD, "values after the last segment");
    check_unwritten(p, a->host[2] + s->offset[p->rows] * p->index_bytes, GUARD, "indices after the last segment");
    free(entries);
}

void cj_test_sort_segments(cj_device *device, uint64_t *seed, uint64_t most) {
    static const uint32_t clusters[] = {0, 0, CJ_SORT_NO_CLUSTER, 2, 4};
    const bool            wide = below(seed, 2);
    cj_error              error = {0};
    cj_sort              *sort = NULL;
    arrays                a;
    segments              s;
    problem               p = {.words = "segments", .dtype = dtypes[below(seed, 12)], .rows = 1 + below(seed, 40), .columns = 1 + below(seed, most),
                               .values = true, .indices = true, .descending = below(seed, 2), .index_bytes = below(seed, 2) ? 8 : 4};
    const cj_sort_desc    desc = {CJ_INIT(desc), .rows = p.rows, .columns = p.columns, .dtype = p.dtype, .descending = p.descending,
                                  .index_u32 = p.index_bytes == 4, .cluster = p.columns > HELD ? 4 * (uint32_t)below(seed, 2) : clusters[below(seed, 5)], .offsets = wide ? CJ_I64 : CJ_I32};
    p.bytes = cj_dtype_size(p.dtype);
    p.stride = p.columns + 1;  // room for what stands before the first segment
    make_arrays(device, &p, (cj_sort_fill)below(seed, CJ_SORT_FILLS), *seed, &a);
    draw_segments(device, &p, seed, wide, &s);
    if (cj_sort_create(device, &desc, &sort, &error)) fail_msg("%" PRIu64 " columns, cluster %u: %s %s", p.columns, desc.cluster, error.message, error.hint);
    cj_test_ok(cj_sort_run_segmented(sort, a.at[0], s.at, a.at[1], a.at[2], NULL, &error), &error);
    cj_test_ok(cj_sort_launch_segmented(device, &desc, a.at[0], s.at, a.at[1], a.at[2], NULL, &error), &error);
    for (int i = 1; i < 3; i++) cj_test_ok(cj_mem_read(device, a.host[i], a.at[i], a.bytes[i], NULL, &error), &error);
    check_segments(&p, &s, &a);
    assert_int_equal(cj_sort_run(sort, a.at[0], a.at[1], a.at[2], NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_sort_run_segmented(sort, a.at[0], 0, a.at[1], a.at[2], NULL, &error), CJ_INVALID_ARGUMENT);
    cj_sort_destroy(sort);
    cj_mem_free(device, s.at);
    for (int i = 0; i < 3; i++) {
        cj_mem_free(device, a.at[i]);
        free(a.host[i]);
    }
}

// ---- the typed call

void cj_test_sort_call(cj_device *device) {
    enum { ROWS = 2, COLUMNS = 300 };
    const cj_sort_desc desc = {CJ_INIT(desc), .rows = ROWS, .columns = COLUMNS, .dtype = CJ_I32, .descending = true};
    static int32_t     x[ROWS][COLUMNS], values[ROWS][COLUMNS];
    static int64_t     indices[ROWS][COLUMNS];
    cj_error           error = {0};
    cj_sort           *sort = NULL;
    cj_ptr             at = 0, to = 0, where = 0;
    for (int i = 0; i < COLUMNS; i++) x[0][i] = i * 7 % COLUMNS, x[1][i] = -i;
    cj_test_ok(cj_mem_alloc(device, sizeof x, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof values, &to, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof indices, &where, &error), &error);
    cj_test_ok(cj_mem_write(device, at, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_sort_create(device, &desc, &sort, &error), &error);
    for (int way = 0; way < 2; way++) {
        cj_test_ok(cj_mem_fill(device, where, POISON, sizeof indices, NULL, &error), &error);
        cj_test_ok(way ? cj_sort_launch(device, &desc, at, to, where, NULL, &error)
                       : cj_sort_run(sort, at, to, where, NULL, &error),
                   &error);
        cj_test_ok(cj_mem_read(device, values, to, sizeof values, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, indices, where, sizeof indices, NULL, &error), &error);
        for (int i = 0; i < COLUMNS; i++) {
            assert_int_equal(values[0][i], COLUMNS - 1 - i);
            assert_int_equal(indices[0][i] * 7 % COLUMNS, COLUMNS - 1 - i);
            assert_int_equal(values[1][i], -i);
            assert_int_equal(indices[1][i], i);
        }
    }
    assert_int_equal(cj_sort_run(sort, 0, to, where, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_sort_run(sort, at, to + 1, where, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_sort_run(sort, at, to, where + 4, NULL, &error), CJ_INVALID_ARGUMENT);
    cj_sort_destroy(sort);
    cj_mem_free(device, at);
    cj_mem_free(device, to);
    cj_mem_free(device, where);
    const cj_sort_desc none = {CJ_INIT(none)},
                       nothing = {CJ_INIT(nothing), .columns = 8, .values_only = true, .indices_only = true};
    assert_int_equal(cj_sort_create(device, &none, &sort, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_sort_create(device, &nothing, &sort, &error), CJ_INVALID_ARGUMENT);
}
