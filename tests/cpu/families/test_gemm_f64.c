// SPDX-License-Identifier: Apache-2.0
// Matrix products of f64 on the CPU device, which watches every access, by the instructions of each target.
#include "gemm_cases.h"

#include <clusterjit/gemm.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static void every_order_and_tile_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=70 n=90 k=72 dtype=f64 tile=64x64",
        "m=70 n=90 k=72 dtype=f64 a=column b=column tile=64x64",
        "m=130 n=140 k=40 dtype=f64 a=column b=column tile=128x128 d=column",
        "m=130 n=140 k=40 dtype=f64 tile=128x128 c=yes",
        "m=130 n=70 k=33 dtype=f64 b=column tile=128x64 bias=n",
        "m=130 n=70 k=33 dtype=f64 a=column tile=128x64",
        "m=66 n=130 k=50 dtype=f64 a=column tile=64x128",
        "m=66 n=130 k=50 dtype=f64 b=column tile=64x128 d=column c=yes",
        "m=40 n=140 k=20 dtype=f64 b=column tile=32x128",
        "m=33 n=140 k=20 dtype=f64 a=column tile=32x128 bias=m",
        "m=17 n=129 k=70 dtype=f64 b=column tile=16x128",
        "m=17 n=129 k=70 dtype=f64 a=column tile=16x128 d=column",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

// Fewer steps than stages, than parts; one element; odd sizes, which 16 bytes do not divide.
static void every_end_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=1 n=1 k=1 dtype=f64",
        "m=1 n=1 k=1 dtype=f64 a=column b=column d=column align=8 c=yes bias=n",
        "m=3 n=5 k=15 dtype=f64 align=8",
        "m=3 n=5 k=17 dtype=f64 b=column align=8",
        "m=67 n=65 k=31 dtype=f64 a=column b=column tile=64x64 align=8 stages=2",
        "m=67 n=65 k=33 dtype=f64 tile=64x64 align=8 c=yes bias=m activation=relu stages=4",
        "m=67 n=127 k=16 dtype=f64 tile=128x128 align-a=8 align-d=8",
        "m=67 n=129 k=49 dtype=f64 b=column tile=16x128 align-b=8 parts=3 c=yes",
        "m=129 n=7 k=500 dtype=f64 a=column tile=128x64 align-b=8 align-c=8 parts=7 c=yes batch=2",
        "m=41 n=43 k=640 dtype=f64 parts=64 d=column",
        "m=70 n=41 k=100 dtype=f64 batch=3 shared=b tile=64x128 parts=2 bias=n activation=relu",
        "m=70 n=41 k=100 dtype=f64 batch=2 shared=ac c=yes d=column",
    };
    cj_test_gemm_all("", words, CJ_TEST_COUNT(words));
}

static void random_problems_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (unsigned i = 0; i < (cj_test_few() ? 1 : 3); i++) {
        cj_test_watch(i);
        cj_test_gemm_random_f64(cj_test_device, cj_test_few() ? 2 : 6, cj_test_few() ? 70 : 140, &random);
    }
}

static void nan_and_infinity_pass_through(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 dtype=f64 a=column c=yes tile=64x64", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=31 dtype=f64 b=column activation=relu bias=n", &random);
    cj_test_gemm_specials(cj_test_device, "m=65 n=70 k=64 dtype=f64 parts=3", &random);
}

static void dependent_launches_wait_for_each_other(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_watch(1);
    cj_test_gemm_chain(cj_test_device, "m=70 n=70 k=70 dtype=f64 tile=64x64 parts=2", &random);
}

static void targets_without_m16n8k8_are_right(void **state) {
    (void)state;
    static const char *const words[] = {"m=70 n=90 k=33 dtype=f64 tile=64x64 align=8 c=yes bias=n",
                                        "m=70 n=90 k=72 dtype=f64 a=column b=column tile=64x128 parts=2",
                                        "m=130 n=129 k=20 dtype=f64 a=column tile=128x128 d=column", "m=17 n=40 k=50 dtype=f64 b=column tile=16x128"};
    uint64_t random = 1;
    cj_test_watch(1);
    for (size_t i = 0; i < CJ_TEST_COUNT(words); i++)
        if (cj_test_chosen(i, CJ_TEST_COUNT(words))) cj_test_gemm_for(cj_test_device, "sm_80", words[i], &random);
}

// m8n8k4 before sm_90, m16n8k8 from there on, and no other form on any target.
static void each_target_has_its_instruction(void **state) {
    (void)state;
    static const struct {
        const char *arch, *has, *lacks;
    } cases[] = {{"sm_80", ".m8n8k4.", ".m16n8k8."}, {"sm_89", ".m8n8k4.", ".m16n8k8."},  {"sm_90", ".m16n8k8.", ".m8n8k4."},
                 {"sm_90a", ".m16n8k8.", ".m8n8k4."}, {"sm_100", ".m16n8k8.", ".m8n8k4."}, {"sm_120", ".m16n8k8.", ".m8n8k4."}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char *text = cj_test_emit("gemm", "m=16 n=512 k=600 dtype=f64 b=column", cases[i].arch);
        if (!strstr(text, cases[i].has) || strstr(text, cases[i].lacks)) fail_msg("%s", cases[i].arch);
        cj_text_free(text);
    }
}

// Of short K and many tiles those of which an SM has several; of narrow D no wider ones. H200, 2026-11-30 (templates/gemm/problem/constants.def).
static void tiles_that_were_measured_to_be_fast_are_taken(void **state) {
    (void)state;
    static const struct {
        const char *words, *tile;
        uint64_t    stages;
    } cases[] = {{"m=2560 n=1536 k=128", "64x64", 4}, {"m=1024 n=8936 k=4", "64x64", 4}, {"m=3072 n=56 k=28", "64x64", 6},
                 {"m=1024 n=3 k=48", "64x64", 6},     {"m=820 n=80 k=37", "16x128", 6}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char      words[96], tile[16];
        cj_limits h200;
        cj_plan   plan;
        cj_error  error = {0};
        snprintf(words, sizeof words, "dtype=f64 b=column %s", cases[i].words);
        cj_test_ok(cj_limits_named("h200", &h200, &error), &error);
        cj_test_plan("gemm", words, &h200, &plan);
        cj_params_word(&plan.params, "tile", tile, sizeof tile);
        const uint64_t stages = cj_params_get(&plan.params, "stages");
        if (strcmp(tile, cases[i].tile) || stages != cases[i].stages) fail_msg("%s: tile=%s, %u stages", words, tile, (unsigned)stages);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_and_tile_is_right),
        cmocka_unit_test(every_end_is_right),
        cmocka_unit_test(targets_without_m16n8k8_are_right),
        cmocka_unit_test(random_problems_are_right),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(dependent_launches_wait_for_each_other),
        cmocka_unit_test(each_target_has_its_instruction),
        cmocka_unit_test(tiles_that_were_measured_to_be_fast_are_taken),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
