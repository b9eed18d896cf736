// SPDX-License-Identifier: Apache-2.0
// Properties of results on the hardware that the host lacks: subnormals of f32 are flushed (.ftz), f32 has one NaN, and there is
// one that operations of f64 make of numbers.
#ifndef CJ_CPU_FLUSH_H
#define CJ_CPU_FLUSH_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// .ftz: a subnormal becomes zero.
static inline float cj__cpu_flush(float x) { return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x; }

// The hardware rounds as if the exponent range had no lower end, and then checks whether the result is subnormal: so an
// exact result just below the smallest normal number is flushed, too, although it would round to that number.
static inline float cj__cpu_flush_result(float x, double exact) {
    if (fabsf(x) != FLT_MIN) return cj__cpu_flush(x);
    return fabsf((float)(exact * 0x1p64)) < FLT_MIN * 0x1p64f ? copysignf(0.0f, x) : x;
}

// An f32 result as the hardware gives it: NaN is 0x7fffffff.
static inline float cj__cpu_canonical(float x) {
    const uint32_t bits = 0x7fffffff;
    float          nan;
    memcpy(&nan, &bits, sizeof nan);
    return x != x ? nan : x;
}

// An f64 result as the hardware gives it: a NaN that an operation makes of numbers (inf - inf) is 0xfff8000000000000. x86
// makes the same one, ARM one without a sign. `kept`: an operand is NaN, and the result is that one.
static inline double cj__cpu_made(double x, bool kept) {
#if defined(__x86_64__)
    (void)kept;
    return x;
#else
    return x != x && !kept ? -(double)NAN : x;
#endif
}

#endif
