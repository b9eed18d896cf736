// SPDX-License-Identifier: Apache-2.0
// What the typed calls of all families share: from a description to parameters, and
// to the kernel of a one-call function.
#ifndef CJ_LAUNCH_CALL_H
#define CJ_LAUNCH_CALL_H

#include <clusterjit/kernel.h>

#include "keep.h"

// Writes a family's description as its parameters. INVALID_ARGUMENT names the field.
typedef cj_status (*cj_call_describe)(const void *desc, cj_params *params, cj_error *error);

// A number or a type by name; 0 leaves the default.
cj_status cj__call_number(cj_params *params, const char *name, uint64_t value, cj_error *error);
cj_status cj__call_dtype(cj_params *params, const char *name, cj_dtype type, cj_error *error);

// All defaults of the family of that name.
cj_status cj__call_family(cj_params *params, const char *family, cj_error *error);

// The kernel of the key: found without a lock or an allocation, or, at the key's first call, made for launches on the
// stream and kept.
cj_status cj__call_kernel(cj_device *device, const cj_warm_key *key, cj_call_describe describe, const void *desc,
                          cj_stream stream, cj_kernel **kernel, cj_error *error);

#endif
