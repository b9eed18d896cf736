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

// Runs this program as one that leaks, with more of the environment, and reads a file that it wrote.
static void run_leak(const char *environment, const char *redirect, char *path, char text[4096]) {
    char      command[512];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    snprintf(command, sizeof command, "%s%s CJ_LEAK=1 /proc/%d/exe %s%s", environment, *redirect ? "/dev/null" : path,
             (int)getpid(), redirect, *redirect ? path : "");
    assert_int_equal(system(command), 0);
    const ssize_t bytes = read(file, text, 4095);
    assert_true(bytes > 0);
    text[bytes] = 0;
    close(file);
    unlink(path);
}

static void the_end_is_told(void **state) {
    char path[] = "/tmp/clusterjit_end_XXXXXX", text[4096];
    (void)state;
    run_leak("CLUSTERJIT_REPORT=", "", path, text);
    assert_non_null(
        strstr(text, "{\"kind\": \"leak\", \"call\": \"cuMemAlloc\", \"message\": \"123 bytes were never freed"));
    assert_non_null(strstr(text, "{\"kind\": \"leak\", \"call\": \"cuStreamCreate\""));
    assert_non_null(strstr(text, "{\"kind\": \"end\", \"launches\": 1"));
}

static void unknown_settings_are_warned_of(void **state) {
    char path[] = "/tmp/clusterjit_end_XXXXXX", text[4096];
    (void)state;
    run_leak("CLUSTERJIT_SCHEDULE=odd CLUSTERJIT_HAZARDS=maybe CLUSTERJIT_GPUS=99 CLUSTERJIT_REPORT=", "2>", path,
             text);
    assert_non_null(strstr(text, "CLUSTERJIT_SCHEDULE is 'odd'; it is fixed"));
    assert_non_null(strstr(text, "CLUSTERJIT_HAZARDS is 'maybe'; it is on or off"));
    assert_non_null(strstr(text, "CLUSTERJIT_GPUS is '99'; it is a number from 1 to 16"));
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
        TEST(threads_do_not_disturb_each_other), TEST(a_context_is_current_in_one_thread),
        TEST(a_forked_child_gets_an_error),      TEST(the_end_is_told),
        TEST(unknown_settings_are_warned_of),
    };
    if (getenv("CJ_LEAK")) return leak();
    open_driver(1, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
