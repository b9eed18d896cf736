// SPDX-License-Identifier: Apache-2.0
// Matrix products on tensor cores: D = activation(alpha A B + beta C + bias) with sums in f32, of integers in s32, of f64 in f64, by one kernel. On compute
// capability 9.0 (sm_90a) the blocks of a cluster share the tiles that they load; CJ_E4M3 and CJ_E5M2 need 8.9, all others 8.0.
#ifndef CLUSTERJIT_GEMM_H
#define CLUSTERJIT_GEMM_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

// How a matrix lies in memory: rows or columns, one after the other.
typedef enum cj_gemm_order { CJ_GEMM_ROW = 0, CJ_GEMM_COLUMN = 1 } cj_gemm_order;

// Which tile a block works on. AUTO takes what suits the size.
typedef enum cj_gemm_tile {
    CJ_GEMM_TILE_AUTO = 0,
    CJ_GEMM_TILE_128X256,
    CJ_GEMM_TILE_128X128,
    CJ_GEMM_TILE_64X256,
    CJ_GEMM_TILE_64X128,
    CJ_GEMM_TILE_64X64,
    CJ_GEMM_TILE_256X128,  // from here on with CJ_GEMM_FORM_MMA alone
    CJ_GEMM_TILE_128X64,
    CJ_GEMM_TILE_32X128,
    CJ_GEMM_TILE_16X128,
    CJ_GEMM_TILE_16X64,  // and from here on with CJ_GEMM_FORM_SKINNY
    CJ_GEMM_TILE_16X32,
    CJ_GEMM_TILE_16X16,
    CJ_GEMM_TILE_128X224,  // and from here on with CJ_GEMM_FORM_WGMMA again
    CJ_GEMM_TILE_128X192,
    CJ_GEMM_TILE_128X160,
    CJ_GEMM_TILE_128X96,
    CJ_GEMM_TILE_64X192,
    CJ_GEMM_TILE_64X160,
    CJ_GEMM_TILE_64X96,
    CJ_GEMM_TILE_192X192,
    CJ_GEMM_TILE_192X160,
    CJ_GEMM_TILE_192X128
} cj_gemm_tile;

// Which instructions multiply: wgmma, which compute capability 9.0 alone has (sm_90a), or mma.sync, from 8.0 on and without
// clusters. AUTO takes wgmma where the device has it, and MMA for CJ_F64, which has no other. SKINNY is mma.sync for at most 16 rows or columns of D: the other
// operand, which lies by K as the first does, goes from memory straight into registers.
typedef enum cj_gemm_form {
    CJ_GEMM_FORM_AUTO = 0,
    CJ_GEMM_FORM_WGMMA,
    CJ_GEMM_FORM_MMA,
    CJ_GEMM_FORM_SKINNY
} cj_gemm_form;

// Types of C and D: AUTO is that of A and B for CJ_F16 and CJ_BF16, f32 for CJ_TF32, bf16 for CJ_E4M3 and CJ_E5M2, i32 for CJ_I8 and
// CJ_U8, f64 for CJ_F64. I32 is the exact sums of CJ_I8 and CJ_U8: alpha is 1, and there is no C, bias, activation or scale. With D in 8 bits C is bf16.
// F64 goes with CJ_F64 alone, which has no other.
typedef enum cj_gemm_out {
    CJ_GEMM_OUT_AUTO = 0,
    CJ_GEMM_OUT_BF16,
    CJ_GEMM_OUT_F16,
    CJ_GEMM_OUT_F32,
    CJ_GEMM_OUT_E4M3,
    CJ_GEMM_OUT_E5M2,
    CJ_GEMM_OUT_I8,
    CJ_GEMM_OUT_I32,
    CJ_GEMM_OUT_F64
} cj_gemm_out;

// A vector that is added before the activation, of C's type: N has an element for each column of D, M one for each row.
// All products of a batch have the same.
typedef enum cj_gemm_bias { CJ_GEMM_BIAS_NONE = 0, CJ_GEMM_BIAS_N, CJ_GEMM_BIAS_M } cj_gemm_bias;

// What D's elements go through in the end; CJ_F64 has RELU alone:
//   RELU  max(x, 0); NaN stays
//   GELU  x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), which is cuBLASLt's, not the form with erf
//   SILU  x / (1 + e^-x)
typedef enum cj_gemm_activation {
    CJ_GEMM_ACTIVATION_NONE = 0,
    CJ_GEMM_RELU,
    CJ_GEMM_GELU,
    CJ_GEMM_SILU
} cj_gemm_activation;

// What to multiply and how. Begin with CJ_INIT, then set what matters: a zero field takes the default in brackets.
typedef struct cj_gemm_desc {
    CJ_STRUCT_SIZE(cj_gemm_desc);
    uint64_t      m, n, k;             // A is m x k, B k x n, C and D m x n; 1 to 2^30
    cj_dtype      dtype;               // of A and B: CJ_F16, CJ_BF16; CJ_TF32; CJ_E4M3, CJ_E5M2; CJ_I8, CJ_U8; CJ_F64
    cj_gemm_order a, b, d;             // C lies as D does [rows]; CJ_TF32 and types of 8 bits: A by rows, B by columns
    uint64_t      lda, ldb, ldc, ldd;  // elements from one row (column) to the next [without gaps]
    bool          adds_c;              // false: beta C is not added and C is not read
    cj_gemm_tile  tile;                // rows by columns of D; with D in columns: columns by rows; CJ_F64: 128x128, 64x128 and smaller
    uint32_t      cluster;             // blocks of a cluster one below the other, 1, 2 or 4 [chosen]
    uint32_t      cluster_n;           // … and side by side; cluster * cluster_n is at most 4 [chosen]
    uint32_t      split;               // … and those that share a tile's K; all multiplied at most 16 [chosen]
    uint32_t      parts;               // clusters (blocks) that share it, through global memory; at most 64 [chosen]

    cj_dtype           dtype_b;     // of B, where A is the other one of CJ_E4M3 and CJ_E5M2, or of CJ_I8 and CJ_U8 [dtype]
    cj_gemm_out        out;         // of C and D [chosen]
    cj_gemm_bias       bias;        // [none]
    cj_gemm_activation activation;  // [none]
    uint32_t           batch;       // products of this size [1]

    // Elements from one product's matrix to the next one's; 0 (not of D, nor of both A and B): all products have this matrix in
    // common.
    uint64_t stride_a, stride_b, stride_c, stride_d;

    cj_gemm_form form;  // MMA and SKINNY have no clusters: cluster is 0; parts split K [chosen]

    // Bytes that the address of each matrix is a multiple of: 16, 8, 4, 2, 1, at least an element's [16]. The one-call function reads
    // the addresses instead. Where an address, a line or a stride is no multiple of 16 bytes, form is MMA, and copies are as small
    // as that asks for: of at most 8 or 4 bytes, and below 4 of elements.
    uint32_t align_a, align_b, align_c, align_d;
} cj_gemm_desc;

// Device pointers: of matrices multiples of what the description's align says; of the bias of an element; of scales (f32) of 4. c may be d where both
// have one type, and is not used without adds_c, nor is bias without a bias. The scales are those of types of
// 8 bits, in A, B and D, and are not used without such, nor where D is i32: alpha is multiplied by those of A and B, elements of D by D's
// before they are rounded. NULL: 1. CJ_F64: alpha_f64 is taken instead of alpha where it is not 0, and beta_f64 instead of beta; with any other type
// both are 0.
typedef struct cj_gemm_operands {
    CJ_STRUCT_SIZE(cj_gemm_operands);
    cj_ptr a, b, c, d;
    float  alpha, beta;
    cj_ptr bias;
    cj_ptr scale_a, scale_b, scale_d;
    double alpha_f64, beta_f64;
} cj_gemm_operands;

typedef struct cj_gemm cj_gemm;

// Plans, generates, checks and loads the kernel. *gemm is owned by the caller. INVALID_ARGUMENT and CONTRACT name
// field, value and limit (a leading dimension below its row, too); UNSUPPORTED where the device cannot multiply the type, or
// lacks the form.
CJ_API cj_status cj_gemm_create(cj_device *device, const cj_gemm_desc *desc, cj_gemm **gemm, cj_error *error);
CJ_API void      cj_gemm_destroy(cj_gemm *gemm);  // NULL is allowed; its launches must have ended

// Each element of D is rounded once from f32 (of CJ_F64 it is f64): its error is at most half a unit in the last place of the type, and of
// alpha |A| |B|
//   CJ_F16, CJ_BF16  k 2^-22
//   CJ_TF32          2^-10 + k 2^-22: each f32 of A and B is rounded to the nearest with 10 bits of fraction
//   CJ_E4M3, CJ_E5M2 2^-10 + k 2^-18 where signs are mixed. At each 32 of k the hardware cuts every product off below 2^-13 of
//                    the largest one and of the sum so far: products of one sign may lose up to k 2^-13
//   CJ_I8, CJ_U8     2^-22; of D in i32 none. Sums are exact: k is at most 131071 of CJ_I8, 33025 of CJ_U8, 65793 of one of each, so that
//                    none leaves the range of s32
//   CJ_F64           2^-51 + k 2^-52, of |beta C| and |bias| too
// which GELU and SILU may make 1.13 times as much, and 2^-20 of what they are taken of. D in 8 bits: what is too large
// becomes the largest number, and in i8 NaN becomes 0. NaN and infinities go through as in any such sum, and GELU and SILU leave them; with beta 0 they come
// from C too.
// After the ends of D's lines nothing is written.
// Each launch gives the same bits. Asynchronous on `stream`; allocates nothing. Launches of one handle need no order
// where its plan has no workspace (`parts` 1 makes sure of that); those with one must be ordered. A launch may begin
// while the kernel before it on the stream still runs, and touches no memory before that one has ended (programmatic
// dependent launch); it lets the next kernel do the same. No field turns that off: the parameter dependent does.
CJ_API cj_status cj_gemm_run(cj_gemm *gemm, const cj_gemm_operands *operands, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while
// the stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_gemm_launch(cj_device *device, const cj_gemm_desc *desc, const cj_gemm_operands *operands,
                                cj_stream stream, cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `gemm`.
CJ_API const cj_kernel *cj_gemm_kernel(const cj_gemm *gemm);

// Launches a kernel of the family "gemm" that was made from its parameters; `desc` says what the parameters do not: the
// leading dimensions and, of a batch, the strides of matrices that are not shared. All other fields of `desc` are not read.
CJ_API cj_status cj_gemm_kernel_launch(cj_device *device, cj_kernel *kernel, const cj_gemm_desc *desc,
                                       const cj_gemm_operands *operands, cj_stream stream, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif
