// SPDX-License-Identifier: Apache-2.0
// The fused kernels of several GPUs by definition, in f64, row by row: their arrays, in the order of the kernel's arguments, what these
// are filled with, and the expected results. The tests use it, too.
#ifndef CJ_MODELS_FUSED_MODEL_H
#define CJ_MODELS_FUSED_MODEL_H

#include <clusterjit/gpus.h>

typedef struct fused_array {
    const char *name;
    cj_dtype    type;
    uint64_t    rows, width;  // rows 1: all rows have the same one
    bool        written;
    bool        same;         // on all GPUs: what is read has the same values, what is written the same bits
    double      low, high;    // the range of its random values
} fused_array;

typedef struct fused_model fused_model;

struct fused_model {
    uint32_t    gpus;
    uint64_t    rows, columns;
    unsigned    count;
    fused_array array[CJ_GPUS_ARRAYS];
    cj_dtype    type;
    uint64_t    k;
    bool        layer, residual, weight, bias, log, gradient, smallest;
    double      epsilon, ignore, smoothing, scale;
    // value[g][i]: the row of array i on GPU g. Computes those that are written.
    void (*row)(const fused_model *m, double *value[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]);
};

// False if the family is none of these.
bool fused_model_make(fused_model *m, const cj_params *params);

// Element `at` of array i on GPU g, rounded to its type.
double fused_model_fill(const fused_model *m, unsigned i, uint32_t g, uint64_t at);

// Computes every written array of every GPU from the arrays that are read: data[g][i] are elements of the array's type.
// False if there is no memory.
bool fused_model_run(const fused_model *m, unsigned char *data[CJ_GPUS_MAX][CJ_GPUS_ARRAYS],
                     double *expected[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]);

// A value's distance from what is expected, over |expected| + 1 / 4; 0 for the infinity that its type has for that. It is as expected
// within the bound of its type.
double fused_model_error(cj_dtype type, double found, double expected);
double fused_model_bound(cj_dtype type);
bool   fused_model_same(cj_dtype type, double found, double expected);

#endif
