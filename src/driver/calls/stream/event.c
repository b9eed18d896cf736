// SPDX-License-Identifier: Apache-2.0
// The calls of events.
#include <stdlib.h>

#include "capture.h"
#include "submit.h"

static void release_event(void *object) {
    free(((cj_event *)object)->after);
    free(object);
}

CUresult cuEventCreate(CUevent *result, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(result);
    if (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "an interprocess event must disable timing"));
    cj_event *made = cj__object_new(CJ_EVENT, sizeof *made, cj__current(), release_event);
    if (!made) LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    made->flags = flags;
    *result = HANDLE_OF(made);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_event, event, CJ_EVENT, given);
    cj__object_destroy(event);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent given, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_event, event, CJ_EVENT, given);
    LEAVE(cj__submit_record(stream, event, false));
}

CUresult cuEventRecordWithFlags(CUevent given, CUstream stream, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_event, event, CJ_EVENT, given);
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    LEAVE(cj__submit_record(stream, event, flags & CU_EVENT_RECORD_EXTERNAL));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent given, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_event, event, CJ_EVENT, given);
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    LEAVE(cj__submit_wait(stream, event, flags & CU_EVENT_WAIT_EXTERNAL));
}

static CUresult refuse_captured(const cj_event *event) {
    return cj__capture_of_event(event) ? cj__refuse(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture")
                                       : CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent given) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_event, event, CJ_EVENT, given);
    LEAVE(refuse_captured(event));
}

CUresult cuEventSynchronize(CUevent given) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_event, event, CJ_EVENT, given);
    LEAVE(refuse_captured(event));
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent first, CUevent second) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(milliseconds);
    FIND(cj_event, start, CJ_EVENT, first);
    FIND(cj_event, end, CJ_EVENT, second);
    if (start->base.owner != end->base.owner)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_HANDLE, "the events are of two contexts"));
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_HANDLE, "an event was created with CU_EVENT_DISABLE_TIMING"));
    if (!start->recorded || !end->recorded) LEAVE(cj__refuse(CUDA_ERROR_INVALID_HANDLE, "an event was not recorded"));
    *milliseconds = (float)(end->milliseconds - start->milliseconds);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent first, CUevent second) {
    return cuEventElapsedTime_v2(milliseconds, first, second);
}

// All of a context's work is done: the event is now.
CUresult cuCtxRecordEvent(CUcontext given, CUevent given_event) {
    ENTER(CJ_NEED_INIT);
    cj_context *context = NULL;
    TRY(cj__context_of(given, &context));
    FIND(cj_event, event, CJ_EVENT, given_event);
    if (event->base.owner != context) LEAVE(cj__refuse(CUDA_ERROR_INVALID_HANDLE, "the event is of another context"));
    TRY(cj__capture_unsafe());
    event->capture = 0;
    cj__event_record(event);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxWaitEvent(CUcontext given, CUevent given_event) {
    ENTER(CJ_NEED_INIT);
    cj_context *context = NULL;
    TRY(cj__context_of(given, &context));
    FIND(cj_event, event, CJ_EVENT, given_event);
    LEAVE(refuse_captured(event));
}
