// SPDX-License-Identifier: Apache-2.0
// The fake driver's streams, events and graphs, and what it records of a launch.
#include <string.h>

#include "fake_parts.h"

// An event: how many launches there were when it was recorded, and on which stream.
typedef struct fake_event {
    int      launches;
    CUstream stream;
} fake_event;

// Streams that wait for the one that captures, so that it captures theirs; each must be waited for before the capture ends.
enum { JOINED_MAX = 8 };
static struct {
    CUstream stream;
    bool     open;
} joined[JOINED_MAX];

CUresult fake_CtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER_CONTEXT(CtxGetStreamPriorityRange);
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}

static CUresult make_stream(CUstream *handle, unsigned flags) {
    (void)flags;
    *handle = fake_block_make(sizeof(capture));
    if (!*handle) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_streams, 1);
    return CUDA_SUCCESS;
}

CUresult fake_StreamCreate(CUstream *handle, unsigned flags) {
    ENTER_CONTEXT(StreamCreate);
    return make_stream(handle, flags);
}

CUresult fake_StreamDestroy(CUstream handle) {
    ENTER_CONTEXT(StreamDestroy);
    if (fake_capturing == (capture *)(void *)handle) fake_capturing = NULL;
    fake_block_free(handle);
    COUNT(alive_streams, -1);
    return CUDA_SUCCESS;
}

// Waiting for a stream that captures ends the capture with an error.
CUresult fake_StreamSynchronize(CUstream handle) {
    ENTER_CONTEXT(StreamSynchronize);
    if (!fake_capturing || (handle && fake_capturing != (capture *)(void *)handle)) return CUDA_SUCCESS;
    fake_capturing->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult fake_StreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
    (void)mode;
    ENTER_CONTEXT(StreamBeginCapture);
    if (!handle || fake_capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    fake_capturing = (capture *)(void *)handle;
    *fake_capturing = (capture){.thread = pthread_self()};
    memset(joined, 0, sizeof joined);
    return CUDA_SUCCESS;
}

static int find_joined(CUstream stream) {
    int i = 0;
    while (i < JOINED_MAX && (joined[i].stream != stream || !stream)) i++;
    return i;
}

static bool is_captured(CUstream stream) {
    return fake_capturing && stream && (fake_capturing == (capture *)(void *)stream || find_joined(stream) < JOINED_MAX);
}

CUresult fake_StreamWaitEvent(CUstream stream, CUevent given, unsigned flags) {
    ENTER_CONTEXT(StreamWaitEvent);
    const fake_event *of = (const fake_event *)(const void *)given;
    if (!of || flags) return CUDA_ERROR_INVALID_VALUE;
    if (!is_captured(of->stream)) return is_captured(stream) ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_SUCCESS;
    if (find_joined(of->stream) < JOINED_MAX) joined[find_joined(of->stream)].open = false;
    if (fake_capturing == (capture *)(void *)stream || !stream) return CUDA_SUCCESS;
    int at = find_joined(stream);
    for (int i = 0; at == JOINED_MAX && i < JOINED_MAX; i++)
        if (!joined[i].stream) at = i;
    if (at == JOINED_MAX) return CUDA_ERROR_OUT_OF_MEMORY;
    joined[at].stream = stream, joined[at].open = true;
    return CUDA_SUCCESS;
}

CUresult fake_StreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
    (void)priority;
    ENTER_CONTEXT(StreamCreateWithPriority);
    return make_stream(handle, flags);
}

typedef struct graph {
    int launches;
} graph;

static CUresult make_graph(void **handle, int launches) {
    graph *made = fake_block_make(sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->launches = launches;
    *handle = made;
    COUNT(alive_graphs, 1);
    return CUDA_SUCCESS;
}

CUresult fake_StreamEndCapture(CUstream handle, CUgraph *made) {
    capture *from = (capture *)(void *)handle;
    ENTER_CONTEXT(StreamEndCapture);
    if (!from || fake_capturing != from) return CUDA_ERROR_ILLEGAL_STATE;
    fake_capturing = NULL;
    if (from->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (int i = 0; i < JOINED_MAX; i++)
        if (joined[i].open) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    return make_graph((void **)made, from->launches);
}

CUresult fake_GraphInstantiateWithFlags(CUgraphExec *made, CUgraph from, unsigned long long flags) {
    ENTER_CONTEXT(GraphInstantiateWithFlags);
    if (!from || flags) return CUDA_ERROR_INVALID_VALUE;
    return make_graph((void **)made, ((graph *)(void *)from)->launches);
}

CUresult fake_GraphLaunch(CUgraphExec exec, CUstream handle) {
    (void)handle;
    ENTER_CONTEXT(GraphLaunch);
    COUNT(replays, 1);
    COUNT(launches, ((graph *)(void *)exec)->launches);
    return CUDA_SUCCESS;
}

CUresult fake_GraphExecDestroy(CUgraphExec exec) {
    ENTER_CONTEXT(GraphExecDestroy);
    fake_block_free(exec);
    COUNT(alive_graphs, -1);
    return CUDA_SUCCESS;
}

CUresult fake_GraphDestroy(CUgraph gone) {
    ENTER_CONTEXT(GraphDestroy);
    fake_block_free(gone);
    COUNT(alive_graphs, -1);
    return CUDA_SUCCESS;
}

CUresult fake_EventCreate(CUevent *made, unsigned flags) {
    (void)flags;
    ENTER_CONTEXT(EventCreate);
    *made = fake_block_make(sizeof(fake_event));
    if (!*made) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_events, 1);
    return CUDA_SUCCESS;
}

CUresult fake_EventRecord(CUevent given, CUstream stream) {
    ENTER_CONTEXT(EventRecord);
    if (!given) return CUDA_ERROR_INVALID_HANDLE;
    *(fake_event *)(void *)given = (fake_event){cj_fake_driver.launches, stream};
    return CUDA_SUCCESS;
}

CUresult fake_EventSynchronize(CUevent event) {
    ENTER_UNCAPTURED(EventSynchronize);
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult fake_EventElapsedTime(float *milliseconds, CUevent start, CUevent stop) {
    ENTER_CONTEXT(EventElapsedTime);
    if (!start || !stop) return CUDA_ERROR_INVALID_HANDLE;
    const int launches = ((const fake_event *)(const void *)stop)->launches - ((const fake_event *)(const void *)start)->launches;
    *milliseconds = cj_fake_driver.launch_ms > 0 ? (float)(launches * cj_fake_driver.launch_ms) : 1.5f;
    return CUDA_SUCCESS;
}

// Stores the address in the map: the only field that tests read.
CUresult fake_TensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                   const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                   const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                   CUtensorMapFloatOOBfill fill) {
    (void)type, (void)rank, (void)dims, (void)strides, (void)box, (void)element_strides, (void)interleave;
    (void)swizzle, (void)l2, (void)fill;
    ENTER(TensorMapEncodeTiled);
    const uint64_t first = (uintptr_t)address;  // by memcpy: the driver asks for 64 bytes of alignment, the type for 128
    memset((void *)map, 0, sizeof *map);
    memcpy((void *)map, &first, sizeof first);
    return CUDA_SUCCESS;
}

CUresult fake_TensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                    const cuuint64_t *dims, const cuuint64_t *strides, const int *lower,
                                    const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                    const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                    CUtensorMapFloatOOBfill fill) {
    (void)type, (void)rank, (void)dims, (void)strides, (void)lower, (void)upper, (void)channels, (void)pixels;
    (void)element_strides, (void)interleave, (void)swizzle, (void)l2, (void)fill;
    ENTER(TensorMapEncodeIm2col);
    const uint64_t first = (uintptr_t)address;
    memset((void *)map, 0, sizeof *map);
    memcpy((void *)map, &first, sizeof first);
    return CUDA_SUCCESS;
}

CUresult fake_StreamQuery(CUstream stream) {
    (void)stream;
    ENTER_UNCAPTURED(StreamQuery);
    return cj_fake_driver.never_ready ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult fake_CtxSynchronize(void) {
    ENTER_UNCAPTURED(CtxSynchronize);
    return CUDA_SUCCESS;
}

CUresult fake_EventDestroy(CUevent event) {
    ENTER_CONTEXT(EventDestroy);
    COUNT(alive_events, -1);
    fake_block_free(event);
    return CUDA_SUCCESS;
}

// Records one attribute of a launch; false if it is unknown.
static bool record_attribute(const CUlaunchAttribute *from, cj_fake_launch *to) {
    const CUlaunchAttributeValue *value = &from->value;
    const cj_dim3                 extent = {value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    to->attributes++;
    switch ((int)from->id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        to->clustered = true;
        to->cluster = extent;
        return true;
    case 11: to->preferred_cluster = extent; return true;  // since CUDA 12.8
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        to->scheduling = (uint32_t)value->clusterSchedulingPolicyPreference;
        return true;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        to->programmatic = value->programmaticStreamSerializationAllowed != 0;
        return true;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: to->cooperative = value->cooperative != 0; return true;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: to->priority = value->priority; return true;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: to->sync_domain = (int)value->memSyncDomain; return true;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        to->sync_domain_map[0] = value->memSyncDomainMap.default_;
        to->sync_domain_map[1] = value->memSyncDomainMap.remote;
        return true;
    default: return false;
    }
}

// Whether a launch of a function of `context` may use the stream: a default stream is that of the current context.
static CUresult hold_stream(void *context, CUstream stream) {
    const bool is_default = !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
    if (!is_default || cj_fake_context_current() == context) return CUDA_SUCCESS;
    return cj_fake_context_current() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult fake_LaunchKernelEx(const CUlaunchConfig *config, CUfunction handle, void **arguments, void **extra) {
    ENTER(LaunchKernelEx);
    if (extra) return CUDA_ERROR_INVALID_VALUE;
    const function *of = (const function *)(const void *)handle;
    const CUresult  held = hold_stream(of->context, config->hStream);
    if (held) return held;
    cj_fake_launch record, *seen = &record;
    *seen = (cj_fake_launch){
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared = config->sharedMemBytes,
        .stream = config->hStream,
    };
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (!record_attribute(&config->attrs[i], seen)) return CUDA_ERROR_INVALID_VALUE;
    }
    if (arguments) memcpy(&seen->first_argument, arguments[0], sizeof seen->first_argument);

    pthread_mutex_lock(&fake_lock);
    cj_fake_driver.launch = record;
    pthread_mutex_unlock(&fake_lock);

    unsigned blocks = seen->cluster.x * seen->cluster.y * seen->cluster.z;
    int      shared = of->large_shared ? of->large_shared : DEFAULT_SHARED;
    if (blocks > 8 && !of->nonportable) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if ((int)config->sharedMemBytes > shared) return CUDA_ERROR_INVALID_VALUE;
    if (find_joined(config->hStream) < JOINED_MAX) joined[find_joined(config->hStream)].open = true;
    if (is_captured(config->hStream))
        fake_capturing->launches++;
    else
        COUNT(launches, 1);
    return CUDA_SUCCESS;
}
