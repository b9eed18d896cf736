// SPDX-License-Identifier: Apache-2.0
// Histogram: how many samples of an array fall into each of up to 2^20 bins of equal width, by one kernel that keeps the bins
// in the shared memory of one block, or dealt out over the blocks of a cluster.
#ifndef CLUSTERJIT_HISTOGRAM_H
#define CLUSTERJIT_HISTOGRAM_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// How the blocks of a cluster count together.
typedef enum cj_histogram_strategy {
    CJ_HISTOGRAM_OWNER,   // every block reads all samples of its cluster, and counts those of its own bins in its own memory
    CJ_HISTOGRAM_REMOTE,  // each block reads its share, and adds to the counters of the bins' blocks, of 32 bits, in distributed
                          // shared memory (PTX ISA 9.7.13, red), as the CUDA programming guide does; with clusters only
} cj_histogram_strategy;

// What to count and how. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
//
// A sample x with lower <= x < upper counts in one bin, others (NaN among them) in none. The bin of
//   integers  is floor((x - lower) * bins / (upper - lower)), exactly; lower and upper are whole numbers from 0 to
//             2^32;
//   f32       is min(trunc((x - lower) * scale), bins - 1), where lower and upper are rounded to f32, scale is the f32
//             nearest to the f64 bins / (upper - lower), and the subtraction and the product are each rounded to the
//             nearest f32.
// Every device gives the same bins.
typedef struct cj_histogram_desc {
    CJ_STRUCT_SIZE(cj_histogram_desc);
    uint64_t n;        // samples, 1 to 2^40
    uint64_t bins;     // 1 to 2^20 [256]
    cj_dtype dtype;    // of the samples: CJ_U8, CJ_U16, CJ_U32, CJ_F32 [f32]
    cj_dtype counts;   // CJ_U32, which wrap modulo 2^32, or CJ_U64 [u32]
    double   lower, upper;  // [both 0: from 0 to bins, of f32 from 0 to 1]
    uint32_t block;    // threads a block, a multiple of 32, 32 to 1024 [chosen: 1024, or fewer of few samples]
    uint32_t cluster;  // blocks a cluster, 1 to 16 [without clusters]
    uint32_t grid;     // blocks [chosen for the device]
    cj_histogram_strategy strategy;  // of a cluster [owner]
} cj_histogram_desc;

typedef struct cj_histogram cj_histogram;

// Plans, generates, checks and loads the kernel. *histogram is owned by the caller. INVALID_ARGUMENT and CONTRACT name
// field, value and limit.
CJ_API cj_status cj_histogram_create(cj_device *device, const cj_histogram_desc *desc, cj_histogram **histogram,
                                     cj_error *error);
CJ_API void      cj_histogram_destroy(cj_histogram *histogram);  // NULL is allowed; its launches must have ended

// counts[b] = how many of x[0..n) fall into bin b, for b in [0, bins); the counts before are overwritten. `x` and
// `counts` are device pointers, aligned to their elements. Asynchronous on `stream` (a fill and a launch; of few samples a launch
// alone, a programmatic dependent one where the GPU has those); allocates nothing. Launches on different streams need no order, as
// long as their counts are different ones.
CJ_API cj_status cj_histogram_run(cj_histogram *histogram, cj_ptr x, cj_ptr counts, cj_stream stream, cj_error *error);

// The same, added to the counts that are there: for samples that come in parts.
CJ_API cj_status cj_histogram_add(cj_histogram *histogram, cj_ptr x, cj_ptr counts, cj_stream stream, cj_error *error);

// cj_histogram_run in one call, without a handle: the first call with a description on a stream makes the kernel (not
// while the stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any
// threads. Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_histogram_launch(cj_device *device, const cj_histogram_desc *desc, cj_ptr x, cj_ptr counts,
                                     cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `histogram`. It adds to the counts.
CJ_API const cj_kernel *cj_histogram_kernel(const cj_histogram *histogram);

#ifdef __cplusplus
}
#endif
#endif
