// SPDX-License-Identifier: Apache-2.0
// The calls that copy memory. All of them are complete when they return, so those with a stream differ only in a capture.
#include "places.h"
#include "submit.h"

static cj_place device_at(CUdeviceptr address) { return (cj_place){.type = CU_MEMORYTYPE_DEVICE, .address = address}; }
static cj_place unified_at(CUdeviceptr address) {
    return (cj_place){.type = CU_MEMORYTYPE_UNIFIED, .address = address};
}
static cj_place host_at(const void *address) {
    return (cj_place){.type = CU_MEMORYTYPE_HOST, .address = (uintptr_t)address};
}

static CUresult submit(CUstream stream, const cj_copy *copy) {
    return cj__submit(stream, &(cj_work){.kind = CJ_WORK_COPY, .as.copy = *copy});
}

static CUresult flat(CUstream stream, cj_place to, cj_place from, size_t bytes) {
    return submit(stream, &(cj_copy){.to = to, .from = from, .bytes = bytes, .height = 1, .depth = 1});
}

// ---- from address to address

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(NULL, unified_at(to), unified_at(from), bytes));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(stream, unified_at(to), unified_at(from), bytes));
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(NULL, device_at(to), host_at(from), bytes));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(stream, device_at(to), host_at(from), bytes));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(NULL, host_at(to), device_at(from), bytes));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(stream, host_at(to), device_at(from), bytes));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(NULL, device_at(to), device_at(from), bytes));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(flat(stream, device_at(to), device_at(from), bytes));
}

static CUresult check_contexts(CUcontext to, CUcontext from) {
    cj_context    *context = NULL;
    const CUresult code = cj__context_of(to, &context);
    return code ? code : cj__context_of(from, &context);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    TRY(check_contexts(to_context, from_context));
    LEAVE(flat(NULL, unified_at(to), unified_at(from), bytes));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    TRY(check_contexts(to_context, from_context));
    LEAVE(flat(stream, unified_at(to), unified_at(from), bytes));
}

// ---- from and to arrays of one dimension

static CUresult array_at(CUarray given, size_t offset, cj_place *place) {
    *place = (cj_place){.type = CU_MEMORYTYPE_ARRAY, .x = offset};
    return cj__array_of(given, &place->array);
}

static CUresult to_array(CUstream stream, CUarray given, size_t offset, cj_place from, size_t bytes) {
    cj_place       to;
    const CUresult code = array_at(given, offset, &to);
    return code ? code : flat(stream, to, from, bytes);
}

static CUresult from_array(CUstream stream, cj_place to, CUarray given, size_t offset, size_t bytes) {
    cj_place       from;
    const CUresult code = array_at(given, offset, &from);
    return code ? code : flat(stream, to, from, bytes);
}

CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(to_array(NULL, to, offset, device_at(from), bytes));
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(from_array(NULL, device_at(to), from, offset, bytes));
}

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(to_array(NULL, to, offset, host_at(from), bytes));
}

CUresult cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(from_array(NULL, host_at(to), from, offset, bytes));
}

CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t bytes, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(to_array(stream, to, offset, host_at(from), bytes));
}

CUresult cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(from_array(stream, host_at(to), from, offset, bytes));
}

CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    cj_place place;
    TRY(array_at(from, from_offset, &place));
    LEAVE(to_array(NULL, to, to_offset, place, bytes));
}

// ---- in two and three dimensions

static CUresult copy_2d(CUstream stream, const CUDA_MEMCPY2D *given) {
    cj_copy copy;
    if (!given) return cj__refuse_null("pCopy");
    const CUresult code = cj__copy_from_2d(given, &copy);
    return code ? code : submit(stream, &copy);
}

static CUresult copy_3d(CUstream stream, const CUDA_MEMCPY3D *given) {
    cj_copy copy;
    if (!given) return cj__refuse_null("pCopy");
    const CUresult code = cj__copy_from_3d(given, &copy);
    return code ? code : submit(stream, &copy);
}

static CUresult copy_peer(CUstream stream, const CUDA_MEMCPY3D_PEER *given) {
    cj_copy copy;
    if (!given) return cj__refuse_null("pCopy");
    CUresult code = check_contexts(given->dstContext, given->srcContext);
    if (!code) code = cj__copy_from_peer(given, &copy);
    return code ? code : submit(stream, &copy);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(copy_2d(NULL, copy));
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(copy_2d(NULL, copy));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(copy_2d(stream, copy));
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(copy_3d(NULL, copy));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(copy_3d(stream, copy));
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(copy_peer(NULL, copy));
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(copy_peer(stream, copy));
}

// ---- batches

static CUresult batch(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count, size_t *failed,
                      CUstream stream) {
    CUresult code = CUDA_SUCCESS;
    if (failed) *failed = SIZE_MAX;
    if (!to || !from || !bytes || !count) return cj__refuse_null("a list of the batch");
    if (!stream) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a batch takes a stream that is not the default one");
    for (size_t i = 0; i < count && !code; i++) {
        code = flat(stream, unified_at(to[i]), unified_at(from[i]), bytes[i]);
        if (code && failed) *failed = i;
    }
    return code;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *attribute_index, size_t attribute_count,
                            size_t *failed, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    (void)attributes, (void)attribute_index, (void)attribute_count;
    LEAVE(batch(to, from, bytes, count, failed, stream));
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attribute_index, size_t attribute_count,
                               CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    (void)attributes, (void)attribute_index, (void)attribute_count;
    LEAVE(batch(to, from, bytes, count, NULL, stream));
}

static CUresult batch_3d(size_t count, const CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, CUstream stream) {
    CUresult code = CUDA_SUCCESS;
    if (failed) *failed = SIZE_MAX;
    if (!list || !count) return cj__refuse_null("opList");
    if (!stream) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a batch takes a stream that is not the default one");
    for (size_t i = 0; i < count && !code; i++) {
        cj_copy copy;
        code = cj__copy_from_batch(&list[i], &copy);
        if (!code) code = submit(stream, &copy);
        if (code && failed) *failed = i;
    }
    return code;
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *failed, unsigned long long flags,
                              CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", flags));
    LEAVE(batch_3d(count, list, failed, stream));
}

CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags,
                                 CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are %llu, and must be 0", flags));
    LEAVE(batch_3d(count, list, NULL, stream));
}
