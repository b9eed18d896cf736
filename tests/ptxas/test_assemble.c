// SPDX-License-Identifier: Apache-2.0
// Every emitted kernel assembles, without a warning: every op with every dtype, and with each of these the next
// cluster, block, result, size and target in turn.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"

static const char *const ops[] = {"sum", "min", "max", "product", "argmin", "argmax", "mean", "meanvar"};
static const char *const dtypes[] = {"f32", "f64", "i32",  "u32", "i64", "u64",
                                    "f16", "bf16", "i8", "u8",  "i16", "u16"};
static const char *const clusters[] = {"0", "1", "4", "8", "2"};
static const char *const blocks[] = {"32", "96", "256", "1024"};
static const char *const results[] = {"total", "block", "both"};  // these two: of the first operations alone

enum { OPS_OF_BLOCKS = 4 };
static const char *const targets[] = {"sm_90", "sm_90a", "sm_100a", "sm_120"};

static void assemble(const char *params, const char *arch) { cj_test_assembles("reduce", params, arch); }

// Blocks of 1024 threads leave too few registers to means and variances of 8-bit elements, and are refused.
static const char *block_of(size_t op, size_t dtype, unsigned turn) {
    const bool refused = !strcmp(ops[op], "meanvar") && strchr(dtypes[dtype], '8') && turn % 4 == 3;
    return refused ? "896" : blocks[turn % 4];
}

static void emitted_kernels_assemble(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t op = 0; op < CJ_TEST_COUNT(ops); op++)
        for (size_t dtype = 0; dtype < CJ_TEST_COUNT(dtypes); dtype++)
            for (int time = 0; time < 2; time++, turn++) {
                char params[160];
                bool by_block = op < OPS_OF_BLOCKS && (turn + turn / 4) % 2;
                snprintf(params, sizeof params, "op=%s dtype=%s cluster=%s block=%s result=%s n=%s", ops[op],
                         dtypes[dtype], clusters[turn % CJ_TEST_COUNT(clusters)], block_of(op, dtype, turn), results[by_block ? 1 + turn / 2 % 2 : 0],
                         turn % 3 ? "2^24" : "1024");
                assemble(params, targets[(turn + turn / 4 + turn / 16) % 4]);
            }
}

static void weighted_sums_assemble(void **state) {
    (void)state;
    for (size_t dtype = 0; dtype < CJ_TEST_COUNT(dtypes); dtype++)
        for (unsigned turn = 0; turn < 4; turn++) {
            char params[128];
            snprintf(params, sizeof params, "weight=block dtype=%s cluster=%s result=%s", dtypes[dtype],
                     clusters[(dtype + turn) % CJ_TEST_COUNT(clusters)], results[turn % 3]);
            assemble(params, targets[(dtype + turn / 2) % 4]);
        }
}

static void largest_clusters_assemble(void **state) {
    (void)state;
    assemble("n=2^16", "sm_90");
    assemble("n=2^28", "sm_90");
    assemble("cluster=16 dtype=f64 op=min block=1024", "sm_90a");
    assemble("cluster=16 dtype=u64 op=max block=32", "sm_100a");
    assemble("cluster=16 dtype=i32 result=block weight=block", "sm_90");
    assemble("cluster=8 dtype=f64 block=96", "sm_120");
}

static void kernels_without_clusters_assemble(void **state) {
    (void)state;
    assemble("", "sm_80");
    assemble("dtype=f64 op=max result=block", "sm_86");
    assemble("dtype=i64 weight=block block=32", "sm_89");
}

static void sample_of_everything_assembles(void **state) {
    (void)state;
    char  log[4096];
    char *text = cj_test_read(CJ_TEST_DIR "/unit/text/sample.ptx");
    if (!cj_test_assemble(text, "sm_90", log, sizeof log)) fail_msg("%s", log);
    free(text);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_kernels_assemble),
        cmocka_unit_test(weighted_sums_assemble),
        cmocka_unit_test(largest_clusters_assemble),
        cmocka_unit_test(kernels_without_clusters_assemble),
        cmocka_unit_test(sample_of_everything_assembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
