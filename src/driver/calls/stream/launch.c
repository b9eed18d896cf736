// SPDX-License-Identifier: Apache-2.0
// The calls that launch kernels.
#include <stdlib.h>

#include "library.h"
#include "submit.h"

static CUresult launch(CUfunction given, CUstream stream, cj_launch_work what, void **extra) {
    CUresult code = cj__fun_of(given, &what.fun);
    void   **made = NULL;
    if (code) return code;
    if (extra && what.argument) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "both kernelParams and extra are given");
    if (extra) {
        code = cj__arguments_of(what.fun, extra, &made);
        what.argument = made;
    }
    cj_work work = {.kind = CJ_WORK_LAUNCH, .as.launch = what};
    if (!code) code = cj__submit(stream, &work);
    free(made);
    return code;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **argument,
                        void **extra) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(launch(function, stream,
                 (cj_launch_work){.grid = {grid_x, grid_y, grid_z},
                                  .block = {block_x, block_y, block_z},
                                  .shared = shared,
                                  .argument = argument},
                 extra));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **argument, void **extra) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(config);
    LEAVE(launch(function, config->hStream,
                 (cj_launch_work){.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                                  .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                                  .shared = config->sharedMemBytes,
                                  .attribute = config->attrs,
                                  .attributes = config->numAttrs,
                                  .argument = argument},
                 extra));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   CUstream stream, void **argument) {
    ENTER(CJ_NEED_CONTEXT);
    const CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    LEAVE(launch(function, stream,
                 (cj_launch_work){.grid = {grid_x, grid_y, grid_z},
                                  .block = {block_x, block_y, block_z},
                                  .shared = shared,
                                  .attribute = &cooperative,
                                  .attributes = 1,
                                  .argument = argument},
                 NULL));
}
