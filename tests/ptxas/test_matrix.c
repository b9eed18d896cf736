// SPDX-License-Identifier: Apache-2.0
// ptxas takes every kernel with which the instructions on matrices are tested.
#include "matrix.h"

#include "test.h"

static void assembles(void **state) {
    const cj_matrix_family *family = *state;
    cj_text                 text = {0};
    char                    log[4096];
    cj_matrix_text(family, &text);
    const bool ok = cj_test_accepts(text.data, "sm_90a", log, sizeof log);
    cj__text_free(&text);
    if (!ok) fail_msg("%s: %s", family->name, log);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {CJ_MATRIX_TEST(assembles, rows), CJ_MATRIX_TEST(assembles, mma),
                                       CJ_MATRIX_TEST(assembles, wmma), CJ_MATRIX_TEST(assembles, wgmma)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
