// SPDX-License-Identifier: Apache-2.0
// The table of the driver API's functions (calls.def).
#ifndef CJ_DRIVER_CALLS_H
#define CJ_DRIVER_CALLS_H

#include <stddef.h>

typedef void (*cj_call_address)(void);

typedef struct cj_call {
    const char     *name;
    int             since;  // the version of CUDA that brought this signature
    cj_call_address address;
} cj_call;

// Gives cuGetProcAddress the table, which the caller keeps.
void cj__calls_set(const cj_call *calls, size_t count);

// Reports that the function is missing; CUDA_ERROR_NOT_SUPPORTED.
int cj__refuse_missing(const char *symbol);

#endif
