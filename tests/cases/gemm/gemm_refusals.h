// SPDX-License-Identifier: Apache-2.0
// What the calls of the matrix product refuse, and by which name.
#ifndef CJ_TESTS_GEMM_REFUSALS_H
#define CJ_TESTS_GEMM_REFUSALS_H

#include <clusterjit/clusterjit.h>

// `operands` are those of a product of 40 x 72 x 100 bf16 with C, or of any larger one.
void cj_test_gemm_refusals(cj_device *device, const cj_gemm_operands *operands);

#endif
