// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/cpu with asynchronous work against ptxas: what the CPU device runs is PTX.
#include "async_cases.h"
#include "mbarrier_cases.h"
#include "tensor_kernels.h"
#include "semantics_async.h"
#include "semantics_tensor.h"

static void expect_assembled(const char *name, const char *ptx) {
    char log[4096];
    if (!cj_test_accepts(ptx, "sm_90a", log, sizeof log)) fail_msg("%s:\n%s\n%s", name, log, ptx);
}

static void cases_assemble(const async_case *cases, size_t count) {
    char ptx[16384];
    for (size_t i = 0; i < count; i++) {
        async_ptx(&cases[i], ptx, sizeof ptx);
        expect_assembled(cases[i].name, ptx);
    }
}

static void mbarriers(void **state) {
    (void)state;
    cases_assemble(mbarrier_cases, CJ_TEST_COUNT(mbarrier_cases));
    cases_assemble(mbarrier_mutants, CJ_TEST_COUNT(mbarrier_mutants));
}

static void asynchronous_copies(void **state) {
    (void)state;
    cases_assemble(async_cases, CJ_TEST_COUNT(async_cases));
    cases_assemble(async_mutants, CJ_TEST_COUNT(async_mutants));
    cases_assemble(async_unordered, CJ_TEST_COUNT(async_unordered));
    for (size_t i = 0; i < CJ_TEST_COUNT(async_pairs); i++) {
        const async_pair *p = &async_pairs[i];
        cases_assemble(&(async_case){p->name, p->shape, p->variables, p->body, 1, NULL, NULL, NULL}, 1);
    }
    char ptx[16384];
    async_reduction_ptx(ptx, sizeof ptx, "add.noftz.bf16", 1, 2);
    expect_assembled("bulk reduction", ptx);
}

static void tensor_copies(void **state) {
    (void)state;
    char ptx[16384];
    for (unsigned rank = 1; rank <= 5; rank++) {
        tensor_load_ptx(ptx, sizeof ptx, rank, 1024);
        expect_assembled("tensor load", ptx);
        tensor_store_ptx(ptx, sizeof ptx, rank, rank % 2);
        expect_assembled("tensor store", ptx);
    }
    tensor_multicast_ptx(ptx, sizeof ptx, "");
    expect_assembled("tensor multicast", ptx);
    expect_assembled("tensormap.replace", tensor_replace);
}

// The kernels that are run on both devices.
static void assemble(const char *name, cj_text *text) {
    char       log[4096];
    const bool ok = cj_test_accepts(text->data, "sm_90a", log, sizeof log);
    cj__text_free(text);
    if (!ok) fail_msg("%s: %s", name, log);
}

static void rows(void **state) {
    (void)state;
    cj_text text = {0};
    for (size_t i = 0; cj_async_families[i]; i++) {
        cj_async_text(cj_async_families[i], &text);
        assemble(cj_async_families[i]->name, &text);
    }
    cj_tensor_text(&text);
    assemble("tensor copies", &text);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {cmocka_unit_test(mbarriers), cmocka_unit_test(asynchronous_copies),
                                       cmocka_unit_test(rows), cmocka_unit_test(tensor_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
