// SPDX-License-Identifier: Apache-2.0
// Shared kernels and the one-call functions on the fake driver: which calls share which kernel, what a warm call costs the driver, and
// 24 threads at it.
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <clusterjit/clusterjit.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"

enum { THREADS = 24, ROUNDS = 1000 };

static cj_device *device;
static unsigned   warnings;

static void hear(void *user, cj_log_level level, const char *message) {
    (void)user, (void)message;
    warnings += level == CJ_LOG_WARNING;
}

static int open_device(void **state) {
    (void)state;
    const cj_device_options options = {CJ_INIT(options), .spec = "gpu", .resolver = cj_fake_resolve};
    cj_fake_reset();
    setenv("CLUSTERJIT_CACHE_DIR", "", 1);
    warnings = 0;
    cj_log_set(hear, NULL);
    return cj_device_open(&options, &device, NULL) != CJ_OK;
}

static int alive(void) {
    const cj_fake *fake = &cj_fake_driver;
    return fake->alive_contexts + fake->alive_modules + fake->alive_memory + fake->alive_events;
}

static int close_device(void **state) {
    (void)state;
    cj_device_close(device);
    cj_log_set(NULL, NULL);
    return alive();
}

static cj_stream stream(uintptr_t i) { return (cj_stream)(0x1000 + 16 * i); }

static cj_params params_of(const char *cluster) {
    const cj_family *family;
    cj_params        params;
    cj_error         error = {0};
    cj_test_ok(cj_family_find("reduce", &family, &error), &error);
    cj_params_init(&params, family);
    cj_test_ok(cj_params_set(&params, "cluster", cluster, &error), &error);
    cj_test_ok(cj_params_set(&params, "grid", "8", &error), &error);  // clusters that combine in a workspace
    return params;
}

static cj_kernel *get(const cj_params *params, cj_stream on) {
    cj_kernel *kernel = NULL;
    cj_error   error = {0};
    cj_test_ok(cj_kernel_get(device, params, on, &kernel, &error), &error);
    return kernel;
}

static cj_status launch(cj_kernel *kernel, cj_stream on) {
    cj_ptr   x = 4096, out = 8192;
    uint64_t n = 1024;
    void    *arguments[] = {&x, &out, &n};
    return cj_kernel_launch(kernel, on, arguments, 3, NULL);
}

static cj_status call(const cj_reduce_desc *desc, cj_stream on, cj_error *error) {
    return cj_reduce_launch(device, desc, 4096, 8192, on, error);
}

// ---- which calls share which kernel

static void kernels_are_shared_by_parameters_and_stream(void **state) {
    (void)state;
    const cj_params four = params_of("4"), two = params_of("2");
    cj_kernel      *a = get(&four, stream(0)), *b = get(&four, stream(0)), *c = get(&four, stream(1));
    cj_kernel      *d = get(&two, stream(0));
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);  // another stream has another workspace
    assert_ptr_not_equal(a, d);
    assert_int_equal(cj_fake_driver.alive_memory, 3);
    assert_int_equal(cj_fake_driver.alive_modules, 2);  // but the module of the text
    cj_kernel_release(a);
    cj_test_ok(launch(b, stream(0)), NULL);
    cj_kernel_release(b);
    assert_int_equal(cj_fake_driver.alive_memory, 2);
    cj_kernel_release(c);
    cj_kernel_release(d);
    cj_kernel_release(NULL);
    assert_int_equal(cj_fake_driver.alive_memory + cj_fake_driver.alive_modules, 0);
}

static void a_kernel_of_ones_own_has_its_own_workspace(void **state) {
    (void)state;
    const cj_params params = params_of("4");
    cj_kernel      *mine = NULL, *shared = get(&params, NULL);
    cj_error        error = {0};
    cj_test_ok(cj_kernel_create(device, &params, &mine, &error), &error);
    assert_ptr_not_equal(mine, shared);
    assert_int_equal(cj_fake_driver.alive_memory, 2);
    assert_int_equal(cj_fake_driver.alive_modules, 1);
    cj_kernel_destroy(mine);
    cj_kernel_release(shared);
}

static void a_failed_get_leaves_nothing_and_may_be_tried_again(void **state) {
    (void)state;
    const cj_params params = params_of("4");
    cj_kernel      *kernel = NULL;
    cj_error        error = {0};
    cj_fake_fail_times("cuMemAlloc", 1, 1, 2);
    assert_int_equal(cj_kernel_get(device, &params, NULL, &kernel, &error), CJ_OUT_OF_MEMORY);
    assert_int_equal(error.driver_code, 2);
    assert_int_equal(cj_fake_driver.alive_modules, 0);
    cj_kernel_release(get(&params, NULL));
}

// ---- one-call functions

static void a_warm_call_only_launches(void **state) {
    (void)state;
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000, .grid = 8};
    cj_error             error = {0};
    const char          *symbol;
    bool                 optional;
    unsigned             before[64] = {0};
    cj_test_ok(call(&desc, stream(0), &error), &error);
    cj_test_ok(call(&desc, stream(0), &error), &error);
    for (size_t i = 0; (symbol = cj_fake_symbol(i, &optional)) != NULL; i++) before[i] = cj_fake_calls(symbol);
    cj_test_ok(call(&desc, stream(0), &error), &error);
    for (size_t i = 0; (symbol = cj_fake_symbol(i, &optional)) != NULL; i++) {
        const unsigned more = cj_fake_calls(symbol) - before[i];
        if (!strcmp(symbol, "cuLaunchKernelEx")) assert_int_equal(more, 1);
        else if (strncmp(symbol, "cuCtx", 5)) assert_int_equal(more, 0);
    }
    assert_int_equal(cj_fake_driver.launches, 3);
    assert_ptr_equal(cj_fake_driver.launch.stream, stream(0));
    assert_int_equal(cj_fake_driver.launch.first_argument, 4096);
}

static void every_stream_has_its_workspace(void **state) {
    (void)state;
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000, .grid = 8},
                         other = {CJ_INIT(other), .n = 1000, .op = CJ_REDUCE_MAX, .grid = 8};
    for (uintptr_t i = 0; i < 10; i++) cj_test_ok(call(&desc, stream(i % 5), NULL), NULL);
    assert_int_equal(cj_fake_driver.alive_memory, 5);
    assert_int_equal(cj_fake_driver.alive_modules, 1);
    cj_test_ok(call(&other, stream(0), NULL), NULL);
    assert_int_equal(cj_fake_driver.alive_modules, 2);
    cj_device_trim(device);
    assert_int_equal(cj_fake_driver.alive_memory + cj_fake_driver.alive_modules, 0);
    cj_test_ok(call(&desc, stream(0), NULL), NULL);
}

static void *call_on_own_stream(void *user) {
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000, .grid = 8};
    const cj_stream      per_thread = (cj_stream)2;
    for (int i = 0; i < 3; i++) {
        if (call(&desc, per_thread, NULL)) return user;
    }
    return NULL;
}

static void the_per_thread_stream_is_one_for_each_thread(void **state) {
    (void)state;
    pthread_t thread[3];
    void     *failed;
    for (int i = 0; i < 3; i++) pthread_create(&thread[i], NULL, call_on_own_stream, &thread);
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    assert_true(cj_fake_driver.alive_memory >= 1);
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000, .grid = 8};
    cj_test_ok(call(&desc, (cj_stream)2, NULL), NULL);
    assert_true(cj_fake_driver.alive_memory >= 2);  // a thread that has ended may have left its place to another
}

static void a_wrong_description_is_refused_every_time(void **state) {
    (void)state;
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 0}, grid = {CJ_INIT(grid), .n = 10, .cluster = 4, .grid = 6};
    cj_error             error = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(call(&desc, NULL, &error), CJ_INVALID_ARGUMENT);
        assert_int_equal(call(&grid, NULL, &error), CJ_CONTRACT);
        assert_int_equal(cj_reduce_launch(NULL, &desc, 1, 1, NULL, &error), CJ_INVALID_ARGUMENT);
        assert_int_equal(call(NULL, NULL, &error), CJ_INVALID_ARGUMENT);
    }
}

// ---- a device that is closed early

static void a_device_closes_with_its_last_kernel(void **state) {
    (void)state;
    const cj_params      params = params_of("4");
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000, .grid = 8};
    cj_kernel           *kernel = get(&params, NULL);
    cj_test_ok(call(&desc, NULL, NULL), NULL);
    cj_device_close(device);
    assert_int_equal(warnings, 1);
    assert_int_equal(cj_fake_driver.alive_contexts, 1);
    cj_test_ok(launch(kernel, NULL), NULL);
    cj_kernel_release(kernel);
    assert_int_equal(alive(), 0);
    open_device(NULL);  // for the teardown
}

// ---- threads

static atomic_int next_thread;

// Every thread on streams of its own and on the default stream, through shared kernels and one-call functions.
static void *get_and_launch(void *user) {
    const uintptr_t      me = (uintptr_t)atomic_fetch_add(&next_thread, 1);
    const cj_params     *params = user;
    const cj_reduce_desc desc[] = {{CJ_INIT(cj_reduce_desc), .n = 1000, .grid = 8},
                                   {CJ_INIT(cj_reduce_desc), .n = 1000, .op = CJ_REDUCE_MAX, .grid = 8},
                                   {CJ_INIT(cj_reduce_desc), .n = 77, .dtype = CJ_F64, .grid = 8}};
    for (int i = 0; i < ROUNDS; i++) {
        cj_error  error;
        cj_stream on = i % 8 == 0 ? NULL : stream(me % 6);
        if (i % 4 == 1) {
            cj_kernel *kernel = NULL;
            if (cj_kernel_get(device, params, on, &kernel, &error) || launch(kernel, on)) return user;
            cj_kernel_release(kernel);
        } else if (call(&desc[i % 3], on, &error)) {
            return user;
        }
    }
    return NULL;
}

static void threads_get_and_launch(void **state) {
    (void)state;
    cj_params  params = params_of("2");
    cj_kernel *held = get(&params, NULL);
    pthread_t  thread[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, get_and_launch, &params), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(cj_fake_driver.launches, THREADS * ROUNDS);
    assert_int_equal(cj_fake_driver.compiles, 4);  // one a text
    assert_int_equal(cj_fake_driver.alive_memory, 3 * 7 + 1);
    cj_kernel_release(held);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)
    const struct CMUnitTest tests[] = {
        TEST(kernels_are_shared_by_parameters_and_stream),
        TEST(a_kernel_of_ones_own_has_its_own_workspace),
        TEST(a_failed_get_leaves_nothing_and_may_be_tried_again),
        TEST(a_warm_call_only_launches),
        TEST(every_stream_has_its_workspace),
        TEST(the_per_thread_stream_is_one_for_each_thread),
        TEST(a_wrong_description_is_refused_every_time),
        TEST(a_device_closes_with_its_last_kernel),
        TEST(threads_get_and_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
