// SPDX-License-Identifier: Apache-2.0
// The kernels with which every row is held against the chip, on the CPU device alone: they load, they run without a
// hazard under a random schedule, and give what they give under the fixed one.
#include <clusterjit/cpu.h>

#include "semantics.h"
#include "test.h"

enum { EVERY = 3 };  // so manieth form; another seed takes others

static cj_device *fixed, *watched;

static void compare(cj_semantics_group group) {
    const cj_semantics result = cj_test_semantics(group, fixed, watched, cj_test_seed(), EVERY);
    print_message("%u forms compared\n", result.forms);
    assert_int_equal(result.different, 0);
    assert_int_equal(result.refused, 0);
    assert_int_equal(result.failed, 0);
    assert_true(result.forms > 0);
}

static void register_rows(void **state) {
    (void)state;
    compare(CJ_GROUP_REGISTER);
}
static void memory_rows(void **state) {
    (void)state;
    compare(CJ_GROUP_MEMORY);
}
static void atomic_rows(void **state) {
    (void)state;
    compare(CJ_GROUP_ATOMIC);
}
static void warp_rows(void **state) {
    (void)state;
    compare(CJ_GROUP_WARP);
}
static void address_rows(void **state) {
    (void)state;
    compare(CJ_GROUP_ADDRESS);
}
static void control_rows(void **state) {
    (void)state;
    compare(CJ_GROUP_CONTROL);
}

static void every_row_is_compared_or_says_why_not(void **state) {
    (void)state;
    assert_int_equal(cj_semantics_uncovered(), 0);
}

int main(void) {
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_error                error = {0};
    cj_test_ok(cj_device_open(&options, &fixed, &error), &error);
    cj_test_ok(cj_device_open(&options, &watched, &error), &error);
    cj_test_ok(cj_cpu_configure(watched,
                                &(cj_cpu_options){CJ_INIT(cj_cpu_options), .random_schedule = true,
                                                  .seed = cj_test_seed(), .hazards = true},
                                &error),
               &error);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(register_rows), cmocka_unit_test(memory_rows),  cmocka_unit_test(atomic_rows),
        cmocka_unit_test(warp_rows),     cmocka_unit_test(address_rows), cmocka_unit_test(control_rows),
        cmocka_unit_test(every_row_is_compared_or_says_why_not)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cj_device_close(watched);
    cj_device_close(fixed);
    return failed;
}
