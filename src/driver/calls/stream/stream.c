// SPDX-License-Identifier: Apache-2.0
// The calls of streams: making and asking, and functions of the host in their order.
#include <string.h>

#include "capture.h"
#include "submit.h"

static CUresult create(CUstream *result, unsigned flags, int priority) {
    if (!result) return cj__refuse_null("phStream");
    if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags);
    if (priority > 0) priority = 0;
    if (priority < CJ_PRIORITY_GREATEST) priority = CJ_PRIORITY_GREATEST;
    const cj_stream_object *made = cj__stream_new(cj__current(), flags, priority);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    *result = HANDLE_OF(made);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(create(stream, flags, 0));
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(create(stream, flags, priority));
}

CUresult cuStreamDestroy_v2(CUstream given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_stream_object, stream, CJ_STREAM, given);
    if (stream == stream->base.owner->legacy || stream == stream->base.owner->per_thread)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_HANDLE, "a default stream is not destroyed"));
    cj__object_destroy(stream);
    LEAVE(CUDA_SUCCESS);
}

// ---- asking

// Begins a call on a stream.
#define ENTER_STREAM(given)          \
    ENTER(CJ_NEED_CONTEXT);          \
    cj_stream_object *stream = NULL; \
    TRY(cj__stream_of(given, &stream))

CUresult cuStreamGetPriority(CUstream given, int *priority) {
    ENTER_STREAM(given);
    REQUIRE(priority);
    *priority = stream->priority;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamGetFlags(CUstream given, unsigned *flags) {
    ENTER_STREAM(given);
    REQUIRE(flags);
    *flags = stream->flags;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamGetId(CUstream given, unsigned long long *id) {
    ENTER_STREAM(given);
    REQUIRE(id);
    *id = stream->base.handle;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamGetDevice(CUstream given, CUdevice *device) {
    ENTER_STREAM(given);
    REQUIRE(device);
    *device = stream->base.owner->gpu->ordinal;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamGetCtx(CUstream given, CUcontext *context) {
    ENTER_STREAM(given);
    REQUIRE(context);
    *context = HANDLE_OF(stream->base.owner);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamGetCtx_v2(CUstream given, CUcontext *context, CUgreenCtx *green) {
    ENTER_STREAM(given);
    REQUIRE(context);
    *context = HANDLE_OF(stream->base.owner);
    if (green) *green = NULL;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamGetAttribute(CUstream given, CUstreamAttrID id, CUstreamAttrValue *value) {
    ENTER_STREAM(given);
    REQUIRE(value);
    if ((unsigned)id >= CU_LAUNCH_ATTRIBUTE_MAX)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "stream attribute %d", (int)id));
    *value = stream->attribute[id];
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = stream->priority;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamSetAttribute(CUstream given, CUstreamAttrID id, const CUstreamAttrValue *value) {
    ENTER_STREAM(given);
    REQUIRE(value);
    if ((unsigned)id >= CU_LAUNCH_ATTRIBUTE_MAX)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "stream attribute %d", (int)id));
    stream->attribute[id] = *value;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) stream->priority = value->priority;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamCopyAttributes(CUstream to_given, CUstream from_given) {
    ENTER_STREAM(to_given);
    cj_stream_object *from = NULL;
    TRY(cj__stream_of(from_given, &from));
    memcpy(stream->attribute, from->attribute, sizeof from->attribute);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuStreamQuery(CUstream given) {
    ENTER_STREAM(given);
    LEAVE(cj__capture_forbids(stream));
}

CUresult cuStreamSynchronize(CUstream given) {
    ENTER_STREAM(given);
    LEAVE(cj__capture_forbids(stream));
}

CUresult cuStreamAttachMemAsync(CUstream given, CUdeviceptr memory, size_t bytes, unsigned flags) {
    ENTER_STREAM(given);
    (void)bytes;
    REQUIRE(memory);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    LEAVE(CUDA_SUCCESS);  // every thread and kernel reaches managed memory
}

// ---- work of the host's

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(cj__submit(stream, &(cj_work){.kind = CJ_WORK_HOST, .as.host = {.call = function, .user = user}}));
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x, and must be 0", flags));
    LEAVE(cj__submit(
        stream, &(cj_work){.kind = CJ_WORK_HOST, .as.host = {.callback = callback, .stream = stream, .user = user}}));
}
