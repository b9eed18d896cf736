// SPDX-License-Identifier: Apache-2.0
// Loads PTX text, or an image compiled from it, and finds its functions.
#define _GNU_SOURCE  // dladdr
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allocate.h"
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

// Names the versions that decide whether this driver can compile this text.
static void note_versions(const cj_gpu *gpu, const cj_ir_module *ir, cj_error *error) {
    const cj_limits *limits = &gpu->base.limits;
    const uint16_t   newest = cj__ptx_of_driver(limits->driver_version);
    cj__driver_note(error, " (PTX .version %u.%u, .target %s; %s, sm_%u, driver for CUDA %u.%u", ir->version / 10u,
                    ir->version % 10u, ir->target ? ir->target : "none", limits->name, limits->compute_capability,
                    limits->driver_version / 1000, limits->driver_version % 1000 / 10);
    if (newest != UINT16_MAX) cj__driver_note(error, ", which reads PTX up to %u.%u", newest / 10u, newest % 10u);
    cj__driver_note(error, ")");
}

// Options of the JIT compiler, and buffers for its logs.
typedef struct jit {
    char         errors[2048], infos[512];
    CUjit_option option[4];
    void        *value[4];
} jit;

enum { JIT_OPTION_COUNT = 4 };

// The driver gets one byte less than the buffer has, so each log ends in NUL.
static void jit_init(jit *j) {
    *j = (jit){
        .option = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                   CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES},
        .value = {j->errors, (void *)(uintptr_t)(sizeof j->errors - 1), j->infos,
                  (void *)(uintptr_t)(sizeof j->infos - 1)},
    };
}

static void note_logs(cj_error *error, jit *j) {
    note_log(error, "error log", j->errors);
    note_log(error, "info log", j->infos);
}

static cj_status load_image(cj_gpu *gpu, const char *image, const cj_ir_module *ir, CUmodule *handle,
                            cj_error *error) {
    jit j;
    jit_init(&j);
    cj_status status =
        CJ_CU(&gpu->driver, error, ModuleLoadDataEx, handle, image, JIT_OPTION_COUNT, j.option, j.value);
    if (!status) return CJ_OK;
    note_versions(gpu, ir, error);
    note_logs(error, &j);
    return status;
}

cj_status cj__gpu_load(cj_device *device, const char *image, size_t length, cj_ir_module *ir, cj_module **module,
                       cj_error *error) {
    (void)length;  // a text ends with its NUL; an image contains its length
    cj_gpu        *gpu = cj__gpu(device);
    bool           pushed;
    cj_gpu_module *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a module");
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (!status) {
        status = load_image(gpu, image, ir, &made->handle, error);
        cj__gpu_leave(gpu, pushed);
    }
    if (status) {
        cj__free(made);
        return status;
    }
    *module = &made->base;
    return CJ_OK;
}

// The linker's image belongs to the link state, so it is copied before the state is destroyed.
static cj_status link_image(const cj_driver *driver, CUlinkState state, const char *ptx, size_t length, char **image,
                            size_t *bytes, cj_error *error) {
    void     *linked = NULL, *text = (void *)(uintptr_t)ptx;  // only read, though the driver says no const
    size_t    size = 0;
    cj_status status =
        CJ_CU(driver, error, LinkAddData, state, CU_JIT_INPUT_PTX, text, length + 1, "ptx", 0, NULL, NULL);
    if (!status) status = CJ_CU(driver, error, LinkComplete, state, &linked, &size);
    if (status) return status;
    *image = cj__malloc(size);
    if (!*image) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for an image of %zu bytes", size);
    memcpy(*image, linked, size);
    *bytes = size;
    return CJ_OK;
}

cj_status cj__gpu_compile(cj_device *device, const char *ptx, size_t length, char **image, size_t *bytes,
                          cj_error *error) {
    cj_gpu          *gpu = cj__gpu(device);
    const cj_driver *driver = &gpu->driver;
    CUlinkState      state = NULL;
    jit              j;
    bool             pushed;
    if (!driver->LinkCreate || !driver->LinkAddData || !driver->LinkComplete || !driver->LinkDestroy)
        return cj__fail(error, CJ_UNSUPPORTED, "the driver lacks cuLinkCreate or what belongs to it");
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    jit_init(&j);
    status = CJ_CU(driver, error, LinkCreate, JIT_OPTION_COUNT, j.option, j.value, &state);
    if (!status) {
        status = link_image(driver, state, ptx, length, image, bytes, error);
        driver->LinkDestroy(state);
    }
    cj__gpu_leave(gpu, pushed);
    if (status) note_logs(error, &j);
    return status;
}

// The JIT compiler is part of the driver's library, whose file name (libcuda.so.580.159.03) tells more than the
// driver's own answer, 13.0. If the file name has no version, size and time identify it. The JIT gets no option that
// changes its output.
void cj__gpu_compiler(const cj_device *device, char *line, size_t size) {
    const cj_gpu *gpu = (const cj_gpu *)(const void *)device;
    Dl_info       info;
    struct stat   file = {0};
    void         *symbol;
    memcpy(&symbol, &gpu->driver.Init, sizeof symbol);  // ISO C has no cast from a function pointer
    char       *path = dladdr(symbol, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (path) stat(path, &file);
    snprintf(line, size, "driver %u, %s of %lld B from %lld, no options", device->limits.driver_version,
             slash ? slash + 1 : "a library", (long long)file.st_size, (long long)file.st_mtime);
    free(path);  // the C library's
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
        cj__free(function);
    }
    cj__free(module);
}

// Loads the function's code now: lazy loading would make the first launch slow, and make it wait for running kernels.
static cj_status find_entry(cj_gpu *gpu, CUmodule module, const char *name, cj_gpu_function *function,
                            cj_error *error) {
    const cj_driver *driver = &gpu->driver;
    int              registers = 0;
    cj_status        status = CJ_CU(driver, error, ModuleGetFunction, &function->handle, module, name);
    if (!status && driver->FuncLoad) status = CJ_CU(driver, error, FuncLoad, function->handle);
    if (!status) {
        status = CJ_CU(driver, error, FuncGetAttribute, &function->fixed_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                       function->handle);
    }
    if (!status) status = CJ_CU(driver, error, FuncGetAttribute, &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function->handle);
    function->base.contract.registers = (uint32_t)registers;
    if (status) cj__driver_note(error, " (entry %s)", name);
    return status;
}

cj_status cj__gpu_function(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error) {
    cj_gpu          *gpu = cj__gpu(module->device);
    bool             pushed;
    cj_gpu_function *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for function %s", entry->name);
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (!status) {
        status = find_entry(gpu, ((cj_gpu_module *)(void *)module)->handle, entry->name, made, error);
        cj__gpu_leave(gpu, pushed);
    }
    if (status) {
        cj__free(made);
        return status;
    }
    *function = &made->base;
    return CJ_OK;
}

cj_status cj__gpu_global(cj_module *module, const cj_ir_var *var, cj_ptr *address, cj_error *error) {
    cj_gpu     *gpu = cj__gpu(module->device);
    bool        pushed;
    CUdeviceptr at = 0;
    size_t      bytes = 0;
    cj_status   status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, ModuleGetGlobal, &at, &bytes, ((cj_gpu_module *)(void *)module)->handle,
                   var->name);
    cj__gpu_leave(gpu, pushed);
    if (status) cj__driver_note(error, " (variable %s; the driver leaves out what no kernel uses)", var->name);
    *address = at;
    return status;
}
