// SPDX-License-Identifier: Apache-2.0
// Scans on a GPU. CJ_FEW=1 runs a few small kernels, for compute-sanitizer.
#include "scan_cases.h"

#include <stdio.h>

#include "test.h"

static void any_shape_stride_and_alignment_is_right(void **state) {
    (void)state;
    uint64_t  seed = cj_test_seed();
    const int kernels = cj_test_few() ? 12 : 120;
    for (int i = 0; i < kernels; i++) cj_test_scan_random(cj_test_device, &seed, cj_test_few() ? 20000 : 200000);
}

// Thousands of tiles, of which many wait for each other at once.
static void long_rows_look_back(void **state) {
    (void)state;
    cj_test_scan(cj_test_device, "rows=1 columns=1000000 block=32 loads=1", 0, 1);
    if (cj_test_few()) return;
    cj_test_scan(cj_test_device, "rows=3 columns=3000000 dtype=i64 block=64 loads=1 reverse=yes", 0, 2);
    cj_test_scan(cj_test_device, "rows=1 columns=20000001 dtype=f32 align=4", 1, 3);
    cj_test_scan(cj_test_device, "rows=100 columns=65536 dtype=bf16 exclusive=yes", 0, 4);
}

// As the plan has them, many small tiles, and small blocks of which an SM has several.
static void a_persistent_kernel_has_tile_after_tile(void **state) {
    (void)state;
    cj_test_scan(cj_test_device, "columns=1000000 form=stream", 0, 1);
    cj_test_scan(cj_test_device, "rows=300 columns=1000 form=stream counter=row block=32 loads=1 dtype=i32", 0, 2);
    if (cj_test_few()) return;
    cj_test_scan(cj_test_device, "columns=10000000 form=stream block=32 loads=1 stages=2 dtype=i64", 0, 3);
    cj_test_scan(cj_test_device, "columns=20000000 form=stream reverse=yes", 0, 4);
    cj_test_scan(cj_test_device, "rows=1000 columns=20000 form=stream counter=row dtype=bf16 exclusive=yes", 0, 5);
    cj_test_scan(cj_test_device, "rows=1000 columns=20000 form=stream counter=tile dtype=f16 reverse=yes", 0, 6);
    cj_test_scan(cj_test_device, "columns=12000003", 0, 7);
}

static void clusters_take_rows_together(void **state) {
    (void)state;
    cj_test_scan(cj_test_device, "rows=50 columns=2000 block=64 loads=1 cluster=8", 0, 1);
    cj_test_scan(cj_test_device, "rows=9 columns=65536 block=512 loads=4 cluster=8 dtype=f32", 0, 2);
    cj_test_scan(cj_test_device, "rows=9 columns=65536 block=1024 cluster=16 dtype=f64 op=max reverse=yes", 0, 3);
}

// Segments of every length across thousands of tiles; each case's seed says how often they begin.
static void segments_begin_where_it_is_said(void **state) {
    (void)state;
    const unsigned seeds = cj_test_few() ? 2 : 7;
    for (unsigned seed = 0; seed < seeds; seed++) {
        cj_test_scan(cj_test_device, "rows=1 columns=100000 block=32 loads=1 heads=flags dtype=i32", 0, seed);
        cj_test_scan(cj_test_device, "rows=1 columns=100000 heads=i32 segments=5000 reverse=yes", 0, seed);
        if (cj_test_few()) continue;
        cj_test_scan(cj_test_device, "columns=8000005 heads=flags", 0, seed);
        cj_test_scan(cj_test_device, "rows=30 columns=100004 heads=flags dtype=i32 reverse=yes form=stream", 0, seed);
        cj_test_scan(cj_test_device, "rows=300 columns=20000 heads=flags dtype=f64 form=stream counter=row", 0, seed);
        cj_test_scan(cj_test_device, "rows=1 columns=3000000 heads=flags dtype=f32 exclusive=yes", 0, seed);
        cj_test_scan(cj_test_device, "rows=1 columns=3000001 heads=i64 segments=70 dtype=f64 align=8", 1, seed);
        cj_test_scan(cj_test_device, "rows=50 columns=65536 heads=flags dtype=bf16 reverse=yes", 0, seed);
        cj_test_scan(cj_test_device, "rows=9 columns=65536 block=1024 cluster=16 heads=flags dtype=u64", 0, seed);
    }
}

static void a_call_scans_in_place_and_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_scan_call(cj_test_device);
    cj_test_scan_call_segmented(cj_test_device);
}

static void a_users_operation_keeps_its_order(void **state) {
    (void)state;
    cj_test_scan_user(cj_test_device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_shape_stride_and_alignment_is_right),
        cmocka_unit_test(long_rows_look_back),
        cmocka_unit_test(a_persistent_kernel_has_tile_after_tile),
        cmocka_unit_test(clusters_take_rows_together),
        cmocka_unit_test(segments_begin_where_it_is_said),
        cmocka_unit_test(a_call_scans_in_place_and_refuses_what_it_cannot),
        cmocka_unit_test(a_users_operation_keeps_its_order),
    };
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
