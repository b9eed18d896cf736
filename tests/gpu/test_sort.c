// SPDX-License-Identifier: Apache-2.0
// Sorts on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "sort_cases.h"

#include "test.h"

static void any_shape_and_stride_is_right(void **state) {
    (void)state;
    uint64_t  seed = cj_test_seed();
    const int kernels = cj_test_few() ? 12 : 200;
    for (int i = 0; i < kernels; i++) cj_test_sort_random(cj_test_device, &seed, 20000);
}

static void long_rows_of_every_kind_are_right(void **state) {
    (void)state;
    for (int fill = 0; fill < CJ_SORT_FILLS; fill++) {
        cj_test_sort(cj_test_device, "rows=5 columns=16384", (cj_sort_fill)fill, 1);
        if (cj_test_few()) return;
        cj_test_sort(cj_test_device, "rows=5 columns=65536 order=descending", (cj_sort_fill)fill, 2);
        cj_test_sort(cj_test_device, "rows=3 columns=100003 dtype=bf16", (cj_sort_fill)fill, 3);
        cj_test_sort(cj_test_device, "rows=40 columns=16385 dtype=i64", (cj_sort_fill)fill, 4);
        cj_test_sort(cj_test_device, "columns=4194305 rows=1", (cj_sort_fill)fill, 5);
        cj_test_sort(cj_test_device, "rows=3 columns=1000003 dtype=u64 order=descending", (cj_sort_fill)fill, 6);
    }
}

static void rows_about_what_a_warp_a_block_and_a_cluster_hold_are_right(void **state) {
    (void)state;
    cj_test_sort_bounds(cj_test_device, cj_test_seed());
}

static void segments_of_any_length_are_sorted_by_themselves(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (int i = 0; i < (cj_test_few() ? 6 : 100); i++) cj_test_sort_segments(cj_test_device, &seed, i % 2 ? 500 : 20000);
}

static void segments_of_any_length_beside_each_other_are_sorted_by_lists(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (int i = 0; i < (cj_test_few() ? 6 : 100); i++) cj_test_sort_lists(cj_test_device, &seed, i % 2 ? 2500 : 40000);
}

static void a_call_sorts_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_sort_call(cj_test_device);
}

static void a_call_sorts_pairs_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_sort_pairs(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_and_stride_is_right),
        cmocka_unit_test(long_rows_of_every_kind_are_right),
        cmocka_unit_test(rows_about_what_a_warp_a_block_and_a_cluster_hold_are_right),
        cmocka_unit_test(segments_of_any_length_are_sorted_by_themselves),
        cmocka_unit_test(segments_of_any_length_beside_each_other_are_sorted_by_lists),
        cmocka_unit_test(a_call_sorts_and_refuses_what_it_cannot),
        cmocka_unit_test(a_call_sorts_pairs_and_refuses_what_it_cannot),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
