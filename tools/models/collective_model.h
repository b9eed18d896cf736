// SPDX-License-Identifier: Apache-2.0
// The expected results of family collective, bit for bit: the same operations on the host, rank by rank.
#ifndef CJ_MODELS_COLLECTIVE_MODEL_H
#define CJ_MODELS_COLLECTIVE_MODEL_H

#include <clusterjit/collectives.h>
#include <clusterjit/kernel.h>
#include <stdbool.h>

// The problem that a family's parameters describe, for one cluster.
typedef struct collective_model {
    cj_collective_op op;
    cj_combine_op    combine;
    cj_dtype         dtype;
    uint32_t         cluster, count, gives, gets, root, rounds;  // as in clusterjit/collectives.h
    int64_t          distance;
    bool             exclusive, around;
    bool             in_order;  // combined one after the other, as multimem.ld_reduce does, not in pairs of neighbours
} collective_model;

collective_model collective_model_of(const cj_params *params);

// Elements of a cluster's input and output.
size_t collective_model_inputs(const collective_model *m);
size_t collective_model_outputs(const collective_model *m);

// Computes out[cluster][gets][count] from x[cluster][gives][count]; overwrites x.
void collective_model_run(const collective_model *m, void *x, void *out);

// Whether a result is right: the same bits, or two NaNs.
bool collective_model_same(cj_dtype dtype, const void *found, const void *expected);

// Element `index` of an input: floats in [-1, 1) that need every bit of their significand, integers that need every bit.
void collective_model_fill(cj_dtype dtype, uint64_t seed, uint64_t index, void *to);

#endif
