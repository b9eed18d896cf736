// SPDX-License-Identifier: Apache-2.0
#include "submit.h"

#include "capture.h"

// A kernel, and an event that is recorded, are of the stream's own context.
static CUresult check_owner(const cj_stream_object *stream, const cj_work *work) {
    const cj_context *owner = work->kind == CJ_WORK_LAUNCH   ? work->as.launch.fun->mod->context
                              : work->kind == CJ_WORK_RECORD ? work->as.event->base.owner
                                                             : stream->base.owner;
    if (owner == stream->base.owner) return CUDA_SUCCESS;
    return cj__refuse(CUDA_ERROR_INVALID_HANDLE, "the %s is of another context than the stream",
                      work->kind == CJ_WORK_LAUNCH ? "kernel" : "event");
}

static CUresult submit_to(cj_stream_object *stream, cj_work *work) {
    work->context = stream->base.owner;
    CUresult code = cj__capture_implicit(stream);
    if (!code) code = check_owner(stream, work);
    if (!code) code = cj__work_check(work);
    if (code) return code;
    if (!stream->capture) return cj__work_run(work);
    if (work->kind == CJ_WORK_HOST && work->as.host.callback)
        return cj__refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "callbacks cannot be captured: use cuLaunchHostFunc");
    return cj__capture_add(stream, work);
}

CUresult cj__submit(CUstream given, cj_work *work) {
    cj_stream_object *stream = NULL;
    const CUresult    code = cj__stream_of(given, &stream);
    return code ? code : submit_to(stream, work);
}

CUresult cj__submit_record(CUstream given, cj_event *event, bool external) {
    cj_stream_object *stream = NULL;
    const CUresult    code = cj__stream_of(given, &stream);
    if (code) return code;
    if (stream->capture && !external) return cj__capture_record(stream, event);
    if (!stream->capture) event->capture = 0;
    return submit_to(stream, &(cj_work){.kind = CJ_WORK_RECORD, .as.event = event});
}

CUresult cj__submit_wait(CUstream given, cj_event *event, bool external) {
    cj_stream_object *stream = NULL;
    const CUresult    code = cj__stream_of(given, &stream);
    if (code) return code;
    if (!external && (stream->capture || cj__capture_of_event(event))) return cj__capture_wait(stream, event);
    return submit_to(stream, &(cj_work){.kind = CJ_WORK_WAIT, .as.event = event});
}

// An executable graph is a chain of steps to a capture: the child graph of one node.
static CUresult capture_graph(cj_stream_object *stream, const cj_exec *exec) {
    cj_work   work = {.kind = CJ_WORK_CHILD, .context = stream->base.owner, .as.child = cj__graph_new()};
    cj_node  *node = NULL;
    cj_graph *child = work.as.child;
    CUresult  code = child ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < exec->count && !code; i++) {
        const CUgraphNode before = node ? HANDLE_OF(node) : NULL;
        if (exec->step[i].enabled) code = cj__graph_add(child, &before, node != NULL, &exec->step[i].work, &node);
    }
    if (!code) code = cj__capture_add(stream, &work);
    cj__graph_destroy(child);
    return code;
}

CUresult cj__submit_graph(CUstream given, cj_exec *exec) {
    cj_stream_object *stream = NULL;
    CUresult          code = cj__stream_of(given, &stream);
    if (!code) code = cj__capture_implicit(stream);
    if (code) return code;
    return stream->capture ? capture_graph(stream, exec) : cj__exec_run(exec);
}
