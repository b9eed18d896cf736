// SPDX-License-Identifier: Apache-2.0
// What the hardware does to an f32 result that the host does not: flush a subnormal (.ftz), and give one NaN.
#ifndef CJ_CPU_FLUSH_H
#define CJ_CPU_FLUSH_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

// .ftz: a subnormal becomes zero.
static inline float cj__cpu_flush(float x) { return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x; }

// The hardware rounds as if exponents went on below and then looks whether the result is subnormal: what the exact
// result would round to the smallest normal number from below is flushed too.
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
