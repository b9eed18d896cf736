// SPDX-License-Identifier: Apache-2.0
// Timing by events, of launches one by one or of a graph that is replayed.
#include "error.h"
#include "gpu.h"

typedef struct stopwatch {
    CUevent start, stop;
} stopwatch;

static cj_status open_stopwatch(const cj_driver *driver, stopwatch *watch, cj_error *error) {
    cj_status status = CJ_CU(driver, error, EventCreate, &watch->start, CU_EVENT_DEFAULT);
    return status ? status : CJ_CU(driver, error, EventCreate, &watch->stop, CU_EVENT_DEFAULT);
}

static void close_stopwatch(const cj_driver *driver, const stopwatch *watch) {
    if (watch->stop) driver->EventDestroy(watch->stop);
    if (watch->start) driver->EventDestroy(watch->start);
}

// Waits for the second event.
static cj_status read_stopwatch(const cj_driver *driver, const stopwatch *watch, float *milliseconds, cj_error *error) {
    cj_status status = CJ_CU(driver, error, EventSynchronize, watch->stop);
    return status ? status : CJ_CU(driver, error, EventElapsedTime, milliseconds, watch->start, watch->stop);
}

static cj_status run_timed(const cj_driver *driver, const stopwatch *watch, CUstream stream,
                           cj_status (*work)(void *user, cj_error *error), void *user, float *milliseconds,
                           cj_error *error) {
    cj_status status = CJ_CU(driver, error, EventRecord, watch->start, stream);
    if (!status) status = work(user, error);
    if (!status) status = CJ_CU(driver, error, EventRecord, watch->stop, stream);
    return status ? status : read_stopwatch(driver, watch, milliseconds, error);
}

cj_status cj__gpu_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                       double *milliseconds, cj_error *error) {
    cj_gpu   *gpu = cj__gpu(device);
    stopwatch watch = {NULL, NULL};
    float     elapsed = 0;
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = open_stopwatch(&gpu->driver, &watch, error);
    if (!status) status = run_timed(&gpu->driver, &watch, stream, work, user, &elapsed, error);
    close_stopwatch(&gpu->driver, &watch);
    cj__gpu_leave(gpu, pushed);
    if (!status) *milliseconds = (double)elapsed;
    return status;
}

// ---- graphs

typedef struct replay {
    CUstream    stream;  // a blocking stream: it waits for the caller's work on the default stream
    CUgraph     graph;
    CUgraphExec exec;
    stopwatch   watch;
} replay;

// A capture that was begun is ended even if the work fails. It is thread-local: other threads' calls do not disturb it.
static cj_status capture(const cj_driver *driver, replay *r,
                         cj_status (*work)(void *user, cj_stream stream, cj_error *error), void *user,
                         cj_error *error) {
    cj_status status = CJ_CU(driver, error, StreamBeginCapture, r->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (status) return status;
    status = work(user, r->stream, error);
    const CUresult ended = driver->StreamEndCapture(r->stream, &r->graph);
    if (!status) status = cj__driver_status(driver, ended, "cuStreamEndCapture", error);
    return status ? status : CJ_CU(driver, error, GraphInstantiateWithFlags, &r->exec, r->graph, 0);
}

static cj_status run_replays(const cj_driver *driver, const replay *r, uint32_t repeat, float *milliseconds,
                             cj_error *error) {
    cj_status status = CJ_CU(driver, error, GraphLaunch, r->exec, r->stream);  // the first one uploads it
    if (!status) status = CJ_CU(driver, error, EventRecord, r->watch.start, r->stream);
    for (uint32_t i = 0; i < repeat && !status; i++) status = CJ_CU(driver, error, GraphLaunch, r->exec, r->stream);
    if (!status) status = CJ_CU(driver, error, EventRecord, r->watch.stop, r->stream);
    return status ? status : read_stopwatch(driver, &r->watch, milliseconds, error);
}

static void close_replay(const cj_driver *driver, const replay *r) {
    close_stopwatch(driver, &r->watch);
    if (r->exec) driver->GraphExecDestroy(r->exec);
    if (r->graph) driver->GraphDestroy(r->graph);
    if (r->stream) driver->StreamDestroy(r->stream);
}

cj_status cj__gpu_time_graph(cj_device *device, cj_status (*work)(void *user, cj_stream stream, cj_error *error),
                             void *user, uint32_t repeat, double *milliseconds, cj_error *error) {
    cj_gpu   *gpu = cj__gpu(device);
    replay    r = {0};
    float     elapsed = 0;
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, StreamCreate, &r.stream, CU_STREAM_DEFAULT);
    if (!status) status = capture(&gpu->driver, &r, work, user, error);
    if (!status) status = open_stopwatch(&gpu->driver, &r.watch, error);
    if (!status) status = run_replays(&gpu->driver, &r, repeat, &elapsed, error);
    close_replay(&gpu->driver, &r);
    cj__gpu_leave(gpu, pushed);
    if (!status) *milliseconds = (double)elapsed / repeat;
    return status;
}
