// SPDX-License-Identifier: Apache-2.0
// The list of functions, and why others are refused.
#include "library.h"

static const cj_library_function functions[] = {
    {"vprintf", cj__library_vprintf, 4, {8, 8}, true, false},
    {"malloc", cj__library_malloc, 8, {8}, false, true},
    {"__cuda_syscall_aligned_malloc", cj__library_aligned_malloc, 8, {8, 8}, false, true},
    {"free", cj__library_free, 0, {8}, false, true},
    {"__assertfail", cj__library_assertfail, 0, {8, 8, 4, 8, 8}, false, false},
};

// What to do instead of calling a function whose name begins so.
static const struct {
    const char *prefix, *advice;
} refused[] = {
    {"cudaCG", "the CPU device is one GPU: synchronize the grid (this_grid().sync()) instead of a multi-grid"},
    {"__cudaCDP", "dynamic parallelism: launch the kernel from the host"},
    {"cnp", "dynamic parallelism: launch the kernel from the host"},
    {"cuda", "the runtime in kernels (dynamic parallelism): call it from the host"},
    {"__nv_", "a function of libdevice: compile with nvcc or NVRTC, or link libdevice's code"},
    {"", "put its body into this module: nvcc without -rdc=true, or PTX of both sources in one text"},
};

static bool has_shape(const cj_library_function *of, const cj_ir_func *func) {
    const uint64_t result = func->result_count ? func->result[0]->bytes : 0;
    if (func->result_count > 1 || result != of->result || func->param_count > CJ_LIBRARY_ARGUMENTS) return false;
    for (unsigned i = 0; i < CJ_LIBRARY_ARGUMENTS; i++) {
        if (of->argument[i] != (i < func->param_count ? func->param[i]->bytes : 0)) return false;
    }
    return true;
}

const cj_library_function *cj__library_function(cj_cpu_prepare *p, const cj_ir_func *func) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const cj_library_function *of = &functions[i];
        if (strcmp(of->name, func->name) != 0) continue;
        if (!has_shape(of, func)) {
            cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s has other parameters than CUDA's function of that name", func->name);
            return NULL;
        }
        p->program->prints |= of->prints;
        p->program->allocates |= of->allocates;
        return of;
    }
    size_t i = 0;
    while (strncmp(refused[i].prefix, func->name, strlen(refused[i].prefix)) != 0) i++;
    cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device has no function %s: it has no body here; %s", func->name,
                   refused[i].advice);
    return NULL;
}
