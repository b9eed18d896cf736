// SPDX-License-Identifier: Apache-2.0
// Tensor copies and reductions, tile mode: every element type, rank, swizzle and fill, boxes inside of the tensor,
// across its edges and outside. The whole tile in shared memory, the bytes around it, and the whole tensor are held
// against another device's, bit by bit, and against a tile that is put together element by element.
#ifndef CJ_TESTS_SEMANTICS_TENSOR_H
#define CJ_TESTS_SEMANTICS_TENSOR_H

#include <clusterjit/device.h>

#include "semantics.h"
#include "text.h"

// All kernels; freed with cj__text_free.
void     cj_tensor_text(cj_text *text);
unsigned cj_tensor_count(void);
// Runs all cases on one device and holds them against the model; returns how many fail, each of which is named.
unsigned cj_tensor_check(cj_device *device, uint64_t seed);
// Runs them on both; prints a line for each that differs, fails or is refused.
cj_semantics cj_tensor_compare(cj_device *device, cj_device *twin, uint64_t seed);

#endif
