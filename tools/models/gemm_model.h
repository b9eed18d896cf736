// SPDX-License-Identifier: Apache-2.0
// What a matrix product must give, of what the command and the tests compute alike.
#ifndef CJ_MODELS_GEMM_MODEL_H
#define CJ_MODELS_GEMM_MODEL_H

#include <clusterjit/gemm.h>

// The activation of x. gelu is the approximation by tanh (clusterjit/gemm.h).
double gemm_model_activated(cj_gemm_activation how, double x);

#endif
