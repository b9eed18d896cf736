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

// A device whose host threads run blocks beside each other.
static cj_device *open_threads(void) {
    const cj_device_options cpu = {CJ_INIT(cpu), .spec = "cpu"};
    const cj_cpu_options    threads = {CJ_INIT(threads), .threads = 4};
    cj_device              *device;
    cj_error                error = {0};
    cj_test_ok(cj_device_open(&cpu, &device, &error), &error);
    cj_test_ok(cj_cpu_configure(device, &threads, &error), &error);
    return device;
}

// A tile finds tiles that do not know yet what comes before them.
static void tiles_beside_each_other_look_back_to_the_first_one_of_their_row(void **state) {
    (void)state;
    cj_device *device = open_threads();
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

static void segments_of_any_length_beside_each_other_are_sorted_by_lists(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < 24; i++) {
        cj_test_watch(i % 3);
        cj_test_sort_lists(cj_test_device, &seed, i % 3 ? 2500 : 600);
    }
}

// Blocks take tiles of one segment beside those of others, and list segments, at the same time.
static void lists_are_right_whatever_runs_beside(void **state) {
    (void)state;
    uint64_t   seed = cj_test_seed();
    cj_device *device = open_threads();
    for (unsigned i = 0; i < 6; i++) cj_test_sort_lists(device, &seed, 4000);
    cj_device_close(device);
}

// Without a form that is asked for: one that is longer than a block holds, without clusters.
static void a_long_segment_is_sorted_as_the_plan_chooses(void **state) {
    (void)state;
    enum { LONG = 17000, ALL = LONG + 1000 };
    static int32_t     x[ALL], values[ALL];
    const int64_t      offsets[] = {0, 300, 300 + LONG, ALL - 1, ALL};
    const cj_sort_desc desc = {CJ_INIT(desc), .rows = 4, .columns = LONG, .elements = ALL, .dtype = CJ_I32, .offsets = CJ_I64, .values_only = true, .cluster = CJ_SORT_NO_CLUSTER};
    cj_error           error = {0};
    cj_ptr             at, to, offsets_at;
    cj_test_watch(0);
    for (int i = 0; i < ALL; i++) x[i] = (int32_t)((uint32_t)i * 2654435761u);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &at, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &to, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof offsets, &offsets_at, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, at, x, sizeof x, NULL, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, offsets_at, offsets, sizeof offsets, NULL, &error), &error);
    cj_test_ok(cj_sort_launch_segmented(cj_test_device, &desc, at, offsets_at, to, 0, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, values, to, sizeof values, NULL, &error), &error);
    for (unsigned s = 0; s < 4; s++) {
        uint32_t sum = 0;  // of what is there, without what was there
        for (int64_t i = offsets[s]; i < offsets[s + 1]; i++) {
            sum += (uint32_t)values[i] - (uint32_t)x[i];
            if (i > offsets[s]) assert_true(values[i - 1] < values[i]);
        }
        assert_int_equal(sum, 0);
    }
    cj_mem_free(cj_test_device, at);
    cj_mem_free(cj_test_device, to);
    cj_mem_free(cj_test_device, offsets_at);
}

// Each of these breaks what the description promises: the launch ends before a segment is written where none may be.
static void wrong_offsets_end_a_launch_of_lists(void **state) {
    (void)state;
    static const int32_t offsets[][4] = {{0, 700, 1400, 1401}, {0, 100, 50, 300}, {0, 600, 1200, 1800}, {10, 0, 0, 0}, {-2000000000, 0, 10, 20}, {0, 300, 600, 2000000000}};
    cj_params            params;
    cj_kernel           *kernel;
    cj_error             error = {0};
    cj_ptr               at;
    cj_test_watch(0);
    cj_test_ok(cj_test_params("sort", "rows=3 columns=600 elements=1500 segments=i32 form=grid block=256 items=1 dtype=u8 index=u32", &params, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, 16384, &at, &error), &error);
    cj_test_ok(cj_mem_fill(cj_test_device, at, 0, 16384, NULL, &error), &error);
    cj_test_ok(cj_kernel_create(cj_test_device, &params, &kernel, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(offsets); i++) {
        cj_ptr x = at + 1024, values = at + 4096, indices = at + 8192;
        void  *arguments[] = {&x, &values, &indices, &at};
        cj_test_ok(cj_mem_write(cj_test_device, at, offsets[i], sizeof offsets[i], NULL, &error), &error);
        assert_int_not_equal(cj_kernel_launch(kernel, NULL, arguments, 4, &error), CJ_OK);
        if (!strstr(error.message, "trap")) fail_msg("offsets %zu: %s", i, error.message);
    }
    cj_kernel_destroy(kernel);
    cj_mem_free(cj_test_device, at);
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
    cj_test_refused("sort", CJ_INVALID_ARGUMENT, "columns=100 elements=100", "elements: 100 has no effect with segments=none");
    cj_test_refused("sort", CJ_CONTRACT, "rows=2^20 columns=2^30 segments=i64", "elements: 1125899906842624 of 1048576 segments take");
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
        cmocka_unit_test(segments_of_any_length_beside_each_other_are_sorted_by_lists),
        cmocka_unit_test(lists_are_right_whatever_runs_beside),
        cmocka_unit_test(a_long_segment_is_sorted_as_the_plan_chooses),
        cmocka_unit_test(wrong_offsets_end_a_launch_of_lists),
        cmocka_unit_test(a_segment_that_is_too_long_is_told),
        cmocka_unit_test(a_call_sorts_and_refuses_what_it_cannot),
        cmocka_unit_test(a_call_sorts_pairs_and_refuses_what_it_cannot),
        cmocka_unit_test(payloads_of_every_width_follow_their_keys),
        cmocka_unit_test(impossible_shapes_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
