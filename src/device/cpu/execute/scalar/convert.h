// SPDX-License-Identifier: Apache-2.0
// What the conversions (convert.c, narrow.c) share.
#ifndef CJ_CPU_CONVERT_H
#define CJ_CPU_CONVERT_H

#include "exec.h"
#include "small.h"

// Reads source operand k of all lanes, extended by its sign; writes results, cut to their type and extended by its
// sign.
void cj__cpu_read_integers(const cj_cpu_warp *w, const cj_cpu_op *op, int64_t value[CJ_LANES]);
void cj__cpu_write_integers(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, int64_t value[CJ_LANES]);
// Reads the source as numbers, of any float format; .ftz flushes f32.
void cj__cpu_read_floats(const cj_cpu_warp *w, const cj_cpu_op *op, double value[CJ_LANES]);

// Rounds to a whole number, by a word that ends in i.
static inline double cj__cpu_whole(double x, uint16_t rounding) {
    return rounding == CJ_W_RZI   ? trunc(x)
           : rounding == CJ_W_RMI ? floor(x)
           : rounding == CJ_W_RPI ? ceil(x)
           : rounding == CJ_W_RNI ? rint(x)
                                  : x;
}

// The executor of a conversion to or from a 16-bit format, or to tf32; p->op.convert has been made.
bool cj__cpu_select_narrow(cj_cpu_prepare *p);

#endif
