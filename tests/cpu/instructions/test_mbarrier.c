// SPDX-License-Identifier: Apache-2.0
// mbarriers on the CPU device.
#include "mbarrier_cases.h"

static void every_case(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(mbarrier_cases); i++) run_case(&mbarrier_cases[i]);
}

static void every_mutant(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(mbarrier_mutants); i++) run_mutant(&mbarrier_mutants[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case), cmocka_unit_test(every_mutant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
