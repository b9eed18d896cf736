// SPDX-License-Identifier: Apache-2.0
// ptxas takes every kernel with user functions, without a warning, for the targets with and without clusters.
#include <stdio.h>

#include "test.h"
#include "user_functions.h"

static const cj_dtype types[] = {CJ_F32, CJ_F64, CJ_I32, CJ_U32, CJ_I64, CJ_U64};

static void assemble(const cj_params *params, const char *arch, const char *name) {
    const cj_limits *limits = NULL;
    cj_plan          plan;
    char            *text = NULL, log[4096];
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin(arch, &limits, &error), &error);
    cj_test_ok(cj_plan_make(params, limits, arch, &plan, &error), &error);
    cj_test_ok(cj_plan_emit(&plan, &text, NULL, &error), &error);
    if (!cj_test_assemble(text, arch, log, sizeof log)) fail_msg("%s, %s: %s\n%s", name, arch, log, text);
    cj_text_free(text);
}

static void every_case_assembles(void **state) {
    (void)state;
    for (size_t c = 0; c < cj_test_user_case_count(); c++)
        for (size_t t = 0; t < CJ_TEST_COUNT(types); t++) {
            cj_params params;
            cj_test_user_params(c, types[t], &params);
            assemble(&params, t % 2 ? "sm_90" : "sm_90a", cj_test_user_case_name(c));
            if (t == c % CJ_TEST_COUNT(types)) assemble(&params, "sm_80", cj_test_user_case_name(c));
            cj_test_user_release(&params);
        }
}

int main(void) {
    cj_test_ptxas();
    cj_test_nvrtc();
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_case_assembles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
