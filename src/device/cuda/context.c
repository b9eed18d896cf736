// SPDX-License-Identifier: Apache-2.0
// Makes the device's context current for a few driver calls.
#include "gpu.h"

cj_status cj__gpu_enter(cj_gpu *gpu, bool *pushed, cj_error *error) {
    CUcontext current = NULL;
    *pushed = false;
    cj_status status = CJ_CU(&gpu->driver, error, CtxGetCurrent, &current);
    if (status || current == gpu->context) return status;
    status = CJ_CU(&gpu->driver, error, CtxPushCurrent, gpu->context);
    *pushed = !status;
    return status;
}

// The pop's result is ignored: it repeats the fault of an earlier kernel, which synchronize reports.
void cj__gpu_leave(cj_gpu *gpu, bool pushed) {
    CUcontext popped;
    if (pushed) gpu->driver.CtxPopCurrent(&popped);
}
