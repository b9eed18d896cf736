// SPDX-License-Identifier: Apache-2.0
// What the plan of rows chooses, where measurements say what is fastest (templates/rows/engine/constants.def).
#include <clusterjit/clusterjit.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

// As few lanes as hold a short row well, and rows in flight where there are many.
static const struct {
    const char *family, *words;
    uint64_t    lanes, unroll, vectors, threads;
} short_rows[] = {
    {"logsoftmax", "rows=2^20 columns=15", 1, 1, 15, 128},
    {"logsoftmax", "rows=2^20 columns=14 out-stride=61", 16, 4, 1, 128},
    {"logsoftmax", "rows=1024 columns=8 dtype=bf16", 1, 1, 1, 128},
    {"softmax", "rows=2275054 columns=77 dtype=bf16 out-stride=141", 8, 2, 3, 128},
    {"softmax", "rows=2275054 columns=77 dtype=bf16 out-stride=141 peel=0", 32, 4, 3, 128},
    {"softmax", "rows=2275054 columns=77 dtype=bf16 out-stride=142 split=0", 32, 4, 3, 128},
    {"softmax", "rows=2275054 columns=77 dtype=bf16 out-stride=142", 32, 4, 3, 128},
    {"softmax", "rows=2275054 columns=77 dtype=bf16 out-stride=142 split=4", 8, 2, 3, 128},
    {"softmax", "rows=2275054 columns=76 dtype=bf16 out-stride=140 align=2", 8, 2, 3, 128},
    {"softmax", "rows=8192 columns=161 out-stride=225", 32, 1, 6, 128},
    {"softmax", "rows=2^20 columns=161 out-stride=225", 32, 2, 2, 128},
    {"logsoftmax", "rows=1172207 columns=229 stride=237 pass=backward", 32, 1, 2, 128},
    {"softmax", "rows=2^20 columns=128", 16, 2, 2, 128},
    {"softmax", "rows=512 columns=35 stride=43", 16, 1, 3, 128},
    {"layernorm", "rows=64 columns=39 dtype=bf16 stride=40 out-stride=47", 16, 1, 3, 128},
    {"crossentropy", "rows=2^20 columns=8 dtype=bf16 stride=72", 1, 1, 1, 128},
    {"crossentropy", "rows=2^20 columns=14 align=4 transpose=no", 8, 4, 1, 128},
    {"crossentropy", "rows=1424060 columns=377 dtype=bf16 align=2", 32, 2, 3, 128},
    {"layernorm", "rows=4194304 columns=10 dtype=bf16", 4, 4, 2, 128},
    {"logsoftmax", "rows=4194304 columns=24 dtype=bf16 out-stride=88 align=8", 8, 4, 1, 128},
    {"rmsnorm", "rows=16384 columns=35 dtype=bf16 stride=43 pass=backward weight-gradient=yes", 8, 1, 5, 256},
    {"rmsnorm", "rows=1024 columns=192 dtype=bf16 out-stride=256 align=8 pass=backward weight-gradient=yes", 16, 1, 3, 128},
    {"layernorm", "rows=6 columns=768 dtype=f16 pass=backward weight-gradient=yes bias-gradient=yes", CJ_PARAM_AUTO, CJ_PARAM_AUTO, 1, 96},
    {"logsoftmax", "rows=657124 columns=817 dtype=bf16 out-stride=881", 32, 2, 4, 128},
    {"logsoftmax", "rows=657124 columns=817 dtype=bf16", 32, 1, 4, 128},
    {"rmsnorm", "rows=2^20 columns=14 pass=backward weight-gradient=yes", 8, 4, 1, 256},
    {"layernorm", "rows=548370 columns=512 dtype=bf16 stride=520 align=8 pass=backward weight-gradient=yes", 32, 2, 4, 256},
    {"layernorm", "rows=2^20 columns=30 dtype=bf16 pass=backward weight-gradient=yes bias-gradient=yes", 16, 4, 1, 256},
    {"layernorm", "rows=65536 columns=128 dtype=bf16 pass=backward weight-gradient=yes", 16, 2, 1, 256},
    {"layernorm", "rows=2^20 columns=64 pass=backward weight-gradient=yes bias-gradient=yes", 8, 2, 2, 256},
    {"rmsnorm", "rows=1000 columns=31 dtype=f16 pass=backward bias-gradient=yes", 8, 1, 4, 128},
    {"softmax", "rows=2^20 columns=511", 32, 1, 4, 128},
    {"softmax", "rows=2^20 columns=511 peel=0", CJ_PARAM_AUTO, CJ_PARAM_AUTO, 8, 64},
    {"softmax", "rows=100 columns=511 peel=0", CJ_PARAM_AUTO, CJ_PARAM_AUTO, 2, 256},
    {"softmax", "rows=2^20 columns=513 peel=0", CJ_PARAM_AUTO, CJ_PARAM_AUTO, 3, 256},
};

static void short_rows_have_lanes_of_a_warp(void **state) {
    (void)state;
    const cj_limits *limits;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(short_rows); i++) {
        cj_plan plan;
        cj_test_plan(short_rows[i].family, short_rows[i].words, limits, &plan);
        const uint64_t lanes = cj_params_get(&plan.params, "lanes"), unroll = cj_params_get(&plan.params, "unroll");
        const uint64_t vectors = cj_params_get(&plan.params, "vectors");
        if (lanes != short_rows[i].lanes || unroll != short_rows[i].unroll || vectors != short_rows[i].vectors ||
            plan.block.x != short_rows[i].threads)
            fail_msg("%s %s: lanes=%lld unroll=%lld vectors=%lld of %u threads", short_rows[i].family, short_rows[i].words,
                     (long long)lanes, (long long)unroll, (long long)vectors, plan.block.x);
    }
}

// What decides how fast rows are that begin beside each other's vectors, that are few, or long (templates/rows/engine/constants.def has the measurements).
static const struct {
    const char *family, *words, *form;
    uint64_t    cluster, warps, pieces;
} rows_of_blocks[] = {
    {"crossentropy", "rows=512 columns=32000 dtype=bf16 align=2", "direct", 0, 8, 4},
    {"crossentropy", "rows=512 columns=32000 dtype=bf16", "direct", 0, 8, 4},
    {"crossentropy", "rows=128 columns=131072 dtype=f16", "direct", 0, 32, 2},
    {"crossentropy", "rows=4185 columns=128256 dtype=bf16", "direct", 4, 4, 4},
    {"crossentropy", "rows=4185 columns=128256 dtype=bf16 smoothing=0.1", "direct", 4, 8, 4},
    {"rmsnorm", "rows=44 columns=4824513 dtype=bf16", "spread", 0, 16, 3},
    {"layernorm", "rows=616 columns=335074 dtype=bf16 out-stride=335138 align=8 bias=yes", "direct", 16, 8, 3},
    {"logsoftmax", "rows=2075 columns=110055 dtype=bf16 stride=110066 out-stride=110074", "direct", 8, 8, 2},
    {"softmax", "rows=62 columns=50257 dtype=bf16 out-stride=50297", "direct", 8, 8, 1},
    {"crossentropy", "rows=63 columns=25571 stride=25635", "direct", 2, 13, 1},
    {"crossentropy", "rows=149379 columns=1797 dtype=bf16", "direct", 0, 2, 1},
    {"rmsnorm", "rows=181 columns=739691 dtype=bf16", "spread", 0, 16, 1},
    {"crossentropy", "rows=696 columns=770907 dtype=bf16 gradient=yes", "direct", 16, 16, 3},
    {"rmsnorm", "rows=262144 columns=512 dtype=bf16 align=2 pass=backward weight-gradient=yes", "direct", 0, 4, 1},
    {"rmsnorm", "rows=349525 columns=1536 dtype=bf16 stride=1544 pass=backward weight-gradient=yes", "direct", 0, 6, 1},
    {"layernorm", "rows=1 columns=7168 dtype=f16 pass=backward weight-gradient=yes bias-gradient=yes", "direct", 0, 4, 7},
    {"rmsnorm", "rows=7 columns=3584 dtype=f16 align=8 pass=backward weight-gradient=yes", "direct", 0, 16, 1},
    {"rmsnorm", "rows=51 columns=262144 dtype=bf16 pass=backward weight-gradient=yes", "stream", 16, 11, 1},
    {"layernorm", "rows=8192 columns=40885 dtype=bf16 stride=40949 align=2 bias=yes", "spread", 0, 16, 2},
    {"layernorm", "rows=8192 columns=40885 dtype=bf16 stride=40949 align=2 weight=no", "direct", 4, 10, 1},
    {"layernorm", "rows=1575 columns=340756 dtype=bf16 align=2 bias=yes", "direct", 16, 8, 3},
    {"layernorm", "rows=1575 columns=340756 dtype=bf16 align=2", "direct", 16, 11, 2},
    {"rmsnorm", "rows=2549 columns=105289 out=bf16 residual=yes", "direct", 16, 8, 7},
    {"rmsnorm", "rows=1304 columns=205727 stride=205791 residual=yes", "direct", 16, 15, 7},
    {"rmsnorm", "rows=57298 columns=5839 dtype=bf16 pass=backward weight-gradient=yes", "direct", 0, 23, 1},
    {"rmsnorm", "rows=24134 columns=22245 dtype=bf16 pass=backward weight-gradient=yes", "direct", 0, 1, 87},
    {"layernorm", "rows=8192 columns=16384 dtype=bf16 align=8 pass=backward weight-gradient=yes bias-gradient=yes", "direct", 0, 4, 6},
    {"layernorm", "rows=1024 columns=131072 dtype=bf16 align=8 pass=backward weight-gradient=yes bias-gradient=yes", "direct", 0, 16, 11},
    {"rmsnorm", "rows=262 columns=2046162 dtype=f16 pass=backward weight-gradient=yes", "direct", 0, 16, 250},
    {"rmsnorm", "rows=1 columns=979077 dtype=bf16 pass=backward weight-gradient=yes", "direct", 0, 16, 240},
    {"rmsnorm", "rows=3 columns=39841 dtype=bf16 stride=39849", "direct", 16, 8, 1},  // few rows, from here on
    {"crossentropy", "rows=6 columns=100824 dtype=bf16", "direct", 16, 8, 1},
    {"softmax", "rows=1 columns=16384 out-stride=16448", "direct", 8, 8, 1},
    {"logsoftmax", "rows=1 columns=131072 dtype=bf16 out-stride=131130", "spread", 0, 16, 1},
    {"crossentropy", "rows=22 columns=3276216 dtype=bf16 align=8", "spread", 0, 16, 17},
    {"softmax", "rows=10 columns=286491 stride=286518 out-stride=286499", "spread", 0, 16, 1},
    {"softmax", "rows=3 columns=3439176 dtype=bf16 out-stride=3439219 align=2", "spread", 0, 16, 3},
    {"layernorm", "rows=2 columns=16867810 out-stride=16867866", "spread", 0, 16, 21},
    {"softmax", "rows=293 columns=27528", "direct", 4, 8, 1},  // blocks of which an SM has several, from here on
    {"softmax", "rows=8192 columns=27528", "direct", 0, 27, 1},
    {"layernorm", "rows=20614 columns=26043 dtype=bf16 bias=yes", "direct", 0, 9, 3},
    {"logsoftmax", "rows=3533 columns=151936 dtype=f16 align=8", "direct", 16, 8, 2},
    {"crossentropy", "rows=1765 columns=152064 align=8 gradient=yes", "direct", 16, 10, 1},
    {"layernorm", "rows=16332 columns=8192 align=8 bias=yes", "direct", 0, 16, 1},
};

static void rows_take_the_blocks_that_are_fastest(void **state) {
    (void)state;
    const cj_limits *limits;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(rows_of_blocks); i++) {
        cj_plan plan;
        char    form[16];
        cj_test_plan(rows_of_blocks[i].family, rows_of_blocks[i].words, limits, &plan);
        const uint64_t cluster = cj_params_get(&plan.params, "cluster"), warps = cj_params_get(&plan.params, "warps");
        const uint64_t pieces = cj_params_get(&plan.params, "pieces");
        if (strcmp(cj_params_word(&plan.params, "form", form, sizeof form), rows_of_blocks[i].form) != 0 || cluster != rows_of_blocks[i].cluster ||
            warps != rows_of_blocks[i].warps || pieces != rows_of_blocks[i].pieces)
            fail_msg("%s %s: form=%s cluster=%" PRIu64 " warps=%" PRIu64 " pieces=%" PRIu64, rows_of_blocks[i].family, rows_of_blocks[i].words,
                     cj_params_word(&plan.params, "form", form, sizeof form), cluster, warps, pieces);
    }
}

// Each block's sums are written and read again: few rows, and short ones, have no more blocks than gain (templates/rows/engine/constants.def).
static void sums_over_rows_have_blocks_that_are_worth_it(void **state) {
    (void)state;
    static const struct {
        const char *words;
        unsigned    grid;
    } cases[] = {{"rows=1 columns=8192 dtype=bf16", 264},          {"rows=1 columns=2304 dtype=f16", 5},
                 {"rows=6 columns=768 dtype=f16", 6},              {"rows=16384 columns=35 dtype=bf16 stride=43", 256},
                 {"rows=4096 columns=27 dtype=f16 align=8", 128},  {"rows=512 columns=256 dtype=bf16", 128},
                 {"rows=128 columns=21547 dtype=bf16", 1584},      {"rows=8192 columns=16384 dtype=bf16 align=8", 132}};
    const cj_limits *limits;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char    words[160];
        cj_plan plan;
        snprintf(words, sizeof words, "%s pass=backward weight-gradient=yes", cases[i].words);
        cj_test_plan("rmsnorm", words, limits, &plan);
        if (plan.grid.x != cases[i].grid) fail_msg("rmsnorm %s: %u blocks, not %u", words, plan.grid.x, cases[i].grid);
    }
}

// Whatever registers the plan counts for a thread: nearly each SM has a block. Clusters leave out some.
static void many_rows_with_sums_keep_all_sms_busy(void **state) {
    (void)state;
    static const char *const ways[] = {"dtype=f32", "dtype=bf16", "dtype=f16 align=8", "dtype=bf16 out=f32 align=4", "dtype=f32 align=8"};
    const cj_limits         *limits;
    cj_error                 error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    for (unsigned columns = 512; columns <= 65536; columns += columns / 8)
        for (size_t i = 0; i < CJ_TEST_COUNT(ways); i++) {
            char    words[160];
            cj_plan plan;
            snprintf(words, sizeof words, "rows=8192 columns=%u %s pass=backward weight-gradient=yes bias-gradient=yes", columns, ways[i]);
            cj_test_plan("layernorm", words, limits, &plan);
            if (4 * plan.grid.x < 3 * limits->sm_count) fail_msg("layernorm %s: %u blocks for %u SMs", words, plan.grid.x, limits->sm_count);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_rows_have_lanes_of_a_warp),
        cmocka_unit_test(rows_take_the_blocks_that_are_fastest),
        cmocka_unit_test(sums_over_rows_have_blocks_that_are_worth_it),
        cmocka_unit_test(many_rows_with_sums_keep_all_sms_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
