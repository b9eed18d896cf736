// SPDX-License-Identifier: Apache-2.0
#include "gemm_model.h"

#include <math.h>

double gemm_model_activated(cj_gemm_activation how, double x) {
    const double u = 0.7978845608028654 * (x + 0.044715 * x * x * x);  // sqrt(2 / pi)
    switch (how) {
    case CJ_GEMM_ACTIVATION_NONE: break;
    case CJ_GEMM_RELU: return x < 0 ? 0 : x;
    case CJ_GEMM_GELU: return isinf(x) ? x : x / 2 * (1 + tanh(u));
    case CJ_GEMM_SILU: return isinf(x) ? x : x / (1 + exp(-x));
    }
    return x;
}
