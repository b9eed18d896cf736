// SPDX-License-Identifier: Apache-2.0
// Argmax: the index of the largest element of each row of a matrix. Rows are read once, by loads of 16 bytes whatever their length
// and stride; short ones by some lanes of a warp, and where rows are few, by several blocks each.
#ifndef CLUSTERJIT_ARGMAX_H
#define CLUSTERJIT_ARGMAX_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ_ARGMAX_NO_CLUSTER UINT32_MAX  // of desc.cluster: a kernel without clusters

// What to find. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_argmax_desc {
    CJ_STRUCT_SIZE(cj_argmax_desc);
    uint64_t rows;     // 1 to 2^31 - 1 [1]
    uint64_t columns;  // elements of a row, 1 to 2^31 - 1
    uint64_t stride;   // elements from row to row of x, at least columns [columns]
    uint32_t cluster;  // blocks of a cluster, 1 to 16, or CJ_ARGMAX_NO_CLUSTER [chosen for rows and columns]
    uint32_t block;    // threads a block, a multiple of 32, 32 to 1024 [chosen for the row]
    uint32_t parts;    // of a row, each of a block or a cluster, 1 to 4096 [chosen for rows and columns]
    uint32_t lanes;    // of a warp that have a row: 8, 16 or 32 [chosen; a block or more where cluster, block or parts is set]
    cj_dtype dtype;    // CJ_F32, CJ_F16, CJ_BF16, CJ_I32 or CJ_U32 [f32]
    uint32_t align;    // bytes that x is a multiple of: 16, 8, 4 or 2, no less than an element [16]
} cj_argmax_desc;

typedef struct cj_argmax cj_argmax;

// Plans, generates, checks and loads the kernel. *argmax is owned by the caller. INVALID_ARGUMENT and CONTRACT name field,
// value and limit.
CJ_API cj_status cj_argmax_create(cj_device *device, const cj_argmax_desc *desc, cj_argmax **argmax, cj_error *error);
CJ_API void      cj_argmax_destroy(cj_argmax *argmax);  // NULL is allowed; its launches must have ended

// out[r] = the index, a uint32_t, of the largest element of row r of x. Of equal elements it is the first; NaN is greater
// than any number, all NaN are equal, and -0 equals 0. Device pointers: x as `align` says, out aligned to 4 bytes; they do not overlap.
// INVALID_ARGUMENT for an array that is NULL or not aligned. Asynchronous on `stream`; allocates nothing. Launches on different
// streams need no order.
CJ_API cj_status cj_argmax_run(cj_argmax *argmax, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while the
// stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_argmax_launch(cj_device *device, const cj_argmax_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                                  cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `argmax`.
CJ_API const cj_kernel *cj_argmax_kernel(const cj_argmax *argmax);

#ifdef __cplusplus
}
#endif
#endif
