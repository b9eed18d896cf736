// SPDX-License-Identifier: Apache-2.0
// A stream beside the caller's, for launches that overlap with it.
#include "error.h"
#include "gpu.h"

static cj_status make(cj_gpu *gpu, cj_side *side, cj_error *error) {
    CUstream stream = NULL;
    CUevent  event = NULL;
    int      least = 0, greatest = 0;
    TRY(CJ_CU(&gpu->driver, error, CtxGetStreamPriorityRange, &least, &greatest));
    TRY(CJ_CU(&gpu->driver, error, StreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, greatest));
    side->stream = stream;
    TRY(CJ_CU(&gpu->driver, error, EventCreate, &event, CU_EVENT_DISABLE_TIMING));
    side->event = event;
    return CJ_OK;
}

// The most urgent one: its few blocks find room when a product's blocks end.
cj_status cj__gpu_make_side(cj_device *device, cj_side *side, cj_error *error) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    *side = (cj_side){NULL, NULL};
    TRY(cj__gpu_enter(gpu, &pushed, error));
    const cj_status status = make(gpu, side, error);
    cj__gpu_leave(gpu, pushed);
    return status;
}

static void free_event(cj_gpu *gpu, CUevent event) {
    bool pushed;
    if (!event || cj__gpu_enter(gpu, &pushed, NULL)) return;
    gpu->driver.EventDestroy(event);
    cj__gpu_leave(gpu, pushed);
}

static void free_stream(cj_gpu *gpu, CUstream stream) {
    bool pushed;
    if (!stream || cj__gpu_enter(gpu, &pushed, NULL)) return;
    gpu->driver.StreamDestroy(stream);
    cj__gpu_leave(gpu, pushed);
}

void cj__gpu_free_side(cj_device *device, const cj_side *side) {
    free_event(cj__gpu(device), side->event);
    free_stream(cj__gpu(device), side->stream);
}

// The event may be recorded again at once: a wait is for what it stood for when the wait was asked for.
cj_status cj__gpu_follow(cj_device *device, const cj_side *side, cj_stream later, cj_stream earlier, cj_error *error) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    TRY(cj__gpu_enter(gpu, &pushed, error));
    cj_status status = CJ_CU(&gpu->driver, error, EventRecord, side->event, earlier);
    if (!status) status = CJ_CU(&gpu->driver, error, StreamWaitEvent, later, side->event, 0);
    cj__gpu_leave(gpu, pushed);
    return status;
}
