// SPDX-License-Identifier: Apache-2.0
// Matrix products with a collective on GPUs that CPU devices play, with hazards watched.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <string.h>

#include "gpus_gemm_cases.h"
#include "test.h"

static cj_device *device[CJ_GPUS_MAX];

static int open_devices(void **state) {
    (void)state;
    cj_error                error = {0};
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_cpu_options          watch = {CJ_INIT(watch), .hazards = true, .threads = 1, .instruction_limit = 400 * 1000 * 1000};
    for (uint32_t r = 0; r < CJ_GPUS_MAX; r++) {
        cj_test_ok(cj_device_open(&options, &device[r], &error), &error);
        cj_test_ok(cj_cpu_configure(device[r], &watch, &error), &error);
    }
    return 0;
}

static int close_devices(void **state) {
    (void)state;
    for (uint32_t r = 0; r < CJ_GPUS_MAX; r++) cj_device_close(device[r]);
    return 0;
}

static cj_gpus *make(uint32_t count) {
    cj_error              error = {0};
    cj_gpus              *gpus = NULL;
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = 1024};
    cj_test_ok(cj_gpus_create(device, count, &options, &gpus, &error), &error);
    return gpus;
}

static void products_of_any_shape_are_scattered_and_gathered(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (uint32_t count = 2; count <= 4; count++) {
        cj_gpus *gpus = make(count);
        cj_test_gpus_gemm_all(gpus, NULL, 48, &random, cj_test_few() ? 2 : 6);
        cj_gpus_destroy(gpus);
    }
}

static void the_plan_divides_what_is_large_and_leaves_what_is_small(void **state) {
    (void)state;
    cj_gpus          *gpus = make(2);
    cj_gpus_gemm_desc desc = {CJ_INIT(desc), .m = 8, .n = 16, .k = 16, .dtype = CJ_BF16};
    cj_test_gpus_gemm(gpus, &desc, true, NULL);
    desc.m = 2 * 7, desc.chunks = 7;
    cj_test_gpus_gemm(gpus, &desc, false, NULL);
    cj_test_gpus_gemm(gpus, &desc, true, NULL);
    cj_gpus_destroy(gpus);
}

static void expect(cj_status status, const cj_error *error, const char *says) {
    assert_int_equal(status, CJ_INVALID_ARGUMENT);
    if (!strstr(error->message, says)) fail_msg("'%s' does not say '%s'", error->message, says);
}

static void bad_input_is_refused_by_name(void **state) {
    (void)state;
    cj_error          error = {0};
    cj_gpus          *gpus = make(2);
    cj_gpus_gemm_desc desc = {CJ_INIT(desc), .m = 7, .n = 16, .k = 16, .dtype = CJ_BF16};
    cj_ptr            memory[CJ_GPUS_MAX], odd[CJ_GPUS_MAX];
    cj_test_ok(cj_gpus_alloc(gpus, 4096, memory, &error), &error);
    for (uint32_t r = 0; r < 2; r++) odd[r] = memory[r] + 2;
    expect(cj_gpus_all_gather_gemm(gpus, &desc, memory, memory, memory, NULL, &error), &error, "m: 7 rows are no multiple of the 2 ranks");
    desc.m = 8, desc.n = 12;
    expect(cj_gpus_all_gather_gemm(gpus, &desc, memory, memory, memory, NULL, &error), &error, "n: 12 is no multiple of 8");
    desc.n = 16, desc.k = 4;
    expect(cj_gpus_gemm_reduce_scatter(gpus, &desc, memory, memory, memory, NULL, &error), &error, "k: 4 is no multiple of 8");
    desc.k = 16, desc.chunks = 3;
    expect(cj_gpus_gemm_reduce_scatter(gpus, &desc, memory, memory, memory, NULL, &error), &error, "chunks: 3 do not divide the 4 rows");
    desc.chunks = 0, desc.dtype = CJ_F64;
    expect(cj_gpus_gemm_reduce_scatter(gpus, &desc, memory, memory, memory, NULL, &error), &error, "dtype");
    desc.dtype = CJ_BF16;
    expect(cj_gpus_gemm_reduce_scatter(gpus, &desc, odd, memory, memory, NULL, &error), &error, "a");
    expect(cj_gpus_gemm_reduce_scatter(gpus, &desc, memory, NULL, memory, NULL, &error), &error, "b is NULL");
    desc.m = UINT64_C(1) << 29;
    expect(cj_gpus_gemm_reduce_scatter(gpus, &desc, memory, memory, memory, NULL, &error), &error, "more than 2^28 elements");
    cj_gpus_free(gpus, memory);
    cj_gpus_destroy(gpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_any_shape_are_scattered_and_gathered),
        cmocka_unit_test(the_plan_divides_what_is_large_and_leaves_what_is_small),
        cmocka_unit_test(bad_input_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
