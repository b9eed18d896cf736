// SPDX-License-Identifier: Apache-2.0
// The reference kernels in CUDA C++ give what ours give, on the CPU device.
#include "reference_cases.h"
#include "test.h"

static void references_give_what_our_kernels_give(void **state) {
    (void)state;
    cj_test_references(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(references_give_what_our_kernels_give)};
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
