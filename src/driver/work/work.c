// SPDX-License-Identifier: Apache-2.0
#include "work.h"

#include <string.h>

#include "memory.h"

static CUresult host_run(const cj_host_work *host) {
    const cj_pause pause = cj__pause();
    if (host->callback)
        host->callback(host->stream, CUDA_SUCCESS, host->user);
    else
        host->call(host->user);
    cj__resume(pause);
    return CUDA_SUCCESS;
}

static CUresult write_check(const cj_work *work) {
    const cj_block *block = cj__memory_at(work->as.write.address);
    if (!block || work->as.write.address % work->as.write.bytes ||
        work->as.write.bytes > block->base + block->bytes - work->as.write.address)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is no aligned address of device memory",
                          (unsigned long long)work->as.write.address);
    return CUDA_SUCCESS;
}

static CUresult write_run(const cj_work *work) {
    const CUresult code = write_check(work);
    if (!code) memcpy((void *)(uintptr_t)work->as.write.address, &work->as.write.value, work->as.write.bytes);
    return code;
}

static CUresult await_run(const cj_work *work) {
    const CUresult code = write_check(work);
    const uint64_t wanted = work->as.write.value;
    uint64_t       found = 0;
    bool           is_there = false;
    if (code) return code;
    memcpy(&found, (const void *)(uintptr_t)work->as.write.address, work->as.write.bytes);
    const bool wide = work->as.write.bytes == 8;
    switch (work->as.write.compare) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        is_there = wide ? (int64_t)(found - wanted) >= 0 : (int32_t)(found - wanted) >= 0;
        break;
    case CU_STREAM_WAIT_VALUE_EQ: is_there = found == wanted; break;
    case CU_STREAM_WAIT_VALUE_AND: is_there = (found & wanted) != 0; break;
    default: is_there = (found | wanted) != (wide ? UINT64_MAX : UINT32_MAX); break;
    }
    if (is_there) return CUDA_SUCCESS;
    cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "the stream would wait for 0x%llx, and no earlier work wrote it",
               (unsigned long long)wanted);
    cj__hint("work runs in the order of its calls here: make the call that writes the value first");
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cj__work_check(const cj_work *work) {
    switch (work->kind) {
    case CJ_WORK_LAUNCH: return cj__launch_check(&work->as.launch);
    case CJ_WORK_COPY: return cj__copy_check(&work->as.copy);
    case CJ_WORK_SET: return cj__set_check(&work->as.set);
    case CJ_WORK_AWAIT:
    case CJ_WORK_WRITE: return write_check(work);
    case CJ_WORK_HOST:
        return work->as.host.call || work->as.host.callback ? CUDA_SUCCESS : cj__refuse_null("the host function");
    default: return CUDA_SUCCESS;
    }
}

CUresult cj__work_run(const cj_work *work) {
    if (work->context->fault) return work->context->fault;
    switch (work->kind) {
    case CJ_WORK_LAUNCH: return cj__launch_run(&work->as.launch);
    case CJ_WORK_COPY: return cj__copy_run(&work->as.copy);
    case CJ_WORK_SET: return cj__set_run(&work->as.set);
    case CJ_WORK_HOST: return host_run(&work->as.host);
    case CJ_WORK_WRITE: return write_run(work);
    case CJ_WORK_AWAIT: return await_run(work);
    case CJ_WORK_RECORD: cj__event_record(work->as.event); return CUDA_SUCCESS;
    default: return CUDA_SUCCESS;  // EMPTY; a CHILD's work is the graph's own when it runs
    }
}
