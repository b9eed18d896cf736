// SPDX-License-Identifier: Apache-2.0
// Recursion and the stack on a chip: the numbers that the CPU device gives.
#include "programs.h"

#include "test.h"

static void programs_give_what_they_should(void **state) {
    (void)state;
    cj_device *gpu = cj_test_gpu();
    assert_int_equal(cj_programs_run(&cj_stack_programs, gpu), 0);
    cj_device_close(gpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_give_what_they_should)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
