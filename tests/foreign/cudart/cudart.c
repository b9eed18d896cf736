// SPDX-License-Identifier: Apache-2.0
// Devices, memory, streams and errors of the runtime on the CPU device.
#include "cudart.h"

#include <clusterjit/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- errors

static cudaError_t last;

cudaError_t cj_cudart_refuse(const char *call, cudaError_t code, const char *why) {
    fprintf(stderr, "%s: %s\n", call, why);
    return last = code;
}

cudaError_t cj_cudart_result(const char *call, cj_status status, const cj_error *error) {
    static const cudaError_t codes[] = {[CJ_OUT_OF_MEMORY] = cudaErrorMemoryAllocation,
                                        [CJ_INVALID_ARGUMENT] = cudaErrorInvalidValue,
                                        [CJ_CONTRACT] = cudaErrorInvalidConfiguration,
                                        [CJ_INVALID_KERNEL] = cudaErrorInvalidPtx,
                                        [CJ_HAZARD] = cudaErrorLaunchFailure};
    if (!status) return cudaSuccess;
    fprintf(stderr, "%s: %s: %s [%s] %s\n", call, cj_status_name(status), error->message, error->rule, error->hint);
    const bool known = (size_t)status < sizeof codes / sizeof *codes && codes[status];
    return last = known ? codes[status] : cudaErrorUnknown;
}

cudaError_t cudaPeekAtLastError(void) { return last; }

cudaError_t cudaGetLastError(void) {
    const cudaError_t was = last;
    last = cudaSuccess;
    return was;
}

const char *cudaGetErrorName(cudaError_t code) { return code ? "cudaError" : "cudaSuccess"; }
const char *cudaGetErrorString(cudaError_t code) { return code ? "see standard error" : "no error"; }

// ---- the device

static unsigned long number_of(const char *variable, unsigned long otherwise) {
    const char *text = getenv(variable);
    return text && *text ? strtoul(text, NULL, 0) : otherwise;
}

static cj_device *open_device(void) {
    const cj_device_options where = {.spec = "cpu"};
    const cj_cpu_options    how = {.threads = (uint32_t)number_of("CJ_THREADS", 2),
                                   .random_schedule = getenv("CJ_SCHEDULE") != NULL,
                                   .seed = number_of("CJ_SCHEDULE", 0),
                                   .hazards = number_of("CJ_HAZARDS", 0) != 0};
    cj_device              *device = NULL;
    cj_error                error = {0};
    cj_status               status = cj_device_open(&where, &device, &error);
    if (!status) status = cj_cpu_configure(device, &how, &error);
    if (status) cj_cudart_result("opening the CPU device", status, &error);
    return device;
}

// It stays open until the process ends.
cj_device *cj_cudart_device(void) {
    static cj_device *device;
    if (!device) device = open_device();
    return device;
}

cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    return device ? cj_cudart_refuse("cudaSetDevice", cudaErrorInvalidDevice, "there is device 0 only") : cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    const cj_limits *limits = cj_device_limits(cj_cudart_device());
    const struct {
        enum cudaDeviceAttr attribute;
        uint64_t            value;
    } known[] = {
        {cudaDevAttrComputeCapabilityMajor, limits->compute_capability / 10},
        {cudaDevAttrComputeCapabilityMinor, limits->compute_capability % 10},
        {cudaDevAttrMultiProcessorCount, limits->sm_count},
        {cudaDevAttrWarpSize, limits->warp_size},
        {cudaDevAttrMaxThreadsPerBlock, limits->max_threads_per_block},
        {cudaDevAttrMaxBlockDimX, limits->max_block.x},
        {cudaDevAttrMaxGridDimX, limits->max_grid.x},
        {cudaDevAttrMaxGridDimY, limits->max_grid.y},
        {cudaDevAttrMaxThreadsPerMultiProcessor, limits->max_threads_per_sm},
        {cudaDevAttrMaxBlocksPerMultiprocessor, limits->max_blocks_per_sm},
        {cudaDevAttrMaxSharedMemoryPerBlock, limits->shared_per_block},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, limits->shared_per_block_optin},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, limits->shared_per_sm},
        {cudaDevAttrReservedSharedMemoryPerBlock, limits->shared_reserved},
        {cudaDevAttrL2CacheSize, limits->l2_bytes},
        {cudaDevAttrClusterLaunch, limits->max_cluster != 0},
    };
    (void)device;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute != attribute) continue;
        *value = (int)known[i].value;
        return cudaSuccess;
    }
    char why[64];
    snprintf(why, sizeof why, "attribute %d is not known here", (int)attribute);
    return cj_cudart_refuse("cudaDeviceGetAttribute", cudaErrorNotSupported, why);
}

// ---- memory. All of it is the device's; the CPU device's addresses are the host's.

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    cj_error        error = {0};
    cj_ptr          address = 0;
    const cj_status status = cj_mem_alloc(cj_cudart_device(), bytes ? bytes : 1, &address, &error);
    *memory = (void *)(uintptr_t)address;
    return cj_cudart_result("cudaMalloc", status, &error);
}

cudaError_t cudaFree(void *memory) {
    cj_mem_free(cj_cudart_device(), (uintptr_t)memory);
    return cudaSuccess;
}

static cj_status copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cj_error *error) {
    cj_device *device = cj_cudart_device();
    if (kind == cudaMemcpyHostToDevice) return cj_mem_write(device, (uintptr_t)to, from, bytes, NULL, error);
    if (kind == cudaMemcpyDeviceToHost) return cj_mem_read(device, to, (uintptr_t)from, bytes, NULL, error);
    if (kind == cudaMemcpyHostToHost) {
        memmove(to, from, bytes);
        return CJ_OK;
    }
    void *between = malloc(bytes);
    if (!between) return CJ_OUT_OF_MEMORY;
    cj_status status = cj_mem_read(device, between, (uintptr_t)from, bytes, NULL, error);
    if (!status) status = cj_mem_write(device, (uintptr_t)to, between, bytes, NULL, error);
    free(between);
    return status;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
    cj_error error = {0};
    return bytes ? cj_cudart_result("cudaMemcpy", copy(to, from, bytes, kind, &error), &error) : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    (void)stream;
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    cj_error error = {0};
    if (!bytes) return cudaSuccess;
    const cj_status status = cj_mem_fill(cj_cudart_device(), (uintptr_t)memory, (uint8_t)value, bytes, NULL, &error);
    return cj_cudart_result("cudaMemset", status, &error);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return cudaMemset(memory, value, bytes);
}

// ---- streams: every launch and copy is done when its call returns

cudaError_t cudaDeviceSynchronize(void) { return last; }

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    (void)stream;
    return last;
}
