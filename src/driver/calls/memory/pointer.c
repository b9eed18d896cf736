// SPDX-License-Identifier: Apache-2.0
// What is known of an address, and advice on managed memory, which has no effect: all memory is the host's.
#include <string.h>

#include "memory.h"
#include "submit.h"

// ---- attributes of an address

typedef struct value {
    uint64_t number;
    size_t   bytes;  // 0: there is no such attribute
} value;

static bool is_host(const cj_block *block) {
    return block->type == CJ_MEMORY_PINNED || block->type == CJ_MEMORY_REGISTERED;
}

static bool host_reaches(const cj_block *block) { return is_host(block) || block->type == CJ_MEMORY_MANAGED; }

// `block` NULL: the address is the host's. Truths are 4 bytes, as the driver writes them.
static value attribute_of(CUpointer_attribute attribute, const cj_block *b, uint64_t address) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return (value){b && b->owner ? b->owner->base.handle : 0, 8};
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return (value){!b ? 0 : is_host(b) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, 4};
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return (value){b ? address : 0, 8};
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return (value){b && !host_reaches(b) ? 0 : address, 8};
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return (value){b && b->sync_memops, 4};
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return (value){b ? b->id : 0, 8};
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return (value){b && b->type == CJ_MEMORY_MANAGED, 4};
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return (value){b ? (uint64_t)b->gpu->ordinal : (uint64_t)-2, 4};
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return (value){b ? b->base : 0, 8};
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return (value){b ? b->bytes : 0, 8};
    case CU_POINTER_ATTRIBUTE_MAPPED: return (value){b != NULL, 4};
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return (value){b ? b->id : 0, 8};
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return (value){b ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0, 4};
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: return (value){b && b->pool ? b->pool->base.handle : 0, 8};
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return (value){0, 8};
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: return (value){0, 4};
    default: return (value){0, 0};
    }
}

static CUresult refuse_attribute(CUpointer_attribute attribute) {
    return attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS
               ? cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "the attribute P2P_TOKENS")
               : cj__refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of an address is not known", (int)attribute);
}

// Programs ask whether an address is a device's: that it is none is an answer, and not told as a mistake.
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(data);
    const cj_block *block = cj__memory_at(address);
    const value     v = attribute_of(attribute, block, address);
    if (!v.bytes) LEAVE(refuse_attribute(attribute));
    if (!block) LEAVE(CUDA_ERROR_INVALID_VALUE);
    memcpy(data, &v.number, v.bytes);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attribute, void **data, CUdeviceptr address) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(attribute);
    REQUIRE(data);
    const cj_block *block = cj__memory_at(address);
    for (unsigned i = 0; i < count; i++) {
        const value v = attribute_of(attribute[i], block, address);
        if (!v.bytes) LEAVE(refuse_attribute(attribute[i]));
        if (data[i]) memcpy(data[i], &v.number, v.bytes);
    }
    LEAVE(CUDA_SUCCESS);
}

CUresult cuPointerSetAttribute(const void *data, CUpointer_attribute attribute, CUdeviceptr address) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(data);
    cj_block *block = cj__memory_at(address);
    if (!block) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is in no allocation", (unsigned long long)address));
    if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of an address cannot be set", (int)attribute));
    block->sync_memops = *(const unsigned *)data != 0;
    LEAVE(CUDA_SUCCESS);
}

// ---- advice

static CUresult check_managed(CUdeviceptr address, size_t bytes) {
    const cj_block *block = cj__memory_at(address);
    if (!bytes || !block || block->type != CJ_MEMORY_MANAGED || bytes > block->base + block->bytes - address)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at 0x%llx are not managed memory", bytes,
                          (unsigned long long)address);
    return CUDA_SUCCESS;
}

static CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice) {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "advice %d is not known", (int)advice);
    return check_managed(address, bytes);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
    ENTER(CJ_NEED_CONTEXT);
    if (device != CU_DEVICE_CPU && !cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    LEAVE(advise(address, bytes, advice));
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
    ENTER(CJ_NEED_CONTEXT);
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE && !cj__gpu_of(location.id)) LEAVE(cj__refuse_device(location.id));
    LEAVE(advise(address, bytes, advice));
}

static CUresult prefetch(CUdeviceptr address, size_t bytes, CUstream stream) {
    const CUresult code = check_managed(address, bytes);
    return code ? code : cj__submit(stream, &(cj_work){.kind = CJ_WORK_EMPTY});
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    if (device != CU_DEVICE_CPU && !cj__gpu_of(device)) LEAVE(cj__refuse_device(device));
    LEAVE(prefetch(address, bytes, stream));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                               CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x, and must be 0", flags));
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE && !cj__gpu_of(location.id)) LEAVE(cj__refuse_device(location.id));
    LEAVE(prefetch(address, bytes, stream));
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *address, size_t *bytes, size_t count, CUmemLocation *location,
                                 size_t *location_index, size_t locations, unsigned long long flags, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    (void)location, (void)location_index, (void)locations;
    REQUIRE(address);
    REQUIRE(bytes);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", flags));
    for (size_t i = 0; i < count; i++) TRY(prefetch(address[i], bytes[i], stream));
    LEAVE(CUDA_SUCCESS);
}

// ---- what advice an address has: none is kept

static CUresult range_attribute(void *data, size_t bytes, CUmem_range_attribute attribute) {
    if (!data) return cj__refuse_null("data");
    if (attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY || attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a range is not known", (int)attribute);
    if (!bytes || bytes % sizeof(int))
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes of data; they are whole int", bytes);
    const bool is_type = attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE ||
                         attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE;
    const int none = attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY || is_type ? 0 : CU_DEVICE_INVALID;
    for (size_t i = 0; i < bytes / sizeof none; i++) ((int *)data)[i] = none;
    return CUDA_SUCCESS;
}

CUresult cuMemRangeGetAttribute(void *data, size_t bytes, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t count) {
    ENTER(CJ_NEED_CONTEXT);
    TRY(check_managed(address, count));
    LEAVE(range_attribute(data, bytes, attribute));
}

CUresult cuMemRangeGetAttributes(void **data, size_t *bytes, CUmem_range_attribute *attribute, size_t attributes,
                                 CUdeviceptr address, size_t count) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(data);
    REQUIRE(bytes);
    REQUIRE(attribute);
    TRY(check_managed(address, count));
    for (size_t i = 0; i < attributes; i++) TRY(range_attribute(data[i], bytes[i], attribute[i]));
    LEAVE(CUDA_SUCCESS);
}
