// SPDX-License-Identifier: Apache-2.0
// Lets the kernels of a device reach a peer's memory.
#include "error.h"
#include "gpu.h"

// A context whose access was let before, by anybody, is as good. Two devices may be one GPU.
cj_status cj__gpu_reach(cj_device *device, cj_device *peer, cj_error *error) {
    cj_gpu *gpu = cj__gpu(device), *other = cj__gpu(peer);
    bool    pushed;
    int     can = 0;
    if (gpu->context == other->context) return CJ_OK;
    FAIL_IF(!gpu->driver.DeviceCanAccessPeer || !gpu->driver.CtxEnablePeerAccess, CJ_UNSUPPORTED,
            "the driver has no peer access" CJ_HINT "install a newer driver");
    TRY(cj__gpu_enter(gpu, &pushed, error));
    cj_status status = gpu->device == other->device
                           ? CJ_OK
                           : CJ_CU(&gpu->driver, error, DeviceCanAccessPeer, &can, gpu->device, other->device);
    if (!status && !can && gpu->device != other->device)
        status = cj__fail(error, CJ_UNSUPPORTED, "%s (CUDA device %d) does not reach the memory of %s (CUDA device %d)" CJ_HINT
                          "choose GPUs that NVLink or PCIe peer access joins: nvidia-smi topo -p2p r shows them",
                          gpu->base.limits.name, (int)gpu->device, other->base.limits.name, (int)other->device);
    if (!status) {
        const CUresult code = gpu->driver.CtxEnablePeerAccess(other->context, 0);
        if (code != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
            status = cj__driver_status(&gpu->driver, code, "cuCtxEnablePeerAccess", error);
    }
    cj__gpu_leave(gpu, pushed);
    return status;
}
