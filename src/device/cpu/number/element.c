// SPDX-License-Identifier: Apache-2.0
#include "element.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "small.h"

// ---- numbers from bits

// An e4m3 as an f16 whose exponent bias is 8 less; it has no infinity.
static inline double number_e4m3(uint64_t bits) {
    const float value = cj__f16_to_f32((uint16_t)((bits & 0x80) << 8 | (bits & 0x7f) << 7));
    return (bits & 0x7f) == 0x7f ? (double)NAN : (double)value * 0x1p8;
}

static inline double number_f64(uint64_t bits) { return cj__bits_to_double(bits); }
static inline double number_f32(uint64_t bits) { return (double)cj__bits_to_float((uint32_t)bits); }
static inline double number_tf32(uint64_t bits) { return (double)cj__bits_to_float((uint32_t)bits & ~0x1fffu); }
static inline double number_bf16(uint64_t bits) { return (double)cj__bf16_to_f32((uint16_t)bits); }
static inline double number_f16(uint64_t bits) { return (double)cj__f16_to_f32((uint16_t)bits); }
static inline double number_e5m2(uint64_t bits) { return (double)cj__f16_to_f32((uint16_t)(bits << 8)); }
static inline double number_u8(uint64_t bits) { return (double)(uint8_t)bits; }
static inline double number_s8(uint64_t bits) { return (double)(int8_t)bits; }
static inline double number_u4(uint64_t bits) { return (double)(bits & 15); }
static inline double number_s4(uint64_t bits) { return (double)((int)((bits & 15) ^ 8) - 8); }
static inline double number_b1(uint64_t bits) { return (double)(bits & 1); }
static inline double number_s32(uint64_t bits) { return (double)(int32_t)(uint32_t)bits; }

// ---- bits from numbers

static inline uint64_t bits_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t bits_f32(double value) {
    const float narrow = (float)value;
    uint32_t    bits;
    memcpy(&bits, &narrow, sizeof bits);
    return value == value ? bits : 0x7fffffff;
}

static inline uint64_t bits_f16(double value) {
    return cj__small_pack(cj__small_float(CJ_W_F16), value, CJ_W_RN, false);
}

static inline uint64_t bits_s32(double value) { return (uint32_t)(int64_t)value; }

// ---- types

#define DECODE(name)                                                                 \
    static void decode_##name(const uint64_t *bits, unsigned count, double *value) { \
        for (unsigned i = 0; i < count; i++) value[i] = number_##name(bits[i]);      \
    }
#define ENCODE(name)                                                                 \
    static void encode_##name(const double *value, unsigned count, uint64_t *bits) { \
        for (unsigned i = 0; i < count; i++) bits[i] = bits_##name(value[i]);        \
    }

DECODE(f64)
DECODE(f32)
DECODE(tf32)
DECODE(bf16)
DECODE(f16)
DECODE(e5m2)
DECODE(e4m3)
DECODE(u8)
DECODE(s8)
DECODE(u4)
DECODE(s4)
DECODE(b1)
DECODE(s32)
ENCODE(f64)
ENCODE(f32)
ENCODE(f16)
ENCODE(s32)

static const cj_element elements[] = {
    {CJ_W_F64, 64, decode_f64, encode_f64}, {CJ_W_F32, 32, decode_f32, encode_f32},
    {CJ_W_F16, 16, decode_f16, encode_f16}, {CJ_W_S32, 32, decode_s32, encode_s32},
    {CJ_W_TF32, 32, decode_tf32, NULL},     {CJ_W_BF16, 16, decode_bf16, NULL},
    {CJ_W_E5M2, 8, decode_e5m2, NULL},      {CJ_W_E4M3, 8, decode_e4m3, NULL},
    {CJ_W_U8, 8, decode_u8, NULL},          {CJ_W_S8, 8, decode_s8, NULL},
    {CJ_W_U4, 4, decode_u4, NULL},          {CJ_W_S4, 4, decode_s4, NULL},
    {CJ_W_B1, 1, decode_b1, NULL},
};

const cj_element *cj__element(cj_word type) {
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        if (elements[i].type == type) return &elements[i];
    }
    return NULL;
}

unsigned cj__elements_of(const cj_mnemonic *mnemonic, const cj_element *found[CJ_ELEMENTS_MAX]) {
    unsigned count = 0;
    for (unsigned i = 0; i < mnemonic->word_count && count < CJ_ELEMENTS_MAX; i++) {
        found[count] = cj__element(mnemonic->word[i]);
        count += found[count] != NULL;
    }
    return count;
}

// ---- in memory

// One loop for each width, which is then a constant.
#define EACH_WIDTH(bits, DO)     \
    switch (bits) {              \
    case 8: DO(uint8_t) break;   \
    case 16: DO(uint16_t) break; \
    case 32: DO(uint32_t) break; \
    case 64: DO(uint64_t) break; \
    }

void cj__elements_load(const unsigned char *array, unsigned bits, unsigned count, uint64_t *to, unsigned step) {
#define LOAD(type)                                              \
    for (unsigned i = 0; i < count; i++) {                      \
        type value;                                             \
        memcpy(&value, array + i * sizeof value, sizeof value); \
        to[i * step] = value;                                   \
    }
    EACH_WIDTH(bits, LOAD)
#undef LOAD
    for (unsigned i = 0; bits < 8 && i < count; i++) {
        to[i * step] = (uint64_t)array[i * bits / 8] >> i * bits % 8 & ((1u << bits) - 1);
    }
}

void cj__elements_store(unsigned char *array, unsigned bits, unsigned count, const uint64_t *from, unsigned step) {
#define STORE(type)                                             \
    for (unsigned i = 0; i < count; i++) {                      \
        const type value = (type)from[i * step];                \
        memcpy(array + i * sizeof value, &value, sizeof value); \
    }
    EACH_WIDTH(bits, STORE)
#undef STORE
}

// ---- products

// Only columns are vectorized; most products have 8, so that number is a constant.
#define MULTIPLY(name, expression)                                                                                    \
    static inline __attribute__((always_inline)) void name##_any(unsigned m, unsigned n, unsigned k, const double *a, \
                                                                 const double *b, double *d) {                        \
        for (unsigned row = 0; row < m; row++, d += n) {                                                              \
            for (unsigned i = 0; i < k; i++) {                                                                        \
                const double x = *a++;                                                                                \
                for (unsigned column = 0; column < n; column++) {                                                     \
                    const double y = b[i * n + column], sum = d[column];                                              \
                    d[column] = (expression);                                                                         \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
    }                                                                                                                 \
    static void name(unsigned m, unsigned n, unsigned k, const double *a, const double *restrict b,                   \
                     double *restrict d) {                                                                            \
        if (n == 8)                                                                                                   \
            name##_any(m, 8, k, a, b, d);                                                                             \
        else                                                                                                          \
            name##_any(m, n, k, a, b, d);                                                                             \
    }

MULTIPLY(multiply_sum, sum + x * y)
MULTIPLY(multiply_fma, cj__element_fma(x, y, sum))
MULTIPLY(multiply_xor, sum + (double)(x != y))

void cj__multiply(cj_multiply how, unsigned m, unsigned n, unsigned k, const double *a, const double *b, double *d) {
    switch (how) {
    case CJ_MULTIPLY_SUM: multiply_sum(m, n, k, a, b, d); break;
    case CJ_MULTIPLY_FMA: multiply_fma(m, n, k, a, b, d); break;
    case CJ_MULTIPLY_XOR: multiply_xor(m, n, k, a, b, d); break;
    case CJ_MULTIPLY_AND: multiply_sum(m, n, k, a, b, d); break;  // of bits
    default: break;
    }
}

cj_shape cj__shape_of(const cj_mnemonic *mnemonic) {
    cj_shape shape = {0};
    for (unsigned i = 0; i < mnemonic->word_count; i++) {
        if (sscanf(cj__words[mnemonic->word[i]].text, "m%un%uk%u", &shape.m, &shape.n, &shape.k) == 3) return shape;
    }
    return (cj_shape){0};
}
