// SPDX-License-Identifier: Apache-2.0
// What the typed calls of fused kernels share: their arrays, and the launches.
#ifndef CJ_GPUS_FUSED_H
#define CJ_GPUS_FUSED_H

#include "call.h"
#include "error.h"
#include "gpus_state.h"

// An array of a call: its elements' bytes, and how many of them a row has; 0: it is the same for all rows.
typedef struct cj_gpus_array {
    const char   *name;
    const cj_ptr *of;
    uint32_t      bytes;
    uint64_t      width;
    bool          matrix;  // its addresses say which loads the kernel may use
} cj_gpus_array;

typedef struct cj_gpus_call {
    const cj_ptr *array[CJ_GPUS_ARRAYS];
    uint64_t      row_bytes[CJ_GPUS_ARRAYS];
    uint32_t      count;
    cj_ptr        bits;                    // of the addresses of matrices, or'ed
    uint64_t      rows, piece;             // of all; of a launch
    cj_kernel    *kernel[2][CJ_GPUS_MAX];  // of the launches, and of the last one if it has fewer rows
} cj_gpus_call;

// Adds an array, and looks at its addresses: INVALID_ARGUMENT names one that is missing or not aligned.
cj_status cj__gpus_array(const cj_gpus *gpus, cj_gpus_call *call, cj_gpus_array array, cj_error *error);

// Sets the parameters gpus, mail and, of families that have matrices, align; and loads the kernels of these parameters, which is all that may
// be refused. Then the launches.
cj_status cj__gpus_call_prepare(cj_gpus *gpus, cj_params *params, cj_gpus_call *call, cj_error *error);
cj_status cj__gpus_call_launch(cj_gpus *gpus, const cj_gpus_call *call, const cj_stream *stream, cj_error *error);
cj_status cj__gpus_call_run(cj_gpus *gpus, cj_params *params, cj_gpus_call *call, const cj_stream *stream, cj_error *error);

// ---- rows.c

// `params`, or those of a piece of its rows for which mail has room.
cj_status cj__gpus_divide_rows(const cj_gpus *gpus, const cj_params *params, cj_params *piece, cj_error *error);

#endif
