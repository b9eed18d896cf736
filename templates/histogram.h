// SPDX-License-Identifier: Apache-2.0
// How a sample becomes the number of its bin.
#ifndef CJ_TEMPLATES_HISTOGRAM_H
#define CJ_TEMPLATES_HISTOGRAM_H

#include <clusterjit/ptx.h>
#include <stdbool.h>

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

#endif
