// SPDX-License-Identifier: Apache-2.0
// Softmax along the rows of a matrix, its logarithm, and their gradients: each row is read once, by one block or by one
// cluster that holds it in its blocks' registers and shared memory.
//
//     cj_softmax_desc   desc = {CJ_INIT(desc), .shape = {.rows = 4096, .columns = 65536, .dtype = CJ_BF16}};
//     cj_softmax_arrays arrays = {CJ_INIT(arrays), .x = x, .y = y};
//     cj_softmax_launch(device, &desc, &arrays, stream, &error);
#ifndef CLUSTERJIT_SOFTMAX_H
#define CLUSTERJIT_SOFTMAX_H

#include <clusterjit/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

// What to do. Begin with CJ_INIT, then set what matters.
//   forward   y[r][c] = e^t / sum of e^t over the row, with t = scale * x[r][c] + mask[r mod mask_rows][c];
//             log: its logarithm
//   backward  dx = scale * (dy - sum(dy * y)) * y; log: scale * (dy - sum(dy) * e^y)
// A NaN in a row, or a row with -infinity alone, makes the row NaN.
typedef struct cj_softmax_desc {
    CJ_STRUCT_SIZE(cj_softmax_desc);
    cj_rows  shape;
    int      log;  // logsoftmax
    int      backward;
    int      mask;       // forward: a mask is added
    double   scale;      // finite [1]
    uint64_t mask_rows;  // 1 to 2^26, with a mask [1]: as many as there are queries, where all heads have the same
} cj_softmax_desc;

// Device pointers. What a description does not use stays 0.
typedef struct cj_softmax_arrays {
    CJ_STRUCT_SIZE(cj_softmax_arrays);
    cj_ptr x;       // forward: [rows, columns]
    cj_ptr y;       // forward: written; backward: read
    cj_ptr mask;    // [mask_rows, columns], of the type and the stride of x
    cj_ptr dy, dx;  // backward: read, written
} cj_softmax_arrays;

typedef struct cj_softmax cj_softmax;

// Plans, generates, checks and loads the kernel. *softmax is owned by the caller. INVALID_ARGUMENT and CONTRACT name
// field, value and limit.
CJ_API cj_status cj_softmax_create(cj_device *device, const cj_softmax_desc *desc, cj_softmax **softmax,
                                   cj_error *error);
CJ_API void      cj_softmax_destroy(cj_softmax *softmax);  // NULL is allowed; its launches must have ended

// Asynchronous on `stream`; allocates nothing. Runs of one cj_softmax must be ordered with each other.
// INVALID_ARGUMENT for an array that is missing, or no multiple of the alignment.
CJ_API cj_status cj_softmax_run(cj_softmax *softmax, const cj_softmax_arrays *arrays, cj_stream stream,
                                cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (so not while
// the stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_softmax_launch(cj_device *device, const cj_softmax_desc *desc, const cj_softmax_arrays *arrays,
                                   cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `softmax`.
CJ_API const cj_kernel *cj_softmax_kernel(const cj_softmax *softmax);

#ifdef __cplusplus
}
#endif
#endif
