// SPDX-License-Identifier: Apache-2.0
// The calls that allocate and free memory of devices and of the host.
#include "capture.h"
#include "memory.h"

enum { PITCH = 512 };

static CUresult allocate(CUdeviceptr *result, size_t bytes, cj_memory_type type, unsigned flags) {
    cj_context    *context = cj__current();
    const cj_block wanted = {.bytes = bytes, .type = type, .gpu = context->gpu, .owner = context, .flags = flags};
    cj_block      *block = NULL;
    CUresult       code = cj__capture_unsafe();
    if (!code) code = cj__memory_new(&wanted, &block);
    if (!code) *result = block->base;
    return code;
}

CUresult cuMemAlloc_v2(CUdeviceptr *memory, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(memory);
    LEAVE(allocate(memory, bytes, CJ_MEMORY_DEVICE, 0));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *memory, size_t *pitch, size_t width, size_t height, unsigned element) {
    ENTER(CJ_NEED_CONTEXT);
    size_t bytes = 0;
    REQUIRE(memory);
    REQUIRE(pitch);
    REQUIRE(width);
    REQUIRE(height);
    if (element != 4 && element != 8 && element != 16)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "elements of %u bytes; they have 4, 8 or 16", element));
    if (width > SIZE_MAX / 2 || __builtin_mul_overflow((width + PITCH - 1) / PITCH * PITCH, height, &bytes))
        LEAVE(cj__refuse(CUDA_ERROR_OUT_OF_MEMORY, "%zu rows of %zu bytes", height, width));
    TRY(allocate(memory, bytes, CJ_MEMORY_DEVICE, 0));
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemAllocManaged(CUdeviceptr *memory, size_t bytes, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(memory);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    LEAVE(allocate(memory, bytes, CJ_MEMORY_MANAGED, flags));
}

CUresult cuMemFree_v2(CUdeviceptr memory) {
    ENTER(CJ_NEED_CONTEXT);
    if (!memory) LEAVE(CUDA_SUCCESS);
    TRY(cj__capture_unsafe());
    cj_block *block = cj__memory_begin(memory);
    if (block) cj__gpu_wait(block->gpu);
    block = cj__memory_begin(memory);
    if (block && block->is_graph) LEAVE(CUDA_SUCCESS);  // the graph's next launch has it at the same address
    if (!block || block->is_array ||
        (block->type != CJ_MEMORY_DEVICE && block->type != CJ_MEMORY_MANAGED && !block->pool)) {
        cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is no address that an allocation returned",
                   (unsigned long long)memory);
        cj__hint("it was freed before, or is inside an allocation, or is memory of another kind");
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    }
    cj__memory_free(block);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    ENTER(CJ_NEED_CONTEXT);
    const cj_gpu *gpu = cj__current()->gpu;
    const size_t  all = gpu->limits->global_bytes;
    if (free_bytes) *free_bytes = all - (gpu->used < all ? gpu->used : all);
    if (total) *total = all;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr memory) {
    ENTER(CJ_NEED_CONTEXT);
    const cj_block *block = cj__memory_at(memory);
    if (!block) LEAVE(cj__refuse(CUDA_ERROR_NOT_FOUND, "0x%llx is in no allocation", (unsigned long long)memory));
    if (base) *base = block->base;
    if (bytes) *bytes = block->bytes;
    LEAVE(CUDA_SUCCESS);
}

// ---- memory of the host

static CUresult allocate_host(void **result, size_t bytes, unsigned flags) {
    CUdeviceptr    address = 0;
    const unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!result) return cj__refuse_null("pp");
    if (flags & ~known) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags);
    const CUresult code = allocate(&address, bytes, CJ_MEMORY_PINNED, flags);
    if (!code) *result = (void *)(uintptr_t)address;
    return code;
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(allocate_host(memory, bytes, flags));
}

CUresult cuMemAllocHost_v2(void **memory, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(allocate_host(memory, bytes, 0));
}

static void wait_for_all(void) {
    for (int i = 0; i < cj__driver.gpu_count; i++) cj__gpu_wait(&cj__driver.gpu[i]);
}

CUresult cuMemFreeHost(void *memory) {
    ENTER(CJ_NEED_CONTEXT);
    if (!memory) LEAVE(CUDA_SUCCESS);
    TRY(cj__capture_unsafe());
    wait_for_all();
    cj_block *block = cj__memory_begin((uintptr_t)memory);
    if (!block || block->type != CJ_MEMORY_PINNED)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%p is no address that cuMemHostAlloc returned", memory));
    cj__memory_free(block);
    LEAVE(CUDA_SUCCESS);
}

static bool overlaps_block(uint64_t base, size_t bytes) {
    const cj_block *after = cj__memory_next(base);
    return cj__memory_at(base) || (after && after->base - base < bytes);
}

CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    cj_context    *context = cj__current();
    cj_block      *block = NULL;
    const unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    REQUIRE(memory);
    REQUIRE(bytes);
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "the flag CU_MEMHOSTREGISTER_IOMEMORY"));
    if (flags & ~known) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    if (bytes > UINTPTR_MAX - (uintptr_t)memory)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p are more than there are", bytes, memory));
    if (overlaps_block((uintptr_t)memory, bytes))
        LEAVE(cj__refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "some of the %zu bytes at %p is registered", bytes,
                         memory));
    const cj_block wanted = {.base = (uintptr_t)memory,
                             .bytes = bytes,
                             .type = CJ_MEMORY_REGISTERED,
                             .gpu = context->gpu,
                             .owner = context,
                             .flags = flags,
                             .call = cj__thread.call,
                             .reached = cj__all_gpus()};
    LEAVE(cj__memory_add(&wanted, &block));
}

CUresult cuMemHostUnregister(void *memory) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(memory);
    wait_for_all();
    cj_block *block = cj__memory_begin((uintptr_t)memory);
    if (!block || block->type != CJ_MEMORY_REGISTERED)
        LEAVE(cj__refuse(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p was not registered", memory));
    cj__memory_free(block);
    LEAVE(CUDA_SUCCESS);
}

static const cj_block *host_block(const void *memory) {
    const cj_block *block = cj__memory_at((uintptr_t)memory);
    return block && (block->type == CJ_MEMORY_PINNED || block->type == CJ_MEMORY_REGISTERED) ? block : NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(address);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x, and must be 0", flags));
    if (!host_block(memory))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%p is neither pinned nor registered memory", memory));
    *address = (uintptr_t)memory;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned *flags, void *memory) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(flags);
    const cj_block *block = host_block(memory);
    if (!block) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%p is neither pinned nor registered memory", memory));
    *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    LEAVE(CUDA_SUCCESS);
}
