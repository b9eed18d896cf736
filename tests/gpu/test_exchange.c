// SPDX-License-Identifier: Apache-2.0
// The exchange on a GPU. CJ_FEW=1 runs a few descriptions, for compute-sanitizer.

#include "exchange_cases.h"
#include "test.h"

static cj_device *gpu;

static int open_device(void **state) {
    (void)state;
    gpu = cj_test_gpu();
    print_message("%s: %s\n", cj_device_name(gpu), cj_device_reason(gpu));
    return 0;
}

static int close_device(void **state) {
    (void)state;
    cj_device_close(gpu);
    return 0;
}

// 128 KiB a block; several groups a launch, and more than the GPU holds at once.
static void large_chunks_and_many_groups_are_right(void **state) {
    (void)state;
    static const uint32_t groups[] = {1, 15, 40};
    for (int pattern = 0; pattern <= CJ_EXCHANGE_ALL_TO_ALL; pattern++)
        for (int strategy = 0; strategy <= CJ_EXCHANGE_GLOBAL; strategy++)
            for (uint32_t size = 2; size <= 16; size *= 2)
                for (size_t i = 0; i < (cj_test_few() ? 1 : CJ_TEST_COUNT(groups)); i++) {
                    const cj_exchange_desc d = {CJ_INIT(d),
                                                .pattern = (cj_exchange_pattern)pattern,
                                                .strategy = (cj_exchange_strategy)strategy,
                                                .n = cj_test_few() ? 1024 : 32768,
                                                .size = size,
                                                .groups = groups[i],
                                                .halo = 500,
                                                .repeat = cj_test_few() ? 3 : 101};
                    cj_test_exchange(gpu, &d);
                }
}

static void thousands_of_rounds_are_right(void **state) {
    (void)state;
    for (int pattern = 0; pattern <= CJ_EXCHANGE_ALL_TO_ALL; pattern++)
        for (int strategy = 0; strategy <= CJ_EXCHANGE_GLOBAL && !cj_test_few(); strategy++) {
            const cj_exchange_desc d = {CJ_INIT(d),
                                        .pattern = (cj_exchange_pattern)pattern,
                                        .strategy = (cj_exchange_strategy)strategy,
                                        .n = 256,
                                        .size = 8,
                                        .groups = 3,
                                        .halo = 16,
                                        .repeat = 10001};
            cj_test_exchange(gpu, &d);
        }
}

static void random_descriptions_are_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < (cj_test_few() ? 20 : 200); i++) cj_test_exchange_random(gpu, &seed, i % 4 ? 4096 : 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_chunks_and_many_groups_are_right),
        cmocka_unit_test(thousands_of_rounds_are_right),
        cmocka_unit_test(random_descriptions_are_right),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
