// SPDX-License-Identifier: Apache-2.0
// Tensor copies and reductions, tile mode: every element type, rank, swizzle and fill, boxes inside of the tensor,
// across its edges and outside. The whole tile in shared memory, the bytes around it, and the whole tensor are compared
// with another device's, bit by bit, and with a tile that the model assembles element by element.
#ifndef CJ_TESTS_SEMANTICS_TENSOR_H
#define CJ_TESTS_SEMANTICS_TENSOR_H

#include <clusterjit/device.h>

#include "semantics.h"
#include "text.h"

// All kernels; freed with cj__text_free.
void     cj_tensor_text(cj_text *text);
unsigned cj_tensor_count(void);
// Runs all cases on one device and compares with the model; prints each that fails, and returns how many.
unsigned cj_tensor_check(cj_device *device, uint64_t seed);
// Runs them on both devices; prints a line for each that differs, fails or is refused.
cj_semantics cj_tensor_compare(cj_device *device, cj_device *twin, uint64_t seed);

#endif
