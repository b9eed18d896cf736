// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f16 and bf16 on their codes: computed in double, exactly or rounded to odd, then rounded once.
#ifndef CJ_CPU_HALF_H
#define CJ_CPU_HALF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "small.h"

// The NaN that a tensor copy writes for a half outside of its tensor, if the map asks for NaNs. fma.oob treats it as 0,
// with either sign (measured on an H200; the value is not documented).
enum { CJ_HALF_OUTSIDE = 0x7ff7 };

typedef enum cj_half_kind { CJ_HALF_F16, CJ_HALF_BF16 } cj_half_kind;

enum { CJ_HALF_NAN = 0x7fff };  // in both formats

// The flags of `mode`.
enum {
    CJ_HALF_FLUSH = 1,
    CJ_HALF_SATURATE = 2,
    CJ_HALF_RELU = 4,
    CJ_HALF_OOB = 8,
    CJ_HALF_MAGNITUDE = 16,
    CJ_HALF_XORSIGN = 32,
    CJ_HALF_PROPAGATE = 64,
    CJ_HALF_LARGER = 128
};

static inline uint16_t cj__half_flushed(uint16_t code, cj_half_kind k) {
    const uint16_t least = k == CJ_HALF_F16 ? 0x0400 : 0x0080;
    return (code & 0x7fff) < least ? code & 0x8000 : code;
}

static inline float cj__half_value(uint16_t code, cj_half_kind k) {
    return k == CJ_HALF_F16 ? cj__f16_to_f32(code) : cj__bf16_to_f32(code);
}
static inline bool cj__half_is_nan(uint16_t code, cj_half_kind k) {
    return (code & 0x7fff) > (k == CJ_HALF_F16 ? 0x7c00 : 0x7f80);
}

static inline uint16_t cj__half_finished(double x, uint16_t mode, cj_half_kind k) {
    if (mode & CJ_HALF_SATURATE) x = x > 1 ? 1 : x > 0 ? x : 0;
    if (mode & CJ_HALF_RELU && x <= 0) x = 0;
    if (mode & CJ_HALF_FLUSH && fabs(x) < 0x1p-14 - 0x1p-26) x = copysign(0, x);  // as f32 is (flush.h)
    return (uint16_t)cj__small_pack(cj__small_float(k == CJ_HALF_F16 ? CJ_W_F16 : CJ_W_BF16), x, CJ_W_RN, false);
}

// ---- a * b + c. Sums, products and negation are this too, with 1, -1 or -0 in the third place, as on the hardware.

static inline uint16_t cj__half_fma(uint16_t a, uint16_t b, uint16_t c, uint16_t mode, cj_half_kind k) {
    if (mode & CJ_HALF_OOB && ((a & 0x7fff) == CJ_HALF_OUTSIDE || (b & 0x7fff) == CJ_HALF_OUTSIDE)) return 0;
    if (mode & CJ_HALF_MAGNITUDE) a &= 0x7fff;
    if (mode & CJ_HALF_FLUSH) a = cj__half_flushed(a, k), b = cj__half_flushed(b, k), c = cj__half_flushed(c, k);
    const double product = (double)cj__half_value(a, k) * (double)cj__half_value(b, k);
    return cj__half_finished(cj__small_sum(product, (double)cj__half_value(c, k)), mode, k);
}

// ---- smaller, larger

static inline uint16_t cj__half_extreme(uint16_t a, uint16_t b, uint16_t mode, cj_half_kind k) {
    const uint16_t sign = mode & CJ_HALF_XORSIGN ? (a ^ b) & 0x8000 : 0;
    if (mode & CJ_HALF_MAGNITUDE) a &= 0x7fff, b &= 0x7fff;
    if (mode & CJ_HALF_FLUSH) a = cj__half_flushed(a, k), b = cj__half_flushed(b, k);
    const bool a_nan = cj__half_is_nan(a, k), b_nan = cj__half_is_nan(b, k);
    if ((a_nan && b_nan) || (mode & CJ_HALF_PROPAGATE && (a_nan || b_nan))) return CJ_HALF_NAN;
    if (a_nan || b_nan) return (a_nan ? b : a) | sign;
    const int32_t of_a = a & 0x8000 ? -1 - (a & 0x7fff) : a, of_b = b & 0x8000 ? -1 - (b & 0x7fff) : b;  // -0 below +0
    return ((of_a < of_b) == !(mode & CJ_HALF_LARGER) ? a : b) | sign;
}

// ---- the operations of atomics and asynchronous reductions on an element: bf16 if `brain`, else f16

uint16_t cj__half_sum(uint16_t a, uint16_t b, bool brain);
uint16_t cj__half_smaller(uint16_t a, uint16_t b, bool brain);
uint16_t cj__half_larger(uint16_t a, uint16_t b, bool brain);

#endif
