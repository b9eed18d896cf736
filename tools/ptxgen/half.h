// SPDX-License-Identifier: Apache-2.0
// Floats of 16 bits on a host that has none: a sign, an exponent and a fraction that share the other 15 bits.
#ifndef PTXGEN_HALF_H
#define PTXGEN_HALF_H

#include <stdint.h>

typedef struct half_format {
    int fraction, exponent;  // bits
} half_format;

static const half_format half_f16 = {10, 5}, half_bf16 = {7, 8};

// Rounded to nearest even, as IEEE 754 has it; NaN becomes the quiet one.
uint16_t half_from(half_format format, double value);
double   half_to(half_format format, uint16_t bits);

#endif
