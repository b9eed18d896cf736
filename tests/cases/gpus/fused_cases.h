// SPDX-License-Identifier: Apache-2.0
// The fused kernels of GPUs against the model, for devices of any kind.
#ifndef CJ_TESTS_FUSED_CASES_H
#define CJ_TESTS_FUSED_CASES_H

#include <clusterjit/gpus.h>

#include "models/fused_model.h"

// Launches by a typed call what the parameters say: array[i] is that of model->array[i], for each GPU.
typedef cj_status (*cj_fused_call)(cj_gpus *gpus, const fused_model *model, const cj_ptr *const *array, const cj_stream *stream,
                                   cj_error *error);

// Runs the kernel of `family` with the parameters `words` ("rows=3 columns=100") twice on new memory of these GPUs, whose number and
// mail are added to them, and compares every element. `call` NULL: by cj_gpus_launch_arrays. The arrays begin `ahead` elements
// after a multiple of 256 bytes.
void cj_test_fused(cj_gpus *gpus, uint64_t mail, const char *family, const char *words, unsigned ahead, cj_fused_call call,
                   const cj_stream *stream);

// Random parameters of all families around every boundary, and the forms that plans take for larger data; `random` goes on from
// case to case.
void cj_test_fused_all(cj_gpus *gpus, uint64_t mail, const cj_stream *stream, uint64_t *random, unsigned draws);

#endif
