// SPDX-License-Identifier: Apache-2.0
// Softmax and its like on the CPU device, watched for hazards.
#include "row_cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static const char *const families[] = {"softmax",   "logsoftmax",   "rmsnorm",
                                       "layernorm", "crossentropy", "crossentropy gradient=yes smoothing=0.1"};

static void rows_of_every_length_are_right(void **state) {
    (void)state;
    static const unsigned    columns[] = {1, 2, 3, 7, 31, 32, 33, 64, 127, 128, 129, 512, 1000, 1024, 4096, 5003};
    static const char *const types[] = {"f32", "f16", "bf16"};
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t f = 0; f < CJ_TEST_COUNT(families); f++) {
            char words[128];
            snprintf(words, sizeof words, "%s rows=%zu columns=%u dtype=%s", families[f], 1 + (c + f) % 5, columns[c],
                     types[(c + f) % 3]);
            cj_test_row(cj_test_device, words, 0, c);
        }
}

// Every form and way that a row is cut: the block, the cluster, twice from memory, the stream and its pieces.
static void every_form_is_right(void **state) {
    (void)state;
    static const char *const forms[] = {
        "rows=3 columns=1000 form=direct cluster=0 warps=2 vectors=8",
        "rows=3 columns=1000 form=direct cluster=1 warps=4",
        "rows=3 columns=1000 form=direct cluster=2 warps=2",
        "rows=2 columns=1003 form=direct cluster=4 warps=3",
        "rows=2 columns=3000 form=direct cluster=2 warps=1 vectors=2",
        "rows=2 columns=3000 form=direct cluster=0 warps=2 vectors=2",
        "rows=2 columns=16 form=direct cluster=8 warps=1",
        "rows=7 columns=1024 form=stream cluster=1 warps=2 grid=2 stages=1",
        "rows=9 columns=1024 form=stream cluster=2 warps=2 grid=4 stages=2",
        "rows=9 columns=1000 form=stream cluster=2 warps=1 grid=4 stages=3",
        "rows=9 columns=1000 form=stream cluster=4 warps=2 grid=8 stages=2 pieces=2",
        "rows=5 columns=2040 form=stream cluster=2 warps=1 grid=4 stages=2 pieces=3",
        "rows=5 columns=2040 form=stream cluster=1 warps=2 grid=3 stages=3 pieces=3",
        "rows=3 columns=24 form=stream cluster=8 warps=1 grid=16 stages=2",
    };
    static const char *const types[] = {"dtype=f32", "dtype=bf16", "dtype=bf16 out=f32", "dtype=f32 out=f16"};
    for (size_t i = 0; i < CJ_TEST_COUNT(forms); i++)
        for (size_t f = 0; f < CJ_TEST_COUNT(families); f++) {
            char words[192];
            snprintf(words, sizeof words, "%s %s %s", families[f], forms[i], types[(i + f) % CJ_TEST_COUNT(types)]);
            cj_test_row(cj_test_device, words, 0, i);
        }
}

static void any_shape_type_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (int i = 0; i < 60; i++)
        cj_test_row_random(cj_test_device, families[(size_t)i % (CJ_TEST_COUNT(families) - 1)], &seed, 6000);
}

// ---- numbers that are none, or far from 0

static void softmax_row(const cj_softmax_desc *desc, const float *x, float *y, size_t count) {
    cj_softmax_arrays arrays = {0};
    cj_error          error = {0};
    cj_test_ok(cj_mem_alloc(cj_test_device, count * sizeof *x, &arrays.x, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, count * sizeof *y, &arrays.y, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, arrays.x, x, count * sizeof *x, NULL, &error), &error);
    cj_test_ok(cj_softmax_launch(cj_test_device, desc, &arrays, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, y, arrays.y, count * sizeof *y, NULL, &error), &error);
    cj_mem_free(cj_test_device, arrays.x);
    cj_mem_free(cj_test_device, arrays.y);
}

static void nan_and_infinities_make_the_row_nan_and_minus_infinity_a_zero(void **state) {
    (void)state;
    enum { ROWS = 4, COLUMNS = 5 };
    static const float x[ROWS][COLUMNS] = {{1, NAN, 2, 3, 4},
                                           {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
                                           {0, INFINITY, 0, 0, 0},
                                           {-INFINITY, 3, -INFINITY, 3, -INFINITY}};
    static const float want[ROWS][COLUMNS] = {
        {NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN, NAN}, {0, 0.5f, 0, 0.5f, 0}};
    float y[ROWS][COLUMNS];
    softmax_row(&(cj_softmax_desc){.shape = {.rows = ROWS, .columns = COLUMNS}}, x[0], y[0], (size_t)ROWS * COLUMNS);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            if (isnan(want[r][c]) ? !isnan(y[r][c]) : y[r][c] != want[r][c])
                fail_msg("y[%d][%d] is %g", r, c, (double)y[r][c]);
}

// Of elements around 10^4 with a deviation of 1 the deviation is still right: squares are taken from the mean.
static void layernorm_far_from_zero_loses_nothing(void **state) {
    (void)state;
    enum { COLUMNS = 4096 };
    static float   x[COLUMNS], y[COLUMNS];
    cj_norm_desc   desc = {.shape = {.rows = 1, .columns = COLUMNS}, .kind = CJ_NORM_LAYER};
    cj_norm_arrays arrays = {0};
    cj_error       error = {0};
    for (int c = 0; c < COLUMNS; c++) x[c] = c % 2 ? 10001 : 9999;
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &arrays.x, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof y, &arrays.y, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, arrays.x, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_norm_launch(cj_test_device, &desc, &arrays, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, y, arrays.y, sizeof y, NULL, &error), &error);
    for (int c = 0; c < COLUMNS; c++)
        if (fabsf(y[c] - (c % 2 ? 1 : -1)) > 1e-3f) fail_msg("y[%d] is %g", c, (double)y[c]);
    cj_mem_free(cj_test_device, arrays.x);
    cj_mem_free(cj_test_device, arrays.y);
}

// ---- what is refused, and what a call says

static void refused(const char *words, const char *says) {
    cj_params        params;
    cj_plan          plan;
    const cj_limits *limits;
    cj_error         error = {0};
    char             family[24];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(words, " "), words);
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    cj_test_ok(cj_test_params(family, words + strlen(family) + 1, &params, &error), &error);
    assert_int_equal(cj_plan_make(&params, limits, NULL, &plan, &error), CJ_INVALID_ARGUMENT);
    if (!strstr(error.message, says)) fail_msg("%s: '%s' does not say '%s'", words, error.message, says);
}

static void impossible_rows_are_refused_by_name(void **state) {
    (void)state;
    refused("softmax columns=100 stride=99", "stride: 99");
    refused("softmax columns=100 out-stride=99", "out-stride: 99");
    refused("softmax columns=100 align=2", "align: 2");
    refused("softmax columns=101 form=stream", "form=stream does not fit");
    refused("softmax columns=100000 form=direct warps=1 pieces=1", "vectors");
    refused("softmax columns=65536 rows=4096 cluster=4 grid=6", "grid: 6");
    refused("crossentropy smoothing=1.5", "smoothing: 1.5");
    refused("crossentropy ignore=0.5", "ignore: 0.5");
}

static void missing_and_misaligned_arrays_are_refused_by_name(void **state) {
    (void)state;
    const cj_softmax_desc   desc = {.shape = {.rows = 2, .columns = 8}};
    const cj_softmax_arrays missing = {.x = 256}, crooked = {.x = 256, .y = 260};
    cj_softmax             *softmax = NULL;
    cj_error                error = {0};
    cj_test_ok(cj_softmax_create(cj_test_device, &desc, &softmax, &error), &error);
    assert_int_equal(cj_softmax_run(softmax, &missing, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "y: "));
    assert_int_equal(cj_softmax_run(softmax, &crooked, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "16 bytes"));
    cj_softmax_destroy(softmax);
}

static void calls_do_what_their_descriptions_say(void **state) {
    (void)state;
    cj_test_row_calls(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_length_are_right),
        cmocka_unit_test(every_form_is_right),
        cmocka_unit_test(any_shape_type_stride_and_alignment_is_right),
        cmocka_unit_test(nan_and_infinities_make_the_row_nan_and_minus_infinity_a_zero),
        cmocka_unit_test(layernorm_far_from_zero_loses_nothing),
        cmocka_unit_test(impossible_rows_are_refused_by_name),
        cmocka_unit_test(missing_and_misaligned_arrays_are_refused_by_name),
        cmocka_unit_test(calls_do_what_their_descriptions_say),
    };
    return cmocka_run_group_tests(tests, cj_test_open_watched, cj_test_close);
}
