// SPDX-License-Identifier: Apache-2.0
// Registers of C and D as doubles: of line i, lane i * 4 + t has numbers 2 t and 2 t + 1, the first in the first register. Inline, as
// all of codes.h.
#ifndef CJ_CPU_SUMS_H
#define CJ_CPU_SUMS_H

#include "codes.h"

// A tile of sums; most sets keep it in vector registers.
typedef struct sums {
    doubles line[SIDE];
} sums;

INLINE words32 codes_f32(doubles value) { return (words32) __builtin_convertvector(value, floats); }

// An integer below 2^51 in magnitude, plus 2^52 and 2^51, has its lower bits at the bottom of the fraction.
INLINE words32 codes_s32(doubles value) { return __builtin_convertvector((wide64)(value + 0x1.8p52), words32); }

#define SUM32(name, type, number_of)                                                                      \
    INLINE void decode_##name##_sums(const void *first, const void *second, sums *d, from_floats widen) { \
        (void)widen;                                                                                      \
        for (unsigned i = 0; i < QUAD; i++) {                                                             \
            words32 even, odd;                                                                            \
            LOAD(even, (const char *)first + i * sizeof even);                                            \
            LOAD(odd, (const char *)second + i * sizeof odd);                                             \
            const words32 low = SHUFFLE(even, odd, 0, 1, 2, 3, 8, 9, 10, 11);                             \
            const words32 high = SHUFFLE(even, odd, 4, 5, 6, 7, 12, 13, 14, 15);                          \
            d->line[2 * i] = number_of((type)low);                                                        \
            d->line[2 * i + 1] = number_of((type)high);                                                   \
        }                                                                                                 \
    }                                                                                                     \
    INLINE void encode_##name##_sums(const sums *d, void *first, void *second) {                          \
        for (unsigned i = 0; i < QUAD; i++) {                                                             \
            const words32 low = codes_##name(d->line[2 * i]), high = codes_##name(d->line[2 * i + 1]);    \
            const words32 even = SHUFFLE(low, high, 0, 1, 2, 3, 8, 9, 10, 11);                            \
            const words32 odd = SHUFFLE(low, high, 4, 5, 6, 7, 12, 13, 14, 15);                           \
            STORE((char *)first + i * sizeof even, even);                                                 \
            STORE((char *)second + i * sizeof odd, odd);                                                  \
        }                                                                                                 \
    }

#define NUMBER_OF(integer) __builtin_convertvector(integer, doubles)
SUM32(f32, floats, widen)
SUM32(s32, signed32, NUMBER_OF)

typedef uint16_t line16 __attribute__((vector_size(16)));

INLINE void decode_f16_sums(const void *reg, sums *d, from_halves from) {
    for (unsigned i = 0; i < SIDE; i++) {
        line16   half;
        uint16_t turned[SIDE];
        LOAD(half, (const char *)reg + i * sizeof half);
        half = SHUFFLE(half, half, 0, 2, 4, 6, 1, 3, 5, 7);
        STORE(turned, half);
        d->line[i] = from(turned);
    }
}

INLINE void encode_f16_sums(const sums *d, void *reg, to_halves to) {
    for (unsigned i = 0; i < SIDE; i++) {
        line16   half;
        uint16_t turned[SIDE];
        to(d->line[i], turned);
        LOAD(half, turned);
        half = SHUFFLE(half, half, 0, 4, 1, 5, 2, 6, 3, 7);
        STORE((char *)reg + i * sizeof half, half);
    }
}

INLINE void decode_f64_sums(const void *first, const void *second, sums *d) {
    for (unsigned i = 0; i < SIDE; i++) {
        words64 even, odd;
        LOAD(even, (const char *)first + i * sizeof even);
        LOAD(odd, (const char *)second + i * sizeof odd);
        d->line[i] = (doubles)wide(even, odd);
    }
}

INLINE void encode_f64_sums(const sums *d, void *first, void *second) {
    for (unsigned i = 0; i < SIDE; i++) {
        const wide64  line = (wide64)d->line[i];
        const words64 even = SHUFFLE(line, line, 0, 1, 2, 3), odd = SHUFFLE(line, line, 4, 5, 6, 7);
        STORE((char *)first + i * sizeof even, even);
        STORE((char *)second + i * sizeof odd, odd);
    }
}

// NaN if a number of the column is NaN, and if some are infinite with both signs.
INLINE doubles sum_of_all(const sums *d) {
    const doubles *x = d->line;
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

INLINE bool may_have_nan(const sums *d, has_nan is_nan) { return is_nan(sum_of_all(d)); }

// The NaN that becomes those of f32 and f16.
INLINE void make_nans_alike(sums *d) {
    for (unsigned i = 0; i < SIDE; i++) {
        const wide64 is_nan = (wide64)(d->line[i] != d->line[i]);
        d->line[i] = (doubles)(((wide64)d->line[i] & ~is_nan) | (is_nan & (UINT64_MAX >> 1)));
    }
}

INLINE void saturate(sums *d) {
    for (unsigned i = 0; i < SIDE; i++) {
        const doubles most = (doubles){0} + INT32_MAX, least = (doubles){0} + INT32_MIN, value = d->line[i];
        const wide64  over = (wide64)(value > most), under = (wide64)(value < least);
        d->line[i] = (doubles)(((wide64)value & ~(over | under)) | ((wide64)most & over) | ((wide64)least & under));
    }
}

INLINE void decode_sums(cj_tile_sum type, const void *first, const void *second, sums *d, from_halves from,
                        from_floats widen) {
    switch (type) {
    case CJ_TILE_SUM_F64: decode_f64_sums(first, second, d); break;
    case CJ_TILE_SUM_F32: decode_f32_sums(first, second, d, widen); break;
    case CJ_TILE_SUM_S32: decode_s32_sums(first, second, d, widen); break;
    case CJ_TILE_SUM_F16: decode_f16_sums(first, d, from); break;
    }
}

INLINE void encode_sums(const cj_tile_panel *panel, void *first, void *second, sums *d, to_halves to) {
    switch (panel->d) {
    case CJ_TILE_SUM_F64: encode_f64_sums(d, first, second); break;
    case CJ_TILE_SUM_F32: encode_f32_sums(d, first, second); break;
    case CJ_TILE_SUM_S32:
        if (panel->saturate) saturate(d);
        encode_s32_sums(d, first, second);
        break;
    case CJ_TILE_SUM_F16: encode_f16_sums(d, first, to); break;
    }
}

#endif
