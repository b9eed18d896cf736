// SPDX-License-Identifier: Apache-2.0
// What the typed calls of fused kernels share: their arrays, and the launch.
#ifndef CJ_GPUS_FUSED_H
#define CJ_GPUS_FUSED_H

#include "call.h"
#include "error.h"
#include "gpus_state.h"

typedef struct cj_gpus_call {
    const cj_ptr *array[CJ_GPUS_ARRAYS];
    uint32_t      count;
    cj_ptr        bits;  // of the addresses of matrices, or'ed
} cj_gpus_call;

// Adds an array, of elements of `bytes`, and looks at its addresses: INVALID_ARGUMENT names one that is missing or not aligned.
// The addresses of a matrix say which loads the kernel may use.
cj_status cj__gpus_array(const cj_gpus *gpus, cj_gpus_call *call, const char *name, const cj_ptr *array, uint32_t bytes,
                         bool matrix, cj_error *error);

// The parameters gpus, mail and, of families that have matrices, align; then the launch of the kernels of these parameters.
cj_status cj__gpus_call_run(cj_gpus *gpus, cj_params *params, const cj_gpus_call *call, const cj_stream *stream, cj_error *error);

#endif
