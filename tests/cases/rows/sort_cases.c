// SPDX-License-Identifier: Apache-2.0
#include "sort_cases.h"

#include <inttypes.h>
#include <stddef.h>
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
    size_t      bytes, index_bytes, payload_bytes;  // payload_bytes 0: there is none
    uint64_t    rows, columns, stride, payload_stride;
    bool        descending, values, indices;
} problem;

static const cj_dtype dtypes[] = {CJ_F32, CJ_F64,  CJ_I32, CJ_U32, CJ_I64, CJ_U64,
                                  CJ_F16, CJ_BF16, CJ_I8,  CJ_U8,  CJ_I16, CJ_U16};

static const char *const payloads[] = {"none", "b8", "b16", "b32", "b64"};

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
    p.values = has_word(&p.params, "result", "both") || has_word(&p.params, "result", "values");
    p.indices = has_word(&p.params, "result", "both") || has_word(&p.params, "result", "indices");
    for (size_t width = 1; width < CJ_TEST_COUNT(payloads); width++)
        if (has_word(&p.params, "payload", payloads[width])) p.payload_bytes = (size_t)1 << (width - 1);
    p.payload_stride = cj_params_get(&p.params, "payload-stride");
    if (!p.payload_stride) p.payload_stride = p.columns;
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

enum { X, VALUES, INDICES, PAYLOAD, SORTED_PAYLOAD, ARRAYS };

// Where a row begins in each array.
typedef struct row_arrays {
    const unsigned char *at[ARRAYS];
} row_arrays;

static void check_place(const problem *p, uint64_t row, uint64_t i, uint64_t wanted, const row_arrays *r) {
    const uint64_t index = cj_test_bits(r->at[INDICES] + i * p->index_bytes, p->index_bytes);
    const size_t   bytes = p->payload_bytes;
    if (p->indices && index != wanted)
        fail_msg("%s: row %" PRIu64 ", place %" PRIu64 " is at %" PRIu64 ", not at %" PRIu64, p->words, row, i, index,
                 wanted);
    if (p->values && memcmp(r->at[VALUES] + i * p->bytes, r->at[X] + wanted * p->bytes, p->bytes))
        fail_msg("%s: row %" PRIu64 ", place %" PRIu64 " has not the bits of element %" PRIu64, p->words, row, i,
                 wanted);
    if (bytes && memcmp(r->at[SORTED_PAYLOAD] + i * bytes, r->at[PAYLOAD] + wanted * bytes, bytes))
        fail_msg("%s: row %" PRIu64 ", place %" PRIu64 " has not the payload of element %" PRIu64, p->words, row, i,
                 wanted);
}

static void check_row(const problem *p, uint64_t row, const row_arrays *r, entry *entries) {
    for (uint64_t i = 0; i < p->columns; i++) {
        const int64_t rank = cj_test_rank(p->dtype, cj_test_bits(r->at[X] + i * p->bytes, p->bytes));
        entries[i] = (entry){p->descending ? ~rank : rank, i};
    }
    qsort(entries, p->columns, sizeof *entries, compare_entries);
    for (uint64_t i = 0; i < p->columns; i++) check_place(p, row, i, entries[i].index, r);
}

static void check_unwritten(const problem *p, const unsigned char *from, size_t bytes, const char *what) {
    for (size_t i = 0; i < bytes; i++)
        if (from[i] != POISON) fail_msg("%s: wrote to %s", p->words, what);
}

typedef struct arrays {
    cj_ptr         at[ARRAYS];
    size_t         bytes[ARRAYS];
    unsigned char *host[ARRAYS];
} arrays;

static bool is_written(int array) { return array != X && array != PAYLOAD; }

static size_t element_bytes(const problem *p, int array) {
    return array == X || array == VALUES ? p->bytes : array == INDICES ? p->index_bytes : p->payload_bytes;
}

static void fill_arrays(const problem *p, cj_sort_fill fill, uint64_t seed, arrays *a) {
    for (uint64_t i = 0; i < a->bytes[X] / p->bytes; i++) {
        const uint64_t bits = make_bits(p, fill, i % p->stride, &seed);
        memcpy(a->host[X] + i * p->bytes, &bits, p->bytes);
    }
    for (uint64_t i = 0; i < a->bytes[PAYLOAD]; i++) a->host[PAYLOAD][i] = (unsigned char)(cj_test_random(&seed) >> 40);
}

static void make_arrays(cj_device *device, const problem *p, cj_sort_fill fill, uint64_t seed, arrays *a) {
    cj_error error = {0};
    for (int i = 0; i < ARRAYS; i++) {
        const uint64_t stride = i == X ? p->stride : i == PAYLOAD ? p->payload_stride : p->columns;
        a->bytes[i] = ((p->rows - 1) * stride + p->columns) * element_bytes(p, i) + (is_written(i) ? GUARD : 0);
        assert_non_null(a->host[i] = malloc(a->bytes[i] + 1));
        memset(a->host[i], POISON, a->bytes[i]);
    }
    fill_arrays(p, fill, seed, a);
    for (int i = 0; i < ARRAYS; i++) {
        if (!a->bytes[i]) continue;
        cj_test_ok(cj_mem_alloc(device, a->bytes[i], &a->at[i], &error), &error);
        cj_test_ok(cj_mem_write(device, a->at[i], a->host[i], a->bytes[i], NULL, &error), &error);
    }
}

static void read_results(cj_device *device, const problem *p, arrays *a) {
    cj_error error = {0};
    for (int i = 0; i < ARRAYS; i++)
        if (is_written(i) && cj_mem_read(device, a->host[i], a->at[i], a->bytes[i], NULL, &error))
            fail_msg("%s: %s %s", p->words, error.message, error.hint);
}

static void free_arrays(cj_device *device, arrays *a) {
    for (int i = 0; i < ARRAYS; i++) {
        if (a->at[i]) cj_mem_free(device, a->at[i]);
        free(a->host[i]);
    }
}

// Bytes of an array's results; 0: it is not wanted.
static size_t result_bytes(const problem *p, const arrays *a, int array) {
    const bool wanted = array == VALUES ? p->values : array == INDICES ? p->indices : p->payload_bytes > 0;
    return wanted ? a->bytes[array] - GUARD : 0;
}

static void check_arrays(const problem *p, const arrays *a) {
    static const char *const after[ARRAYS] = {[VALUES] = "values, after its results",
                                              [INDICES] = "indices, after its results",
                                              [SORTED_PAYLOAD] = "sorted_payload, after its results"};
    entry *entries = malloc(p->columns * sizeof *entries);
    assert_non_null(entries);
    for (uint64_t row = 0; row < p->rows; row++) {
        row_arrays r;
        for (int i = 0; i < ARRAYS; i++) {
            const uint64_t stride = i == X ? p->stride : i == PAYLOAD ? p->payload_stride : p->columns;
            r.at[i] = a->host[i] + row * stride * element_bytes(p, i);
        }
        check_row(p, row, &r, entries);
    }
    for (int i = 0; i < ARRAYS; i++) {
        const size_t results = is_written(i) ? result_bytes(p, a, i) : 0;
        if (is_written(i)) check_unwritten(p, a->host[i] + results, a->bytes[i] - results, after[i]);
    }
    free(entries);
}

void cj_test_sort(cj_device *device, const char *words, cj_sort_fill fill, uint64_t seed) {
    const problem p = read_problem(words);
    arrays        a = {.at = {0}};
    cj_error      error = {0};
    cj_kernel    *kernel = NULL;
    make_arrays(device, &p, fill, seed, &a);
    if (cj_kernel_create(device, &p.params, &kernel, &error)) fail_msg("%s: %s %s", words, error.message, error.hint);
    for (int time = 0; time < 2; time++) {
        void *arguments[] = {&a.at[X], &a.at[VALUES], &a.at[INDICES], &a.at[PAYLOAD], &a.at[SORTED_PAYLOAD]};
        if (cj_kernel_launch(kernel, NULL, arguments, p.payload_bytes ? ARRAYS : PAYLOAD, &error))
            fail_msg("%s: %s %s", words, error.message, error.hint);
    }
    read_results(device, &p, &a);
    check_arrays(&p, &a);
    cj_kernel_destroy(kernel);
    free_arrays(device, &a);
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
            char         words[160];
            const size_t width = 1 + (i + c) % (CJ_TEST_COUNT(payloads) - 1);
            for (unsigned paired = 0; paired < 2; paired++) {
                snprintf(words, sizeof words, "rows=5 columns=%u %s payload=%s", columns[c], kinds[i].words, payloads[paired ? width : 0]);
                cj_test_sort(device, words, (cj_sort_fill)((seed + i + c) % CJ_SORT_FILLS), seed + c);
            }
        }
    }
}

// ---- drawn from a seed

// Elements that a block of any GPU holds of any type; one of a cluster holds twice as many. Of more, the plan may leave a row to the grid, which has
// no prefix and no segments.
enum { HELD = 4096 };

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

void cj_test_sort_random(cj_device *device, uint64_t *seed, uint64_t most) {
    static const char *const results[] = {"both", "values", "indices", "neither"}, *const clusters[] = {"0", "auto",
                                                                                                        "8", "3", "2"};
    const uint64_t power = UINT64_C(2) << below(seed, 15), columns = 1 + below(seed, power < most ? power : most);
    static const char *const prefixes[] = {"auto", "1", "2", "3"};
    const bool     by_grid = !below(seed, 6);
    const cj_dtype type = dtypes[below(seed, 12)];
    const char    *cluster = by_grid ? "auto" : clusters[below(seed, columns > 4 * HELD ? 4 : 5)];
    const bool     may_be_grid = by_grid || (columns > HELD && (!strcmp(cluster, "0") || !strcmp(cluster, "auto")));
    const size_t             width = below(seed, 2) * (1 + below(seed, CJ_TEST_COUNT(payloads) - 1));
    char                     words[320];
    snprintf(words, sizeof words,
             "payload=%s payload-stride=%" PRIu64 " rows=%u columns=%" PRIu64
             " dtype=%s order=%s index=%s result=%s stride=%" PRIu64 " cluster=%s match=%s digit=%u form=%s prefix=%s",
             payloads[width], width ? columns + below(seed, 2) * below(seed, 20) : 0, (unsigned)(1 + below(seed, 3)),
             columns, cj_dtype_name(type), below(seed, 2) ? "ascending" : "descending", below(seed, 2) ? "i64" : "u32",
             results[below(seed, width ? 4 : 3)], columns + below(seed, 2) * below(seed, 20), cluster,
             below(seed, 4) ? "any" : "ballots", below(seed, 3) || by_grid ? 8 : (unsigned)(5 + below(seed, 5)),
             by_grid ? "grid block=256 items=1" : "auto",
             cj_dtype_size(type) >= 4 && !may_be_grid ? prefixes[below(seed, 4)] : "auto");
    cj_test_sort(device, words, (cj_sort_fill)below(seed, CJ_SORT_FILLS), *seed);
}

// ---- segments

typedef struct segments {
    uint64_t offset[64];
    uint32_t narrow[64];
    cj_ptr   at;
} segments;

static void write_segments(cj_device *device, const problem *p, bool wide, segments *s) {
    cj_error       error = {0};
    const uint64_t size = wide ? 8 : 4;
    for (uint64_t i = 0; i <= p->rows; i++) s->narrow[i] = (uint32_t)s->offset[i];
    cj_test_ok(cj_mem_alloc(device, (p->rows + 1) * size, &s->at, &error), &error);
    cj_test_ok(cj_mem_write(device, s->at, wide ? (void *)s->offset : (void *)s->narrow, (p->rows + 1) * size, NULL, &error), &error);
}

// Some are empty, one is as long as the longest may be.
static void draw_segments(cj_device *device, const problem *p, uint64_t *seed, bool wide, segments *s) {
    const uint64_t longest = below(seed, p->rows);
    s->offset[0] = below(seed, p->rows);  // what stands before the first one is not touched
    for (uint64_t i = 0; i < p->rows; i++) {
        const uint64_t length = i == longest ? p->columns : below(seed, 3) ? below(seed, p->columns) : 0;
        s->offset[i + 1] = s->offset[i] + length;
    }
    write_segments(device, p, wide, s);
}

static void check_segments(const problem *p, const segments *s, const arrays *a) {
    static const char *const names[ARRAYS] = {[VALUES] = "values beside the segments",
                                              [INDICES] = "indices beside the segments",
                                              [SORTED_PAYLOAD] = "sorted_payload beside the segments"};
    entry *entries = malloc(p->columns * sizeof *entries);
    assert_non_null(entries);
    for (uint64_t i = 0; i < p->rows; i++) {
        problem    one = *p;
        row_arrays r;
        one.columns = s->offset[i + 1] - s->offset[i];
        for (int k = 0; k < ARRAYS; k++) r.at[k] = a->host[k] + s->offset[i] * element_bytes(p, k);
        check_row(&one, i, &r, entries);
    }
    for (int k = 0; k < ARRAYS; k++) {
        const size_t bytes = element_bytes(p, k);
        if (!is_written(k) || !bytes) continue;
        check_unwritten(p, a->host[k], s->offset[0] * bytes, names[k]);
        check_unwritten(p, a->host[k] + s->offset[p->rows] * bytes, GUARD, names[k]);
    }
    free(entries);
}

// With a payload the call takes a structure; without, arrays. Each refuses what is the other's.
static void run_segments(cj_device *device, const cj_sort_desc *desc, cj_sort *sort, const segments *s,
                         const arrays *a) {
    const cj_ptr         x = a->at[X], values = a->at[VALUES], indices = a->at[INDICES];
    const cj_sort_arrays pairs = {CJ_INIT(pairs),
                                  .x = x,
                                  .offsets = s->at,
                                  .values = values,
                                  .indices = indices,
                                  .payload = a->at[PAYLOAD],
                                  .sorted_payload = a->at[SORTED_PAYLOAD]};
    cj_error             error = {0};
    if (desc->payload_bytes) {
        cj_test_ok(cj_sort_run_pairs(sort, &pairs, NULL, &error), &error);
        cj_test_ok(cj_sort_launch_pairs(device, desc, &pairs, NULL, &error), &error);
        assert_int_equal(cj_sort_run_segmented(sort, x, s->at, values, indices, NULL, &error), CJ_INVALID_ARGUMENT);
        return;
    }
    cj_test_ok(cj_sort_run_segmented(sort, x, s->at, values, indices, NULL, &error), &error);
    cj_test_ok(cj_sort_launch_segmented(device, desc, x, s->at, values, indices, NULL, &error), &error);
    assert_int_equal(cj_sort_run(sort, x, values, indices, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_sort_run_segmented(sort, x, 0, values, indices, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_sort_run_pairs(sort, &pairs, NULL, &error), CJ_INVALID_ARGUMENT);
}

void cj_test_sort_segments(cj_device *device, uint64_t *seed, uint64_t most) {
    static const uint32_t clusters[] = {0, 0, CJ_SORT_NO_CLUSTER, 2, 4};
    const bool            wide = below(seed, 2);
    cj_error              error = {0};
    cj_sort              *sort = NULL;
    arrays                a = {.at = {0}};
    segments              s;
    problem               p = {.words = "segments", .dtype = dtypes[below(seed, 12)], .rows = 1 + below(seed, 40), .columns = 1 + below(seed, most),
                               .values = true, .indices = true, .descending = below(seed, 2), .index_bytes = below(seed, 2) ? 8 : 4};
    p.payload_bytes = below(seed, 2) << below(seed, 4);
    const cj_sort_desc desc = {CJ_INIT(desc),
                               .rows = p.rows,
                               .columns = p.columns,
                               .elements = below(seed, 2) * p.rows * p.columns,
                               .dtype = p.dtype,
                               .descending = p.descending,
                               .index_u32 = p.index_bytes == 4,
                               .cluster = p.columns > HELD ? 4 * (uint32_t)below(seed, 2) : clusters[below(seed, 5)],
                               .offsets = wide ? CJ_I64 : CJ_I32,
                               .payload_bytes = (uint32_t)p.payload_bytes};
    p.bytes = cj_dtype_size(p.dtype);
    p.stride = p.payload_stride = p.columns + 1;  // room for what stands before the first segment
    make_arrays(device, &p, (cj_sort_fill)below(seed, CJ_SORT_FILLS), *seed, &a);
    draw_segments(device, &p, seed, wide, &s);
    if (cj_sort_create(device, &desc, &sort, &error)) fail_msg("%" PRIu64 " columns, cluster %u: %s %s", p.columns, desc.cluster, error.message, error.hint);
    run_segments(device, &desc, sort, &s, &a);
    read_results(device, &p, &a);
    check_segments(&p, &s, &a);
    cj_sort_destroy(sort);
    cj_mem_free(device, s.at);
    free_arrays(device, &a);
}

// Segments of any length beside each other, by lists and the grid: those about what a warp and a tile hold, among others.
static void draw_lengths(cj_device *device, const problem *p, uint64_t *seed, uint64_t tile, segments *s) {
    const uint64_t bounds[] = {0, 1, 255, 256, 257, tile - 1, tile, tile + 1, 2 * tile, p->columns};
    s->offset[0] = below(seed, p->rows);
    for (uint64_t i = 0; i < p->rows; i++) {
        const uint64_t drawn = below(seed, 2) ? bounds[below(seed, CJ_TEST_COUNT(bounds))] : below(seed, p->columns + 1);
        const uint64_t length = drawn < p->columns ? drawn : p->columns, end = s->offset[i] + length, most = p->rows * p->columns;
        s->offset[i + 1] = end < most ? end : most;  // of the arrays
    }
    write_segments(device, p, has_word(&p->params, "segments", "i64"), s);
}

// With the most elements that there can be, and with as many as there are.
static void run_lists(cj_device *device, problem *p, segments *s, arrays *a) {
    cj_error error = {0};
    for (int time = 0; time < 2; time++) {
        void      *arguments[] = {&a->at[X], &a->at[VALUES], &a->at[INDICES], &s->at, &a->at[PAYLOAD], &a->at[SORTED_PAYLOAD]};
        cj_kernel *kernel = NULL;
        char       elements[24];
        snprintf(elements, sizeof elements, "%" PRIu64, s->offset[p->rows] - s->offset[0]);
        if (time) cj_test_ok(cj_params_set(&p->params, "elements", elements, &error), &error);
        if (cj_kernel_create(device, &p->params, &kernel, &error)) fail_msg("%s: %s %s", p->words, error.message, error.hint);
        if (cj_kernel_launch(kernel, NULL, arguments, p->payload_bytes ? 6 : 4, &error)) fail_msg("%s: %s %s", p->words, error.message, error.hint);
        cj_kernel_destroy(kernel);
        read_results(device, p, a);
        check_segments(p, s, a);
    }
}

void cj_test_sort_lists(cj_device *device, uint64_t *seed, uint64_t most) {
    static const char *const results[] = {"both", "values", "indices", "neither"};
    const unsigned items = (unsigned)(1 + below(seed, 3)), width = (unsigned)(below(seed, 2) * (1 + below(seed, CJ_TEST_COUNT(payloads) - 1)));
    arrays         a = {.at = {0}};
    segments       s;
    char           words[320];
    snprintf(words, sizeof words,
             "form=grid block=256 items=%u rows=%u columns=%u segments=%s dtype=%s order=%s index=%s result=%s payload=%s match=%s", items,
             (unsigned)(1 + below(seed, 20)), (unsigned)(1 + below(seed, most)), below(seed, 2) ? "i32" : "i64", cj_dtype_name(dtypes[below(seed, 12)]),
             below(seed, 2) ? "ascending" : "descending", below(seed, 2) ? "i64" : "u32", results[below(seed, width ? 4 : 3)], payloads[width],
             below(seed, 4) ? "any" : "ballots");
    problem p = read_problem(words);
    p.stride = p.payload_stride = p.columns + 1;  // room for what stands before the first segment
    make_arrays(device, &p, (cj_sort_fill)below(seed, CJ_SORT_FILLS), *seed, &a);
    draw_lengths(device, &p, seed, 256 * items, &s);
    run_lists(device, &p, &s, &a);
    cj_mem_free(device, s.at);
    free_arrays(device, &a);
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

// ---- the typed call of pairs

enum { PAIR_ROWS = 2, PAIR_COLUMNS = 300, PAIR_STRIDE = 303 };

// Parts of one allocation.
typedef struct pairs {
    int32_t  x[PAIR_ROWS][PAIR_COLUMNS];
    uint16_t payload[PAIR_ROWS][PAIR_STRIDE];
    int32_t  values[PAIR_ROWS][PAIR_COLUMNS];
    uint32_t indices[PAIR_ROWS][PAIR_COLUMNS];
    uint16_t sorted[PAIR_ROWS][PAIR_COLUMNS];
} pairs;

static void check_pairs(const cj_sort_desc *desc, const pairs *p) {
    for (int row = 0; row < PAIR_ROWS; row++)
        for (int i = 0; i < PAIR_COLUMNS; i++) {
            const int from = row ? PAIR_COLUMNS - 1 - i : i * 43 % PAIR_COLUMNS;  // 43 * 7 is 1 modulo 300
            assert_int_equal(p->sorted[row][i], p->payload[row][from]);
            if (!desc->indices_only) assert_int_equal(p->values[row][i], p->x[row][from]);
            if (!desc->values_only) assert_int_equal(p->indices[row][i], from);
        }
}

static void refuse_pairs(cj_sort *sort, const cj_sort_arrays *good) {
    static const struct {
        size_t      field;
        const char *words[2];  // if it is 0; if it is odd
    } rows[] = {{offsetof(cj_sort_arrays, x), {"x: ", "x: "}},
                {offsetof(cj_sort_arrays, values), {"values: ", "values: "}},
                {offsetof(cj_sort_arrays, indices), {"indices: ", "indices: "}},
                {offsetof(cj_sort_arrays, payload), {"payload: ", "payload: "}},
                {offsetof(cj_sort_arrays, sorted_payload), {"sorted_payload: ", "sorted_payload: "}},
                {offsetof(cj_sort_arrays, offsets), {NULL, "offsets: the description does not say"}}};
    cj_error error = {0};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++)
        for (int odd = 0; odd < 2; odd++) {
            cj_sort_arrays given = *good;
            cj_ptr        *field = (cj_ptr *)(void *)((char *)&given + rows[i].field);
            *field = odd ? *field + 1 : 0;
            if (!rows[i].words[odd]) continue;
            assert_int_equal(cj_sort_run_pairs(sort, &given, NULL, &error), CJ_INVALID_ARGUMENT);
            if (strncmp(error.message, rows[i].words[odd], strlen(rows[i].words[odd])))
                fail_msg("not '%s': %s", rows[i].words[odd], error.message);
        }
    assert_int_equal(cj_sort_run(sort, good->x, good->values, good->indices, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.hint, "_pairs"));
}

static void refuse_descriptions_of_pairs(cj_device *device) {
    static const struct {
        cj_sort_desc desc;
        const char  *words;
    } rows[] = {{{CJ_INIT(cj_sort_desc), .columns = 8, .payload_bytes = 3}, "payload_bytes: 3 is none of 1, 2, 4, 8"},
                {{CJ_INIT(cj_sort_desc), .columns = 8, .payload_bytes = 16}, "payload_bytes: 16 is none of"},
                {{CJ_INIT(cj_sort_desc), .columns = 8, .payload_stride = 9},
                 "payload-stride: 9 has no effect with payload=none"},
                {{CJ_INIT(cj_sort_desc), .columns = 8, .payload_bytes = 4, .payload_stride = 7},
                 "payload-stride: 7 is below the 8 columns"},
                {{CJ_INIT(cj_sort_desc), .columns = 8, .payload_bytes = 4, .payload_stride = 8, .offsets = CJ_I32},
                 "payload-stride: 8, but segments"}};
    cj_error error = {0};
    cj_sort *sort = NULL;
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        assert_int_equal(cj_sort_create(device, &rows[i].desc, &sort, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, rows[i].words)) fail_msg("not '%s': %s", rows[i].words, error.message);
    }
}

void cj_test_sort_pairs(cj_device *device) {
    static pairs p;
    cj_error     error = {0};
    cj_ptr       at = 0;
    for (int i = 0; i < PAIR_COLUMNS; i++) p.x[0][i] = i * 7 % PAIR_COLUMNS, p.x[1][i] = -i;
    for (int row = 0; row < PAIR_ROWS; row++)
        for (int i = 0; i < PAIR_STRIDE; i++) p.payload[row][i] = (uint16_t)((row * PAIR_STRIDE + i) * 40503 + 5);
    cj_test_ok(cj_mem_alloc(device, sizeof p, &at, &error), &error);
    const cj_sort_arrays given = {CJ_INIT(given),
                                  .x = at + offsetof(pairs, x),
                                  .payload = at + offsetof(pairs, payload),
                                  .values = at + offsetof(pairs, values),
                                  .indices = at + offsetof(pairs, indices),
                                  .sorted_payload = at + offsetof(pairs, sorted)};
    for (unsigned way = 0; way < 8; way++) {
        const cj_sort_desc desc = {CJ_INIT(desc),           .rows = PAIR_ROWS,  .columns = PAIR_COLUMNS,
                                   .dtype = CJ_I32,         .index_u32 = true,  .values_only = way & 1,
                                   .indices_only = way & 2, .payload_bytes = 2, .payload_stride = PAIR_STRIDE};
        cj_sort           *sort = NULL;
        memset(p.values, POISON, sizeof p - offsetof(pairs, values));
        cj_test_ok(cj_mem_write(device, at, &p, sizeof p, NULL, &error), &error);
        cj_test_ok(cj_sort_create(device, &desc, &sort, &error), &error);
        cj_test_ok(way & 4 ? cj_sort_launch_pairs(device, &desc, &given, NULL, &error)
                           : cj_sort_run_pairs(sort, &given, NULL, &error),
                   &error);
        cj_test_ok(cj_mem_read(device, &p, at, sizeof p, NULL, &error), &error);
        check_pairs(&desc, &p);
        if (!way) refuse_pairs(sort, &given);
        cj_sort_destroy(sort);
    }
    refuse_descriptions_of_pairs(device);
    cj_mem_free(device, at);
}
