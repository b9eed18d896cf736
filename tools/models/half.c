// SPDX-License-Identifier: Apache-2.0
#include "half.h"

#include <math.h>

static int bias_of(half_format format) { return (1 << (format.exponent - 1)) - 1; }

// The code of infinity, or of the largest number if there is none; all larger codes are NaN.
static long top_of(half_format format) {
    const int top = (1 << format.exponent) - 1, all = (1 << format.fraction) - 1;
    return format.finite ? (top << format.fraction | all) - 1 : top << format.fraction;
}

uint16_t half_from(half_format format, double value) {
    const int  bias = bias_of(format);
    const long top = top_of(format), sign = signbit(value) ? 1 << (format.fraction + format.exponent) : 0;
    int        shift;
    if (isnan(value)) return (uint16_t)(format.finite ? top + 1 : top | 1 << (format.fraction - 1));
    if (isinf(value)) return (uint16_t)(sign | top);
    if (value == 0) return (uint16_t)sign;
    const double magnitude = frexp(fabs(value), &shift);                  // in [0.5, 1)
    const int    exponent = shift - 1 < 1 - bias ? 1 - bias : shift - 1;  // subnormals share the least one
    if (exponent > bias + 1) return (uint16_t)(sign | top);
    const long significand = lrint(ldexp(magnitude, shift - exponent + format.fraction));  // with the hidden bit
    const long bits = significand + ((long)(exponent + bias - 1) << format.fraction);  // a carry raises the exponent
    return (uint16_t)(sign | (bits > top ? top : bits));
}

double half_to(half_format format, uint16_t bits) {
    const int    bias = bias_of(format), magnitude = bits & ((1 << (format.fraction + format.exponent)) - 1);
    const int    exponent = magnitude >> format.fraction, fraction = magnitude & ((1 << format.fraction) - 1);
    const long   top = top_of(format);
    const double value = magnitude > top                      ? (double)NAN
                         : magnitude == top && !format.finite ? (double)INFINITY
                         : exponent ? ldexp((1 << format.fraction) + fraction, exponent - bias - format.fraction)
                                    : ldexp(fraction, 1 - bias - format.fraction);
    return bits >> (format.fraction + format.exponent) & 1 ? -value : value;
}
