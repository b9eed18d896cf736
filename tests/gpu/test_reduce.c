// SPDX-License-Identifier: Apache-2.0
// The reduction on a GPU, up to 2^30 elements; the smaller sizes must give the CPU device's bits. CJ_FEW=1 runs a few
// sizes and shapes, for compute-sanitizer.
#include "reduce_cases.h"

#include "test.h"

static const uint64_t sizes[] = {1,    2,    31,   255,     256,     257,           1023,
                                 1024, 1025, 4097, 1 << 14, 65537, (1 << 18) + 5, (1 << 20) + 3};
static const uint64_t large_sizes[] = {1 << 28, 1 << 30}, few_sizes[] = {1, 257, 65537};
static const cj_reduce_shape shapes[] = {{0},           {256, 1, 0},  {256, 2, 0},  {256, 4, 0},
                                         {256, 8, 0},   {256, 16, 0}, {64, 16, 16}, {128, CJ_REDUCE_NO_CLUSTER, 7},
                                         {256, 4, 264}, {512, 8, 16}, {0, CJ_REDUCE_NO_CLUSTER, 0}};

static cj_device *gpu, *cpu;

static int open_devices(void **state) {
    (void)state;
    gpu = cj_test_gpu();
    print_message("%s: %s\n", cj_device_name(gpu), cj_device_reason(gpu));
    return cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &cpu, NULL) != CJ_OK;
}

static int close_devices(void **state) {
    (void)state;
    cj_device_close(gpu);
    cj_device_close(cpu);
    return 0;
}

static void right_for(cj_dtype type) {
    cj_reduce_cases cases = {.n = sizes, .n_count = CJ_TEST_COUNT(sizes), .shape = shapes,
                             .shape_count = CJ_TEST_COUNT(shapes), .shapes_each = 1, .unaligned_n = 1 << 21, .twin = cpu, .twin_n = 65537};
    if (cj_test_few())
        cases = (cj_reduce_cases){.n = few_sizes, .n_count = CJ_TEST_COUNT(few_sizes), .shape = shapes,
                                  .shape_count = CJ_TEST_COUNT(shapes), .shapes_each = 1, .unaligned_n = 257};
    size_t launches = cj_test_reduce(gpu, type, &cases);
    print_message("%s: %zu launches right\n", cj_dtype_name(type), launches);
}

static void every_type_and_operation_is_right(void **state) {
    (void)state;
    for (int type = 0; type < CJ_REDUCE_TYPES; type++)
        if (cj_test_mine((size_t)type)) right_for((cj_dtype)type);
}

static void large_arrays_are_right(void **state) {
    (void)state;
    static const cj_dtype types[] = {CJ_F32, CJ_BF16, CJ_F64, CJ_I32, CJ_I8};
    if (cj_test_few()) return;
    for (size_t i = 0; i < CJ_TEST_COUNT(types); i++) {
        if (!cj_test_mine(i)) continue;
        const cj_reduce_cases cases = {.n = large_sizes, .n_count = types[i] == CJ_F32 ? 2 : 1, .shape = shapes,
                                       .shape_count = 1};
        size_t launches = cj_test_reduce(gpu, types[i], &cases);
        print_message("%s: %zu launches right\n", cj_dtype_name(types[i]), launches);
    }
}

static void the_first_of_equals_is_found_and_nan_is_passed_over(void **state) {
    (void)state;
    cj_test_reduce_ties_and_nan(gpu);
}

static void variance_keeps_its_digits_far_from_zero(void **state) {
    (void)state;
    cj_test_reduce_offsets(gpu);
}

static void every_block_size_is_right(void **state) {
    (void)state;
    static const uint64_t        n[] = {5000, 100003};
    static const cj_reduce_shape all[] = {{32, 3, 0}, {64, 16, 0}, {96, 3, 6}, {512, 5, 0}, {992, 16, 0}, {1024, 3, 0},
                                          {1024, CJ_REDUCE_NO_CLUSTER, 3}, {32, CJ_REDUCE_NO_CLUSTER, 70}};
    const cj_reduce_cases cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .shape = all, .shape_count = CJ_TEST_COUNT(all),
                                   .shapes_each = 3, .unaligned_n = 5000};
    if (cj_test_mine(2)) cj_test_reduce(gpu, CJ_F32, &cases);
    if (cj_test_mine(3)) cj_test_reduce(gpu, CJ_U64, &cases);
}

static void every_end_of_a_grid_is_right(void **state) {
    (void)state;
    static const uint64_t n[] = {100, 20000};
    cj_test_reduce_ends(gpu, n, CJ_TEST_COUNT(n));
}

static void every_block_has_its_part(void **state) {
    (void)state;
    cj_test_reduce_parts(gpu, cj_test_seed(), cj_test_few() ? 20 : 200);
}

static void blocks_that_are_asked_for_share_x_evenly(void **state) {
    (void)state;
    cj_test_reduce_shares(gpu);
}

static void four_blocks_have_the_parts_of_the_published_examples(void **state) {
    (void)state;
    cj_test_reduce_four_blocks(gpu);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_operation_is_right),
        cmocka_unit_test(every_block_size_is_right),
        cmocka_unit_test(every_end_of_a_grid_is_right),
        cmocka_unit_test(every_block_has_its_part),
        cmocka_unit_test(blocks_that_are_asked_for_share_x_evenly),
        cmocka_unit_test(four_blocks_have_the_parts_of_the_published_examples),
        cmocka_unit_test(the_first_of_equals_is_found_and_nan_is_passed_over),
        cmocka_unit_test(variance_keeps_its_digits_far_from_zero),
        cmocka_unit_test(large_arrays_are_right),
    };
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
