// SPDX-License-Identifier: Apache-2.0
// Top-k on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "topk_cases.h"

#include <stdio.h>

#include "test.h"

static void any_shape_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t  seed = cj_test_seed();
    const int kernels = cj_test_few() ? 12 : 120;
    for (int i = 0; i < kernels; i++) cj_test_topk_random(cj_test_device, &seed, 20000);
}

static void long_rows_of_every_kind_are_right(void **state) {
    (void)state;
    for (int fill = 0; fill < CJ_TOPK_FILLS; fill++) {
        cj_test_topk(cj_test_device, "rows=5 columns=65536 k=64", (cj_topk_fill)fill, 0, 1);
        cj_test_topk(cj_test_device, "rows=5 columns=65536 k=64 result=any", (cj_topk_fill)fill, 0, 1);
        if (cj_test_few()) return;
        cj_test_topk(cj_test_device, "rows=3 columns=200000 k=2048 order=smallest", (cj_topk_fill)fill, 0, 2);
        cj_test_topk(cj_test_device, "rows=3 columns=200000 k=2048 result=any", (cj_topk_fill)fill, 0, 5);
        cj_test_topk(cj_test_device, "rows=9 columns=131072 k=64 result=any cluster=8", (cj_topk_fill)fill, 0, 6);
        cj_test_topk(cj_test_device, "rows=3 columns=131072 k=50 dtype=bf16 cluster=8", (cj_topk_fill)fill, 0, 3);
        cj_test_topk(cj_test_device, "rows=40 columns=100003 k=300 dtype=f16 align=2", (cj_topk_fill)fill, 1, 4);
    }
}

static void rows_about_a_round_and_thresholds_about_a_guess_are_right(void **state) {
    (void)state;
    if (!cj_test_few()) cj_test_topk_rounds(cj_test_device, cj_test_seed());
}

static void short_rows_and_rows_in_parts_are_right(void **state) {
    (void)state;
    if (cj_test_few()) {
        cj_test_topk(cj_test_device, "rows=5 columns=60 k=7 form=warp", CJ_TOPK_WILD, 0, 1);
        cj_test_topk(cj_test_device, "rows=2 columns=20003 k=7 dtype=f16 parts=9", CJ_TOPK_RANDOM, 0, 2);
        return;
    }
    cj_test_topk_warp(cj_test_device, cj_test_seed());
    cj_test_topk_parts(cj_test_device, cj_test_seed());
    for (int fill = 0; fill < CJ_TOPK_FILLS; fill++) {
        cj_test_topk(cj_test_device, "rows=1 columns=3000001 k=2 dtype=f16", (cj_topk_fill)fill, 0, 7);
        cj_test_topk(cj_test_device, "rows=2 columns=1000000 k=1024", (cj_topk_fill)fill, 0, 8);
    }
}

static void a_call_finds_them_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_topk_call(cj_test_device);
    cj_test_topk_call_unsorted(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_stride_and_alignment_is_right),
        cmocka_unit_test(long_rows_of_every_kind_are_right),
        cmocka_unit_test(rows_about_a_round_and_thresholds_about_a_guess_are_right),
        cmocka_unit_test(short_rows_and_rows_in_parts_are_right),
        cmocka_unit_test(a_call_finds_them_and_refuses_what_it_cannot),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
