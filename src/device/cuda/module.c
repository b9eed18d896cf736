// SPDX-License-Identifier: Apache-2.0
// PTX text to a loaded function.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "gpu.h"

// Appends a JIT log to the message, and takes its first "line N" as the error's place.
static void note_log(cj_error *error, const char *title, char *log) {
    size_t length = strlen(log);
    while (length && (log[length - 1] == '\n' || log[length - 1] == ' ')) log[--length] = '\0';
    if (!error || !length) return;
    cj__driver_note(error, "\n%s: %s", title, log);
    const char *line = strstr(log, "line ");
    if (line && !error->line) error->line = (unsigned)strtoul(line + strlen("line "), NULL, 10);
}

// The versions that decide whether this driver can compile this text.
static void note_versions(const cj_gpu *gpu, const cj_ir_module *ir, cj_error *error) {
    const cj_limits *limits = &gpu->base.limits;
    cj__driver_note(error, " (PTX .version %u.%u, .target %s; %s, sm_%u, driver for CUDA %u.%u)", ir->version / 10u,
                    ir->version % 10u, ir->target ? ir->target : "none", limits->name, limits->compute_capability,
                    limits->driver_version / 1000, limits->driver_version % 1000 / 10);
}

static cj_status compile(cj_gpu *gpu, const char *ptx, const cj_ir_module *ir, CUmodule *handle, cj_error *error) {
    char errors[2048] = "", infos[512] = "";

    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                             CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    // One byte less, so that the logs end in NUL whatever the driver writes.
    void *value[] = {errors, (void *)(uintptr_t)(sizeof errors - 1), infos, (void *)(uintptr_t)(sizeof infos - 1)};
    enum { OPTION_COUNT = sizeof option / sizeof option[0] };

    cj_status status = CJ_CU(&gpu->driver, error, ModuleLoadDataEx, handle, ptx, OPTION_COUNT, option, value);
    if (!status) return CJ_OK;
    note_versions(gpu, ir, error);
    note_log(error, "error log", errors);
    note_log(error, "info log", infos);
    return status;
}

cj_status cj__gpu_load(cj_device *device, const char *ptx, size_t length, cj_ir_module *ir, cj_module **module,
                       cj_error *error) {
    (void)length;  // the driver stops at the NUL
    cj_gpu        *gpu = cj__gpu(device);
    bool           pushed;
    cj_gpu_module *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a module");
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (!status) {
        status = compile(gpu, ptx, ir, &made->handle, error);
        cj__gpu_leave(gpu, pushed);
    }
    if (status) {
        free(made);
        return status;
    }
    *module = &made->base;
    return CJ_OK;
}

void cj__gpu_unload(cj_module *module) {
    cj_gpu *gpu = cj__gpu(module->device);
    bool    pushed;
    if (!cj__gpu_enter(gpu, &pushed, NULL)) {  // else the context is gone, and the module with it
        gpu->driver.ModuleUnload(((cj_gpu_module *)(void *)module)->handle);
        cj__gpu_leave(gpu, pushed);
    }
    for (cj_function *function = module->functions, *next; function; function = next) {
        next = function->next;
        free(function);
    }
    free(module);
}

// Loads the function's code now: a lazy load would make the first launch slow, and wait for running kernels.
static cj_status find_entry(cj_gpu *gpu, CUmodule module, const char *name, cj_gpu_function *function,
                            cj_error *error) {
    const cj_driver *driver = &gpu->driver;
    cj_status        status = CJ_CU(driver, error, ModuleGetFunction, &function->handle, module, name);
    if (!status && driver->FuncLoad) status = CJ_CU(driver, error, FuncLoad, function->handle);
    if (!status) {
        status = CJ_CU(driver, error, FuncGetAttribute, &function->fixed_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                       function->handle);
    }
    if (status) cj__driver_note(error, " (entry %s)", name);
    return status;
}

cj_status cj__gpu_function(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error) {
    cj_gpu          *gpu = cj__gpu(module->device);
    bool             pushed;
    cj_gpu_function *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for function %s", entry->name);
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (!status) {
        status = find_entry(gpu, ((cj_gpu_module *)(void *)module)->handle, entry->name, made, error);
        cj__gpu_leave(gpu, pushed);
    }
    if (status) {
        free(made);
        return status;
    }
    *function = &made->base;
    return CJ_OK;
}
