// SPDX-License-Identifier: Apache-2.0
// Top-k: the k largest or smallest elements of each row of a matrix, sorted or not, and their indices; or the k-th of
// each alone. Rows are read once; where there are few, the blocks of a cluster read one together.
#ifndef CLUSTERJIT_TOPK_H
#define CLUSTERJIT_TOPK_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ_TOPK_NO_CLUSTER UINT32_MAX  // of desc.cluster: a kernel without clusters

// What to find. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_topk_desc {
    CJ_STRUCT_SIZE(cj_topk_desc);
    uint64_t rows;       // 1 to 2^31 - 1 [1]
    uint64_t columns;    // elements of a row, 1 to 2^31 - 1
    uint32_t k;          // how many, 1 to 2048, at most columns
    cj_dtype dtype;      // CJ_F32, CJ_F16, CJ_BF16, CJ_I32 or CJ_U32 [f32]
    bool     smallest;   // [the largest]
    bool     kth;        // the k-th of each row alone [all k]
    bool     index_u32;  // indices are uint32_t [int64_t]
    uint64_t stride;     // elements from row to row of x, at least columns [columns]
    uint32_t align;      // bytes that x is a multiple of: 16, 8, 4 or 2, no less than an element [16]
    uint32_t cluster;    // blocks a row, 1 to 16, or CJ_TOPK_NO_CLUSTER [chosen for rows and columns]
    uint32_t block;      // threads a block, a multiple of 32, 32 to 1024 [chosen for the row]
    bool     unsorted;   // the k elements in any order, which may differ from launch to launch; not with kth [in order]
} cj_topk_desc;

typedef struct cj_topk cj_topk;

// Plans, generates, checks and loads the kernel. *topk is owned by the caller. INVALID_ARGUMENT and CONTRACT name
// field, value and limit.
CJ_API cj_status cj_topk_create(cj_device *device, const cj_topk_desc *desc, cj_topk **topk, cj_error *error);
CJ_API void      cj_topk_destroy(cj_topk *topk);  // NULL is allowed; its launches must have ended

// values[r * k + i], indices[r * k + i] = element i of row r in order, from the greatest (or least) on, and its index
// in the row; with kth, values[r] and indices[r] = the k-th. Device pointers, values and indices aligned to their
// elements; they do not overlap x. Of equal elements those of lower index come first. NaN is greater than any number,
// all NaN are equal, and -0 equals 0; values have the bits of x. Results are exact and the same in each run; with
// unsorted the same elements are found, but each in any place of its row's results: no sort is spent on them.
// INVALID_ARGUMENT for an array that is NULL or not aligned. Asynchronous on `stream`; allocates nothing. Launches on
// different streams need no order.
CJ_API cj_status cj_topk_run(cj_topk *topk, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while the
// stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_topk_launch(cj_device *device, const cj_topk_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                                cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `topk`.
CJ_API const cj_kernel *cj_topk_kernel(const cj_topk *topk);

#ifdef __cplusplus
}
#endif
#endif
