// SPDX-License-Identifier: Apache-2.0
// The histogram on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "histogram_cases.h"

#include <stdio.h>

#include "test.h"

static void any_size_range_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (int i = 0; i < (cj_test_few() ? 10 : 80); i++) cj_test_histogram_random(cj_test_device, &seed, cj_test_few() ? 5000 : 200000);
}

// Every layout, by every kind of samples: 2^20 of them wrap the narrow counters of all frequent bins.
static void large_inputs_are_right_in_every_layout(void **state) {
    (void)state;
    static const char *const layouts[] = {"bins=256",
                                          "bins=2^15 width=32",
                                          "bins=2^16 width=16 counts=u64 grid=2",
                                          "bins=2^17 width=10",
                                          "bins=2^17 width=8",
                                          "bins=2^17 width=4",
                                          "bins=2^18",
                                          "bins=2^19 cluster=4",
                                          "bins=2^20 cluster=8",
                                          "bins=2^20 cluster=16 width=16",
                                          "bins=2^14 cluster=4 strategy=remote",
                                          "bins=2^17 cluster=4 counts=u64 strategy=remote",
                                          "bins=3000 cluster=16 dtype=u16 strategy=remote",
                                          "bins=1000003 dtype=f32",
                                          "bins=200 dtype=u8",
                                          "bins=2^18 memory=global",
                                          "bins=2^18 dtype=f32 memory=global counts=u64",
                                          "bins=5000 dtype=u16"};
    if (cj_test_few()) return;
    for (size_t i = 0; i < CJ_TEST_COUNT(layouts); i++)
        for (int fill = 0; fill < CJ_FILL_COUNT; fill++) {
            char words[128];
            snprintf(words, sizeof words, "n=2^20 %s", layouts[i]);
            cj_test_histogram(cj_test_device, words, (cj_test_fill)fill, 1, i);
        }
}

static void few_samples_are_counted_by_one_pool(void **state) {
    (void)state;
    cj_test_histogram_few(cj_test_device);
}

static void counts_are_set_by_a_grid_or_added_in_global_memory(void **state) {
    (void)state;
    cj_test_histogram_grid(cj_test_device, 0, cj_test_few() ? 5 : 1);
    cj_test_histogram_global(cj_test_device, 0, cj_test_few() ? 11 : 1);
}

static void a_call_overwrites_the_counts_or_adds_to_them(void **state) {
    (void)state;
    cj_test_histogram_call(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_size_range_and_alignment_is_right),
        cmocka_unit_test(large_inputs_are_right_in_every_layout),
        cmocka_unit_test(few_samples_are_counted_by_one_pool),
        cmocka_unit_test(counts_are_set_by_a_grid_or_added_in_global_memory),
        cmocka_unit_test(a_call_overwrites_the_counts_or_adds_to_them),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
