// SPDX-License-Identifier: Apache-2.0
// Fused calls of more rows than the mail has room for, played by CPU devices: their pieces give the bits of one launch.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "gpus_state.h"
#include "test.h"

enum { GPUS = 3, ROWS = 70, COLUMNS = 1024, K = 7, LARGE = 8 << 20, ARRAY = ROWS * COLUMNS * 4 };

static cj_device *device[GPUS];
static cj_gpus   *large;
static cj_ptr     x[CJ_GPUS_MAX], label[CJ_GPUS_MAX], weight[CJ_GPUS_MAX], out[2][2][CJ_GPUS_MAX];

static cj_gpus *make(uint64_t mail) {
    cj_error              error = {0};
    cj_gpus              *made = NULL;
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = mail};
    cj_test_ok(cj_gpus_create(device, GPUS, &options, &made, &error), &error);
    return made;
}

static void write_input(void) {
    static float   rows[ROWS * COLUMNS];
    static int64_t labels[ROWS];
    cj_error       error = {0};
    uint64_t       random = 7;
    for (uint32_t i = 0; i < ROWS; i++) labels[i] = (int64_t)(cj_test_random(&random) % (GPUS * COLUMNS));
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) rows[i] = (float)(cj_test_random(&random) % 1000) / 997;
    for (uint32_t r = 0; r < GPUS; r++) cj_test_ok(cj_mem_write(device[r], weight[r], rows, sizeof rows, NULL, &error), &error);
    for (uint32_t r = 0; r < GPUS; r++) {
        for (uint32_t i = 0; i < ROWS * COLUMNS; i++) rows[i] = (float)(cj_test_random(&random) % 100000) / 9973 - 5;
        cj_test_ok(cj_mem_write(device[r], x[r], rows, sizeof rows, NULL, &error), &error);
        cj_test_ok(cj_mem_write(device[r], label[r], labels, sizeof labels, NULL, &error), &error);
    }
}

static int open_all(void **state) {
    (void)state;
    cj_error                error = {0};
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    for (uint32_t r = 0; r < GPUS; r++) cj_test_ok(cj_device_open(&options, &device[r], &error), &error);
    large = make(LARGE);
    cj_ptr *const all[] = {x, label, weight, out[0][0], out[0][1], out[1][0], out[1][1]};
    for (size_t i = 0; i < CJ_TEST_COUNT(all); i++) cj_test_ok(cj_gpus_alloc(large, ARRAY, all[i], &error), &error);
    write_input();
    return 0;
}

static int close_all(void **state) {
    (void)state;
    cj_ptr *const all[] = {x, label, weight, out[0][0], out[0][1], out[1][0], out[1][1]};
    for (size_t i = 0; i < CJ_TEST_COUNT(all); i++) cj_gpus_free(large, all[i]);
    cj_gpus_destroy(large);
    for (uint32_t r = 0; r < GPUS; r++) cj_device_close(device[r]);
    return 0;
}

// Writes to out[which], whose bytes are 0xa5 before it.
typedef cj_status (*call)(cj_gpus *gpus, uint64_t rows, uint64_t columns, unsigned which, cj_error *error);

static cj_status norm(cj_gpus *gpus, uint64_t rows, uint64_t columns, unsigned which, cj_error *error) {
    const cj_gpus_norm_desc   desc = {CJ_INIT(desc), .rows = rows, .columns = columns, .kind = CJ_NORM_LAYER, .residual = 1, .weight = 1};
    const cj_gpus_norm_arrays arrays = {CJ_INIT(arrays), .x = x, .residual = weight, .sum = out[which][0], .y = out[which][1], .weight = weight};
    return cj_gpus_norm(gpus, &desc, &arrays, NULL, error);
}

static cj_status crossentropy(cj_gpus *gpus, uint64_t rows, uint64_t columns, unsigned which, cj_error *error) {
    static cj_ptr                     loss[2][GPUS], lse[2][GPUS];
    const cj_gpus_crossentropy_desc   desc = {CJ_INIT(desc), .rows = rows, .columns = columns, .gradient = 1, .smoothing = 0.1};
    const cj_gpus_crossentropy_arrays arrays = {CJ_INIT(arrays), .x = x, .label = label, .loss = loss[which], .lse = lse[which],
                                                .dx = out[which][0]};
    for (uint32_t r = 0; r < GPUS; r++) loss[which][r] = out[which][1][r], lse[which][r] = out[which][1][r] + ROWS * 4;
    return cj_gpus_crossentropy(gpus, &desc, &arrays, NULL, error);
}

static cj_status softmax(cj_gpus *gpus, uint64_t rows, uint64_t columns, unsigned which, cj_error *error) {
    const cj_gpus_softmax_desc desc = {CJ_INIT(desc), .rows = rows, .columns = columns};
    return cj_gpus_softmax(gpus, &desc, x, out[which][0], NULL, error);
}

static cj_status topk(cj_gpus *gpus, uint64_t rows, uint64_t columns, unsigned which, cj_error *error) {
    const cj_topk_desc desc = {CJ_INIT(desc), .rows = rows, .columns = columns, .k = columns < K ? (uint32_t)columns : K};
    return cj_gpus_topk(gpus, &desc, x, out[which][0], out[which][1], NULL, error);
}

static void compare(const char *name, uint64_t rows, uint64_t columns) {
    static unsigned char one[ARRAY], pieces[ARRAY];
    cj_error             error = {0};
    for (uint32_t r = 0; r < GPUS; r++)
        for (unsigned i = 0; i < 2; i++) {
            cj_test_ok(cj_mem_read(device[r], one, out[0][i][r], ARRAY, NULL, &error), &error);
            cj_test_ok(cj_mem_read(device[r], pieces, out[1][i][r], ARRAY, NULL, &error), &error);
            if (memcmp(one, pieces, ARRAY) != 0)
                fail_msg("%s of %llu rows of %llu: array %u of rank %u", name, (unsigned long long)rows, (unsigned long long)columns, i, r);
        }
}

static void try(cj_gpus *few, const char *name, call run, uint64_t rows, uint64_t columns) {
    cj_error error = {0};
    for (unsigned which = 0; which < 2; which++) {
        for (uint32_t r = 0; r < GPUS; r++)
            for (unsigned i = 0; i < 2; i++) cj_test_ok(cj_mem_fill(device[r], out[which][i][r], 0xa5, ARRAY, NULL, &error), &error);
        cj_gpus     *gpus = which ? few : large;
        const size_t before = gpus->loaded_count;
        if (run(gpus, rows, columns, which, &error)) fail_msg("%s of %llu rows: %s", name, (unsigned long long)rows, error.message);
        cj_test_ok(cj_gpus_check(gpus, &error), &error);
        const size_t made = gpus->loaded_count;
        assert_true(made > before);
        if (run(gpus, rows, columns, which, &error)) fail_msg("%s of %llu rows, again: %s", name, (unsigned long long)rows, error.message);
        assert_int_equal(gpus->loaded_count, made);  // so a graph captures the second call
    }
    compare(name, rows, columns);
}

static void pieces_give_the_bits_of_one_launch(void **state) {
    (void)state;
    static const struct {
        const char *name;
        call        run;
        uint64_t    mail;
    } calls[] = {{"norm", norm, 64 << 10}, {"crossentropy", crossentropy, 1024}, {"softmax", softmax, 1024}, {"topk", topk, 1024}};
    static const uint64_t rows[] = {2, 3, 7, 16, 29}, columns[] = {1, 33, 256, 520};
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        cj_gpus *few = make(calls[i].mail);
        for (size_t r = 0; r < CJ_TEST_COUNT(rows); r++)
            for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++) try(few, calls[i].name, calls[i].run, rows[r], columns[c]);
        cj_gpus_destroy(few);
    }
}

// Without what rows.c keeps, the order of the sums would differ: the plan of 70 rows has no clusters, that of a few has.
static void rows_of_a_launch_have_the_blocks_of_all(void **state) {
    (void)state;
    cj_gpus *few = make(64 << 10);
    try(few, "norm", norm, ROWS, COLUMNS);
    cj_gpus_destroy(few);
}

static void expect(cj_status status, const cj_error *error, const char *says) {
    assert_int_equal(status, CJ_INVALID_ARGUMENT);
    if (!strstr(error->message, says)) fail_msg("'%s' does not say '%s'", error->message, says);
}

static void a_row_that_alone_is_too_large_is_refused(void **state) {
    (void)state;
    cj_error           error = {0};
    cj_gpus           *few = make(1024);
    const cj_topk_desc desc = {CJ_INIT(desc), .rows = ROWS, .columns = COLUMNS, .k = 100};
    expect(norm(few, ROWS, COLUMNS, 0, &error), &error, "columns: 1024 of a row take");
    assert_non_null(strstr(error.hint, "make mail larger"));
    expect(cj_gpus_topk(few, &desc, x, out[0][0], out[0][1], NULL, &error), &error, "k: 100 of a row take 4800 bytes of mail, a set has 1024");
    cj_gpus_destroy(few);
}

static void parameters_are_divided_into_those_of_a_launch(void **state) {
    (void)state;
    cj_error  error = {0};
    cj_gpus  *few = make(64 << 10);
    cj_params params, piece;
    cj_plan   plan;
    cj_test_ok(cj_test_params("allreducenorm", "rows=100 columns=512 dtype=f32", &params, &error), &error);
    cj_test_ok(cj_gpus_divide(few, &params, &piece, &error), &error);
    assert_in_range(cj_params_get(&piece, "rows"), 2, 50);
    assert_true(cj_params_get(&piece, "gpus") == GPUS && cj_params_get(&piece, "mail") == 64 << 10);
    cj_test_ok(cj_plan_make(&piece, cj_device_limits(device[0]), NULL, &plan, &error), &error);
    cj_test_ok(cj_gpus_divide(large, &params, &piece, &error), &error);
    assert_int_equal(cj_params_get(&piece, "rows"), 100);
    cj_test_ok(cj_test_params("allreduce", "count=100", &params, &error), &error);
    expect(cj_gpus_divide(few, &params, &piece, &error), &error, "the family allreduce has no rows");
    cj_gpus_destroy(few);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_give_the_bits_of_one_launch),
        cmocka_unit_test(rows_of_a_launch_have_the_blocks_of_all),
        cmocka_unit_test(a_row_that_alone_is_too_large_is_refused),
        cmocka_unit_test(parameters_are_divided_into_those_of_a_launch),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
