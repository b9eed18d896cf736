// SPDX-License-Identifier: Apache-2.0
#include "scan_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "models/half.h"
#include "test.h"

enum { POISON = 0xa5, GUARD = 32 };  // GUARD: bytes before and after the output

typedef enum heads_kind { NO_HEADS, FLAGS, OFFSETS_I32, OFFSETS_I64 } heads_kind;

typedef struct problem {
    const char *words;
    cj_params   params;
    cj_dtype    dtype;
    size_t      bytes;  // of an element
    uint64_t    rows, columns, stride, out_stride;
    char        op;  // 'p' for product, 'x' for max, 'n' for min, else its first letter
    bool        exclusive, reverse, real;
    heads_kind  heads;
    uint64_t    segments;
    double      bound;
} problem;

static bool is_yes(const cj_params *params, const char *name) {
    char word[16];
    return !strcmp(cj_params_word(params, name, word, sizeof word), "yes");
}

static problem read_problem(const char *words) {
    problem  p = {.words = words};
    cj_error error = {0};
    char     word[16];
    cj_test_ok(cj_test_params("scan", words, &p.params, &error), &error);
    cj_params_word(&p.params, "dtype", word, sizeof word);
    while (strcmp(cj_dtype_name(p.dtype), word) != 0) p.dtype = (cj_dtype)(p.dtype + 1);
    p.bytes = cj_dtype_size(p.dtype);
    p.rows = cj_params_get(&p.params, "rows");
    p.columns = cj_params_get(&p.params, "columns");
    p.stride = cj_params_get(&p.params, "stride");
    p.out_stride = cj_params_get(&p.params, "out-stride");
    if (!p.stride) p.stride = p.columns;
    if (!p.out_stride) p.out_stride = p.columns;
    cj_params_word(&p.params, "op", word, sizeof word);
    p.op = word[0] == 'm' ? word[2] : word[0];
    p.exclusive = is_yes(&p.params, "exclusive");
    p.reverse = is_yes(&p.params, "reverse");
    cj_params_word(&p.params, "heads", word, sizeof word);
    p.heads = *word == 'n' ? NO_HEADS : *word == 'f' ? FLAGS : word[1] == '3' ? OFFSETS_I32 : OFFSETS_I64;
    p.segments = cj_params_get(&p.params, "segments");
    p.real = p.dtype == CJ_F32 || p.dtype == CJ_F64 || p.dtype == CJ_F16 || p.dtype == CJ_BF16;
    return p;
}

// ---- elements

static double read_real(const problem *p, const unsigned char *at) {
    float    single;
    double   wide;
    uint16_t half;
    if (p->dtype == CJ_F32) return memcpy(&single, at, 4), (double)single;
    if (p->dtype == CJ_F64) return memcpy(&wide, at, 8), wide;
    return memcpy(&half, at, 2), half_to(p->dtype == CJ_BF16 ? half_bf16 : half_f16, half);
}

static uint64_t read_whole(const problem *p, const unsigned char *at) {  // sign-extended
    int32_t  narrow;
    uint64_t value = 0;
    if (p->dtype == CJ_I32) return memcpy(&narrow, at, 4), (uint64_t)(int64_t)narrow;
    memcpy(&value, at, p->bytes);
    return value;
}

// Small reals of either sign, for products close to 1; integers of all bits.
static void write_random(const problem *p, uint64_t *seed, unsigned char *to) {
    const uint64_t bits = cj_test_random(seed);
    const double unit = (double)(bits >> 44) * 0x1p-20, value = p->op == 'p' ? 1 + (unit - 0.5) * 0x1p-6 : unit * 4 - 1;
    const float  single = (float)value;
    uint32_t     word;
    memcpy(&word, &single, 4);
    const uint16_t brain = (uint16_t)(word >> 16), half = (uint16_t)((bits >> 40 & 0x8000) | 0x3000 | (bits & 0x0fff));
    const uint16_t near_1 = (uint16_t)(0x3c00 + (bits & 7));
    switch (p->dtype) {
    case CJ_F32: memcpy(to, &single, 4); break;
    case CJ_F64: memcpy(to, &value, 8); break;
    case CJ_BF16: memcpy(to, &brain, 2); break;
    case CJ_F16: memcpy(to, p->op == 'p' ? &near_1 : &half, 2); break;
    default: memcpy(to, &bits, p->bytes);  // little-endian
    }
}

// ---- the reference

typedef struct running {
    long double real, magnitude;
    uint64_t    whole;
    bool        any;
} running;

static bool is_less(const problem *p, uint64_t a, uint64_t b) {
    return p->dtype == CJ_I32 || p->dtype == CJ_I64 ? (int64_t)a < (int64_t)b : a < b;
}

static void take(const problem *p, running *r, const unsigned char *at) {
    const long double real = p->real ? (long double)read_real(p, at) : 0;
    const uint64_t    whole = p->real ? 0 : read_whole(p, at);
    const bool        first = !r->any;
    r->any = true;
    r->magnitude += fabsl(real);
    if (first) {
        r->real = real;
        r->whole = whole;
        return;
    }
    switch (p->op) {
    case 's': r->real += real, r->whole += whole; break;
    case 'p': r->real *= real, r->whole *= whole; break;
    case 'n': r->real = fminl(r->real, real), r->whole = is_less(p, whole, r->whole) ? whole : r->whole; break;
    default: r->real = fmaxl(r->real, real), r->whole = is_less(p, r->whole, whole) ? whole : r->whole;
    }
}

static uint64_t identity_of(const problem *p) {
    const bool     narrow = p->bytes == 4, is_signed = p->dtype == CJ_I32 || p->dtype == CJ_I64;
    const uint64_t most = is_signed ? (narrow ? INT32_MAX : INT64_MAX) : narrow ? UINT32_MAX : UINT64_MAX;
    switch (p->op) {
    case 's': return 0;
    case 'p': return 1;
    case 'n': return most;
    default: return is_signed ? ~most : 0;
    }
}

static void check_element(const problem *p, const running *r, const unsigned char *at, uint64_t row, uint64_t column) {
    const uint64_t mask = p->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    if (!p->real) {
        const uint64_t want = (r->any ? r->whole : identity_of(p)) & mask, found = read_whole(p, at) & mask;
        if (found != want)
            fail_msg("%s: row %" PRIu64 ", column %" PRIu64 " is %" PRIx64 ", not %" PRIx64, p->words, row, column,
                     found, want);
        return;
    }
    const double found = read_real(p, at);
    if (!r->any) {
        const double none = p->op == 's' ? 0 : 1;
        if (p->op == 's' || p->op == 'p' ? found != none : !isnan(found))
            fail_msg("%s: row %" PRIu64 ", column %" PRIu64 " is %g, not the identity", p->words, row, column, found);
        return;
    }
    const double room = p->bound * (double)(p->op == 's' ? r->magnitude : fabsl(r->real));
    const double tiny = p->dtype == CJ_F16 ? 0x1p-25 : 0;  // half the distance of subnormals
    if (!(fabs(found - (double)r->real) <= room + tiny))
        fail_msg("%s: row %" PRIu64 ", column %" PRIu64 " is %.9g, not %.9g; %g off, allowed %g", p->words, row, column,
                 found, (double)r->real, fabs(found - (double)r->real), room);
}

// begins: of each element of x whether a segment begins there. In reverse a segment's last element comes first.
static void check_rows(const problem *p, const unsigned char *x, const unsigned char *begins,
                       const unsigned char *out) {
    for (uint64_t row = 0; row < p->rows; row++) {
        running r = {0};
        for (uint64_t i = 0; i < p->columns; i++) {
            const uint64_t column = p->reverse ? p->columns - 1 - i : i;
            if (i && begins[row * p->stride + column + p->reverse]) r = (running){0};
            if (!p->exclusive) take(p, &r, x + (row * p->stride + column) * p->bytes);
            check_element(p, &r, out + (row * p->out_stride + column) * p->bytes, row, column);
            if (p->exclusive) take(p, &r, x + (row * p->stride + column) * p->bytes);
        }
        const uint64_t end = row + 1 < p->rows ? p->out_stride : p->columns;
        for (uint64_t i = p->columns * p->bytes; i < end * p->bytes; i++)
            if (out[row * p->out_stride * p->bytes + i] != POISON)
                fail_msg("%s: row %" PRIu64 " goes on", p->words, row);
    }
}

// ---- one kernel

typedef struct arrays {
    unsigned char *x, *out, *again;
    unsigned char *begins, *given;  // where segments begin, and the flags or offsets that the kernel gets
    size_t         bytes, out_bytes, shift, out_shift, count, given_bytes, given_shift;
    cj_ptr         at, to, heads;
} arrays;

// A segment begins at an element never, always, or with probability 1 / `every`.
static bool draw_begin(uint64_t every, uint64_t *seed) { return every && cj_test_random(seed) % every == 0; }

// One byte for each element, any value but 0; flags between rows are set and must have no effect.
static void make_flags(const problem *p, arrays *a, uint64_t every, uint64_t *seed) {
    for (size_t i = 0; i < a->count; i++) {
        const bool inside = i % p->stride < p->columns;
        a->begins[i] = inside && draw_begin(every, seed);
        a->given[i] = !inside ? 1 : a->begins[i] ? (unsigned char)(1 + cj_test_random(seed) % 255) : 0;
    }
}

static int compare_offsets(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

// Ascending offsets, some of them equal; from 0 to the array's length, or inside it.
static void make_offsets(const problem *p, arrays *a, uint64_t *seed) {
    int64_t *offset = malloc((p->segments + 1) * sizeof *offset);
    assert_non_null(offset);
    for (uint64_t i = 0; i <= p->segments; i++) offset[i] = (int64_t)(cj_test_random(seed) % (p->columns + 1));
    qsort(offset, p->segments + 1, sizeof *offset, compare_offsets);
    if (cj_test_random(seed) & 1) offset[0] = 0, offset[p->segments] = (int64_t)p->columns;
    for (uint64_t i = 0; i <= p->segments; i++) {
        const int32_t narrow = (int32_t)offset[i];
        if (p->heads == OFFSETS_I32) memcpy(a->given + 4 * i, &narrow, 4);
        if (p->heads == OFFSETS_I64) memcpy(a->given + 8 * i, &offset[i], 8);
        if (offset[i] < (int64_t)p->columns) a->begins[offset[i]] = 1;
    }
    free(offset);
}

static void make_heads(cj_device *device, const problem *p, arrays *a, unsigned shift, uint64_t seed) {
    static const uint64_t every[] = {0, 1, 2, 5, 40, 300, 2000};
    const size_t          bytes[] = {0, a->count, 4 * (p->segments + 1), 8 * (p->segments + 1)};
    cj_error              error = {0};
    a->begins = calloc(1, a->count);
    a->given_bytes = bytes[p->heads];
    a->given_shift = p->heads == FLAGS ? shift : 0;
    a->given = malloc(a->given_bytes + 1);
    assert_true(a->begins && a->given);
    if (!p->heads) return;
    if (p->heads == FLAGS)
        make_flags(p, a, every[seed % CJ_TEST_COUNT(every)], &seed);
    else
        make_offsets(p, a, &seed);
    cj_test_ok(cj_mem_alloc(device, a->given_bytes + a->given_shift, &a->heads, &error), &error);
    cj_test_ok(cj_mem_write(device, a->heads + a->given_shift, a->given, a->given_bytes, NULL, &error), &error);
}

static arrays make_arrays(cj_device *device, const problem *p, unsigned shift, uint64_t seed) {
    arrays   a = {.count = (p->rows - 1) * p->stride + p->columns, .shift = shift * p->bytes};
    cj_error error = {0};
    a.bytes = a.count * p->bytes;
    a.out_shift = seed % 3 ? a.shift : 0;  // mostly as x
    make_heads(device, p, &a, shift, seed);
    a.out_bytes = ((p->rows - 1) * p->out_stride + p->columns) * p->bytes;
    a.x = malloc(a.bytes);
    a.out = malloc(a.out_bytes + 2 * GUARD);
    a.again = malloc(a.out_bytes + 2 * GUARD);
    assert_true(a.x && a.out && a.again);
    for (size_t i = 0; i < a.bytes; i += p->bytes) write_random(p, &seed, a.x + i);
    cj_test_ok(cj_mem_alloc(device, a.bytes + a.shift, &a.at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, a.out_bytes + a.shift + 2 * GUARD, &a.to, &error), &error);
    cj_test_ok(cj_mem_write(device, a.at + a.shift, a.x, a.bytes, NULL, &error), &error);
    return a;
}

static void free_arrays(cj_device *device, const arrays *a) {
    cj_mem_free(device, a->at);
    cj_mem_free(device, a->to);
    cj_mem_free(device, a->heads);
    free(a->begins);
    free(a->given);
    free(a->x);
    free(a->out);
    free(a->again);
}

static void launch(cj_device *device, const problem *p, cj_kernel *kernel, const arrays *a, unsigned char *out) {
    cj_error error = {0};
    cj_ptr   from = a->at + a->shift, to = a->to + a->out_shift + GUARD, heads = a->heads + a->given_shift;
    void    *arguments[] = {&from, &to, &heads};
    cj_test_ok(cj_mem_fill(device, a->to, POISON, a->out_bytes + a->shift + 2 * GUARD, NULL, &error), &error);
    if (cj_kernel_launch(kernel, NULL, arguments, p->heads ? 3 : 2, &error))
        fail_msg("%s: %s %s", p->words, error.message, error.hint);
    if (cj_mem_read(device, out, to - GUARD, a->out_bytes + 2 * GUARD, NULL, &error))
        fail_msg("%s: %s %s", p->words, error.message, error.hint);
}

void cj_test_scan(cj_device *device, const char *words, unsigned shift, uint64_t seed) {
    problem    p = read_problem(words);
    arrays     a = make_arrays(device, &p, shift, seed);
    cj_error   error = {0};
    cj_kernel *kernel = NULL;
    if (cj_kernel_create(device, &p.params, &kernel, &error)) fail_msg("%s: %s %s", words, error.message, error.hint);
    p.bound = cj_kernel_plan(kernel)->error_bound;
    launch(device, &p, kernel, &a, a.out);
    check_rows(&p, a.x, a.begins, a.out + GUARD);
    for (size_t i = 0; i < GUARD; i++)
        if (a.out[i] != POISON || a.out[GUARD + a.out_bytes + i] != POISON) fail_msg("%s: wrote outside", words);
    launch(device, &p, kernel, &a, a.again);
    assert_memory_equal(a.again, a.out, a.out_bytes + 2 * GUARD);  // the same bits, and a workspace left ready
    cj_kernel_destroy(kernel);
    free_arrays(device, &a);
}

// ---- drawn from a seed

static const char *const type_words[] = {"f32", "f64", "i32", "u32", "i64", "u64", "f16", "bf16"};
static const char *const op_words[] = {"sum", "min", "max", "product"};

static size_t bytes_of(unsigned type) {
    return type == 6 || type == 7 ? 2 : type == 1 || type == 4 || type == 5 ? 8 : 4;
}

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

// Streams: rows of a multiple of 16 bytes, or one array.
static void random_stream(cj_device *device, uint64_t *seed, uint64_t most) {
    const unsigned type = (unsigned)below(seed, 8), block = 32u << below(seed, 3), loads = 1u << below(seed, 3);
    const uint64_t width = 16 / bytes_of(type), tile = block * loads * width, some = 1 + below(seed, 80);
    const uint64_t wanted = some * tile + (below(seed, 2) ? width * below(seed, tile / width) : 0);
    const uint64_t columns = wanted < most ? wanted : most / width * width, gap = width * below(seed, 3);
    const uint64_t rows = 1 + below(seed, 1 + most / columns), grid = 1 + below(seed, below(seed, 2) ? 6 : 140);
    char           words[320];
    snprintf(words, sizeof words,
             "rows=%" PRIu64 " columns=%" PRIu64 " op=%s dtype=%s exclusive=%s reverse=%s stride=%" PRIu64
             " out-stride=%" PRIu64 " form=stream counter=%s block=%u loads=%u stages=%u grid=%" PRIu64 "%s",
             rows, columns, op_words[below(seed, type < 6 ? 4 : 3)], type_words[type], below(seed, 2) ? "yes" : "no",
             below(seed, 2) ? "yes" : "no", columns + gap, columns + (below(seed, 2) ? gap : 0),
             below(seed, 3) ? "tile" : "row", block, loads, (unsigned)(1 + below(seed, 4)), grid,
             below(seed, 3) ? "" : " heads=flags");
    cj_test_scan(device, words, 0, *seed);
}

void cj_test_scan_random(cj_device *device, uint64_t *seed, uint64_t most) {
    static const unsigned aligns[] = {16, 8, 4, 2};
    if (!below(seed, 4)) {
        random_stream(device, seed, most);
        return;
    }
    const unsigned type = (unsigned)below(seed, 8), align = (unsigned)below(seed, 4), block = 32u << below(seed, 3);
    const uint64_t power = UINT64_C(1) << below(seed, 12), columns = 1 + below(seed, power < most ? power : most);
    const uint64_t heads = below(seed, 6), many = 1 + below(seed, 1 + most / columns);
    const uint64_t rows = heads == 2 || heads == 3 ? 1 : many, gap = below(seed, 2) ? 0 : below(seed, 40);
    const size_t   bytes = bytes_of(type);
    char           words[320], extra[64] = "", cuts[48] = "";
    const unsigned loads = 1 + (unsigned)below(seed, 4);
    if (below(seed, 2)) snprintf(extra, sizeof extra, " block=%u loads=%u", block, loads);
    if (*extra && below(seed, 2) && columns > loads * block * (16 / bytes) && columns <= 8 * loads * block)
        strcat(extra, " cluster=8");  // more than a block can hold, not more than all of them can
    if (heads == 1) snprintf(cuts, sizeof cuts, " heads=flags");
    if (heads == 2 || heads == 3)
        snprintf(cuts, sizeof cuts, " heads=%s segments=%" PRIu64, heads == 2 ? "i32" : "i64",
                 1 + below(seed, 1 + below(seed, 2 * columns)));
    snprintf(words, sizeof words,
             "rows=%" PRIu64 " columns=%" PRIu64 " op=%s dtype=%s exclusive=%s reverse=%s stride=%" PRIu64
             " out-stride=%" PRIu64 " align=%u%s%s",
             rows, columns, op_words[below(seed, 4)], type_words[type], below(seed, 2) ? "yes" : "no",
             below(seed, 2) ? "yes" : "no", columns + gap, columns + (below(seed, 2) ? gap : 0), aligns[align], extra,
             cuts);
    cj_test_scan(device, words, aligns[align] >= 16 ? 0 : (unsigned)((aligns[align] + bytes - 1) / bytes), *seed);
}

// ---- the typed call

void cj_test_scan_call(cj_device *device) {
    enum { ROWS = 3, COLUMNS = 1000, STRIDE = 1024, ALL = ROWS * STRIDE };
    const cj_scan_desc desc = {CJ_INIT(desc),   .rows = ROWS,     .columns = COLUMNS,
                               .dtype = CJ_U32, .stride = STRIDE, .out_stride = STRIDE};
    static uint32_t x[ALL], found[ALL];
    uint64_t        seed = cj_test_seed();
    cj_error        error = {0};
    cj_scan        *scan = NULL;
    cj_ptr          at = 0;
    for (int i = 0; i < ALL; i++) x[i] = (uint32_t)cj_test_random(&seed);
    cj_test_ok(cj_mem_alloc(device, sizeof x + 16, &at, &error), &error);
    cj_test_ok(cj_scan_create(device, &desc, &scan, &error), &error);
    for (int way = 0; way < 2; way++) {  // in place, through a handle and in one call
        cj_test_ok(cj_mem_write(device, at, x, sizeof x, NULL, &error), &error);
        cj_test_ok(way ? cj_scan_launch(device, &desc, at, at, NULL, &error) : cj_scan_run(scan, at, at, NULL, &error),
                   &error);
        cj_test_ok(cj_mem_read(device, found, at, sizeof found, NULL, &error), &error);
        for (int row = 0; row < ROWS; row++)
            for (uint32_t c = 0, sum = 0; c < STRIDE; c++) {
                sum += x[row * STRIDE + (int)c];
                assert_int_equal(found[row * STRIDE + (int)c], c < COLUMNS ? sum : x[row * STRIDE + (int)c]);
            }
    }
    assert_int_equal(cj_scan_run(scan, at + 4, at, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "x: 0x"));
    assert_non_null(strstr(error.message, "16"));
    assert_int_equal(cj_scan_run(scan, at, at + 4, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "out: 0x"));
    assert_int_equal(cj_scan_run(scan, 0, at, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "x: NULL"));
    assert_int_equal(cj_scan_launch(device, &desc, at, 0, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "out: NULL"));
    cj_scan_destroy(scan);
    cj_mem_free(device, at);
    const cj_scan_desc empty = {CJ_INIT(empty), .rows = 1}, wrong = {CJ_INIT(wrong), .columns = 8, .dtype = CJ_U8};
    assert_int_equal(cj_scan_create(device, &empty, &scan, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_scan_create(device, &wrong, &scan, &error), CJ_INVALID_ARGUMENT);
}

// Flags at elements that are divisible, and the same segments as offsets; refuses contradictions.
void cj_test_scan_call_segmented(cj_device *device) {
    enum { COLUMNS = 1500, LENGTH = 7, SEGMENTS = (COLUMNS + LENGTH - 1) / LENGTH };
    static uint32_t x[COLUMNS], found[COLUMNS];
    uint8_t         flags[COLUMNS];
    int64_t         offsets[SEGMENTS + 1];
    cj_scan_desc    desc = {CJ_INIT(desc), .columns = COLUMNS, .dtype = CJ_U32, .heads = CJ_SCAN_FLAGS};
    uint64_t        seed = cj_test_seed();
    cj_error        error = {0};
    cj_scan        *scan = NULL;
    cj_ptr          at = 0, heads = 0;
    for (int i = 0; i < COLUMNS; i++) x[i] = (uint32_t)cj_test_random(&seed), flags[i] = i % LENGTH == 0;
    for (int i = 0; i <= SEGMENTS; i++) offsets[i] = i < SEGMENTS ? i * LENGTH : COLUMNS;
    cj_test_ok(cj_mem_alloc(device, sizeof x, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof offsets, &heads, &error), &error);
    for (int way = 0; way < 2; way++) {
        cj_test_ok(cj_mem_write(device, at, x, sizeof x, NULL, &error), &error);
        if (way) desc.heads = CJ_SCAN_OFFSETS_I64, desc.segments = SEGMENTS;
        cj_test_ok(cj_mem_write(device, heads, way ? (void *)offsets : flags, way ? sizeof offsets : sizeof flags, NULL,
                                &error),
                   &error);
        cj_test_ok(cj_scan_create(device, &desc, &scan, &error), &error);
        cj_test_ok(way ? cj_scan_launch_segmented(device, &desc, at, heads, at, NULL, &error)
                       : cj_scan_run_segmented(scan, at, heads, at, NULL, &error),
                   &error);
        cj_test_ok(cj_mem_read(device, found, at, sizeof found, NULL, &error), &error);
        uint32_t sum = 0;
        for (int i = 0; i < COLUMNS; i++) {
            sum = i % LENGTH ? sum + x[i] : x[i];
            assert_int_equal(found[i], sum);
        }
        assert_int_equal(cj_scan_run(scan, at, at, NULL, &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.hint, "_segmented"));
        assert_int_equal(cj_scan_run_segmented(scan, at, heads + 2, at, NULL, &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, way ? "multiple of 8" : "multiple of 4"));
        assert_int_equal(cj_scan_run_segmented(scan, at, 0, at, NULL, &error), CJ_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "heads: NULL"));
        cj_scan_destroy(scan);
    }
    desc.rows = 2;
    assert_int_equal(cj_scan_create(device, &desc, &scan, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "rows"));
    desc = (cj_scan_desc){CJ_INIT(cj_scan_desc), .columns = COLUMNS, .dtype = CJ_U32};
    assert_int_equal(cj_scan_launch_segmented(device, &desc, at, heads, at, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.hint, "description"));
    cj_mem_free(device, at);
    cj_mem_free(device, heads);
}

// ---- a user's operation

// Affine maps y = p * y + q modulo 2^16, first a then b, as words p << 16 | q; the identity is 1 << 16.
static const char affine[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".func (.param .b32 r) then(.param .b32 a, .param .b32 b)\n{\n"
    "    .reg .b32 %a, %b, %pa, %pb, %qa, %qb;\n"
    "    ld.param.b32 %a, [a];\n    ld.param.b32 %b, [b];\n"
    "    shr.u32 %pa, %a, 16;\n    shr.u32 %pb, %b, 16;\n    and.b32 %qa, %a, 0xffff;\n    and.b32 %qb, %b, 0xffff;\n"
    "    mul.lo.u32 %pa, %pa, %pb;\n    mad.lo.u32 %qa, %qa, %pb, %qb;\n"
    "    shl.b32 %pa, %pa, 16;\n    and.b32 %qa, %qa, 0xffff;\n    or.b32 %a, %pa, %qa;\n"
    "    st.param.b32 [r], %a;\n    ret;\n}\n"
    ".func (.param .b32 r) none()\n{\n    .reg .b32 %one;\n    mov.b32 %one, 65536;\n    st.param.b32 [r], %one;\n    "
    "ret;\n}\n";

static uint32_t then(uint32_t a, uint32_t b) {
    return (a >> 16) * (b >> 16) << 16 | (((a & 0xffff) * (b >> 16) + (b & 0xffff)) & 0xffff);
}

// If there are segments, each has 100 elements in each row.
enum { MAPS = 9000, MAPS_LENGTH = 100 };

typedef struct maps {
    uint32_t x[MAPS];
    uint8_t  flags[MAPS];
    cj_ptr   at, heads;
} maps;

static void make_maps(cj_device *device, uint64_t columns, maps *m) {
    cj_error error = {0};
    uint64_t seed = 11;
    for (uint64_t i = 0; i < MAPS; i++) {
        m->x[i] = (uint32_t)cj_test_random(&seed) | 1u << 16;
        m->flags[i] = i % columns % MAPS_LENGTH == 0;
    }
    cj_test_ok(cj_mem_alloc(device, sizeof m->x, &m->at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof m->flags, &m->heads, &error), &error);
    cj_test_ok(cj_mem_write(device, m->heads, m->flags, sizeof m->flags, NULL, &error), &error);
    cj_test_ok(cj_mem_write(device, m->at, m->x, sizeof m->x, NULL, &error), &error);
}

static void check_maps(cj_device *device, uint64_t rows, uint64_t columns, bool segmented, const maps *m) {
    static uint32_t found[MAPS];
    cj_error        error = {0};
    cj_test_ok(cj_mem_read(device, found, m->at, sizeof found, NULL, &error), &error);
    for (uint64_t row = 0; row < rows; row++) {
        uint32_t all = 1u << 16;
        for (uint64_t c = 0; c < columns; c++) {
            if (segmented && c % MAPS_LENGTH == 0) all = 1u << 16;
            all = then(all, m->x[row * columns + c]);
            assert_int_equal(found[row * columns + c], all);
        }
    }
    cj_mem_free(device, m->at);
    cj_mem_free(device, m->heads);
}

static void scan_maps(cj_device *device, const cj_scan_desc *desc) {
    static maps m;
    cj_error    error = {0};
    cj_scan    *scan = NULL;
    make_maps(device, desc->columns, &m);
    cj_test_ok(cj_scan_create(device, desc, &scan, &error), &error);
    cj_test_ok(desc->heads ? cj_scan_run_segmented(scan, m.at, m.heads, m.at, NULL, &error)
                           : cj_scan_run(scan, m.at, m.at, NULL, &error),
               &error);
    check_maps(device, desc->rows, desc->columns, desc->heads, &m);
    cj_scan_destroy(scan);
}

// As a stream, which the plan chooses for much larger arrays.
static void stream_maps(cj_device *device, const char *words, const cj_user_function *op,
                        const cj_user_function *identity) {
    static maps m;
    cj_params   params;
    cj_error    error = {0};
    cj_kernel  *kernel = NULL;
    char        heads[16];
    cj_test_ok(cj_test_params("scan", words, &params, &error), &error);
    cj_test_ok(cj_params_set_function(&params, "op-expr", op, &error), &error);
    cj_test_ok(cj_params_set_function(&params, "identity", identity, &error), &error);
    make_maps(device, cj_params_get(&params, "columns"), &m);
    const bool segmented = !strcmp(cj_params_word(&params, "heads", heads, sizeof heads), "flags");
    void      *arguments[] = {&m.at, &m.at, &m.heads};
    cj_test_ok(cj_kernel_create(device, &params, &kernel, &error), &error);
    cj_test_ok(cj_kernel_launch(kernel, NULL, arguments, segmented ? 3 : 2, &error), &error);
    check_maps(device, cj_params_get(&params, "rows"), cj_params_get(&params, "columns"), segmented, &m);
    cj_kernel_destroy(kernel);
}

void cj_test_scan_user(cj_device *device) {
    const cj_signature two = {.result = CJ_U32, .count = 2, .argument = {CJ_U32, CJ_U32}}, nothing = {.result = CJ_U32};
    cj_user_function  *op = NULL, *identity = NULL;
    cj_error           error = {0};
    cj_test_ok(cj_function_from_ptx(affine, sizeof affine - 1, "then", &two, &op, &error), &error);
    cj_test_ok(cj_function_from_ptx(affine, sizeof affine - 1, "none", &nothing, &identity, &error), &error);
    static const cj_scan_desc shapes[] = {
        {CJ_INIT(cj_scan_desc), .rows = 1, .columns = 9000, .block = 32},
        {CJ_INIT(cj_scan_desc), .rows = 9, .columns = 1000},
        {CJ_INIT(cj_scan_desc), .rows = 300, .columns = 30},
        {CJ_INIT(cj_scan_desc), .rows = 3, .columns = 3000, .block = 128, .cluster = 8},
        {CJ_INIT(cj_scan_desc), .rows = 2, .columns = 4500, .block = 64, .heads = CJ_SCAN_FLAGS},
        {CJ_INIT(cj_scan_desc), .rows = 300, .columns = 30, .heads = CJ_SCAN_FLAGS}};
    for (size_t i = 0; i < CJ_TEST_COUNT(shapes); i++) {
        cj_scan_desc desc = shapes[i];
        desc.dtype = CJ_U32;
        desc.op_function = op;
        desc.identity = identity;
        scan_maps(device, &desc);
    }
    static const char *const streams[] = {
        "columns=9000 dtype=u32 form=stream block=32 loads=2 stages=3 grid=4",
        "rows=2 columns=4500 dtype=u32 form=stream counter=row block=64 loads=1 stages=2 grid=3",
        "rows=2 columns=4500 dtype=u32 form=stream block=64 loads=2 stages=2 grid=50 heads=flags"};
    for (size_t i = 0; i < CJ_TEST_COUNT(streams); i++) stream_maps(device, streams[i], op, identity);
    cj_user_function_destroy(op);
    cj_user_function_destroy(identity);
}
