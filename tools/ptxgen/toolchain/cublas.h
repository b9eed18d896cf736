// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLAS (libcublasLt, loaded where it is), so that ours have it beside them in the same run.
#ifndef PTXGEN_CUBLAS_H
#define PTXGEN_CUBLAS_H

#include <clusterjit/device.h>
#include <stdbool.h>

// How one matrix lies in memory: `lines` lines (columns, where it lies by columns) of `length` elements, `leading` elements
// apart; those of a batch `stride` elements apart, 0: all products share one.
typedef struct cublas_matrix {
    cj_dtype type;
    bool     by_columns;
    uint64_t lines, length, leading, stride;
} cublas_matrix;

enum { CUBLAS_A, CUBLAS_B, CUBLAS_C, CUBLAS_D, CUBLAS_MATRICES };

typedef enum cublas_activation { CUBLAS_NONE, CUBLAS_RELU, CUBLAS_GELU } cublas_activation;

// D = activation(alpha A B + beta C + bias). C is described also where beta is 0.
typedef struct cublas_problem {
    cublas_matrix     matrix[CUBLAS_MATRICES];
    uint64_t          batch;
    float             alpha, beta;
    bool              has_bias;  // along the lines of D, the only way that cuBLAS has
    cj_dtype          bias_type;
    cublas_activation activation;
    cj_ptr scale_a, scale_b, scale_d;  // f32 in device memory for matrices of 8 bits, the others' are not looked at
} cublas_problem;

typedef struct cublas_operands {
    cj_ptr matrix[CUBLAS_MATRICES], bias;
} cublas_operands;

typedef struct cublas cublas;

// The algorithms that cuBLAS's heuristics name for the problem, 8 at most, in their order; 8-bit types with fast accumulation,
// as ours are. NULL, and why in `reason`, where there is no library, or none of its algorithms does this. The context of the
// device must be current, as it is after any call on it. cublas_close releases it; it takes NULL.
enum { CUBLAS_ALGORITHMS = 8 };
cublas *cublas_open(cj_device *device, const cublas_problem *problem, unsigned *algorithms, char *reason, size_t size);
void    cublas_close(cublas *c);

// One product; can be captured into a graph.
cj_status cublas_launch(cublas *c, unsigned algorithm, const cublas_operands *operands, cj_stream stream,
                        cj_error *error);

// Of the library: 130100 is 13.1.0.
size_t cublas_version(const cublas *c);

#endif
