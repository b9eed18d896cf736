// SPDX-License-Identifier: Apache-2.0
#include "tile.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Vectors are passed between inline functions only.
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

enum { WORDS = CJ_TILE_WORDS, NUMBERS = CJ_TILE_NUMBERS, QUAD = 4, SIDE = CJ_TILE, CODES_MAX = 8 * WORDS };

INLINE float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE uint32_t code_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

INLINE uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// ---- halves

typedef void (*halves)(const uint16_t *half, unsigned count, float *number);

// The exponent's bias becomes that of f32. A subnormal gets a leading one, which is subtracted: so no operation has a
// subnormal operand, which would take the host 100 cycles or more.
INLINE void plain_halves(const uint16_t *half, unsigned count, float *number) {
    for (unsigned i = 0; i < count; i++) {
        const uint32_t code = half[i], magnitude = (code & 0x7fff) << 13, exponent = magnitude & 0x0f800000;
        const uint32_t normal = magnitude + (112u << 23) + (exponent == 0x0f800000 ? 112u << 23 : 0);
        const uint32_t small = code_of(float_of(magnitude + (113u << 23)) - 0x1p-14f);
        number[i] = float_of((exponent ? normal : small) | (code & 0x8000) << 16);
    }
}

#if defined(__x86_64__)
#define AVX2 "avx2,fma,f16c,popcnt"
#define AVX512_SETS "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,popcnt"
#if defined(__clang__)
#define AVX512 AVX512_SETS
#else
#define AVX512 AVX512_SETS ",prefer-vector-width=512"
#endif

#define HALVES(name, isa, step, type, load, convert, store)                                              \
    __attribute__((target(isa))) INLINE void name(const uint16_t *half, unsigned count, float *number) { \
        for (unsigned i = 0; i < count; i += (step)) {                                                   \
            store(number + i, convert(load((const type *)(const void *)(half + i))));                    \
        }                                                                                                \
    }
HALVES(avx2_halves, AVX2, 8, __m128i, _mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps)
HALVES(avx512_halves, AVX512, 16, __m256i, _mm256_loadu_si256, _mm512_cvtph_ps, _mm512_storeu_ps)
#endif

// ---- numbers from codes

#define DECODE(name, code_type, count, number)                                   \
    INLINE void decode_##name(const void *codes, double *tile, halves convert) { \
        code_type code[count];                                                   \
        (void)convert;                                                           \
        memcpy(code, codes, sizeof code);                                        \
        for (unsigned i = 0; i < (count); i++) tile[i] = (number);               \
    }

DECODE(bf16, uint16_t, 2 * WORDS, (double)float_of((uint32_t)code[i] << 16))
DECODE(u8, uint8_t, 4 * WORDS, (double)(int32_t)code[i])
DECODE(s8, int8_t, 4 * WORDS, (double)(int32_t)code[i])
DECODE(u4, uint8_t, 8 * WORDS, (double)(int32_t)code[i])
DECODE(s4, uint8_t, 8 * WORDS, (double)((int32_t)(code[i] ^ 8) - 8))
DECODE(b1, uint32_t, WORDS, (double)code[i])

INLINE void decode_f16(const void *codes, double *tile, halves convert) {
    float number[2 * WORDS];
    convert(codes, 2 * WORDS, number);
    for (unsigned i = 0; i < 2 * WORDS; i++) tile[i] = (double)number[i];
}

INLINE void decode_e5m2(const void *codes, double *tile, halves convert) {
    const uint8_t *code = codes;
    uint16_t       half[4 * WORDS];
    float          number[4 * WORDS];
    for (unsigned i = 0; i < 4 * WORDS; i++) half[i] = (uint16_t)(code[i] << 8);
    convert(half, 4 * WORDS, number);
    for (unsigned i = 0; i < 4 * WORDS; i++) tile[i] = (double)number[i];
}

// An e4m3 as an f16 whose exponent bias is 8 less; the code of NaN is that of 480 there.
INLINE void decode_e4m3(const void *codes, double *tile, halves convert) {
    const uint8_t *code = codes;
    uint16_t       half[4 * WORDS];
    float          number[4 * WORDS];
    for (unsigned i = 0; i < 4 * WORDS; i++) half[i] = (uint16_t)((code[i] & 0x80) << 8 | (code[i] & 0x7f) << 7);
    convert(half, 4 * WORDS, number);
    for (unsigned i = 0; i < 4 * WORDS; i++) {
        const float value = number[i] * 0x1p8f;
        tile[i] = fabsf(value) == 480 ? (double)NAN : (double)value;
    }
}

// ---- vectors

typedef uint8_t  bytes __attribute__((vector_size(32)));
typedef uint16_t words16 __attribute__((vector_size(32)));
typedef uint32_t words32 __attribute__((vector_size(32)));
typedef int32_t  signed32 __attribute__((vector_size(32)));
typedef uint64_t words64 __attribute__((vector_size(32)));
typedef float    floats __attribute__((vector_size(32)));
typedef double   doubles __attribute__((vector_size(64)));
typedef uint64_t wide64 __attribute__((vector_size(64)));

// Whole vectors: a load of what several stores have written would wait until they are in the cache.
#define LOAD(vector, at) (memcpy(&(vector), (at), sizeof(vector)))
#define STORE(at, vector) (memcpy((at), &(vector), sizeof(vector)))
#define SHUFFLE __builtin_shufflevector

// By vectors as large as those that turn32 and turn64 store.
INLINE void decode_tf32(const void *codes, double *tile, halves convert) {
    (void)convert;
    for (unsigned i = 0; i < QUAD; i++) {
        words32 code;
        LOAD(code, (const char *)codes + i * sizeof code);
        const doubles number = __builtin_convertvector((floats)(code & ~0x1fffu), doubles);
        STORE(tile + i * SIDE, number);
    }
}

INLINE void decode_f64(const void *codes, double *tile, halves convert) {
    (void)convert;
    for (unsigned i = 0; i < QUAD; i++) {
        wide64 number;
        LOAD(number, (const char *)codes + i * sizeof number);
        STORE(tile + i * SIDE, number);
    }
}

// ---- codes from words: elements side by side, of 8 bits if they have 4. Those of A are mostly its words

INLINE const void *whole(const void *words, void *codes) {
    (void)codes;
    return words;
}

INLINE const void *split4(const void *words, void *codes) {
    const uint8_t *pair = words;
    uint8_t       *code = codes;
    for (unsigned i = 0; i < QUAD * WORDS; i++) {
        code[2 * i] = pair[i] & 15;
        code[2 * i + 1] = pair[i] >> 4;
    }
    return codes;
}

// 8 lines of 4 words become 4 lines of 8.
INLINE void turn_words(const void *words, words32 line[QUAD]) {
    words32 two[QUAD];
    for (unsigned i = 0; i < QUAD; i++) LOAD(two[i], (const char *)words + i * sizeof two[i]);
    const words32 a = SHUFFLE(two[0], two[1], 0, 4, 8, 12, 1, 5, 9, 13);
    const words32 b = SHUFFLE(two[2], two[3], 0, 4, 8, 12, 1, 5, 9, 13);
    const words32 c = SHUFFLE(two[0], two[1], 2, 6, 10, 14, 3, 7, 11, 15);
    const words32 d = SHUFFLE(two[2], two[3], 2, 6, 10, 14, 3, 7, 11, 15);
    line[0] = SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
    line[1] = SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    line[2] = SHUFFLE(c, d, 0, 1, 2, 3, 8, 9, 10, 11);
    line[3] = SHUFFLE(c, d, 4, 5, 6, 7, 12, 13, 14, 15);
}

INLINE void turn32(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) STORE((char *)codes + i * sizeof line[i], line[i]);
}

// Each line of words becomes lines of their elements.
INLINE void turn16(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) {
        const words16 from = (words16)line[i];
        const words16 to = SHUFFLE(from, from, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
        STORE((char *)codes + i * sizeof to, to);
    }
}

INLINE bytes bytes_of(const words32 *line) {
    const bytes   from = (bytes)*line;
    const words32 half = (words32)SHUFFLE(from, from, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 16, 20, 24,
                                          28, 17, 21, 25, 29, 18, 22, 26, 30, 19, 23, 27, 31);
    return (bytes)SHUFFLE(half, half, 0, 4, 1, 5, 2, 6, 3, 7);
}

INLINE void turn8(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) {
        const bytes to = bytes_of(&line[i]);
        STORE((char *)codes + i * sizeof to, to);
    }
}

INLINE void turn4(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) {
        const bytes   pair = bytes_of(&line[i]);
        const words64 low = (words64)(pair & 15), high = (words64)(pair >> 4);
        const words64 first = SHUFFLE(low, high, 0, 4, 1, 5), second = SHUFFLE(low, high, 2, 6, 3, 7);
        STORE((char *)codes + 2 * i * sizeof first, first);
        STORE((char *)codes + (2 * i + 1) * sizeof second, second);
    }
}

INLINE wide64 wide(words64 low, words64 high) { return SHUFFLE(low, high, 0, 1, 2, 3, 4, 5, 6, 7); }

INLINE void turn64(const void *words, void *codes) {
    words64 to[2][QUAD];
    for (unsigned i = 0; i < 2; i++) {
        words64 from[QUAD];
        for (unsigned k = 0; k < QUAD; k++) LOAD(from[k], (const char *)words + (i * QUAD + k) * sizeof from[k]);
        const words64 a = SHUFFLE(from[0], from[1], 0, 4, 2, 6), b = SHUFFLE(from[0], from[1], 1, 5, 3, 7);
        const words64 c = SHUFFLE(from[2], from[3], 0, 4, 2, 6), d = SHUFFLE(from[2], from[3], 1, 5, 3, 7);
        to[i][0] = SHUFFLE(a, c, 0, 1, 4, 5);
        to[i][1] = SHUFFLE(b, d, 0, 1, 4, 5);
        to[i][2] = SHUFFLE(a, c, 2, 3, 6, 7);
        to[i][3] = SHUFFLE(b, d, 2, 3, 6, 7);
    }
    for (unsigned k = 0; k < QUAD; k++) {
        const wide64 line = wide(to[0][k], to[1][k]);
        STORE((char *)codes + k * sizeof line, line);
    }
}

// ---- sums: of line i, lane i * 4 + t has numbers 2 t and 2 t + 1, the first in the first register

INLINE words32 codes_f32(const double *number) {
    doubles value;
    LOAD(value, number);
    const floats  narrow = __builtin_convertvector(value, floats);
    const words32 is_nan = (words32)(narrow != narrow);
    return ((words32)narrow & ~is_nan) | (is_nan & 0x7fffffff);
}

// An integer below 2^51 in magnitude, plus 2^52 and 2^51, has its lower bits at the bottom of the fraction.
INLINE words32 codes_s32(const double *number) {
    doubles value;
    LOAD(value, number);
    return __builtin_convertvector((wide64)(value + 0x1.8p52), words32);
}

#define SUM32(name, type)                                                                                          \
    INLINE void sum_decode_##name(const void *const reg[2], double *tile, halves convert) {                        \
        (void)convert;                                                                                             \
        for (unsigned i = 0; i < QUAD; i++) {                                                                      \
            words32 even, odd;                                                                                     \
            LOAD(even, (const char *)reg[0] + i * sizeof even);                                                    \
            LOAD(odd, (const char *)reg[1] + i * sizeof odd);                                                      \
            const words32 low = SHUFFLE(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);                                      \
            const words32 high = SHUFFLE(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);                                   \
            const doubles first = __builtin_convertvector((type)low, doubles);                                     \
            const doubles second = __builtin_convertvector((type)high, doubles);                                   \
            STORE(tile + 2 * i * SIDE, first);                                                                     \
            STORE(tile + (2 * i + 1) * SIDE, second);                                                              \
        }                                                                                                          \
    }                                                                                                              \
    INLINE void sum_encode_##name(const double *tile, void *const reg[2]) {                                        \
        for (unsigned i = 0; i < QUAD; i++) {                                                                      \
            const words32 low = codes_##name(tile + 2 * i * SIDE), high = codes_##name(tile + (2 * i + 1) * SIDE); \
            const words32 even = SHUFFLE(low, high, 0, 2, 4, 6, 8, 10, 12, 14);                                    \
            const words32 odd = SHUFFLE(low, high, 1, 3, 5, 7, 9, 11, 13, 15);                                     \
            STORE((char *)reg[0] + i * sizeof even, even);                                                         \
            STORE((char *)reg[1] + i * sizeof odd, odd);                                                           \
        }                                                                                                          \
    }

SUM32(f32, floats)
SUM32(s32, signed32)

// As cj__small_pack rounds to nearest. A normal number: half of the cut bits is added, less one if the kept part is
// even; the carry may increment the exponent. A subnormal: the addition of 2^28 rounds to a multiple of 2^-24.
INLINE uint16_t code_f16(double value) {
    const uint64_t bits = bits_of(value), magnitude = bits & (UINT64_MAX >> 1);
    const uint64_t normal = (magnitude + ((UINT64_C(1) << 41) - 1) + (magnitude >> 42 & 1)) >> 42;
    const uint64_t rebiased = normal - ((1023 - 15) << 10), small = bits_of(fabs(value) + 0x1p28) & 0x7ff;
    const uint64_t kept = magnitude < UINT64_C(0x3f10000000000000) ? small : rebiased;  // 2^-14
    const uint64_t code = (kept > 0x7c00 ? 0x7c00 : kept) | (bits >> 48 & 0x8000);
    return (uint16_t)(magnitude > UINT64_C(0x7ff0000000000000) ? 0x7fff : code);
}

INLINE void sum_decode_f16(const void *const reg[2], double *tile, halves convert) {
    decode_f16(reg[0], tile, convert);
}

INLINE void sum_encode_f16(const double *tile, void *const reg[2]) {
    uint16_t code[NUMBERS];
    for (unsigned i = 0; i < NUMBERS; i++) code[i] = code_f16(tile[i]);
    memcpy(reg[0], code, sizeof code);
}

INLINE void sum_decode_f64(const void *const reg[2], double *tile, halves convert) {
    (void)convert;
    for (unsigned i = 0; i < SIDE; i++) {
        words64 even, odd;
        LOAD(even, (const char *)reg[0] + i * sizeof even);
        LOAD(odd, (const char *)reg[1] + i * sizeof odd);
        const wide64 line = wide(SHUFFLE(even, odd, 0, 4, 1, 5), SHUFFLE(even, odd, 2, 6, 3, 7));
        STORE(tile + i * SIDE, line);
    }
}

INLINE void sum_encode_f64(const double *tile, void *const reg[2]) {
    for (unsigned i = 0; i < SIDE; i++) {
        words64 low, high;
        LOAD(low, tile + i * SIDE);
        LOAD(high, tile + i * SIDE + QUAD);
        const words64 even = SHUFFLE(low, high, 0, 2, 4, 6), odd = SHUFFLE(low, high, 1, 3, 5, 7);
        STORE((char *)reg[0] + i * sizeof even, even);
        STORE((char *)reg[1] + i * sizeof odd, odd);
    }
}

// ---- products: each number of D is a sum in the order of k

#define PLAIN(name, expression)                                                                        \
    INLINE void name(unsigned count, unsigned length, const double *a, const double *b, double *d) {   \
        for (unsigned n = 0; n < count; n++, a += SIDE * length, b += SIDE * length) {                 \
            for (unsigned k = 0; k < length; k++) {                                                    \
                for (unsigned i = 0; i < NUMBERS; i++) {                                               \
                    const double x = a[i / SIDE * length + k], y = b[k * SIDE + i % SIDE], sum = d[i]; \
                    d[i] = (expression);                                                               \
                }                                                                                      \
            }                                                                                          \
        }                                                                                              \
    }

PLAIN(plain_sum, sum + x * y)
PLAIN(plain_fma, cj__element_fma(x, y, sum))

// Words of 32 elements of one bit, 4 a line.
#define COUNT(name, operation)                                                                           \
    INLINE void name(unsigned count, unsigned length, const double *a, const double *b, double *d) {     \
        (void)length;                                                                                    \
        for (unsigned n = 0; n < count; n++, a += WORDS, b += WORDS) {                                   \
            uint32_t x[WORDS], y[WORDS];                                                                 \
            for (unsigned i = 0; i < WORDS; i++) x[i] = (uint32_t)a[i], y[i] = (uint32_t)b[i];           \
            for (unsigned i = 0; i < NUMBERS; i++) {                                                     \
                int bits = 0;                                                                            \
                for (unsigned k = 0; k < QUAD; k++) {                                                    \
                    bits += __builtin_popcount(x[i / SIDE * QUAD + k] operation y[k * SIDE + i % SIDE]); \
                }                                                                                        \
                d[i] += (double)bits;                                                                    \
            }                                                                                            \
        }                                                                                                \
    }

COUNT(count_xor, ^)
COUNT(count_and, &)

static void slow_fma(unsigned count, unsigned length, const double *a, const double *b, double *d) {
    plain_fma(count, length, a, b, d);
}

#if defined(__x86_64__)

// The products of all types but f64 are exact in double, so an fma gives the same bits as a product and a sum.
#define VECTORS(name, isa, vector, lanes, load, store, spread, madd)                                                 \
    __attribute__((target(isa))) static void name(unsigned count, unsigned length, const double *a, const double *b, \
                                                  double *d) {                                                       \
        for (unsigned column = 0; column < SIDE; column += (lanes), b += (lanes), d += (lanes)) {                    \
            const double *x = a, *y = b;                                                                             \
            vector        sum[SIDE];                                                                                 \
            for (unsigned i = 0; i < SIDE; i++) sum[i] = load(d + i * SIDE);                                         \
            for (unsigned n = 0; n < count; n++, x += SIDE * length - length) {                                      \
                for (unsigned k = 0; k < length; k++, x++, y += SIDE) {                                              \
                    const vector of_b = load(y);                                                                     \
                    for (unsigned i = 0; i < SIDE; i++) sum[i] = madd(spread(x[i * length]), of_b, sum[i]);          \
                }                                                                                                    \
            }                                                                                                        \
            for (unsigned i = 0; i < SIDE; i++) store(d + i * SIDE, sum[i]);                                         \
        }                                                                                                            \
    }

VECTORS(multiply_avx2, AVX2, __m256d, 4, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_set1_pd, _mm256_fmadd_pd)
VECTORS(multiply_avx512, AVX512, __m512d, 8, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_set1_pd, _mm512_fmadd_pd)

INLINE bool has_nan(const double *d) {
    wide64 any = {0};
    for (unsigned i = 0; i < NUMBERS; i += SIDE) {
        doubles line;
        LOAD(line, d + i);
        any |= (wide64)(line != line);
    }
    return any[0] | any[1] | any[2] | any[3] | any[4] | any[5] | any[6] | any[7];
}

// If several operands of a sum of f64 are NaN, the vectors may choose another of them than cj__element_fma: a product with
// a NaN is repeated by that.
#define FMA(set, isa)                                                                                    \
    __attribute__((target(isa))) static void set##_fma(unsigned count, unsigned length, const double *a, \
                                                       const double *b, double *d) {                     \
        double before[NUMBERS];                                                                          \
        memcpy(before, d, sizeof before);                                                                \
        multiply_##set(count, length, a, b, d);                                                          \
        if (!has_nan(d)) return;                                                                         \
        memcpy(d, before, sizeof before);                                                                \
        slow_fma(count, length, a, b, d);                                                                \
    }

FMA(avx2, AVX2)
FMA(avx512, AVX512)

#endif

// ---- sets

// Each type: its word, elements in a word, bits, how codes of A and of B come from words.
#define EACH_TYPE(X, set, isa)                                                                                      \
    X(set, isa, tf32, TF32, 1, 32, whole, turn32)                                                                   \
    X(set, isa, bf16, BF16, 2, 16, whole, turn16)                                                                   \
    X(set, isa, f16, F16, 2, 16, whole, turn16)                                                                     \
    X(set, isa, e5m2, E5M2, 4, 8, whole, turn8)                                                                     \
    X(set, isa, e4m3, E4M3, 4, 8, whole, turn8)                                                                     \
    X(set, isa, u8, U8, 4, 8, whole, turn8)                                                                         \
    X(set, isa, s8, S8, 4, 8, whole, turn8)                                                                         \
    X(set, isa, u4, U4, 8, 4, split4, turn4) X(set, isa, s4, S4, 8, 4, split4, turn4)                               \
        X(set, isa, b1, B1, 1, 1, whole, turn32) X(set, isa, f64, F64, 1, 64, whole, turn64)
#define EACH_SUM(X, set, isa) \
    X(set, isa, f64, F64, 2) X(set, isa, f32, F32, 2) X(set, isa, f16, F16, 1) X(set, isa, s32, S32, 2)

#define TYPE_FUNCTIONS(set, isa, name, word, in_word, bits, split, turn)          \
    isa static void set##_read_a_##name(const void *words, double *tile) {        \
        unsigned char codes[CODES_MAX];                                           \
        decode_##name(split(words, codes), tile, set##_halves);                   \
    }                                                                             \
    isa static void set##_read_b_##name(const void *words, double *tile) {        \
        unsigned char codes[CODES_MAX];                                           \
        turn(words, codes);                                                       \
        decode_##name(codes, tile, set##_halves);                                 \
    }
#define SUM_FUNCTIONS(set, isa, name, word, registers)                                \
    isa static void set##_sum_decode_##name(const void *const reg[2], double *tile) { \
        sum_decode_##name(reg, tile, set##_halves);                                   \
    }                                                                                 \
    isa static void set##_sum_encode_##name(const double *tile, void *const reg[2]) { sum_encode_##name(tile, reg); }
#define PRODUCT_FUNCTION(set, isa, name)                                                                         \
    isa static void set##_##name(unsigned count, unsigned length, const double *a, const double *b, double *d) { \
        name(count, length, a, b, d);                                                                            \
    }
#define TYPE_ROW(set, isa, name, word, in_word, bits, split, turn) \
    {CJ_W_##word, in_word, bits, set##_read_a_##name, set##_read_b_##name},
#define SUM_ROW(set, isa, name, word, registers) \
    {CJ_W_##word, registers, set##_sum_decode_##name, set##_sum_encode_##name},

// The set for hosts on which set_runs() holds; `isa` is the attribute of its functions.
#define SET(set, isa, sum_product, fma_product)                                       \
    EACH_TYPE(TYPE_FUNCTIONS, set, isa)                                               \
    EACH_SUM(SUM_FUNCTIONS, set, isa)                                                 \
    PRODUCT_FUNCTION(set, isa, count_xor)                                             \
    PRODUCT_FUNCTION(set, isa, count_and)                                             \
    static const cj_tile_set set = {.name = #set,                                     \
                                    .runs = set##_runs,                               \
                                    .type = {EACH_TYPE(TYPE_ROW, set, isa)},          \
                                    .sum = {EACH_SUM(SUM_ROW, set, isa)},             \
                                    .multiply = {[CJ_MULTIPLY_SUM] = sum_product,     \
                                                 [CJ_MULTIPLY_FMA] = fma_product,     \
                                                 [CJ_MULTIPLY_XOR] = set##_count_xor, \
                                                 [CJ_MULTIPLY_AND] = set##_count_and}};

static bool plain_runs(void) { return true; }
PRODUCT_FUNCTION(plain, , plain_sum)
SET(plain, , plain_plain_sum, slow_fma)

#if defined(__x86_64__)

// Every host with AVX2 has F16C; clang knows no name for it here.
static bool avx2_runs(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool avx512_runs(void) {
    return avx2_runs() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
SET(avx2, __attribute__((target(AVX2))), multiply_avx2, avx2_fma)
SET(avx512, __attribute__((target(AVX512))), multiply_avx512, avx512_fma)
static const cj_tile_set *const sets[] = {&avx512, &avx2, &plain};

#else

static const cj_tile_set *const sets[] = {&plain};

#endif

const cj_tile_set *cj__tile_set_at(unsigned index) { return index < sizeof sets / sizeof *sets ? sets[index] : NULL; }

const cj_tile_set *cj__tile_set(void) {
    unsigned i = 0;
    while (!sets[i]->runs()) i++;
    return sets[i];
}

const cj_tile_type *cj__tile_type(const cj_tile_set *set, uint16_t type) {
    for (unsigned i = 0; i < sizeof set->type / sizeof *set->type; i++) {
        if (set->type[i].type == type) return &set->type[i];
    }
    return NULL;
}

const cj_tile_sum *cj__tile_sum(const cj_tile_set *set, uint16_t type) {
    for (unsigned i = 0; i < sizeof set->sum / sizeof *set->sum; i++) {
        if (set->sum[i].type == type) return &set->sum[i];
    }
    return NULL;
}
