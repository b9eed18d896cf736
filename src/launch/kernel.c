// SPDX-License-Identifier: Apache-2.0
// A kernel: plan and text, loaded on a device, with its workspace. All that can fail or allocate happens in load.
#include <clusterjit/kernel.h>
#include <stdlib.h>

#include "error.h"

struct cj_kernel {
    cj_device       *device;
    cj_plan          plan;
    char            *ptx;
    cj_module       *module;
    cj_ptr           workspace;  // 0 where the plan needs none
    cj_launch_config config;     // but for the stream and the arguments
};

// Caller's arguments, derived ones and the workspace.
enum { ARGUMENTS_MAX = 16 };

static cj_status load(cj_kernel *kernel, cj_error *error) {
    cj_device *device = kernel->device;
    cj_plan *plan = &kernel->plan;
    size_t length;
    cj_status status = cj_plan_emit(plan, &kernel->ptx, &length, error);
    if (status) return status;
    status = cj_module_load(device, kernel->ptx, length, &kernel->module, error);
    if (status) return status;
    status = cj_module_function(kernel->module, plan->entry, &kernel->config.function, error);
    if (status || !plan->workspace_bytes) return status;
    status = cj_mem_alloc(device, plan->workspace_bytes, &kernel->workspace, error);
    if (status) return status;
    status = cj_mem_fill(device, kernel->workspace, 0, plan->workspace_bytes, NULL, error);
    return status ? status : cj_synchronize(device, NULL, error);  // the caller's stream may be any
}

cj_status cj_kernel_load(cj_device *device, const cj_plan *plan, cj_kernel **kernel, cj_error *error) {
    *kernel = NULL;
    cj_kernel *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while creating a kernel");
    made->device = device;
    made->plan = *plan;
    made->config.grid = plan->grid;
    made->config.block = plan->block;
    made->config.cluster = plan->cluster;
    made->config.dynamic_shared = plan->dynamic_shared;
    cj_status status = load(made, error);
    if (status) {
        cj_kernel_destroy(made);
        return status;
    }
    *kernel = made;
    return CJ_OK;
}

cj_status cj_kernel_create(cj_device *device, const cj_params *params, cj_kernel **kernel, cj_error *error) {
    cj_plan plan;
    *kernel = NULL;
    cj_status status = cj_plan_make(params, cj_device_limits(device), NULL, &plan, error);
    return status ? status : cj_kernel_load(device, &plan, kernel, error);
}

void cj_kernel_destroy(cj_kernel *kernel) {
    if (!kernel) return;
    cj_mem_free(kernel->device, kernel->workspace);
    cj_module_unload(kernel->module);
    cj_text_free(kernel->ptx);
    free(kernel);
}

const cj_plan *cj_kernel_plan(const cj_kernel *kernel) { return &kernel->plan; }
const char    *cj_kernel_ptx(const cj_kernel *kernel) { return kernel->ptx; }

cj_status cj_kernel_launch(cj_kernel *kernel, cj_stream stream, void *const *arguments, uint32_t count,
                           cj_error *error) {
    cj_plan *plan = &kernel->plan;
    void *all[ARGUMENTS_MAX];
    if (count + plan->derived_count + 1 > ARGUMENTS_MAX)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%u arguments are more than any kernel family takes", count);
    uint32_t n = 0;
    while (n < count) all[n] = arguments[n], n++;
    for (uint32_t i = 0; i < plan->derived_count; i++) all[n++] = &plan->derived[i];
    all[n++] = &kernel->workspace;
    cj_launch_config config = kernel->config;
    config.stream = stream;
    config.arguments = all;
    config.argument_count = n;
    return cj_launch(kernel->device, &config, error);
}
