// SPDX-License-Identifier: Apache-2.0
// The histogram: how a sample becomes the number of its bin, and what its files share.
#ifndef CJ_TEMPLATES_HISTOGRAM_H
#define CJ_TEMPLATES_HISTOGRAM_H

#include <clusterjit/ptx.h>
#include <stdbool.h>

#include "family.h"

typedef enum cj_sample { CJ_SAMPLE_F32, CJ_SAMPLE_U8, CJ_SAMPLE_U16, CJ_SAMPLE_U32 } cj_sample;

// Equal bins over [lower, upper).
//   integers  bin = floor((x - lower) * bins / (upper - lower)), exactly:
//             = d * whole + floor(d * part / 2^64) with d = x - lower, part = ceil(2^64 * rest / width), where
//             bins = whole * width + rest. The error of `part` is below 1, so the quotient is too large by less than
//             d / 2^64 < 1 / width, which no floor of a multiple of 1 / width notices.
//   f32       bin = min(trunc((x - lower) * scale), bins - 1), each operation rounded to nearest, scale the f32 nearest
//             to bins / (upper - lower).
typedef struct cj_binning {
    cj_sample sample;
    uint64_t  bins;
    uint64_t  first, width;  // of integers: lower, and upper - lower
    uint64_t  whole, part;
    float     lower, upper, scale;  // of f32
} cj_binning;

// INVALID_ARGUMENT where the range is empty, beyond the type, or too narrow or wide for f32.
// lower = upper = 0 stands for [0, bins) of integers and [0, 1) of floats.
cj_status cj__binning_make(cj_binning *binning, cj_sample sample, uint64_t bins, double lower, double upper,
                           cj_error *error);

// Registers that the lines of one kernel share.
typedef struct cj_binning_regs {
    cj_reg offset, high, product, scaled, inside;
} cj_binning_regs;

void cj__binning_declare(const cj_binning *binning, cj_func *f, cj_binning_regs *regs);

// Writes bin = the bin of `sample` (an f32 register, else u32); a number of at least `bins` where it is outside.
void cj__binning_write(const cj_binning *binning, cj_func *f, const cj_binning_regs *regs, cj_reg bin, cj_reg sample);

// ---- the family's own: from its plan (histogram_plan.c) to its kernel (histogram.c)

enum {
    HISTOGRAM_N,
    HISTOGRAM_BINS,
    HISTOGRAM_DTYPE,
    HISTOGRAM_COUNTS,
    HISTOGRAM_LOWER,
    HISTOGRAM_UPPER,
    HISTOGRAM_BLOCK,
    HISTOGRAM_CLUSTER,
    HISTOGRAM_GRID,
    HISTOGRAM_WIDTH,
    HISTOGRAM_STRATEGY,
    HISTOGRAM_PARAMS
};

extern const cj_param_info cj__histogram_params[HISTOGRAM_PARAMS];

// Bytes a load, bytes of a cache line, the most blocks of a pool.
enum { HISTOGRAM_LOAD = 16, HISTOGRAM_LINE = 128, HISTOGRAM_POOL = 16 };

typedef struct cj_histogram_dtype {
    cj_sample   sample;
    const char *load, *reg;  // types of one element as loaded, and of its register
    unsigned    bytes;
} cj_histogram_dtype;

// Bits of a counter in shared memory, and counters in a word.
typedef struct cj_histogram_width {
    unsigned bits, in_word;
} cj_histogram_width;

// How the bins lie in shared memory: width.in_word of them in a word, from its low bits up.
typedef struct cj_histogram_layout {
    cj_histogram_width width;
    unsigned           pool;    // blocks
    uint64_t           own;     // bins a block, in whole words
    bool               remote;  // blocks count in each other's memory; the pool is a cluster
} cj_histogram_layout;

const cj_histogram_dtype *cj__histogram_dtype(const cj_plan *plan);

// The layout of a plan that was made.
cj_histogram_layout cj__histogram_layout(const cj_plan *plan);

cj_status cj__histogram_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

#endif
