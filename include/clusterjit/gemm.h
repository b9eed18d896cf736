// SPDX-License-Identifier: Apache-2.0
// Matrix products on tensor cores: D = alpha A B + beta C with sums in f32, by one kernel in which the blocks of a
// cluster share the tiles that they load. For compute capability 9.0 (sm_90a).
#ifndef CLUSTERJIT_GEMM_H
#define CLUSTERJIT_GEMM_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// How a matrix lies in memory: rows or columns, one behind the other.
typedef enum cj_gemm_order { CJ_GEMM_ROW = 0, CJ_GEMM_COLUMN = 1 } cj_gemm_order;

// Which tile a block works on. AUTO takes what suits the size.
typedef enum cj_gemm_tile {
    CJ_GEMM_TILE_AUTO = 0,
    CJ_GEMM_TILE_128X256,
    CJ_GEMM_TILE_128X128,
    CJ_GEMM_TILE_64X256,
    CJ_GEMM_TILE_64X128,
    CJ_GEMM_TILE_64X64
} cj_gemm_tile;

// What to multiply and how. Zero-initialize, then set what matters: a zero field takes the default in brackets.
typedef struct cj_gemm_desc {
    uint64_t      m, n, k;             // A is m x k, B k x n, C and D m x n; 1 to 2^30
    cj_dtype      dtype;               // of all four: CJ_F16, CJ_BF16
    cj_gemm_order a, b, d;             // C lies as D does [rows]
    uint64_t      lda, ldb, ldc, ldd;  // from one row (column) to the next, multiples of 8 [as close as can be]
    bool          adds_c;              // false: beta C is not added and C is not read
    cj_gemm_tile  tile;                // rows by columns of D; with D in columns: columns by rows
    uint32_t      cluster;             // blocks of a cluster one below the other, 1, 2 or 4 [chosen]
    uint32_t      cluster_n;           // … and side by side; cluster * cluster_n is at most 4 [1]
} cj_gemm_desc;

// Device pointers, multiples of 16; c may be d, and is not used without adds_c.
typedef struct cj_gemm_operands {
    cj_ptr a, b, c, d;
    float  alpha, beta;
} cj_gemm_operands;

typedef struct cj_gemm cj_gemm;

// Plans, generates, checks and loads the kernel. *gemm is owned by the caller. INVALID_ARGUMENT and CONTRACT name
// field, value and limit; UNSUPPORTED where the device has no wgmma.
CJ_API cj_status cj_gemm_create(cj_device *device, const cj_gemm_desc *desc, cj_gemm **gemm, cj_error *error);
CJ_API void      cj_gemm_destroy(cj_gemm *gemm);  // NULL is allowed; its launches must have ended

// D = alpha A B + beta C, each element rounded once from f32: its error is at most half a unit in the last place of
// the type and k 2^-22 of alpha |A| |B|. NaN and infinities go through as in any such sum; with beta 0 they come from
// C too. Asynchronous on `stream`; allocates nothing. Launches of one handle need no order.
CJ_API cj_status cj_gemm_run(cj_gemm *gemm, const cj_gemm_operands *operands, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while
// the stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_gemm_launch(cj_device *device, const cj_gemm_desc *desc, const cj_gemm_operands *operands,
                                cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `gemm`.
CJ_API const cj_kernel *cj_gemm_kernel(const cj_gemm *gemm);

// Launches a kernel of the family "gemm" that was made from its parameters; `desc` says what the parameters do not: the
// leading dimensions. All other fields of `desc` are not read.
CJ_API cj_status cj_gemm_kernel_launch(cj_device *device, cj_kernel *kernel, const cj_gemm_desc *desc,
                                       const cj_gemm_operands *operands, cj_stream stream, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif
