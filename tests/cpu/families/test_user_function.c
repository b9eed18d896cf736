// SPDX-License-Identifier: Apache-2.0
// Reductions with functions that a user wrote in CUDA C, on the CPU device: every type, with and without clusters.
#include <math.h>
#include <string.h>

#include "test.h"
#include "user_functions.h"

static const cj_dtype types[] = {CJ_F32, CJ_F64, CJ_I32, CJ_U32, CJ_I64, CJ_U64};

static void every_type_and_cluster_is_right(void **state) {
    (void)state;
    static const uint64_t    n[] = {1, 33, 2050};
    static const char *const clusters[] = {"0", "1", "2", "8", "16"};
    size_t                   launches = 0;
    for (size_t c = 0; c < cj_test_user_case_count(); c++)
        for (size_t t = 0; t < CJ_TEST_COUNT(types); t++)
            launches += cj_test_user_case(cj_test_device, c, types[t], n, CJ_TEST_COUNT(n), clusters, CJ_TEST_COUNT(clusters));
    print_message("%zu launches right\n", launches);
}

// ---- the typed call

static float reduced(const cj_reduce_desc *desc, const float *x) {
    cj_error   error = {0};
    cj_reduce *reduce = NULL;
    cj_ptr     in = 0, out = 0;
    float      result = 0;
    cj_test_ok(cj_mem_alloc(cj_test_device, desc->n * sizeof *x, &in, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof result, &out, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, in, x, desc->n * sizeof *x, NULL, &error), &error);
    cj_test_ok(cj_reduce_create(cj_test_device, desc, &reduce, &error), &error);
    cj_test_ok(cj_reduce_run(reduce, in, out, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, &result, out, sizeof result, NULL, &error), &error);
    cj_reduce_destroy(reduce);
    cj_mem_free(cj_test_device, in);
    cj_mem_free(cj_test_device, out);
    return result;
}

static void math_functions_are_right(void **state) {
    (void)state;
    enum { N = 500 };
    float  x[N];
    double want = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i - 250) * 0.01f;
        want += x[i] > 0 ? sqrt((double)x[i]) : exp((double)x[i]);
    }
    cj_user_function *map = cj_test_expression("x > 0 ? sqrtf(x) : expf(x)", CJ_F32, 1);
    const float       got = reduced(&(cj_reduce_desc){CJ_INIT(cj_reduce_desc), .n = N, .map = map, .cluster = 4}, x);
    cj_user_function_destroy(map);
    if (!(fabs(got - want) < 1e-5 * want)) fail_msg("%.9g is not %.9g", (double)got, want);
}

static void a_kernel_keeps_its_functions_alive(void **state) {
    (void)state;
    const float       x[] = {1, -7, 3};
    cj_error          error = {0};
    cj_ptr            in = 0, out = 0;
    float             result = 0;
    cj_user_function *op = cj_test_expression("fabsf(a) > fabsf(b) ? fabsf(a) : fabsf(b)", CJ_F32, 2);
    cj_user_function *identity = cj_test_expression("0", CJ_F32, 0);
    cj_reduce        *reduce = NULL;
    cj_reduce_desc    desc = {CJ_INIT(desc), .n = 3, .op_function = op, .identity = identity};
    cj_test_ok(cj_reduce_create(cj_test_device, &desc, &reduce, &error), &error);
    cj_user_function_destroy(op);
    cj_user_function_destroy(identity);
    const cj_plan *plan = cj_kernel_plan(cj_reduce_kernel(reduce));
    char           word[64];
    assert_string_equal(cj_params_word(&plan->params, "identity", word, sizeof word), "0");
    assert_true(isnan(plan->error_bound));
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &in, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof result, &out, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, in, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_reduce_run(reduce, in, out, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, &result, out, sizeof result, NULL, &error), &error);
    assert_true(result == 7);
    cj_reduce_destroy(reduce);
    cj_mem_free(cj_test_device, in);
    cj_mem_free(cj_test_device, out);
}

static void kernels_of_one_call_tell_functions_apart(void **state) {
    (void)state;
    const float x[] = {1, 2, 3};
    cj_error    error = {0};
    cj_ptr      in = 0, out = 0;
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &in, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof *x, &out, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, in, x, sizeof x, NULL, &error), &error);
    for (int factor = 1; factor < 6;
         factor++) {  // each function is gone when the next one is made, perhaps in its place
        float             result = 0;
        const char *const maps[] = {"x", "x * 2", "x * 3", "x * 4", "x * 5"};
        cj_user_function *map = cj_test_expression(maps[factor - 1], CJ_F32, 1);
        cj_test_ok(cj_reduce_launch(cj_test_device, &(cj_reduce_desc){CJ_INIT(cj_reduce_desc), .n = 3, .map = map}, in,
                                    out, NULL, &error),
                   &error);
        cj_user_function_destroy(map);
        cj_test_ok(cj_mem_read(cj_test_device, &result, out, sizeof result, NULL, &error), &error);
        assert_true(result == 6 * (float)factor);
    }
    cj_mem_free(cj_test_device, in);
    cj_mem_free(cj_test_device, out);
}

int main(void) {
    cj_test_nvrtc();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_cluster_is_right),
        cmocka_unit_test(math_functions_are_right),
        cmocka_unit_test(a_kernel_keeps_its_functions_alive),
        cmocka_unit_test(kernels_of_one_call_tell_functions_apart),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
