// SPDX-License-Identifier: Apache-2.0
// Copies and fills. Copies between arrays and pitched memory are the driver's three-dimensional ones, whatever their shape.
#include <string.h>

#include "runtime.h"

typedef enum cudaMemcpyKind kind_t;

static bool known_kind(kind_t kind) { return (unsigned)kind <= cudaMemcpyDefault; }

static cudaError_t refuse_kind(const char *call, kind_t kind) {
    return cj__refuse(call, cudaErrorInvalidMemcpyDirection,
                      "the kind %d is none of cudaMemcpyHostToHost to cudaMemcpyDefault", (int)kind);
}

// ---- linear memory

static CUresult copy_linear(void *to, const void *from, size_t bytes, kind_t kind) {
    const CUdeviceptr there = cj__address(to), here = cj__address(from);
    if (kind == cudaMemcpyHostToDevice) return cuMemcpyHtoD(there, from, bytes);
    if (kind == cudaMemcpyDeviceToHost) return cuMemcpyDtoH(to, here, bytes);
    if (kind == cudaMemcpyDeviceToDevice) return cuMemcpyDtoD(there, here, bytes);
    return cuMemcpy(there, here, bytes);
}

static CUresult copy_linear_async(void *to, const void *from, size_t bytes, kind_t kind, CUstream stream) {
    const CUdeviceptr there = cj__address(to), here = cj__address(from);
    if (kind == cudaMemcpyHostToDevice) return cuMemcpyHtoDAsync(there, from, bytes, stream);
    if (kind == cudaMemcpyDeviceToHost) return cuMemcpyDtoHAsync(to, here, bytes, stream);
    if (kind == cudaMemcpyDeviceToDevice) return cuMemcpyDtoDAsync(there, here, bytes, stream);
    return cuMemcpyAsync(there, here, bytes, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, kind_t kind) {
    if (!known_kind(kind)) return refuse_kind(__func__, kind);
    BEGIN();
    return bytes ? cj__result(copy_linear(to, from, bytes, kind)) : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, kind_t kind, cudaStream_t stream) {
    if (!known_kind(kind)) return refuse_kind(__func__, kind);
    BEGIN();
    return bytes ? cj__result(copy_linear_async(to, from, bytes, kind, stream)) : cudaSuccess;
}

cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, kind_t kind, cudaStream_t stream) {
    return cudaMemcpyAsync(to, from, bytes, kind, cj__own_stream(stream));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                cudaStream_t stream) {
    CUcontext there = NULL, here = NULL;
    BEGIN();
    TRY(cj__primary(to_device, &there));
    TRY(cj__primary(from_device, &here));
    if (!bytes) return cudaSuccess;
    return cj__result(cuMemcpyPeerAsync(cj__address(to), there, cj__address(from), here, bytes, stream));
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    CUcontext there = NULL, here = NULL;
    BEGIN();
    TRY(cj__primary(to_device, &there));
    TRY(cj__primary(from_device, &here));
    return bytes ? cj__result(cuMemcpyPeer(cj__address(to), there, cj__address(from), here, bytes)) : cudaSuccess;
}

// ---- variables

// The kinds that a variable can be copied with, which is device memory on one side.
static cudaError_t place(const char *call, const void *symbol, size_t bytes, size_t offset, kind_t kind, kind_t host,
                         void **address) {
    CUdeviceptr       at = 0;
    size_t            size = 0;
    const cudaError_t failed = cj__symbol_of(call, symbol, &at, &size);
    if (failed) return failed;
    if (kind != host && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cj__refuse(call, cudaErrorInvalidMemcpyDirection, "a variable cannot be copied with the kind %d",
                          (int)kind);
    if (offset > size || bytes > size - offset)
        return cj__refuse(call, cudaErrorInvalidValue, "%zu bytes at offset %zu do not fit the variable's %zu bytes",
                          bytes, offset, size);
    at += offset;
    memcpy(address, &at, sizeof at);
    return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, kind_t kind) {
    void *to = NULL;
    BEGIN();
    const cudaError_t failed = place(__func__, symbol, bytes, offset, kind, cudaMemcpyHostToDevice, &to);
    return failed ? failed : cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, kind_t kind) {
    void *from = NULL;
    BEGIN();
    const cudaError_t failed = place(__func__, symbol, bytes, offset, kind, cudaMemcpyDeviceToHost, &from);
    return failed ? failed : cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, kind_t kind,
                                    cudaStream_t stream) {
    void *to = NULL;
    BEGIN();
    const cudaError_t failed = place(__func__, symbol, bytes, offset, kind, cudaMemcpyHostToDevice, &to);
    return failed ? failed : cudaMemcpyAsync(to, from, bytes, kind, stream);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, kind_t kind,
                                      cudaStream_t stream) {
    void *from = NULL;
    BEGIN();
    const cudaError_t failed = place(__func__, symbol, bytes, offset, kind, cudaMemcpyDeviceToHost, &from);
    return failed ? failed : cudaMemcpyAsync(to, from, bytes, kind, stream);
}

cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *from, size_t bytes, size_t offset, kind_t kind,
                                         cudaStream_t stream) {
    return cudaMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, cj__own_stream(stream));
}

cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *to, const void *symbol, size_t bytes, size_t offset, kind_t kind,
                                           cudaStream_t stream) {
    return cudaMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, cj__own_stream(stream));
}

// ---- fills

PASS(cudaMemset, (void *memory, int value, size_t bytes),
     bytes ? cuMemsetD8(cj__address(memory), (unsigned char)value, bytes) : CUDA_SUCCESS)
PASS_STREAM(cudaMemsetAsync, (void *memory, int value, size_t bytes, cudaStream_t stream),
            bytes ? cuMemsetD8Async(cj__address(memory), (unsigned char)value, bytes, stream) : CUDA_SUCCESS)
PASS(cudaMemset2D, (void *memory, size_t pitch, int value, size_t width, size_t height),
     width &&height ? cuMemsetD2D8(cj__address(memory), pitch, (unsigned char)value, width, height) : CUDA_SUCCESS)
PASS_STREAM(cudaMemset2DAsync,
            (void *memory, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
            width &&height ? cuMemsetD2D8Async(cj__address(memory), pitch, (unsigned char)value, width, height, stream)
                           : CUDA_SUCCESS)

// Slice by slice: the rows of a slice beyond the extent are left alone.
static CUresult fill_slices(struct cudaPitchedPtr memory, int value, struct cudaExtent extent, CUstream stream) {
    CUresult result = CUDA_SUCCESS;
    if (!extent.width || !extent.height) return result;
    for (size_t z = 0; !result && z < extent.depth; z++) {
        const CUdeviceptr slice = cj__address(memory.ptr) + z * memory.pitch * memory.ysize;
        result = cuMemsetD2D8Async(slice, memory.pitch, (unsigned char)value, extent.width, extent.height, stream);
    }
    return result;
}

PASS_STREAM(cudaMemset3DAsync, (struct cudaPitchedPtr memory, int value, struct cudaExtent extent, cudaStream_t stream),
            fill_slices(memory, value, extent, stream))

cudaError_t cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent) {
    const cudaError_t failed = cudaMemset3DAsync(memory, value, extent, NULL);
    return failed ? failed : cudaStreamSynchronize(NULL);
}

// ---- the same on the thread's own stream: everything is complete when these return, on whichever stream it ran

#define SAME_PTDS(name, parameters, arguments) \
    cudaError_t name##_ptds parameters { return name arguments; }

SAME_PTDS(cudaMemcpy, (void *to, const void *from, size_t bytes, kind_t kind), (to, from, bytes, kind))
SAME_PTDS(cudaMemcpyToSymbol, (const void *symbol, const void *from, size_t bytes, size_t offset, kind_t kind),
          (symbol, from, bytes, offset, kind))
SAME_PTDS(cudaMemcpyFromSymbol, (void *to, const void *symbol, size_t bytes, size_t offset, kind_t kind),
          (to, symbol, bytes, offset, kind))
SAME_PTDS(cudaMemset, (void *memory, int value, size_t bytes), (memory, value, bytes))
SAME_PTDS(cudaMemset2D, (void *memory, size_t pitch, int value, size_t width, size_t height),
          (memory, pitch, value, width, height))
SAME_PTDS(cudaMemset3D, (struct cudaPitchedPtr memory, int value, struct cudaExtent extent), (memory, value, extent))
