// SPDX-License-Identifier: Apache-2.0
// Streams and events. Work is done when its call returns, so an event is a time, and nothing ever waits. While a stream is
// captured its work becomes nodes of a graph instead (capture.c).
#ifndef CJ_DRIVER_STREAM_H
#define CJ_DRIVER_STREAM_H

#include "driver.h"

enum { CJ_PRIORITY_GREATEST = -5 };  // an H200's

struct cj_stream_object {
    cj_object          base;
    unsigned           flags;
    int                priority;
    bool               is_legacy;
    struct cj_capture *capture;                      // NULL: work runs
    void (*leave)(struct cj_stream_object *stream);  // in a capture: what it does when the stream ends
    CUgraphNode      *after;                         // in a capture: what the next node comes after
    size_t            after_count;
    CUstreamAttrValue attribute[CU_LAUNCH_ATTRIBUTE_MAX];
};

typedef struct cj_event {
    cj_object    base;
    unsigned     flags;
    bool         recorded;
    double       milliseconds;  // when it was recorded
    uint64_t     capture;       // id of the capture that it was recorded in last; 0: none
    CUgraphNode *after;         // in a capture: the nodes that it stands for
    size_t       after_count;
} cj_event;

cj_stream_object *cj__stream_new(cj_context *context, unsigned flags, int priority);  // NULL: no memory

// The stream of a handle, one of the current context's default streams included.
CUresult cj__stream_of(CUstream given, cj_stream_object **stream);

void cj__event_record(cj_event *event);

#endif
