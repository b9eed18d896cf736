// SPDX-License-Identifier: Apache-2.0
// Kernels of the runtime on the CPU device: nvcc's registrations, launches and what is asked of a kernel.
#include <clusterjit/occupancy.h>
#include <stdio.h>
#include <stdlib.h>

#include "cudart.h"
#include "fatbin.h"

// A translation unit's device code, loaded when one of its kernels is first wanted.
typedef struct unit {
    const char *ptx, *why;
    size_t      length;
    cj_module  *module;
} unit;

typedef struct kernel {
    struct kernel *next;
    const void    *host;  // the function that stands for it in the program
    const char    *name;
    unit          *unit;
    cj_function   *function;
} kernel;

static kernel *kernels;

// ---- what nvcc's programs call before main

void **__cudaRegisterFatBinary(void *container);
void   __cudaRegisterFatBinaryEnd(void **handle);
void   __cudaUnregisterFatBinary(void **handle);
void   __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, uint3 *tid,
                              uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void   __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                         int constant, int global);

// A file's text, which lives as long as the program; NULL, with *why, where it cannot be read.
static const char *text_of(const char *path, size_t *length, const char **why) {
    FILE      *file = fopen(path, "rb");
    const long bytes = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
    char      *text = bytes < 0 ? NULL : calloc(1, (size_t)bytes + 1);
    *why = "the file of CJ_PTX cannot be read";
    *length = bytes < 0 ? 0 : (size_t)bytes;
    if (text) rewind(file);
    if (text && fread(text, 1, *length, file) != *length) {
        free(text);
        text = NULL;
    }
    if (file) fclose(file);
    return text;
}

void **__cudaRegisterFatBinary(void *container) {
    unit *made = calloc(1, sizeof *made);
    if (!made) abort();
    made->ptx = cj_fatbin_ptx(container, &made->length, &made->why);
    if (getenv("CJ_PTX")) made->ptx = text_of(getenv("CJ_PTX"), &made->length, &made->why);
    return (void **)(void *)made;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }
void __cudaUnregisterFatBinary(void **handle) { (void)handle; }  // at the program's end

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, uint3 *tid,
                            uint3 *bid, dim3 *block, dim3 *grid, int *warp) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    kernel *made = calloc(1, sizeof *made);
    if (!made) abort();
    *made = (kernel){.next = kernels, .host = host, .name = name, .unit = (unit *)(void *)handle};
    kernels = made;
}

// Variables live in the module; no call here asks for them by their host's address.
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global) {
    (void)handle, (void)host, (void)device, (void)name, (void)external, (void)bytes, (void)constant, (void)global;
}

// ---- finding a kernel

static cudaError_t load(kernel *k) {
    cj_error  error = {0};
    cj_status status = CJ_OK;
    unit     *from = k->unit;
    if (!from->ptx) return cj_cudart_refuse(k->name, cudaErrorInvalidKernelImage, from->why);
    if (!from->module) {
        status = cj_module_from_ptx(cj_cudart_device(), from->ptx, from->length, &from->module, &error);
    }
    if (!status) status = cj_module_function(from->module, k->name, &k->function, &error);
    return cj_cudart_result(k->name, status, &error);
}

static cudaError_t find(const void *host, kernel **found) {
    for (kernel *k = kernels; k; k = k->next) {
        if (k->host != host) continue;
        *found = k;
        return k->function ? cudaSuccess : load(k);
    }
    return cj_cudart_refuse("finding a kernel", cudaErrorInvalidDeviceFunction,
                            "nothing is registered for this function");
}

// ---- launches

static cj_dim3 dim3_of(dim3 size) { return (cj_dim3){size.x, size.y, size.z}; }

static cudaError_t launch(kernel *k, cj_launch_config config, void **arguments) {
    cj_error error = {0};
    config.function = k->function;
    config.arguments = arguments;
    config.argument_count = cj_function_param_count(k->function);
    config.nonportable = true;
    return cj_cudart_result(k->name, cj_launch(cj_cudart_device(), &config, &error), &error);
}

cudaError_t cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
    kernel           *k = NULL;
    const cudaError_t code = find(host, &k);
    (void)stream;
    if (code) return code;
    return launch(
        k, (cj_launch_config){.grid = dim3_of(grid), .block = dim3_of(block), .dynamic_shared = (uint32_t)shared},
        arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *given, const void *host, void **arguments) {
    kernel          *k = NULL;
    cudaError_t      code = find(host, &k);
    cj_launch_config config = {.grid = dim3_of(given->gridDim),
                               .block = dim3_of(given->blockDim),
                               .dynamic_shared = (uint32_t)given->dynamicSmemBytes};
    for (unsigned i = 0; i < given->numAttrs && !code; i++) {
        const cudaLaunchAttributeValue value = given->attrs[i].val;
        switch (given->attrs[i].id) {
        case cudaLaunchAttributeClusterDimension:
            config.cluster = (cj_dim3){value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
            break;
        case cudaLaunchAttributeCooperative: config.attributes.cooperative = value.cooperative; break;
        case cudaLaunchAttributeProgrammaticStreamSerialization:
            config.attributes.programmatic = value.programmaticStreamSerializationAllowed;
            break;
        default: code = cj_cudart_refuse(k->name, cudaErrorNotSupported, "a launch attribute is not known here");
        }
    }
    return code ? code : launch(k, config, arguments);
}

cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);
unsigned    __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

// A handle is the host's function.
cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *host) {
    *handle = (cudaKernel_t)(uintptr_t)host;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream) {
    return cudaLaunchKernel(handle, grid, block, arguments, shared, stream);
}

// What stands in <<< >>>, until the kernel's function takes it.
static struct {
    dim3         grid, block;
    size_t       shared;
    cudaStream_t stream;
} pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream) {
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *(cudaStream_t *)stream = pushed.stream;
    return cudaSuccess;
}

// ---- what is asked of a kernel

enum { REGISTERS = 32 };  // nobody assembles it here: a usual number

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *host) {
    kernel           *k = NULL;
    const cj_limits  *limits = cj_device_limits(cj_cudart_device());
    const cudaError_t code = find(host, &k);
    cj_entry_info     info;
    if (code) return code;
    cj_function_info(k->function, &info);
    *attributes = (struct cudaFuncAttributes){
        .sharedSizeBytes = info.static_shared,
        .maxThreadsPerBlock = (int)(info.block_max.x ? info.block_max.x * info.block_max.y * info.block_max.z
                                                     : limits->max_threads_per_block),
        .numRegs = REGISTERS,
        .ptxVersion = (int)limits->compute_capability,
        .binaryVersion = (int)limits->compute_capability,
        .maxDynamicSharedSizeBytes = (int)(limits->shared_per_block_optin - info.static_shared)};
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value) {
    (void)host, (void)attribute, (void)value;  // a launch opts in to what it needs
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int threads,
                                                                   size_t dynamic, unsigned flags) {
    kernel              *k = NULL;
    cj_error             error = {0};
    cj_entry_info        info;
    cj_cluster_occupancy occupancy = {0};
    const cudaError_t    code = find(host, &k);
    (void)flags;
    if (code) return code;
    cj_function_info(k->function, &info);
    const cj_block_use use = {
        .threads = (uint32_t)threads, .registers = REGISTERS, .shared = info.static_shared + dynamic};
    const cj_status status = cj_occupancy_model(cj_device_limits(cj_cudart_device()), &use, 0, &occupancy, &error);
    *blocks = (int)occupancy.blocks_per_sm;
    return cj_cudart_result("cudaOccupancyMaxActiveBlocksPerMultiprocessor", status, &error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads, size_t dynamic) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, dynamic, 0);
}
