// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, stores and reductions, mbarriers and fences: the CPU device leaves the same bits in memory as
// the chip does.
#include "semantics_async.h"
#include "test.h"

static cj_device *gpu, *cpu;

static void every_kernel_agrees_with_the_chip(void **state) {
    (void)state;
    cj_semantics all = {0};
    for (size_t i = 0; cj_async_families[i]; i++) {
        const cj_semantics one = cj_async_compare(cj_async_families[i], gpu, cpu, cj_test_seed());
        print_message("%s: %u kernels compared, %u differ, %u not executed by the CPU device, %u failed\n",
                      cj_async_families[i]->name, one.forms, one.different, one.refused, one.failed);
        all.different += one.different;
        all.refused += one.refused;
        all.failed += one.failed;
    }
    assert_int_equal(all.different, 0);
    assert_int_equal(all.refused, 0);
    assert_int_equal(all.failed, 0);
}

int main(void) {
    gpu = cj_test_gpu();
    cj_error error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cpu, &error), &error);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_agrees_with_the_chip)};
    const int               failed = cmocka_run_group_tests(tests, NULL, NULL);
    cj_device_close(cpu);
    cj_device_close(gpu);
    return failed;
}
