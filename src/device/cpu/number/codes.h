// SPDX-License-Identifier: Apache-2.0
// Words of matrices A and B as doubles, for the tiles of tile.c. All functions are inline: tile.c compiles them once for each
// instruction set.
#ifndef CJ_CPU_CODES_H
#define CJ_CPU_CODES_H

#include <math.h>
#include <string.h>

#include "bits.h"
#include "tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Vectors are passed between inline functions only.
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))

enum { WORDS = CJ_TILE_WORDS, NUMBERS = CJ_TILE_NUMBERS, QUAD = 4, SIDE = CJ_TILE, CODES_MAX = 8 * WORDS };

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

INLINE wide64 wide(words64 low, words64 high) { return SHUFFLE(low, high, 0, 1, 2, 3, 4, 5, 6, 7); }

// ---- what sets do in ways of their own

typedef doubles (*from_floats)(floats number);
typedef wide64 (*from_words)(words32 word);
// Words of two lines, 4 times each, shifted to the right; some bits above the lower 32 may be set.
typedef wide64 (*of_lines)(uint32_t first, uint32_t second, unsigned shift);
typedef doubles (*from_halves)(const uint16_t half[SIDE]);
// Rounds to nearest; no number is NaN but the positive one.
typedef void (*to_halves)(doubles number, uint16_t half[SIDE]);
typedef bool (*has_nan)(doubles number);

INLINE doubles plain_from_floats(floats number) { return __builtin_convertvector(number, doubles); }

INLINE wide64 plain_from_words(words32 word) { return __builtin_convertvector(word, wide64); }

INLINE wide64 plain_of_lines(uint32_t first, uint32_t second, unsigned shift) {
    const wide64 low = (wide64){0} + (first >> shift), high = (wide64){0} + (second >> shift);
    return SHUFFLE(low, high, 0, 1, 2, 3, 8, 9, 10, 11);
}

// The exponent's bias becomes that of f32. A subnormal gets a leading one, which is subtracted: so no operation has a
// subnormal operand, which would take the host 100 cycles or more.
INLINE doubles plain_from_halves(const uint16_t half[SIDE]) {
    double  value[SIDE];
    doubles number;
    for (unsigned i = 0; i < SIDE; i++) {
        const uint32_t code = half[i], magnitude = (code & 0x7fff) << 13, exponent = magnitude & 0x0f800000;
        const uint32_t normal = magnitude + (112u << 23) + (exponent == 0x0f800000 ? 112u << 23 : 0);
        const uint32_t small = cj__bits_of_float(cj__bits_to_float(magnitude + (113u << 23)) - 0x1p-14f);
        value[i] = (double)cj__bits_to_float((exponent ? normal : small) | (code & 0x8000) << 16);
    }
    LOAD(number, value);
    return number;
}

// As cj__small_pack rounds to nearest. A normal number: half of the cut bits is added, less one if the kept part is
// even; the carry may increment the exponent. A subnormal: the addition of 2^28 rounds to a multiple of 2^-24.
INLINE uint16_t code_f16(double value) {
    const uint64_t bits = cj__bits_of_double(value), magnitude = bits & (UINT64_MAX >> 1);
    const uint64_t normal = (magnitude + ((UINT64_C(1) << 41) - 1) + (magnitude >> 42 & 1)) >> 42;
    const uint64_t rebiased = normal - ((1023 - 15) << 10), small = cj__bits_of_double(fabs(value) + 0x1p28) & 0x7ff;
    const uint64_t kept = magnitude < UINT64_C(0x3f10000000000000) ? small : rebiased;  // 2^-14
    const uint64_t code = (kept > 0x7c00 ? 0x7c00 : kept) | (bits >> 48 & 0x8000);
    return (uint16_t)(magnitude > UINT64_C(0x7ff0000000000000) ? 0x7fff : code);
}

INLINE void plain_to_halves(doubles number, uint16_t half[SIDE]) {
    double value[SIDE];
    STORE(value, number);
    for (unsigned i = 0; i < SIDE; i++) half[i] = code_f16(value[i]);
}

INLINE bool plain_has_nan(doubles number) {
    double value[SIDE];
    bool   found = false;
    STORE(value, number);
    for (unsigned i = 0; i < SIDE; i++) found |= value[i] != value[i];
    return found;
}

#if defined(__x86_64__)
#define AVX2 "avx2,fma,f16c,popcnt"
#define AVX512_SETS "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,popcnt"
#if defined(__clang__)
#define AVX512 AVX512_SETS
#else
#define AVX512 AVX512_SETS ",prefer-vector-width=512"
#endif

// One instruction, where gcc 12 makes two and joins their results.
__attribute__((target(AVX512))) INLINE doubles avx512_from_floats(floats number) {
    return (doubles)_mm512_cvtps_pd((__m256)number);
}
__attribute__((target(AVX512))) INLINE wide64 avx512_from_words(words32 word) {
    return (wide64)_mm512_cvtepu32_epi64((__m256i)word);
}
__attribute__((target(AVX2))) INLINE wide64 avx2_from_words(words32 word) {
    return __builtin_convertvector(word, wide64);
}
// Broadcast from memory, by a load alone.
#define LINES(set, isa)                                                                                          \
    __attribute__((target(isa))) INLINE wide64 set##_of_lines(uint32_t first, uint32_t second, unsigned shift) { \
        const words32 low = (words32){0} + first, high = (words32){0} + second;                                  \
        return (wide64)SHUFFLE(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) >> shift;        \
    }
LINES(avx2, AVX2)
LINES(avx512, AVX512)

__attribute__((target(AVX2))) INLINE doubles avx2_from_floats(floats number) {
    return __builtin_convertvector(number, doubles);
}

// A number becomes an f16 by way of f32, rounded to odd: cut off, the last bit set if any bit that was cut off was set. So
// the second rounding sees on which side of a half the number is.
#define HALVES(set, isa)                                                                                       \
    __attribute__((target(isa))) INLINE doubles set##_from_halves(const uint16_t half[SIDE]) {                 \
        const __m128i code = _mm_loadu_si128((const __m128i *)(const void *)half);                             \
        return set##_from_floats((floats)_mm256_cvtph_ps(code));                                               \
    }                                                                                                          \
    __attribute__((target(isa))) INLINE void set##_to_halves(doubles number, uint16_t half[SIDE]) {            \
        const uint64_t cut = 0x1fffffff;                                                                       \
        const wide64   bits = (wide64)number, odd = (bits | ((bits & cut) + cut)) & ~cut;                      \
        const floats   single = __builtin_convertvector((doubles)odd, floats);                                 \
        _mm_storeu_si128((__m128i *)(void *)half, _mm256_cvtps_ph((__m256)single, _MM_FROUND_TO_NEAREST_INT)); \
    }
HALVES(avx2, AVX2)
HALVES(avx512, AVX512)

__attribute__((target(AVX2))) INLINE bool avx2_has_nan(doubles number) {
    __m256d half[2];
    STORE(half, number);
    return _mm256_movemask_pd(_mm256_cmp_pd(half[0], half[1], _CMP_UNORD_Q)) != 0;
}

__attribute__((target(AVX512))) INLINE bool avx512_has_nan(doubles number) {
    return _mm512_cmp_pd_mask((__m512d)number, (__m512d)number, _CMP_UNORD_Q) != 0;
}
#endif

// ---- numbers from codes

#define DECODE(name, code_type, count, number)                                                        \
    INLINE void decode_##name(const void *codes, double *tile, from_halves from, from_floats widen) { \
        code_type code[count];                                                                        \
        (void)from, (void)widen;                                                                      \
        memcpy(code, codes, sizeof code);                                                             \
        for (unsigned i = 0; i < (count); i++) tile[i] = (number);                                    \
    }

DECODE(bf16, uint16_t, 2 * WORDS, (double)cj__bits_to_float((uint32_t)code[i] << 16))
DECODE(u8, uint8_t, 4 * WORDS, (double)(int32_t)code[i])
DECODE(s8, int8_t, 4 * WORDS, (double)(int32_t)code[i])
DECODE(u4, uint8_t, 8 * WORDS, (double)(int32_t)code[i])
DECODE(s4, uint8_t, 8 * WORDS, (double)((int32_t)(code[i] ^ 8) - 8))
DECODE(b1, uint32_t, WORDS, (double)code[i])

INLINE void decode_halves(const uint16_t *half, unsigned count, double scale, double *tile, from_halves from) {
    for (unsigned i = 0; i < count; i += SIDE) {
        const doubles number = from(half + i) * scale;
        STORE(tile + i, number);
    }
}

INLINE void decode_f16(const void *codes, double *tile, from_halves from, from_floats widen) {
    (void)widen;
    decode_halves(codes, 2 * WORDS, 1, tile, from);
}

INLINE void decode_e5m2(const void *codes, double *tile, from_halves from, from_floats widen) {
    const uint8_t *code = codes;
    uint16_t       half[4 * WORDS];
    (void)widen;
    for (unsigned i = 0; i < 4 * WORDS; i++) half[i] = (uint16_t)(code[i] << 8);
    decode_halves(half, 4 * WORDS, 1, tile, from);
}

// An e4m3 as an f16 whose exponent bias is 8 less; the code of NaN is that of 480 there.
INLINE void decode_e4m3(const void *codes, double *tile, from_halves from, from_floats widen) {
    const uint8_t *code = codes;
    uint16_t       half[4 * WORDS];
    (void)widen;
    for (unsigned i = 0; i < 4 * WORDS; i++) {
        const uint16_t magnitude = (uint16_t)((code[i] & 0x7f) << 7);
        half[i] = (uint16_t)((code[i] & 0x80) << 8 | (magnitude == 0x3f80 ? 0x7fff : magnitude));
    }
    decode_halves(half, 4 * WORDS, 0x1p8, tile, from);
}

// By vectors as large as those that turn32 stores.
INLINE void decode_tf32(const void *codes, double *tile, from_halves from, from_floats widen) {
    (void)from, (void)widen;
    for (unsigned i = 0; i < QUAD; i++) {
        words32 code;
        LOAD(code, (const char *)codes + i * sizeof code);
        const doubles number = widen((floats)(code & ~0x1fffu));
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

// 8 lines of 4 words become 4 lines of 8, in the order of columns.
INLINE void turn_words(const void *words, words32 line[QUAD]) {
    words32 two[QUAD];
    for (unsigned i = 0; i < QUAD; i++) LOAD(two[i], (const char *)words + i * sizeof two[i]);
    const words32 a = SHUFFLE(two[0], two[1], 0, 8, 1, 9, 4, 12, 5, 13);
    const words32 b = SHUFFLE(two[2], two[3], 0, 8, 1, 9, 4, 12, 5, 13);
    const words32 c = SHUFFLE(two[0], two[1], 2, 10, 3, 11, 6, 14, 7, 15);
    const words32 d = SHUFFLE(two[2], two[3], 2, 10, 3, 11, 6, 14, 7, 15);
    line[0] = SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    line[1] = SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    line[2] = SHUFFLE(c, d, 0, 1, 8, 9, 4, 5, 12, 13);
    line[3] = SHUFFLE(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
}

INLINE const void *turn32(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) STORE((char *)codes + i * sizeof line[i], line[i]);
    return codes;
}

// Each line of words becomes lines of their elements.
INLINE const void *turn16(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) {
        const words16 from = (words16)line[i];
        const words16 to = SHUFFLE(from, from, 0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
        STORE((char *)codes + i * sizeof to, to);
    }
    return codes;
}

INLINE bytes bytes_of(const words32 *line) {
    const bytes   from = (bytes)*line;
    const words32 half = (words32)SHUFFLE(from, from, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 16, 20, 24,
                                          28, 17, 21, 25, 29, 18, 22, 26, 30, 19, 23, 27, 31);
    return (bytes)SHUFFLE(half, half, 0, 4, 1, 5, 2, 6, 3, 7);
}

INLINE const void *turn8(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) {
        const bytes to = bytes_of(&line[i]);
        STORE((char *)codes + i * sizeof to, to);
    }
    return codes;
}

INLINE const void *turn4(const void *words, void *codes) {
    words32 line[QUAD];
    turn_words(words, line);
    for (unsigned i = 0; i < QUAD; i++) {
        const bytes   pair = bytes_of(&line[i]);
        const words64 low = (words64)(pair & 15), high = (words64)(pair >> 4);
        const words64 first = SHUFFLE(low, high, 0, 4, 1, 5), second = SHUFFLE(low, high, 2, 6, 3, 7);
        STORE((char *)codes + 2 * i * sizeof first, first);
        STORE((char *)codes + (2 * i + 1) * sizeof second, second);
    }
    return codes;
}

INLINE void turn64(const void *words, double *tile) {
    words64 to[2][QUAD];
    for (unsigned i = 0; i < 2; i++) {
        words64 from[QUAD];
        for (unsigned k = 0; k < QUAD; k++) LOAD(from[k], (const char *)words + (2 * k + i) * sizeof from[k]);
        const words64 a = SHUFFLE(from[0], from[1], 0, 4, 2, 6), b = SHUFFLE(from[0], from[1], 1, 5, 3, 7);
        const words64 c = SHUFFLE(from[2], from[3], 0, 4, 2, 6), d = SHUFFLE(from[2], from[3], 1, 5, 3, 7);
        to[i][0] = SHUFFLE(a, c, 0, 1, 4, 5);
        to[i][1] = SHUFFLE(b, d, 0, 1, 4, 5);
        to[i][2] = SHUFFLE(a, c, 2, 3, 6, 7);
        to[i][3] = SHUFFLE(b, d, 2, 3, 6, 7);
    }
    for (unsigned k = 0; k < QUAD; k++) {
        const wide64 line = wide(to[0][k], to[1][k]);
        STORE(tile + k * SIDE, line);
    }
}

#endif
