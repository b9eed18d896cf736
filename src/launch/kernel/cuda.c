// SPDX-License-Identifier: Apache-2.0
// Modules of CUDA C++ on a device.
#include <clusterjit/nvrtc.h>
#include <stdio.h>

#include "error.h"
#include "sized.h"

// Of its own architecture, with what that alone has. The CPU device runs code for every target: sm_90a has all that it executes.
static void write_arch(const cj_device *device, char arch[16]) {
    const cj_limits *limits = cj_device_limits(device);
    const unsigned   number = limits->every_target ? 90 : limits->compute_capability;
    snprintf(arch, 16, number >= 90 ? "sm_%ua" : "sm_%u", number);
}

cj_status cj_module_from_cuda(cj_device *device, const cj_cuda_source *source, cj_module **module, cj_error *error) {
    if (!device || !source || !module)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "cj_module_from_cuda: an argument is 0");
    SIZED(cj_cuda_source, source);
    char           arch[16];
    cj_cuda_source whole = *source;
    char          *ptx = NULL;
    size_t         length = 0;
    *module = NULL;
    write_arch(device, arch);
    if (!whole.arch) whole.arch = arch;
    cj_status status = cj_ptx_from_cuda(&whole, &ptx, &length, error);
    if (!status) status = cj_module_from_ptx(device, ptx, length, module, error);
    cj_text_free(ptx);
    return status;
}
