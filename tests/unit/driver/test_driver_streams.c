// SPDX-License-Identifier: Apache-2.0
// Streams, events, and captures of streams into graphs.
#include <time.h>

#include "driver_test.h"

static CUstream new_stream(unsigned flags) {
    CUstream stream = NULL;
    OK(cuStreamCreate(&stream, flags));
    return stream;
}

static CUevent new_event(void) {
    CUevent event = NULL;
    OK(cuEventCreate(&event, 0));
    return event;
}

static CUdeviceptr zero(void) {
    const CUdeviceptr p = allocate(4);
    OK(cuMemsetD32(p, 0, 1));
    return p;
}

static void streams_tell_what_they_are(void **state) {
    CUstream           stream = NULL;
    int                priority = 0;
    unsigned           flags = 0;
    unsigned long long id = 0, other = 0;
    CUcontext          owner = NULL;
    (void)state;
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100));
    OK(cuStreamGetPriority(stream, &priority));
    assert_int_equal(priority, -5);
    OK(cuStreamGetFlags(stream, &flags));
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetId(stream, &id));
    OK(cuStreamGetId(NULL, &other));
    assert_int_not_equal(id, other);
    OK(cuStreamGetCtx(CU_STREAM_PER_THREAD, &owner));
    assert_ptr_equal(owner, context);
    OK(cuStreamDestroy(stream));
    IS(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
    IS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 8));
    IS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(NULL, 0));
    IS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize((CUstream)context));
}

static void note(void *user) { ++*(int *)user; }
static void note_stream(CUstream stream, CUresult code, void *user) {
    (void)stream;
    if (!code) ++*(int *)user;
}

static void the_host_is_called_in_order(void **state) {
    int            calls = 0;
    const CUstream stream = new_stream(0);
    (void)state;
    OK(cuLaunchHostFunc(stream, note, &calls));
    OK(cuStreamAddCallback(stream, note_stream, &calls, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(calls, 2);
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, note_stream, &calls, 1));
}

static void events_measure_time(void **state) {
    const CUevent first = new_event(), second = new_event();
    CUevent       untimed = NULL;
    float         ms = -1;
    (void)state;
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, first, second));
    OK(cuEventRecord(first, NULL));
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    OK(cuEventRecordWithFlags(second, NULL, 0));
    OK(cuEventQuery(second));
    OK(cuEventSynchronize(second));
    OK(cuEventElapsedTime(&ms, first, second));
    assert_true(ms >= 2 && ms < 60000);
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(untimed, NULL));
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, first, untimed));
    OK(cuEventDestroy(first));
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(first, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&untimed, 64));
}

static void values_are_written_and_awaited(void **state) {
    const CUdeviceptr p = zero();
    (void)state;
    OK(cuStreamWriteValue32(NULL, p, 7, 0));
    OK(cuStreamWaitValue32(NULL, p, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWaitValue32(NULL, p, 6, CU_STREAM_WAIT_VALUE_GEQ));
    IS(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(NULL, p, 8, CU_STREAM_WAIT_VALUE_GEQ));
    IS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64(NULL, p, 1, 0));
    REPORTED("no earlier work wrote it");
}

// ---- captures

static size_t edges_of(CUgraph graph) {
    size_t count = 0;
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    return count;
}

static unsigned run(CUgraph graph, CUdeviceptr p, unsigned times) {
    CUgraphExec exec = NULL;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuMemsetD32(p, 0, 1));
    for (unsigned i = 0; i < times; i++) OK(cuGraphLaunch(exec, NULL));
    OK(cuGraphExecDestroy(exec));
    return word_at(p);
}

static void a_capture_forks_and_joins_by_events(void **state) {
    const CUstream    first = new_stream(CU_STREAM_NON_BLOCKING), second = new_stream(CU_STREAM_NON_BLOCKING);
    const CUevent     fork = new_event(), join = new_event();
    const CUdeviceptr p = zero();
    CUgraph           graph = NULL;
    int               calls = 0;
    (void)state;
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_more(first, p, 1));
    OK(cuEventRecord(fork, first));
    OK(cuStreamWaitEvent(second, fork, 0));
    OK(launch_more(second, p, 10));
    OK(cuLaunchHostFunc(second, note, &calls));
    OK(cuMemsetD32Async(p, 1, 0, first));
    OK(cuEventRecord(join, second));
    OK(cuStreamWaitEvent(first, join, 0));
    OK(launch_more(first, p, 100));
    OK(cuStreamEndCapture(first, &graph));
    assert_int_equal(word_at(p), 0);  // nothing ran
    assert_int_equal(edges_of(graph), 5);
    assert_int_equal(run(graph, p, 3), 333);
    assert_int_equal(calls, 3);
    OK(cuGraphDestroy(graph));
}

static void a_capture_must_be_joined(void **state) {
    const CUstream    first = new_stream(CU_STREAM_NON_BLOCKING), second = new_stream(CU_STREAM_NON_BLOCKING);
    const CUevent     fork = new_event();
    CUgraph           graph = NULL;
    const CUdeviceptr p = zero();
    (void)state;
    for (int i = 0; i < 2; i++) {  // what a stream had in a capture before means nothing to the next one
        OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cuEventRecord(fork, first));
        OK(cuStreamWaitEvent(second, fork, 0));
        OK(launch_more(second, p, 10));
        IS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(first, &graph));
        assert_null(graph);
    }
    OK(launch_more(second, p, 5));  // both streams work again
    assert_int_equal(word_at(p), 5);
}

// Begins a capture, makes a call that it does not allow, and ends it.
static void expect_invalid(CUstream stream, CUresult code, CUresult got) {
    CUstreamCaptureStatus status;
    CUgraph               graph = NULL;
    IS(code, got);
    OK(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

static void what_a_capture_forbids(void **state) {
    const CUstream stream = new_stream(CU_STREAM_NON_BLOCKING), other = new_stream(CU_STREAM_NON_BLOCKING),
                   blocking = new_stream(0);
    const CUevent outside = new_event(), inside = new_event();
    CUdeviceptr   p = zero(), more = 0;
    CUgraph       graph = NULL;
    (void)state;
    OK(cuEventRecord(outside, NULL));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_invalid(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_invalid(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&more, 4));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    expect_invalid(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream, outside, 0));
    OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAlloc(&more, 4));
    expect_invalid(blocking, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, launch_more(NULL, p, 1));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(inside, stream));
    IS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(inside));
    expect_invalid(other, CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(other, inside, 0));
    IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    IS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
    IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IS(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture(stream, (CUstreamCaptureMode)9));
}

static void a_capture_is_ended_where_it_began(void **state) {
    const CUstream first = new_stream(CU_STREAM_NON_BLOCKING), second = new_stream(CU_STREAM_NON_BLOCKING);
    const CUevent  fork = new_event();
    CUgraph        graph = NULL;
    (void)state;
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    IS(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(fork, first));
    OK(cuStreamWaitEvent(second, fork, 0));
    IS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(second, &graph));
    IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(first, &graph));
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamDestroy(first));  // with its capture
    OK(cuStreamDestroy(second));
}

static void a_capture_can_be_looked_into(void **state) {
    const CUstream         stream = new_stream(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr      p = zero();
    CUstreamCaptureStatus  status;
    cuuint64_t             id = 0;
    CUgraph                graph = NULL, same = NULL;
    const CUgraphNode     *after = NULL;
    const CUgraphEdgeData *data = NULL;
    CUgraphNode            empty = NULL;
    size_t                 count = 0;
    (void)state;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(launch_more(stream, p, 1));
    OK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &after, &data, &count));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(count, 1);
    OK(cuGraphAddEmptyNode(&empty, graph, after, count));
    OK(cuStreamUpdateCaptureDependencies(stream, &empty, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(launch_more(stream, p, 2));
    IS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
    OK(cuStreamEndCapture(stream, &same));
    assert_ptr_equal(same, graph);
    assert_int_equal(edges_of(graph), 2);
    assert_int_equal(run(graph, p, 1), 3);
    OK(cuStreamIsCapturing(stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuGraphDestroy(graph));
}

static void memory_and_graphs_are_captured(void **state) {
    const CUstream    stream = new_stream(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr p = zero();
    CUdeviceptr       between = 0;
    CUgraph           inner = NULL, outer = NULL;
    CUgraphExec       exec = NULL;
    (void)state;
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(launch_more(stream, p, 1));
    OK(cuStreamEndCapture(stream, &inner));
    OK(cuGraphInstantiate(&exec, inner, 0));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuGraphLaunch(exec, stream));
    OK(cuMemAllocAsync(&between, 4, stream));
    OK(cuMemcpyDtoDAsync(between, p, 4, stream));
    OK(launch_more(stream, between, 50));
    OK(cuMemcpyDtoDAsync(p, between, 4, stream));
    OK(cuMemFreeAsync(between, stream));
    OK(cuStreamEndCapture(stream, &outer));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(inner));
    assert_int_equal(run(outer, p, 2), 102);
    OK(cuGraphDestroy(outer));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(between, 0, 1));  // it went with the graph
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(streams_tell_what_they_are),
        TEST(the_host_is_called_in_order),
        TEST(events_measure_time),
        TEST(values_are_written_and_awaited),
        TEST(a_capture_forks_and_joins_by_events),
        TEST(a_capture_must_be_joined),
        TEST(what_a_capture_forbids),
        TEST(a_capture_is_ended_where_it_began),
        TEST(a_capture_can_be_looked_into),
        TEST(memory_and_graphs_are_captured),
    };
    open_driver(1, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
