// SPDX-License-Identifier: Apache-2.0
// What the typed calls of all families share: from a description to parameters, to a handle, and to the kernel of a one-call
// function.
#ifndef CJ_LAUNCH_CALL_H
#define CJ_LAUNCH_CALL_H

#include <clusterjit/kernel.h>
#include <string.h>

#include "keep.h"

// Writes a family's description as its parameters. INVALID_ARGUMENT names the field.
typedef cj_status (*cj_call_describe)(const void *desc, cj_params *params, cj_error *error);

// All defaults of the family of that name.
cj_status cj__call_family(cj_params *params, const char *family, cj_error *error);

// A parameter by name: a number, where 0 leaves the default; the same of blocks a cluster, where UINT32_MAX says none; a real
// number; a type; one of the words, by its index.
cj_status cj__call_number(cj_params *params, const char *name, uint64_t value, cj_error *error);
cj_status cj__call_cluster(cj_params *params, uint32_t cluster, cj_error *error);
cj_status cj__call_real(cj_params *params, const char *name, double value, cj_error *error);
cj_status cj__call_dtype(cj_params *params, const char *name, cj_dtype type, cj_error *error);
cj_status cj__call_word(cj_params *params, const char *name, const char *const *words, size_t count, unsigned value,
                        cj_error *error);

// Bytes that all addresses are multiples of, where a description says `align`; 0: 16. At least an element's.
uint32_t cj__call_align(uint32_t align, cj_dtype type);

// A handle of `bytes` that begins with its `cj_kernel *`, the rest zero; NULL where it fails. cj__call_destroy takes NULL.
cj_status cj__call_create(cj_device *device, cj_call_describe describe, const void *desc, size_t bytes, void **handle,
                          cj_error *error);
void      cj__call_destroy(void *handle);

// What a one-call function's kernel depends on, as a key: a structure without padding that was not cleared.
static inline void cj__call_key(cj_warm_key *to, const void *key, size_t bytes) {
    memset(to, 0, sizeof *to);
    memcpy(to->bytes, key, bytes);
}

// The kernel of the key: found without a lock or an allocation, or, at the key's first call, made for launches on the
// stream and kept.
cj_status cj__call_kernel(cj_device *device, const cj_warm_key *key, cj_call_describe describe, const void *desc,
                          cj_stream stream, cj_kernel **kernel, cj_error *error);

#endif
