// SPDX-License-Identifier: Apache-2.0
// Softmax and its like on the CPU device, watched for hazards.
#include "row_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static const char *const families[] = {"softmax",   "logsoftmax",   "rmsnorm",
                                       "layernorm", "crossentropy", "crossentropy gradient=yes smoothing=0.1"};

// With sums over rows.
static const char *const gradients[] = {
    "rmsnorm pass=backward weight-gradient=yes", "layernorm pass=backward weight-gradient=yes bias-gradient=yes",
    "rmsnorm pass=backward weight=no bias-gradient=yes", "layernorm pass=backward weight=no weight-gradient=yes"};

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

static void every_form_is_right(void **state) {
    (void)state;
    cj_test_row_forms(cj_test_device);
}

static void elements_far_from_zero_are_right(void **state) {
    (void)state;
    cj_test_row_far(cj_test_device);
}

static void short_rows_are_right(void **state) {
    (void)state;
    cj_test_row_short(cj_test_device);
}

static void rows_that_begin_anywhere_are_right(void **state) {
    (void)state;
    cj_test_row_peeled(cj_test_device);
    cj_test_row_split(cj_test_device);
    cj_test_row_across(cj_test_device);
    cj_test_row_unaligned(cj_test_device);
}

static void rows_of_a_few_columns_are_right(void **state) {
    (void)state;
    cj_test_row_transposed(cj_test_device);
}

static void many_rows_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "softmax rows=20001 columns=2", "crossentropy rows=9999 columns=1 gradient=yes",
        "rmsnorm rows=2000 columns=40 form=stream warps=1 grid=3",
        "layernorm rows=9999 columns=3 weight=no pass=backward weight-gradient=yes bias-gradient=yes"};
    for (size_t i = 0; i < CJ_TEST_COUNT(words); i++)
        if (cj_test_chosen(i, 4)) cj_test_row(cj_test_device, words[i], 0, 1 + i);
}

// A mask of several rows comes round again.
static void masks_of_any_number_of_rows_are_added(void **state) {
    (void)state;
    static const char *const shapes[] = {
        "softmax rows=12 columns=100 mask-rows=4",
        "softmax rows=5 columns=1003 mask-rows=5 dtype=bf16",
        "logsoftmax rows=7 columns=300 mask-rows=1000 scale=-0.5",
        "logsoftmax rows=7 columns=1000 mask-rows=3 form=direct cluster=2 warps=2 stride=1010",
        "softmax rows=5 columns=3000 mask-rows=2 form=direct pieces=3 warps=2 out=f16",
        "softmax rows=9 columns=1024 mask-rows=2 form=stream cluster=2 warps=2 grid=4 stages=2",
        "softmax rows=5 columns=2040 mask-rows=3 form=stream cluster=2 warps=1 grid=4 stages=2 pieces=3 dtype=bf16"};
    for (size_t i = 0; i < CJ_TEST_COUNT(shapes); i++) {
        char words[192];
        snprintf(words, sizeof words, "%s mask=yes", shapes[i]);
        cj_test_row(cj_test_device, words, 0, i);
    }
}

static void sums_over_rows_of_every_length_are_right(void **state) {
    (void)state;
    static const unsigned    rows[] = {1, 2, 7, 8, 9, 33}, columns[] = {1, 3, 32, 33, 128, 160, 600, 1001, 2048, 4100};
    static const char *const types[] = {"dtype=f32", "dtype=bf16", "dtype=f16 out=f32", "dtype=f32 out=bf16"};
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++)
        for (size_t g = 0; g < CJ_TEST_COUNT(gradients); g++) {
            char words[192];
            if (!cj_test_chosen(c * CJ_TEST_COUNT(gradients) + g, 3)) continue;
            snprintf(words, sizeof words, "%s rows=%u columns=%u %s", gradients[g],
                     rows[(2 * c + g) % CJ_TEST_COUNT(rows)], columns[c], types[(c + g) % CJ_TEST_COUNT(types)]);
            cj_test_row(cj_test_device, words, 0, c);
        }
}

// Rows of warps, of blocks and of clusters, dealt to one and to several; and those that are read twice, in shares too.
// Parts of few and of many, which one warp or several add up.
static const char *const dealt[] = {
    "rows=100 columns=40 grid=1",
    "rows=100 columns=40 grid=3",
    "rows=300 columns=30 grid=2 unroll=4",
    "rows=1000 columns=7 grid=3 lanes=1",
    "rows=259 columns=64 lanes=32 unroll=2",
    "rows=70 columns=600 form=direct grid=40 warps=4",
    "rows=9 columns=1000 form=direct grid=2 warps=3",
    "rows=9 columns=33 form=direct grid=4 warps=1 align=4",
    "rows=1 columns=300 form=direct grid=6 warps=5",
    "rows=40 columns=64 form=stream cluster=1 warps=1 grid=40 stages=1",
    "rows=9 columns=1024 form=stream cluster=2 warps=2 grid=4 stages=2",
    "rows=9 columns=1024 form=stream cluster=0 warps=2 grid=5 stages=2",
    "rows=40 columns=64 form=stream cluster=0 warps=1 grid=40 stages=1",
    "rows=2 columns=1000 form=stream cluster=4 warps=1 grid=12 stages=3",
    "rows=7 columns=24 form=stream cluster=8 warps=1 grid=16",
    "rows=20 columns=1000 form=direct pieces=3 warps=2 grid=5",
    "rows=2 columns=1003 form=direct pieces=5 warps=2 grid=9 align=4",
    "rows=1 columns=5000 form=direct pieces=7 warps=3 grid=20",
};

static void sums_over_short_rows_are_right(void **state) {
    (void)state;
    cj_test_row_short_sums(cj_test_device);
}

static void sums_over_rows_are_right_in_every_form(void **state) {
    (void)state;
    static const char *const types[] = {"dtype=f32", "dtype=bf16", "dtype=bf16 out=f32"};
    for (size_t i = 0; i < CJ_TEST_COUNT(dealt); i++)
        for (size_t g = 0; g < CJ_TEST_COUNT(gradients); g++) {
            char words[192];
            if (!cj_test_chosen(i * CJ_TEST_COUNT(gradients) + g, 5)) continue;
            snprintf(words, sizeof words, "%s %s %s", gradients[g], dealt[i], types[(i + g) % CJ_TEST_COUNT(types)]);
            cj_test_row(cj_test_device, words, 0, i);
        }
}

// Every order in which warps may run gives the same bits.
static void sums_over_rows_are_the_same_in_every_run(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(dealt); i++) {
        char words[192];
        if (!cj_test_chosen(i, 4)) continue;
        snprintf(words, sizeof words, "%s %s", gradients[1], dealt[i]);
        const uint64_t bits = cj_test_row_bits(cj_test_device, words);
        for (uint64_t seed = 1; seed < 4; seed++) {
            cj_test_watch(seed);
            if (cj_test_row_bits(cj_test_device, words) != bits) fail_msg("%s: other bits", words);
        }
        cj_test_watch(0);
    }
}

static void any_shape_type_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t  seed = cj_test_seed();
    const int kernels = cj_test_few() ? 10 : 60;
    for (int i = 0; i < kernels; i++)
        cj_test_row_random(cj_test_device, families[(size_t)i % (CJ_TEST_COUNT(families) - 1)], &seed, 6000);
}

// ---- numbers that are none, or far from 0

// x and y of a launch on the device.
typedef struct pair {
    cj_ptr x, y;
} pair;

static pair open_pair(const float *x, size_t count) {
    pair     p;
    cj_error error = {0};
    cj_test_ok(cj_mem_alloc(cj_test_device, count * sizeof *x, &p.x, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, count * sizeof *x, &p.y, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, p.x, x, count * sizeof *x, NULL, &error), &error);
    return p;
}

static void close_pair(pair p, float *y, size_t count) {
    cj_error error = {0};
    cj_test_ok(cj_mem_read(cj_test_device, y, p.y, count * sizeof *y, NULL, &error), &error);
    cj_mem_free(cj_test_device, p.x);
    cj_mem_free(cj_test_device, p.y);
}

static void softmax_row(const cj_softmax_desc *desc, const float *x, float *y, size_t count) {
    const pair              p = open_pair(x, count);
    const cj_softmax_arrays arrays = {CJ_INIT(arrays), .x = p.x, .y = p.y};
    cj_error                error = {0};
    cj_test_ok(cj_softmax_launch(cj_test_device, desc, &arrays, NULL, &error), &error);
    close_pair(p, y, count);
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
    softmax_row(&(cj_softmax_desc){CJ_INIT(cj_softmax_desc), .shape = {.rows = ROWS, .columns = COLUMNS}}, x[0], y[0],
                (size_t)ROWS * COLUMNS);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            if (isnan(want[r][c]) ? !isnan(y[r][c]) : y[r][c] != want[r][c])
                fail_msg("y[%d][%d] is %g", r, c, (double)y[r][c]);
}

static void norm_row(const cj_norm_desc *desc, const float *x, float *y, size_t count) {
    const pair           p = open_pair(x, count);
    const cj_norm_arrays arrays = {CJ_INIT(arrays), .x = p.x, .y = p.y};
    cj_error             error = {0};
    cj_test_ok(cj_norm_launch(cj_test_device, desc, &arrays, NULL, &error), &error);
    close_pair(p, y, count);
}

// Of elements around 10^4 with a deviation of 1 the deviation is still right: squares are taken from the mean.
static void layernorm_far_from_zero_loses_nothing(void **state) {
    (void)state;
    enum { COLUMNS = 4096 };
    static float x[COLUMNS], y[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) x[c] = c % 2 ? 10001 : 9999;
    norm_row(&(cj_norm_desc){CJ_INIT(cj_norm_desc), .shape = {.rows = 1, .columns = COLUMNS}, .kind = CJ_NORM_LAYER}, x, y, COLUMNS);
    for (int c = 0; c < COLUMNS; c++)
        if (fabsf(y[c] - (c % 2 ? 1 : -1)) > 1e-3f) fail_msg("y[%d] is %g", c, (double)y[c]);
}

// The mean of the squares of such a row is below FLT_MIN, and so is what is added to it.
static void norms_of_tiny_rows_are_finite(void **state) {
    (void)state;
    enum { COLUMNS = 100 };
    float x[COLUMNS], y[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) x[c] = c % 2 ? 4e-20f : -4e-20f;
    for (cj_norm_kind kind = CJ_NORM_RMS; kind <= CJ_NORM_LAYER; kind++) {
        norm_row(&(cj_norm_desc){CJ_INIT(cj_norm_desc), .shape = {.rows = 1, .columns = COLUMNS}, .kind = kind, .epsilon = 1e-44}, x, y,
                 COLUMNS);
        for (int c = 0; c < COLUMNS; c++)
            if (!(fabsf(y[c] - (c % 2 ? 1 : -1)) <= 1e-3f)) fail_msg("y[%d] is %g", c, (double)y[c]);
    }
}

// A label that is none makes its own row's loss NaN, whichever way it is none; the ignored one makes it 0.
static void labels_beyond_the_columns_make_the_loss_nan(void **state) {
    (void)state;
    enum { ROWS = 5, COLUMNS = 6 };
    static const float     x[ROWS][COLUMNS] = {{1, 2, 3, 4, 5, 6}, {1}, {1}, {1}, {1}};
    static const int64_t   label[ROWS] = {5, -1, COLUMNS, INT64_C(1) << 33, -100};
    cj_crossentropy_desc   desc = {CJ_INIT(desc), .shape = {.rows = ROWS, .columns = COLUMNS}};
    cj_crossentropy_arrays arrays = {CJ_INIT(arrays)};
    cj_error               error = {0};
    float                  loss[ROWS];
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &arrays.x, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof label, &arrays.label, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof loss, &arrays.loss, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof loss, &arrays.lse, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, arrays.x, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, arrays.label, label, sizeof label, NULL, &error), &error);
    cj_test_ok(cj_crossentropy_launch(cj_test_device, &desc, &arrays, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, loss, arrays.loss, sizeof loss, NULL, &error), &error);
    assert_true(fabsf(loss[0] - 0.456193f) < 1e-5f);
    for (int r = 1; r < 4; r++) assert_true(isnan(loss[r]));
    assert_true(loss[4] == 0);
    const cj_ptr all[] = {arrays.x, arrays.label, arrays.loss, arrays.lse};
    for (size_t i = 0; i < CJ_TEST_COUNT(all); i++) cj_mem_free(cj_test_device, all[i]);
}

// ---- what is refused, and what a call says

static void check_largest(const char *family, const char *shape, const char *arch) {
    const size_t     length = strcspn(family, " ");
    char             name[24], words[256];
    cj_params        params;
    cj_plan          plan;
    cj_error         error = {0};
    const cj_limits *limits;
    snprintf(name, sizeof name, "%.*s", (int)length, family);
    snprintf(words, sizeof words, "%s%s", shape, family + length);
    cj_test_ok(cj_limits_builtin(arch, &limits, &error), &error);
    cj_test_ok(cj_test_params(name, words, &params, &error), &error);
    if (cj_plan_make(&params, limits, NULL, &plan, &error)) fail_msg("%s %s: %s", name, words, error.message);
    const uint64_t rows = cj_params_get(&params, "rows"), columns = cj_params_get(&params, "columns");
    assert_true(plan.grid.x > 0 && plan.grid.x <= INT32_MAX);
    // Of a direct plan every row has a block, a warp or lanes of it, alone or with a few rows; of any other, blocks stay.
    const uint64_t lanes = cj_params_get(&plan.params, "lanes"), unroll = cj_params_get(&plan.params, "unroll");
    const uint64_t at_once = lanes == CJ_PARAM_AUTO ? plan.block.x / 32 : plan.block.x / lanes * unroll;
    assert_true(plan.resident || plan.grid.x * at_once >= rows);
    // Parts of sums over rows: as many as there are blocks at the most, and the values of rows.
    assert_true(plan.workspace_bytes <= 2 * 4 * (columns * (plan.grid.x + 1) + 32 * rows));
    cj_text_free(cj_test_emit(name, words, arch));
}

// Nothing overflows in what is planned and written for them. Rows of several blocks each are as many as a grid has blocks for.
static void the_largest_shapes_are_planned(void **state) {
    (void)state;
    static const char *const shapes[] = {"rows=2147483647 columns=1",
                                         "rows=2147483647 columns=8192",
                                         "rows=67108864 columns=131072",
                                         "rows=536870911 columns=10001 align=4",
                                         "rows=1 columns=268435456",
                                         "rows=1 columns=268435455 align=4",
                                         "rows=200 columns=268435456 stride=536870912 out-stride=536870912"};
    static const char *const targets[] = {"sm_80", "sm_90"};
    for (size_t s = 0; s < CJ_TEST_COUNT(shapes); s++)
        for (size_t f = 0; f < CJ_TEST_COUNT(families) + CJ_TEST_COUNT(gradients); f++) {
            const bool  sums = f >= CJ_TEST_COUNT(families);
            const char *family = sums ? gradients[f - CJ_TEST_COUNT(families)] : families[f];
            for (size_t t = 0; t < CJ_TEST_COUNT(targets); t++) check_largest(family, shapes[s], targets[t]);
        }
}

static void impossible_rows_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *family, *words, *says;
    } rows[] = {
        {"softmax", "columns=100 stride=99", "stride: 99"},
        {"softmax", "columns=100 out-stride=99", "out-stride: 99"},
        {"softmax", "columns=100 align=2", "align: 2"},
        {"softmax", "columns=8 scale=-1e40", "scale: -1e+40 is beyond f32"},
        {"crossentropy", "columns=8 scale=1e39", "scale: 1e+39 is beyond f32"},
        {"layernorm", "columns=8 epsilon=1e39", "epsilon: 1e+39 is beyond f32"},
        {"softmax", "columns=8 lanes=3", "lanes: 3"},
        {"softmax", "columns=4096 lanes=8", "lanes: 8"},
        {"softmax", "columns=101 peel=3", "peel: 3"},
        {"softmax", "columns=17 transpose=yes", "transpose: yes"},
        {"softmax", "columns=8 transpose=yes", "transpose: yes"},
        {"rmsnorm", "columns=9 pass=backward weight-gradient=yes transpose=yes", "transpose: yes"},
        {"softmax", "columns=101 peel=8", "peel: 8"},
        {"softmax", "columns=101 out-stride=103 peel=4", "peel: 4"},
        {"softmax", "columns=101 align=8 peel=4", "peel: 4"},
        {"rmsnorm", "columns=101 pass=backward weight-gradient=yes peel=2", "peel: 2"},
        {"softmax", "columns=4096 across=yes", "across: yes, but no vector"},
        {"softmax", "columns=13 stride=14 out-stride=16 across=yes", "across: yes, but no vector"},
        {"crossentropy", "columns=8191 across=yes", "across: yes, but no vector"},
        {"rmsnorm", "columns=101 stride=102 pass=backward weight-gradient=yes across=yes", "across: yes, but no vector"},
        {"layernorm", "columns=64 pass=backward weight-gradient=yes lanes=4 unroll=4", "unroll: 4"},
        {"softmax", "columns=101 form=stream", "form=stream does not fit"},
        {"softmax", "columns=100000 form=direct warps=1 pieces=1", "vectors"},
        {"rmsnorm", "columns=4096 form=direct resident=yes",
         "resident: yes is asked for, but with the other parameters the kernel has no"},
        {"softmax", "columns=65536 rows=4096 cluster=4 grid=6", "grid: 6"},
        {"softmax", "columns=65536 blocks=4 grid=6", "grid: 6"},
        {"softmax", "columns=65536 form=spread cluster=4", "cluster: 4 is asked for"},
        {"softmax", "columns=65536 form=stream blocks=4", "blocks: 4 has no effect with form=stream"},
        {"softmax", "columns=1048576 blocks=1000", "blocks: 1000 of "},
        {"rmsnorm", "columns=4096 form=spread resident=yes",
         "resident: yes is asked for, but with the other parameters the kernel has no"},
        {"rmsnorm", "pass=backward weight-gradient=yes blocks=4", "blocks: 4 is asked for"},
        {"rmsnorm", "pass=backward weight-gradient=yes form=spread",
         "form: spread is asked for, but with the other parameters the kernel has direct"},
        {"crossentropy", "smoothing=1.5", "smoothing: 1.5"},
        {"crossentropy", "ignore=0.5", "ignore: 0.5"},
        {"softmax", "columns=101 stages=2", "stages: it wants form=stream"},
        {"softmax", "columns=101 grid=4", "grid: it wants form=stream"},
        {"rmsnorm", "columns=101 resident=yes", "resident: it wants form=stream"},
        {"softmax", "form=direct stages=2", "stages: 2 has no effect with form=direct"},
        {"softmax", "form=direct grid=2", "grid: 2 is asked for, but with the other parameters the kernel has auto"},
        {"softmax", "columns=65536 blocks=4 stages=2", "stages: 2 is asked for"},
        {"softmax", "columns=4096 form=direct cluster=0 warps=1 vectors=2 pieces=1", "vectors: a thread would hold 32"},
        {"softmax", "columns=512 form=direct cluster=0 warps=1 vectors=2 pieces=1",
         "vectors: 2 is asked for, but with the other parameters the kernel has 4, which is more"},
        {"softmax", "mask-rows=2", "mask-rows: 2"},
        {"softmax", "mask-rows=2 mask=yes pass=backward", "mask-rows: 2"},
        {"rmsnorm", "weight-gradient=yes", "weight-gradient: yes has no effect with pass=forward"},
        {"layernorm", "bias-gradient=yes", "bias-gradient: yes has no effect with pass=forward"},
        {"layernorm", "bias=yes pass=backward", "bias: yes has no effect with pass=backward"},
        {"rmsnorm", "residual=yes pass=backward", "residual: yes has no effect with pass=backward"},
        {"layernorm", "stats=yes pass=backward", "stats: yes has no effect with pass=backward"},
        {"rmsnorm", "pass=backward weight-gradient=yes form=direct cluster=2", "cluster: 2"},
        {"rmsnorm", "pass=backward weight-gradient=yes rows=300 columns=4001 cluster=2",
         "cluster: it wants form=stream, which does not fit"},
        {"rmsnorm", "pass=backward weight-gradient=yes form=stream columns=4096 pieces=2", "pieces=2"},
        {"rmsnorm", "pass=backward weight-gradient=yes form=stream columns=4096 cluster=4 grid=6", "grid: 6"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++)
        cj_test_refused(rows[i].family, CJ_INVALID_ARGUMENT, rows[i].words, rows[i].says);
    cj_test_refused("softmax", CJ_CONTRACT, "rows=2^31-1 columns=40000 form=direct cluster=4", "more blocks than the 2^31 - 1 of a grid");
}

static void missing_and_misaligned_arrays_are_refused_by_name(void **state) {
    (void)state;
    const cj_softmax_desc   desc = {CJ_INIT(desc), .shape = {.rows = 2, .columns = 8}};
    const cj_softmax_arrays missing = {CJ_INIT(missing), .x = 256}, crooked = {CJ_INIT(crooked), .x = 256, .y = 260};
    cj_softmax             *softmax = NULL;
    cj_error                error = {0};
    cj_test_ok(cj_softmax_create(cj_test_device, &desc, &softmax, &error), &error);
    assert_int_equal(cj_softmax_run(softmax, &missing, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "y: "));
    assert_int_equal(cj_softmax_run(softmax, &crooked, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "y: 0x104 is not a multiple of 16 bytes"));
    cj_softmax_destroy(softmax);

    const cj_softmax_desc   masked = {CJ_INIT(masked), .shape = desc.shape, .mask = 1};
    const cj_softmax_arrays mask = {CJ_INIT(mask), .x = 256, .y = 512, .mask = 770};
    assert_int_equal(cj_softmax_launch(cj_test_device, &masked, &mask, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "mask: 0x302 is not a multiple of 4 bytes"));
    const cj_norm_desc   backward = {CJ_INIT(backward), .shape = desc.shape, .backward = 1, .bias_gradient = 1};
    const cj_norm_arrays db = {CJ_INIT(db), .x = 256, .dy = 256, .dx = 512, .rstd = 256, .db = 770};
    const cj_norm_arrays rstd = {CJ_INIT(rstd), .x = 256, .dy = 256, .dx = 512, .rstd = 258, .db = 768};
    assert_int_equal(cj_norm_launch(cj_test_device, &backward, &db, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "db: 0x302 is not a multiple of 4 bytes"));
    assert_int_equal(cj_norm_launch(cj_test_device, &backward, &rstd, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "rstd: 0x102"));
}

static void a_norm_of_no_kind_is_refused_by_name(void **state) {
    (void)state;
    const cj_norm_desc   desc = {CJ_INIT(desc), .shape = {.rows = 2, .columns = 8}, .kind = (cj_norm_kind)5};
    const cj_norm_arrays arrays = {CJ_INIT(arrays), .x = 256, .y = 512};
    cj_norm             *norm = NULL;
    cj_error             error = {0}, again = {0};
    assert_int_equal(cj_norm_create(cj_test_device, &desc, &norm, &error), CJ_INVALID_ARGUMENT);
    assert_string_equal(error.message, "kind: 5 is outside 0 to 1");
    assert_int_equal(cj_norm_launch(cj_test_device, &desc, &arrays, NULL, &again), CJ_INVALID_ARGUMENT);
    assert_string_equal(again.message, error.message);
}

static void forward_passes_with_gradients_of_weights_are_refused_by_name(void **state) {
    (void)state;
    const cj_norm_desc   forward = {CJ_INIT(forward), .shape = {.rows = 2, .columns = 8}, .weight_gradient = 1};
    const cj_norm_desc   backward = {CJ_INIT(backward), .shape = {.rows = 2, .columns = 8}, .backward = 1,
                                     .weight_gradient = 1};
    const cj_norm_arrays missing = {CJ_INIT(missing), .x = 256, .dy = 256, .dx = 256, .rstd = 256};
    cj_norm             *norm = NULL;
    cj_error             error = {0};
    assert_int_equal(cj_norm_create(cj_test_device, &forward, &norm, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "weight-gradient"));
    assert_null(norm);
    assert_int_equal(cj_norm_launch(cj_test_device, &backward, &missing, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "dw: "));
}

static void calls_do_what_their_descriptions_say(void **state) {
    (void)state;
    cj_test_row_calls(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_length_are_right),
        cmocka_unit_test(every_form_is_right),
        cmocka_unit_test(elements_far_from_zero_are_right),
        cmocka_unit_test(short_rows_are_right),
        cmocka_unit_test(rows_that_begin_anywhere_are_right),
        cmocka_unit_test(rows_of_a_few_columns_are_right),
        cmocka_unit_test(many_rows_are_right),
        cmocka_unit_test(labels_beyond_the_columns_make_the_loss_nan),
        cmocka_unit_test(the_largest_shapes_are_planned),
        cmocka_unit_test(masks_of_any_number_of_rows_are_added),
        cmocka_unit_test(sums_over_rows_of_every_length_are_right),
        cmocka_unit_test(sums_over_short_rows_are_right),
        cmocka_unit_test(sums_over_rows_are_right_in_every_form),
        cmocka_unit_test(sums_over_rows_are_the_same_in_every_run),
        cmocka_unit_test(any_shape_type_stride_and_alignment_is_right),
        cmocka_unit_test(nan_and_infinities_make_the_row_nan_and_minus_infinity_a_zero),
        cmocka_unit_test(layernorm_far_from_zero_loses_nothing),
        cmocka_unit_test(norms_of_tiny_rows_are_finite),
        cmocka_unit_test(impossible_rows_are_refused_by_name),
        cmocka_unit_test(missing_and_misaligned_arrays_are_refused_by_name),
        cmocka_unit_test(a_norm_of_no_kind_is_refused_by_name),
        cmocka_unit_test(forward_passes_with_gradients_of_weights_are_refused_by_name),
        cmocka_unit_test(calls_do_what_their_descriptions_say),
    };
    return cmocka_run_group_tests(tests, cj_test_open_watched, cj_test_close);
}
