// SPDX-License-Identifier: Apache-2.0
// Streams that write a value to memory, or wait for one. What came before has run, so a value that is awaited is there; a
// stream that would wait for work to come is refused.
#include "submit.h"

static CUresult write_value(CUstream stream, CUdeviceptr address, uint64_t value, unsigned bytes, unsigned flags) {
    if (flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags);
    return cj__submit(stream, &(cj_work){.kind = CJ_WORK_WRITE, .as.write = {address, value, bytes, 0}});
}

static CUresult wait_value(CUstream stream, CUdeviceptr address, uint64_t value, unsigned bytes, unsigned flags) {
    const unsigned known = CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH;
    if (flags & ~known) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags);
    return cj__submit(stream, &(cj_work){.kind = CJ_WORK_AWAIT, .as.write = {address, value, bytes, flags & 3}});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(write_value(stream, address, value, 4, flags));
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(write_value(stream, address, value, 8, flags));
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(wait_value(stream, address, value, 4, flags));
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(wait_value(stream, address, value, 8, flags));
}

static CUresult one(CUstream stream, const CUstreamBatchMemOpParams *p) {
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return wait_value(stream, p->waitValue.address, p->waitValue.value, 4, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return wait_value(stream, p->waitValue.address, p->waitValue.value64, 8, p->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return write_value(stream, p->writeValue.address, p->writeValue.value, 4, p->writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return write_value(stream, p->writeValue.address, p->writeValue.value64, 8, p->writeValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: return CUDA_SUCCESS;
    default: return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "memory operation %d is missing here", (int)p->operation);
    }
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    if (flags || count > 256)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x, operations %u", flags, count));
    if (count) REQUIRE(list);
    for (unsigned i = 0; i < count; i++) TRY(one(stream, &list[i]));
    LEAVE(CUDA_SUCCESS);
}
