// SPDX-License-Identifier: Apache-2.0
// Matrix products on the CPU device, which watches every access.
#include "gemm_cases.h"

#include <string.h>

#include "emit.h"
#include "test.h"

// FEATURES, row 24: a cluster of two blocks, multicast loads feed wgmma.
static void a_cluster_of_two_shares_what_it_loads(void **state) {
    (void)state;
    uint64_t random = 1;
    for (uint64_t seed = 0; seed < 2; seed++) {
        cj_test_watch(seed);
        cj_test_gemm(cj_test_device, "m=200 n=264 k=330 b=column tile=128x256 cluster=2", &random);
    }
}

static void every_layout_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=90 k=72 a=row b=row tile=64x64 cluster=2",
        "m=70 n=90 k=72 a=row b=column tile=64x64 cluster=1 cluster-n=2",
        "m=70 n=90 k=72 a=column b=row tile=64x128 cluster=4 dtype=f16",
        "m=70 n=90 k=72 a=column b=column tile=64x64 cluster=1 cluster-n=4",
        "m=130 n=70 k=72 a=column b=row d=column tile=128x128 cluster=2",
        "m=130 n=70 k=72 a=row b=row d=column c=yes tile=64x64 cluster=2 cluster-n=2",
        "m=130 n=140 k=20 a=row b=column c=yes tile=128x128 cluster=0 dtype=f16",
    };
    uint64_t random = 1;
    for (size_t i = 0; i < CJ_TEST_COUNT(words); i++) {
        cj_test_watch(i % 3);
        cj_test_gemm(cj_test_device, words[i], &random);
    }
}

static void random_problems_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_watch(random % 5);
    cj_test_gemm_random(cj_test_device, 12, 140, &random);
}

static void nan_and_infinity_pass_through(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_watch(0);
    cj_test_gemm_specials(cj_test_device, "m=70 n=40 k=80 tile=64x64 cluster=2", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 a=column dtype=f16 c=yes tile=64x64 cluster=0", &random);
}

static void typed_calls_are_right(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_gemm_calls(cj_test_device);
}

// FEATURES, rows 22 and 24: what the kernel's head promises.
static void the_head_states_block_registers_and_cluster(void **state) {
    (void)state;
    static const char *const directives[] = {".reqntid 384", ".maxnreg 168", ".explicitcluster",
                                             ".reqnctapercluster 2"};
    char                    *text = cj_test_emit("gemm", "m=4096 n=4096 k=4096", "sm_90a");
    for (size_t i = 0; i < CJ_TEST_COUNT(directives); i++)
        if (!strstr(text, directives[i])) fail_msg("there is no %s", directives[i]);
    cj_text_free(text);
}

// FEATURES, row 22.
static void a_block_that_is_no_multiple_of_128_is_refused_by_name(void **state) {
    (void)state;
    char      *text = cj_test_emit("gemm", "", "sm_90a"), *at = strstr(text, ".reqntid ");
    cj_module *module = NULL;
    cj_error   error = {0};
    assert_non_null(at);
    memcpy(at + strlen(".reqntid "), "160", 3);
    assert_int_not_equal(cj_module_from_ptx(cj_test_device, text, strlen(text), &module, &error), CJ_OK);
    assert_string_equal(error.rule, "warpgroup-block");
    cj_text_free(text);
}

static void what_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *words, *arch, *says;
        cj_status   status;
    } cases[] = {
        {"", "sm_80", "wgmma", CJ_UNSUPPORTED},
        {"cluster=4 cluster-n=2", NULL, "4 x 2 blocks", CJ_INVALID_ARGUMENT},
        {"cluster=3", NULL, "3 x 1 blocks", CJ_INVALID_ARGUMENT},
        {"cluster=0 cluster-n=2", NULL, "cluster-n: 2", CJ_INVALID_ARGUMENT},
        {"stages=1", NULL, "stages: 1", CJ_INVALID_ARGUMENT},
        {"tile=128x256 stages=5", NULL, "5 stages of 49152 bytes", CJ_CONTRACT},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_params params;
        cj_plan   plan;
        cj_error  error = {0};
        cj_test_ok(cj_test_params("gemm", cases[i].words, &params, &error), &error);
        assert_int_equal(cj_plan_make(&params, cj_device_limits(cj_test_device), cases[i].arch, &plan, &error),
                         cases[i].status);
        if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", cases[i].words, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_of_two_shares_what_it_loads),
        cmocka_unit_test(every_layout_is_right),
        cmocka_unit_test(random_problems_are_right),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(typed_calls_are_right),
        cmocka_unit_test(the_head_states_block_registers_and_cluster),
        cmocka_unit_test(a_block_that_is_no_multiple_of_128_is_refused_by_name),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
