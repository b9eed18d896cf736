// SPDX-License-Identifier: Apache-2.0
// What a function is asked and told: its attributes and parameters.
#include <stddef.h>

#include "module.h"

enum { REGISTERS = 32 };  // nobody assembles the kernel: a usual number

static unsigned volume(cj_dim3 size) { return size.x * size.y * size.z; }

static int threads_of(const cj_entry_info *info, const cj_limits *limits) {
    if (info->block.x) return (int)volume(info->block);
    return (int)(info->block_max.x ? volume(info->block_max) : limits->max_threads_per_block);
}

static int dynamic_of(const cj_fun *fun, const cj_entry_info *info, const cj_limits *limits) {
    const int opted = fun->attribute[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    if (opted >= 0) return opted;
    return info->static_shared < limits->shared_per_block ? (int)(limits->shared_per_block - info->static_shared) : 0;
}

CUresult cj__fun_get(const cj_fun *fun, CUfunction_attribute attribute, int *value) {
    const cj_limits *limits = fun->mod->context->gpu->limits;
    cj_entry_info    info = {CJ_INIT(info)};
    cj_function_info(fun->code, &info, NULL);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = threads_of(&info, limits); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)info.static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = REGISTERS; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = (int)limits->compute_capability; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = dynamic_of(fun, &info, limits); break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = info.needs_cluster && !info.cluster.x; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = (int)info.cluster.x; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = (int)info.cluster.y; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = (int)info.cluster.z; break;
    default:
        if ((unsigned)attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "function attribute %d is not known", (int)attribute);
        *value = fun->attribute[attribute];
    }
    return CUDA_SUCCESS;
}

static CUresult set_dynamic(cj_fun *fun, int value) {
    const cj_limits *limits = fun->mod->context->gpu->limits;
    cj_entry_info    info = {CJ_INIT(info)};
    cj_function_info(fun->code, &info, NULL);
    const unsigned most = limits->shared_per_block_optin > info.static_shared
                              ? limits->shared_per_block_optin - info.static_shared
                              : 0;
    if (value < 0 || (unsigned)value > most)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s: %d bytes of dynamic shared memory; the most is %u", fun->name,
                          value, most);
    fun->attribute[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = value;
    return CUDA_SUCCESS;
}

CUresult cj__fun_set(cj_fun *fun, CUfunction_attribute attribute, int value) {
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return set_dynamic(fun, value);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a carveout of %d percent", value);
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
        int known = 0;
        (void)cj__fun_get(fun, attribute, &known);
        if (known != value)
            return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "%s: the cluster size is what the PTX requires", fun->name);
        break;
    }
    default: return cj__refuse(CUDA_ERROR_INVALID_VALUE, "function attribute %d cannot be set", (int)attribute);
    }
    fun->attribute[attribute] = value;
    return CUDA_SUCCESS;
}

CUresult cj__fun_param(const cj_fun *fun, size_t index, size_t *offset, size_t *bytes) {
    const uint32_t count = cj_function_param_count(fun->code);
    size_t         at = 0;
    if (!offset) return cj__refuse_null("paramOffset");
    if (index >= count)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s has %u parameters, and no number %zu", fun->name, count, index);
    for (uint32_t i = 0; i <= index; i++) {
        const size_t align = cj_function_param_align(fun->code, i);
        at = (at + align - 1) / align * align;
        if (i < index) at += cj_function_param_bytes(fun->code, i);
    }
    *offset = at;
    if (bytes) *bytes = cj_function_param_bytes(fun->code, (uint32_t)index);
    return CUDA_SUCCESS;
}
