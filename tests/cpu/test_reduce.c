// SPDX-License-Identifier: Apache-2.0
// The reduction on the CPU device.
#include "reduce_cases.h"
#include "test.h"

static cj_device *device;

static int open_device(void **state) {
    (void)state;
    return cj_device_open(&(cj_device_options){.spec = "cpu"}, &device, NULL) != CJ_OK;
}

static int close_device(void **state) {
    (void)state;
    cj_device_close(device);
    return 0;
}

static const cj_dtype types[] = {CJ_F32, CJ_F64, CJ_I32, CJ_U32, CJ_I64, CJ_U64};

static void sizes_around_every_boundary_are_right(void **state) {
    (void)state;
    static const uint64_t n[] = {1, 2, 31, 255, 256, 257, 1023, 1024, 1025, 4099};
    static const uint32_t clusters[] = {1, 2, 4, 8, 16}, blocks[] = {256};
    const cj_reduce_cases cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .cluster = clusters,
                                   .cluster_count = CJ_TEST_COUNT(clusters), .block = blocks, .block_count = 1,
                                   .unaligned_n = 1025};
    for (size_t i = 0; i < CJ_TEST_COUNT(types); i++) cj_test_reduce(device, types[i], &cases);
}

static void every_block_size_is_right(void **state) {
    (void)state;
    static const uint64_t n[] = {33, 5000};
    static const uint32_t clusters[] = {3, 16}, blocks[] = {32, 64, 96, 992, 1024};
    const cj_reduce_cases cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .cluster = clusters,
                                   .cluster_count = CJ_TEST_COUNT(clusters), .block = blocks, .block_count = 5,
                                   .unaligned_n = 5000};
    cj_test_reduce(device, CJ_F32, &cases);
    cj_test_reduce(device, CJ_U64, &cases);
}

static void many_clusters_meet_in_the_workspace(void **state) {
    (void)state;
    static const uint64_t n[] = {65537, (1 << 20) + 3};
    static const uint32_t clusters[] = {4}, blocks[] = {256};
    const cj_reduce_cases cases = {.n = n, .n_count = CJ_TEST_COUNT(n), .cluster = clusters,
                                   .cluster_count = CJ_TEST_COUNT(clusters), .block = blocks, .block_count = 1,
                                   .unaligned_n = 1025};
    cj_test_reduce(device, CJ_F32, &cases);
    cj_test_reduce(device, CJ_I32, &cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_around_every_boundary_are_right),
        cmocka_unit_test(every_block_size_is_right),
        cmocka_unit_test(many_clusters_meet_in_the_workspace),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
