// SPDX-License-Identifier: Apache-2.0
// What launches ask of the driver, call by call; graphs, timing and occupancy.
#include <clusterjit/occupancy.h>

#include "cuda_rig.h"

static void a_launch_carries_its_cluster(void **state) {
    (void)state;
    rig                   r = rig_open();
    const cj_fake_launch *seen = &cj_fake_driver.launch;
    cj_error              error = {0};
    cj_test_ok(launch(&r, r.k, (cj_dim3){4, 2, 1}, 1024, &error), &error);
    assert_true(seen->clustered);
    assert_dim(seen->cluster, 4, 2, 1);
    assert_dim(seen->grid, 16, 2, 1);
    assert_dim(seen->block, 64, 1, 1);
    assert_int_equal(seen->dynamic_shared, 1024);
    assert_ptr_equal(seen->stream, (void *)8);
    assert_int_equal(seen->first_argument, 0x1234567890abcdefu);

    cj_test_ok(launch(&r, r.k, (cj_dim3){0, 0, 0}, 0, &error), &error);
    assert_false(seen->clustered);

    cj_test_ok(launch(&r, r.fixed, (cj_dim3){0, 0, 0}, 0, &error), &error);
    assert_true(seen->clustered);
    assert_dim(seen->cluster, 2, 2, 1);
    assert_int_equal(cj_fake_calls("cuFuncSetAttribute"), 0);
    rig_close(&r);
}

static void a_broken_contract_never_reaches_the_driver(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    assert_int_equal(launch(&r, r.fixed, (cj_dim3){4, 1, 1}, 0, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cluster-required");
    assert_int_equal(cj_fake_calls("cuLaunchKernelEx"), 0);
    rig_close(&r);
}

static void opt_ins_are_made_once_a_function(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    for (int i = 0; i < 3; i++) cj_test_ok(launch(&r, r.k, (cj_dim3){16, 1, 1}, 100000, &error), &error);
    cj_test_ok(launch(&r, r.k, (cj_dim3){16, 1, 1}, 232448, &error), &error);
    assert_int_equal(cj_fake_driver.nonportable_optins, 1);
    assert_int_equal(cj_fake_driver.cluster_questions, 2);  // one for each shape: the answer depends on it
    assert_int_equal(cj_fake_driver.shared_optins, 1);
    assert_int_equal(cj_fake_driver.launches, 4);
    assert_dim(cj_fake_driver.launch.cluster, 16, 1, 1);
    rig_close(&r);
}

static void a_cluster_that_the_part_cannot_place_is_refused_by_name(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    cj_fake_driver.largest_cluster = 8;
    assert_int_equal(launch(&r, r.k, (cj_dim3){16, 1, 1}, 0, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cluster-device");
    assert_contains(error.message, "cluster of 16 blocks exceeds the 8 that Fake H200 0 can place");
    cj_test_ok(launch(&r, r.k, (cj_dim3){8, 1, 1}, 0, &error), &error);
    assert_int_equal(cj_fake_driver.launches, 1);
    rig_close(&r);
}

static void a_large_cluster_on_an_old_driver_is_refused_by_name(void **state) {
    (void)state;
    cj_fake_driver.missing = "cuOccupancyMaxPotentialClusterSize";
    rig      r = rig_open();
    cj_error error = {0};
    assert_int_equal(launch(&r, r.k, (cj_dim3){16, 1, 1}, 0, &error), CJ_UNSUPPORTED);
    assert_contains(error.message, "cuOccupancyMaxPotentialClusterSize");
    assert_contains(error.message, "CUDA 13.0");
    rig_close(&r);
}

static void a_large_cluster_that_was_not_asked_for_is_refused_by_name(void **state) {
    (void)state;
    rig                    r = rig_open();
    uint64_t               out = 0;
    cj_error               error = {0};
    const cj_launch_config config = {CJ_INIT(config),     .function = r.k,       .grid = {16, 1, 1},
                                     .block = {64, 1, 1}, .cluster = {16, 1, 1}, CJ_ARGS(out)};
    assert_int_equal(cj_launch(r.device, &config, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cluster-portable");
    assert_int_equal(cj_fake_driver.nonportable_optins, 0);
    rig_close(&r);
}

static const char variables[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".visible .global .align 4 .u32 counter;\n.const .align 4 .f32 _ZN2ns4bankE[16];\n"
                                ".visible .entry k()\n{\n    ret;\n}\n";

static void a_variable_is_where_the_driver_says(void **state) {
    (void)state;
    rig        r = rig_open();
    cj_module *module = NULL;
    cj_ptr     counter = 0, bank = 0, lowered = 0;
    size_t     bytes = 0;
    cj_error   error = {0};
    cj_test_ok(cj_module_from_ptx(r.device, variables, sizeof variables - 1, &module, &error), &error);
    cj_test_ok(cj_module_global(module, "counter", &counter, &bytes, &error), &error);
    assert_int_equal(bytes, 4);
    assert_string_equal((const char *)(uintptr_t)counter, strstr(variables, "counter"));  // the fake's place of it
    cj_test_ok(cj_module_global(module, "ns::bank", &bank, &bytes, &error), &error);
    assert_int_equal(bytes, 64);
    cj_test_ok(cj_module_global(module, "_ZN2ns4bankE", &lowered, NULL, &error), &error);
    assert_true(bank == lowered && bank != counter);
    assert_int_equal(cj_module_global(module, "counters", &bank, &bytes, &error), CJ_INVALID_ARGUMENT);
    assert_contains(error.message, "no variable 'counters'; its variables: counter, ns::bank (_ZN2ns4bankE)");
    assert_contains(error.hint, "did you mean counter?");
    assert_int_equal(cj_fake_calls("cuModuleGetGlobal"), 3);
    cj_fake_fail("cuModuleGetGlobal", 500);
    assert_int_equal(cj_module_global(module, "counter", &counter, NULL, &error), CJ_DRIVER);
    assert_contains(error.message, "variable counter");
    cj_module_unload(module);
    rig_close(&r);
}

static void occupancy_is_the_drivers_count(void **state) {
    (void)state;
    rig                  r = rig_open();
    cj_cluster_occupancy o = {CJ_INIT(o)};
    uint32_t             largest = 0;
    cj_occupancy_query   query = {CJ_INIT(query), .block = {64, 1, 1}, .cluster = {4, 1, 1}};
    cj_error             error = {0};
    cj_test_ok(cj_function_occupancy(r.k, &query, &o, &error), &error);
    assert_true(o.from_driver && o.gpc_limited);
    assert_int_equal(o.blocks_per_sm, 2);
    assert_int_equal(o.active_clusters, 30);  // 120 blocks on 60 SMs
    assert_int_equal(o.sms_used, 60);
    assert_int_equal(o.sms_stranded, 72);
    cj_test_ok(cj_function_max_cluster(r.k, &query, &largest, &error), &error);
    assert_int_equal(largest, 16);

    query.cluster = (cj_dim3){0, 0, 0};
    cj_test_ok(cj_function_occupancy(r.k, &query, &o, &error), &error);
    assert_int_equal(o.active_clusters, 264);
    cj_fake_driver.largest_cluster = 8;
    query.cluster = (cj_dim3){16, 1, 1};
    cj_test_ok(cj_function_occupancy(r.k, &query, &o, &error), &error);
    assert_int_equal(o.active_clusters, 0);
    query.dynamic_shared = 240000;
    assert_int_equal(cj_function_occupancy(r.k, &query, &o, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "shared-limit");
    rig_close(&r);
}

// What a graph capture and the cost of a launch rely on.
static void a_warm_launch_makes_one_call(void **state) {
    (void)state;
    static const cj_launch_attributes attributes[] = {
        {0}, {.programmatic = true, .priority = -1, .sync_domain = CJ_SYNC_DOMAIN_REMOTE}, {.cooperative = true}};
    rig      r = rig_open();
    cj_error error = {0};
    for (size_t i = 0; i < CJ_TEST_COUNT(attributes); i++) {
        cj_test_ok(launch_on(&r, (void *)8, &attributes[i], &error), &error);
        cj_fake_log_start();
        cj_test_ok(launch_on(&r, (void *)8, &attributes[i], &error), &error);
        assert_string_equal(cj_fake_log_end(), "cuLaunchKernelEx");
    }
    cj_test_ok(launch(&r, r.k, (cj_dim3){16, 1, 1}, 100000, &error), &error);
    cj_fake_log_start();
    cj_test_ok(launch(&r, r.k, (cj_dim3){16, 1, 1}, 100000, &error), &error);
    assert_string_equal(cj_fake_log_end(), "cuLaunchKernelEx");
    rig_close(&r);
}

// A default stream is the current context's; a stream of our context is taken whichever that is.
static void a_launch_goes_to_its_own_context_whichever_is_current(void **state) {
    (void)state;
    static const char pushed[] = "cuCtxGetCurrent cuCtxPushCurrent cuLaunchKernelEx cuCtxPopCurrent";
    void    *mine = cj_fake_context_create(), *other = cj_fake_context_create();
    void    *const current[] = {mine, NULL, other};
    rig      r = {0};
    cj_error error = {0};
    cj_fake_context_set(mine);
    cj_test_ok(open_fake("gpu", mine, &r.device, &error), &error);
    cj_test_ok(cj_module_from_ptx(r.device, kernel, sizeof kernel - 1, &r.module, &error), &error);
    cj_test_ok(cj_module_function(r.module, "k", &r.k, &error), &error);
    cj_test_ok(launch_on(&r, NULL, &(cj_launch_attributes){0}, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(current); i++) {
        cj_fake_context_set(current[i]);
        cj_fake_log_start();
        cj_test_ok(launch_on(&r, NULL, &(cj_launch_attributes){0}, &error), &error);
        assert_string_equal(cj_fake_log_end(), current[i] == mine ? "cuCtxGetCurrent cuLaunchKernelEx" : pushed);
        cj_fake_log_start();
        cj_test_ok(launch_on(&r, (void *)8, &(cj_launch_attributes){0}, &error), &error);
        assert_string_equal(cj_fake_log_end(), "cuLaunchKernelEx");
        assert_ptr_equal(cj_fake_context_current(), current[i]);
    }
    cj_module_unload(r.module);
    cj_device_close(r.device);
    cj_fake_context_set(NULL);
    cj_fake_context_destroy(other);
    cj_fake_context_destroy(mine);
}

static void attributes_reach_the_driver_one_by_one(void **state) {
    (void)state;
    cj_fake_driver.version = 13000;
    cj_fake_driver.compute_capability = 100;
    rig                   r = rig_open();
    const cj_fake_launch *seen = &cj_fake_driver.launch;
    cj_error              error = {0};

    cj_test_ok(launch_with(&r, &(cj_launch_attributes){0}, &error), &error);
    assert_int_equal(seen->attributes, 1);  // the cluster
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.cluster_scheduling = CJ_CLUSTER_SCHEDULING_SPREAD}, &error), &error);
    assert_int_equal(seen->attributes, 2);
    assert_int_equal(seen->scheduling, 1);
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.cluster_scheduling = CJ_CLUSTER_SCHEDULING_LOAD_BALANCING}, &error),
               &error);
    assert_int_equal(seen->scheduling, 2);
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.preferred_cluster = {4, 1, 1}}, &error), &error);
    assert_dim(seen->preferred_cluster, 4, 1, 1);
    assert_dim(seen->cluster, 2, 1, 1);
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.programmatic = true}, &error), &error);
    assert_true(seen->programmatic && seen->attributes == 2);
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.cooperative = true}, &error), &error);
    assert_true(seen->cooperative && seen->attributes == 2);
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.priority = -5}, &error), &error);
    assert_true(seen->priority == -5 && seen->attributes == 2);
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.sync_domain = CJ_SYNC_DOMAIN_REMOTE, .sync_domain_map = {1, 3}},
                           &error), &error);
    assert_true(seen->sync_domain == 1 && seen->sync_domain_map[0] == 1 && seen->sync_domain_map[1] == 3);
    assert_int_equal(seen->attributes, 3);
    rig_close(&r);
}

static void an_attribute_that_cannot_be_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        int                  capability, version;
        cj_launch_attributes attributes;
        const char          *rule, *part;
    } rows[] = {
        {90, 13000, {.preferred_cluster = {4, 1, 1}}, "launch-preferred-cluster", "needs compute capability 10.0"},
        {100, 12060, {.preferred_cluster = {4, 1, 1}}, "launch-preferred-cluster", "needs a driver for CUDA 12.8"},
        {100, 13000, {.preferred_cluster = {3, 1, 1}}, "preferred-multiple", "preferred cluster 3 x 1 x 1"},
        {90, 13000, {.priority = 1}, "launch-priority", "priority is 1;"},
        {90, 13000, {.priority = -6}, "launch-priority", "from -5, the most urgent, to 0"},
        {90, 13000, {.sync_domain_map = {0, 4}}, "launch-sync-domain", "sync_domain_map[1] is 4;"},
        {80, 13000, {.sync_domain = CJ_SYNC_DOMAIN_REMOTE}, "launch-sync-domain", "Fake H200 0 has 8.0"},
        {80, 13000, {.programmatic = true}, "launch-programmatic", "needs compute capability 9.0"},
        {80, 13000, {.cluster_scheduling = CJ_CLUSTER_SCHEDULING_SPREAD}, "launch-scheduling", "9.0"},
        {90, 13000, {.cluster_scheduling = (cj_cluster_scheduling)3}, "", "cluster_scheduling is 3;"},
        {90, 13000, {.sync_domain = (cj_sync_domain)2}, "", "sync_domain is 2;"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_error error = {0};
        cj_fake_reset();
        cj_fake_driver.compute_capability = rows[i].capability;
        cj_fake_driver.version = rows[i].version;
        rig r = rig_open();
        assert_int_not_equal(launch_with(&r, &rows[i].attributes, &error), CJ_OK);
        assert_string_equal(error.rule, rows[i].rule);
        assert_contains(error.message, rows[i].part);
        assert_int_equal(cj_fake_driver.launches, 0);
        rig_close(&r);
    }
}

// The driver is asked how much is resident; without clusters by blocks an SM.
static void a_cooperative_grid_that_is_too_large_is_refused_by_name(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_error error = {0};
    cj_fake_driver.active_clusters = 7;
    assert_int_equal(launch_with(&r, &(cj_launch_attributes){.cooperative = true}, &error), CJ_CONTRACT);
    assert_string_equal(error.rule, "cooperative-size");
    assert_contains(error.message, "16 blocks exceeds the 14");
    cj_fake_driver.active_clusters = 8;
    cj_test_ok(launch_with(&r, &(cj_launch_attributes){.cooperative = true}, &error), &error);

    uint64_t         out = 0;
    cj_launch_config config = {CJ_INIT(config), .function = r.k, .grid = {264, 1, 1}, .block = {64, 1, 1},
                               CJ_ARGS(out)};
    config.attributes.cooperative = true;
    cj_test_ok(cj_launch(r.device, &config, &error), &error);
    config.grid.x = 265;
    assert_int_equal(cj_launch(r.device, &config, &error), CJ_CONTRACT);
    assert_contains(error.message, "265 blocks exceeds the 264");
    rig_close(&r);
}

static void arguments_are_held_against_the_parameters(void **state) {
    (void)state;
    rig              r = rig_open();
    cj_error         error = {0};
    uint32_t         narrow = 0;
    uint64_t         out = 7;
    cj_launch_config config = {CJ_INIT(config), .function = r.k, .grid = {1, 1, 1}, .block = {32, 1, 1},
                               CJ_ARGS(narrow)};
    assert_int_equal(cj_launch(r.device, &config, &error), CJ_INVALID_ARGUMENT);
    assert_contains(error.message, "k: argument 0 (out) has 4 bytes, but its .param has 8");
    config = (cj_launch_config){CJ_INIT(cj_launch_config), .function = r.k, .grid = {1, 1, 1}, .block = {32, 1, 1},
                                CJ_ARGS(out, narrow)};
    assert_int_equal(cj_launch(r.device, &config, &error), CJ_INVALID_ARGUMENT);
    assert_contains(error.message, "k takes 1 arguments, but 2 are given");
    config = (cj_launch_config){CJ_INIT(cj_launch_config), .function = r.k, .grid = {1, 1, 1}, .block = {32, 1, 1},
                                CJ_ARGS(out)};
    cj_test_ok(cj_launch(r.device, &config, &error), &error);
    assert_int_equal(cj_fake_driver.launch.first_argument, 7);
    rig_close(&r);
}

// --- timing and graphs ---

static void timing_leaves_no_events(void **state) {
    (void)state;
    rig      r = rig_open();
    double   milliseconds = -1;
    cj_error error = {0};
    assert_int_equal(cj_time(r.device, NULL, fail_work, NULL, &milliseconds, &error), CJ_HAZARD);
    assert_string_equal(error.message, "the work's own error");
    assert_true(milliseconds < 0);
    assert_int_equal(cj_fake_driver.alive_events, 0);
    rig_close(&r);
}

typedef struct captured_work {
    const rig *r;
    bool       synchronizes, fails;
} captured_work;

static cj_status launch_captured(void *user, cj_stream stream, cj_error *error) {
    const captured_work   *work = user;
    uint64_t               out = 0;
    const cj_launch_config config = {CJ_INIT(config),     .function = work->r->k, .grid = {1, 1, 1},
                                     .block = {32, 1, 1}, .stream = stream,       CJ_ARGS(out)};
    if (work->fails) return fail_work(NULL, error);
    cj_status status = cj_launch(work->r->device, &config, error);
    if (!status && work->synchronizes) status = cj_synchronize(work->r->device, stream, error);
    return status;
}

static void a_graph_is_replayed_as_often_as_asked(void **state) {
    (void)state;
    rig           r = rig_open();
    captured_work work = {.r = &r};
    double        milliseconds = 0;
    cj_error      error = {0};
    cj_test_ok(cj_time_graph(r.device, launch_captured, &work, 5, &milliseconds, &error), &error);
    assert_int_equal(cj_fake_driver.replays, 6);  // one to warm up
    assert_int_equal(cj_fake_driver.launches, 6);
    assert_true(milliseconds > 0.29 && milliseconds < 0.31);  // the fake's 1.5 ms
    rig_close(&r);
}

static void a_capture_that_fails_leaves_nothing(void **state) {
    (void)state;
    rig           r = rig_open();
    captured_work fails = {.r = &r, .fails = true}, synchronizes = {.r = &r, .synchronizes = true};
    double        milliseconds = -1;
    cj_error      error = {0};
    assert_int_equal(cj_time_graph(r.device, launch_captured, &fails, 1, &milliseconds, &error), CJ_HAZARD);
    assert_string_equal(error.message, "the work's own error");
    assert_int_equal(cj_time_graph(r.device, launch_captured, &synchronizes, 1, &milliseconds, &error), CJ_DRIVER);
    assert_int_equal(error.driver_code, 900);
    assert_contains(error.hint, "make it outside the capture");
    assert_int_equal(cj_time_graph(r.device, launch_captured, &fails, 0, &milliseconds, &error), CJ_INVALID_ARGUMENT);
    assert_true(milliseconds < 0);
    rig_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_launch_carries_its_cluster, reset),
        cmocka_unit_test_setup(a_broken_contract_never_reaches_the_driver, reset),
        cmocka_unit_test_setup(opt_ins_are_made_once_a_function, reset),
        cmocka_unit_test_setup(a_cluster_that_the_part_cannot_place_is_refused_by_name, reset),
        cmocka_unit_test_setup(a_large_cluster_on_an_old_driver_is_refused_by_name, reset),
        cmocka_unit_test_setup(a_large_cluster_that_was_not_asked_for_is_refused_by_name, reset),
        cmocka_unit_test_setup(a_variable_is_where_the_driver_says, reset),
        cmocka_unit_test_setup(occupancy_is_the_drivers_count, reset),
        cmocka_unit_test_setup(a_warm_launch_makes_one_call, reset),
        cmocka_unit_test_setup(a_launch_goes_to_its_own_context_whichever_is_current, reset),
        cmocka_unit_test_setup(attributes_reach_the_driver_one_by_one, reset),
        cmocka_unit_test_setup(an_attribute_that_cannot_be_is_refused_by_name, reset),
        cmocka_unit_test_setup(a_cooperative_grid_that_is_too_large_is_refused_by_name, reset),
        cmocka_unit_test_setup(arguments_are_held_against_the_parameters, reset),
        cmocka_unit_test_setup(a_graph_is_replayed_as_often_as_asked, reset),
        cmocka_unit_test_setup(a_capture_that_fails_leaves_nothing, reset),
        cmocka_unit_test_setup(timing_leaves_no_events, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
