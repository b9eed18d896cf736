// SPDX-License-Identifier: Apache-2.0
// Every emitted exchange assembles, without a warning: every pattern by every strategy, and with each of these the next
// type, group size, chunk and target in turn.
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static const char *const patterns[] = {"pair", "ring", "halo", "all-to-all"};
static const char *const dtypes[] = {"f32", "u8", "f64", "bf16", "i64", "u16"};
static const char *const targets[] = {"sm_90", "sm_90a", "sm_100a", "sm_120"};
static const unsigned    sizes[] = {1, 2, 3, 8, 16}, chunks[] = {240, 48, 240 * 1000, 240 * 7};

static void assemble(const char *params, const char *arch) { cj_test_assembles("exchange", params, arch); }

static void every_exchange_assembles(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t pattern = 0; pattern < CJ_TEST_COUNT(patterns); pattern++)
        for (int strategy = 0; strategy < 3; strategy++)
            for (int time = 0; time < 5; time++, turn++) {
                unsigned size = sizes[turn % CJ_TEST_COUNT(sizes)];
                char     params[200];
                if (turn % 4 == 3 && size == 16) size = 8;  // sm_120 has clusters of 8 at most
                snprintf(params, sizeof params,
                         "pattern=%s strategy=%s size=%u cluster=%u n=%u dtype=%s align=%u clusters=3 repeat=%d%s",
                         patterns[pattern], strategy == 1 ? "pull" : "push", size, strategy == 2 ? 0 : size,
                         chunks[turn % CJ_TEST_COUNT(chunks)], dtypes[turn % CJ_TEST_COUNT(dtypes)], time % 2 ? 16 : 8,
                         time + 1, strcmp(patterns[pattern], "halo") ? "" : " halo=9");
                assemble(params, targets[turn % 4]);
            }
}

static void exchanges_without_clusters_assemble(void **state) {
    (void)state;
    for (size_t pattern = 0; pattern < CJ_TEST_COUNT(patterns); pattern++) {
        char params[80];
        snprintf(params, sizeof params, "pattern=%s cluster=4 n=4000", patterns[pattern]);
        assemble(params, pattern % 2 ? "sm_80" : "sm_86");
    }
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_exchange_assembles),
        cmocka_unit_test(exchanges_without_clusters_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
