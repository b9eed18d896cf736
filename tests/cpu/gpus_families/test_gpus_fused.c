// SPDX-License-Identifier: Apache-2.0
// The fused kernels of several GPUs, played by CPU devices that watch every access: results, typed calls, what is refused.
#include <clusterjit/clusterjit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "fused_cases.h"
#include "gpus_devices.h"
#include "test.h"

enum { GPUS = 4, MAIL = 2 << 20, SMALL = 4096 };

static cj_gpus *make(uint32_t count, uint64_t mail) {
    cj_error              error = {0};
    cj_gpus              *gpus = NULL;
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = mail, .limit = 1 << 20};
    cj_test_ok(cj_gpus_create(cj_test_gpus_device, count, &options, &gpus, &error), &error);
    return gpus;
}

// All launches are of one box each, one after the other: messages of every kind lie where others lay before.
static void every_fused_kernel_is_right_for_any_type_size_and_schedule(void **state) {
    (void)state;
    static const uint32_t counts[] = {2, 3, 4, 8};
    uint64_t              random = cj_test_seed();
    for (size_t i = 0; i < CJ_TEST_COUNT(counts); i++) {
        cj_gpus *gpus = make(counts[i], MAIL);
        for (uint64_t seed = 0; seed < (cj_test_few() ? 1 : 2); seed++) {
            cj_test_gpus_watch(seed);
            cj_test_fused_all(gpus, MAIL, NULL, &random, counts[i] == CJ_GPUS_MAX ? 6 : 12);
        }
        cj_gpus_destroy(gpus);
    }
    cj_test_gpus_watch(0);
}

// ---- typed calls

static cj_status call_norm(cj_gpus *gpus, const fused_model *m, const cj_ptr *const *array, const cj_stream *stream,
                           cj_error *error) {
    cj_gpus_norm_desc   desc = {CJ_INIT(desc), .rows = m->rows, .columns = m->columns, .dtype = m->type,
                                .kind = m->layer ? CJ_NORM_LAYER : CJ_NORM_RMS, .residual = m->residual, .weight = m->weight,
                                .bias = m->bias, .epsilon = m->epsilon};
    cj_gpus_norm_arrays arrays = {CJ_INIT(arrays), .x = *array++};
    if (m->residual) arrays.residual = *array++;
    arrays.sum = *array++;
    arrays.y = *array++;
    if (m->weight) arrays.weight = *array++;
    if (m->bias) arrays.bias = *array;
    return cj_gpus_norm(gpus, &desc, &arrays, stream, error);
}

static cj_status call_crossentropy(cj_gpus *gpus, const fused_model *m, const cj_ptr *const *array, const cj_stream *stream,
                                   cj_error *error) {
    const cj_gpus_crossentropy_desc   desc = {CJ_INIT(desc), .rows = m->rows, .columns = m->columns, .dtype = m->type,
                                              .label = m->array[1].type, .has_ignore = 1, .ignore = (int32_t)m->ignore,
                                              .smoothing = m->smoothing, .gradient = m->gradient, .scale = m->scale};
    const cj_gpus_crossentropy_arrays arrays = {CJ_INIT(arrays), .x = array[0], .label = array[1], .loss = array[2],
                                                .lse = array[3], .dx = m->gradient ? array[4] : NULL};
    return cj_gpus_crossentropy(gpus, &desc, &arrays, stream, error);
}

static cj_status call_softmax(cj_gpus *gpus, const fused_model *m, const cj_ptr *const *array, const cj_stream *stream,
                              cj_error *error) {
    const cj_gpus_softmax_desc desc = {CJ_INIT(desc), .rows = m->rows, .columns = m->columns, .dtype = m->type, .log = m->log};
    return cj_gpus_softmax(gpus, &desc, array[0], array[1], stream, error);
}

static void typed_calls_do_what_the_kernels_do(void **state) {
    (void)state;
    cj_gpus *gpus = make(GPUS, MAIL);
    cj_test_fused(gpus, MAIL, "allreducenorm", "rows=5 columns=200 dtype=bf16 bias=yes", 0, call_norm, NULL);
    cj_test_fused(gpus, MAIL, "allreducenorm", "rows=2 columns=33 dtype=f16 norm=layer residual=no epsilon=0.1", 1, call_norm, NULL);
    cj_test_fused(gpus, MAIL, "shardedcrossentropy", "rows=9 columns=200 dtype=bf16 gradient=yes ignore=-7", 0, call_crossentropy, NULL);
    cj_test_fused(gpus, MAIL, "shardedcrossentropy", "rows=2 columns=33 dtype=f16 label=i32 smoothing=0.2", 1, call_crossentropy, NULL);
    cj_test_fused(gpus, MAIL, "shardedsoftmax", "rows=5 columns=100 dtype=f32 log=yes", 0, call_softmax, NULL);
    cj_gpus_destroy(gpus);
}

// ---- top-k of all columns

enum { ROWS = 3, COLUMNS = 130, MOST = 40 };

static float logit(uint32_t r, uint32_t row, uint32_t column) {
    const uint32_t hash = (r * 7919 + row * 104729 + column * 1299709) % 6007;
    return hash % 61 == 5 ? NAN : (float)(hash % 97) - 40;
}

// Whether a comes before b: NaN is the greatest.
static bool precedes(float a, float b, bool smallest) {
    if (isnan(a) || isnan(b)) return smallest ? isnan(b) && !isnan(a) : isnan(a) && !isnan(b);
    return smallest ? a < b : a > b;
}

// The column that comes next after those that are taken.
static uint32_t next_of(uint32_t row, bool smallest, bool *taken) {
    uint32_t best = GPUS * COLUMNS;
    for (uint32_t c = 0; c < GPUS * COLUMNS; c++)
        if (!taken[c] && (best == GPUS * COLUMNS || precedes(logit(c / COLUMNS, row, c % COLUMNS),
                                                             logit(best / COLUMNS, row, best % COLUMNS), smallest)))
            best = c;
    taken[best] = true;
    return best;
}

static void check_topk(const cj_topk_desc *desc, const cj_ptr *values, const cj_ptr *indices) {
    cj_error error = {0};
    for (uint32_t r = 0; r < GPUS; r++) {
        float    value[ROWS * MOST];
        uint32_t index[ROWS * MOST];
        cj_test_ok(cj_mem_read(cj_test_gpus_device[r], value, values[r], ROWS * desc->k * sizeof *value, NULL, &error), &error);
        cj_test_ok(cj_mem_read(cj_test_gpus_device[r], index, indices[r], ROWS * desc->k * sizeof *index, NULL, &error), &error);
        for (uint32_t row = 0; row < ROWS; row++) {
            bool taken[GPUS * COLUMNS] = {false};
            for (uint32_t i = 0; i < desc->k; i++) {
                const uint32_t column = next_of(row, desc->smallest, taken), at = row * desc->k + i;
                const float    expected = logit(column / COLUMNS, row, column % COLUMNS);
                assert_int_equal(index[at], column);
                assert_true(value[at] == expected || (isnan(value[at]) && isnan(expected)));
            }
        }
    }
}

static void topk_is_of_the_columns_of_all(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_gpus     *gpus = make(GPUS, MAIL);
    cj_ptr       x[CJ_GPUS_MAX], values[CJ_GPUS_MAX], indices[CJ_GPUS_MAX];
    float        rows[ROWS * COLUMNS];
    cj_topk_desc desc = {CJ_INIT(desc), .rows = ROWS, .columns = COLUMNS, .index_u32 = true};
    cj_test_ok(cj_gpus_alloc(gpus, sizeof rows, x, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, ROWS * MOST * 4, values, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, ROWS * MOST * 4, indices, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) {
        for (uint32_t i = 0; i < ROWS * COLUMNS; i++) rows[i] = logit(r, i / COLUMNS, i % COLUMNS);
        cj_test_ok(cj_mem_write(cj_test_gpus_device[r], x[r], rows, sizeof rows, NULL, &error), &error);
    }
    for (unsigned time = 0; time < 4; time++) {
        desc.k = time < 2 ? 1 : MOST;
        desc.smallest = time % 2;
        cj_test_ok(cj_gpus_topk(gpus, &desc, x, values, indices, NULL, &error), &error);
        cj_test_ok(cj_gpus_check(gpus, &error), &error);
        check_topk(&desc, values, indices);
    }
    cj_gpus_free(gpus, x);
    cj_gpus_free(gpus, values);
    cj_gpus_free(gpus, indices);
    cj_gpus_destroy(gpus);
}

// ---- the data of all

enum { SAMPLES = 1000, BINS = 50 };

// Twice: results lie where others lay before.
static void one_reduction_and_one_histogram_are_of_all_data(void **state) {
    (void)state;
    cj_error          error = {0};
    cj_gpus          *gpus = make(3, MAIL);
    cj_ptr            x[CJ_GPUS_MAX], out[CJ_GPUS_MAX], counts[CJ_GPUS_MAX];
    uint32_t          sample[SAMPLES], expected[BINS] = {0}, found[BINS], sum = 0, most = 0;
    cj_reduce_desc    reduce = {CJ_INIT(reduce), .n = SAMPLES, .dtype = CJ_U32};
    cj_histogram_desc histogram = {CJ_INIT(histogram), .n = SAMPLES, .bins = BINS, .dtype = CJ_U32};
    cj_test_ok(cj_gpus_alloc(gpus, sizeof sample, x, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, 8, out, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, sizeof found, counts, &error), &error);
    for (uint32_t r = 0; r < 3; r++) {
        for (uint32_t i = 0; i < SAMPLES; i++) {
            sample[i] = (i * 7 + r * 11) % (BINS + 3);  // some are in no bin
            sum += sample[i];
            most = sample[i] > most ? sample[i] : most;
            if (sample[i] < BINS) expected[sample[i]]++;
        }
        cj_test_ok(cj_mem_write(cj_test_gpus_device[r], x[r], sample, sizeof sample, NULL, &error), &error);
    }
    for (unsigned time = 0; time < 2; time++) {
        reduce.op = time ? CJ_REDUCE_MAX : CJ_REDUCE_SUM;
        cj_test_ok(cj_gpus_reduce(gpus, &reduce, x, out, NULL, &error), &error);
        cj_test_ok(cj_gpus_histogram(gpus, &histogram, x, counts, NULL, &error), &error);
        for (uint32_t r = 0; r < 3; r++) {
            uint32_t result = 0;
            cj_test_ok(cj_mem_read(cj_test_gpus_device[r], &result, out[r], sizeof result, NULL, &error), &error);
            assert_int_equal(result, time ? most : sum);
            cj_test_ok(cj_mem_read(cj_test_gpus_device[r], found, counts[r], sizeof found, NULL, &error), &error);
            assert_memory_equal(found, expected, sizeof found);
        }
    }
    cj_gpus_free(gpus, x);
    cj_gpus_free(gpus, out);
    cj_gpus_free(gpus, counts);
    cj_gpus_destroy(gpus);
}

// ---- bad input

static void expect(cj_status status, cj_status wanted, const cj_error *error, const char *says) {
    assert_int_equal(status, wanted);
    if (!strstr(error->message, says)) fail_msg("'%s' does not say '%s'", error->message, says);
}

static void a_norm_refuses_bad_input_by_name(void **state) {
    (void)state;
    cj_error            error = {0};
    cj_gpus            *gpus = make(2, SMALL);
    cj_ptr              memory[CJ_GPUS_MAX];
    cj_gpus_norm_desc   desc = {CJ_INIT(desc), .rows = 1, .columns = 8, .dtype = CJ_F32};
    cj_gpus_norm_arrays arrays = {CJ_INIT(arrays), .x = memory, .sum = memory, .y = memory};
    cj_test_ok(cj_gpus_alloc(gpus, SMALL, memory, &error), &error);
    cj_gpus_norm_desc bad = desc;
    bad.rows = 0;
    expect(cj_gpus_norm(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "rows: 0");
    bad = desc, bad.columns = 1 << 10;
    expect(cj_gpus_norm(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "bytes of mail");
    bad = desc, bad.dtype = CJ_F64;
    expect(cj_gpus_norm(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "dtype");
    bad = desc, bad.weight = 1;
    expect(cj_gpus_norm(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "weight");
    bad = desc, bad.epsilon = -1;
    expect(cj_gpus_norm(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "epsilon");
    bad = desc, bad.kind = (cj_norm_kind)2;
    expect(cj_gpus_norm(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "norm");
    cj_ptr odd[] = {memory[0] + 2, memory[1]};
    arrays.sum = odd;
    expect(cj_gpus_norm(gpus, &desc, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "sum");
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

static void sharded_rows_refuse_bad_input_by_name(void **state) {
    (void)state;
    cj_error                  error = {0};
    cj_gpus                  *gpus = make(2, SMALL);
    cj_ptr                    memory[CJ_GPUS_MAX];
    cj_gpus_crossentropy_desc desc = {CJ_INIT(desc), .rows = 1, .columns = 8, .dtype = CJ_F32};
    cj_gpus_softmax_desc      softmax = {CJ_INIT(softmax), .rows = 1, .columns = 8, .dtype = CJ_I32};
    cj_gpus_crossentropy_arrays arrays = {CJ_INIT(arrays), .x = memory, .label = memory, .loss = memory, .lse = memory};
    cj_test_ok(cj_gpus_alloc(gpus, SMALL, memory, &error), &error);
    cj_gpus_crossentropy_desc bad = desc;
    bad.columns = 0;
    expect(cj_gpus_crossentropy(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "columns: 0");
    bad = desc, bad.smoothing = 2;
    expect(cj_gpus_crossentropy(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "smoothing: 2");
    bad = desc, bad.label = CJ_F32;
    bad.gradient = 1;
    expect(cj_gpus_crossentropy(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "dx is NULL");
    bad.label = CJ_F16;
    expect(cj_gpus_crossentropy(gpus, &bad, &arrays, NULL, &error), CJ_INVALID_ARGUMENT, &error, "label");
    expect(cj_gpus_softmax(gpus, &softmax, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "dtype");
    cj_test_refused("shardedcrossentropy", CJ_INVALID_ARGUMENT, "rows=1000 grid=250 gradient=yes", "are on the GPU at once");
    cj_test_refused("shardedcrossentropy", CJ_INVALID_ARGUMENT, "hold=yes gradient=yes columns=65536", "hold: rows of 65536");
    cj_test_refused("allreducenorm", CJ_INVALID_ARGUMENT, "rows=201 grid=200 columns=8", "wait for each other");
    cj_test_refused("allreducenorm", CJ_INVALID_ARGUMENT, "rows=1 columns=100000 cluster=1", "columns: 100000");
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

static void data_of_all_refuse_bad_input_by_name(void **state) {
    (void)state;
    cj_error          error = {0};
    cj_gpus          *gpus = make(2, SMALL);
    cj_ptr            memory[CJ_GPUS_MAX];
    cj_reduce_desc    reduce = {CJ_INIT(reduce), .n = 8, .op = CJ_REDUCE_MEAN};
    cj_histogram_desc histogram = {CJ_INIT(histogram), .n = 8, .counts = CJ_U64};
    cj_test_ok(cj_gpus_alloc(gpus, 1 << 16, memory, &error), &error);
    expect(cj_gpus_reduce(gpus, &reduce, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "op: ");
    reduce = (cj_reduce_desc){CJ_INIT(reduce), .n = 8, .dtype = CJ_F64};
    expect(cj_gpus_reduce(gpus, &reduce, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "dtype: results of f64");
    reduce = (cj_reduce_desc){CJ_INIT(reduce), .n = 8, .result = CJ_REDUCE_BLOCKS};
    expect(cj_gpus_reduce(gpus, &reduce, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "result and weight");
    expect(cj_gpus_histogram(gpus, &histogram, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "counts: u64");
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

static void topk_refuses_bad_input_by_name(void **state) {
    (void)state;
    cj_error     error = {0};
    cj_gpus     *gpus = make(2, SMALL);
    cj_ptr       memory[CJ_GPUS_MAX];
    cj_topk_desc desc = {CJ_INIT(desc), .rows = 1, .columns = 8, .k = 4}, bad = desc;
    cj_test_ok(cj_gpus_alloc(gpus, SMALL, memory, &error), &error);
    bad.k = 0;
    expect(cj_gpus_topk(gpus, &bad, memory, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "k: 0");
    bad = desc, bad.kth = true;
    expect(cj_gpus_topk(gpus, &bad, memory, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "kth: ");
    bad = desc, bad.unsorted = true;
    expect(cj_gpus_topk(gpus, &bad, memory, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "unsorted: ");
    bad = desc, bad.dtype = CJ_F64;
    expect(cj_gpus_topk(gpus, &bad, memory, memory, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "dtype");
    expect(cj_gpus_topk(gpus, &desc, memory, NULL, memory, NULL, &error), CJ_INVALID_ARGUMENT, &error, "values is NULL");
    cj_test_refused("shardedtopk", CJ_INVALID_ARGUMENT, "columns=10 k=11", "k: 11 is more than the 10 columns");
    cj_test_refused("shardedtopk", CJ_INVALID_ARGUMENT, "rows=4 grid=5", "grid: 5 blocks are more than the 4 rows");
    cj_test_refused("shardedtopk", CJ_INVALID_ARGUMENT, "rows=2^20 k=100", "bytes of mail");
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

// Rank 0 first comes alone with other rows: rank 1 finds its hello.
static void ranks_with_other_rows_are_named(void **state) {
    (void)state;
    static const char *const words[] = {"gpus=2 rows=1 columns=8 mail=4096", "gpus=2 rows=2 columns=8 mail=4096"};
    cj_error                 error = {0};
    const cj_gpus_options    options = {CJ_INIT(options), .mail_bytes = SMALL, .limit = 100};
    cj_gpus                 *gpus;
    cj_ptr                   memory[CJ_GPUS_MAX];
    cj_kernel               *kernel[3];
    cj_test_ok(cj_gpus_create(cj_test_gpus_device, 2, &options, &gpus, &error), &error);
    cj_test_ok(cj_gpus_alloc(gpus, SMALL, memory, &error), &error);
    for (uint32_t i = 0; i < 3; i++) {
        cj_params params;
        cj_test_ok(cj_test_params("allreducenorm", words[i > 0], &params, &error), &error);
        cj_test_ok(cj_kernel_create(cj_test_gpus_device[i ? i - 1 : 0], &params, &kernel[i], &error), &error);
    }
    for (uint32_t r = 0; r < 2; r++) cj_test_ok(cj_mem_fill(cj_test_gpus_device[r], memory[r], 0, SMALL, NULL, &error), &error);
    const cj_ptr *arrays[] = {memory, memory, memory, memory, memory};
    cj_test_ok(cj_gpus_launch_arrays(gpus, kernel, 1, arrays, 5, NULL, &error), &error);
    cj_cpu_options unwatched = {CJ_INIT(unwatched), .threads = 1};
    cj_test_ok(cj_cpu_configure(cj_test_gpus_device[0], &unwatched, &error), &error);
    cj_test_ok(cj_gpus_launch_arrays(gpus, kernel + 1, 2, arrays, 5, NULL, &error), &error);
    expect(cj_gpus_check(gpus, &error), CJ_INVALID_ARGUMENT, &error, "rank 0 came with another description than rank 1");
    cj_test_gpus_watch(0);
    for (uint32_t i = 0; i < 3; i++) cj_kernel_destroy(kernel[i]);
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fused_kernel_is_right_for_any_type_size_and_schedule),
        cmocka_unit_test(typed_calls_do_what_the_kernels_do),
        cmocka_unit_test(topk_is_of_the_columns_of_all),
        cmocka_unit_test(topk_refuses_bad_input_by_name),
        cmocka_unit_test(one_reduction_and_one_histogram_are_of_all_data),
        cmocka_unit_test(data_of_all_refuse_bad_input_by_name),
        cmocka_unit_test(a_norm_refuses_bad_input_by_name),
        cmocka_unit_test(sharded_rows_refuse_bad_input_by_name),
        cmocka_unit_test(ranks_with_other_rows_are_named),
    };
    return cmocka_run_group_tests(tests, cj_test_gpus_open, cj_test_gpus_close);
}
