// SPDX-License-Identifier: Apache-2.0
// Matrix products of a few rows or columns, the other operand straight into registers, on the CPU device, which watches
// every access.
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "gemm_cases.h"
#include "test.h"

// Few rows, few columns; each tile at an edge of the many lines; more sets than K has.
static void every_tile_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=16 n=130 k=200 tile=16x64",
        "m=7 n=130 k=648 tile=16x32 stages=3",
        "m=9 n=65 k=2056 tile=16x16",
        "m=130 n=16 k=200 tile=16x64",
        "m=70 n=8 k=1032 tile=16x32",
        "m=17 n=1 k=8 tile=16x16 stages=3",
        "m=3 n=100 k=72 tile=16x64 stages=3",
        "m=1 n=1 k=8",
        "m=16 n=16 k=512",
    };
    cj_test_gemm_all("form=skinny b=column ", words, CJ_TEST_COUNT(words));
}

static void every_epilogue_type_and_batch_is_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "m=12 n=70 k=72 bias=n activation=gelu c=yes",
        "m=70 n=12 k=72 bias=n activation=relu d=column",
        "m=5 n=71 k=136 bias=m c=yes out=f32 d=column dtype=f16",
        "m=40 n=5 k=136 bias=m activation=silu batch=3 shared=b",
        "m=16 n=50 k=100 dtype=tf32 stages=3 batch=2 c=yes",
        "m=16 n=50 k=1040 dtype=e4m3 out=e4m3 bias=n",
        "m=6 n=50 k=320 dtype=e5m2 dtype-b=e4m3 out=f32 tile=16x64",
        "m=16 n=150 k=1040 dtype=i8 tile=16x64",
        "m=71 n=3 k=320 dtype=u8 dtype-b=i8 out=i8 bias=m c=yes tile=16x32",
        "m=12 n=50 k=528 dtype=i8 out=bf16 d=column activation=relu tile=16x16 stages=3",
    };
    cj_test_gemm_all("form=skinny b=column ", words, CJ_TEST_COUNT(words));
}

static void random_problems_are_right(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    for (unsigned i = 0; i < (cj_test_few() ? 2 : 8); i++) {
        char           words[200];
        const uint64_t x = cj_test_random(&random);
        const unsigned few = (unsigned)(1 + x % 16), many = (unsigned)(1 + (x >> 8) % 150),
                       k = (unsigned)(8 * (1 + (x >> 24) % 200));
        cj_test_watch(i);
        snprintf(words, sizeof words, "form=skinny b=column m=%u n=%u k=%u stages=%u", x >> 60 & 1 ? few : many,
                 x >> 60 & 1 ? many : few, k, (unsigned)(2 + (x >> 61) % 2));
        cj_test_gemm(cj_test_device, words, &random);
    }
}

// NaN and infinity in lines beyond the few, or the many, reach no element of D.
static void nan_and_infinity_pass_through(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_gemm_specials(cj_test_device, "form=skinny b=column m=13 n=70 k=40 dtype=f16 c=yes", &random);
    cj_test_gemm_specials(cj_test_device, "form=skinny b=column m=70 n=3 k=36 activation=silu dtype=tf32", &random);
}

static void dependent_launches_wait_for_each_other(void **state) {
    (void)state;
    uint64_t random = 1;
    cj_test_watch(1);
    cj_test_gemm_chain(cj_test_device, "form=skinny b=column m=16 n=16 k=16", &random);
}

static void what_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *words, *says;
    } cases[] = {
        {"m=17 n=17", "m, n: 17 x 17, but form=skinny is for at most 16"},
        {"m=16 b=row", "A lies by K, B by line"},
        {"m=16 k=1001", "K has 2002 bytes"},
        {"m=16 parts=2", "parts: 2"},
        {"m=16 split=2", "split: 2, but form=skinny has no clusters"},
        {"m=16 stages=4", "stages: 4"},
        {"m=16 tile=64x64", "tile: 64x64 is none of form=skinny"},
        {"m=16 dtype=e4m3 tile=16x64", "tile: 16x64 leaves no registers"},
        {"m=16 tile=16x64 form=wgmma", "tile: 16x64 is none of form=wgmma"},
        {"m=16 tile=16x64 form=mma", "tile: 16x64 is none of form=mma"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char      words[200];
        cj_params params;
        cj_plan   plan;
        cj_error  error = {0};
        snprintf(words, sizeof words, "form=skinny b=column %s", cases[i].words);
        cj_test_ok(cj_test_params("gemm", words, &params, &error), &error);
        assert_int_equal(cj_plan_make(&params, cj_device_limits(cj_test_device), NULL, &plan, &error),
                         CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", words, error.message);
    }
}

// Where all SMs have blocks of short lines, and whatever the blocks are where lines are shorter still.
static void short_lines_are_read_straight_into_registers(void **state) {
    (void)state;
    static const struct {
        const char *words;
        bool        skinny;
    } cases[] = {{"m=8 n=4096 k=512 b=column", true},   {"m=98 n=11 k=512 b=column", true},  {"m=228 n=1 k=512 dtype=e4m3 b=column", true},
                 {"m=1 n=1 k=8 b=column", true},        {"m=98 n=11 k=520 b=column", false}, {"m=16 n=1024 k=4096 dtype=e4m3 b=column", false},
                 {"m=98 n=17 k=512 b=column", false},   {"m=98 n=11 k=512 b=column cluster=1", false}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_limits h200;
        cj_plan   plan;
        cj_error  error = {0};
        cj_test_ok(cj_limits_named("h200", &h200, &error), &error);
        cj_test_plan("gemm", cases[i].words, &h200, &plan);
        if (!strstr(plan.entry, "skinny") == cases[i].skinny) fail_msg("%s: %s", cases[i].words, plan.entry);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_is_right),
        cmocka_unit_test(every_epilogue_type_and_batch_is_right),
        cmocka_unit_test(random_problems_are_right),
        cmocka_unit_test(nan_and_infinity_pass_through),
        cmocka_unit_test(dependent_launches_wait_for_each_other),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
        cmocka_unit_test(short_lines_are_read_straight_into_registers),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
