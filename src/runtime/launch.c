// SPDX-License-Identifier: Apache-2.0
// Launches. nvcc makes of kernel<<<grid, block, shared, stream>>>(…) a push of the configuration and a call of the kernel's host
// function, which pops it and launches.
#include <string.h>

#include "runtime.h"

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "the attributes of launches are the driver's");
_Static_assert((int)cudaLaunchAttributeClusterDimension == (int)CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
                   (int)cudaLaunchAttributePriority == (int)CU_LAUNCH_ATTRIBUTE_PRIORITY,
               "and so are their numbers");

// ---- the configuration of a call

typedef struct configuration {
    dim3         grid, block;
    size_t       shared;
    cudaStream_t stream;
} configuration;

// Configurations nest where an argument's constructor launches a kernel.
enum { MOST_PUSHED = 32 };
static _Thread_local struct {
    configuration at[MOST_PUSHED];
    unsigned      count;
} pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
    if (pushed.count == MOST_PUSHED)
        return cj__refuse("__cudaPushCallConfiguration", cudaErrorLaunchMaxDepthExceeded,
                          "more than %d launches are configured at once", MOST_PUSHED);
    pushed.at[pushed.count++] = (configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (!pushed.count)
        return cj__refuse("__cudaPopCallConfiguration", cudaErrorMissingConfiguration,
                          "a __global__ function was called without <<<grid, block>>>");
    const configuration *top = &pushed.at[--pushed.count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    memcpy(stream, &top->stream, sizeof top->stream);
    return cudaSuccess;
}

// ---- errors

static bool within(dim3 given, const CUdevice_attribute *limits, CUdevice device) {
    const unsigned sizes[] = {given.x, given.y, given.z};
    for (int i = 0; i < 3; i++) {
        int limit = 0;
        if (!sizes[i]) return false;
        if (!cuDeviceGetAttribute(&limit, limits[i], device) && sizes[i] > (unsigned)limit) return false;
    }
    return true;
}

// Whether a device takes launches of this shape, whatever the kernel is.
static bool fits_device(dim3 grid, dim3 block) {
    static const CUdevice_attribute grids[] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                               CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
    static const CUdevice_attribute blocks[] = {
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
    CUdevice device = 0;
    int      most = 0;
    if (cj__device(&device)) return true;
    if (!within(grid, grids, device) || !within(block, blocks, device)) return false;
    const bool known = !cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
    return !known || (uint64_t)block.x * block.y * block.z <= (uint64_t)most;
}

cudaError_t cj__launch_result(CUresult result, dim3 grid, dim3 block) {
    if (result == CUDA_ERROR_INVALID_VALUE && !fits_device(grid, block)) return cj__fail(cudaErrorInvalidConfiguration);
    return cj__result(result);
}

// ---- launches

CUlaunchConfig cj__launch_config(const cudaLaunchConfig_t *given, cudaStream_t stream) {
    return (CUlaunchConfig){.gridDimX = given->gridDim.x,
                            .gridDimY = given->gridDim.y,
                            .gridDimZ = given->gridDim.z,
                            .blockDimX = given->blockDim.x,
                            .blockDimY = given->blockDim.y,
                            .blockDimZ = given->blockDim.z,
                            .sharedMemBytes = (unsigned)given->dynamicSmemBytes,
                            .hStream = stream,
                            .attrs = (CUlaunchAttribute *)(void *)given->attrs,
                            .numAttrs = given->numAttrs};
}

static cudaError_t launch(const char *call, const cudaLaunchConfig_t *config, const void *named, void **arguments,
                          cudaStream_t stream) {
    CUkernel          kernel = NULL;
    const cudaError_t failed = cj__kernel_of(call, named, &kernel);
    if (failed) return failed;
    if (config->dynamicSmemBytes > UINT32_MAX)
        return cj__refuse(call, cudaErrorInvalidValue, "dynamic shared memory of %zu bytes", config->dynamicSmemBytes);
    const CUlaunchConfig driver = cj__launch_config(config, stream);
    const CUresult       result = cuLaunchKernelEx(&driver, (CUfunction)(void *)kernel, arguments, NULL);
    if (result != CUDA_ERROR_INVALID_HANDLE) return cj__launch_result(result, config->gridDim, config->blockDim);
    unsigned flags = 0;  // is it the kernel's handle, or the stream's?
    return cj__fail(cuStreamGetFlags(stream, &flags) ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction);
}

static cudaError_t launch_plain(const char *call, const void *named, dim3 grid, dim3 block, void **arguments,
                                size_t shared, cudaStream_t stream) {
    const cudaLaunchConfig_t config = {.gridDim = grid, .blockDim = block, .dynamicSmemBytes = shared};
    BEGIN_FOR(call);
    return launch(call, &config, named, arguments, stream);
}

static cudaError_t launch_cooperative(const char *call, const void *named, dim3 grid, dim3 block, void **arguments,
                                      size_t shared, cudaStream_t stream) {
    cudaLaunchAttribute      attribute = {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    const cudaLaunchConfig_t config = {
        .gridDim = grid, .blockDim = block, .dynamicSmemBytes = shared, .attrs = &attribute, .numAttrs = 1};
    BEGIN_FOR(call);
    return launch(call, &config, named, arguments, stream);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream) {
    return launch_plain("cudaLaunchKernel", kernel, grid, block, arguments, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                    cudaStream_t stream) {
    return launch_plain("cudaLaunchKernel", kernel, grid, block, arguments, shared, cj__own_stream(stream));
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
    return launch_plain(__func__, kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                  cudaStream_t stream) {
    return launch_plain(__func__, kernel, grid, block, arguments, shared, cj__own_stream(stream));
}

cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
    return launch_cooperative(__func__, kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                                             cudaStream_t stream) {
    return launch_cooperative(__func__, kernel, grid, block, arguments, shared, cj__own_stream(stream));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    REQUIRE(config);
    BEGIN();
    return launch(__func__, config, kernel, arguments, config->stream);
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    REQUIRE(config);
    BEGIN();
    return launch(__func__, config, kernel, arguments, cj__own_stream(config->stream));
}

PASS_STREAM(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t work, void *user),
            cuLaunchHostFunc(stream, work, user))
