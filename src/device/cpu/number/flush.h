// SPDX-License-Identifier: Apache-2.0
// Two properties of f32 results on the hardware that the host lacks: subnormals are flushed (.ftz), and there is one
// NaN.
#ifndef CJ_CPU_FLUSH_H
#define CJ_CPU_FLUSH_H

#include <float.h>
#include <math.h>
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

#endif
