// SPDX-License-Identifier: Apache-2.0
// Streams and events, which are the driver's, and capture.
#include "runtime.h"

_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUlaunchAttributeValue),
               "a stream's attributes are the driver's");
_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "edges are the driver's");

// ---- streams

PASS(cudaStreamCreate, (cudaStream_t * stream), cuStreamCreate(stream, CU_STREAM_DEFAULT))
PASS(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), cuStreamCreate(stream, flags))
PASS(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
     cuStreamCreateWithPriority(stream, flags, priority))
PASS(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy(stream))
PASS_STREAM(cudaStreamGetPriority, (cudaStream_t stream, int *priority), cuStreamGetPriority(stream, priority))
PASS_STREAM(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags), cuStreamGetFlags(stream, flags))
PASS_STREAM(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), cuStreamGetId(stream, id))
PASS_STREAM(cudaStreamGetDevice, (cudaStream_t stream, int *device), cuStreamGetDevice(stream, device))
PASS_STREAM(cudaStreamSynchronize, (cudaStream_t stream), cuStreamSynchronize(stream))
PASS_STREAM(cudaStreamQuery, (cudaStream_t stream), cuStreamQuery(stream))
PASS_STREAM(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
            cuStreamWaitEvent(stream, event, flags))
PASS_STREAM(cudaStreamAttachMemAsync, (cudaStream_t stream, void *memory, size_t bytes, unsigned flags),
            cuStreamAttachMemAsync(stream, cj__address(memory), bytes, flags))
PASS_STREAM(cudaStreamGetAttribute,
            (cudaStream_t stream, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value),
            cuStreamGetAttribute(stream, (CUstreamAttrID)attribute, (CUstreamAttrValue *)(void *)value))
PASS_STREAM(cudaStreamSetAttribute,
            (cudaStream_t stream, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value),
            cuStreamSetAttribute(stream, (CUstreamAttrID)attribute, (const CUstreamAttrValue *)(const void *)value))
PASS(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), cuStreamCopyAttributes(to, from))
PASS(cudaStreamCopyAttributes_ptsz, (cudaStream_t to, cudaStream_t from),
     cuStreamCopyAttributes(cj__own_stream(to), cj__own_stream(from)))
PASS(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), cuCtxGetStreamPriorityRange(least, greatest))

// A callback's status is cudaSuccess, or what failed on the stream before. The driver's results have the runtime's numbers.
_Static_assert(sizeof(cudaError_t) == sizeof(CUresult), "a callback gets the driver's result as the runtime's");
PASS_STREAM(cudaStreamAddCallback, (cudaStream_t stream, cudaStreamCallback_t callback, void *user, unsigned flags),
            cuStreamAddCallback(stream, (CUstreamCallback)callback, user, flags))

// ---- capture

PASS_STREAM(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
            cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode))
PASS_STREAM(cudaStreamBeginCaptureToGraph,
            (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges,
             size_t count, enum cudaStreamCaptureMode mode),
            cuStreamBeginCaptureToGraph(stream, graph, nodes, (const CUgraphEdgeData *)(const void *)edges, count,
                                        (CUstreamCaptureMode)mode))
PASS_STREAM(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), cuStreamEndCapture(stream, graph))
PASS_STREAM(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
            cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status))
PASS_STREAM(cudaStreamGetCaptureInfo,
            (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
             const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges, size_t *count),
            cuStreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph, nodes,
                                   (const CUgraphEdgeData **)(void *)edges, count))
PASS_STREAM(cudaStreamUpdateCaptureDependencies,
            (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges, size_t count, unsigned flags),
            cuStreamUpdateCaptureDependencies(stream, nodes, (const CUgraphEdgeData *)(const void *)edges, count,
                                              flags))
PASS(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
     cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode))

// ---- events

PASS(cudaEventCreate, (cudaEvent_t * event), cuEventCreate(event, CU_EVENT_DEFAULT))
PASS(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), cuEventCreate(event, flags))
PASS(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy(event))
PASS(cudaEventQuery, (cudaEvent_t event), cuEventQuery(event))
PASS(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize(event))
PASS(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
     cuEventElapsedTime(milliseconds, start, end))
PASS_STREAM(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), cuEventRecord(event, stream))
PASS_STREAM(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
            cuEventRecordWithFlags(event, stream, flags))
