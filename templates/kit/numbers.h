// SPDX-License-Identifier: Apache-2.0
// Arithmetic of plans, and numbers of kernels.
#ifndef CJ_TEMPLATES_NUMBERS_H
#define CJ_TEMPLATES_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

// Powers of e by those of 2, and logarithms likewise.
#define CJ_LOG2E 1.4426950408889634
#define CJ_LN2   0.6931471805599453

static inline uint64_t cj__ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
static inline uint64_t cj__round_up(uint64_t a, uint64_t unit) { return cj__ceil_div(a, unit) * unit; }
static inline uint64_t cj__least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t cj__most(uint64_t a, uint64_t b) { return a > b ? a : b; }

// The number of the highest bit that is set: the logarithm of a power of two.
static inline unsigned cj__log2(uint64_t value) {
    unsigned bit = 0;
    while (value >>= 1) bit++;
    return bit;
}

static inline bool cj__is_power(uint64_t value) { return value && !(value & (value - 1)); }

// The least power of two that is not below `value`, at most 2^31.
static inline unsigned cj__power_from(uint64_t value) {
    unsigned power = 1;
    while (power < value && power < 1u << 31) power *= 2;
    return power;
}

#endif
