// SPDX-License-Identifier: Apache-2.0
#include "fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

typedef struct function {
    char name[64];
    int  large_shared;  // bytes of dynamic shared memory opted into
    bool nonportable;
} function;

typedef struct module {
    char    *ptx;
    function functions[4];
    size_t   count;
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
static void    *stack[STACK_MAX];  // of current contexts
static size_t   depth;
static int      primary[GPU_COUNT_MAX];  // their addresses are the primary contexts, their values the retain counts

void cj_fake_reset(void) {
    cj_fake_driver = (cj_fake){.version = 13000, .gpu_count = 2, .compute_capability = 90, .largest_cluster = 16};
    memset(calls, 0, sizeof calls);
    memset(primary, 0, sizeof primary);
    initialized = false;
    depth = 0;
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
    cj_fake_driver.alive_contexts++;
    return calloc(1, sizeof(int));
}

void cj_fake_context_destroy(void *context) {
    cj_fake_driver.alive_contexts--;
    free(context);
}

void *cj_fake_context_current(void) { return depth ? stack[depth - 1] : NULL; }

void cj_fake_context_set(void *context) {
    depth = context != NULL;
    stack[0] = context;
}

// Counts the call; the failure that the test asked for, if this is its time.
static CUresult enter(enum symbol symbol) {
    unsigned count = ++calls[symbol];
    bool     fails = cj_fake_driver.failing && !strcmp(cj_fake_driver.failing, symbols[symbol].name);
    return fails && count >= cj_fake_driver.from && count <= cj_fake_driver.to ? (CUresult)cj_fake_driver.code
                                                                               : CUDA_SUCCESS;
}

#define ENTER(name)                              \
    do {                                         \
        CUresult failure = enter(SYMBOL_##name); \
        if (failure) return failure;             \
    } while (0)

// For calls that work in the current context.
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
    cj_fake_driver.alive_contexts++;
    *context = (CUcontext)(void *)&primary[device];
    return CUDA_SUCCESS;
}

static CUresult fake_DevicePrimaryCtxRelease(CUdevice device) {
    ENTER_DEVICE(DevicePrimaryCtxRelease, device);
    if (!primary[device]) return CUDA_ERROR_INVALID_CONTEXT;
    primary[device]--;
    cj_fake_driver.alive_contexts--;
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

// A context that the caller made is on the last GPU.
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
    void *block = malloc(bytes);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    cj_fake_driver.alive_memory++;
    *memory = (CUdeviceptr)(uintptr_t)block;
    return CUDA_SUCCESS;
}

static CUresult fake_MemFree(CUdeviceptr memory) {
    ENTER_CONTEXT(MemFree);
    cj_fake_driver.alive_memory--;
    free((void *)(uintptr_t)memory);
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

static CUresult fake_StreamSynchronize(CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(StreamSynchronize);
    return CUDA_SUCCESS;
}

static CUresult fake_EventCreate(CUevent *event, unsigned flags) {
    (void)flags;
    ENTER_CONTEXT(EventCreate);
    *event = malloc(1);
    cj_fake_driver.alive_events++;
    return CUDA_SUCCESS;
}

static CUresult fake_EventRecord(CUevent event, CUstream stream) {
    (void)stream;
    ENTER_CONTEXT(EventRecord);
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_EventSynchronize(CUevent event) {
    ENTER_CONTEXT(EventSynchronize);
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_EventElapsedTime(float *milliseconds, CUevent start, CUevent stop) {
    ENTER_CONTEXT(EventElapsedTime);
    *milliseconds = 1.5f;
    return start && stop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Writes down the address: all that a test can know of an opaque map.
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

static CUresult fake_EventDestroy(CUevent event) {
    ENTER_CONTEXT(EventDestroy);
    cj_fake_driver.alive_events--;
    free(event);
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

static CUresult fake_ModuleLoadDataEx(CUmodule *handle, const void *image, unsigned count, CUjit_option *option,
                                      void **value) {
    CUresult failure = enter(SYMBOL_ModuleLoadDataEx);
    if (failure) {
        write_log("ptxas application ptx input, line 7; error   : the fake driver's log\n", count, option, value);
        return failure;
    }
    if (!cj_fake_context_current()) return CUDA_ERROR_INVALID_CONTEXT;
    module *made = calloc(1, sizeof *made);
    made->ptx = malloc(strlen(image) + 1);
    strcpy(made->ptx, image);
    cj_fake_driver.alive_modules++;
    *handle = (CUmodule)(void *)made;
    return CUDA_SUCCESS;
}

static CUresult fake_ModuleUnload(CUmodule handle) {
    ENTER_CONTEXT(ModuleUnload);
    module *gone = (module *)(void *)handle;
    cj_fake_driver.alive_modules--;
    free(gone->ptx);
    free(gone);
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
    *handle = (CUfunction)(void *)made;
    return CUDA_SUCCESS;
}

static CUresult fake_FuncLoad(CUfunction handle) {
    ENTER_CONTEXT(FuncLoad);
    return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult fake_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
    (void)handle;
    ENTER_CONTEXT(FuncGetAttribute);
    if (attribute != CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}

static CUresult fake_FuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    ENTER_CONTEXT(FuncSetAttribute);
    function *of = (function *)(void *)handle;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        cj_fake_driver.nonportable_optins++;
        of->nonportable = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value > LARGEST_SHARED) return CUDA_ERROR_INVALID_VALUE;
        cj_fake_driver.shared_optins++;
        of->large_shared = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult fake_OccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config) {
    ENTER_CONTEXT(OccupancyMaxPotentialClusterSize);
    if (!handle || !config->blockDimX) return CUDA_ERROR_INVALID_VALUE;
    cj_fake_driver.cluster_questions++;
    *size = cj_fake_driver.largest_cluster;
    return CUDA_SUCCESS;
}

static CUresult fake_LaunchKernelEx(const CUlaunchConfig *config, CUfunction handle, void **arguments, void **extra) {
    ENTER_CONTEXT(LaunchKernelEx);
    if (extra) return CUDA_ERROR_INVALID_VALUE;
    const function *of = (const function *)(const void *)handle;
    cj_fake_launch *seen = &cj_fake_driver.launch;
    *seen = (cj_fake_launch){
        .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamic_shared = config->sharedMemBytes,
        .stream = config->hStream,
    };
    for (unsigned i = 0; i < config->numAttrs; i++) {
        if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) return CUDA_ERROR_INVALID_VALUE;
        seen->clustered = true;
        seen->cluster = (cj_dim3){config->attrs[i].value.clusterDim.x, config->attrs[i].value.clusterDim.y,
                                  config->attrs[i].value.clusterDim.z};
    }
    if (arguments) memcpy(&seen->first_argument, arguments[0], sizeof seen->first_argument);

    unsigned blocks = seen->cluster.x * seen->cluster.y * seen->cluster.z;
    int      shared = of->large_shared ? of->large_shared : DEFAULT_SHARED;
    if (blocks > 8 && !of->nonportable) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if ((int)config->sharedMemBytes > shared) return CUDA_ERROR_INVALID_VALUE;
    cj_fake_driver.launches++;
    return CUDA_SUCCESS;
}

// Each symbol goes through its own typedef, so that the compiler holds every function against NVIDIA's signature.
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
