// SPDX-License-Identifier: Apache-2.0
// The reference kernels in CUDA C++ give what ours give, on a GPU.
#include "reference_cases.h"
#include "test.h"

static cj_device *device;

static void references_give_what_our_kernels_give(void **state) {
    (void)state;
    cj_test_references(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(references_give_what_our_kernels_give)};
    device = cj_test_gpu();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cj_device_close(device);
    return failed;
}
