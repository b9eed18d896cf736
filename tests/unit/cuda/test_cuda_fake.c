// SPDX-License-Identifier: Apache-2.0
// src/device/cuda against a driver that can be told to be old, incomplete, a stub, or to fail.
#include "test.h"

#include <clusterjit/cpu.h>
#include <clusterjit/device.h>
#include <clusterjit/occupancy.h>
#include <clusterjit/tensormap.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_peer.h"
#include "cuda_rig.h"
#include "device.h"

// --- opening ---

static void open_and_close_leave_nothing_alive(void **state) {
    (void)state;
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_test_ok(open_fake("gpu:1", NULL, &device, &error), &error);
    assert_int_equal(cj_fake_driver.alive_contexts, 1);
    assert_string_equal(cj_device_kind(device), "gpu");
    assert_string_equal(cj_device_name(device), "Fake H200 1");
    assert_null(cj_fake_context_current());
    cj_device_close(device);
    assert_int_equal(alive(), 0);
}

static void limits_are_the_drivers(void **state) {
    (void)state;
    rig              r = rig_open();
    const cj_limits *limits = cj_device_limits(r.device);
    assert_int_equal(limits->compute_capability, 90);
    assert_int_equal(limits->sm_count, 132);
    assert_dim(limits->max_block, 1024, 1024, 64);
    assert_dim(limits->max_grid, INT_MAX, 65535, 65535);
    assert_int_equal(limits->shared_per_block, 49152);
    assert_int_equal(limits->shared_per_block_optin, 232448);
    assert_int_equal(limits->shared_reserved, 1024);
    assert_int_equal(limits->l2_bytes, 62914560);
    assert_int_equal(limits->global_bytes, 150323855360);
    assert_int_equal(limits->max_cluster_portable, 8);
    assert_int_equal(limits->max_cluster, 16);
    assert_int_equal(limits->driver_version, 13000);
    rig_close(&r);
}

static void the_hosts_memory_is_not_wrapped_on_a_gpu(void **state) {
    (void)state;
    rig      r = rig_open();
    float    array[4];
    cj_ptr   memory = 0;
    cj_error error = {0};
    assert_int_equal(cj_mem_wrap(r.device, array, sizeof array, &memory, &error), CJ_UNSUPPORTED);
    assert_non_null(strstr(error.message, "Fake H200"));
    assert_non_null(strstr(error.hint, "cj_mem_write"));
    assert_int_equal(memory, 0);
    rig_close(&r);
}

static void what_only_the_cpu_device_has_is_refused(void **state) {
    (void)state;
    cj_error     error = {0};
    rig          r = rig_open();
    cj_cpu_stats stats = {CJ_INIT(stats)};
    assert_int_equal(cj_cpu_configure(r.device, &(cj_cpu_options){CJ_INIT(cj_cpu_options)}, &error), CJ_UNSUPPORTED);
    assert_int_equal(cj_cpu_stats_read(r.device, &stats, &error), CJ_UNSUPPORTED);
    assert_int_equal(cj_cpu_stats_clear(r.device, &error), CJ_UNSUPPORTED);
    assert_int_equal(cj_cpu_hazard_count(r.device), 0);
    assert_null(cj_cpu_hazard_at(r.device, 0));
    rig_close(&r);
}

static void cluster_limits_follow_the_family(void **state) {
    (void)state;
    static const struct {
        int      capability;
        uint32_t portable, largest;
    } rows[] = {{80, 0, 0}, {89, 0, 0}, {90, 8, 16}, {100, 8, 16}, {120, 8, 8}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_device *device = NULL;
        cj_error   error = {0};
        cj_fake_driver.compute_capability = rows[i].capability;
        cj_test_ok(open_fake("gpu", NULL, &device, &error), &error);
        assert_int_equal(cj_device_limits(device)->max_cluster_portable, rows[i].portable);
        assert_int_equal(cj_device_limits(device)->max_cluster, rows[i].largest);
        cj_device_close(device);
    }
}

static void auto_takes_the_gpu_with_clusters(void **state) {
    (void)state;
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_test_ok(open_fake("auto", NULL, &device, &error), &error);
    assert_string_equal(cj_device_kind(device), "gpu");
    assert_string_equal(cj_device_reason(device), "the first GPU with thread block clusters is Fake H200 0");
    cj_device_close(device);
}

static void auto_says_why_it_takes_the_cpu(void **state) {
    (void)state;
    static const struct {
        cj_fake     play;
        const char *reason;
    } rows[] = {
        {{.version = 13000, .gpu_count = 2, .compute_capability = 80},
         "no usable GPU: Fake H200 0 has compute capability 8.0, and thread block clusters need 9.0; running on the "
         "CPU device"},
        {{.version = 13000, .gpu_count = 0},
         "no GPU: gpu:0 was asked for, but the driver sees 0 GPUs; running on the CPU device"},
        {{.version = 13000, .failing = "cuInit", .from = 1, .to = UINT_MAX, .code = 100},
         "no GPU: cuInit: FAKE_ERROR_100 (100), the fake driver was told to; running on the CPU device"},
        {{.version = 13000, .failing = "cuInit", .from = 1, .to = UINT_MAX, .code = 999},
         "no usable GPU: cuInit: FAKE_ERROR_999 (999), the fake driver was told to; running on the CPU device"},
        {{.version = 11040, .gpu_count = 1},
         "no usable GPU: the driver (CUDA 11.4) lacks cuLaunchKernelEx in its version of CUDA 11.6; running on the CPU "
         "device"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        cj_device *device = NULL;
        cj_error   error = {0};
        cj_fake_reset();
        cj_fake_driver = rows[i].play;
        cj_test_ok(open_fake("auto", NULL, &device, &error), &error);
        assert_string_equal(cj_device_kind(device), "cpu");
        assert_string_equal(cj_device_reason(device), rows[i].reason);
        cj_device_close(device);
        assert_int_equal(alive(), 0);
    }
}

static void an_ordinal_beyond_the_last_is_named(void **state) {
    (void)state;
    cj_device *device = NULL;
    cj_error   error = {0};
    assert_int_equal(open_fake("gpu:2", NULL, &device, &error), CJ_NO_DEVICE);
    assert_contains(error.message, "gpu:2");
    assert_contains(error.message, "2 GPUs");
    assert_int_equal(alive(), 0);
}

static void a_missing_symbol_is_named_with_the_drivers_version(void **state) {
    (void)state;
    const char *symbol;
    bool        optional;
    for (size_t i = 0; (symbol = cj_fake_symbol(i, &optional)) != NULL; i++) {
        cj_device *device = NULL;
        cj_error   error = {0};
        cj_fake_reset();
        cj_fake_driver.version = 12040;
        cj_fake_driver.missing = symbol;
        if (optional) {
            cj_test_ok(open_fake("gpu", NULL, &device, &error), &error);
            cj_device_close(device);
            continue;
        }
        assert_int_equal(open_fake("gpu", NULL, &device, &error), CJ_UNSUPPORTED);
        assert_contains(error.message, symbol);
        if (strcmp(symbol, "cuDriverGetVersion")) assert_contains(error.message, "CUDA 12.4");
        assert_true(strlen(error.hint) > 0);
        assert_int_equal(alive(), 0);
    }
}

static void the_stub_is_recognized(void **state) {
    (void)state;
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_fake_fail("cuInit", 34);
    cj_fake_driver.nameless = true;
    assert_int_equal(open_fake("gpu", NULL, &device, &error), CJ_NO_DEVICE);
    assert_string_equal(error.message, "cuInit: CUDA_ERROR_STUB_LIBRARY (34)");
    assert_contains(error.hint, "stub");
    assert_int_equal(error.driver_code, 34);
}

// --- contexts ---

static void the_callers_context_is_used_and_left_current(void **state) {
    (void)state;
    void      *mine = cj_fake_context_create(), *other = cj_fake_context_create();
    void      *current[] = {NULL, mine, other};
    cj_device *device = NULL;
    cj_ptr     memory = 0;
    cj_error   error = {0};
    for (size_t i = 0; i < CJ_TEST_COUNT(current); i++) {
        cj_fake_context_set(current[i]);
        cj_test_ok(open_fake("auto", mine, &device, &error), &error);
        assert_string_equal(cj_device_name(device), "Fake H200 1");
        assert_ptr_equal(cj_fake_context_current(), current[i]);
        cj_test_ok(cj_mem_alloc(device, 64, &memory, &error), &error);
        assert_ptr_equal(cj_fake_context_current(), current[i]);
        cj_mem_free(device, memory);
        assert_ptr_equal(cj_fake_context_current(), current[i]);
        cj_device_close(device);
        assert_int_equal(alive(), 2);
    }
    assert_int_equal(cj_fake_calls("cuDevicePrimaryCtxRetain"), 0);
    assert_int_equal(cj_fake_calls("cuDevicePrimaryCtxRelease"), 0);
    cj_fake_context_set(NULL);
    cj_fake_context_destroy(mine);
    cj_fake_context_destroy(other);
}

static void a_current_context_is_not_pushed_again(void **state) {
    (void)state;
    void      *mine = cj_fake_context_create();
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_fake_context_set(mine);
    cj_test_ok(open_fake("gpu", mine, &device, &error), &error);
    cj_test_ok(cj_synchronize(device, NULL, &error), &error);
    assert_int_equal(cj_fake_calls("cuCtxPushCurrent"), 0);
    assert_int_equal(cj_fake_calls("cuCtxPopCurrent"), 0);
    cj_device_close(device);
    cj_fake_context_destroy(mine);
}

// --- memory ---

static void memory_goes_there_and_back(void **state) {
    (void)state;
    rig      r = rig_open();
    cj_ptr   memory = 0;
    char     back[4] = "";
    cj_error error = {0};
    cj_test_ok(cj_mem_alloc(r.device, 4, &memory, &error), &error);
    cj_test_ok(cj_mem_write(r.device, memory, "abc", 4, NULL, &error), &error);
    cj_test_ok(cj_mem_fill(r.device, memory, 'z', 1, NULL, &error), &error);
    cj_test_ok(cj_mem_read(r.device, back, memory, 4, NULL, &error), &error);
    assert_string_equal(back, "zbc");
    cj_mem_free(r.device, memory);
    rig_close(&r);
}

// --- modules ---

static void a_jit_failure_keeps_the_log_and_names_the_versions(void **state) {
    (void)state;
    rig        r = rig_open();
    cj_module *module = NULL;
    cj_error   error = {0};
    cj_fake_fail("cuModuleLoadDataEx", 218);
    assert_int_equal(cj_module_from_ptx(r.device, kernel, sizeof kernel - 1, &module, &error), CJ_COMPILER);
    assert_contains(error.message, "(PTX .version 7.8, .target sm_90; Fake H200 0, sm_90, driver for CUDA 13.0, which reads "
                                   "PTX up to 9.0)");
    assert_contains(error.message, "the fake driver's log");
    assert_int_equal(error.line, 7);
    assert_null(module);
    rig_close(&r);
}

// --- every call failing ---

static cj_status no_work(void *user, cj_error *error) {
    (void)user, (void)error;
    return CJ_OK;
}

static cj_status no_captured_work(void *user, cj_stream stream, cj_error *error) {
    (void)user, (void)stream, (void)error;
    return CJ_OK;
}

static cj_status compile(cj_device *device, cj_error *error) {
    char     *image = NULL;
    size_t    bytes;
    cj_status status = device->ops->compile(device, kernel, sizeof kernel - 1, &image, &bytes, error);
    free(image);
    return status;
}

static cj_status ask_occupancy(cj_function *function, cj_error *error) {
    const cj_occupancy_query query = {CJ_INIT(query), .block = {64, 1, 1}, .cluster = {16, 1, 1}};
    cj_cluster_occupancy     occupancy = {CJ_INIT(occupancy)};
    return cj_function_occupancy(function, &query, &occupancy, error);
}

static cj_status encode_tensor(cj_device *device, cj_ptr memory, cj_error *error) {
    const uint64_t dims[] = {64};
    const uint32_t box[] = {16}, strides[] = {1};
    const cj_ptr   aligned = (memory + 15) / 16 * 16;
    cj_tensormap   map;
    cj_status      status = cj_tensormap_encode_tiled(
        device, &map, CJ_TENSORMAP_U32, 1, aligned, dims, NULL, box, strides, CJ_TENSORMAP_INTERLEAVE_NONE,
        CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE, CJ_TENSORMAP_FILL_ZEROS, error);
    if (status) return status;
    const uint64_t pixels[] = {16, 8, 2}, steps[] = {64, 512};
    const int32_t  corner[] = {0};
    const uint32_t ones[] = {1, 1, 1};
    return cj_tensormap_encode_im2col(device, &map, CJ_TENSORMAP_U32, 3, aligned, pixels, steps, corner, corner, 16, 8, ones,
                                      CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE,
                                      CJ_TENSORMAP_FILL_ZEROS, error);
}

static cj_status use_everything(cj_device *device, cj_module **module, cj_ptr *memory, cj_error *error) {
    cj_function *function = NULL;
    char         host[64] = "";
    double       milliseconds;
    cj_status    status = cj_mem_alloc(device, sizeof host, memory, error);
    if (!status) status = cj_mem_write(device, *memory, host, sizeof host, NULL, error);
    if (!status) status = cj_mem_fill(device, *memory, 1, sizeof host, NULL, error);
    if (!status) status = cj_module_from_ptx(device, kernel, sizeof kernel - 1, module, error);
    if (!status) status = cj_module_function(*module, "k", &function, error);
    if (!status) status = cj_module_global(*module, "counter", NULL, NULL, error);
    if (!status) {
        const rig r = {.device = device};
        status = launch(&r, function, (cj_dim3){16, 1, 1}, 100000, error);
    }
    if (!status) status = compile(device, error);
    if (!status) status = cj_time(device, NULL, no_work, NULL, &milliseconds, error);
    if (!status) status = cj_time_graph(device, no_captured_work, NULL, 2, &milliseconds, error);
    if (!status) status = ask_occupancy(function, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    if (!status) status = cj_mem_read(device, host, *memory, sizeof host, NULL, error);
    if (!status) status = encode_tensor(device, *memory, error);
    return status ? status : reach_a_peer(device, error);
}

// The whole way through a device, cleaned up wherever it ends.
static cj_status whole_way(void *context, cj_error *error) {
    cj_device *device = NULL;
    cj_module *module = NULL;
    cj_ptr     memory = 0;
    cj_status  status = open_fake("gpu", context, &device, error);
    if (!status) status = use_everything(device, &module, &memory, error);
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
    return status;
}

// Calls whose failure is nobody's business: a release that fails has nothing to give back, and explaining an error is
// no place for another one.
static bool fails_silently(const char *symbol) {
    static const char *const symbols[] = {"cuDevicePrimaryCtxRelease",
                                          "cuCtxPopCurrent",
                                          "cuMemFree",
                                          "cuModuleUnload",
                                          "cuEventDestroy",
                                          "cuGraphExecDestroy",
                                          "cuGraphDestroy",
                                          "cuStreamDestroy",
                                          "cuIpcCloseMemHandle",
                                          "cuLinkDestroy",
                                          "cuGetErrorName",
                                          "cuGetErrorString"};
    for (size_t i = 0; i < CJ_TEST_COUNT(symbols); i++) {
        if (!strcmp(symbol, symbols[i])) return true;
    }
    return false;
}

static void fail_nth(const char *symbol, unsigned from, unsigned to, int code) {
    cj_fake_reset();
    cj_fake_fail_times(symbol, from, to, code);
}

static const int codes[] = {1, 2, 3, 34, 218, 222, 700, 719, 912};

// The symbol's first `count` calls on the whole way, each failing once with each code.
static void hold_against_failures(const char *symbol, unsigned count, void *context) {
    for (size_t i = 0; i < CJ_TEST_COUNT(codes); i++) {
        for (unsigned nth = 1; nth <= count; nth++) {
            cj_error error = {0};
            fail_nth(symbol, nth, nth, codes[i]);
            cj_fake_driver.alive_contexts = context != NULL;
            cj_status status = whole_way(context, &error);
            assert_null(cj_fake_context_current());
            assert_int_not_equal(status, CJ_OK);
            assert_int_equal(error.status, status);
            assert_int_equal(error.driver_code, codes[i]);
            assert_contains(error.message, symbol);
            assert_true(strlen(error.hint) > 0);
            assert_int_equal(alive(), context != NULL);
        }
    }
}

static void each_failing_call_is_explained_and_leaks_nothing(void **state) {
    (void)state;
    const char *symbol;
    bool        optional;
    for (size_t i = 0; (symbol = cj_fake_symbol(i, &optional)) != NULL; i++) {
        void    *context = !strcmp(symbol, "cuCtxGetDevice") ? cj_fake_context_create() : NULL;
        cj_error error = {0};
        cj_fake_reset();
        cj_test_ok(whole_way(context, &error), &error);
        unsigned count = cj_fake_calls(symbol);
        if (!fails_silently(symbol)) {
            if (!count) fail_msg("%s is not on the whole way", symbol);
            if (!strcmp(symbol, "cuCtxGetCurrent") || !strcmp(symbol, "cuCtxPushCurrent"))
                count -= 5;  // of the clean-up
            hold_against_failures(symbol, count, context);
        }
        if (context) cj_fake_context_destroy(context);
    }
}

static void a_driver_that_keeps_failing_ends_nothing_but_the_call(void **state) {
    (void)state;
    const char *symbol;
    bool        optional;
    for (size_t i = 0; (symbol = cj_fake_symbol(i, &optional)) != NULL; i++) {
        // Handles that the fake could not free are not ours to free: let it free what a clean-up call frees.
        if (fails_silently(symbol) || !strncmp(symbol, "cuCtx", 5)) continue;
        cj_error error = {0};
        cj_fake_reset();
        cj_test_ok(whole_way(NULL, &error), &error);
        unsigned count = cj_fake_calls(symbol);
        for (unsigned nth = 1; nth <= count; nth++) {
            fail_nth(symbol, nth, UINT_MAX, 719);
            whole_way(NULL, NULL);
            assert_int_equal(alive(), 0);
        }
    }
}

static void sticky_faults_say_that_the_context_is_lost(void **state) {
    (void)state;
    static const int sticky[] = {700, 702, 714, 715, 716, 717, 718, 719};
    for (size_t i = 0; i < CJ_TEST_COUNT(sticky); i++) {
        cj_fake_reset();
        rig      r = rig_open();
        cj_error error = {0};
        cj_fake_fail("cuStreamSynchronize", sticky[i]);
        assert_int_equal(cj_synchronize(r.device, NULL, &error), CJ_DRIVER);
        assert_contains(error.hint, "the context is lost");
        assert_contains(error.hint, "names the faulty line");
        assert_contains(error.hint, "are kept");  // and is not cut short
        rig_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(open_and_close_leave_nothing_alive, reset),
        cmocka_unit_test_setup(limits_are_the_drivers, reset),
        cmocka_unit_test_setup(the_hosts_memory_is_not_wrapped_on_a_gpu, reset),
        cmocka_unit_test_setup(what_only_the_cpu_device_has_is_refused, reset),
        cmocka_unit_test_setup(cluster_limits_follow_the_family, reset),
        cmocka_unit_test_setup(auto_takes_the_gpu_with_clusters, reset),
        cmocka_unit_test_setup(auto_says_why_it_takes_the_cpu, reset),
        cmocka_unit_test_setup(an_ordinal_beyond_the_last_is_named, reset),
        cmocka_unit_test_setup(a_missing_symbol_is_named_with_the_drivers_version, reset),
        cmocka_unit_test_setup(the_stub_is_recognized, reset),
        cmocka_unit_test_setup(the_callers_context_is_used_and_left_current, reset),
        cmocka_unit_test_setup(a_current_context_is_not_pushed_again, reset),
        cmocka_unit_test_setup(memory_goes_there_and_back, reset),
        cmocka_unit_test_setup(a_jit_failure_keeps_the_log_and_names_the_versions, reset),
        cmocka_unit_test_setup(each_failing_call_is_explained_and_leaks_nothing, reset),
        cmocka_unit_test_setup(a_driver_that_keeps_failing_ends_nothing_but_the_call, reset),
        cmocka_unit_test_setup(sticky_faults_say_that_the_context_is_lost, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
