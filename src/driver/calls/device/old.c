// SPDX-License-Identifier: Apache-2.0
// Names from before a function's second version, whose signature is the same.
#include "driver.h"

CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }
CUresult cuCtxPopCurrent(CUcontext *context) { return cuCtxPopCurrent_v2(context); }
CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }
CUresult cuStreamDestroy(CUstream stream) { return cuStreamDestroy_v2(stream); }
CUresult cuEventDestroy(CUevent event) { return cuEventDestroy_v2(event); }
CUresult cuMemHostRegister(void *memory, size_t bytes, unsigned flags) {
    return cuMemHostRegister_v2(memory, bytes, flags);
}
CUresult cuLinkCreate(unsigned count, CUjit_option *option, void **value, CUlinkState *link) {
    return cuLinkCreate_v2(count, option, value, link);
}
CUresult cuLinkAddData(CUlinkState link, CUjitInputType type, void *data, size_t bytes, const char *name,
                       unsigned count, CUjit_option *option, void **value) {
    return cuLinkAddData_v2(link, type, data, bytes, name, count, option, value);
}
CUresult cuLinkAddFile(CUlinkState link, CUjitInputType type, const char *path, unsigned count, CUjit_option *option,
                       void **value) {
    return cuLinkAddFile_v2(link, type, path, count, option, value);
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return cuStreamWriteValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return cuStreamWriteValue64_v2(stream, address, value, flags);
}
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return cuStreamWaitValue32_v2(stream, address, value, flags);
}
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return cuStreamWaitValue64_v2(stream, address, value, flags);
}
CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *list, unsigned flags) {
    return cuStreamBatchMemOp_v2(stream, count, list, flags);
}
CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope) {
    ENTER(CJ_NEED_CONTEXT);
    (void)target, (void)scope;
    LEAVE(CUDA_SUCCESS);
}
