// SPDX-License-Identifier: Apache-2.0
// Gives work to a stream: it runs at once, or becomes a node while the stream is captured.
#ifndef CJ_DRIVER_SUBMIT_H
#define CJ_DRIVER_SUBMIT_H

#include "graph.h"

CUresult cj__submit(CUstream given, cj_work *work);

// Records an event on a stream, or makes the stream wait for it. In a capture both say what the next nodes come after,
// unless `external`: then they are nodes themselves.
CUresult cj__submit_record(CUstream given, cj_event *event, bool external);
CUresult cj__submit_wait(CUstream given, cj_event *event, bool external);

// Runs a graph; in a capture it becomes the child of a node.
CUresult cj__submit_graph(CUstream given, cj_exec *exec);

#endif
