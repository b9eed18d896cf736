// SPDX-License-Identifier: Apache-2.0
// Every collective assembles without a warning: values and arrays, in both strategies, with types and clusters in turn.
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static const char *const ops[] = {"broadcast", "reduce", "allreduce", "gather", "allgather", "scatter", "reduce-scatter",
                                  "all-to-all", "scan", "shift"};
static const char *const combined[] = {"f32", "f64", "i32", "u32", "i64", "u64", "f16", "bf16"};
static const char *const moved[] = {"u8", "f64", "i16", "f16", "i8", "u64", "u16", "bf16"};
static const char *const combines[] = {"sum", "min", "max", "product"};
static const char *const clusters[] = {"1", "2", "3", "4", "7", "8", "16"};
static const char *const targets[] = {"sm_90", "sm_90a", "sm_100a", "sm_120"};

static void assemble(const char *params, const char *arch) { cj_test_assembles("collective", params, arch); }

static void every_collective_assembles(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t op = 0; op < CJ_TEST_COUNT(ops); op++)
        for (unsigned form = 0; form < 4; form++, turn++) {
            const bool folds = strstr(ops[op], "reduce") || !strcmp(ops[op], "scan");
            char       params[160];
            snprintf(params, sizeof params,
                     "op=%s strategy=%s count=%s dtype=%s cluster=%s%s%s%s%s", ops[op], form & 1 ? "push" : "pull",
                     form & 2 ? "37" : "1", (folds ? combined : moved)[(turn + op) % 8], clusters[(turn + op) % 7],
                     folds ? " combine=" : "", folds ? combines[(turn + turn / 4) % 4] : "",
                     strcmp(ops[op], "scan") || turn % 3 ? "" : " exclusive=yes",
                     strcmp(ops[op], "shift") || turn % 2 == 0 ? "" : " around=no");
            assemble(params, strstr(params, "cluster=16") ? "sm_90" : targets[(turn + turn / 4) % 4]);
        }
}

static void combining_assembles_for_every_type(void **state) {
    (void)state;
    for (size_t type = 0; type < CJ_TEST_COUNT(combined); type++)
        for (unsigned form = 0; form < 4; form++) {
            char params[96];
            snprintf(params, sizeof params, "op=%s strategy=%s count=%u dtype=%s combine=%s cluster=4",
                     type % 2 ? "scan" : "reduce", form & 1 ? "push" : "pull", form & 2 ? 40 : 1, combined[type],
                     combines[(type + form) % 4]);
            assemble(params, "sm_90");
        }
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_assembles),
        cmocka_unit_test(combining_assembles_for_every_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
