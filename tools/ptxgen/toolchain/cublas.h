// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLAS (libcublasLt, loaded if it is installed), to measure in the same run as our kernels.
#ifndef PTXGEN_CUBLAS_H
#define PTXGEN_CUBLAS_H

#include <clusterjit/device.h>
#include <stdbool.h>

// The layout of one matrix in memory: `lines` lines (columns, if it is column-major) of `length` elements, `leading`
// elements apart; matrices of a batch are `stride` elements apart, 0: all products share one.
typedef struct cublas_matrix {
    cj_dtype type;
    bool     by_columns;
    uint64_t lines, length, leading, stride;
    uint32_t align;  // bytes that its address is a multiple of; 0: 256, as cj_mem_alloc's are
} cublas_matrix;

enum { CUBLAS_A, CUBLAS_B, CUBLAS_C, CUBLAS_D, CUBLAS_MATRICES };

typedef enum cublas_activation { CUBLAS_NONE, CUBLAS_RELU, CUBLAS_GELU } cublas_activation;

// D = activation(alpha A B + beta C + bias). C is described even if beta is 0.
typedef struct cublas_problem {
    cublas_matrix     matrix[CUBLAS_MATRICES];
    uint64_t          batch;
    float             alpha, beta;
    bool              has_bias;  // along the lines of D, the only direction that cuBLAS supports
    cj_dtype          bias_type;
    cublas_activation activation;
    cj_ptr            scale_a, scale_b, scale_d;  // f32 in device memory, for matrices of 8 bits; others' are not read
} cublas_problem;

typedef struct cublas_operands {
    cj_ptr matrix[CUBLAS_MATRICES], bias;
} cublas_operands;

typedef struct cublas cublas;

// The algorithms that cuBLAS's heuristics give for the problem, 8 at most, in their order; for 8-bit types with fast
// accumulation, as in our kernels. NULL, with the reason in `reason`, if there is no library, or none of its algorithms
// solves the problem. The context of the device must be current, as it is after any call on the device. cublas_close
// releases it; it accepts NULL.
enum { CUBLAS_ALGORITHMS = 8 };
cublas *cublas_open(cj_device *device, const cublas_problem *problem, unsigned *algorithms, char *reason, size_t size);
void    cublas_close(cublas *c);

// One product; can be captured into a graph.
cj_status cublas_launch(cublas *c, unsigned algorithm, const cublas_operands *operands, cj_stream stream,
                        cj_error *error);

// The library's version: 130100 is 13.1.0.
size_t cublas_version(const cublas *c);

#endif
