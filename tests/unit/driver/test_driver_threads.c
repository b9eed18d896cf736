// SPDX-License-Identifier: Apache-2.0
// Calls from several threads at once, a fork after cuInit, and the end of the report.
#include <pthread.h>
#include <sys/wait.h>

#include "driver_test.h"

enum { THREADS = 6, ROUNDS = 60 };

// Each thread has memory, a stream, a module and a graph of its own, and asks for what others destroy meanwhile.
static void *work(void *user) {
    unsigned *const sum = user;
    for (unsigned i = 0; i < ROUNDS; i++) {
        CUstream    stream = NULL;
        CUmodule    own = NULL;
        CUfunction  f = NULL;
        CUdeviceptr p = 0;
        CUgraph     graph = NULL;
        CUgraphExec exec = NULL;
        unsigned    n = i, got = 0;
        void       *argument[] = {&p, &n};
        OK(cuCtxSetCurrent(context));
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(cuMemAlloc(&p, 4));
        OK(cuMemsetD32Async(p, 1, 1, stream));
        OK(cuModuleLoadData(&own, ptx));
        OK(cuModuleGetFunction(&f, own, "more"));
        OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, argument, NULL));
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphInstantiate(&exec, graph, 0));
        OK(cuGraphLaunch(exec, stream));
        OK(cuMemcpyDtoHAsync(&got, p, 4, stream));
        *sum += got;
        OK(cuGraphExecDestroy(exec));
        OK(cuGraphDestroy(graph));
        OK(cuModuleUnload(own));
        OK(cuMemFree(p));
        OK(cuStreamDestroy(stream));
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state) {
    pthread_t thread[THREADS];
    unsigned  sum[THREADS] = {0};
    (void)state;
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, work, &sum[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(sum[i], ROUNDS + ROUNDS * (ROUNDS - 1) / 2);
    }
}

static void *no_context(void *user) {
    CUcontext now = context;
    OK(cuCtxGetCurrent(&now));
    *(CUcontext *)user = now;
    return NULL;
}

static void a_context_is_current_in_one_thread(void **state) {
    pthread_t thread;
    CUcontext seen = context;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, no_context, &seen), 0);
    pthread_join(thread, NULL);
    assert_null(seen);
}

static void a_forked_child_gets_an_error(void **state) {
    int status = -1;
    (void)state;
    const pid_t child = fork();
    if (!child) {
        CUdeviceptr p = 0;
        int         count = 0;
        const bool  refused = cuMemAlloc(&p, 4) == CUDA_ERROR_NOT_INITIALIZED &&
                             cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
                             cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
        _exit(refused ? 0 : 1);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    REPORTED("this process was forked after cuInit");
    allocate(4);  // the parent goes on
}

// A child process leaks, and ends.
static void the_end_is_told(void **state) {
    char command[256], path[] = "/tmp/clusterjit_end_XXXXXX", text[4096] = "";
    (void)state;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    snprintf(command, sizeof command, "CLUSTERJIT_REPORT=%s CJ_LEAK=1 /proc/%d/exe", path, (int)getpid());
    assert_int_equal(system(command), 0);
    assert_true(read(file, text, sizeof text - 1) > 0);
    close(file);
    unlink(path);
    assert_non_null(
        strstr(text, "{\"kind\": \"leak\", \"call\": \"cuMemAlloc\", \"message\": \"123 bytes were never freed"));
    assert_non_null(strstr(text, "{\"kind\": \"leak\", \"call\": \"cuStreamCreate\""));
    assert_non_null(strstr(text, "{\"kind\": \"end\", \"launches\": 1"));
}

static int leak(void) {
    CUstream    stream = NULL;
    CUdeviceptr p = 0;
    void       *argument[] = {&p};
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
    if (cuMemAlloc(&p, 123) || cuStreamCreate(&stream, 0) || cuModuleLoadData(&module, ptx)) return 1;
    return cuLaunchKernel(function("racy"), 1, 1, 1, 1, 1, 1, 0, stream, argument, NULL) != CUDA_SUCCESS;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(threads_do_not_disturb_each_other),
        TEST(a_context_is_current_in_one_thread),
        TEST(a_forked_child_gets_an_error),
        TEST(the_end_is_told),
    };
    if (getenv("CJ_LEAK")) return leak();
    open_driver(1, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
