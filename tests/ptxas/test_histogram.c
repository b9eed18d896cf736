// SPDX-License-Identifier: Apache-2.0
// Every histogram kernel assembles, without a warning: every type with every width
// and every way of finding an integer's bin, and with each of these the next cluster, block, counts and target in turn.
#include "test.h"

#include <stdio.h>

#include "emit.h"

static const char *const types[] = {"u8", "u16", "u32", "f32"};
static const char *const widths[] = {"32", "16", "10", "8", "4"};
static const char *const clusters[] = {"0", "1", "2", "16", "5"};
static const char *const blocks[] = {"1024", "32", "256"};
static const char *const targets[] = {"sm_90", "sm_90a", "sm_100a"};

// The bin is the sample; by a shift; by one product; by two; by a whole product; by a sum of both.
static const char *const ranges[] = {"bins=2000",
                                     "bins=64 lower=0 upper=4096",
                                     "bins=100 lower=3 upper=777",
                                     "bins=1000 lower=9 upper=1000003",
                                     "bins=3000 lower=1 upper=101",
                                     "bins=3001 lower=2 upper=102"};

static void assemble(const char *params, const char *arch) { cj_test_assembles("histogram", params, arch); }

static void emitted_kernels_assemble(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t type = 0; type < CJ_TEST_COUNT(types); type++)
        for (size_t width = 0; width < CJ_TEST_COUNT(widths); width++, turn++) {
            char params[192];
            snprintf(params, sizeof params, "n=2^24 dtype=%s width=%s cluster=%s block=%s counts=%s %s", types[type],
                     widths[width], clusters[(turn + turn / 5) % 5], blocks[turn % 3], turn % 2 ? "u32" : "u64",
                     ranges[turn % 6]);
            assemble(params, targets[(turn + turn / 3) % 3]);
        }
}

static void remote_counters_assemble(void **state) {
    (void)state;
    for (size_t type = 0; type < CJ_TEST_COUNT(types); type++)
        for (size_t cluster = 1; cluster < CJ_TEST_COUNT(clusters); cluster++) {
            char params[192];
            snprintf(params, sizeof params, "n=2^24 dtype=%s cluster=%s block=%s counts=%s strategy=remote %s",
                     types[type], clusters[cluster], blocks[cluster % 3], type % 2 ? "u32" : "u64",
                     ranges[(type + cluster) % 6]);
            assemble(params, targets[(type + cluster) % 3]);
        }
}

static void counts_that_are_set_or_added_to_by_sample_assemble(void **state) {
    (void)state;
    static const char *const forms[] = {"result=set n=300 bins=2^18", "result=set n=20000 bins=2^18", "result=set n=2000",
                                        "memory=global n=100000"};
    for (size_t type = 0; type < CJ_TEST_COUNT(types); type++)
        for (size_t form = 0; form < CJ_TEST_COUNT(forms); form++) {
            char params[192];
            snprintf(params, sizeof params, "%s dtype=%s counts=%s block=%s", forms[form], types[type], (type + form) % 2 ? "u32" : "u64",
                     blocks[(type + form) % 3]);
            assemble(params, targets[(type + form / 2) % 3]);
        }
}

static void every_way_to_a_bin_assembles(void **state) {
    (void)state;
    for (size_t range = 0; range < CJ_TEST_COUNT(ranges); range++) {
        char params[128];
        snprintf(params, sizeof params, "n=2^24 dtype=u32 width=32 %s", ranges[range]);
        assemble(params, "sm_90");
    }
}

static void kernels_without_clusters_assemble(void **state) {
    (void)state;
    assemble("n=2^28 bins=2^18", "sm_80");
    assemble("n=2^28 dtype=f32 counts=u64", "sm_86");
    assemble("n=2^28 dtype=u8 cluster=2", "sm_75");
    assemble("n=2^28 cluster=2 strategy=remote", "sm_75");
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_kernels_assemble),
        cmocka_unit_test(remote_counters_assemble),
        cmocka_unit_test(counts_that_are_set_or_added_to_by_sample_assemble),
        cmocka_unit_test(every_way_to_a_bin_assembles),
        cmocka_unit_test(kernels_without_clusters_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
