// SPDX-License-Identifier: Apache-2.0
#include "emit.h"

#include <clusterjit/ptx.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

cj_status cj_test_params(const char *family, const char *assignments, cj_params *params, cj_error *error) {
    const cj_family *found;
    cj_status        status = cj_family_find(family, &found, error);
    if (status) return status;
    cj_params_init(params, found);
    for (const char *at = assignments; *at && !status; at += *at == ' ') {
        char   name[32], text[64];
        size_t name_length = strcspn(at, "="), length = strcspn(at + name_length + 1, " ");
        snprintf(name, sizeof name, "%.*s", (int)name_length, at);
        snprintf(text, sizeof text, "%.*s", (int)length, at + name_length + 1);
        status = cj_params_set(params, name, text, error);
        at += name_length + 1 + length;
    }
    return status;
}

void cj_test_plan(const char *family, const char *assignments, const cj_limits *limits, cj_plan *plan) {
    cj_params params;
    cj_error  error = {0};
    cj_test_ok(cj_test_params(family, assignments, &params, &error), &error);
    cj_test_ok(cj_plan_make(&params, limits, NULL, plan, &error), &error);
}

void cj_test_refused(const char *family, cj_status status, const char *assignments, const char *says) {
    cj_params        params;
    cj_plan          plan;
    const cj_limits *limits;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    cj_test_ok(cj_test_params(family, assignments, &params, &error), &error);
    assert_int_equal(cj_plan_make(&params, limits, NULL, &plan, &error), status);
    if (!strstr(error.message, says)) fail_msg("%s: '%s' does not say '%s'", assignments, error.message, says);
}

char *cj_test_emit(const char *family, const char *assignments, const char *arch) {
    cj_params        params;
    cj_plan          plan;
    const cj_limits *limits;
    cj_error         error = {0};
    char            *text = NULL;
    cj_test_ok(cj_test_params(family, assignments, &params, &error), &error);
    cj_test_ok(cj_limits_builtin(arch, &limits, &error), &error);
    cj_test_ok(cj_plan_make(&params, limits, arch, &plan, &error), &error);
    cj_test_ok(cj_plan_emit(&plan, &text, NULL, &error), &error);
    return text;
}

void cj_test_assembles(const char *family, const char *assignments, const char *arch) {
    char  log[4096];
    char *text = cj_test_emit(family, assignments, arch);
    if (!cj_test_assemble(text, arch, log, sizeof log))
        fail_msg("%s, %s %s: %s\n%s", arch, family, assignments, log, text);
    cj_text_free(text);
}
