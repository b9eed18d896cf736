// SPDX-License-Identifier: Apache-2.0
// ptxas takes every kernel with which the instructions on matrices are tested.
#include "matrix.h"

#include "test.h"

static void assemble(const cj_matrix_family *family) {
    cj_text text = {0};
    char    log[4096];
    cj_matrix_text(family, &text);
    const bool ok = cj_test_assemble(text.data, "sm_90a", log, sizeof log);
    cj__text_free(&text);
    if (!ok) fail_msg("%s: %s", family->name, log);
}

static void rows_of_matrices(void **state) {
    (void)state;
    assemble(&cj_matrix_rows);
}
static void mma(void **state) {
    (void)state;
    assemble(&cj_matrix_mma);
}
static void wmma(void **state) {
    (void)state;
    assemble(&cj_matrix_wmma);
}
static void wgmma(void **state) {
    (void)state;
    assemble(&cj_matrix_wgmma);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_matrices), cmocka_unit_test(mma),
                                       cmocka_unit_test(wmma), cmocka_unit_test(wgmma)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
