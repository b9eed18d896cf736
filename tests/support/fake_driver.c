// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // MAP_ANONYMOUS
#include "fake_driver.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

typedef struct function {
    char name[64];
    int  large_shared;  // bytes of dynamic shared memory opted into
    bool nonportable;
    void *context;
} function;

typedef struct module {
    void    *context;
    function functions[4];
    size_t   count;
    char     ptx[];
} module;

enum { GPU_COUNT_MAX = 4, STACK_MAX = 8, DEFAULT_SHARED = 48 * 1024, LARGEST_SHARED = 227 * 1024 };

enum symbol {
#define CJ_X(name, version, need) SYMBOL_##name,
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
    SYMBOL_COUNT
};

static const struct {
    const char *name;
    bool        optional;
} symbols[] = {
#define OPTIONAL true
#define NEEDED false
#define CJ_X(name, version, need) {"cu" #name, need},
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
#undef OPTIONAL
#undef NEEDED
};

cj_fake         cj_fake_driver;
static unsigned calls[SYMBOL_COUNT];
static bool     initialized;
static _Thread_local void  *stack[STACK_MAX];  // of current contexts
static _Thread_local size_t depth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of the record of the last launch, and of the blocks
static int      primary[GPU_COUNT_MAX];  // their addresses are the primary contexts, their values the retain counts

void cj_fake_fail_times(const char *call, unsigned from, unsigned to, int code) {
    cj_fake_driver.failing = call;
    cj_fake_driver.from = from;
    cj_fake_driver.to = to;
    cj_fake_driver.code = code;
}

void cj_fake_fail(const char *call, int code) { cj_fake_fail_times(call, 1, UINT_MAX, code); }

// A stream that the fake has made. Handles that a test invents are streams, too, which cannot capture.
typedef struct capture {
    bool broken;
    int  launches;
} capture;

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

static capture *capturing;  // the captured launches of the only stream that captures; the stream's handle points to it

// All allocations of the fake, in a list, so that a reset can free what a test did not release. Data begin at multiples of
// 256 bytes, as cuMemAlloc's do.
enum { BLOCK_ALIGNMENT = 256 };
typedef struct block {
    _Alignas(BLOCK_ALIGNMENT) struct block *next;
    struct block *previous;
} block;

static block block_list = {&block_list, &block_list};

// Memory of all processes that are forked after it was made: what cuMemAlloc gives from then on, and nothing gives back.
enum { ARENA_BYTES = 64 << 20 };
static uint64_t *arena;  // its first word: bytes that are in use

void cj_fake_share(void) {
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED) abort();
    *arena = BLOCK_ALIGNMENT;
}

// This process's allocations of it, for cuMemGetAddressRange; the first ones, if there are many.
enum { ARENA_KNOWN = 64 };
static struct {
    uintptr_t begin;
    size_t    bytes;
} known[ARENA_KNOWN];
static int known_count;

static void *arena_made(void *made, size_t bytes) {
    pthread_mutex_lock(&lock);
    if (made && known_count < ARENA_KNOWN) {
        known[known_count].begin = (uintptr_t)made;
        known[known_count++].bytes = bytes;
    }
    pthread_mutex_unlock(&lock);
    return made;
}

static void *arena_make(size_t bytes) {
    const size_t   room = (bytes + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
    const uint64_t at = __atomic_fetch_add(arena, room, __ATOMIC_RELAXED);
    return arena_made(at + room > ARENA_BYTES ? NULL : (char *)arena + at, bytes);
}

// Zeroed; NULL when out of memory.
static void *block_make(size_t bytes) {
    const size_t room = bytes > SIZE_MAX - 2 * sizeof(block)
                            ? 0
                            : (bytes + 2 * sizeof(block) - 1) / sizeof(block) * sizeof(block);
    block       *made = room ? aligned_alloc(BLOCK_ALIGNMENT, room) : NULL;
    if (!made) return NULL;
    memset(made, 0, room);
    pthread_mutex_lock(&lock);
    *made = (block){block_list.next, &block_list};
    made->next->previous = block_list.next = made;
    pthread_mutex_unlock(&lock);
    return made + 1;
}

static void block_free(void *data) {
    if (!data) return;
    block *gone = (block *)data - 1;
    pthread_mutex_lock(&lock);
    gone->next->previous = gone->previous;
    gone->previous->next = gone->next;
    pthread_mutex_unlock(&lock);
    free(gone);
}

// Adds to one of the fake's counts, from any thread.
#define COUNT(field, change) __atomic_add_fetch(&cj_fake_driver.field, (change), __ATOMIC_RELAXED)

void cj_fake_reset(void) {
    while (block_list.next != &block_list) block_free(block_list.next + 1);
    capturing = NULL;
    cj_fake_driver = (cj_fake){.version = 13000, .gpu_count = 2, .compute_capability = 90, .largest_cluster = 16,
                                .active_clusters = 30, .blocks_per_sm = 2};
    memset(calls, 0, sizeof calls);
    memset(primary, 0, sizeof primary);
    initialized = false;
    depth = 0;
}

static char log_text[1024];
static bool logging;

void cj_fake_log_start(void) {
    log_text[0] = '\0';
    logging = true;
}

const char *cj_fake_log_end(void) {
    logging = false;
    return log_text;
}

static void log_call(const char *name) {
    const size_t length = strlen(log_text);
    if (logging) snprintf(log_text + length, sizeof log_text - length, "%s%s", length ? " " : "", name);
}

unsigned cj_fake_calls(const char *symbol) {
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        if (!strcmp(symbol, symbols[i].name)) return calls[i];
    }
    return 0;
}

const char *cj_fake_symbol(size_t i, bool *optional) {
    if (i >= SYMBOL_COUNT) return NULL;
    *optional = symbols[i].optional;
    return symbols[i].name;
}

void *cj_fake_context_create(void) {
    COUNT(alive_contexts, 1);
    return calloc(1, sizeof(int));
}

void cj_fake_context_destroy(void *context) {
    COUNT(alive_contexts, -1);
    free(context);
}

void *cj_fake_context_current(void) { return depth ? stack[depth - 1] : NULL; }

void cj_fake_context_set(void *context) {
    depth = context != NULL;
    stack[0] = context;
}

// Counts the call; returns the failure that the test asked for, if it is due.
static CUresult enter(enum symbol symbol) {
    unsigned count = __atomic_add_fetch(&calls[symbol], 1, __ATOMIC_RELAXED);
    if (logging) log_call(symbols[symbol].name);
    bool     fails = cj_fake_driver.failing && !strcmp(cj_fake_driver.failing, symbols[symbol].name);
    return fails && count >= cj_fake_driver.from && count <= cj_fake_driver.to ? (CUresult)cj_fake_driver.code
                                                                               : CUDA_SUCCESS;
}

#define ENTER(name)                              \
    do {                                         \
        CUresult failure = enter(SYMBOL_##name); \
        if (failure) return failure;             \
    } while (0)

// For calls that need a current context.
#define ENTER_CONTEXT(name)                                                \
    do {                                                                   \
        ENTER(name);                                                       \
        if (!cj_fake_context_current()) return CUDA_ERROR_INVALID_CONTEXT; \
    } while (0)

#define ENTER_DEVICE(name, device)                                                                  \
    do {                                                                                            \
        ENTER(name);                                                                                \
        if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;                                        \
        if ((device) < 0 || (device) >= cj_fake_driver.gpu_count) return CUDA_ERROR_INVALID_DEVICE; \
    } while (0)

// --- errors and devices ---

static CUresult fake_DriverGetVersion(int *version) {
    ENTER(DriverGetVersion);
    *version = cj_fake_driver.version;
    return CUDA_SUCCESS;
}

static CUresult fake_GetErrorName(CUresult result, const char **name) {
    static char text[64];
    ENTER(GetErrorName);
    snprintf(text, sizeof text, "FAKE_ERROR_%d", (int)result);
    *name = cj_fake_driver.nameless ? NULL : text;
    return CUDA_SUCCESS;
}

static CUresult fake_GetErrorString(CUresult result, const char **words) {
    (void)result;
    ENTER(GetErrorString);
    *words = cj_fake_driver.nameless ? NULL : "the fake driver was told to";
    return CUDA_SUCCESS;
}

static CUresult fake_Init(unsigned flags) {
    (void)flags;
    ENTER(Init);
    initialized = true;
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGetCount(int *count) {
    ENTER(DeviceGetCount);
    *count = cj_fake_driver.gpu_count;
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGet(CUdevice *device, int ordinal) {
    ENTER_DEVICE(DeviceGet, ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGetName(char *name, int size, CUdevice device) {
    ENTER_DEVICE(DeviceGetName, device);
    snprintf(name, (size_t)size, "Fake H200 %d", device);
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceTotalMem(size_t *bytes, CUdevice device) {
    ENTER_DEVICE(DeviceTotalMem, device);
    *bytes = (size_t)140 << 30;
    return CUDA_SUCCESS;
}

static CUresult fake_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    static const struct {
        CUdevice_attribute attribute;
        int                value;
    } h200[] = {
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, DEFAULT_SHARED},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, LARGEST_SHARED},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 228 * 1024},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 60 << 20},
        {CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 4},
    };
    ENTER_DEVICE(DeviceGetAttribute, device);
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = cj_fake_driver.compute_capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = cj_fake_driver.compute_capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: *value = cj_fake_driver.compute_capability >= 90; break;
    default:
        for (size_t i = 0; i < sizeof h200 / sizeof h200[0]; i++) {
            if (h200[i].attribute != attribute) continue;
            *value = h200[i].value;
            return CUDA_SUCCESS;
        }
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

// --- contexts ---

static CUresult fake_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER_DEVICE(DevicePrimaryCtxRetain, device);
    primary[device]++;
    COUNT(alive_contexts, 1);
    *context = (CUcontext)(void *)&primary[device];
    return CUDA_SUCCESS;
}

static CUresult fake_DevicePrimaryCtxRelease(CUdevice device) {
    ENTER_DEVICE(DevicePrimaryCtxRelease, device);
    if (!primary[device]) return CUDA_ERROR_INVALID_CONTEXT;
    primary[device]--;
    COUNT(alive_contexts, -1);
    return CUDA_SUCCESS;
}

static CUresult fake_CtxGetCurrent(CUcontext *context) {
    ENTER(CtxGetCurrent);
    *context = cj_fake_context_current();
    return CUDA_SUCCESS;
}

static CUresult fake_CtxPushCurrent(CUcontext context) {
    ENTER(CtxPushCurrent);
    if (!context || depth == STACK_MAX) return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult fake_CtxPopCurrent(CUcontext *context) {
    ENTER(CtxPopCurrent);
    if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack[--depth];
    return CUDA_SUCCESS;
}

// A context that the caller made belongs to the last GPU.
static CUresult fake_CtxGetDevice(CUdevice *device) {
    ENTER_CONTEXT(CtxGetDevice);
    *device = cj_fake_driver.gpu_count - 1;
    for (int i = 0; i < GPU_COUNT_MAX; i++) {
        if (cj_fake_context_current() == &primary[i]) *device = i;
    }
    return CUDA_SUCCESS;
}

// --- memory and streams ---

static CUresult fake_MemAlloc(CUdeviceptr *memory, size_t bytes) {
    ENTER_CONTEXT(MemAlloc);
    void *made = arena ? arena_make(bytes) : block_make(bytes);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_memory, 1);
    *memory = (CUdeviceptr)(uintptr_t)made;
    return CUDA_SUCCESS;
}

static CUresult fake_MemFree(CUdeviceptr memory) {
    ENTER_CONTEXT(MemFree);
    COUNT(alive_memory, -1);
    if (!arena) block_free((void *)(uintptr_t)memory);
    return CUDA_SUCCESS;
}

static CUresult fake_MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(MemcpyHtoDAsync);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_MemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(MemcpyDtoHAsync);
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_MemsetD8Async(CUdeviceptr to, unsigned char byte, size_t bytes, CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(MemsetD8Async);
    memset((void *)(uintptr_t)to, byte, bytes);
    return CUDA_SUCCESS;
}

static CUresult fake_CtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER_CONTEXT(CtxGetStreamPriorityRange);
    *least = 0;
    *greatest = -5;
    return CUDA_SUCCESS;
}

static CUresult make_stream(CUstream *handle, unsigned flags) {
    (void)flags;
    *handle = block_make(sizeof(capture));
    if (!*handle) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_streams, 1);
    return CUDA_SUCCESS;
}

static CUresult fake_StreamCreate(CUstream *handle, unsigned flags) {
    ENTER_CONTEXT(StreamCreate);
    return make_stream(handle, flags);
}

static CUresult fake_StreamDestroy(CUstream handle) {
    ENTER_CONTEXT(StreamDestroy);
    if (capturing == (capture *)(void *)handle) capturing = NULL;
    block_free(handle);
    COUNT(alive_streams, -1);
    return CUDA_SUCCESS;
}

// Waiting for a stream that captures ends the capture with an error.
static CUresult fake_StreamSynchronize(CUstream handle) {
    ENTER_CONTEXT(StreamSynchronize);
    if (!capturing || (handle && capturing != (capture *)(void *)handle)) return CUDA_SUCCESS;
    capturing->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult fake_StreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
    (void)mode;
    ENTER_CONTEXT(StreamBeginCapture);
    if (!handle || capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    capturing = (capture *)(void *)handle;
    *capturing = (capture){0};
    memset(joined, 0, sizeof joined);
    return CUDA_SUCCESS;
}

static int find_joined(CUstream stream) {
    int i = 0;
    while (i < JOINED_MAX && (joined[i].stream != stream || !stream)) i++;
    return i;
}

static bool is_captured(CUstream stream) {
    return capturing && stream && (capturing == (capture *)(void *)stream || find_joined(stream) < JOINED_MAX);
}

static CUresult fake_StreamWaitEvent(CUstream stream, CUevent given, unsigned flags) {
    ENTER_CONTEXT(StreamWaitEvent);
    const fake_event *of = (const fake_event *)(const void *)given;
    if (!of || flags) return CUDA_ERROR_INVALID_VALUE;
    if (!is_captured(of->stream)) return is_captured(stream) ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_SUCCESS;
    if (find_joined(of->stream) < JOINED_MAX) joined[find_joined(of->stream)].open = false;
    if (capturing == (capture *)(void *)stream || !stream) return CUDA_SUCCESS;
    int at = find_joined(stream);
    for (int i = 0; at == JOINED_MAX && i < JOINED_MAX; i++)
        if (!joined[i].stream) at = i;
    if (at == JOINED_MAX) return CUDA_ERROR_OUT_OF_MEMORY;
    joined[at].stream = stream, joined[at].open = true;
    return CUDA_SUCCESS;
}

static CUresult fake_StreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
    (void)priority;
    ENTER_CONTEXT(StreamCreateWithPriority);
    return make_stream(handle, flags);
}

typedef struct graph {
    int launches;
} graph;

static CUresult make_graph(void **handle, int launches) {
    graph *made = block_make(sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    made->launches = launches;
    *handle = made;
    COUNT(alive_graphs, 1);
    return CUDA_SUCCESS;
}

static CUresult fake_StreamEndCapture(CUstream handle, CUgraph *made) {
    capture *from = (capture *)(void *)handle;
    ENTER_CONTEXT(StreamEndCapture);
    if (!from || capturing != from) return CUDA_ERROR_ILLEGAL_STATE;
    capturing = NULL;
    if (from->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    for (int i = 0; i < JOINED_MAX; i++)
        if (joined[i].open) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    return make_graph((void **)made, from->launches);
}

static CUresult fake_GraphInstantiateWithFlags(CUgraphExec *made, CUgraph from, unsigned long long flags) {
    ENTER_CONTEXT(GraphInstantiateWithFlags);
    if (!from || flags) return CUDA_ERROR_INVALID_VALUE;
    return make_graph((void **)made, ((graph *)(void *)from)->launches);
}

static CUresult fake_GraphLaunch(CUgraphExec exec, CUstream handle) {
    (void)handle;
    ENTER_CONTEXT(GraphLaunch);
    COUNT(replays, 1);
    COUNT(launches, ((graph *)(void *)exec)->launches);
    return CUDA_SUCCESS;
}

static CUresult fake_GraphExecDestroy(CUgraphExec exec) {
    ENTER_CONTEXT(GraphExecDestroy);
    block_free(exec);
    COUNT(alive_graphs, -1);
    return CUDA_SUCCESS;
}

static CUresult fake_GraphDestroy(CUgraph gone) {
    ENTER_CONTEXT(GraphDestroy);
    block_free(gone);
    COUNT(alive_graphs, -1);
    return CUDA_SUCCESS;
}

static CUresult fake_EventCreate(CUevent *made, unsigned flags) {
    (void)flags;
    ENTER_CONTEXT(EventCreate);
    *made = block_make(sizeof(fake_event));
    if (!*made) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_events, 1);
    return CUDA_SUCCESS;
}

static CUresult fake_EventRecord(CUevent given, CUstream stream) {
    ENTER_CONTEXT(EventRecord);
    if (!given) return CUDA_ERROR_INVALID_HANDLE;
    *(fake_event *)(void *)given = (fake_event){cj_fake_driver.launches, stream};
    return CUDA_SUCCESS;
}

static CUresult fake_EventSynchronize(CUevent event) {
    ENTER_CONTEXT(EventSynchronize);
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_EventElapsedTime(float *milliseconds, CUevent start, CUevent stop) {
    ENTER_CONTEXT(EventElapsedTime);
    if (!start || !stop) return CUDA_ERROR_INVALID_HANDLE;
    const int launches = ((const fake_event *)(const void *)stop)->launches - ((const fake_event *)(const void *)start)->launches;
    *milliseconds = cj_fake_driver.launch_ms > 0 ? (float)(launches * cj_fake_driver.launch_ms) : 1.5f;
    return CUDA_SUCCESS;
}

// Stores the address in the map: the only field that tests read.
static CUresult fake_TensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
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

static CUresult fake_TensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
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

static CUresult fake_DeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    (void)device, (void)peer;
    ENTER(DeviceCanAccessPeer);
    *can = !cj_fake_driver.peerless;
    return CUDA_SUCCESS;
}

static CUresult fake_CtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    (void)peer, (void)flags;
    ENTER_CONTEXT(CtxEnablePeerAccess);
    return CUDA_SUCCESS;
}

// What a handle of the fake says: of memory of the arena, its place there; else a process that may not open it itself.
typedef struct ipc_handle {
    uint64_t magic, at;
    int64_t  process;
} ipc_handle;

enum { IPC_MAGIC = 0x66616b65 };

static CUresult fake_IpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr memory) {
    ENTER_CONTEXT(IpcGetMemHandle);
    if (!memory) return CUDA_ERROR_INVALID_VALUE;
    const ipc_handle made = {IPC_MAGIC, memory, getpid()};
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &made, sizeof made);
    return CUDA_SUCCESS;
}

// As the driver, it does not open what this process has made.
static CUresult fake_IpcOpenMemHandle(CUdeviceptr *memory, CUipcMemHandle handle, unsigned flags) {
    ENTER_CONTEXT(IpcOpenMemHandle);
    ipc_handle given;
    memcpy(&given, &handle, sizeof given);
    if (given.magic != IPC_MAGIC || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    if (given.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    if (cj_fake_driver.peerless) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    COUNT(alive_opened, 1);
    *memory = given.at;
    return CUDA_SUCCESS;
}

static CUresult fake_IpcCloseMemHandle(CUdeviceptr memory) {
    ENTER_CONTEXT(IpcCloseMemHandle);
    if (!memory) return CUDA_ERROR_INVALID_VALUE;
    COUNT(alive_opened, -1);
    return CUDA_SUCCESS;
}

static CUresult fake_StreamQuery(CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(StreamQuery);
    return cj_fake_driver.never_ready ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult fake_CtxSynchronize(void) {
    ENTER_CONTEXT(CtxSynchronize);
    return CUDA_SUCCESS;
}

// Blocks of the list do not know their size: each address is an allocation of its own, as large as a test says.
static CUresult fake_MemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr memory) {
    ENTER_CONTEXT(MemGetAddressRange);
    *base = memory;
    *size = cj_fake_driver.range_bytes ? cj_fake_driver.range_bytes : (size_t)1 << 40;
    for (int i = 0; i < known_count; i++)
        if (memory - known[i].begin < known[i].bytes) *base = known[i].begin, *size = known[i].bytes;
    return CUDA_SUCCESS;
}

static CUresult fake_PointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr memory) {
    ENTER_CONTEXT(PointerGetAttribute);
    if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL || !memory) return CUDA_ERROR_INVALID_VALUE;
    int place = cj_fake_driver.gpu_count - 1;
    for (int i = 0; i < GPU_COUNT_MAX; i++)
        if (cj_fake_context_current() == &primary[i]) place = i;
    *(int *)data = cj_fake_driver.other_place ? cj_fake_driver.other_place : place;
    return CUDA_SUCCESS;
}

static CUresult fake_EventDestroy(CUevent event) {
    ENTER_CONTEXT(EventDestroy);
    COUNT(alive_events, -1);
    block_free(event);
    return CUDA_SUCCESS;
}

// --- modules ---

static void write_log(const char *text, unsigned count, const CUjit_option *option, void **value) {
    char  *buffer = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = (size_t)(uintptr_t)value[i];
    }
    if (buffer && size) snprintf(buffer, size, "%s", text);
}

// The image that the fake's linker makes from a text, and that its loader accepts: this, the text and its NUL.
typedef struct image {
    char     magic[8];
    uint64_t length, sum;
} image;

static const char magic[8] = "FAKEBIN";

static uint64_t sum_of(const char *text, uint64_t length) {
    uint64_t sum = 14695981039346656037u;
    for (uint64_t i = 0; i < length; i++) sum = (sum ^ (unsigned char)text[i]) * 1099511628211u;
    return sum;
}

// The text of an image or of PTX; NULL if it is damaged.
static const char *text_of(const char *from) {
    image head;
    if (*from == '.' || *from == '/') return from;
    if (memcmp(from, magic, sizeof magic)) return NULL;
    memcpy(&head, from, sizeof head);
    const char *text = from + sizeof head;
    return head.length < 1 << 20 && !text[head.length] && sum_of(text, head.length) == head.sum ? text : NULL;
}

static const char jit_log[] = "ptxas application ptx input, line 7; error   : the fake driver's log\n";

static CUresult fake_ModuleLoadDataEx(CUmodule *handle, const void *from, unsigned count, CUjit_option *option,
                                      void **value) {
    CUresult failure = enter(SYMBOL_ModuleLoadDataEx);
    if (failure) {
        write_log(jit_log, count, option, value);
        return failure;
    }
    if (!cj_fake_context_current()) return CUDA_ERROR_INVALID_CONTEXT;
    const char *text = text_of(from);
    if (!text) {
        COUNT(damaged_images, 1);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (text == from) COUNT(compiles, 1);
    module *made = block_make(sizeof *made + strlen(text) + 1);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    strcpy(made->ptx, text);
    made->context = cj_fake_context_current();
    COUNT(alive_modules, 1);
    *handle = (CUmodule)(void *)made;
    return CUDA_SUCCESS;
}

typedef struct linker {
    char  *image;
    size_t bytes;
} linker;

static CUresult fake_LinkCreate(unsigned count, CUjit_option *option, void **value, CUlinkState *state) {
    CUresult failure = enter(SYMBOL_LinkCreate);
    if (failure) {
        write_log(jit_log, count, option, value);
        return failure;
    }
    if (!cj_fake_context_current()) return CUDA_ERROR_INVALID_CONTEXT;
    *state = block_make(sizeof(linker));
    if (!*state) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_links, 1);
    return CUDA_SUCCESS;
}

static CUresult fake_LinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                                 unsigned count, CUjit_option *option, void **value) {
    (void)name, (void)count, (void)option, (void)value;
    ENTER_CONTEXT(LinkAddData);
    linker     *into = (linker *)(void *)state;
    const char *text = data;
    if (type != CU_JIT_INPUT_PTX || into->image || text[size - 1]) return CUDA_ERROR_INVALID_VALUE;
    image head = {.length = size - 1, .sum = sum_of(text, size - 1)};
    memcpy(head.magic, magic, sizeof magic);
    into->bytes = sizeof head + size;
    into->image = block_make(into->bytes);
    if (!into->image) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(into->image, &head, sizeof head);
    memcpy(into->image + sizeof head, text, size);
    return CUDA_SUCCESS;
}

static CUresult fake_LinkComplete(CUlinkState state, void **made, size_t *bytes) {
    ENTER_CONTEXT(LinkComplete);
    const linker *of = (const linker *)(const void *)state;
    if (!of->image) return CUDA_ERROR_INVALID_VALUE;
    COUNT(compiles, 1);
    *made = of->image;
    *bytes = of->bytes;
    return CUDA_SUCCESS;
}

static CUresult fake_LinkDestroy(CUlinkState state) {
    ENTER_CONTEXT(LinkDestroy);
    linker *gone = (linker *)(void *)state;
    COUNT(alive_links, -1);
    block_free(gone->image);
    block_free(gone);
    return CUDA_SUCCESS;
}

static CUresult fake_ModuleUnload(CUmodule handle) {
    ENTER_CONTEXT(ModuleUnload);
    module *gone = (module *)(void *)handle;
    COUNT(alive_modules, -1);
    block_free(gone);
    return CUDA_SUCCESS;
}

static CUresult fake_ModuleGetFunction(CUfunction *handle, CUmodule from, const char *name) {
    ENTER_CONTEXT(ModuleGetFunction);
    module *in = (module *)(void *)from;
    if (!strstr(in->ptx, name) || in->count == sizeof in->functions / sizeof in->functions[0]) {
        return CUDA_ERROR_NOT_FOUND;
    }
    function *made = &in->functions[in->count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    made->context = in->context;
    *handle = (CUfunction)(void *)made;
    return CUDA_SUCCESS;
}

// A variable's memory is its name in the text.
static CUresult fake_ModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule from, const char *name) {
    ENTER_CONTEXT(ModuleGetGlobal);
    const char *at = strstr(((module *)(void *)from)->ptx, name);
    if (!at) return CUDA_ERROR_NOT_FOUND;
    *address = (CUdeviceptr)(uintptr_t)at;
    *bytes = strlen(name);
    return CUDA_SUCCESS;
}

static CUresult fake_FuncLoad(CUfunction handle) {
    ENTER_CONTEXT(FuncLoad);
    return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
    (void)handle;
    ENTER_CONTEXT(FuncGetAttribute);
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = 0; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult fake_FuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    ENTER_CONTEXT(FuncSetAttribute);
    function *of = (function *)(void *)handle;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        COUNT(nonportable_optins, 1);
        of->nonportable = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value > LARGEST_SHARED) return CUDA_ERROR_INVALID_VALUE;
        COUNT(shared_optins, 1);
        of->large_shared = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult fake_OccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config) {
    ENTER_CONTEXT(OccupancyMaxPotentialClusterSize);
    if (!handle || !config->blockDimX) return CUDA_ERROR_INVALID_VALUE;
    COUNT(cluster_questions, 1);
    *size = cj_fake_driver.largest_cluster;
    return CUDA_SUCCESS;
}

static CUresult fake_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                               size_t dynamic_shared) {
    ENTER_CONTEXT(OccupancyMaxActiveBlocksPerMultiprocessor);
    if (!handle || threads <= 0 || dynamic_shared > LARGEST_SHARED) return CUDA_ERROR_INVALID_VALUE;
    *blocks = cj_fake_driver.blocks_per_sm;
    return CUDA_SUCCESS;
}

static CUresult fake_OccupancyMaxActiveClusters(int *clusters, CUfunction handle, const CUlaunchConfig *config) {
    ENTER_CONTEXT(OccupancyMaxActiveClusters);
    if (!handle || config->numAttrs != 1 || config->attrs->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        return CUDA_ERROR_INVALID_VALUE;
    *clusters = cj_fake_driver.active_clusters;
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

static CUresult fake_LaunchKernelEx(const CUlaunchConfig *config, CUfunction handle, void **arguments, void **extra) {
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

    pthread_mutex_lock(&lock);
    cj_fake_driver.launch = record;
    pthread_mutex_unlock(&lock);

    unsigned blocks = seen->cluster.x * seen->cluster.y * seen->cluster.z;
    int      shared = of->large_shared ? of->large_shared : DEFAULT_SHARED;
    if (blocks > 8 && !of->nonportable) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if ((int)config->sharedMemBytes > shared) return CUDA_ERROR_INVALID_VALUE;
    if (find_joined(config->hStream) < JOINED_MAX) joined[find_joined(config->hStream)].open = true;
    if (is_captured(config->hStream))
        capturing->launches++;
    else
        COUNT(launches, 1);
    return CUDA_SUCCESS;
}

// Each symbol is assigned through its own typedef, so that the compiler checks every function against NVIDIA's
// signature.
cj_proc cj_fake_resolve(void *user, const char *symbol, int version) {
    (void)user;
    if (cj_fake_driver.missing && !strcmp(symbol, cj_fake_driver.missing)) return NULL;
    if (version > cj_fake_driver.version) return NULL;
#define CJ_X(name, symbol_version, need)                     \
    if (!strcmp(symbol, "cu" #name)) {                       \
        PFN_cu##name##_v##symbol_version proc = fake_##name; \
        return (cj_proc)proc;                                \
    }
    CJ_DRIVER_LIST(CJ_X)
#undef CJ_X
    return NULL;
}
