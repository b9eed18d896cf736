// SPDX-License-Identifier: Apache-2.0
#include "fake_driver.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_parts.h"

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
bool            fake_initialized;
static _Thread_local void  *stack[STACK_MAX];  // of current contexts
static _Thread_local size_t depth;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static int      primary[GPU_COUNT_MAX];  // their addresses are the primary contexts, their values the retain counts

void cj_fake_fail_times(const char *call, unsigned from, unsigned to, int code) {
    cj_fake_driver.failing = call;
    cj_fake_driver.from = from;
    cj_fake_driver.to = to;
    cj_fake_driver.code = code;
}

void cj_fake_fail(const char *call, int code) { cj_fake_fail_times(call, 1, UINT_MAX, code); }

void cj_fake_reset(void) {
    fake_memory_reset();
    fake_stream_reset();
    cj_fake_driver = (cj_fake){.version = 13000, .gpu_count = 2, .compute_capability = 90, .largest_cluster = 16,
                                .active_clusters = 30, .blocks_per_sm = 2};
    memset(calls, 0, sizeof calls);
    memset(primary, 0, sizeof primary);
    fake_initialized = false;
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

CUresult fake_enter(enum symbol symbol) {
    unsigned count = __atomic_add_fetch(&calls[symbol], 1, __ATOMIC_RELAXED);
    if (logging) log_call(symbols[symbol].name);
    bool     fails = cj_fake_driver.failing && !strcmp(cj_fake_driver.failing, symbols[symbol].name);
    return fails && count >= cj_fake_driver.from && count <= cj_fake_driver.to ? (CUresult)cj_fake_driver.code
                                                                               : CUDA_SUCCESS;
}

// --- errors and devices ---

CUresult fake_DriverGetVersion(int *version) {
    ENTER(DriverGetVersion);
    *version = cj_fake_driver.version;
    return CUDA_SUCCESS;
}

CUresult fake_GetErrorName(CUresult result, const char **name) {
    static char text[64];
    ENTER(GetErrorName);
    snprintf(text, sizeof text, "FAKE_ERROR_%d", (int)result);
    *name = cj_fake_driver.nameless ? NULL : text;
    return CUDA_SUCCESS;
}

CUresult fake_GetErrorString(CUresult result, const char **words) {
    (void)result;
    ENTER(GetErrorString);
    *words = cj_fake_driver.nameless ? NULL : "the fake driver was told to";
    return CUDA_SUCCESS;
}

CUresult fake_Init(unsigned flags) {
    (void)flags;
    ENTER(Init);
    fake_initialized = true;
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGetCount(int *count) {
    ENTER(DeviceGetCount);
    *count = cj_fake_driver.gpu_count;
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGet(CUdevice *device, int ordinal) {
    ENTER_DEVICE(DeviceGet, ordinal);
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGetName(char *name, int size, CUdevice device) {
    ENTER_DEVICE(DeviceGetName, device);
    snprintf(name, (size_t)size, "Fake H200 %d", device);
    return CUDA_SUCCESS;
}

CUresult fake_DeviceTotalMem(size_t *bytes, CUdevice device) {
    ENTER_DEVICE(DeviceTotalMem, device);
    *bytes = (size_t)140 << 30;
    return CUDA_SUCCESS;
}

CUresult fake_DeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
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

CUresult fake_DevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    ENTER_DEVICE(DevicePrimaryCtxRetain, device);
    primary[device]++;
    COUNT(alive_contexts, 1);
    *context = (CUcontext)(void *)&primary[device];
    return CUDA_SUCCESS;
}

CUresult fake_DevicePrimaryCtxRelease(CUdevice device) {
    ENTER_DEVICE(DevicePrimaryCtxRelease, device);
    if (!primary[device]) return CUDA_ERROR_INVALID_CONTEXT;
    primary[device]--;
    COUNT(alive_contexts, -1);
    return CUDA_SUCCESS;
}

CUresult fake_CtxGetCurrent(CUcontext *context) {
    ENTER(CtxGetCurrent);
    *context = cj_fake_context_current();
    return CUDA_SUCCESS;
}

CUresult fake_CtxPushCurrent(CUcontext context) {
    ENTER(CtxPushCurrent);
    if (!context || depth == STACK_MAX) return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

CUresult fake_CtxPopCurrent(CUcontext *context) {
    ENTER(CtxPopCurrent);
    if (!depth) return CUDA_ERROR_INVALID_CONTEXT;
    *context = stack[--depth];
    return CUDA_SUCCESS;
}

int fake_current_gpu(int otherwise) {
    int gpu = otherwise;
    for (int i = 0; i < GPU_COUNT_MAX; i++)
        if (cj_fake_context_current() == &primary[i]) gpu = i;
    return gpu;
}

// A context that the caller made belongs to the last GPU.
CUresult fake_CtxGetDevice(CUdevice *device) {
    ENTER_CONTEXT(CtxGetDevice);
    *device = fake_current_gpu(cj_fake_driver.gpu_count - 1);
    return CUDA_SUCCESS;
}


CUresult fake_DeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    (void)device, (void)peer;
    ENTER(DeviceCanAccessPeer);
    *can = !cj_fake_driver.peerless;
    return CUDA_SUCCESS;
}

CUresult fake_CtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    (void)peer, (void)flags;
    ENTER_CONTEXT(CtxEnablePeerAccess);
    return CUDA_SUCCESS;
}

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
