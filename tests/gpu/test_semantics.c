// SPDX-License-Identifier: Apache-2.0
// The CPU device computes what the chip computes, row by row.
#include "semantics.h"

#include "test.h"

static cj_device *gpu, *cpu;

static void compare(cj_semantics_group group) {
    const cj_semantics result = cj_test_semantics(group, gpu, cpu, cj_test_seed(), 1);
    print_message("%u forms compared, %u differ, %u not executed by the CPU device, %u failed\n", result.forms,
                  result.different, result.refused, result.failed);
    assert_int_equal(result.different, 0);
    assert_int_equal(result.refused, 0);
    assert_int_equal(result.failed, 0);
}

static void register_rows_agree_with_the_chip(void **state) {
    (void)state;
    compare(CJ_GROUP_REGISTER);
}
static void memory_rows_agree_with_the_chip(void **state) {
    (void)state;
    compare(CJ_GROUP_MEMORY);
}
static void atomic_rows_agree_with_the_chip(void **state) {
    (void)state;
    compare(CJ_GROUP_ATOMIC);
}
static void warp_rows_agree_with_the_chip(void **state) {
    (void)state;
    compare(CJ_GROUP_WARP);
}
static void address_rows_agree_with_the_chip(void **state) {
    (void)state;
    compare(CJ_GROUP_ADDRESS);
}
static void control_rows_agree_with_the_chip(void **state) {
    (void)state;
    compare(CJ_GROUP_CONTROL);
}

int main(void) {
    gpu = cj_test_gpu();
    cj_error error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cpu, &error), &error);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(register_rows_agree_with_the_chip), cmocka_unit_test(memory_rows_agree_with_the_chip),
        cmocka_unit_test(atomic_rows_agree_with_the_chip),   cmocka_unit_test(warp_rows_agree_with_the_chip),
        cmocka_unit_test(address_rows_agree_with_the_chip),  cmocka_unit_test(control_rows_agree_with_the_chip)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cj_device_close(cpu);
    cj_device_close(gpu);
    return failed;
}
