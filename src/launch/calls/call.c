// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocate.h"
#include "error.h"

cj_status cj__call_number(cj_params *params, const char *name, uint64_t value, cj_error *error) {
    char text[24];
    if (!value) return CJ_OK;
    snprintf(text, sizeof text, "%" PRIu64, value);
    return cj_params_set(params, name, text, error);
}

cj_status cj__call_number_or(cj_params *params, const char *name, uint64_t value, uint64_t none, cj_error *error) {
    return cj__call_number(params, name, value ? value : none, error);
}

cj_status cj__call_extent(cj_params *params, const char *name, uint64_t value, const char *purpose, cj_error *error) {
    if (!value) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: 0 is below 1: there is nothing to %s", name, purpose);
    return cj__call_number(params, name, value, error);
}

cj_status cj__call_cluster(cj_params *params, uint32_t cluster, cj_error *error) {
    if (cluster == UINT32_MAX) return cj_params_set(params, "cluster", "0", error);
    return cj__call_number(params, "cluster", cluster, error);
}

cj_status cj__call_real(cj_params *params, const char *name, double value, cj_error *error) {
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return cj_params_set(params, name, text, error);
}

cj_status cj__call_word(cj_params *params, const char *name, const char *const *words, size_t count, unsigned value,
                        cj_error *error) {
    if (value < count) return cj_params_set(params, name, words[value], error);
    return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: %u is outside 0 to %zu", name, value, count - 1);
}

cj_status cj__call_dtype(cj_params *params, const char *name, cj_dtype type, cj_error *error) {
    const char *word = cj_dtype_name(type);
    if (!word) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: %d is not a cj_dtype", name, (int)type);
    return cj_params_set(params, name, word, error);
}

cj_status cj__call_refuse_array(const char *name, cj_ptr array, uint32_t align, const char *hint, cj_error *error) {
    if (!array) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: NULL, but the launch needs this array", name);
    cj__fail(error, CJ_INVALID_ARGUMENT, "%s: 0x%" PRIx64 " is not a multiple of %" PRIu32 " bytes", name,
             (uint64_t)array, align);
    if (hint) cj__hint(error, "%s", hint);
    return CJ_INVALID_ARGUMENT;
}

cj_status cj__call_family(cj_params *params, const char *family, cj_error *error) {
    const cj_family *found;
    cj_status        status = cj_family_find(family, &found, error);
    if (!status) cj_params_init(params, found);
    return status;
}

uint32_t cj__call_align(uint32_t align, cj_dtype type) {
    const uint32_t element = (uint32_t)cj_dtype_size(type), wanted = align ? align : 16;
    return wanted < element ? element : wanted;
}

cj_status cj__call_create(cj_device *device, cj_call_describe describe, const void *desc, size_t bytes, void **handle,
                          cj_error *error) {
    *handle = NULL;
    cj_params params;
    cj_status status = describe(desc, &params, error);
    if (status) return status;
    cj_call *made = cj__malloc(sizeof *made + bytes);
    if (!made)
        return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while creating a handle of the family %s",
                        cj_family_name(params.family));
    made->device = device;
    memcpy(made + 1, desc, bytes);
    status = cj_kernel_create(device, &params, &made->kernel, error);
    if (status) {
        cj__free(made);
        return status;
    }
    *handle = made;
    return CJ_OK;
}

void cj__call_destroy(void *handle) {
    if (!handle) return;
    cj_kernel_destroy(((cj_call *)handle)->kernel);
    cj__free(handle);
}

// The first call with its key. If another thread has added a kernel meanwhile, that kernel is used, and this one is
// released.
static cj_status make_kernel(cj_device *device, const cj_warm_key *key, cj_call_describe describe, const void *desc,
                             cj_stream stream, cj_kernel **kernel, cj_error *error) {
    cj_params  params;
    cj_keep   *keep;
    cj_kernel *got = NULL;
    bool       added = false;
    cj_status  status = describe(desc, &params, error);
    if (!status) status = cj__keep_of(device, &keep, error);
    if (!status) status = cj_kernel_get(device, &params, stream, &got, error);
    if (status) return status;
    *kernel = cj__warm_add(&keep->warm, key, got, cj_kernel_release, &added);
    if (!added) cj_kernel_release(got);
    return *kernel ? CJ_OK : cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to keep a kernel");
}

cj_status cj__call_find(cj_device *device, const cj_warm_key *key, cj_call_describe describe, const void *desc,
                        cj_stream stream, cj_kernel **kernel, cj_error *error) {
    const cj_keep *keep = cj__keep(device);
    *kernel = keep ? cj__warm_find(&keep->warm, key) : NULL;
    return *kernel ? CJ_OK : make_kernel(device, key, describe, desc, stream, kernel, error);
}
