// SPDX-License-Identifier: Apache-2.0
// The calls that begin and end captures, and ask of them.
#include "capture.h"

static CUresult begin(CUstream given, cj_graph *graph, const CUgraphNode *after, size_t count,
                      CUstreamCaptureMode mode) {
    cj_stream_object *stream = NULL;
    const CUresult    code = cj__stream_of(given, &stream);
    return code ? code : cj__capture_begin(stream, graph, after, count, mode);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(begin(stream, NULL, NULL, 0, mode));
}

CUresult cuStreamBeginCapture(CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(begin(stream, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph given, const CUgraphNode *after,
                                     const CUgraphEdgeData *edge, size_t count, CUstreamCaptureMode mode) {
    ENTER(CJ_NEED_CONTEXT);
    (void)edge;
    FIND(cj_graph, graph, CJ_GRAPH, given);
    LEAVE(begin(stream, graph, after, count, mode));
}

static CUresult end(CUstream given, CUgraph *result) {
    cj_stream_object *stream = NULL;
    cj_graph         *graph = NULL;
    CUresult          code = cj__stream_of(given, &stream);
    if (code) return code;
    if (!result) return cj__refuse_null("phGraph");
    *result = NULL;
    code = cj__capture_end(stream, &graph);
    if (!code) *result = HANDLE_OF(graph);
    return code;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(end(stream, graph));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(mode);
    if ((unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "capture mode %d is not known", (int)*mode));
    const CUstreamCaptureMode before = cj__thread.capture_mode;
    cj__thread.capture_mode = *mode;
    *mode = before;
    LEAVE(CUDA_SUCCESS);
}

// ---- asking

CUresult cuStreamIsCapturing(CUstream given, CUstreamCaptureStatus *status) {
    ENTER(CJ_NEED_CONTEXT);
    cj_stream_object *stream = NULL;
    REQUIRE(status);
    TRY(cj__stream_of(given, &stream));
    TRY(cj__capture_implicit(stream));
    *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    LEAVE(CUDA_SUCCESS);
}

typedef struct info {
    CUstreamCaptureStatus *status;
    cuuint64_t            *id;
    CUgraph               *graph;
    const CUgraphNode    **after;
    size_t                *count;
} info;

// The array of nodes is the stream's, until its next call.
static CUresult tell(CUstream given, info to) {
    cj_stream_object *stream = NULL;
    CUresult          code = cj__stream_of(given, &stream);
    if (!to.status) return cj__refuse_null("captureStatus_out");
    if (!code) code = cj__capture_implicit(stream);
    if (code) return code;
    const cj_capture *capture = stream->capture;
    *to.status = !capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                 : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (*to.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    if (to.id) *to.id = capture->id;
    if (to.graph) *to.graph = HANDLE_OF(capture->graph);
    if (to.after) *to.after = stream->after;
    if (to.count) *to.count = stream->after_count;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(tell(stream, (info){.status = status, .id = id}));
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **after, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(tell(stream, (info){status, id, graph, after, count}));
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **after, const CUgraphEdgeData **edge, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    if (edge) *edge = NULL;
    LEAVE(tell(stream, (info){status, id, graph, after, count}));
}

static CUresult change(CUstream given, const CUgraphNode *after, size_t count, unsigned flags) {
    cj_stream_object *stream = NULL;
    const CUresult    code = cj__stream_of(given, &stream);
    return code ? code : cj__capture_change(stream, after, count, flags);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *after, size_t count, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(change(stream, after, count, flags));
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *after, const CUgraphEdgeData *edge,
                                              size_t count, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    (void)edge;
    LEAVE(change(stream, after, count, flags));
}
