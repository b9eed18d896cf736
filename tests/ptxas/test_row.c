// SPDX-License-Identifier: Apache-2.0
// Every kernel of rows assembles, without a warning: every family and pass in every form, and with each of these the
// next types, alignment and target in turn.
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static const struct {
    const char *family, *params;
} kernels[] = {
    {"softmax", ""},
    {"softmax", "mask=yes scale=0.125"},
    {"softmax", "mask=yes mask-rows=64"},
    {"softmax", "pass=backward"},
    {"logsoftmax", "mask=yes"},
    {"logsoftmax", "pass=backward"},
    {"rmsnorm", "residual=yes bias=yes"},
    {"rmsnorm", "pass=backward"},
    {"layernorm", "stats=yes"},
    {"layernorm", "pass=backward weight=no"},
    {"crossentropy", "smoothing=0.1"},
    {"crossentropy", "gradient=yes label=i32"},
};
static const char *const forms[] = {
    "rows=10000 columns=100",
    "rows=10000 columns=4096",
    "rows=100 columns=32768 form=direct cluster=4",
    "rows=10 columns=999999",
    "rows=4096 columns=65536 form=stream",
    "rows=2000 columns=131072 form=stream cluster=8 pieces=3 stages=2",
    "rows=1 columns=1048576",
    "rows=16 columns=262144",
    "rows=1000 columns=262144",
    "rows=30 columns=524288 form=spread",
};
static const char *const types[] = {"dtype=f32", "dtype=bf16", "dtype=f16", "dtype=bf16 out=f32", "dtype=f32 out=f16"};
static const char *const targets[] = {"sm_90", "sm_90a", "sm_100a"};

static void emitted_kernels_assemble(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t k = 0; k < CJ_TEST_COUNT(kernels); k++)
        for (size_t f = 0; f < CJ_TEST_COUNT(forms); f++, turn++) {
            char params[256];
            snprintf(params, sizeof params, "%s %s%s%s", forms[f], types[turn % 5], *kernels[k].params ? " " : "",
                     kernels[k].params);
            cj_test_assembles(kernels[k].family, params, targets[turn / 5 % 3]);
        }
}

static void kernels_of_odd_rows_assemble(void **state) {
    (void)state;
    static const char *const odd[] = {"rows=500000 columns=157", "rows=2000 columns=99433", "rows=1000000 columns=9",
                                      "rows=10000 columns=343 peel=2", "rows=300 columns=5003", "rows=30 columns=2202357",
                                      "rows=10000 columns=2304 stride=2305", "rows=10000 columns=2304 align=4", "rows=2000 columns=99433 align=4"};
    unsigned                 turn = 0;
    for (size_t k = 0; k < CJ_TEST_COUNT(kernels); k++)
        for (size_t f = 0; f < CJ_TEST_COUNT(odd); f++, turn++) {
            char params[256];
            if (strstr(kernels[k].params, "mask-rows")) continue;
            snprintf(params, sizeof params, "%s %s%s%s", odd[f], types[(turn + k) % 5], *kernels[k].params ? " " : "",
                     kernels[k].params);
            cj_test_assembles(kernels[k].family, params, targets[turn / 5 % 3]);
        }
}

static void kernels_with_sums_over_rows_assemble(void **state) {
    (void)state;
    static const char *const dealt[] = {
        "rows=100000 columns=128", "rows=10000 columns=1000 warps=4",   "rows=4096 columns=4096",
        "rows=2000 columns=65536", "rows=2000 columns=90112 cluster=8", "rows=10 columns=999999"};
    static const char *const sums[] = {"weight-gradient=yes bias-gradient=yes", "weight-gradient=yes weight=no",
                                       "bias-gradient=yes"};
    unsigned                 turn = 0;
    for (size_t d = 0; d < CJ_TEST_COUNT(dealt); d++)
        for (size_t s = 0; s < CJ_TEST_COUNT(sums); s++, turn++) {
            char params[256];
            snprintf(params, sizeof params, "%s %s pass=backward %s", dealt[d], types[turn % 5], sums[s]);
            cj_test_assembles(s == 1 ? "rmsnorm" : "layernorm", params, targets[turn / 5 % 3]);
        }
}

static void kernels_without_clusters_assemble(void **state) {
    (void)state;
    cj_test_assembles("softmax", "columns=100000 dtype=bf16", "sm_80");
    cj_test_assembles("layernorm", "columns=4096 align=4 residual=yes", "sm_86");
    cj_test_assembles("crossentropy", "columns=1001 dtype=f16 gradient=yes align=2", "sm_89");
    cj_test_assembles("rmsnorm", "columns=7 pass=backward", "sm_80");
    cj_test_assembles("softmax", "rows=2 columns=1000000", "sm_80");
    cj_test_assembles("rmsnorm", "columns=8192 pass=backward dtype=bf16 weight-gradient=yes", "sm_80");
    cj_test_assembles("layernorm", "columns=30000 pass=backward weight-gradient=yes bias-gradient=yes", "sm_86");
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_kernels_assemble),
        cmocka_unit_test(kernels_of_odd_rows_assemble),
        cmocka_unit_test(kernels_with_sums_over_rows_assemble),
        cmocka_unit_test(kernels_without_clusters_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
