// SPDX-License-Identifier: Apache-2.0
// cuBLAS beside calls.c: the algorithms that its heuristics name for the words of a "gemm", as `ptxgen bench gemm` has them.
#include <clusterjit/gemm.h>
#include <stdio.h>

#include "calls.h"
#include "cublas.h"

static cj_dtype out_of(const cj_gemm_desc *desc) {
    static const cj_dtype types[] = {
        [CJ_GEMM_OUT_BF16] = CJ_BF16, [CJ_GEMM_OUT_F16] = CJ_F16, [CJ_GEMM_OUT_F32] = CJ_F32, [CJ_GEMM_OUT_I32] = CJ_I32,
        [CJ_GEMM_OUT_F64] = CJ_F64};
    return types[desc->out];
}

static const char *lacks(const cj_gemm_desc *desc) {
    const bool sums = desc->out == CJ_GEMM_OUT_I32;
    if (desc->out == CJ_GEMM_OUT_AUTO || (desc->out > CJ_GEMM_OUT_F32 && !sums && desc->out != CJ_GEMM_OUT_F64))
        return "the words must name D's type: bf16, f16, f32, i32, f64";
    if ((desc->dtype == CJ_I8) != sums) return "of integers cuBLAS has products of i8 in i32 alone";
    if (desc->bias == CJ_GEMM_BIAS_M) return "cuBLAS has no bias for each row";
    return desc->activation == CJ_GEMM_SILU ? "cuBLAS has no SILU" : NULL;
}

int calls_cublas_open(cj_device *device, const char *words, cublas **made, unsigned *algorithms, char *text) {
    cj_gemm_desc desc = {CJ_INIT(desc)};
    int          status = calls_gemm_words(words, &desc, text);
    if (status) return status;
    const char *lack = lacks(&desc);
    if (lack) {
        snprintf(text, CALLS_TEXT, "%s", lack);
        return CJ_UNSUPPORTED;
    }
    const bool          by_columns = desc.b == CJ_GEMM_COLUMN;
    const cublas_matrix d = {out_of(&desc), false, desc.m, desc.n, desc.ldd, 0, desc.align_d};
    cublas_problem      problem = {.matrix = {[CUBLAS_A] = {desc.dtype, false, desc.m, desc.k, desc.lda, 0, desc.align_a},
                                              [CUBLAS_B] = {desc.dtype, by_columns, by_columns ? desc.n : desc.k,
                                                       by_columns ? desc.k : desc.n, desc.ldb, 0,
                                                       desc.align_b},
                                              [CUBLAS_C] = d,
                                              [CUBLAS_D] = d},
                                   .batch = 1,
                                   .alpha = 1,
                                   .has_bias = desc.bias == CJ_GEMM_BIAS_N,
                                   .bias_type = d.type,
                                   .activation = (cublas_activation)desc.activation};
    *made = cublas_open(device, &problem, algorithms, text, CALLS_TEXT);
    return *made ? CJ_OK : CJ_UNSUPPORTED;
}

// `pointers` as cj_gemm_operands begins: A, B, D, the bias.
int calls_cublas_run(cublas *made, unsigned algorithm, const uint64_t *pointers, void *stream, char *text) {
    const cublas_operands operands = {.matrix = {pointers[0], pointers[1], 0, pointers[2]}, .bias = pointers[3]};
    cj_error              error;
    cj_status             status = cublas_launch(made, algorithm, &operands, stream, &error);
    if (status) snprintf(text, CALLS_TEXT, "%s", error.message);
    return (int)status;
}

void calls_cublas_close(cublas *made) { cublas_close(made); }
