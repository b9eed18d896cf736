// SPDX-License-Identifier: Apache-2.0
// Reduction of an array to one value, by one kernel, through thread block clusters.
#ifndef CLUSTERJIT_REDUCE_H
#define CLUSTERJIT_REDUCE_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cj_reduce_op { CJ_REDUCE_SUM, CJ_REDUCE_MIN, CJ_REDUCE_MAX } cj_reduce_op;

// What to reduce and how. Zero-initialize, then set what matters: a zero field takes the default in brackets.
typedef struct cj_reduce_desc {
    uint64_t     n;        // elements; at least 1
    cj_reduce_op op;       // [sum]
    cj_dtype     dtype;    // [f32]
    uint32_t     block;    // threads a block, a multiple of 32, 32 to 1024 [256]
    uint32_t     cluster;  // blocks a cluster, 1 to 16 [4]
    uint32_t     grid;     // blocks, a multiple of cluster [chosen for the device]
    // A user's functions of dtype (clusterjit/nvrtc.h), which a kernel that is made with them keeps alive.
    const cj_user_function *map;          // of one argument: what each element becomes first [itself]
    const cj_user_function *op_function;  // of two: how two values become one, in place of op; associative and commutative
    const cj_user_function *identity;     // with op_function: a constant e for which op_function of e and any x is x
} cj_reduce_desc;

typedef struct cj_reduce cj_reduce;

// Plans, generates, checks and loads the kernel and allocates its workspace (a few KiB). *reduce is owned by the caller.
// INVALID_ARGUMENT and CONTRACT name field, value and limit.
CJ_API cj_status cj_reduce_create(cj_device *device, const cj_reduce_desc *desc, cj_reduce **reduce, cj_error *error);
CJ_API void      cj_reduce_destroy(cj_reduce *reduce);  // NULL is allowed; its launches must have ended

// out[0] = op over x[0..n). `x` and `out` are device pointers, aligned to the element. Asynchronous on `stream`; allocates
// nothing. Launches of one cj_reduce must be ordered with each other: they share its workspace.
// Sums of integers wrap modulo 2^bits. Sums of floats are rounded in a fixed order, so equal plans give equal bits, and
// |out - exact| <= cj_kernel_plan(…)->error_bound * sum |x|. min and max ignore NaN as IEEE 754 minNum and maxNum do;
// the result is NaN only when every element is. With `map`, x stands for the mapped elements as the device computes them.
// With `op_function` nothing is known about its roundings, but that equal plans give equal bits.
CJ_API cj_status cj_reduce_run(cj_reduce *reduce, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (as
// cj_reduce_create does, so not while the stream is captured), later ones find it and launch, without a lock, an
// allocation or a wait. Each stream has a workspace of its own: calls on different streams, and from any threads, need
// no order. Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close. Work on a stream must have
// ended before it is destroyed. A captured call's graph launches count as launches on the stream that it was captured
// on.
CJ_API cj_status cj_reduce_launch(cj_device *device, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                                  cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `reduce`.
CJ_API const cj_kernel *cj_reduce_kernel(const cj_reduce *reduce);

#ifdef __cplusplus
}
#endif
#endif
