// SPDX-License-Identifier: Apache-2.0
// The table of the driver API's functions (calls.def).
#ifndef CJ_DRIVER_CALLS_H
#define CJ_DRIVER_CALLS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cj_found { CJ_FOUND, CJ_FOUND_NOTHING, CJ_FOUND_NEWER } cj_found;

// The newest function of a name that a program for this version of CUDA may call.
cj_found cj__call_find(const char *name, int version, void **address);

// Reports that the function is missing; CUDA_ERROR_NOT_SUPPORTED.
int cj__refuse_missing(const char *symbol);

#endif
