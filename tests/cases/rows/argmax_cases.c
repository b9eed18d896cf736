// SPDX-License-Identifier: Apache-2.0
#include "argmax_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "test.h"

enum { POISON = 0xa5, GUARD = 32 };  // GUARD: bytes after the results

static float make(cj_argmax_fill fill, uint64_t i, uint64_t *seed) {
    static const uint32_t wild[] = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc00000, 1, 0x80000001};
    const uint64_t        draw = cj_test_random(seed);
    const uint32_t        bits = wild[(draw >> 40) % CJ_TEST_COUNT(wild)];
    float                 x = (float)(int32_t)draw;
    switch (fill) {
    case CJ_ARGMAX_FEW: x = (float)((draw >> 40) % 5) - 2; break;
    case CJ_ARGMAX_EQUAL: x = -1.5f; break;
    case CJ_ARGMAX_RISING: x = (float)i; break;
    case CJ_ARGMAX_FALLING: x = -(float)i; break;
    case CJ_ARGMAX_WILD:
        if (draw >> 33 & 1) memcpy(&x, &bits, sizeof x);
        break;
    default: break;
    }
    return x;
}

// The first of the largest; NaN is greater than any number.
static uint32_t expected(const float *x, uint64_t columns) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < columns; i++)
        if (!isnan(x[best]) && (isnan(x[i]) || x[i] > x[best])) best = i;
    return best;
}

static void launch(cj_device *device, const char *words, const cj_params *params, cj_ptr x, cj_ptr out) {
    cj_error   error = {0};
    cj_kernel *kernel = NULL;
    void      *arguments[] = {&x, &out};
    if (cj_kernel_create(device, params, &kernel, &error)) fail_msg("%s: %s %s", words, error.message, error.hint);
    for (int time = 0; time < 2; time++)
        if (cj_kernel_launch(kernel, NULL, arguments, 2, &error))
            fail_msg("%s: %s %s", words, error.message, error.hint);
    cj_kernel_destroy(kernel);
}

void cj_test_argmax(cj_device *device, const char *words, cj_argmax_fill fill, uint64_t seed) {
    cj_params params;
    cj_error  error = {0};
    cj_ptr    at = 0, to = 0;
    cj_test_ok(cj_test_params("argmax", words, &params, &error), &error);
    const uint64_t rows = cj_params_get(&params, "rows"), columns = cj_params_get(&params, "columns"),
                   given = cj_params_get(&params, "stride"), stride = given ? given : columns;
    const size_t   bytes = ((rows - 1) * stride + columns) * sizeof(float), out_bytes = rows * sizeof(uint32_t);
    float         *x = malloc(bytes);
    unsigned char *out = malloc(out_bytes + GUARD);
    assert_true(x && out);
    for (uint64_t i = 0; i < bytes / sizeof *x; i++) x[i] = make(fill, i % stride, &seed);
    cj_test_ok(cj_mem_alloc(device, bytes, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(device, out_bytes + GUARD, &to, &error), &error);
    cj_test_ok(cj_mem_write(device, at, x, bytes, NULL, &error), &error);
    cj_test_ok(cj_mem_fill(device, to, POISON, out_bytes + GUARD, NULL, &error), &error);
    launch(device, words, &params, at, to);
    if (cj_mem_read(device, out, to, out_bytes + GUARD, NULL, &error))
        fail_msg("%s: %s %s", words, error.message, error.hint);
    for (uint64_t row = 0; row < rows; row++) {
        const uint32_t right = expected(x + row * stride, columns);
        uint32_t       found;
        memcpy(&found, out + row * sizeof found, sizeof found);
        if (found != right)
            fail_msg("%s fill %d: row %" PRIu64 ": found %" PRIu32 ", expected %" PRIu32, words, fill, row, found,
                     right);
    }
    for (unsigned i = 0; i < GUARD; i++)
        if (out[out_bytes + i] != POISON) fail_msg("%s: wrote after its results", words);
    cj_mem_free(device, at);
    cj_mem_free(device, to);
    free(x);
    free(out);
}

void cj_test_argmax_boundaries(cj_device *device, uint64_t seed) {
    static const unsigned    columns[] = {1,   2,   3,   4,   5,    7,    31,   32,   33,   127,  128,  129,  130,  511,
                                          512, 513, 516, 640, 1020, 1023, 1024, 1025, 1026, 1028, 2048, 2052, 4095, 4099};
    static const char *const shapes[] = {
        "cluster=0 block=32",         "cluster=2 block=32",         "cluster=0 block=64",         "cluster=3 block=96",
        "cluster=1 block=32",         "lanes=8 block=32",           "lanes=16 block=64",          "lanes=32 block=96",
        "parts=2 cluster=0 block=64", "parts=3 cluster=2 block=32", "parts=40 block=32 cluster=0"};
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t s = 0; s < CJ_TEST_COUNT(shapes); s++) {
            char words[160];
            snprintf(words, sizeof words, "rows=%u columns=%u stride=%u %s", s > 4 ? 5 : 2, columns[c],
                     columns[c] + (unsigned)((c + s) % 5), shapes[s]);
            cj_test_argmax(device, words, (cj_argmax_fill)((c + s) % CJ_ARGMAX_FILLS), seed + c);
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
    for (size_t s = 0; s < CJ_TEST_COUNT(shapes); s++)
        for (int fill = 0; fill < 2; fill++)
            cj_test_argmax(device, shapes[s], (cj_argmax_fill)((s + (unsigned)fill * 3) % CJ_ARGMAX_FILLS), seed + s);
}

static uint64_t below(uint64_t *seed, uint64_t end) { return cj_test_random(seed) % end; }

void cj_test_argmax_random(cj_device *device, uint64_t *seed, uint64_t most) {
    // compute-sanitizer (CUDA 13.0) reports st.async in a cluster of one block as an invalid write.
    static const unsigned any[] = {0, 0, 1, 2, 3, 8, 16}, not_one[] = {0, 0, 2, 2, 3, 8, 16};
    const unsigned *const clusters = cj_test_few() ? not_one : any;
    const uint64_t power = UINT64_C(1) << below(seed, 16), columns = 1 + below(seed, power < most ? power : most);
    char           words[160], block[8] = "auto", form[32];
    if (below(seed, 2)) snprintf(block, sizeof block, "%u", (unsigned)(32 * (1 + below(seed, 8))));
    if (below(seed, 4))
        snprintf(form, sizeof form, "cluster=%u parts=%u", clusters[below(seed, CJ_TEST_COUNT(any))],
                 (unsigned)(1 + below(seed, 2) * below(seed, 5)));
    else
        snprintf(form, sizeof form, "lanes=%u", columns <= 8 ? 1u << below(seed, 6) : 8u << below(seed, 3));
    snprintf(words, sizeof words, "rows=%u columns=%" PRIu64 " stride=%" PRIu64 " block=%s %s",
             (unsigned)(1 + below(seed, 4)), columns, columns + below(seed, 2) * below(seed, 20), block, form);
    cj_test_argmax(device, words, (cj_argmax_fill)below(seed, CJ_ARGMAX_FILLS), *seed);
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
