// SPDX-License-Identifier: Apache-2.0
// Stencils on the CPU device, which watches every access.
#include "stencil_cases.h"

#include <string.h>

#include "emit.h"
#include "test.h"

static void run_all(const char *const *words, size_t count) {
    uint64_t random = 1;
    for (uint64_t seed = 0; seed < 2; seed++)
        for (size_t i = 0; i < count; i++) {
            cj_test_watch(seed);
            if (!cj_test_stencil(cj_test_device, words[i], &random)) fail_msg("%s: does not fit", words[i]);
        }
}

static void random_problems_are_right_in_every_way(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cj_test_watch(random % 5);
    const size_t count = cj_test_few() ? 4 : 30, ran = cj_test_stencil_random(cj_test_device, count, 36, &random);
    assert_int_equal(ran, count);
}

static void grids_smaller_than_the_radius_are_right(void **state) {
    (void)state;
    static const char *const words[] = {
        "dim=1 nx=1 radius=4 boundary=periodic steps=5",
        "dim=1 nx=3 radius=4 boundary=periodic steps=5 strategy=blocked",
        "dim=1 nx=2 radius=4 boundary=clamp steps=5 strategy=step",
        "dim=2 nx=1 ny=1 radius=3 boundary=periodic steps=3",
        "dim=2 nx=4 ny=2 radius=4 boundary=periodic steps=3 strategy=blocked form=registers",
        "dim=2 nx=4 ny=1 radius=4 boundary=clamp steps=3 strategy=step form=registers",
        "dim=3 nx=2 ny=1 nz=4 radius=2 boundary=periodic steps=3 cluster=2",
        "dim=3 nx=1 ny=2 nz=1 radius=4 boundary=zero steps=2 strategy=blocked",
    };
    run_all(words, CJ_TEST_COUNT(words));
}

static void a_cluster_holds_the_grid_for_all_steps(void **state) {
    (void)state;
    static const char *const words[] = {
        "dim=2 nx=32 ny=40 steps=9 strategy=resident form=registers cluster=4",
        "dim=2 nx=64 ny=33 steps=6 radius=2 boundary=clamp strategy=resident form=registers cluster=2 batch=2",
        "dim=2 nx=20 ny=61 steps=9 boundary=periodic strategy=resident form=registers cluster=4 depth=2",
        "dim=2 nx=132 ny=36 steps=5 shape=box boundary=periodic strategy=resident form=registers cluster=2",
        "dim=2 nx=24 ny=60 steps=5 radius=4 boundary=clamp dtype=f64 strategy=resident form=registers cluster=3",
        "dim=2 nx=256 ny=40 steps=3 dtype=f64 strategy=resident form=registers cluster=2",
        "dim=3 nx=9 ny=7 nz=13 steps=4 strategy=resident cluster=3 boundary=periodic",
        "dim=1 nx=5000 steps=6 radius=3 strategy=resident cluster=5 boundary=periodic",
    };
    run_all(words, CJ_TEST_COUNT(words));
}

static void tiles_and_strips_overlap_rightly(void **state) {
    (void)state;
    static const char *const words[] = {
        "dim=2 nx=256 ny=50 steps=11 strategy=blocked form=registers depth=4 tile=20",
        "dim=2 nx=256 ny=31 steps=7 strategy=blocked form=registers boundary=periodic depth=3",
        "dim=2 nx=228 ny=31 steps=7 strategy=blocked form=registers boundary=clamp radius=2 depth=3 tile=8",
        "dim=2 nx=200 ny=29 steps=4 strategy=blocked form=registers shape=box boundary=clamp dtype=f64 tile=7",
        "dim=2 nx=132 ny=17 steps=3 strategy=step form=registers batch=3",
        "dim=2 nx=131 ny=47 steps=5 strategy=blocked boundary=periodic cluster=0",
        "dim=2 nx=131 ny=77 steps=5 strategy=blocked boundary=zero cluster=2 tile=16",
        "dim=3 nx=41 ny=11 nz=23 steps=3 strategy=blocked boundary=clamp cluster=2 tile=4",
    };
    run_all(words, CJ_TEST_COUNT(words));
}

static void a_three_point_stencil_of_tiles_of_256_is_right_for_any_length_and_number_of_clusters(void **state) {
    (void)state;
    static const uint32_t n[] = {1, 2, 255, 256, 257, 1023, 1024, 1025, 4096, 9999};
    cj_test_watch(1);
    cj_test_stencil_three_point(cj_test_device, n, CJ_TEST_COUNT(n));
}

static void typed_calls_are_right(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_stencil_calls(cj_test_device);
}

static void what_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        const char *words, *says;
    } cases[] = {
        {"weights=1,2,3", "3 numbers for 5 taps"},
        {"weights=1,2,3e39,4,5", "weights: 3e+39 is beyond f32"},
        {"shape=box radius=4", "81 taps"},
        {"strategy=resident nx=5000 ny=5000", "does not fit"},
        {"form=registers dim=3", "does not fit"},
        {"form=registers nx=6", "does not fit"},
        {"strategy=blocked form=shared dim=3 nx=512 ny=512 nz=512 depth=64 steps=100", "does not fit"},
        {"nx=2^30 ny=2^30", "more than 2^40"},
        {"nx=99 ny=11 radius=3 cluster=4", "cluster: 4 blocks would share 11 points"},
        {"nx=99 ny=99 strategy=blocked form=registers cluster=2", "does not fit"},
        {"steps=3 strategy=blocked depth=5", "depth: 5 is asked for"},
        {"strategy=step depth=2", "depth: 2 is asked for"},
        {"strategy=resident form=shared tile=8", "tile: 8 is asked for"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_params params;
        cj_plan   plan;
        cj_error  error = {0};
        cj_test_ok(cj_test_params("stencil", cases[i].words, &params, &error), &error);
        assert_int_equal(cj_plan_make(&params, cj_device_limits(cj_test_device), NULL, &plan, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, cases[i].says)) fail_msg("%s: %s", cases[i].words, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_are_right_in_every_way),
        cmocka_unit_test(grids_smaller_than_the_radius_are_right),
        cmocka_unit_test(a_cluster_holds_the_grid_for_all_steps),
        cmocka_unit_test(tiles_and_strips_overlap_rightly),
        cmocka_unit_test(a_three_point_stencil_of_tiles_of_256_is_right_for_any_length_and_number_of_clusters),
        cmocka_unit_test(typed_calls_are_right),
        cmocka_unit_test(what_cannot_be_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
