// SPDX-License-Identifier: Apache-2.0
// The histogram on the CPU device, watched for hazards.
#include "histogram_cases.h"

#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static void samples_of_every_type_and_kind_fall_into_their_bins(void **state) {
    (void)state;
    static const char *const types[] = {"u8", "u16", "u32", "f32"};
    for (size_t t = 0; t < CJ_TEST_COUNT(types); t++)
        for (int fill = 0; fill < CJ_FILL_COUNT; fill++) {
            char words[128];
            snprintf(words, sizeof words, "n=3001 bins=100 dtype=%s block=64 cluster=%d", types[t], fill % 3);
            cj_test_histogram(cj_test_device, words, (cj_test_fill)fill, (unsigned)fill, 1);
        }
}

static void bins_begin_and_end_exactly_where_they_should(void **state) {
    (void)state;
    static const char *const ranges[] = {"bins=3 lower=0 upper=4294967296",
                                         "bins=777 lower=5 upper=4294967296",
                                         "bins=100000 lower=0 upper=4294967291",
                                         "bins=65536 lower=0 upper=4294967295",
                                         "bins=1000 lower=9 upper=65545",
                                         "bins=999 lower=9 upper=65546",
                                         "bins=4099 lower=1000000 upper=1004096",
                                         "bins=70001 lower=3 upper=10003",
                                         "bins=1000 lower=0.1 upper=0.7 dtype=f32",
                                         "bins=65535 lower=-3 upper=1000 dtype=f32",
                                         "bins=99991 lower=0 upper=10000019",
                                         "bins=65 lower=0 upper=0.7 dtype=f32",
                                         "bins=4097 lower=0.3 upper=0.30001 dtype=f32"};
    for (size_t i = 0; i < CJ_TEST_COUNT(ranges); i++) {
        char words[128];
        snprintf(words, sizeof words, "n=4001 dtype=u32 block=128 grid=1 %s", ranges[i]);
        cj_test_histogram(cj_test_device, words, CJ_FILL_EDGES, 0, i);
    }
}

// A narrow counter of equal samples wraps every few additions: up to the word's end, and where no bin follows.
static void wrapped_counters_lose_nothing(void **state) {
    (void)state;
    static const unsigned widths[] = {16, 10, 8, 4};
    for (size_t w = 0; w < CJ_TEST_COUNT(widths); w++)
        for (int fill = 0; fill < CJ_FILL_COUNT; fill++)
            for (unsigned bins = 2; bins < 32; bins += 13) {
                char words[128];
                snprintf(words, sizeof words, "n=4000 bins=%u dtype=u32 width=%u block=96 grid=2 counts=%s", bins,
                         widths[w], fill % 2 ? "u64" : "u32");
                cj_test_histogram(cj_test_device, words, (cj_test_fill)fill, 3, bins);
            }
    cj_test_histogram(cj_test_device, "n=140000 bins=2 dtype=u32 width=16 block=256 grid=1", CJ_FILL_TWO, 0, 7);
}

// Ranks that own bins, ranks that own fewer, and ranks that own none.
static void bins_are_dealt_out_over_a_cluster(void **state) {
    (void)state;
    static const unsigned clusters[] = {2, 3, 5, 8, 16}, bins[] = {1, 7, 64, 1000};
    for (size_t c = 0; c < CJ_TEST_COUNT(clusters); c++)
        for (size_t b = 0; b < CJ_TEST_COUNT(bins); b++) {
            char words[128];
            snprintf(words, sizeof words, "n=1500 bins=%u dtype=u32 block=32 cluster=%u grid=%u width=%s", bins[b],
                     clusters[c], 2 * clusters[c], c % 2 ? "8" : "32");
            cj_test_histogram(cj_test_device, words, CJ_FILL_UNIFORM, 1, c + b);
        }
}

// The same, where blocks add to each other's counters; samples of every type and kind, many of them in one counter.
static void blocks_count_in_each_others_memory(void **state) {
    (void)state;
    static const unsigned    clusters[] = {1, 2, 3, 5, 8, 16}, bins[] = {1, 7, 64, 1000};
    static const char *const types[] = {"u8", "u16", "u32", "f32"};
    for (size_t i = 0; i < CJ_TEST_COUNT(clusters) * CJ_TEST_COUNT(bins); i++) {
        char           words[160];
        const unsigned cluster = clusters[i % CJ_TEST_COUNT(clusters)], count = bins[i / CJ_TEST_COUNT(clusters)];
        snprintf(words, sizeof words, "n=1500 bins=%u dtype=%s block=32 cluster=%u grid=%u counts=%s strategy=remote",
                 types[i % 4][1] == '8' && count > 256 ? 256 : count, types[i % 4], cluster, 2 * cluster, i % 3 ? "u32" : "u64");
        cj_test_histogram(cj_test_device, words, (cj_test_fill)(i % CJ_FILL_COUNT), (unsigned)i % 5, i);
    }
    cj_test_histogram(cj_test_device, "n=20000 bins=131072 dtype=u32 cluster=4 grid=4 block=256 strategy=remote",
                      CJ_FILL_UNIFORM, 0, 1);
}

// More than one block's shared memory holds: by narrow counters, by a cluster, and without clusters by neighbours.
static void bins_beyond_one_blocks_shared_memory_are_pooled(void **state) {
    (void)state;
    cj_test_histogram(cj_test_device, "n=20000 bins=131072 dtype=u32 cluster=4 grid=4 width=32 block=256", CJ_FILL_UNIFORM, 0,
                      1);
    cj_test_histogram(cj_test_device, "n=20000 bins=131072 dtype=u32 width=32 grid=3 block=256", CJ_FILL_SKEWED, 0, 2);
    cj_test_histogram(cj_test_device, "n=20000 bins=300000 dtype=f32 grid=4 block=256", CJ_FILL_WILD, 0, 3);
    cj_test_histogram(cj_test_device, "n=20000 bins=2^20 dtype=u32 cluster=8 grid=8 block=256", CJ_FILL_SORTED, 0, 5);
}

static void any_size_range_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (int i = 0; i < 40; i++) cj_test_histogram_random(cj_test_device, &seed, 6000);
}

static void few_samples_are_counted_by_one_pool(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_histogram_few(cj_test_device);
}

static void few_samples_in_many_bins_are_counted_by_a_grid(void **state) {
    (void)state;
    for (unsigned watch = 0; watch < 3; watch++) {
        cj_test_watch(watch);
        cj_test_histogram_grid(cj_test_device, watch, 3);
    }
}

static void samples_are_added_in_global_memory(void **state) {
    (void)state;
    for (unsigned watch = 0; watch < 3; watch++) {
        cj_test_watch(watch);
        cj_test_histogram_global(cj_test_device, watch, 3);
    }
}

static cj_plan plan_of(const char *words) {
    cj_plan          plan;
    cj_params        params;
    const cj_limits *limits;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    cj_test_ok(cj_test_params("histogram", words, &params, &error), &error);
    cj_test_ok(cj_plan_make(&params, limits, "sm_90", &plan, &error), &error);
    return plan;
}

static void expect_form(const char *words, const char *result, const char *memory, uint32_t grid) {
    char          word[16];
    const cj_plan plan = plan_of(words);
    assert_string_equal(cj_params_word(&plan.params, "result", word, sizeof word), result);
    assert_string_equal(cj_params_word(&plan.params, "memory", word, sizeof word), memory);
    if (grid) assert_int_equal(plan.grid.x, grid);
}

static void the_plan_chooses_the_form_by_samples_and_bins(void **state) {
    (void)state;
    expect_form("n=1945 bins=262144 dtype=f32 result=set", "set", "shared", 131);
    expect_form("n=249 bins=262144 dtype=f32 result=auto", "set", "shared", 131);
    expect_form("n=1000 bins=256 result=auto", "set", "shared", 1);
    expect_form("n=100000 bins=262144 result=auto", "add", "global", 0);
    expect_form("n=100000 bins=4096 result=auto", "add", "shared", 0);
    expect_form("n=2^28 bins=2^19", "add", "shared", 0);
    expect_form("n=1000 bins=256 result=auto cluster=2", "add", "shared", 0);
    expect_form("n=1000 bins=2^18 result=auto width=16", "add", "shared", 0);
    expect_form("n=1000 bins=2^18 memory=shared", "add", "shared", 0);
}

static void a_call_overwrites_the_counts_or_adds_to_them(void **state) {
    (void)state;
    cj_test_histogram_call(cj_test_device);
}

// ---- what is refused

static void impossible_ranges_and_layouts_are_refused_by_name(void **state) {
    (void)state;
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "lower=3 upper=3", "upper is 3");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "lower=0.5 upper=3", "whole numbers");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "dtype=u8 lower=256 upper=300", "no sample is above 255");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "dtype=u32 upper=4294967297", "2^32");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "dtype=f32 lower=-3e38 upper=3e38", "f32");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "dtype=f32 lower=1 upper=1.00000000001", "f32");
    cj_test_refused("histogram", CJ_CONTRACT, "bins=2^20 cluster=1", "do not fit");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "cluster=4 grid=6", "grid: 6");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "strategy=remote", "strategy: remote");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "strategy=remote cluster=2 width=16", "width: 16");
    cj_test_refused("histogram", CJ_CONTRACT, "strategy=remote cluster=2 bins=2^20", "counters of 32 bits do not fit");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "n=2^34 grid=1", "grid: 1 blocks are too few for");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "result=set width=16", "result: set goes with");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "memory=global result=set", "memory: global goes with");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "memory=global width=8", "memory: global goes with");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "memory=global cluster=2", "memory: global goes with");
    cj_test_refused("histogram", CJ_CONTRACT, "result=set bins=2^20 grid=2", "shared memory of 2 blocks");
    cj_test_refused("histogram", CJ_INVALID_ARGUMENT, "n=2^34 result=set", "too few for");
}

static void any_number_of_samples_is_planned(void **state) {
    (void)state;
    cj_params        params;
    cj_plan          plan;
    const cj_limits *limits;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    cj_test_ok(cj_test_params("histogram", "n=2^40 bins=2^20 dtype=u8 counts=u64 cluster=8", &params, &error), &error);
    cj_test_ok(cj_plan_make(&params, limits, NULL, &plan, &error), &error);
    assert_true((UINT64_C(1) << 40) / (plan.grid.x / 8) < UINT64_C(1) << 32);  // samples that a pool counts
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_of_every_type_and_kind_fall_into_their_bins),
        cmocka_unit_test(bins_begin_and_end_exactly_where_they_should),
        cmocka_unit_test(wrapped_counters_lose_nothing),
        cmocka_unit_test(bins_are_dealt_out_over_a_cluster),
        cmocka_unit_test(blocks_count_in_each_others_memory),
        cmocka_unit_test(bins_beyond_one_blocks_shared_memory_are_pooled),
        cmocka_unit_test(any_size_range_and_alignment_is_right),
        cmocka_unit_test(few_samples_are_counted_by_one_pool),
        cmocka_unit_test(few_samples_in_many_bins_are_counted_by_a_grid),
        cmocka_unit_test(samples_are_added_in_global_memory),
        cmocka_unit_test(the_plan_chooses_the_form_by_samples_and_bins),
        cmocka_unit_test(a_call_overwrites_the_counts_or_adds_to_them),
        cmocka_unit_test(impossible_ranges_and_layouts_are_refused_by_name),
        cmocka_unit_test(any_number_of_samples_is_planned),
    };
    return cmocka_run_group_tests(tests, cj_test_open_watched, cj_test_close);
}
