// SPDX-License-Identifier: Apache-2.0
// Devices that reach each other's memory: what one allocates is wrapped for the other.
#include "memory.h"

static CUresult other_gpu(CUcontext given, cj_gpu **other) {
    const cj_context *peer = cj__object_find(CJ_CONTEXT, given), *own = cj__current();
    if (!peer) return cj__refuse_handle(CJ_CONTEXT, given);
    if (peer->gpu == own->gpu)
        return cj__refuse(CUDA_ERROR_INVALID_CONTEXT, "both contexts are of device %d", own->gpu->ordinal);
    *other = peer->gpu;
    return CUDA_SUCCESS;
}

// Pools (cuMemPoolSetAccess) and virtual memory (cuMemSetAccess) have access rights of their own.
static bool follows_peers(const cj_block *block, const cj_gpu *gpu) {
    return block->gpu == gpu && block->type == CJ_MEMORY_DEVICE && !block->pool;
}

CUresult cuCtxEnablePeerAccess(CUcontext given, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    cj_gpu *own = cj__current()->gpu, *other = NULL;
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x, and must be 0", flags));
    TRY(other_gpu(given, &other));
    const uint32_t bit = UINT32_C(1) << other->ordinal;
    if (own->peers & bit)
        LEAVE(cj__refuse(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "device %d reaches device %d already", own->ordinal,
                         other->ordinal));
    for (cj_block *b = cj__memory_next(0); b; b = cj__memory_next(b->base + b->bytes)) {
        if (follows_peers(b, other)) TRY(cj__memory_reach(b, own));
    }
    own->peers |= bit;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuCtxDisablePeerAccess(CUcontext given) {
    ENTER(CJ_NEED_CONTEXT);
    cj_gpu *own = cj__current()->gpu, *other = NULL;
    TRY(other_gpu(given, &other));
    const uint32_t bit = UINT32_C(1) << other->ordinal;
    if (!(own->peers & bit))
        LEAVE(cj__refuse(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "device %d does not reach device %d", own->ordinal,
                         other->ordinal));
    for (cj_block *b = cj__memory_next(0); b; b = cj__memory_next(b->base + b->bytes)) {
        if (follows_peers(b, other)) cj__memory_unreach(b, own);
    }
    own->peers &= ~bit;
    LEAVE(CUDA_SUCCESS);
}
