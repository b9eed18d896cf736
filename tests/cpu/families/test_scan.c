// SPDX-License-Identifier: Apache-2.0
// Scans on the CPU device, watched for hazards.
#include "scan_cases.h"

#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static void every_op_type_and_direction_is_right(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i32", "u32", "i64", "u64", "f16", "bf16"};
    static const char *const ops[] = {"sum", "min", "max", "product"};
    for (unsigned i = 0; i < 32; i++) {
        char words[128];
        cj_test_watch(i);
        snprintf(words, sizeof words, "rows=3 columns=%u op=%s dtype=%s exclusive=%s reverse=%s", 40 + 24 * i,
                 ops[i % 4], types[i / 4], i & 2 ? "yes" : "no", i & 4 ? "yes" : "no");
        cj_test_scan(cj_test_device, words, 0, i);
    }
}

// A lane a row, some lanes, a warp, warps, a block, tiles: one element less, and one more.
static void rows_of_every_length_are_right(void **state) {
    (void)state;
    static const unsigned lengths[] = {1,   2,   3,   4,   8,   31,  32,   33,   63,   64,
                                       127, 128, 129, 511, 512, 513, 2047, 2048, 2052, 4100};
    for (size_t i = 0; i < CJ_TEST_COUNT(lengths); i++) {
        char words[128];
        cj_test_watch(i);
        snprintf(words, sizeof words, "rows=%u columns=%u dtype=i32 block=128", lengths[i] > 600 ? 2 : 9, lengths[i]);
        cj_test_scan(cj_test_device, words, 0, i);
    }
}

// Groups of 32 tiles: none, one, and several, the last of them full or not, forward and in reverse.
static void long_rows_look_back(void **state) {
    (void)state;
    static const unsigned tiles[] = {2, 31, 32, 33, 64, 65, 100};
    for (size_t i = 0; i < CJ_TEST_COUNT(tiles); i++)
        for (unsigned way = 0; way < 2; way++) {
            char words[160];
            cj_test_watch(i + way);
            snprintf(words, sizeof words, "rows=2 columns=%u dtype=%s block=32 loads=1 reverse=%s exclusive=%s",
                     tiles[i] * (way ? 64 : 128) - 4, way ? "f64" : "f32", i & 1 ? "yes" : "no", way ? "yes" : "no");
            cj_test_scan(cj_test_device, words, 0, i);
        }
}

static void clusters_take_rows_together(void **state) {
    (void)state;
    static const unsigned clusters[] = {2, 3, 8, 16};
    for (size_t i = 0; i < CJ_TEST_COUNT(clusters); i++) {
        char words[160];
        cj_test_watch(i);
        snprintf(words, sizeof words, "rows=3 columns=%u dtype=%s block=64 loads=1 cluster=%u",
                 clusters[i] * (i & 1 ? 128 : 512) - 8, i & 1 ? "i64" : "bf16", clusters[i]);
        cj_test_scan(cj_test_device, words, 0, i);
    }
}

// Few rows of so many loads that a block would wait for them, and so few that a cluster's threads have two each.
static void few_rows_are_a_clusters_each(void **state) {
    (void)state;
    static const struct {
        const char *words;
        uint64_t    cluster, block;
    } cases[] = {{"columns=3504", 8, 128},
                 {"rows=2 columns=6315 dtype=f16 op=max", 16, 256},
                 {"rows=16 columns=17928 dtype=bf16", 16, 128},
                 {"columns=65536", 16, 512},
                 {"columns=1953 dtype=i64 reverse=yes", 8, 128},
                 {"columns=65540", 0, CJ_PARAM_AUTO},
                 {"columns=2074", 0, CJ_PARAM_AUTO},
                 {"rows=17 columns=17928", 0, CJ_PARAM_AUTO},
                 {"columns=16384 heads=flags", 0, CJ_PARAM_AUTO},
                 {"columns=16384 block=256", 0, 256},
                 {"columns=16384 cluster=0", 0, CJ_PARAM_AUTO}};
    const cj_limits *limits;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_plan plan;
        cj_test_plan("scan", cases[i].words, limits, &plan);
        const uint64_t cluster = cj_params_get(&plan.params, "cluster"), block = cj_params_get(&plan.params, "block");
        if (cluster != cases[i].cluster || block != cases[i].block)
            fail_msg("%s: cluster=%lld block=%lld", cases[i].words, (long long)cluster, (long long)block);
        if (!cj_test_chosen(i, 5)) continue;
        cj_test_watch(i);
        cj_test_scan(cj_test_device, cases[i].words, 0, i);
    }
}

// Blocks that stay, and have tiles or rows one after the other: every type and direction; groups of 32 tiles, none to
// several; a load less than a tile, a whole one, one more; rows with gaps; segments; more stages than tiles, and one.
static void a_persistent_kernel_has_tile_after_tile(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i32", "u32", "i64", "u64", "f16", "bf16"};
    static const char *const ops[] = {"sum", "min", "max", "product"};
    static const unsigned    tiles[] = {1, 2, 3, 31, 32, 33, 64, 65, 100};
    for (unsigned i = 0; i < 8 * CJ_TEST_COUNT(tiles); i++) {
        char           words[256];
        const unsigned count = tiles[i / 8], loads = 1 + i % 2,
                       width = i % 8 > 5                      ? 8
                               : i % 8 == 1 || i % 8 / 2 == 2 ? 2
                                                              : 4;
        const unsigned columns = (count * 32 * loads + (i + i / 8) % 3 - 1) * width;
        if (!cj_test_chosen(i, 9)) continue;
        cj_test_watch(i % 5);
        snprintf(words, sizeof words,
                 "rows=%u columns=%u dtype=%s op=%s exclusive=%s reverse=%s form=stream counter=%s block=32 loads=%u"
                 " stages=%u grid=%u stride=%u%s",
                 count > 30 ? 2 : 5, columns, types[i % 8], i % 8 > 5 ? "sum" : ops[i / 8 % 4],
                 i / 2 % 2 ? "yes" : "no", i / 3 % 2 ? "yes" : "no", i / 4 % 3 ? "tile" : "row", loads, 1 + i % 4,
                 1 + i % 3 * 40, columns + i % 3 * width, i / 5 % 2 ? " heads=flags" : "");
        cj_test_scan(cj_test_device, words, 0, i);
    }
    if (cj_test_chosen(0, 2)) cj_test_scan(cj_test_device, "columns=40000 form=stream loads=2 stages=4", 0, 3);
    if (cj_test_chosen(1, 2))
        cj_test_scan(cj_test_device, "rows=2 columns=40000 form=stream counter=row loads=2 dtype=u32", 0, 3);
}

// One array may end within 16 bytes: what is left stands after the last tile, which is whole, or not.
static void one_array_ends_anywhere(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i32", "bf16", "f16", "u64"};
    static const unsigned    widths[] = {4, 2, 4, 8, 8, 2};
    for (unsigned i = 0; i < 24; i++) {
        char           words[192];
        const unsigned width = widths[i % 6], tail = 1 + i % (width - 1), loads[] = {1, 32, 33, 32 * 32};
        if (!cj_test_chosen(i, 5)) continue;
        cj_test_watch(i % 5);
        snprintf(words, sizeof words,
                 "columns=%u dtype=%s exclusive=%s form=stream block=32 loads=1 stages=2 grid=%u%s",
                 loads[i / 6] * width + tail, types[i % 6], i % 4 / 2 ? "yes" : "no", 1 + i,
                 i % 5 > 2 ? " heads=flags" : "");
        cj_test_scan(cj_test_device, words, 0, i);
    }
}

// An array that is aligned to an element or two, at each distance from a multiple of 16 bytes: its head, tiles of which the last may
// have nothing, and its tail.
static void one_array_begins_anywhere(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i32", "bf16", "f16", "u64"};
    static const unsigned    widths[] = {4, 2, 4, 8, 8, 2}, aligns[] = {4, 8, 8, 4, 8, 8}, steps[] = {1, 1, 2, 2, 4, 1};
    for (unsigned i = 0; i < 48; i++) {
        char           words[192];
        const unsigned type = i % 6, width = widths[type], columns[] = {1, 32 * width, 64 * width + 1, 33 * 32 * width - 1};
        const unsigned shift = steps[type] * (i / 6 % (width / steps[type]));
        if (!cj_test_chosen(i, 5)) continue;
        cj_test_watch(i % 5);
        snprintf(words, sizeof words, "columns=%u dtype=%s exclusive=%s align=%u form=stream block=%u loads=1 stages=2 grid=%u",
                 columns[i / 12] + i / 6 % 2 * (i % 3), types[type], i % 4 / 2 ? "yes" : "no", aligns[type], 32 << i / 24, 1 + i % 7);
        cj_test_scan(cj_test_device, words, shift, i);
    }
}

// Direct tiles: the last load of a row is a part, of one element to all but one; of one block, several warps, tiles, a cluster; of
// arrays that are aligned to half a load.
static void rows_of_direct_tiles_end_within_a_load(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64", "i32", "bf16", "f16", "u64"};
    static const unsigned    widths[] = {4, 2, 4, 8, 8, 2};
    static const char *const forms[] = {"rows=1", "rows=3 stride=5000 out-stride=5200", "rows=1 block=32 loads=2",
                                        "rows=1 align=8", "rows=1 block=64 loads=2 cluster=16 align=8"};
    for (unsigned i = 0; i < 60; i++) {
        char           words[192];
        const unsigned width = widths[i % 6], tail = 1 + i % (width - 1), loads[] = {64 * (8 / width), 130, 257};
        const unsigned shift = i / 6 % 5 > 2 && width > 2 ? width / 2 : 0;
        if (!cj_test_chosen(i, 5)) continue;
        cj_test_watch(i % 5);
        snprintf(words, sizeof words, "columns=%u dtype=%s exclusive=%s form=direct %s", loads[i % 3] * width * 2 + tail,
                 types[i % 6], i % 4 / 2 ? "yes" : "no", forms[i / 6 % 5]);
        cj_test_scan(cj_test_device, words, shift, i);
    }
}

// Flags and offsets of either type, in rows of every length, by lanes, warps, blocks, and tiles by look-back: forward
// and in reverse. How often segments begin comes with the seed, from never to at each element.
static void segments_begin_where_it_is_said(void **state) {
    (void)state;
    static const unsigned    lengths[] = {1, 3, 31, 64, 129, 511, 512, 1000, 1536, 4096};
    static const char *const heads[] = {"flags", "i32 segments=7", "i64 segments=500"};
    static const char *const types[] = {"f32", "i64", "bf16", "u32"};
    for (unsigned i = 0; i < 3 * CJ_TEST_COUNT(lengths); i++) {
        char           words[192];
        const unsigned columns = lengths[i / 3];
        cj_test_watch(i % 5);
        snprintf(words, sizeof words, "rows=%d columns=%u heads=%s dtype=%s block=64 loads=%s reverse=%s exclusive=%s",
                 i % 3           ? 1
                 : columns > 600 ? 2
                                 : 9,
                 columns, heads[i % 3], types[i % 4], columns > 600 ? "1" : "auto", i / 2 % 2 ? "yes" : "no",
                 i / 4 % 2 ? "yes" : "no");
        cj_test_scan(cj_test_device, words, 0, i);
    }
}

// Segments that end in the tile, in its group, groups before, and never: each tile's carry stops where one begins.
static void carries_stop_where_a_segment_begins(void **state) {
    (void)state;
    for (unsigned i = 0; i < 14; i++) {
        char words[160];
        cj_test_watch(i);
        snprintf(words, sizeof words, "columns=%u dtype=%s block=32 loads=1 reverse=%s exclusive=%s heads=%s",
                 i & 1 ? 4600 : 9000, i & 1 ? "u64" : "i32", i & 2 ? "yes" : "no", i & 4 ? "yes" : "no",
                 i > 6 ? "flags" : "i32 segments=9");
        cj_test_scan(cj_test_device, words, 0, i);
        snprintf(words, sizeof words, "rows=2 columns=%u dtype=%s block=64 loads=1 cluster=%u heads=flags reverse=%s",
                 i & 1 ? 500 : 1000, i & 1 ? "f64" : "f16", i & 1 ? 8 : 4, i & 2 ? "yes" : "no");
        cj_test_scan(cj_test_device, words, 0, i);
    }
}

static void any_shape_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t       seed = cj_test_seed();
    const unsigned kernels = cj_test_few() ? 15 : 60;
    for (unsigned i = 0; i < kernels; i++) {
        cj_test_watch(i % 3);
        cj_test_scan_random(cj_test_device, &seed, 4000);
    }
}

static void a_call_scans_in_place_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_scan_call(cj_test_device);
    cj_test_scan_call_segmented(cj_test_device);
}

static void a_users_operation_keeps_its_order(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_scan_user(cj_test_device);
}

// ---- what is refused

static void impossible_shapes_are_refused_by_name(void **state) {
    (void)state;
    cj_test_refused("scan", CJ_CONTRACT, "columns=2^20 cluster=4", "cluster: a row of 1048576 elements is");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=100 rows=2 stride=99", "stride: 99 is below the 100 columns");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "block=96", "block: 96 is not a power of two");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "heads=i32", "segments: 0 is below 1");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "heads=flags segments=3", "segments: 3 has no effect with heads=flags");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "heads=i64 segments=3 rows=2",
                    "offsets are of one array, not of 2 rows");
    cj_test_refused("scan", CJ_CONTRACT, "columns=2^40 rows=2^20 form=direct", "more blocks");
    cj_test_refused("scan", CJ_CONTRACT, "columns=2^40 block=32 loads=1 form=stream counter=row", "more blocks");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "rows=2 columns=1001 form=stream", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=1001 reverse=yes form=stream", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=1001 counter=row form=stream", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=3 form=stream", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 form=stream align=2 dtype=f16", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 form=stream heads=i32 segments=9",
                    "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 form=stream cluster=8", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 form=stream block=512", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 form=stream stages=16", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 counter=tile cluster=8", "form=stream does not fit");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 form=direct counter=row", "counter: row has no effect with form=direct");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^20 form=direct grid=2", "grid: 2 has no effect with form=direct");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^24 form=direct dtype=f16 loads=8 block=1024",
                    "loads: 8 loads");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=2^24 form=direct loads=8 block=1024 heads=flags",
                    "loads: 8 loads");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_type_and_direction_is_right),
        cmocka_unit_test(rows_of_every_length_are_right),
        cmocka_unit_test(long_rows_look_back),
        cmocka_unit_test(clusters_take_rows_together),
        cmocka_unit_test(few_rows_are_a_clusters_each),
        cmocka_unit_test(a_persistent_kernel_has_tile_after_tile),
        cmocka_unit_test(one_array_ends_anywhere),
        cmocka_unit_test(one_array_begins_anywhere),
        cmocka_unit_test(rows_of_direct_tiles_end_within_a_load),
        cmocka_unit_test(segments_begin_where_it_is_said),
        cmocka_unit_test(carries_stop_where_a_segment_begins),
        cmocka_unit_test(any_shape_stride_and_alignment_is_right),
        cmocka_unit_test(a_call_scans_in_place_and_refuses_what_it_cannot),
        cmocka_unit_test(a_users_operation_keeps_its_order),
        cmocka_unit_test(impossible_shapes_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
