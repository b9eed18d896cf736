// SPDX-License-Identifier: Apache-2.0
// Reduction of an array to one value, by one kernel: of one block where x is small, of one thread block cluster where
// it is larger, of blocks that combine their partials in global memory beyond (desc.cluster and desc.grid say otherwise).
#ifndef CLUSTERJIT_REDUCE_H
#define CLUSTERJIT_REDUCE_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cj_reduce_op {
    CJ_REDUCE_SUM,
    CJ_REDUCE_MIN,
    CJ_REDUCE_MAX,
    CJ_REDUCE_PRODUCT,
    CJ_REDUCE_ARGMIN,   // the least value and the index of the first element that has it
    CJ_REDUCE_ARGMAX,   // the greatest, alike
    CJ_REDUCE_MEAN,
    CJ_REDUCE_MEANVAR,  // mean and variance (sum of squared distances from the mean, over n), in one pass
} cj_reduce_op;

// What is written to out. The others than the total go with sum, min, max, product and op_function.
typedef enum cj_reduce_result {
    CJ_REDUCE_TOTAL,             // one value for all of x
    CJ_REDUCE_BLOCKS,            // out[b]: that of block b's slice of x
    CJ_REDUCE_TOTAL_AND_BLOCKS,  // out[0]: the total; out[1 + b]: that of block b's slice
} cj_reduce_result;

typedef enum cj_reduce_weight {
    CJ_REDUCE_WEIGHT_NONE,
    CJ_REDUCE_WEIGHT_BLOCK,  // the elements of block b's slice count b + 1 times; with sum alone
} cj_reduce_weight;

#define CJ_REDUCE_NO_CLUSTER UINT32_MAX  // of desc.cluster: a kernel without clusters

// What to reduce and how. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_reduce_desc {
    CJ_STRUCT_SIZE(cj_reduce_desc);
    uint64_t     n;        // elements; at least 1
    cj_reduce_op op;       // [sum]
    cj_dtype     dtype;    // of x; any [f32]
    uint32_t     block;    // threads a block, a multiple of 32, 32 to 1024 [chosen for n]
    uint32_t     cluster;  // blocks a cluster, 1 to 16, or CJ_REDUCE_NO_CLUSTER [chosen for n; none is a choice, too]
    uint32_t     grid;     // blocks, a multiple of cluster [chosen for n and the device]
    // A user's functions of cj_dtype_arithmetic(dtype) (clusterjit/nvrtc.h), which a kernel that is made with them
    // keeps alive.
    const cj_user_function *map;          // of one argument: what each element becomes first [itself]
    const cj_user_function *op_function;  // of two: how two values become one, in place of op; associative and commutative
    const cj_user_function *identity;     // with op_function: a constant e for which op_function of e and any x is x
    cj_reduce_result result;  // [the total]
    cj_reduce_weight weight;  // [none]
} cj_reduce_desc;

typedef struct cj_reduce cj_reduce;

// Plans, generates, checks and loads the kernel and allocates its workspace (a few KiB). *reduce is owned by the
// caller. INVALID_ARGUMENT and CONTRACT name field, value and limit.
CJ_API cj_status cj_reduce_create(cj_device *device, const cj_reduce_desc *desc, cj_reduce **reduce, cj_error *error);
CJ_API void      cj_reduce_destroy(cj_reduce *reduce);  // NULL is allowed; its launches must have ended

// Reduces x[0..n) to what `out` points to. Both are device pointers, `x` aligned to the element, `out` to 8 bytes. With
// T for cj_dtype_arithmetic(dtype), which holds every value of dtype, and F for f32 where dtype is f16, bf16 or f32,
// else f64:
//     sum, min, max, product, op_function   T
//     argmin, argmax                        T at byte 0, the index as u64 at byte 8
//     mean                                  F
//     meanvar                               F[2]: the mean, the variance
// With desc.result, one T for each block of the grid (cj_kernel_plan(…)->grid.x), and one for the total before them.
// Where results or weights are of blocks, block b of B has a slice of x: n / B elements, and one more for b < n mod B, one
// block's after the other's. The same holds where a cluster or a grid is given whose threads have fewer than eight 16-byte
// loads each. Else the 16-byte loads are dealt out to the threads of the grid, which is faster for a long x.
// Asynchronous on `stream`; allocates nothing. Launches of one cj_reduce must be ordered with each other: they share
// its workspace. A launch may begin while the kernel before it on the stream still runs, and touches no memory before
// that one has ended (programmatic dependent launch); it lets the next kernel do the same. That is right after any kernel, so
// no field turns it off: to measure without it, set the parameter dependent to no (clusterjit/kernel.h).
//
// Integers: sums and products wrap modulo 2^bits of T; means are computed in f64.
// Floats: f16 and bf16 are computed in f32. Equal plans give equal bits, for all is combined in a fixed order, and with
// b for cj_kernel_plan(…)->error_bound, as long as nothing over- or underflows,
//     sum       |out - exact| <= b * sum |x|
//     mean      |out - exact| <= b * sum |x| / n
//     product   |out - exact| <= b * |exact|; b is NaN where n is so large that nothing is known
//     meanvar   the mean as above; |variance - exact| <= b * r * (s + b * r), where r² = sum x² / n and s² = exact
// With op_function nothing is known about its roundings (b is NaN). With `map`, x stands for the mapped elements as the
// device computes them.
// NaN: min, max, argmin and argmax pass over it, as IEEE 754 minNum and maxNum do; the result is NaN, with index 0, only
// when every element is. The others give NaN. Of equal elements argmin and argmax give the first; -0 equals 0.
// Infinities: sum and mean add them as IEEE 754 does; meanvar gives NaN twice, because distances from an infinite mean are NaN.
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
