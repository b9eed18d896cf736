// SPDX-License-Identifier: Apache-2.0
// Work that is kept: it owns what it points to, and keeps the objects that it names.
#include <stdlib.h>
#include <string.h>

#include "graph.h"

// Pointers to the arguments, and after them their values.
static void **copy_arguments(const cj_launch_work *launch) {
    const cj_function *code = launch->fun->code;
    const uint32_t     count = cj_function_param_count(code);
    size_t             bytes = (count + 1) * sizeof(void *);
    for (uint32_t i = 0; i < count; i++) bytes += cj_function_param_bytes(code, i);
    void         **argument = malloc(bytes);
    unsigned char *at = (unsigned char *)(argument + count + 1);
    for (uint32_t i = 0; argument && i < count; i++) {
        argument[i] = memcpy(at, launch->argument[i], cj_function_param_bytes(code, i));
        at += cj_function_param_bytes(code, i);
    }
    return argument;
}

static CUresult copy_launch(cj_launch_work *launch) {
    void             **argument = copy_arguments(launch);
    const size_t       bytes = launch->attributes * sizeof *launch->attribute;
    CUlaunchAttribute *attribute = malloc(bytes + 1);
    if (!argument || !attribute) {
        free(argument);
        free(attribute);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (bytes) memcpy(attribute, launch->attribute, bytes);
    launch->argument = argument;
    launch->attribute = attribute;
    cj__keep(launch->fun);
    return CUDA_SUCCESS;
}

CUresult cj__work_copy(const cj_work *from, cj_work *to) {
    CUresult code = CUDA_SUCCESS;
    *to = *from;
    switch (from->kind) {
    case CJ_WORK_LAUNCH: code = copy_launch(&to->as.launch); break;
    case CJ_WORK_COPY:
        if (to->as.copy.to.array) cj__keep(to->as.copy.to.array);
        if (to->as.copy.from.array) cj__keep(to->as.copy.from.array);
        break;
    case CJ_WORK_RECORD:
    case CJ_WORK_WAIT: cj__keep(to->as.event); break;
    case CJ_WORK_ALLOC: cj__keep(to->as.memory); break;
    case CJ_WORK_CHILD:
        code = cj__graph_clone(from->as.child, &to->as.child);
        if (!code) to->as.child->is_child = true;
        break;
    default: break;
    }
    if (code) {
        *to = (cj_work){.kind = CJ_WORK_EMPTY};
        return code;
    }
    cj__keep(to->context);
    return CUDA_SUCCESS;
}

void cj__work_drop(cj_work *work) {
    switch (work->kind) {
    case CJ_WORK_LAUNCH:
        free(work->as.launch.argument);
        free((void *)(uintptr_t)work->as.launch.attribute);
        cj__let(work->as.launch.fun);
        break;
    case CJ_WORK_COPY:
        cj__let(work->as.copy.to.array);
        cj__let(work->as.copy.from.array);
        break;
    case CJ_WORK_RECORD:
    case CJ_WORK_WAIT: cj__let(work->as.event); break;
    case CJ_WORK_ALLOC: cj__let(work->as.memory); break;
    case CJ_WORK_CHILD: cj__graph_destroy(work->as.child); break;
    default: break;
    }
    cj__let(work->context);
    *work = (cj_work){.kind = CJ_WORK_EMPTY};
}
