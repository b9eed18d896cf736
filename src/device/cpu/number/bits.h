// SPDX-License-Identifier: Apache-2.0
// The bits of numbers, and numbers from their bits. Always inline: tile.c compiles its callers once for each instruction set.
#ifndef CJ_CPU_BITS_H
#define CJ_CPU_BITS_H

#include <stdint.h>
#include <string.h>

#define CJ_BITS(name, to, from)                                                   \
    static inline __attribute__((always_inline)) to cj__bits_##name(from value) { \
        to result;                                                                \
        _Static_assert(sizeof result == sizeof value, "a number's own bits");     \
        memcpy(&result, &value, sizeof result);                                   \
        return result;                                                            \
    }
CJ_BITS(of_float, uint32_t, float)
CJ_BITS(of_double, uint64_t, double)
CJ_BITS(to_float, float, uint32_t)
CJ_BITS(to_double, double, uint64_t)
#undef CJ_BITS

#endif
