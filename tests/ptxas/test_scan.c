// SPDX-License-Identifier: Apache-2.0
// Every kernel of scan and top-k assembles, without a warning.
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "emit.h"

static const char *const targets[] = {"sm_90", "sm_90a", "sm_100a"};

static void scans_of_every_type_and_length_assemble(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i32", "u32", "i64", "u64", "f16", "bf16"};
    static const char *const ops[] = {"sum", "min", "max", "product"};
    static const char *const shapes[] = {"rows=100 columns=7",    "rows=100 columns=64",
                                         "rows=100 columns=4096", "rows=4 columns=2^20",
                                         "columns=2^20 align=8",  "rows=3 columns=65536 cluster=16",
                                         "columns=2^28",          "rows=4096 columns=65536 counter=row"};
    for (unsigned type = 0; type < CJ_TEST_COUNT(types); type++)
        for (unsigned shape = 0; shape < CJ_TEST_COUNT(shapes); shape++) {
            char           params[160];
            const unsigned turn = type * 5 + shape;
            snprintf(params, sizeof params, "%s op=%s dtype=%s exclusive=%s reverse=%s", shapes[shape], ops[turn % 4],
                     types[type], turn & 1 ? "yes" : "no", turn & 2 ? "yes" : "no");
            cj_test_assembles("scan", params, targets[turn % 3]);
        }
}

static void segmented_scans_of_every_type_and_width_assemble(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i32", "u64", "f16", "bf16"};
    static const char *const shapes[] = {"rows=100 columns=7 heads=flags", "columns=4096 heads=i32 segments=9",
                                         "columns=2^28 heads=flags", "columns=2^28 heads=i64 segments=2^20 align=8",
                                         "rows=3 columns=65536 cluster=16 heads=flags"};
    for (unsigned type = 0; type < CJ_TEST_COUNT(types); type++)
        for (unsigned shape = 0; shape < CJ_TEST_COUNT(shapes); shape++) {
            char           params[160];
            const unsigned turn = type * 5 + shape;
            if ((turn + type) % 2) continue;
            snprintf(params, sizeof params, "%s op=%s dtype=%s reverse=%s", shapes[shape], turn & 1 ? "sum" : "max",
                     types[type], turn & 2 ? "yes" : "no");
            cj_test_assembles("scan", params, targets[turn % 3]);
        }
}

static void top_k_of_every_type_and_width_assembles(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16", "i32", "u32"}, *const results[] = {"all", "kth", "any"};
    for (unsigned type = 0; type < CJ_TEST_COUNT(types); type++)
        for (unsigned way = 0; way < 4; way++) {
            char params[160];
            snprintf(params, sizeof params, "columns=65536 dtype=%s align=%u k=%u cluster=%u order=%s result=%s",
                     types[type], 16u >> way, 2048u >> way, type + way > 3 ? 0 : type + way,
                     way & 1 ? "largest" : "smallest", results[(type + way) % 3]);
            cj_test_assembles("topk", params, targets[(type + way) % 3]);
        }
}

// A sort of 32 keys of 4 bytes a thread spills a few of them, so that a block more shares an SM, which is faster
// (docs/maintaining/sort.md).
static void long_sort_assembles(const char *params, const char *target) {
    enum { SPILLED_MOST = 64 };
    char          log[4096];
    char         *text = cj_test_emit("sort", params, target);
    unsigned long bytes = 0;
    if (!cj_test_assemble_spills(text, target, &bytes, log, sizeof log) || bytes > SPILLED_MOST)
        fail_msg("%s, sort %s: %s", target, params, log);
    cj_text_free(text);
}

static void sorts_of_every_type_and_form_assemble(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i8", "bf16", "u16", "i64", "u32"}, *const results[] = {"both", "values", "indices"};
    static const char *const payloads[] = {"none", "b64", "b8", "b32", "b16"};
    static const char *const shapes[] = {"columns=100 order=descending", "columns=1024", "columns=4096 match=ballots", "columns=8192",
                                         "columns=60000 cluster=8 block=512", "columns=900 digit=6 form=warp",
                                         "columns=100 segments=i32", "columns=3000 segments=i64 order=descending"};
    for (unsigned type = 0; type < CJ_TEST_COUNT(types); type++)
        for (unsigned shape = 0; shape < CJ_TEST_COUNT(shapes); shape++) {
            char params[160];
            snprintf(params, sizeof params, "%s dtype=%s result=%s payload=%s", shapes[shape], types[type], results[(type + shape) % 3],
                     payloads[(type * 3 + shape) % CJ_TEST_COUNT(payloads)]);
            const char *target = shape == 4 ? targets[1 + type % 2] : targets[(type + shape) % 3];
            const bool  is_long = (shape == 2 || shape == 3) && (!strcmp(types[type], "f32") || !strcmp(types[type], "u32"));
            if (is_long) long_sort_assembles(params, target);
            else cj_test_assembles("sort", params, target);
        }
}

static void kernels_without_clusters_assemble(void **state) {
    (void)state;
    cj_test_assembles("scan", "columns=2^28", "sm_80");
    cj_test_assembles("scan", "rows=9 columns=99 dtype=bf16", "sm_86");
    cj_test_assembles("scan", "rows=9 columns=2^20 cluster=4 dtype=f16", "sm_89");
    cj_test_assembles("scan", "columns=2^20 heads=i32 segments=2^10", "sm_80");
    cj_test_assembles("topk", "rows=4 columns=2^20", "sm_80");
    cj_test_assembles("topk", "rows=4 columns=2^20 result=any", "sm_80");
    cj_test_assembles("topk", "rows=4 columns=30000 k=2048 form=radix dtype=bf16 align=2", "sm_80");
    cj_test_assembles("topk", "rows=4 columns=200000 k=2048 form=radix cluster=8", "sm_90");
    cj_test_assembles("topk", "rows=4 columns=3000 k=300 form=radix block=32", "sm_100a");
    cj_test_assembles("topk", "rows=4 columns=2^20 dtype=bf16 cluster=4", "sm_80");
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scans_of_every_type_and_length_assemble),
        cmocka_unit_test(segmented_scans_of_every_type_and_width_assemble),
        cmocka_unit_test(top_k_of_every_type_and_width_assembles),
        cmocka_unit_test(sorts_of_every_type_and_form_assemble),
        cmocka_unit_test(kernels_without_clusters_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
