// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "stream.h"

#include <stdlib.h>
#include <time.h>

static void release_stream(void *object) {
    cj_stream_object *stream = object;
    if (stream->capture) stream->leave(stream);
    free(stream->after);
    free(stream);
}

cj_stream_object *cj__stream_new(cj_context *context, unsigned flags, int priority) {
    cj_stream_object *made = cj__object_new(CJ_STREAM, sizeof *made, context, release_stream);
    if (!made) return NULL;
    made->flags = flags;
    made->priority = priority;
    return made;
}

CUresult cj__stream_of(CUstream given, cj_stream_object **stream) {
    const cj_context *context = cj__current();
    if (!given || given == CU_STREAM_LEGACY)
        *stream = context ? context->legacy : NULL;
    else if (given == CU_STREAM_PER_THREAD)
        *stream = context ? context->per_thread : NULL;
    else
        *stream = cj__object_find(CJ_STREAM, given);
    if (!*stream) return cj__refuse_handle(CJ_STREAM, given);
    return (*stream)->base.owner->fault;
}

void cj__event_record(cj_event *event) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    event->recorded = true;
    event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}
