// SPDX-License-Identifier: Apache-2.0
// Memory: of the device, managed, of the host; pools; what is asked of pointers.
#include <string.h>

#include "runtime.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps) &&
                   sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc) &&
                   sizeof(struct cudaMemLocation) == sizeof(CUmemLocation) && sizeof(void *) == sizeof(CUdeviceptr),
               "the structures of pools and addresses are the driver's");

static CUmemLocation driver_location(struct cudaMemLocation given) {
    return (CUmemLocation){.type = (CUmemLocationType)given.type, .id = given.id};
}

// ---- the device's

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    REQUIRE(memory);
    BEGIN();
    *memory = NULL;
    if (!bytes) return cudaSuccess;
    return cj__result(cuMemAlloc((CUdeviceptr *)memory, bytes));
}

cudaError_t cudaFree(void *memory) {
    BEGIN();
    return memory ? cj__result(cuMemFree(cj__address(memory))) : cudaSuccess;
}

cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height) {
    REQUIRE(memory);
    REQUIRE(pitch);
    BEGIN();
    *memory = NULL;
    if (!width || !height) {
        *pitch = 0;
        return cudaSuccess;
    }
    return cj__result(cuMemAllocPitch((CUdeviceptr *)memory, pitch, width, height, 4));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent) {
    REQUIRE(memory);
    void             *made = NULL;
    size_t            pitch = 0;
    const cudaError_t failed = cudaMallocPitch(&made, &pitch, extent.width, extent.height * extent.depth);
    if (failed) return failed;
    *memory = (struct cudaPitchedPtr){.ptr = made, .pitch = pitch, .xsize = extent.width, .ysize = extent.height};
    return cudaSuccess;
}

cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags) {
    REQUIRE(memory);
    if (!bytes) return cj__refuse(__func__, cudaErrorInvalidValue, "the size is 0");
    BEGIN();
    return cj__result(cuMemAllocManaged((CUdeviceptr *)memory, bytes, flags));
}

PASS(cudaMemGetInfo, (size_t * available, size_t *total), cuMemGetInfo(available, total))

// ---- the host's

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
    REQUIRE(memory);
    BEGIN();
    *memory = NULL;
    return bytes ? cj__result(cuMemHostAlloc(memory, bytes, flags)) : cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) { return cudaHostAlloc(memory, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void *memory) {
    BEGIN();
    return memory ? cj__result(cuMemFreeHost(memory)) : cudaSuccess;
}

PASS(cudaHostRegister, (void *memory, size_t bytes, unsigned flags), cuMemHostRegister(memory, bytes, flags))
PASS(cudaHostUnregister, (void *memory), cuMemHostUnregister(memory))
PASS(cudaHostGetDevicePointer, (void **device, void *host, unsigned flags),
     cuMemHostGetDevicePointer((CUdeviceptr *)device, host, flags))
PASS(cudaHostGetFlags, (unsigned *flags, void *memory), cuMemHostGetFlags(flags, memory))

// ---- managed memory

PASS(cudaMemAdvise, (const void *memory, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation location),
     cuMemAdvise(cj__address(memory), bytes, (CUmem_advise)advice, driver_location(location)))
PASS_STREAM(cudaMemPrefetchAsync,
            (const void *memory, size_t bytes, struct cudaMemLocation location, unsigned flags, cudaStream_t stream),
            cuMemPrefetchAsync(cj__address(memory), bytes, driver_location(location), flags, stream))
PASS_STREAM(cudaMemPrefetchBatchAsync,
            (void **memory, size_t *sizes, size_t count, struct cudaMemLocation *places, size_t *indices,
             size_t place_count, unsigned long long flags, cudaStream_t stream),
            cuMemPrefetchBatchAsync((CUdeviceptr *)memory, sizes, count, (CUmemLocation *)(void *)places, indices,
                                    place_count, flags, stream))
PASS_STREAM(cudaMemDiscardBatchAsync,
            (void **memory, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream),
            cuMemDiscardBatchAsync((CUdeviceptr *)memory, sizes, count, flags, stream))
PASS_STREAM(cudaMemDiscardAndPrefetchBatchAsync,
            (void **memory, size_t *sizes, size_t count, struct cudaMemLocation *places, size_t *indices,
             size_t place_count, unsigned long long flags, cudaStream_t stream),
            cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)memory, sizes, count, (CUmemLocation *)(void *)places,
                                              indices, place_count, flags, stream))
PASS(cudaMemRangeGetAttribute,
     (void *data, size_t size, enum cudaMemRangeAttribute attribute, const void *memory, size_t bytes),
     cuMemRangeGetAttribute(data, size, (CUmem_range_attribute)attribute, cj__address(memory), bytes))
PASS(cudaMemRangeGetAttributes,
     (void **data, size_t *sizes, enum cudaMemRangeAttribute *attributes, size_t count, const void *memory,
      size_t bytes),
     cuMemRangeGetAttributes(data, sizes, (CUmem_range_attribute *)attributes, count, cj__address(memory), bytes))

// ---- pools

static cudaError_t allocate(const char *call, void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    if (!memory) return cj__refuse(call, cudaErrorInvalidValue, "memory is NULL");
    BEGIN_FOR(call);
    *memory = NULL;
    if (!bytes) return cudaSuccess;
    return cj__result(pool ? cuMemAllocFromPoolAsync((CUdeviceptr *)memory, bytes, pool, stream)
                           : cuMemAllocAsync((CUdeviceptr *)memory, bytes, stream));
}

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream) {
    return allocate(__func__, memory, bytes, NULL, stream);
}

cudaError_t cudaMallocAsync_ptsz(void **memory, size_t bytes, cudaStream_t stream) {
    return allocate(__func__, memory, bytes, NULL, cj__own_stream(stream));
}

cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    if (!pool) return cj__refuse(__func__, cudaErrorInvalidValue, "the pool is NULL");
    return allocate(__func__, memory, bytes, pool, stream);
}

cudaError_t cudaMallocFromPoolAsync_ptsz(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return cudaMallocFromPoolAsync(memory, bytes, pool, cj__own_stream(stream));
}

PASS_STREAM(cudaFreeAsync, (void *memory, cudaStream_t stream), cuMemFreeAsync(cj__address(memory), stream))
PASS(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *properties),
     cuMemPoolCreate(pool, (const CUmemPoolProps *)(const void *)properties))
PASS(cudaMemPoolDestroy, (cudaMemPool_t pool), pool ? cuMemPoolDestroy(pool) : CUDA_ERROR_INVALID_VALUE)
PASS(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t bytes), cuMemPoolTrimTo(pool, bytes))
PASS(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
     cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value))
PASS(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
     cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value))
PASS(cudaMemPoolSetAccess, (cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count),
     cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)(const void *)list, count))
PASS(cudaMemPoolGetAccess, (enum cudaMemAccessFlags * flags, cudaMemPool_t pool, struct cudaMemLocation *location),
     cuMemPoolGetAccess((CUmemAccess_flags *)flags, pool, (CUmemLocation *)(void *)location))
PASS(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetDefaultMemPool(pool, device))
PASS(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetMemPool(pool, device))
PASS(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), cuDeviceSetMemPool(device, pool))
PASS(cudaMemGetDefaultMemPool,
     (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
     cuMemGetDefaultMemPool(pool, (CUmemLocation *)(void *)location, (CUmemAllocationType)type))
PASS(cudaMemGetMemPool, (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
     cuMemGetMemPool(pool, (CUmemLocation *)(void *)location, (CUmemAllocationType)type))
PASS(cudaMemSetMemPool, (struct cudaMemLocation * location, enum cudaMemAllocationType type, cudaMemPool_t pool),
     cuMemSetMemPool((CUmemLocation *)(void *)location, (CUmemAllocationType)type, pool))

// ---- pointers

// An address that CUDA does not know is unregistered: no error.
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    CUmemorytype        type = (CUmemorytype)0;
    int                 managed = 0, device = 0;
    CUdeviceptr         address = 0;
    void               *host = NULL, *data[] = {&type, &managed, &device, &address, &host};
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                    CU_POINTER_ATTRIBUTE_HOST_POINTER};
    REQUIRE(attributes);
    BEGIN();
    TRY(cuPointerGetAttributes(sizeof wanted / sizeof *wanted, wanted, data, cj__address(pointer)));
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = device};
    memcpy(&attributes->devicePointer, &address, sizeof address);
    attributes->hostPointer = host;
    if (managed)
        attributes->type = cudaMemoryTypeManaged;
    else if (type == CU_MEMORYTYPE_HOST)
        attributes->type = cudaMemoryTypeHost;
    else if (type == CU_MEMORYTYPE_DEVICE)
        attributes->type = cudaMemoryTypeDevice;
    else {
        attributes->device = cudaInvalidDeviceId;
        attributes->devicePointer = NULL;
        memcpy(&attributes->hostPointer, &pointer, sizeof pointer);
    }
    return cudaSuccess;
}
