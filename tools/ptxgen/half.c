// SPDX-License-Identifier: Apache-2.0
#include "half.h"

#include <math.h>

uint16_t half_from(half_format format, double value) {
    int      bias = (1 << (format.exponent - 1)) - 1, shift;
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(((1 << format.exponent) - 1) << format.fraction);
    if (isnan(value)) return (uint16_t)(infinity | 1 << (format.fraction - 1));
    double magnitude = frexp(fabs(value), &shift);                  // in [0.5, 1)
    int    exponent = shift - 1 < 1 - bias ? 1 - bias : shift - 1;  // subnormals share the least exponent
    if (isinf(value) || exponent > bias) return (uint16_t)(sign | infinity);
    long significand = lrint(ldexp(magnitude, shift - exponent + format.fraction));  // with the hidden bit
    long bits = significand + ((long)(exponent + bias - 1) << format.fraction);      // a carry raises the exponent
    return (uint16_t)(sign | (value == 0 ? 0 : bits));
}

double half_to(half_format format, uint16_t bits) {
    int    bias = (1 << (format.exponent - 1)) - 1, most = (1 << format.exponent) - 1;
    int    exponent = bits >> format.fraction & most, fraction = bits & ((1 << format.fraction) - 1);
    double value = exponent == most ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent       ? ldexp((1 << format.fraction) + fraction, exponent - bias - format.fraction)
                                    : ldexp(fraction, 1 - bias - format.fraction);
    return bits & 0x8000 ? -value : value;
}
