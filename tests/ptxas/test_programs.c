// SPDX-License-Identifier: Apache-2.0
// ptxas takes every kernel of the tests that run on both devices: recursion and the stack, columns of pixels, what is out
// of bounds, sparse products.
#include "programs.h"

#include "im2col.h"
#include "matrix.h"
#include "semantics_oob.h"
#include "test.h"

static void expect_assembled(const char *name, const char *ptx) {
    char log[4096];
    if (!cj_test_accepts(ptx, "sm_90a", log, sizeof log)) fail_msg("%s:\n%s", name, log);
}

static void the_stack(void **state) {
    (void)state;
    for (size_t i = 0; i < cj_stack_programs.count; i++)
        expect_assembled(cj_stack_programs.program[i].name, cj_stack_programs.program[i].ptx);
}

static void columns_of_pixels(void **state) {
    (void)state;
    char ptx[CJ_IM2COL_PTX];
    for (unsigned rank = 3; rank <= 5; rank++) {
        for (unsigned way = CJ_IM2COL_LOAD; way <= CJ_IM2COL_PREFETCH; way++) {
            cj_im2col_ptx(ptx, rank, (cj_im2col_way)way);
            expect_assembled("columns of pixels", ptx);
        }
    }
}

static void out_of_bounds(void **state) {
    (void)state;
    char ptx[CJ_OOB_PTX];
    for (unsigned form = 0; form < CJ_OOB_FORMS; form++) {
        cj_oob_ptx(ptx, form);
        expect_assembled(cj_oob_form[form], ptx);
    }
}

static void assemble(const cj_matrix_family *family) {
    cj_text text = {0};
    cj_matrix_text(family, &text);
    expect_assembled(family->name, text.data);
    cj__text_free(&text);
}

static void sparse_products(void **state) {
    (void)state;
    assemble(&cj_matrix_mma_sparse);
    assemble(&cj_matrix_wgmma_sparse);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_stack), cmocka_unit_test(columns_of_pixels),
                                       cmocka_unit_test(out_of_bounds), cmocka_unit_test(sparse_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
