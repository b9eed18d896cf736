// SPDX-License-Identifier: Apache-2.0
// The parts of the reference of a matrix product that the command and the tests share.
#ifndef CJ_MODELS_GEMM_MODEL_H
#define CJ_MODELS_GEMM_MODEL_H

#include <clusterjit/gemm.h>

// The activation of x. gelu is the approximation by tanh (clusterjit/gemm.h).
double gemm_model_activated(cj_gemm_activation how, double x);

#endif
