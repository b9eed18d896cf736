// SPDX-License-Identifier: Apache-2.0
// Matrix products with a collective against a sum in double, for devices of any kind.
#ifndef CJ_TESTS_GPUS_GEMM_CASES_H
#define CJ_TESTS_GPUS_GEMM_CASES_H

#include <clusterjit/gpus.h>
#include <stdbool.h>

// The description, with the product after an all-gather (`gathers`) or before a reduce-scatter, twice on new memory of these GPUs;
// every element is compared.
void cj_test_gpus_gemm(cj_gpus *gpus, const cj_gpus_gemm_desc *desc, bool gathers, const cj_stream *stream);

// Random shapes of both kinds and of all types; `most` rows of a rank, and elements of other extents, at most.
void cj_test_gpus_gemm_all(cj_gpus *gpus, const cj_stream *stream, uint64_t most, uint64_t *random, unsigned draws);

#endif
