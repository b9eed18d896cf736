// SPDX-License-Identifier: Apache-2.0
// The kernels with which the CPU device's instructions on matrices are tested, on a chip: it has the same layouts, and
// is as close to the plain loops. Both devices run the same numbers.
#include "matrix.h"

#include "test.h"

static cj_device *gpu, *cpu;

static void check(const cj_matrix_family *family) {
    const unsigned on_cpu = cj_matrix_run(family, cpu, cj_test_seed());
    const unsigned on_gpu = cj_matrix_run(family, gpu, cj_test_seed());
    print_message("%u kernels, failing: %u on the CPU device, %u on the GPU\n", family->count(), on_cpu, on_gpu);
    assert_int_equal(on_cpu, 0);
    assert_int_equal(on_gpu, 0);
}

static void rows_of_matrices(void **state) {
    (void)state;
    check(&cj_matrix_rows);
}
static void mma(void **state) {
    (void)state;
    check(&cj_matrix_mma);
}
static void wmma(void **state) {
    (void)state;
    check(&cj_matrix_wmma);
}
static void wgmma(void **state) {
    (void)state;
    check(&cj_matrix_wgmma);
}
static void mma_sparse(void **state) {
    (void)state;
    check(&cj_matrix_mma_sparse);
}
static void wgmma_sparse(void **state) {
    (void)state;
    check(&cj_matrix_wgmma_sparse);
}

int main(void) {
    gpu = cj_test_gpu();
    cj_error error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){.spec = "cpu"}, &cpu, &error), &error);
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_matrices), cmocka_unit_test(mma),
                                       cmocka_unit_test(wmma), cmocka_unit_test(wgmma),
                                       cmocka_unit_test(mma_sparse), cmocka_unit_test(wgmma_sparse)};
    const int               failed = cmocka_run_group_tests(tests, NULL, NULL);
    cj_device_close(cpu);
    cj_device_close(gpu);
    return failed;
}
