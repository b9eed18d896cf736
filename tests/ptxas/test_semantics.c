// SPDX-License-Identifier: Apache-2.0
// ptxas takes the kernels with which the rows are held against the chip.
#include "semantics.h"

#include "test.h"

enum { EVERY = 3 };  // so manieth form; another seed takes others

static bool assemble(const char *ptx, const char *only, void *user) {
    char       log[4096];
    const bool ok = cj_test_accepts(ptx, "sm_90a", log, sizeof log);
    if (ok || !only) return ok;
    print_error("%s\n%s\n", only, log);
    ++*(unsigned *)user;
    return false;
}

static void kernels_assemble(void **state) {
    (void)state;
    unsigned bad = 0;
    for (unsigned group = 0; group < CJ_GROUP_COUNT; group++)
        cj_semantics_modules((cj_semantics_group)group, cj_test_seed(), EVERY, assemble, &bad);
    if (bad) fail_msg("ptxas refuses %u kernels", bad);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_assemble)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
