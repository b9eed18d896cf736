// SPDX-License-Identifier: Apache-2.0
// The expected counts of a histogram: the bin of a sample, by definition (clusterjit/histogram.h).
#ifndef CJ_MODELS_HISTOGRAM_MODEL_H
#define CJ_MODELS_HISTOGRAM_MODEL_H

#include <clusterjit/kernel.h>

typedef struct histogram_model {
    cj_dtype dtype;  // of a sample: u8, u16, u32 or f32
    uint64_t bins;
    double   lower, upper;
} histogram_model;

// The bins that a family's parameters describe, with the defaults of `lower` and `upper`.
histogram_model histogram_model_of(const cj_params *params);

// The bin of the sample at `sample`; `bins` if it is out of bounds.
uint64_t histogram_model_bin(const histogram_model *m, const void *sample);

#endif
