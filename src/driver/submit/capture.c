// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <stdlib.h>
#include <string.h>

static cj_capture *captures;
static uint64_t    last_id;

// ---- the nodes that a stream's next node comes after, as handles

static CUresult set_after(CUgraphNode **after, size_t *count, const CUgraphNode *from, size_t from_count) {
    CUgraphNode *made = malloc((from_count + 1) * sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    if (from_count) memcpy(made, from, from_count * sizeof *made);
    free(*after);
    *after = made;
    *count = from_count;
    return CUDA_SUCCESS;
}

static CUresult merge_after(cj_stream_object *stream, const CUgraphNode *from, size_t count) {
    CUgraphNode *grown = realloc(stream->after, (stream->after_count + count + 1) * sizeof *grown);
    if (!grown) return CUDA_ERROR_OUT_OF_MEMORY;
    stream->after = grown;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < stream->after_count && grown[k] != from[i]) k++;
        if (k == stream->after_count) grown[stream->after_count++] = from[i];
    }
    return CUDA_SUCCESS;
}

// ---- what a capture forbids

static CUresult invalidate(cj_capture *capture, CUresult code) {
    capture->invalid = true;
    return code;
}

static CUresult check(const cj_capture *capture) {
    if (!capture->invalid) return CUDA_SUCCESS;
    return cj__refuse(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier error ended the capture");
}

// Queries and waits make no sense for work that does not run; of all streams, if any is captured.
CUresult cj__capture_forbids(cj_stream_object *stream) {
    const cj_context *context = stream ? stream->base.owner : cj__current();
    for (cj_capture *c = captures; c; c = c->next) {
        if (stream ? stream->capture != c : c->origin->base.owner != context) continue;
        cj__refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   "a captured stream's work does not run: it cannot be waited for");
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return stream ? cj__capture_implicit(stream) : CUDA_SUCCESS;
}

CUresult cj__capture_implicit(const cj_stream_object *stream) {
    if (!stream->is_legacy) return CUDA_SUCCESS;
    for (cj_capture *c = captures; c; c = c->next) {
        if (c->origin->base.owner != stream->base.owner || c->origin->flags & CU_STREAM_NON_BLOCKING) continue;
        cj__refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream would wait for a stream that is captured");
        cj__hint("create streams that are captured with CU_STREAM_NON_BLOCKING, or use another stream here");
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    return CUDA_SUCCESS;
}

CUresult cj__capture_unsafe(void) {
    for (cj_capture *c = captures; c; c = c->next) {
        const bool own = pthread_equal(c->thread, pthread_self());
        if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED || cj__thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
            continue;
        if (!own &&
            (c->mode != CU_STREAM_CAPTURE_MODE_GLOBAL || cj__thread.capture_mode != CU_STREAM_CAPTURE_MODE_GLOBAL))
            continue;
        cj__refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream is captured, and this call may wait for its work");
        cj__hint("capture with CU_STREAM_CAPTURE_MODE_RELAXED, or make the call before");
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return CUDA_SUCCESS;
}

// ---- streams join and leave

// Takes the capture out of the list, and every stream out of the capture.
static void finish(cj_capture *capture) {
    cj_capture **at = &captures;
    while (*at != capture) at = &(*at)->next;
    *at = capture->next;
    for (cj_object *o = cj__object_next(NULL, NULL); o; o = cj__object_next(o, NULL)) {
        cj_stream_object *stream = (cj_stream_object *)o;
        if (o->kind == CJ_STREAM && stream->capture == capture) stream->capture = NULL;
    }
    capture->graph->captured = false;
    free(capture);
}

// The stream ends; a capture that began on it does not outlive it, one that it joined does.
static void leave(cj_stream_object *stream) {
    cj_capture *capture = stream->capture;
    stream->capture = NULL;
    if (capture->origin != stream) return;  // its work stays in the graph
    cj_graph  *graph = capture->graph;
    const bool is_given = capture->given;
    finish(capture);
    if (!is_given) cj__graph_destroy(graph);
}

static void join(cj_stream_object *stream, cj_capture *capture) {
    stream->capture = capture;
    stream->leave = leave;
}

// ---- nodes

CUresult cj__capture_add(cj_stream_object *stream, const cj_work *work) {
    cj_capture *capture = stream->capture;
    cj_node    *node = NULL;
    CUresult    code = check(capture);
    if (code) return code;
    code = cj__graph_add(capture->graph, stream->after, stream->after_count, work, &node);
    if (code) return invalidate(capture, code);
    const CUgraphNode handle = HANDLE_OF(node);
    return set_after(&stream->after, &stream->after_count, &handle, 1);
}

CUresult cj__capture_allocate(cj_stream_object *stream, size_t bytes, CUdeviceptr *address) {
    cj_node *node = NULL;
    CUresult code = check(stream->capture);
    if (code) return code;
    code = cj__graph_add_memory(stream->capture->graph, stream->after, stream->after_count, bytes, stream->base.owner,
                                &node);
    if (code) return invalidate(stream->capture, code);
    const CUgraphNode handle = HANDLE_OF(node);
    *address = node->work.as.memory->address;
    return set_after(&stream->after, &stream->after_count, &handle, 1);
}

CUresult cj__capture_record(cj_stream_object *stream, cj_event *event) {
    const CUresult code = check(stream->capture);
    if (code) return code;
    event->capture = stream->capture->id;
    return set_after(&event->after, &event->after_count, stream->after, stream->after_count);
}

cj_capture *cj__capture_of_event(const cj_event *event) {
    cj_capture *capture = captures;
    while (capture && capture->id != event->capture) capture = capture->next;
    return event->capture ? capture : NULL;
}

CUresult cj__capture_wait(cj_stream_object *stream, cj_event *event) {
    cj_capture *other = cj__capture_of_event(event);
    if (!other && !event->recorded) return CUDA_SUCCESS;
    if (!other) {
        cj__refuse(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                   "a captured stream waits for an event from outside of the capture");
        cj__hint("record the event in the capture, or wait with CU_EVENT_WAIT_EXTERNAL");
        return invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    if (!stream->capture && stream->is_legacy)
        return cj__refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream cannot join a capture");
    if (stream->capture && stream->capture != other) {
        invalidate(other, CUDA_ERROR_STREAM_CAPTURE_MERGE);
        cj__refuse(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event is of another capture");
        return invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    const CUresult code = check(other);
    if (code) return code;
    if (!stream->capture) stream->after_count = 0;
    join(stream, other);
    return merge_after(stream, event->after, event->after_count);
}

// ---- begin

static cj_capture *new_capture(cj_stream_object *stream, cj_graph *given, CUstreamCaptureMode mode) {
    cj_capture *made = calloc(1, sizeof *made);
    cj_graph   *graph = made && !given ? cj__graph_new() : given;
    if (!graph) {
        free(made);
        return NULL;
    }
    *made = (cj_capture){.next = captures,
                         .id = ++last_id,
                         .graph = graph,
                         .origin = stream,
                         .mode = mode,
                         .thread = pthread_self(),
                         .first = graph->count,
                         .given = given != NULL};
    graph->captured = true;
    captures = made;
    return made;
}

CUresult cj__capture_begin(cj_stream_object *stream, cj_graph *graph, const CUgraphNode *after, size_t count,
                           CUstreamCaptureMode mode) {
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "capture mode %d is not known", (int)mode);
    if (stream->is_legacy)
        return cj__refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
    if (stream->capture || (graph && graph->captured))
        return cj__refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream, or the graph, is being captured");
    if (count && !after) return cj__refuse_null("dependencies");
    const CUresult code = set_after(&stream->after, &stream->after_count, after, count);
    if (code) return code;
    cj_capture *made = new_capture(stream, graph, mode);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!made->given) made->graph->base.call = NULL;
    join(stream, made);
    return CUDA_SUCCESS;
}

// ---- end

static void mark_back(cj_node *node) {
    if (node->mark) return;
    node->mark = 1;
    for (size_t i = 0; i < node->count; i++) mark_back(node->after[i]);
}

// Whether all that the capture's nodes begin is waited for by the stream that ends it.
static bool is_joined(const cj_capture *capture) {
    const cj_graph *graph = capture->graph;
    bool            joined = true;
    for (size_t i = 0; i < graph->count; i++) graph->node[i]->mark = 0;
    for (size_t i = 0; i < capture->origin->after_count; i++) {
        cj_node *node = cj__object_find(CJ_NODE, capture->origin->after[i]);
        if (node && node->graph == graph) mark_back(node);
    }
    for (size_t i = capture->first; i < graph->count; i++) joined = joined && graph->node[i]->mark;
    return joined;
}

CUresult cj__capture_end(cj_stream_object *stream, cj_graph **result) {
    cj_capture *capture = stream->capture;
    if (!capture) return cj__refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
    if (capture->origin != stream) {
        cj__refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began on another stream");
        return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return cj__refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began in another thread");
    cj_graph  *graph = capture->graph;
    const bool is_given = capture->given;
    CUresult   code = check(capture);
    if (!code && !is_joined(capture))
        code = cj__refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                          "a stream joined the capture, and nothing waits for its work");
    finish(capture);
    if (code && !is_given) cj__graph_destroy(graph);
    if (code) return code;
    graph->base.call = is_given ? graph->base.call : cj__thread.call;
    *result = graph;
    return CUDA_SUCCESS;
}

// ---- what the next node comes after

CUresult cj__capture_change(cj_stream_object *stream, const CUgraphNode *after, size_t count, unsigned flags) {
    if (!stream->capture) return cj__refuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
    if (count && !after) return cj__refuse_null("dependencies");
    for (size_t i = 0; i < count; i++) {
        const cj_node *node = cj__object_find(CJ_NODE, after[i]);
        if (!node) return cj__refuse_handle(CJ_NODE, after[i]);
        if (node->graph != stream->capture->graph)
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a node is of another graph than the capture's");
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return set_after(&stream->after, &stream->after_count, after, count);
    if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags);
    return merge_after(stream, after, count);
}
