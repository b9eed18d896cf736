// SPDX-License-Identifier: Apache-2.0
// Stencils on a GPU. CJ_FEW=1 runs a few, for compute-sanitizer.
#include "stencil_cases.h"

#include "test.h"

static void random_problems_are_right_in_every_way(void **state) {
    (void)state;
    uint64_t     random = cj_test_seed();
    const size_t count = cj_test_few() ? 6 : 75, ran = cj_test_stencil_random(cj_test_device, count, cj_test_few() ? 40 : 100, &random);
    assert_int_equal(ran, count);
}

static void the_largest_that_fit_a_cluster_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "nx=256 ny=256 steps=50",
        "nx=256 ny=256 steps=50 boundary=periodic cluster=8",
        "nx=512 ny=512 batch=15 steps=20 boundary=clamp",
        "nx=320 ny=301 radius=2 steps=9 strategy=resident",
        "dim=3 nx=60 ny=61 nz=62 steps=5 strategy=resident boundary=periodic",
        "dim=1 nx=400000 steps=5 radius=4 strategy=resident",
    };
    uint64_t random = 3;
    for (size_t i = 0; i < CJ_TEST_COUNT(words) && !cj_test_few(); i++)
        if (!cj_test_stencil(cj_test_device, words[i], &random)) fail_msg("%s: does not fit", words[i]);
}

static void grids_larger_than_a_cluster_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "nx=1024 ny=537 steps=19",
        "nx=1024 ny=337 steps=6 dtype=f64 boundary=periodic strategy=blocked",
        "nx=999 ny=437 steps=6 boundary=clamp strategy=blocked cluster=4",
        "dim=3 nx=110 ny=91 nz=100 steps=3 radius=2",
        "dim=1 nx=300001 steps=33 boundary=clamp strategy=blocked cluster=8",
    };
    uint64_t random = 5;
    for (size_t i = 0; i < CJ_TEST_COUNT(words) && !cj_test_few(); i++) assert_true(cj_test_stencil(cj_test_device, words[i], &random));
}

static void a_three_point_stencil_of_tiles_of_256_is_right_for_any_length_and_number_of_clusters(void **state) {
    (void)state;
    static const uint32_t n[] = {1, 255, 256, 257, 1024, 1025, 9999, 30001};
    cj_test_stencil_three_point(cj_test_device, n, cj_test_few() ? 4 : CJ_TEST_COUNT(n));
}

static void typed_calls_are_right(void **state) {
    (void)state;
    cj_test_stencil_calls(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_are_right_in_every_way),
        cmocka_unit_test(the_largest_that_fit_a_cluster_are_right),
        cmocka_unit_test(grids_larger_than_a_cluster_are_right),
        cmocka_unit_test(a_three_point_stencil_of_tiles_of_256_is_right_for_any_length_and_number_of_clusters),
        cmocka_unit_test(typed_calls_are_right),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
