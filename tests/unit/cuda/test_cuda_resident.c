// SPDX-License-Identifier: Apache-2.0
// A grid that is to be resident at once is cut down to what the driver counts when its kernel loads.
#include <clusterjit/kernel.h>

#include "cuda_rig.h"
#include "emit.h"

static uint32_t loaded_grid(const char *words, uint32_t *planned) {
    cj_device *device = NULL;
    cj_kernel *loaded = NULL;
    cj_params  params;
    cj_plan    plan;
    cj_error   error = {0};
    cj_test_ok(open_fake("gpu", NULL, &device, &error), &error);
    cj_test_ok(cj_test_params("histogram", words, &params, &error), &error);
    cj_test_ok(cj_plan_make(&params, cj_device_limits(device), NULL, &plan, &error), &error);
    cj_test_ok(cj_kernel_load(device, &plan, &loaded, &error), &error);
    const uint32_t grid = cj_kernel_plan(loaded)->grid.x;
    *planned = plan.grid.x;
    cj_kernel_destroy(loaded);
    cj_device_close(device);
    return grid;
}

static void a_driver_that_counts_fewer_clusters_makes_the_grid_smaller(void **state) {
    (void)state;
    uint32_t planned;
    cj_fake_driver.active_clusters = 5;
    assert_int_equal(loaded_grid("n=2^28 bins=2^19 cluster=4", &planned), 20);
    assert_true(planned > 20);
}

// Three blocks share the bins: whole pools remain.
static void whole_pools_remain(void **state) {
    (void)state;
    uint32_t planned;
    cj_fake_driver.blocks_per_sm = 1;
    const uint32_t grid = loaded_grid("n=2^28 bins=2^19", &planned);
    assert_true(grid % 3 == 0 && grid <= planned);
}

static void a_grid_that_was_asked_for_stays(void **state) {
    (void)state;
    uint32_t planned;
    cj_fake_driver.active_clusters = 5;
    assert_int_equal(loaded_grid("n=2^28 bins=2^19 cluster=4 grid=400", &planned), 400);
    assert_int_equal(planned, 400);
}

static void a_driver_that_counts_more_changes_nothing(void **state) {
    (void)state;
    uint32_t planned;
    cj_fake_driver.active_clusters = 1000;
    const uint32_t grid = loaded_grid("n=2^28 bins=2^19 cluster=4", &planned);
    assert_int_equal(grid, planned);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_driver_that_counts_fewer_clusters_makes_the_grid_smaller, reset),
        cmocka_unit_test_setup(whole_pools_remain, reset),
        cmocka_unit_test_setup(a_grid_that_was_asked_for_stays, reset),
        cmocka_unit_test_setup(a_driver_that_counts_more_changes_nothing, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
