// SPDX-License-Identifier: Apache-2.0
// Sorts on the CPU device, watched for hazards.
#include <string.h>

#include "sort_cases.h"

#include <stdio.h>

#include "emit.h"
#include "test.h"

static void every_type_order_and_kind_of_row_is_right(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f64",  "i32", "u32", "i64", "u64",
                                        "f16", "bf16", "i8",  "u8",  "i16", "u16"};
    static const char *const results[] = {"both", "values", "indices"};
    for (unsigned t = 0; t < CJ_TEST_COUNT(types); t++)
        for (unsigned fill = t % 2; fill < CJ_SORT_FILLS; fill += 2) {
            char words[160];
            cj_test_watch(fill);
            snprintf(words, sizeof words, "rows=1 columns=70 block=32 dtype=%s order=%s result=%s cluster=%u", types[t],
                     (t + fill) % 2 ? "ascending" : "descending", results[(t + fill / 2) % 3], fill % 3 ? 0 : 2);
            cj_test_sort(cj_test_device, words, (cj_sort_fill)fill, fill);
        }
}

static void rows_about_what_a_warp_a_block_and_a_cluster_hold_are_right(void **state) {
    (void)state;
    cj_test_watch(2);
    cj_test_sort_bounds(cj_test_device, 11);
}

static void what_the_plan_chooses_is_right(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_sort(cj_test_device, "rows=1 columns=1025", CJ_SORT_RANDOM, 1);
    cj_test_sort(cj_test_device, "rows=1 columns=600 dtype=bf16", CJ_SORT_WILD, 2);
}

// Runs within a group, over groups, warps and ranks; those that are too long; and pads with the prefix of the greatest key.
static void runs_of_a_prefix_settle_or_are_sorted_again(void **state) {
    (void)state;
    static const char *const shapes[] = {"columns=255 block=64 items=4 form=block", "columns=250 block=32 items=4 cluster=2", "columns=180 form=warp block=64",
                                         "columns=250 block=64 items=1 cluster=4"};
    static const char *const types[] = {"f32", "i32", "u64", "f64"};
    for (unsigned i = 0; i < 32; i++) {
        char words[160];
        cj_test_watch(i % 3);
        snprintf(words, sizeof words, "rows=2 %s dtype=%s order=%s prefix=%u", shapes[i % 4], types[(i / 4) % 4], i & 1 ? "ascending" : "descending", 1 + i % 3);
        cj_test_sort(cj_test_device, words, i < 24 ? CJ_SORT_NEAR : CJ_SORT_RANDOM, i);
    }
}

static void any_shape_and_stride_is_right(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < 12; i++) {
        cj_test_watch(i % 3);
        cj_test_sort_random(cj_test_device, &seed, 300);
    }
}

// Host threads run blocks beside each other, so a tile finds tiles that do not know yet what comes before them.
static void tiles_beside_each_other_look_back_to_the_first_one_of_their_row(void **state) {
    (void)state;
    const cj_device_options cpu = {CJ_INIT(cpu), .spec = "cpu"};
    const cj_cpu_options    threads = {CJ_INIT(threads), .threads = 4};
    cj_device              *device;
    cj_error                error = {0};
    cj_test_ok(cj_device_open(&cpu, &device, &error), &error);
    cj_test_ok(cj_cpu_configure(device, &threads, &error), &error);
    for (uint64_t seed = 0; seed < 2; seed++)
        cj_test_sort(device, "rows=150 columns=520 dtype=u8 form=grid block=256 items=1", CJ_SORT_RANDOM, seed);
    cj_device_close(device);
}

static void segments_of_any_length_are_sorted_by_themselves(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < 20; i++) {
        cj_test_watch(i % 3);
        cj_test_sort_segments(cj_test_device, &seed, i % 2 ? 40 : 300);
    }
}

static void a_segment_that_is_too_long_is_told(void **state) {
    (void)state;
    const int32_t      offsets[] = {0, 9};
    const cj_sort_desc desc = {CJ_INIT(desc), .rows = 1, .columns = 8, .offsets = CJ_I32};
    cj_error           error = {0};
    cj_ptr             at;
    cj_test_watch(0);
    cj_test_ok(cj_mem_alloc(cj_test_device, 4096, &at, &error), &error);
    cj_test_ok(cj_mem_fill(cj_test_device, at, 0, 4096, NULL, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, at, offsets, sizeof offsets, NULL, &error), &error);
    assert_int_not_equal(cj_sort_launch_segmented(cj_test_device, &desc, at + 1024, at, at + 2048, at + 3072, NULL, &error), CJ_OK);
    assert_non_null(strstr(error.message, "trap"));
    cj_mem_free(cj_test_device, at);
}

static void a_call_sorts_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_sort_call(cj_test_device);
}

static void a_call_sorts_pairs_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_sort_pairs(cj_test_device);
}

// Every form that keeps an index, packed and apart, in pairs and settled, moves a payload of every width, with and without other results.
static void payloads_of_every_width_follow_their_keys(void **state) {
    (void)state;
    static const char *const shapes[] = {"columns=70 form=warp block=64", "columns=250 block=64 form=block", "columns=250 block=32 cluster=2",
                                         "columns=270 form=grid block=256 items=1", "columns=250 block=64 form=block prefix=1"};
    static const char *const types[] = {"f32", "i64", "bf16", "u8"}, *const widths[] = {"b8", "b16", "b32", "b64"},
                             *const results[] = {"both", "values", "indices", "neither"};
    for (unsigned i = 0; i < CJ_TEST_COUNT(shapes) * 16; i++) {
        const unsigned shape = i / 16, type = i / 4 % (shape == 4 ? 2 : 4);
        char           words[200];
        cj_test_watch(i % 3);
        snprintf(words, sizeof words, "rows=2 %s dtype=%s payload=%s payload-stride=%u result=%s", shapes[shape], types[type], widths[i % 4], 270 + i,
                 results[(i + i / 4) % 4]);
        cj_test_sort(cj_test_device, words, (cj_sort_fill)(i % CJ_SORT_FILLS), i);
    }
}

static void impossible_shapes_are_refused_by_name(void **state) {
    (void)state;
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 stride=99", "stride: 99 is below the 100 columns");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 payload=b32 payload-stride=99", "payload-stride: 99 is below the 100 columns");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 payload-stride=100", "payload-stride: 100 has no effect with payload=none");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 payload=b8 segments=i32 payload-stride=100", "payload-stride: 100, but segments lie");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 result=neither", "result: neither, and there is no payload");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=1000 block=32 digit=9", "digit: 9 bits are 512 bins");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=1000 form=cluster cluster=0", "form: cluster, but");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=1000 cluster=2 block=96", "this is a power of two");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 form=warp cluster=2", "cluster: 2 is asked for");
    cj_test_refused("sort", CJ_CONTRACT, "columns=100000 form=block",
                    "columns: 100000 do not fit 1 block of 1024 threads");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 segments=i32 stride=100", "stride: 100, but segments lie");
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 segments=i64 form=grid", "form: grid sorts rows of a matrix");
    cj_test_refused("sort", CJ_CONTRACT, "columns=10000000 segments=i64",
                    "segment of 10000000 elements of f32 is too long: ");
    cj_test_refused("sort", CJ_CONTRACT, "columns=262145 segments=i64 dtype=bf16", "segments of up to 262144 in a cluster");
    cj_test_refused("sort", CJ_CONTRACT, "columns=262145 segments=i64 dtype=f64", "segments of up to 131072 in a cluster");
    cj_test_refused("sort", CJ_CONTRACT, "columns=16385 segments=i64 cluster=0", "segments of up to 16384 without clusters");
    cj_test_refused("sort", CJ_CONTRACT, "columns=300000 segments=i32 cluster=16",
                    "columns: 300000 do not fit 16 blocks");
    cj_test_refused("sort", CJ_CONTRACT, "rows=2^30 columns=1000 cluster=4", "blocks, more than the 2^31 - 1 of a grid");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_order_and_kind_of_row_is_right),
        cmocka_unit_test(rows_about_what_a_warp_a_block_and_a_cluster_hold_are_right),
        cmocka_unit_test(what_the_plan_chooses_is_right),
        cmocka_unit_test(runs_of_a_prefix_settle_or_are_sorted_again),
        cmocka_unit_test(any_shape_and_stride_is_right),
        cmocka_unit_test(tiles_beside_each_other_look_back_to_the_first_one_of_their_row),
        cmocka_unit_test(segments_of_any_length_are_sorted_by_themselves),
        cmocka_unit_test(a_segment_that_is_too_long_is_told),
        cmocka_unit_test(a_call_sorts_and_refuses_what_it_cannot),
        cmocka_unit_test(a_call_sorts_pairs_and_refuses_what_it_cannot),
        cmocka_unit_test(payloads_of_every_width_follow_their_keys),
        cmocka_unit_test(impossible_shapes_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
