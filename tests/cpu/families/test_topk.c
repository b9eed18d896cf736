// SPDX-License-Identifier: Apache-2.0
// Top-k on the CPU device, watched for hazards.
#include "topk_cases.h"

#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static void every_type_order_and_kind_of_row_is_right(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "u32"};
    for (unsigned t = 0; t < 5; t++)
        for (unsigned fill = 0; fill < CJ_TOPK_FILLS; fill++) {
            char words[160];
            cj_test_watch(fill);
            snprintf(words, sizeof words, "rows=2 columns=1504 k=%u dtype=%s order=%s block=64", 5 + 20 * fill,
                     types[t], (t + fill) % 2 ? "largest" : "smallest");
            cj_test_topk(cj_test_device, words, (cj_topk_fill)fill, 0, fill);
        }
}

static void one_element_and_all_of_them_are_found(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_topk(cj_test_device, "rows=3 columns=1 k=1", CJ_TOPK_RANDOM, 0, 1);
    cj_test_topk(cj_test_device, "rows=2 columns=64 k=64", CJ_TOPK_RANDOM, 0, 2);
    cj_test_topk(cj_test_device, "rows=1 columns=2048 k=2048", CJ_TOPK_RANDOM, 0, 3);
    cj_test_topk(cj_test_device, "rows=1 columns=5001 k=2048 order=smallest", CJ_TOPK_WILD, 0, 4);
    cj_test_topk(cj_test_device, "rows=1 columns=5001 k=2048 form=sift", CJ_TOPK_WILD, 0, 4);
    cj_test_topk(cj_test_device, "rows=2 columns=3000 k=77 result=kth index=u32", CJ_TOPK_FEW, 0, 5);
}

static void rows_about_a_round_and_thresholds_about_a_guess_are_right(void **state) {
    (void)state;
    cj_test_watch(2);
    cj_test_topk_rounds(cj_test_device, 7);
}

static void what_is_found_digit_by_digit_is_right(void **state) {
    (void)state;
    for (unsigned schedule = 0; schedule < 3; schedule++) {
        cj_test_watch(schedule);
        cj_test_topk_radix(cj_test_device, 11 + 100 * schedule);
    }
}

static void lanes_of_a_warp_sort_short_rows(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_topk_warp(cj_test_device, 5);
}

static void the_last_part_of_a_row_finds_what_one_block_would(void **state) {
    (void)state;
    for (unsigned schedule = 0; schedule < 3; schedule++) {
        cj_test_watch(schedule);
        cj_test_topk_parts(cj_test_device, 3 + 100 * schedule);
    }
}

static void the_blocks_of_a_cluster_find_what_one_would(void **state) {
    (void)state;
    static const unsigned clusters[] = {1, 2, 3, 8, 16};
    for (size_t i = 0; i < CJ_TEST_COUNT(clusters); i++) {
        char words[160];
        cj_test_watch(i);
        snprintf(words, sizeof words, "rows=2 columns=%u k=100 cluster=%u block=32", i & 1 ? 140 : 3000, clusters[i]);
        cj_test_topk(cj_test_device, words, i & 1 ? CJ_TOPK_FEW : CJ_TOPK_RANDOM, 0, i);
    }
}

// Candidates of which none, one or many must go; all equal, so that only indices tell them apart; in one block or
// several.
static void without_an_order_the_same_elements_are_found(void **state) {
    (void)state;
    for (unsigned fill = 0; fill < CJ_TOPK_FILLS; fill++) {
        static const char *const shapes[] = {"rows=2 columns=1504 k=33 block=64",
                                             "rows=1 columns=700 k=700 block=32 dtype=i32",
                                             "rows=1 columns=3000 k=257 block=96 dtype=bf16 order=smallest index=u32",
                                             "rows=2 columns=2000 k=100 cluster=3 block=32 dtype=u32",
                                             "rows=1 columns=300 k=200 cluster=2 block=64 dtype=f16 align=2"};
        for (size_t i = 0; i < CJ_TEST_COUNT(shapes); i++) {
            char words[160];
            cj_test_watch(fill + i);
            snprintf(words, sizeof words, "%s result=any", shapes[i]);
            cj_test_topk(cj_test_device, words, (cj_topk_fill)fill, 0, fill + i);
        }
    }
}

static void any_shape_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < 40; i++) {
        cj_test_watch(i % 3);
        cj_test_topk_random(cj_test_device, &seed, 3000);
    }
}

static void a_call_finds_them_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_topk_call(cj_test_device);
    cj_test_topk_call_unsorted(cj_test_device);
}

static void impossible_shapes_are_refused_by_name(void **state) {
    (void)state;
    cj_test_refused("topk", CJ_INVALID_ARGUMENT, "columns=50 k=51", "k: 51 is more than the 50 columns");
    cj_test_refused("topk", CJ_INVALID_ARGUMENT, "columns=100 k=5 stride=99", "stride: 99 is below the 100 columns");
    cj_test_refused("topk", CJ_INVALID_ARGUMENT, "columns=257 k=5 form=warp", "form: warp has a row of at most 256");
    cj_test_refused("topk", CJ_INVALID_ARGUMENT, "columns=25 k=5 form=warp cluster=2", "cluster: 2 blocks cannot share");
    cj_test_refused("topk", CJ_INVALID_ARGUMENT, "columns=5000 k=5 parts=2 cluster=2", "parts: 2 parts of a row are blocks");
    cj_test_refused("topk", CJ_INVALID_ARGUMENT, "columns=5000 k=5 parts=2 form=radix", "parts: 2 parts of a row go with form=sift");
    cj_test_refused("topk", CJ_CONTRACT, "rows=2^30 cluster=4", "more blocks");
    cj_test_refused("topk", CJ_CONTRACT, "columns=100000 cluster=0 form=radix", "radix holds the 100000 columns of a row in 1 block,");
    cj_test_refused("topk", CJ_CONTRACT, "columns=2^20 k=2048 cluster=16 form=sift", "16 blocks of 32 threads take 262144 bytes");
}

// What is left to the plan becomes what fits shared memory: less of sm_120 than of sm_90.
static void what_the_plan_chooses_fits_shared_memory(void **state) {
    (void)state;
    static const struct {
        const char *words, *arch;
        uint32_t    cluster, shared;
    } cases[] = {
        {"rows=2 columns=65536 k=2048 dtype=bf16 form=sift", "sm_90", 8, 131072},
        {"rows=2 columns=65536 k=2048 dtype=bf16 form=sift", "sm_120", 4, 81920},
        {"rows=2 columns=65536 k=2048 dtype=f32 block=32 form=sift", "sm_120", 4, 65536},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_params        params;
        cj_plan          plan;
        const cj_limits *limits;
        cj_error         error = {0};
        cj_test_ok(cj_limits_builtin(cases[i].arch, &limits, &error), &error);
        cj_test_ok(cj_test_params("topk", cases[i].words, &params, &error), &error);
        cj_test_ok(cj_plan_make(&params, limits, cases[i].arch, &plan, &error), &error);
        assert_int_equal(plan.cluster.x, cases[i].cluster);
        assert_int_equal(plan.dynamic_shared, cases[i].shared);
        cj_text_free(cj_test_emit("topk", cases[i].words, cases[i].arch));
    }
}

static void what_fits_nowhere_is_refused_with_the_limit(void **state) {
    (void)state;
    static const char *const hints[][2] = {
        {"columns=65536 k=2048 dtype=f32", "choose a smaller k"},
        {"columns=65536 k=2048 dtype=f32 block=512",
         "leave cluster and block at their defaults, or choose a smaller k"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(hints); i++) {
        cj_params        params;
        cj_plan          plan;
        const cj_limits *builtin;
        cj_error         error = {0};
        cj_test_ok(cj_limits_builtin("sm_120", &builtin, &error), &error);
        cj_limits small = *builtin;
        small.shared_per_block_optin = 49152;
        cj_test_ok(cj_test_params("topk", hints[i][0], &params, &error), &error);
        assert_int_equal(cj_plan_make(&params, &small, "sm_120", &plan, &error), CJ_CONTRACT);
        if (!strstr(error.message, "k: ") || !strstr(error.message, "more than the 49152 of a block"))
            fail_msg("'%s' does not say the limit", error.message);
        assert_string_equal(error.hint, hints[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_order_and_kind_of_row_is_right),
        cmocka_unit_test(one_element_and_all_of_them_are_found),
        cmocka_unit_test(rows_about_a_round_and_thresholds_about_a_guess_are_right),
        cmocka_unit_test(what_is_found_digit_by_digit_is_right),
        cmocka_unit_test(lanes_of_a_warp_sort_short_rows),
        cmocka_unit_test(the_last_part_of_a_row_finds_what_one_block_would),
        cmocka_unit_test(the_blocks_of_a_cluster_find_what_one_would),
        cmocka_unit_test(without_an_order_the_same_elements_are_found),
        cmocka_unit_test(any_shape_stride_and_alignment_is_right),
        cmocka_unit_test(a_call_finds_them_and_refuses_what_it_cannot),
        cmocka_unit_test(impossible_shapes_are_refused_by_name),
        cmocka_unit_test(what_the_plan_chooses_fits_shared_memory),
        cmocka_unit_test(what_fits_nowhere_is_refused_with_the_limit),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
