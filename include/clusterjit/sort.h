// SPDX-License-Identifier: Apache-2.0
// Sort: the elements of each row of a matrix in order, and where they were. Equal elements keep their order. A row of at most 65536
// elements is read once and written once where the shared memory of a block, or of the blocks of a cluster, holds it; a longer row, and
// one of few rows that a block cannot hold, is read and written by a launch for each digit of 8 bits. A payload, another array whose elements
// belong to those of x, is put into the same order in the same launch (keys with values). Further arrays are put into it by the indices:
// other[indices[i]], a gather.
#ifndef CLUSTERJIT_SORT_H
#define CLUSTERJIT_SORT_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ_SORT_NO_CLUSTER UINT32_MAX  // of desc.cluster: a kernel without clusters

// What to sort. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_sort_desc {
    CJ_STRUCT_SIZE(cj_sort_desc);
    uint64_t rows;          // 1 to 2^31 - 1 [1]
    uint64_t columns;       // elements of a row, 1 to 2^30
    cj_dtype dtype;         // CJ_F32 … CJ_U16, all but the types of gemm alone [f32]
    bool     descending;    // the greatest first [the least]
    bool     values_only;   // indices are not written, and may be 0 [both]
    bool     indices_only;  // values are not written, and may be 0 [both]; with values_only the payload alone is written
    bool     index_u32;     // indices are uint32_t [int64_t]
    uint64_t stride;        // elements from row to row of x, at least columns [columns]; rows of results have no gaps
    uint32_t cluster;       // blocks a row, 1 to 16, or CJ_SORT_NO_CLUSTER [chosen for the row]
    uint32_t block;         // threads a block, a multiple of 32, 32 to 1024 [chosen for the row]
    cj_dtype offsets;       // CJ_I32 or CJ_I64: rows are segments of one array, by offsets of this type [rows are those of a matrix]
    uint64_t payload_stride;  // elements from row to row of the payload, at least columns [columns]
    uint32_t payload_bytes;   // of an element of the payload: 1, 2, 4 or 8, of any type [there is no payload]
    uint64_t elements;        // of segments: the most of all of them together, to 2^40 [not told: rows * columns]
} cj_sort_desc;

typedef struct cj_sort cj_sort;

// Plans, generates, checks and loads the kernel. *sort is owned by the caller. INVALID_ARGUMENT and CONTRACT name
// field, value and limit.
CJ_API cj_status cj_sort_create(cj_device *device, const cj_sort_desc *desc, cj_sort **sort, cj_error *error);
CJ_API void      cj_sort_destroy(cj_sort *sort);  // NULL is allowed; its launches must have ended

// values[r * columns + i], indices[r * columns + i] = element i of row r in order, and its index in the row. Device pointers, x,
// values and indices aligned to their elements; results do not overlap x. NaN is greater than any number, all NaN are equal,
// and -0 equals 0; equal elements keep their order; values have the bits of x. INVALID_ARGUMENT for an array that is wanted, and
// is NULL or not aligned; that results do not overlap is not checked. Asynchronous on `stream`; allocates nothing. Launches of one cj_sort whose
// plan has a workspace (cj_kernel_plan(cj_sort_kernel(sort))->workspace_bytes, allocated by cj_sort_create) must be ordered with each
// other, as they share it. Rows of more than 65536 columns have one, and rows that no block holds (without clusters; or so few that the
// grid is faster, such as 1 row of 20000 f32); some 9 bytes an element of 4 bytes with both results.
CJ_API cj_status cj_sort_run(cj_sort *sort, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while the
// stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads. Each stream has a
// workspace of its own.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_sort_launch(cj_device *device, const cj_sort_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                                cj_stream stream, cj_error *error);

// The same where desc.offsets says that x is one array of segments: offsets[rows + 1] ascend, and segment i is x[offsets[i]] …
// x[offsets[i + 1] - 1], empty where these are equal. values and indices lie as x; an index counts from its segment's begin. columns is
// that of the longest segment: a longer one, and offsets that fall, end the launch with an error (trap). Where a warp, a block or a cluster holds
// the longest, each segment takes the time of one of `columns` elements. This is so up to 65536, or where desc.elements is 0 up to 262144, of elements of 8
// bytes 131072; without clusters up to 26624 of 1 or 2 bytes, 16384 of 4, 14336 of 8. Longer ones, and segments that by desc.elements have a quarter
// of rows * columns elements or less (of 2^22 or more), are sorted by lists and the grid: in the time of the elements that there are, and of some 9 launches.
// These plans have a workspace of some 11 bytes for each of desc.elements (f32 with both results), so say how many there are at most. More, which are
// offsets[rows] - offsets[0], end the launch with an error, before anything is written beyond them. INVALID_ARGUMENT: offsets that are 0 or not aligned, a
// stride, elements without offsets, a description without offsets; CONTRACT: elements that take more blocks than a grid has.
CJ_API cj_status cj_sort_run_segmented(cj_sort *sort, cj_ptr x, cj_ptr offsets, cj_ptr values, cj_ptr indices, cj_stream stream,
                                       cj_error *error);
CJ_API cj_status cj_sort_launch_segmented(cj_device *device, const cj_sort_desc *desc, cj_ptr x, cj_ptr offsets, cj_ptr values,
                                          cj_ptr indices, cj_stream stream, cj_error *error);

// Device pointers of a sort with a payload. What a description does not use stays 0.
typedef struct cj_sort_arrays {
    CJ_STRUCT_SIZE(cj_sort_arrays);
    cj_ptr x;                // the keys
    cj_ptr payload;          // its bits are moved; of segments it lies as x
    cj_ptr sorted_payload;   // written: rows without gaps; of segments it lies as x
    cj_ptr values, indices;  // written, as by the calls above
    cj_ptr offsets;          // of segments
} cj_sort_arrays;

// The same where desc.payload_bytes says that there is a payload, of a matrix or of segments: sorted_payload[r * columns + i] =
// payload[r * payload_stride + indices[r * columns + i]]. Its stride is not that of x, since it is often a part of another matrix. values_only,
// indices_only, or both say what else is written: no array of indices is needed. INVALID_ARGUMENT for an array that is wanted, and is NULL or not aligned to its elements; for offsets that the
// description does not name, and for a description without a payload. Results overlap neither x, nor the payload, nor each other; that is not checked.
CJ_API cj_status cj_sort_run_pairs(cj_sort *sort, const cj_sort_arrays *arrays, cj_stream stream, cj_error *error);
CJ_API cj_status cj_sort_launch_pairs(cj_device *device, const cj_sort_desc *desc, const cj_sort_arrays *arrays,
                                      cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `sort`.
CJ_API const cj_kernel *cj_sort_kernel(const cj_sort *sort);

#ifdef __cplusplus
}
#endif
#endif
