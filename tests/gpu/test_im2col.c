// SPDX-License-Identifier: Apache-2.0
// Columns of pixels on a chip: the ones that a walk through the bounding box gives, as on the CPU device.
#include "im2col.h"

#include "test.h"

static void columns_are_what_a_walk_gives(void **state) {
    (void)state;
    cj_device *gpu = cj_test_gpu();
    assert_int_equal(cj_im2col_run(gpu, cj_test_seed()), 0);
    cj_device_close(gpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_what_a_walk_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
