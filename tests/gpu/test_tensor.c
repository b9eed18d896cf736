// SPDX-License-Identifier: Apache-2.0
// Tensor copies: the CPU device leaves the same bits in shared memory and in the tensor as the chip does.
#include "semantics_tensor.h"
#include "test.h"

static void tiles_agree_with_the_chip(void **state) {
    (void)state;
    cj_device *gpu = cj_test_gpu(), *cpu = NULL;
    cj_error   error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cpu, &error), &error);
    const cj_semantics result = cj_tensor_compare(gpu, cpu, cj_test_seed());
    print_message("%u tiles compared, %u differ, %u not executed by the CPU device, %u failed\n", result.forms,
                  result.different, result.refused, result.failed);
    cj_device_close(cpu);
    cj_device_close(gpu);
    assert_int_equal(result.different, 0);
    assert_int_equal(result.failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_agree_with_the_chip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
