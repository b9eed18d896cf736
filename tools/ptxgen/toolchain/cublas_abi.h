// SPDX-License-Identifier: Apache-2.0
// The part of cuBLASLt's binary interface that cublas.c uses, so that no CUDA toolkit is needed to build it. (cublasLt.h,
// cublas_api.h and library_types.h of CUDA 12 and 13.)
#ifndef PTXGEN_CUBLAS_ABI_H
#define PTXGEN_CUBLAS_ABI_H

#include <stddef.h>
#include <stdint.h>

// Ours, theirs.
#define CUBLAS_CONSTANTS(X)                                                 \
    X(CUBLAS_R_32F, CUDA_R_32F, 0)                                          \
    X(CUBLAS_R_64F, CUDA_R_64F, 1)                                          \
    X(CUBLAS_R_16F, CUDA_R_16F, 2)                                          \
    X(CUBLAS_R_16BF, CUDA_R_16BF, 14)                                       \
    X(CUBLAS_R_8I, CUDA_R_8I, 3)                                            \
    X(CUBLAS_R_32I, CUDA_R_32I, 10)                                         \
    X(CUBLAS_R_8F_E4M3, CUDA_R_8F_E4M3, 28)                                 \
    X(CUBLAS_R_8F_E5M2, CUDA_R_8F_E5M2, 29)                                 \
    X(CUBLAS_COMPUTE_F32, CUBLAS_COMPUTE_32F, 68)                           \
    X(CUBLAS_COMPUTE_F64, CUBLAS_COMPUTE_64F, 70)                           \
    X(CUBLAS_COMPUTE_I32, CUBLAS_COMPUTE_32I, 72)                           \
    X(CUBLAS_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                \
    X(CUBLAS_LAYOUT_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5)           \
    X(CUBLAS_LAYOUT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6) \
    X(CUBLAS_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA, 3)                        \
    X(CUBLAS_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB, 4)                        \
    X(CUBLAS_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                    \
    X(CUBLAS_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)            \
    X(CUBLAS_A_SCALE, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 17)             \
    X(CUBLAS_B_SCALE, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 18)             \
    X(CUBLAS_D_SCALE, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 20)             \
    X(CUBLAS_FAST_ACCUMULATION, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25)        \
    X(CUBLAS_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26)            \
    X(CUBLAS_EPILOGUE_PLAIN, CUBLASLT_EPILOGUE_DEFAULT, 1)                  \
    X(CUBLAS_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU, 2)                      \
    X(CUBLAS_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS, 4)                      \
    X(CUBLAS_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU, 32)                     \
    X(CUBLAS_WISH_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)   \
    X(CUBLAS_WISH_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)   \
    X(CUBLAS_WISH_ALIGN_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)   \
    X(CUBLAS_WISH_ALIGN_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)   \
    X(CUBLAS_WISH_ALIGN_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)

enum {
#define X(ours, theirs, number) ours = (number),
    CUBLAS_CONSTANTS(X)
#undef X
};

// cublasLtMatmulAlgo_t, cublasLtMatmulHeuristicResult_t
typedef struct cublas_algorithm {
    uint64_t data[8];
} cublas_algorithm;

typedef struct cublas_choice {
    cublas_algorithm algorithm;
    size_t           workspace;
    int              status;
    float            waves;
    int              reserved[4];
} cublas_choice;

#endif
