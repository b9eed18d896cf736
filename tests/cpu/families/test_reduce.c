// SPDX-License-Identifier: Apache-2.0
// The reduction on the CPU device.
#include <string.h>

#include "reduce_cases.h"
#include "test.h"

static void sizes_around_every_boundary_are_right(void **state) {
    (void)state;
    static const uint64_t        n[] = {1, 2, 3, 15, 17, 31, 255, 256, 257, 1023, 1024, 1025, 4099};
    static const cj_reduce_shape shapes[] = {{0},        {256, 4, 0}, {64, 16, 16}, {64, CJ_REDUCE_NO_CLUSTER, 7},
                                             {32, 2, 8}, {96, 1, 3},  {128, 8, 0}};
    const cj_reduce_cases        cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .shape = shapes,
                                          .shape_count = CJ_TEST_COUNT(shapes), .shapes_each = 1, .unaligned_n = 1025};
    for (size_t type = 0; type < CJ_REDUCE_TYPES; type++)
        if (cj_test_chosen(type, 4)) cj_test_reduce(cj_test_device, (cj_dtype)type, &cases);
}

static void every_block_size_is_right(void **state) {
    (void)state;
    static const uint64_t        n[] = {33, 5000};
    static const cj_reduce_shape shapes[] = {{32, 3, 0},   {64, 16, 0},  {96, 3, 6},
                                             {992, 16, 0}, {1024, 3, 0}, {1024, CJ_REDUCE_NO_CLUSTER, 3},
                                             {32, CJ_REDUCE_NO_CLUSTER, 70}};
    const cj_reduce_cases        cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .shape = shapes,
                                          .shape_count = CJ_TEST_COUNT(shapes), .shapes_each = 2, .unaligned_n = 5000};
    static const cj_dtype        types[] = {CJ_F32, CJ_U64, CJ_BF16};
    for (size_t i = 0; i < CJ_TEST_COUNT(types); i++)
        if (cj_test_chosen(i, 3)) cj_test_reduce(cj_test_device, types[i], &cases);
}

// What the plan chooses: a block, a cluster, blocks that combine in the workspace.
static void chosen_shapes_are_right(void **state) {
    (void)state;
    static const uint64_t        n[] = {4096, 65537, (1 << 20) + 3};
    static const cj_reduce_shape shapes[] = {{0}};
    const cj_reduce_cases        cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .shape = shapes, .shape_count = 1,
                                          .unaligned_n = 65537};
    if (cj_test_chosen(0, 2)) cj_test_reduce(cj_test_device, CJ_F32, &cases);
    if (cj_test_chosen(1, 2)) cj_test_reduce(cj_test_device, CJ_I8, &cases);
}

static void the_first_of_equals_is_found_and_nan_is_passed_over(void **state) {
    (void)state;
    cj_test_reduce_ties_and_nan(cj_test_device);
}

static void variance_keeps_its_digits_far_from_zero(void **state) {
    (void)state;
    cj_test_reduce_offsets(cj_test_device);
}

static void arrays_that_are_missing_or_misaligned_are_refused_by_name(void **state) {
    (void)state;
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 8};
    const struct {
        cj_ptr      x, out;
        const char *says;
    } refused[] = {{0, 256, "x: NULL"}, {256, 0, "out: NULL"}, {258, 256, "x: 0x102"}, {256, 260, "out: 0x104"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(refused); i++) {
        cj_error error = {0};
        assert_int_equal(cj_reduce_launch(cj_test_device, &desc, refused[i].x, refused[i].out, NULL, &error),
                         CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, refused[i].says)) fail_msg("%s: %s", refused[i].says, error.message);
    }
}

static void every_end_of_a_grid_is_right(void **state) {
    (void)state;
    static const uint64_t n[] = {3000};
    cj_test_reduce_ends(cj_test_device, n, CJ_TEST_COUNT(n));
}

static void every_block_has_its_part(void **state) {
    (void)state;
    cj_test_reduce_parts(cj_test_device, cj_test_seed(), cj_test_few() ? 10 : 300);
}

static void blocks_that_are_asked_for_share_x_evenly(void **state) {
    (void)state;
    cj_test_reduce_shares(cj_test_device);
}

static void four_blocks_have_the_parts_of_the_published_examples(void **state) {
    (void)state;
    cj_test_reduce_four_blocks(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_every_boundary_are_right),
        cmocka_unit_test(every_block_size_is_right),
        cmocka_unit_test(chosen_shapes_are_right),
        cmocka_unit_test(every_end_of_a_grid_is_right),
        cmocka_unit_test(every_block_has_its_part),
        cmocka_unit_test(blocks_that_are_asked_for_share_x_evenly),
        cmocka_unit_test(four_blocks_have_the_parts_of_the_published_examples),
        cmocka_unit_test(the_first_of_equals_is_found_and_nan_is_passed_over),
        cmocka_unit_test(variance_keeps_its_digits_far_from_zero),
        cmocka_unit_test(arrays_that_are_missing_or_misaligned_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
