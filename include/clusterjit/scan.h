// SPDX-License-Identifier: Apache-2.0
// Scan (running sums, extremes, products, or a user's operation) along the rows of a matrix, or over one long array,
// which is a matrix of one row, or over segments of these: each element is read once and written once.
#ifndef CLUSTERJIT_SCAN_H
#define CLUSTERJIT_SCAN_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cj_scan_op { CJ_SCAN_SUM, CJ_SCAN_MIN, CJ_SCAN_MAX, CJ_SCAN_PRODUCT } cj_scan_op;

// Whether rows are cut into segments, each of which is scanned by itself, and how it is said where these begin. A
// segment is the same elements whichever way it is scanned, and whatever its length. Each row begins one in any case.
//   flags    uint8_t flags[rows][stride], laid out as x: where a byte is not 0, a segment begins
//   offsets  int32_t or int64_t offsets[segments + 1] of one array (rows is 1), ascending: segment i is
//            x[offsets[i]] … x[offsets[i + 1] - 1], and empty where these are equal. What stands before the first
//            offset, and what stands from the last one on, is scanned as a segment, too.
typedef enum cj_scan_heads { CJ_SCAN_NO_HEADS, CJ_SCAN_FLAGS, CJ_SCAN_OFFSETS_I32, CJ_SCAN_OFFSETS_I64 } cj_scan_heads;

// What to scan and how. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_scan_desc {
    CJ_STRUCT_SIZE(cj_scan_desc);
    uint64_t      rows;        // 1 to 2^31 - 1 [1]
    uint64_t      columns;     // elements of a row, 1 to 2^40
    cj_scan_op    op;          // [sum]
    cj_dtype      dtype;       // of x and out: CJ_F32 … CJ_BF16; halves are computed in f32 and rounded once [f32]
    bool          exclusive;   // without the element itself: out[0] is the identity [inclusive]
    bool          reverse;     // from the row's end to its beginning
    uint64_t      stride;      // elements from row to row of x, at least columns [columns]
    uint64_t      out_stride;  // of out [columns]
    uint32_t      align;       // bytes that x and out are multiples of: 16, 8, 4 or 2, no less than an element [16]
    uint32_t      cluster;     // blocks that take a row together, 1 to 16 [without clusters]
    uint32_t      block;       // threads a block, a power of two, 32 to 1024 [chosen for the row]
    cj_scan_heads heads;       // [rows are not cut]
    uint64_t      segments;    // of offsets, 1 to 2^31 - 1
    // A user's functions of cj_dtype_arithmetic(dtype), which a kernel that is made with them keeps alive.
    const cj_user_function
        *op_function;  // of two arguments, in place of op: associative; the first stands before the second
    const cj_user_function *identity;  // with op_function: a constant e for which op_function of e and any x is x
} cj_scan_desc;

typedef struct cj_scan cj_scan;

// Plans, generates, checks and loads the kernel and allocates its workspace (for rows of several tiles, about 1 byte
// for each 1000 elements). *scan is owned by the caller. INVALID_ARGUMENT and CONTRACT name field, value and limit.
CJ_API cj_status cj_scan_create(cj_device *device, const cj_scan_desc *desc, cj_scan **scan, cj_error *error);
CJ_API void      cj_scan_destroy(cj_scan *scan);  // NULL is allowed; its launches must have ended

// out[r * out_stride + c] = op over x[r * stride + i], i from 0 to c. Device pointers; out may be x, with the same
// stride, but not overlap it otherwise. INVALID_ARGUMENT for pointers that are not aligned as the description says.
// Asynchronous on `stream`; allocates nothing. Launches of one cj_scan must be ordered with each other: they share its
// workspace.
//
// Wide loads want rows that begin at multiples of 16 bytes and columns that fill them; other rows are scanned element
// by element. Integers wrap modulo 2^bits. Floats: equal plans give equal bits, for all is combined in a fixed order,
// and with b for cj_kernel_plan(…)->error_bound, as long as nothing over- or underflows,
//     sum       |out - exact| <= b * sum |x|
//     product   |out - exact| <= b * |exact|; b is NaN where rows are so long that nothing is known
// With op_function nothing is known about its roundings (b is NaN). Minima and maxima pass over NaN, as IEEE 754 minNum
// and maxNum do; their identity, which exclusive scans of floats begin with, is NaN.
CJ_API cj_status cj_scan_run(cj_scan *scan, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error);

// The same where desc.heads says that there are segments: `heads` points to the flags, which must be a multiple of
// align / size of an element bytes, or to the offsets, aligned to their type. All that is said above of a row, of its
// bounds, and of what stands before its first element, is then said of a segment; in reverse it is scanned from its last
// element to its first.
CJ_API cj_status cj_scan_run_segmented(cj_scan *scan, cj_ptr x, cj_ptr heads, cj_ptr out, cj_stream stream,
                                       cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while the
// stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads. Each
// stream has a workspace of its own. Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_scan_launch(cj_device *device, const cj_scan_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                                cj_error *error);
CJ_API cj_status cj_scan_launch_segmented(cj_device *device, const cj_scan_desc *desc, cj_ptr x, cj_ptr heads,
                                          cj_ptr out, cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `scan`.
CJ_API const cj_kernel *cj_scan_kernel(const cj_scan *scan);

#ifdef __cplusplus
}
#endif
#endif
