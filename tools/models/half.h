// SPDX-License-Identifier: Apache-2.0
// Floats of 16 and of 8 bits on a host that has no such types: a sign, an exponent and a fraction share the bits.
#ifndef CJ_MODELS_HALF_H
#define CJ_MODELS_HALF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct half_format {
    int  fraction, exponent;  // bits
    bool finite;              // no infinity, one NaN: the largest exponent has numbers
} half_format;

static const half_format half_f16 = {10, 5, false}, half_bf16 = {7, 8, false}, half_e5m2 = {2, 5, false},
                         half_e4m3 = {3, 4, true};

// Rounds to nearest even, as IEEE 754 says; NaN becomes the quiet NaN. If the format has no infinity, a number that is
// too large becomes the largest number.
uint16_t half_from(half_format format, double value);
double   half_to(half_format format, uint16_t bits);

#endif
