// SPDX-License-Identifier: Apache-2.0
// Lets the kernels of a device reach a peer's memory, of this process and of others.
#include <string.h>

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

// ---- other processes

_Static_assert(sizeof(cj_ipc) == sizeof(CUipcMemHandle), "what is handed out is the driver's handle");

cj_status cj__gpu_share(cj_device *device, cj_ptr memory, cj_ipc *shared, cj_error *error) {
    cj_gpu        *gpu = cj__gpu(device);
    CUipcMemHandle handle;
    bool           pushed;
    FAIL_IF(!gpu->driver.IpcGetMemHandle || !gpu->driver.IpcOpenMemHandle || !gpu->driver.IpcCloseMemHandle, CJ_UNSUPPORTED,
            "the driver has no CUDA IPC" CJ_HINT "install a newer driver");
    TRY(cj__gpu_enter(gpu, &pushed, error));
    const cj_status status = CJ_CU(&gpu->driver, error, IpcGetMemHandle, &handle, memory);
    if (!status) memcpy(shared, &handle, sizeof handle);
    cj__gpu_leave(gpu, pushed);
    return status;
}

// Peer access of the two GPUs is let at once where it is needed.
cj_status cj__gpu_open_shared(cj_device *device, const cj_ipc *shared, cj_ptr *memory, cj_error *error) {
    cj_gpu        *gpu = cj__gpu(device);
    CUipcMemHandle handle;
    CUdeviceptr    address = 0;
    bool           pushed;
    memcpy(&handle, shared, sizeof handle);
    TRY(cj__gpu_enter(gpu, &pushed, error));
    const cj_status status =
        CJ_CU(&gpu->driver, error, IpcOpenMemHandle, &address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (!status) *memory = address;
    cj__gpu_leave(gpu, pushed);
    return status;
}

void cj__gpu_close_shared(cj_device *device, cj_ptr memory) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    if (cj__gpu_enter(gpu, &pushed, NULL)) return;  // the context is gone, and what was opened with it
    gpu->driver.IpcCloseMemHandle(memory);
    cj__gpu_leave(gpu, pushed);
}

// A driver without the question is waited for.
cj_status cj__gpu_busy(cj_device *device, cj_stream stream, bool *busy, cj_error *error) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    *busy = false;
    if (!gpu->driver.StreamQuery) return cj__gpu_synchronize(device, stream, error);
    TRY(cj__gpu_enter(gpu, &pushed, error));
    const CUresult code = gpu->driver.StreamQuery(stream);
    *busy = code == CUDA_ERROR_NOT_READY;
    const cj_status status = *busy ? CJ_OK : cj__driver_status(&gpu->driver, code, "cuStreamQuery", error);
    cj__gpu_leave(gpu, pushed);
    return status;
}

int cj__gpu_number(const cj_device *device) { return ((const cj_gpu *)(const void *)device)->device; }

// ---- what memory it is

static cj_status check_place(cj_gpu *gpu, cj_ptr memory, cj_error *error) {
    int place = -1;
    TRY(CJ_CU(&gpu->driver, error, PointerGetAttribute, &place, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    REFUSE_IF(place != (int)gpu->device, "0x%llx is memory of CUDA device %d, and the rank is on CUDA device %d" CJ_HINT
              "give each rank memory of its own device", (unsigned long long)memory, place, (int)gpu->device);
    return CJ_OK;
}

static cj_status check_range(cj_gpu *gpu, cj_ptr memory, size_t bytes, cj_ptr *base, cj_error *error) {
    CUdeviceptr begin = 0;
    size_t      size = 0;
    TRY(CJ_CU(&gpu->driver, error, MemGetAddressRange, &begin, &size, memory));
    REFUSE_IF(memory - begin > size || bytes > size - (memory - begin),
              "%zu bytes at 0x%llx are more than the %zu of their allocation at 0x%llx" CJ_HINT "register what one allocation holds",
              bytes, (unsigned long long)memory, size, (unsigned long long)begin);
    *base = begin;
    return CJ_OK;
}

// A driver without these questions is believed: the memory is then taken for an allocation of its own.
cj_status cj__gpu_locate(cj_device *device, cj_ptr memory, size_t bytes, cj_ptr *base, cj_error *error) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    *base = memory;
    TRY(cj__gpu_enter(gpu, &pushed, error));
    cj_status status = gpu->driver.PointerGetAttribute ? check_place(gpu, memory, error) : CJ_OK;
    if (!status && gpu->driver.MemGetAddressRange) status = check_range(gpu, memory, bytes, base, error);
    cj__gpu_leave(gpu, pushed);
    return status;
}

cj_status cj__gpu_settle(cj_device *device, cj_error *error) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    if (!gpu->driver.CtxSynchronize) return cj__gpu_synchronize(device, NULL, error);
    TRY(cj__gpu_enter(gpu, &pushed, error));
    const cj_status status = cj__driver_status(&gpu->driver, gpu->driver.CtxSynchronize(), "cuCtxSynchronize", error);
    cj__gpu_leave(gpu, pushed);
    return status;
}
