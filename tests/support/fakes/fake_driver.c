// SPDX-License-Identifier: Apache-2.0
// The fake driver's errors, devices and contexts.
#include <stdio.h>

#include "fake_parts.h"

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
    fake_primary[device]++;
    COUNT(alive_contexts, 1);
    *context = (CUcontext)(void *)&fake_primary[device];
    return CUDA_SUCCESS;
}

CUresult fake_DevicePrimaryCtxRelease(CUdevice device) {
    ENTER_DEVICE(DevicePrimaryCtxRelease, device);
    if (!fake_primary[device]) return CUDA_ERROR_INVALID_CONTEXT;
    fake_primary[device]--;
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
    if (!context || fake_depth == STACK_MAX) return CUDA_ERROR_INVALID_CONTEXT;
    fake_stack[fake_depth++] = context;
    return CUDA_SUCCESS;
}

CUresult fake_CtxPopCurrent(CUcontext *context) {
    ENTER(CtxPopCurrent);
    if (!fake_depth) return CUDA_ERROR_INVALID_CONTEXT;
    *context = fake_stack[--fake_depth];
    return CUDA_SUCCESS;
}

int fake_current_gpu(int otherwise) {
    int gpu = otherwise;
    for (int i = 0; i < GPU_COUNT_MAX; i++)
        if (cj_fake_context_current() == &fake_primary[i]) gpu = i;
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
