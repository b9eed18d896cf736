// SPDX-License-Identifier: Apache-2.0
// The collectives of GPUs against the model, for devices of any kind.
#ifndef CJ_TESTS_GPUS_CASES_H
#define CJ_TESTS_GPUS_CASES_H

#include <clusterjit/gpus.h>

// Runs what the description says twice on new memory of these GPUs, and compares every element; `offset` elements into it.
void cj_test_gpus(cj_gpus *gpus, const cj_gpus_desc *desc, const cj_stream *stream, unsigned offset);

// Every operation and type at sizes around every boundary; `random` goes on from case to case.
void cj_test_gpus_all(cj_gpus *gpus, const cj_stream *stream, uint64_t *random, unsigned draws);

#endif
