// SPDX-License-Identifier: Apache-2.0
// Floats of fewer than 32 bits, and their conversion from and to the host's types: exact in one direction, correctly
// rounded in the other.
#ifndef CJ_CPU_SMALL_H
#define CJ_CPU_SMALL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "table.h"

// A format. Its codes without the sign bit ascend with the value: 0, the subnormals, the normals, `largest`, then
// infinity, if the format has one, then NaN.
typedef struct cj_small_float {
    uint8_t  bits, fraction;  // in all, of the fraction
    int16_t  least;           // exponent of the smallest normal number
    uint32_t largest;
    uint32_t infinity;  // 0: the format has none and gives `largest`
    uint32_t nan;       // the one that the hardware gives
} cj_small_float;

// NULL for a type that is none of them. A vector (f16x2, e4m3x4) gives the format of its elements.
const cj_small_float *cj__small_float(cj_word type);

// Rounds x to a code: rounding is CJ_W_RN, RZ, RM, RP or RNA; finite: a number that is too large becomes the largest.
uint32_t cj__small_pack(const cj_small_float *format, double x, cj_word rounding, bool finite);
double   cj__small_unpack(const cj_small_float *format, uint32_t code);

// The sum, rounded to odd: rounding it again, to a format of 51 bits at most, gives the correctly rounded sum.
double cj__small_sum(double a, double b);
// An integer's magnitude, rounded to odd.
double cj__small_integer(uint64_t magnitude);

// f16 is f32 with another exponent bias; a multiplication changes the bias, of subnormals too.
static inline float cj__f16_to_f32(uint16_t code) {
    const uint32_t magnitude = (uint32_t)(code & 0x7fff) << 13, sign = (uint32_t)(code & 0x8000) << 16;
    float          value;
    uint32_t       bits;
    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= sign | ((code & 0x7c00) == 0x7c00 ? 0x7f800000u : 0);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float cj__bf16_to_f32(uint16_t code) {
    const uint32_t bits = (uint32_t)code << 16;
    float          value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
