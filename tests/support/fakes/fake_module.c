// SPDX-License-Identifier: Apache-2.0
// The fake driver's modules, linker, functions and occupancy.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_parts.h"

// --- modules ---

static void write_log(const char *text, unsigned count, const CUjit_option *option, void **value) {
    char  *buffer = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = (size_t)(uintptr_t)value[i];
    }
    if (buffer && size) snprintf(buffer, size, "%s", text);
}

// The image that the fake's linker makes from a text, and that its loader accepts: this, the text and its NUL.
typedef struct image {
    char     magic[8];
    uint64_t length, sum;
} image;

static const char magic[8] = "FAKEBIN";

static uint64_t sum_of(const char *text, uint64_t length) {
    uint64_t sum = 14695981039346656037u;
    for (uint64_t i = 0; i < length; i++) sum = (sum ^ (unsigned char)text[i]) * 1099511628211u;
    return sum;
}

// The text of an image or of PTX; NULL if it is damaged.
static const char *text_of(const char *from) {
    image head;
    if (*from == '.' || *from == '/') return from;
    if (memcmp(from, magic, sizeof magic)) return NULL;
    memcpy(&head, from, sizeof head);
    const char *text = from + sizeof head;
    return head.length < 1 << 20 && !text[head.length] && sum_of(text, head.length) == head.sum ? text : NULL;
}

static const char jit_log[] = "ptxas application ptx input, line 7; error   : the fake driver's log\n";

CUresult fake_ModuleLoadDataEx(CUmodule *handle, const void *from, unsigned count, CUjit_option *option,
                               void **value) {
    CUresult failure = fake_enter(SYMBOL_ModuleLoadDataEx);
    if (failure) {
        write_log(jit_log, count, option, value);
        return failure;
    }
    if (!cj_fake_context_current()) return CUDA_ERROR_INVALID_CONTEXT;
    const CUresult captures = fake_break_capture();
    if (captures) return captures;
    const char *text = text_of(from);
    if (!text) {
        COUNT(damaged_images, 1);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (text == from) COUNT(compiles, 1);
    module *made = fake_block_make(sizeof *made + strlen(text) + 1);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    strcpy(made->ptx, text);
    made->context = cj_fake_context_current();
    COUNT(alive_modules, 1);
    *handle = (CUmodule)(void *)made;
    return CUDA_SUCCESS;
}

typedef struct linker {
    char  *image;
    size_t bytes;
} linker;

CUresult fake_LinkCreate(unsigned count, CUjit_option *option, void **value, CUlinkState *state) {
    CUresult failure = fake_enter(SYMBOL_LinkCreate);
    if (failure) {
        write_log(jit_log, count, option, value);
        return failure;
    }
    if (!cj_fake_context_current()) return CUDA_ERROR_INVALID_CONTEXT;
    *state = fake_block_make(sizeof(linker));
    if (!*state) return CUDA_ERROR_OUT_OF_MEMORY;
    COUNT(alive_links, 1);
    return CUDA_SUCCESS;
}

CUresult fake_LinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                          unsigned count, CUjit_option *option, void **value) {
    (void)name, (void)count, (void)option, (void)value;
    ENTER_CONTEXT(LinkAddData);
    linker     *into = (linker *)(void *)state;
    const char *text = data;
    if (type != CU_JIT_INPUT_PTX || into->image || text[size - 1]) return CUDA_ERROR_INVALID_VALUE;
    image head = {.length = size - 1, .sum = sum_of(text, size - 1)};
    memcpy(head.magic, magic, sizeof magic);
    into->bytes = sizeof head + size;
    into->image = fake_block_make(into->bytes);
    if (!into->image) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(into->image, &head, sizeof head);
    memcpy(into->image + sizeof head, text, size);
    return CUDA_SUCCESS;
}

CUresult fake_LinkComplete(CUlinkState state, void **made, size_t *bytes) {
    ENTER_CONTEXT(LinkComplete);
    const linker *of = (const linker *)(const void *)state;
    if (!of->image) return CUDA_ERROR_INVALID_VALUE;
    COUNT(compiles, 1);
    *made = of->image;
    *bytes = of->bytes;
    return CUDA_SUCCESS;
}

CUresult fake_LinkDestroy(CUlinkState state) {
    ENTER_CONTEXT(LinkDestroy);
    linker *gone = (linker *)(void *)state;
    COUNT(alive_links, -1);
    fake_block_free(gone->image);
    fake_block_free(gone);
    return CUDA_SUCCESS;
}

CUresult fake_ModuleUnload(CUmodule handle) {
    ENTER_CONTEXT(ModuleUnload);
    module *gone = (module *)(void *)handle;
    COUNT(alive_modules, -1);
    fake_block_free(gone);
    return CUDA_SUCCESS;
}

CUresult fake_ModuleGetFunction(CUfunction *handle, CUmodule from, const char *name) {
    ENTER_CONTEXT(ModuleGetFunction);
    module *in = (module *)(void *)from;
    if (!strstr(in->ptx, name) || in->count == sizeof in->functions / sizeof in->functions[0]) {
        return CUDA_ERROR_NOT_FOUND;
    }
    function *made = &in->functions[in->count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    made->context = in->context;
    *handle = (CUfunction)(void *)made;
    return CUDA_SUCCESS;
}

// A variable's memory is its name in the text.
CUresult fake_ModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule from, const char *name) {
    ENTER_CONTEXT(ModuleGetGlobal);
    const char *at = strstr(((module *)(void *)from)->ptx, name);
    if (!at) return CUDA_ERROR_NOT_FOUND;
    *address = (CUdeviceptr)(uintptr_t)at;
    *bytes = strlen(name);
    return CUDA_SUCCESS;
}

CUresult fake_FuncLoad(CUfunction handle) {
    ENTER_CONTEXT(FuncLoad);
    return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult fake_FuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle) {
    (void)handle;
    ENTER_CONTEXT(FuncGetAttribute);
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = 0; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult fake_FuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    ENTER_CONTEXT(FuncSetAttribute);
    function *of = (function *)(void *)handle;
    switch ((int)attribute) {
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        COUNT(nonportable_optins, 1);
        of->nonportable = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value > LARGEST_SHARED) return CUDA_ERROR_INVALID_VALUE;
        COUNT(shared_optins, 1);
        of->large_shared = value;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult fake_OccupancyMaxPotentialClusterSize(int *size, CUfunction handle, const CUlaunchConfig *config) {
    ENTER_CONTEXT(OccupancyMaxPotentialClusterSize);
    if (!handle || !config->blockDimX) return CUDA_ERROR_INVALID_VALUE;
    COUNT(cluster_questions, 1);
    *size = cj_fake_driver.largest_cluster;
    return CUDA_SUCCESS;
}

CUresult fake_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int threads,
                                                        size_t dynamic_shared) {
    ENTER_CONTEXT(OccupancyMaxActiveBlocksPerMultiprocessor);
    if (!handle || threads <= 0 || dynamic_shared > LARGEST_SHARED) return CUDA_ERROR_INVALID_VALUE;
    *blocks = cj_fake_driver.blocks_per_sm;
    return CUDA_SUCCESS;
}

CUresult fake_OccupancyMaxActiveClusters(int *clusters, CUfunction handle, const CUlaunchConfig *config) {
    ENTER_CONTEXT(OccupancyMaxActiveClusters);
    if (!handle || config->numAttrs != 1 || config->attrs->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        return CUDA_ERROR_INVALID_VALUE;
    *clusters = cj_fake_driver.active_clusters;
    return CUDA_SUCCESS;
}
