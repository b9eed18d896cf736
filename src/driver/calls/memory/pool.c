// SPDX-License-Identifier: Apache-2.0
// Memory pools, and memory that is allocated and freed in the order of a stream.
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "memory.h"

_Static_assert((int)CJ_MEMORY_DEVICE == 0 && (int)CJ_MEMORY_MANAGED == 1 && (int)CJ_MEMORY_PINNED == CJ_POOL_TYPES - 1,
               "the first types of memory are those of pools");

// Where a pool's memory is, and of which type.
typedef struct place {
    cj_gpu        *gpu;
    cj_memory_type type;
} place;

static cj_pool *new_pool(place at) {
    cj_pool *made = cj__object_new(CJ_POOL, sizeof *made, NULL, free);
    if (!made) return NULL;
    made->gpu = at.gpu;
    made->type = at.type;
    made->readers = at.type == CJ_MEMORY_DEVICE ? 0 : cj__all_gpus();
    for (int i = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
         i <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; i++)
        made->attribute[i] = 1;
    return made;
}

static CUresult default_pool(place at, cj_pool **pool) {
    cj_pool **kept = &at.gpu->default_pool[at.type];
    if (!*kept) {
        *kept = new_pool(at);
        if (!*kept) return CUDA_ERROR_OUT_OF_MEMORY;
        (*kept)->base.call = NULL;
    }
    *pool = *kept;
    return CUDA_SUCCESS;
}

static CUresult current_pool(place at, cj_pool **pool) {
    *pool = at.gpu->pool[at.type];
    return *pool ? CUDA_SUCCESS : default_pool(at, pool);
}

// ---- the pools of a place

static bool is_host(const CUmemLocation *location) {
    return location->type == CU_MEM_LOCATION_TYPE_HOST || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

// Managed memory may have no preferred location, or the host's: it is the first device's then. Pinned memory of the host is, too.
static CUresult place_at(const CUmemLocation *location, CUmemAllocationType type, place *at) {
    if (!location) return cj__refuse_null("location");
    const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED,
               of_device = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!managed && type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE,
                          "allocation type %d; pools have CU_MEM_ALLOCATION_TYPE_PINNED or _MANAGED", (int)type);
    if (!of_device && !is_host(location) && !(managed && location->type == CU_MEM_LOCATION_TYPE_NONE))
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "location type %d", (int)location->type);
    at->type = managed ? CJ_MEMORY_MANAGED : of_device ? CJ_MEMORY_DEVICE : CJ_MEMORY_PINNED;
    at->gpu = of_device ? cj__gpu_of(location->id) : &cj__driver.gpu[0];
    return at->gpu ? CUDA_SUCCESS : cj__refuse_device(location->id);
}

static CUresult get(place at, CUmemoryPool *result, CUresult (*find)(place at, cj_pool **pool)) {
    cj_pool *pool = NULL;
    if (!result) return cj__refuse_null("pool");
    const CUresult code = find(at, &pool);
    if (!code) *result = HANDLE_OF(pool);
    return code;
}

static CUresult set(place at, CUmemoryPool given) {
    cj_pool *pool = cj__object_find(CJ_POOL, given);
    if (!pool) return cj__refuse_handle(CJ_POOL, given);
    if (pool->gpu != at.gpu || pool->type != at.type)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the pool is of another device, or of another type of memory");
    at.gpu->pool[at.type] = pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    if (!cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    LEAVE(get((place){cj__gpu_of(device), CJ_MEMORY_DEVICE}, pool, default_pool));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
    ENTER(CJ_NEED_INIT);
    if (!cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    LEAVE(get((place){cj__gpu_of(device), CJ_MEMORY_DEVICE}, pool, current_pool));
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    ENTER(CJ_NEED_INIT);
    if (!cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    LEAVE(set((place){cj__gpu_of(device), CJ_MEMORY_DEVICE}, pool));
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
    ENTER(CJ_NEED_INIT);
    place at = {NULL, CJ_MEMORY_DEVICE};
    TRY(place_at(location, type, &at));
    LEAVE(get(at, pool, default_pool));
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
    ENTER(CJ_NEED_INIT);
    place at = {NULL, CJ_MEMORY_DEVICE};
    TRY(place_at(location, type, &at));
    LEAVE(get(at, pool, current_pool));
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool) {
    ENTER(CJ_NEED_INIT);
    place at = {NULL, CJ_MEMORY_DEVICE};
    TRY(place_at(location, type, &at));
    LEAVE(set(at, pool));
}

CUresult cuMemPoolCreate(CUmemoryPool *result, const CUmemPoolProps *properties) {
    ENTER(CJ_NEED_INIT);
    place at = {NULL, CJ_MEMORY_DEVICE};
    REQUIRE(result);
    REQUIRE(properties);
    TRY(place_at(&properties->location, properties->allocType, &at));
    if (properties->handleTypes)
        LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "pools that are shared between processes are missing here"));
    const cj_pool *made = new_pool(at);
    if (!made) LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    *result = HANDLE_OF(made);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemPoolDestroy(CUmemoryPool given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_pool, pool, CJ_POOL, given);
    if (pool == pool->gpu->default_pool[pool->type])
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "a default pool is not destroyed"));
    if (pool == pool->gpu->pool[pool->type]) pool->gpu->pool[pool->type] = NULL;
    cj__object_destroy(pool);
    LEAVE(CUDA_SUCCESS);
}

// Freed memory goes back at once: there is nothing to trim.
CUresult cuMemPoolTrimTo(CUmemoryPool given, size_t kept) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_pool, pool, CJ_POOL, given);
    (void)pool, (void)kept;
    LEAVE(CUDA_SUCCESS);
}

// Switches are int, sizes are 64 bits.
static bool is_switch(CUmemPool_attribute attribute) {
    return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

static CUresult check_attribute(CUmemPool_attribute attribute, const void *value) {
    if (!value) return cj__refuse_null("value");
    if (attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "pool attribute %d is not known", (int)attribute);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool given, CUmemPool_attribute attribute, void *value) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_pool, pool, CJ_POOL, given);
    TRY(check_attribute(attribute, value));
    uint64_t number = pool->attribute[attribute];
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        number = pool->used;
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        number = pool->high;
    if (is_switch(attribute))
        *(int *)value = (int)number;
    else
        *(cuuint64_t *)value = number;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool given, CUmemPool_attribute attribute, void *value) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_pool, pool, CJ_POOL, given);
    TRY(check_attribute(attribute, value));
    const uint64_t number = is_switch(attribute) ? (uint64_t) * (int *)value : *(cuuint64_t *)value;
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "this attribute can only be read"));
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
        if (number) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "a high watermark can only be set to 0"));
        pool->high = pool->used;
    }
    pool->attribute[attribute] = number;
    LEAVE(CUDA_SUCCESS);
}

// ---- which devices reach a pool's memory

// The device that a location names; of the host's: none.
static CUresult gpu_at(const CUmemLocation *location, cj_gpu **gpu) {
    if (!location) return cj__refuse_null("location");
    *gpu = NULL;
    if (is_host(location)) return CUDA_SUCCESS;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "location type %d", (int)location->type);
    *gpu = cj__gpu_of(location->id);
    return *gpu ? CUDA_SUCCESS : cj__refuse_device(location->id);
}

static CUresult change_access(cj_pool *pool, const CUmemAccessDesc *wanted) {
    cj_gpu  *gpu = NULL;
    CUresult code = gpu_at(&wanted->location, &gpu);
    if (code) return code;
    const bool given = wanted->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    const bool of_device = pool->type == CJ_MEMORY_DEVICE;
    if (!gpu && of_device && given)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the host does not reach the memory of a device's pool");
    if (!given && (of_device ? gpu == pool->gpu : !gpu))
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a pool's own %s reaches its memory",
                          of_device ? "device" : "host");
    if (!gpu) return CUDA_SUCCESS;
    const uint32_t bit = UINT32_C(1) << gpu->ordinal;
    pool->readers = given ? pool->readers | bit : pool->readers & ~bit;
    for (cj_block *b = cj__memory_next(0); b && !code; b = cj__memory_next(b->base + b->bytes)) {
        if (b->pool != pool) continue;
        if (given)
            code = cj__memory_reach(b, gpu);
        else
            cj__memory_unreach(b, gpu);
    }
    return code;
}

CUresult cuMemPoolSetAccess(CUmemoryPool given, const CUmemAccessDesc *list, size_t count) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(list);
    FIND(cj_pool, pool, CJ_POOL, given);
    for (size_t i = 0; i < count; i++) TRY(change_access(pool, &list[i]));
    LEAVE(CUDA_SUCCESS);
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool given, CUmemLocation *location) {
    ENTER(CJ_NEED_INIT);
    cj_gpu *gpu = NULL;
    REQUIRE(flags);
    FIND(cj_pool, pool, CJ_POOL, given);
    TRY(gpu_at(location, &gpu));
    const bool of_device = pool->type == CJ_MEMORY_DEVICE;
    const bool can = gpu ? (of_device && gpu == pool->gpu) || pool->readers >> gpu->ordinal & 1 : !of_device;
    *flags = can ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    LEAVE(CUDA_SUCCESS);
}

// ---- in the order of a stream

static CUresult allocate(cj_pool *pool, size_t bytes, cj_context *owner, CUdeviceptr *result) {
    const cj_block wanted = {
        .bytes = bytes, .type = pool->type, .gpu = pool->gpu, .owner = owner, .pool = pool, .reached = pool->readers};
    cj_block      *block = NULL;
    const CUresult code = cj__memory_new(&wanted, &block);
    if (code) return code;
    cj__keep(pool);
    pool->used += bytes;
    if (pool->used > pool->high) pool->high = pool->used;
    *result = block->base;
    return CUDA_SUCCESS;
}

static CUresult allocate_in(CUstream given, cj_pool *pool, size_t bytes, CUdeviceptr *result) {
    cj_stream_object *stream = NULL;
    CUresult          code = cj__stream_of(given, &stream);
    if (!result) return cj__refuse_null("dptr");
    if (!code) code = cj__capture_implicit(stream);
    if (!code && !pool) code = current_pool((place){stream->base.owner->gpu, CJ_MEMORY_DEVICE}, &pool);
    if (code) return code;
    if (!stream->capture) return allocate(pool, bytes, stream->base.owner, result);
    return cj__capture_allocate(stream, bytes, result);
}

CUresult cuMemAllocAsync(CUdeviceptr *memory, size_t bytes, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(allocate_in(stream, NULL, bytes, memory));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *memory, size_t bytes, CUmemoryPool given, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_pool, pool, CJ_POOL, given);
    LEAVE(allocate_in(stream, pool, bytes, memory));
}

CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream given) {
    ENTER(CJ_NEED_CONTEXT);
    cj_stream_object *stream = NULL;
    TRY(cj__stream_of(given, &stream));
    TRY(cj__capture_implicit(stream));
    cj_block *block = cj__memory_begin(memory);
    if (block && !stream->capture) cj__gpu_wait(block->gpu);
    TRY(cj__stream_of(given, &stream));
    block = cj__memory_begin(memory);
    if (!block || block->is_array ||
        (block->type != CJ_MEMORY_DEVICE && block->type != CJ_MEMORY_MANAGED && !block->pool))
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is no address that an allocation returned",
                         (unsigned long long)memory));
    if (stream->capture)
        LEAVE(cj__capture_add(stream,
                              &(cj_work){.kind = CJ_WORK_FREE, .context = stream->base.owner, .as.address = memory}));
    if (!block->is_graph) cj__memory_free(block);
    LEAVE(CUDA_SUCCESS);
}

// ---- memory of graphs

CUresult cuDeviceGraphMemTrim(CUdevice device) {
    ENTER(CJ_NEED_INIT);
    LEAVE(cj__gpu_of(device) ? CUDA_SUCCESS : cj__refuse_device(device));
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value) {
    ENTER(CJ_NEED_INIT);
    uint64_t bytes = 0;
    REQUIRE(value);
    if (!cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    if ((unsigned)attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of graphs' memory", (int)attribute));
    for (const cj_block *b = cj__memory_next(0); b; b = cj__memory_next(b->base + b->bytes)) {
        if (b->is_graph && b->gpu->ordinal == device) bytes += b->bytes;
    }
    *(cuuint64_t *)value = bytes;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(value);
    if (!cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    if (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d can only be read", (int)attribute));
    LEAVE(CUDA_SUCCESS);
}
