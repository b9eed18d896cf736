// SPDX-License-Identifier: Apache-2.0
#include "argmax_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element_order.h"
#include "emit.h"
#include "test.h"

enum { POISON = 0xa5, GUARD = 32 };  // GUARD: bytes after the results

typedef struct problem {
    const char *words;
    cj_params   params;
    cj_dtype    dtype;
    size_t      bytes;  // of an element
    uint64_t    rows, columns, stride;
} problem;

static problem read_problem(const char *words) {
    static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};
    problem               p = {.words = words};
    cj_error              error = {0};
    char                  word[16];
    cj_test_ok(cj_test_params("argmax", words, &p.params, &error), &error);
    const char *type = cj_params_word(&p.params, "dtype", word, sizeof word);
    for (size_t i = 0; i < CJ_TEST_COUNT(dtypes); i++)
        if (!strcmp(type, cj_dtype_name(dtypes[i]))) p.dtype = dtypes[i];
    p.bytes = cj_dtype_size(p.dtype);
    p.rows = cj_params_get(&p.params, "rows");
    p.columns = cj_params_get(&p.params, "columns");
    p.stride = cj_params_get(&p.params, "stride");
    if (!p.stride) p.stride = p.columns;
    return p;
}

// ---- elements, as their bits

static uint32_t least_bits(const problem *p) {
    return p->dtype == CJ_U32    ? 0
           : p->dtype == CJ_I32  ? 0x80000000
           : p->dtype == CJ_F32  ? 0xff800000
           : p->dtype == CJ_BF16 ? 0xff80
                                 : 0xfc00;
}

// Both zeros, infinities, several NaN and the least numbers, of any of the types in its upper bits.
static uint32_t wild_bits(uint64_t draw) {
    static const uint32_t bits[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc10001, 0xffc00000, 1, 0x80010001, 0x7c000000,
                                    0xfc000000};
    return bits[draw % CJ_TEST_COUNT(bits)];
}

static uint32_t make_bits(const problem *p, cj_argmax_fill fill, uint64_t i, uint64_t *seed) {
    const uint64_t draw = cj_test_random(seed);
    const uint32_t rising = (uint32_t)(0x20000000 + i * (0x40000000 / p->columns));
    uint32_t       bits = (uint32_t)draw;
    switch (fill) {
    case CJ_ARGMAX_FEW: bits = 0x3f000000 + ((uint32_t)(draw >> 40) % 5) * 0x00100000; break;
    case CJ_ARGMAX_EQUAL: bits = 0xbfc00000; break;
    case CJ_ARGMAX_LEAST: return least_bits(p);
    case CJ_ARGMAX_RISING: bits = rising; break;
    case CJ_ARGMAX_FALLING: bits = 0x60000000 - (rising - 0x20000000); break;
    case CJ_ARGMAX_WILD: bits = draw >> 33 & 1 ? wild_bits(draw >> 40) : bits; break;
    default:
        if ((bits & 0x7c000000) == 0x7c000000) bits ^= 0x10000000;  // no NaN
        break;
    }
    return p->bytes == 4 ? bits : bits >> 16;
}

static int64_t rank_at(const problem *p, const unsigned char *at) {
    return cj_test_rank(p->dtype, cj_test_bits(at, p->bytes));
}

// The first of the largest.
static uint32_t expected(const problem *p, const unsigned char *x) {
    uint32_t best = 0;
    int64_t  most = rank_at(p, x);
    for (uint32_t i = 1; i < p->columns; i++) {
        const int64_t rank = rank_at(p, x + i * p->bytes);
        if (rank > most) best = i, most = rank;
    }
    return best;
}

// ---- one kernel

// For `arch`, or the device's target if that is NULL.
static cj_kernel *make_kernel(cj_device *device, const problem *p, const char *arch) {
    const cj_limits *limits;
    cj_plan          plan;
    cj_error         error = {0};
    cj_kernel       *kernel = NULL;
    if (!arch) {
        if (cj_kernel_create(device, &p->params, &kernel, &error)) fail_msg("%s: %s %s", p->words, error.message, error.hint);
        return kernel;
    }
    cj_test_ok(cj_limits_builtin(arch, &limits, &error), &error);
    cj_test_ok(cj_plan_make(&p->params, limits, arch, &plan, &error), &error);
    cj_test_ok(cj_kernel_load(device, &plan, &kernel, &error), &error);
    return kernel;
}

static void launch(cj_device *device, const problem *p, const char *arch, cj_ptr x, cj_ptr out) {
    cj_error   error = {0};
    cj_kernel *kernel = make_kernel(device, p, arch);
    void      *arguments[] = {&x, &out};
    for (int time = 0; time < 2; time++)
        if (cj_kernel_launch(kernel, NULL, arguments, 2, &error))
            fail_msg("%s: %s %s", p->words, error.message, error.hint);
    cj_kernel_destroy(kernel);
}

static void check(const problem *p, cj_argmax_fill fill, const unsigned char *x, const unsigned char *out) {
    const size_t out_bytes = p->rows * sizeof(uint32_t);
    for (uint64_t row = 0; row < p->rows; row++) {
        const uint32_t right = expected(p, x + row * p->stride * p->bytes);
        uint32_t       found;
        memcpy(&found, out + row * sizeof found, sizeof found);
        if (found != right)
            fail_msg("%s fill %d: row %" PRIu64 ": found %" PRIu32 ", expected %" PRIu32, p->words, (int)fill, row, found,
                     right);
    }
    for (unsigned i = 0; i < GUARD; i++)
        if (out[out_bytes + i] != POISON) fail_msg("%s: wrote after its results", p->words);
}

void cj_test_argmax_for(cj_device *device, const char *arch, const char *words, cj_argmax_fill fill, unsigned shift, uint64_t seed) {
    const problem  p = read_problem(words);
    cj_error       error = {0};
    cj_ptr         at = 0, to = 0;
    const size_t   bytes = ((p.rows - 1) * p.stride + p.columns) * p.bytes, out_bytes = p.rows * sizeof(uint32_t) + GUARD;
    const size_t   skip = shift * p.bytes;
    unsigned char *x = malloc(bytes), *out = malloc(out_bytes);
    assert_true(x && out);
    for (uint64_t i = 0; i < bytes / p.bytes; i++) {
        const uint32_t bits = make_bits(&p, fill, i % p.stride, &seed);
        memcpy(x + i * p.bytes, &bits, p.bytes);
    }
    cj_test_ok(cj_mem_alloc(device, skip + bytes, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, out_bytes, &to, &error), &error);
    cj_test_ok(cj_mem_write(device, at + skip, x, bytes, NULL, &error), &error);
    cj_test_ok(cj_mem_fill(device, to, POISON, out_bytes, NULL, &error), &error);
    launch(device, &p, arch, at + skip, to);
    if (cj_mem_read(device, out, to, out_bytes, NULL, &error)) fail_msg("%s: %s %s", words, error.message, error.hint);
    check(&p, fill, x, out);
    cj_mem_free(device, at);
    cj_mem_free(device, to);
    free(x);
    free(out);
}

void cj_test_argmax(cj_device *device, const char *words, cj_argmax_fill fill, unsigned shift, uint64_t seed) {
    cj_test_argmax_for(device, NULL, words, fill, shift, seed);
}

// Aligned rows have no head and no tail: sizes around a vector, a round and two of them.
void cj_test_argmax_aligned(cj_device *device, uint64_t seed) {
    static const unsigned    columns[] = {8, 16, 64, 72, 80, 128, 136, 1016, 1024, 1032, 4096, 4104};
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "u32"};
    static const char *const shapes[] = {"cluster=0 block=32", "cluster=2 block=32", "lanes=8 block=32", "lanes=32 block=64",
                                         "parts=3 cluster=0 block=32", "parts=2 cluster=2 block=32"};
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t s = 0; s < CJ_TEST_COUNT(shapes); s++) {
            char words[160];
            snprintf(words, sizeof words, "rows=3 columns=%u stride=%u dtype=%s %s", columns[c], columns[c] + 8 * (unsigned)(s % 2),
                     types[(c + s + seed) % CJ_TEST_COUNT(types)], shapes[s]);
            cj_test_argmax(device, words, (cj_argmax_fill)((c + s) % CJ_ARGMAX_FILLS), 0, seed + c);
        }
}

void cj_test_argmax_boundaries(cj_device *device, uint64_t seed) {
    static const unsigned    columns[] = {1,   2,   3,   4,   5,    7,    31,   32,   33,   127,  128,  129,  130,  511,
                                          512, 513, 516, 640, 1020, 1023, 1024, 1025, 1026, 1028, 2048, 2052, 4095, 4099};
    static const char *const types[] = {"f32", "bf16", "i32", "f16", "u32"};
    static const char *const shapes[] = {
        "cluster=0 block=32",         "cluster=2 block=32",         "cluster=0 block=64",         "cluster=3 block=96",
        "cluster=1 block=32",         "lanes=8 block=32",           "lanes=16 block=64",          "lanes=32 block=96",
        "parts=2 cluster=0 block=64", "parts=3 cluster=2 block=32", "parts=40 block=32 cluster=0"};
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t s = 0; s < CJ_TEST_COUNT(shapes); s++) {
            const size_t   turn = c + s + seed;
            const unsigned type = (unsigned)(turn % CJ_TEST_COUNT(types)), half = type == 1 || type == 3;
            const bool     lanes = half && !strncmp(shapes[s], "lanes=8 ", 8);  // too few for head and tail of vectors of 8
            char           words[160];
            snprintf(words, sizeof words, "rows=%u columns=%u stride=%u dtype=%s align=%u %s", s > 4 ? 5 : 2, columns[c],
                     columns[c] + (unsigned)((c + s) % 5), types[type], half ? 2 : 4, lanes ? "lanes=16 block=32" : shapes[s]);
            cj_test_argmax(device, words, (cj_argmax_fill)((c + s) % CJ_ARGMAX_FILLS), (unsigned)(turn % 8), seed + c);
        }
}

void cj_test_argmax_chosen(cj_device *device, uint64_t seed) {
    static const char *const shapes[] = {"rows=2 columns=2^20+3",             // parts
                                         "rows=3 columns=61835",              // a cluster a row
                                         "rows=300 columns=2300",             // a block a row
                                         "rows=9000 columns=157 stride=167",  // 8 lanes a row, or a warp
                                         "rows=33 columns=1",
                                         "rows=300 columns=2 stride=10",  // a lane, and then more of them, load elements
                                         "rows=300 columns=5",
                                         "rows=300 columns=14 stride=15",
                                         "rows=70 columns=31",
                                         "rows=70 columns=63",
                                         "rows=130 columns=33 stride=34"};
    static const char *const types[] = {"f32", "f16 align=8", "bf16 align=2", "i32", "u32 align=4"};
    static const unsigned    shifts[] = {0, 4, 3, 0, 3};  // elements that x begins after a multiple of 16 bytes
    for (size_t s = 0; s < CJ_TEST_COUNT(shapes); s++)
        for (unsigned turn = 0; turn < 3; turn++) {
            const size_t type = (s + turn + seed) % CJ_TEST_COUNT(types);
            char         words[160];
            snprintf(words, sizeof words, "%s dtype=%s", shapes[s], types[type]);
            cj_test_argmax(device, words, (cj_argmax_fill)((s + turn * 3) % CJ_ARGMAX_FILLS), shifts[type], seed + s);
        }
}

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

void cj_test_argmax_random(cj_device *device, uint64_t *seed, uint64_t most) {
    // compute-sanitizer (CUDA 13.0) reports st.async in a cluster of one block as an invalid write.
    static const unsigned any[] = {0, 0, 1, 2, 3, 8, 16}, not_one[] = {0, 0, 2, 2, 3, 8, 16};
    const unsigned *const clusters = cj_test_few() ? not_one : any;
    const uint64_t power = UINT64_C(1) << below(seed, 16), columns = 1 + below(seed, power < most ? power : most);
    char           words[160], block[8] = "auto", form[32];
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "u32"};
    static const unsigned    aligns[] = {16, 8, 4, 2};
    const unsigned type = (unsigned)below(seed, 5), align = aligns[below(seed, 4)], bytes = type == 1 || type == 2 ? 2 : 4;
    if (below(seed, 2)) snprintf(block, sizeof block, "%u", (unsigned)(32 * (1 + below(seed, 8))));
    if (below(seed, 4))
        snprintf(form, sizeof form, "cluster=%u parts=%u", clusters[below(seed, CJ_TEST_COUNT(any))],
                 (unsigned)(1 + below(seed, 2) * below(seed, 5)));
    else
        snprintf(form, sizeof form, "lanes=%u", columns <= 8 ? 1u << below(seed, 6) : (bytes == 4 ? 8u : 16u) << below(seed, bytes == 4 ? 3 : 2));
    snprintf(words, sizeof words, "rows=%u columns=%" PRIu64 " stride=%" PRIu64 " dtype=%s align=%u block=%s %s",
             (unsigned)(1 + below(seed, 4)), columns, columns + below(seed, 2) * below(seed, 20), types[type], align, block, form);
    cj_test_argmax(device, words, (cj_argmax_fill)below(seed, CJ_ARGMAX_FILLS), align < 16 ? (align + bytes - 1) / bytes : 0, *seed);
}

// ---- the typed call

static void check_refusals(cj_device *device, cj_argmax *argmax, cj_ptr x, cj_ptr out) {
    const struct {
        cj_ptr      x, out;
        const char *says;
    } refused[] = {{x + 4, out, "x: 0x"}, {0, out, "x: NULL"}, {x, out + 2, "out: 0x"}, {x, 0, "out: NULL"}};
    cj_error error = {0};
    for (size_t i = 0; i < CJ_TEST_COUNT(refused); i++) {
        assert_int_equal(cj_argmax_run(argmax, refused[i].x, refused[i].out, NULL, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, refused[i].says)) fail_msg("%s: %s", refused[i].says, error.message);
    }
    const cj_argmax_desc none = {CJ_INIT(none), .rows = 8};
    cj_argmax           *made = NULL;
    assert_int_equal(cj_argmax_create(device, &none, &made, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "columns: 0"));
}

void cj_test_argmax_call(cj_device *device) {
    enum { ROWS = 3, COLUMNS = 300, LARGEST = 77 };
    const cj_argmax_desc desc = {CJ_INIT(desc), .rows = ROWS, .columns = COLUMNS};
    float                x[ROWS][COLUMNS] = {{0}};
    uint32_t             found[ROWS];
    cj_argmax           *argmax = NULL;
    cj_error             error = {0};
    cj_ptr               at = 0, to = 0;
    for (int row = 0; row < ROWS; row++) x[row][LARGEST + row] = x[row][LARGEST + 10] = 1.5f;
    cj_test_ok(cj_mem_alloc(device, sizeof x + 16, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof found, &to, &error), &error);
    cj_test_ok(cj_mem_write(device, at, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_argmax_create(device, &desc, &argmax, &error), &error);
    for (int way = 0; way < 2; way++) {
        cj_test_ok(cj_mem_fill(device, to, POISON, sizeof found, NULL, &error), &error);
        cj_test_ok(way ? cj_argmax_launch(device, &desc, at, to, NULL, &error)
                       : cj_argmax_run(argmax, at, to, NULL, &error),
                   &error);
        cj_test_ok(cj_mem_read(device, found, to, sizeof found, NULL, &error), &error);
        for (uint32_t row = 0; row < ROWS; row++) assert_int_equal(found[row], LARGEST + row);
    }
    check_refusals(device, argmax, at, to);
    cj_argmax_destroy(argmax);
    cj_mem_free(device, at);
    cj_mem_free(device, to);
}
