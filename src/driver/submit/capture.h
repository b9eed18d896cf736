// SPDX-License-Identifier: Apache-2.0
// Captures: the work of some streams becomes a graph's nodes. A stream that waits for an event of a capture joins it; all
// that joined must be waited for by the first stream before it ends the capture.
#ifndef CJ_DRIVER_CAPTURE_H
#define CJ_DRIVER_CAPTURE_H

#include "graph.h"

typedef struct cj_capture {
    struct cj_capture  *next;
    uint64_t            id;
    cj_graph           *graph;
    cj_stream_object   *origin;
    CUstreamCaptureMode mode;
    pthread_t           thread;
    size_t              first;  // nodes that the graph had before
    bool                given;  // the graph is the program's (cuStreamBeginCaptureToGraph)
    bool                invalid;
} cj_capture;

// Begins a capture, into a graph of the program's or (NULL) a new one; ends it.
CUresult cj__capture_begin(cj_stream_object *stream, cj_graph *graph, const CUgraphNode *after, size_t count,
                           CUstreamCaptureMode mode);
CUresult cj__capture_end(cj_stream_object *stream, cj_graph **graph);

// Sets what the stream's next node comes after, or adds to it: the flags are CU_STREAM_ADD_CAPTURE_DEPENDENCIES, …
CUresult cj__capture_change(cj_stream_object *stream, const CUgraphNode *after, size_t count, unsigned flags);

// Puts work into the stream's capture.
CUresult cj__capture_add(cj_stream_object *stream, const cj_work *work);

// Refuses work on the legacy stream while a stream that it would wait for is captured.
CUresult cj__capture_implicit(const cj_stream_object *stream);

// Allocates memory in a node of the capture.
CUresult cj__capture_allocate(cj_stream_object *stream, size_t bytes, CUdeviceptr *address);

// An event of this capture that is recorded, or waited for.
CUresult cj__capture_record(cj_stream_object *stream, cj_event *event);
CUresult cj__capture_wait(cj_stream_object *stream, cj_event *event);

// The capture in which the event was recorded last, if it has not ended.
cj_capture *cj__capture_of_event(const cj_event *event);

// Refuses calls that a capture in this thread, or in a global mode, does not allow.
CUresult cj__capture_unsafe(void);

// Refuses what a capture does not allow on this stream (NULL: what waits for all of the context's work).
CUresult cj__capture_forbids(cj_stream_object *stream);

#endif
