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

// The stream ends; a capture that began on it does not outlive it, one that it joined does.
void cj__capture_leave(cj_stream_object *stream);

#endif
