// SPDX-License-Identifier: Apache-2.0
// The public occupancy calls by the model, and the choice of a cluster size.
#include <clusterjit/contract.h>
#include <clusterjit/occupancy.h>
#include <string.h>

#include "test.h"

static const char kernels[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .entry any(.param .u64 out)\n{\n    ret;\n}\n"
                              ".visible .entry fixed(.param .u64 out)\n.reqntid 256, 1, 1\n.reqnctapercluster 4, 1, 1\n"
                              "{\n    ret;\n}\n";

static cj_limits h200;

static int find_h200(void **state) {
    (void)state;
    return cj_limits_named("h200", &h200, NULL) != CJ_OK;
}

// One block an SM: what the driver of an H200 answers (200 KiB of shared memory a block).
static void clusters_of_an_h200_are_counted(void **state) {
    (void)state;
    static const uint32_t rows[][4] = {{0, 132, 132, 0}, {1, 132, 132, 0}, {2, 66, 132, 0},
                                       {4, 30, 120, 12}, {8, 15, 120, 12}, {16, 7, 112, 20}, {17, 0, 0, 132}};
    const cj_block_use    use = {CJ_INIT(use), .threads = 256, .registers = 32, .shared = 200 << 10};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_cluster_occupancy o = {CJ_INIT(o)};
        cj_error             error = {0};
        cj_test_ok(cj_occupancy_model(&h200, &use, rows[i][0], &o, &error), &error);
        assert_int_equal(o.cluster, rows[i][0]);
        assert_int_equal(o.blocks_per_sm, 1);
        assert_int_equal(o.active_clusters, rows[i][1]);
        assert_int_equal(o.sms_used, rows[i][2]);
        assert_int_equal(o.sms_stranded, rows[i][3]);
        assert_int_equal(o.limited_by, CJ_OCCUPANCY_SHARED);
        assert_int_equal(o.gpc_limited, rows[i][0] >= 4 && rows[i][0] <= 16);
        assert_false(o.from_driver);
    }
}

static void the_limit_is_named(void **state) {
    (void)state;
    static const struct {
        cj_block_use       use;
        cj_occupancy_limit limit;
        uint32_t           blocks;
        const char        *name;
    } rows[] = {{{CJ_INIT(cj_block_use), .threads = 32}, CJ_OCCUPANCY_BLOCKS, 32, "blocks"},
                {{CJ_INIT(cj_block_use), .threads = 1024}, CJ_OCCUPANCY_THREADS, 2, "threads"},
                {{CJ_INIT(cj_block_use), .threads = 1024, .registers = 64}, CJ_OCCUPANCY_REGISTERS, 1, "registers"},
                {{CJ_INIT(cj_block_use), .threads = 128, .shared = 64 << 10}, CJ_OCCUPANCY_SHARED, 3, "shared memory"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_cluster_occupancy o = {CJ_INIT(o)};
        cj_error             error = {0};
        cj_test_ok(cj_occupancy_model(&h200, &rows[i].use, 0, &o, &error), &error);
        assert_int_equal(o.limited_by, rows[i].limit);
        assert_int_equal(o.blocks_per_sm, rows[i].blocks);
        assert_string_equal(cj_occupancy_limit_name(o.limited_by), rows[i].name);
    }
    assert_null(cj_occupancy_limit_name((cj_occupancy_limit)99));
}

static void a_kernels_own_words_are_used(void **state) {
    (void)state;
    const size_t         length = sizeof kernels - 1;
    cj_cluster_occupancy o = {CJ_INIT(o)};
    cj_error             error = {0};
    cj_test_ok(cj_ptx_occupancy(&h200, kernels, length, "fixed", &(cj_occupancy_query){CJ_INIT(cj_occupancy_query)}, &o,
                                &error),
               &error);
    assert_int_equal(o.cluster, 4);
    assert_int_equal(o.blocks_per_sm, 8);
    assert_int_equal(cj_ptx_occupancy(&h200, kernels, length, "fixed",
                                      &(cj_occupancy_query){CJ_INIT(cj_occupancy_query), .cluster = {2, 1, 1}}, &o,
                                      &error),
                     CJ_CONTRACT);
    assert_string_equal(error.rule, "cluster-required");
    assert_int_equal(
        cj_ptx_occupancy(&h200, kernels, length, "any", &(cj_occupancy_query){CJ_INIT(cj_occupancy_query)}, &o, &error),
        CJ_CONTRACT);
    assert_string_equal(error.rule, "block-zero");
    assert_int_equal(
        cj_ptx_occupancy(&h200, kernels, length, NULL, &(cj_occupancy_query){CJ_INIT(cj_occupancy_query)}, &o, &error),
        CJ_INVALID_ARGUMENT);
}

// On the CPU device, which has no driver to ask.
static void a_function_is_counted_on_its_device(void **state) {
    (void)state;
    cj_device           *device = NULL;
    cj_module           *module = NULL;
    cj_function         *any = NULL, *fixed = NULL;
    cj_cluster_occupancy o = {CJ_INIT(o)};
    uint32_t             largest = 0;
    cj_error             error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_test_ok(cj_module_from_ptx(device, kernels, sizeof kernels - 1, &module, &error), &error);
    cj_test_ok(cj_module_function(module, "any", &any, &error), &error);
    cj_test_ok(cj_module_function(module, "fixed", &fixed, &error), &error);
    const cj_occupancy_query query = {CJ_INIT(query), .block = {256, 2, 1}, .dynamic_shared = 100 << 10};
    cj_test_ok(cj_function_occupancy(any, &query, &o, &error), &error);
    assert_int_equal(o.blocks_per_sm, 2);
    assert_int_equal(o.active_clusters, 264);
    cj_test_ok(cj_function_max_cluster(any, &query, &largest, &error), &error);
    assert_int_equal(largest, 16);
    cj_test_ok(cj_function_max_cluster(fixed, &(cj_occupancy_query){CJ_INIT(cj_occupancy_query)}, &largest, &error),
               &error);
    assert_int_equal(largest, 4);
    cj_module_unload(module);
    cj_device_close(device);
}

static void the_smallest_cluster_that_does_the_job_is_chosen(void **state) {
    (void)state;
    static const cj_cluster_occupancy h200_rows[] = {
        {CJ_INIT(cj_cluster_occupancy), .cluster = 0, .active_clusters = 132},
        {CJ_INIT(cj_cluster_occupancy), .cluster = 1, .active_clusters = 132},
        {CJ_INIT(cj_cluster_occupancy), .cluster = 2, .active_clusters = 66},
        {CJ_INIT(cj_cluster_occupancy), .cluster = 4, .active_clusters = 30},
        {CJ_INIT(cj_cluster_occupancy), .cluster = 8, .active_clusters = 15},
        {CJ_INIT(cj_cluster_occupancy), .cluster = 16, .active_clusters = 7}};
    static const struct {
        uint32_t needed;
        unsigned keep;
        uint32_t cluster;
    } rows[] = {{0, 100, 2}, {0, 95, 2}, {0, CJ_OCCUPANCY_KEEP, 4}, {0, 1, 4},   // nothing is known: 2 to 4
                {1, 90, 0},  {2, 90, 2}, {3, 100, 4}, {5, 90, 8},  {16, 100, 16},  // as many as it takes, however few stay
                {17, 90, 0}};                                                      // none is large enough
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++)
        assert_int_equal(h200_rows[cj_occupancy_choose(h200_rows, 6, rows[i].needed, rows[i].keep)].cluster, rows[i].cluster);

    // a pair where that is all; neither where there is none
    assert_int_equal(cj_occupancy_choose(h200_rows, 3, 0, 100), 2);
    assert_int_equal(cj_occupancy_choose(h200_rows, 2, 0, 100), 0);
    assert_int_equal(cj_occupancy_choose(h200_rows + 4, 2, 0, 100), 0);
    const cj_cluster_occupancy none[] = {{CJ_INIT(cj_cluster_occupancy), .cluster = 1},
                                         {CJ_INIT(cj_cluster_occupancy), .cluster = 16}};
    assert_int_equal(cj_occupancy_choose(none, 2, 0, 1), 2);
    assert_int_equal(cj_occupancy_choose(none, 2, 4, 1), 2);
    assert_int_equal(cj_occupancy_choose(NULL, 0, 0, 90), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_of_an_h200_are_counted),
        cmocka_unit_test(the_limit_is_named),
        cmocka_unit_test(a_kernels_own_words_are_used),
        cmocka_unit_test(a_function_is_counted_on_its_device),
        cmocka_unit_test(the_smallest_cluster_that_does_the_job_is_chosen),
    };
    return cmocka_run_group_tests(tests, find_h200, NULL);
}
