// SPDX-License-Identifier: Apache-2.0
// The kernels with which the CPU device's instructions on matrices are tested, on a chip: it has the same layouts, and
// is as close to the plain loops. Both devices run the same numbers.
#include "matrix.h"

#include "test.h"

static cj_device *gpu, *cpu;

static void both_devices_agree_with_plain_loops(void **state) {
    const cj_matrix_family *family = *state;
    const unsigned          on_cpu = cj_matrix_run(family, cpu, cj_test_seed());
    const unsigned          on_gpu = cj_matrix_run(family, gpu, cj_test_seed());
    print_message("%u kernels, failing: %u on the CPU device, %u on the GPU\n", family->count(), on_cpu, on_gpu);
    assert_int_equal(on_cpu, 0);
    assert_int_equal(on_gpu, 0);
}

int main(void) {
    gpu = cj_test_gpu();
    cj_error error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cpu, &error), &error);
    const struct CMUnitTest tests[] = {
        CJ_MATRIX_TEST(both_devices_agree_with_plain_loops, rows),
        CJ_MATRIX_TEST(both_devices_agree_with_plain_loops, mma),
        CJ_MATRIX_TEST(both_devices_agree_with_plain_loops, wmma),
        CJ_MATRIX_TEST(both_devices_agree_with_plain_loops, wgmma),
        CJ_MATRIX_TEST(both_devices_agree_with_plain_loops, mma_sparse),
        CJ_MATRIX_TEST(both_devices_agree_with_plain_loops, wgmma_sparse),
    };
    const int               failed = cmocka_run_group_tests(tests, NULL, NULL);
    cj_device_close(cpu);
    cj_device_close(gpu);
    return failed;
}
