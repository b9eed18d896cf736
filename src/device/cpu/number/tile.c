// SPDX-License-Identifier: Apache-2.0
#include "tile.h"

#include "codes.h"
#include "spread.h"

// ---- sums: of line i, lane i * 4 + t has numbers 2 t and 2 t + 1, the first in the first register

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

// True if a number is NaN, and if some are infinite with both signs.
INLINE bool may_have_nan(const sums *d, has_nan is_nan) {
    const doubles *x = d->line;
    return is_nan(((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])));
}

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

INLINE void encode_sums(const cj_tile_panel *panel, void *first, void *second, sums *d, to_halves to, has_nan is_nan) {
    switch (panel->d) {
    case CJ_TILE_SUM_F64: encode_f64_sums(d, first, second); break;
    case CJ_TILE_SUM_F32:
        if (may_have_nan(d, is_nan)) make_nans_alike(d);
        encode_f32_sums(d, first, second);
        break;
    case CJ_TILE_SUM_S32:
        if (panel->saturate) saturate(d);
        encode_s32_sums(d, first, second);
        break;
    case CJ_TILE_SUM_F16:
        if (may_have_nan(d, is_nan)) make_nans_alike(d);
        encode_f16_sums(d, first, to);
        break;
    }
}

// ---- products: each number of D is a sum in the order of k

#define PLAIN(name, expression)                                                                         \
    INLINE void name(unsigned count, unsigned length, const double *a, const double *b, sums *sum_of) { \
        double d[NUMBERS];                                                                              \
        memcpy(d, sum_of, sizeof d);                                                                    \
        for (unsigned n = 0; n < count; n++, a += SIDE * length, b += SIDE * length) {                  \
            for (unsigned k = 0; k < length; k++) {                                                     \
                for (unsigned i = 0; i < NUMBERS; i++) {                                                \
                    const double x = a[i / SIDE * length + k], y = b[k * SIDE + i % SIDE], sum = d[i];  \
                    d[i] = (expression);                                                                \
                }                                                                                       \
            }                                                                                           \
        }                                                                                               \
        memcpy(sum_of, d, sizeof d);                                                                    \
    }

PLAIN(plain_sum, sum + x * y)
PLAIN(plain_fma, cj__element_fma(x, y, sum))

// Words of 32 elements of one bit, 4 a line.
#define COUNT(name, operation)                                                                           \
    INLINE void name(unsigned count, const double *a, const double *b, sums *sum_of) {                   \
        double d[NUMBERS];                                                                               \
        memcpy(d, sum_of, sizeof d);                                                                     \
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
        memcpy(sum_of, d, sizeof d);                                                                     \
    }

COUNT(count_xor, ^)
COUNT(count_and, &)

INLINE void plain_madd(unsigned count, unsigned length, const double *a, const double *b, sums *d) {
    plain_sum(count, length, a, b, d);
}

#if defined(__x86_64__)

// The products of all types but f64 are exact in double, so an fma gives the same bits as a product and a sum.
#define MADD(name, isa, vector, lanes, load, spread, madd)                                                           \
    __attribute__((target(isa))) INLINE void name(unsigned count, unsigned length, const double *a, const double *b, \
                                                  sums *d) {                                                         \
        for (unsigned part = 0; part < sizeof(doubles) / sizeof(vector); part++, b += (lanes)) {                     \
            const double *x = a, *y = b;                                                                             \
            vector        sum[SIDE];                                                                                 \
            for (unsigned i = 0; i < SIDE; i++) LOAD(sum[i], (char *)&d->line[i] + part * sizeof(vector));           \
            for (unsigned n = 0; n < count; n++, x += SIDE * length - length) {                                      \
                for (unsigned k = 0; k < length; k++, x++, y += SIDE) {                                              \
                    const vector of_b = load(y);                                                                     \
                    for (unsigned i = 0; i < SIDE; i++) sum[i] = madd(spread(x[i * length]), of_b, sum[i]);          \
                }                                                                                                    \
            }                                                                                                        \
            for (unsigned i = 0; i < SIDE; i++) STORE((char *)&d->line[i] + part * sizeof(vector), sum[i]);          \
        }                                                                                                            \
    }

MADD(avx2_madd, AVX2, __m256d, 4, _mm256_loadu_pd, _mm256_set1_pd, _mm256_fmadd_pd)
MADD(avx512_madd, AVX512, __m512d, 8, _mm512_loadu_pd, _mm512_set1_pd, _mm512_fmadd_pd)

#endif

// ---- panels

typedef void (*madd)(unsigned count, unsigned length, const double *a, const double *b, sums *d);

// The lengths are constants, so that loops are unrolled.
INLINE void add_products(const cj_tile_panel *p, const double *a, const double *b, sums *d, madd add) {
    switch (p->length) {
    case QUAD: add(p->chunks, QUAD, a, b, d); break;
    case 2 * QUAD: add(p->chunks, 2 * QUAD, a, b, d); break;
    case 4 * QUAD: add(p->chunks, 4 * QUAD, a, b, d); break;
    case 8 * QUAD: add(p->chunks, 8 * QUAD, a, b, d); break;
    }
}

INLINE void multiply(const cj_tile_panel *p, const double *a, const double *b, cj_tile_registers c, cj_tile_registers d,
                     from_halves from, from_floats widen, to_halves to, has_nan is_nan, madd add) {
    const unsigned of_c = cj__tile_sum_registers(p->c), of_d = cj__tile_sum_registers(p->d);
    for (unsigned row = 0; row < p->rows; row++, a += p->chunks * SIDE * p->length, c.slot += of_c, d.slot += of_d) {
        sums sum = {0};
        if (c.base) decode_sums(p->c, c.base + c.slot[0], c.base + c.slot[of_c - 1], &sum, from, widen);
        switch (p->how) {
        case CJ_MULTIPLY_XOR: count_xor(p->chunks, a, b, &sum); break;
        case CJ_MULTIPLY_AND: count_and(p->chunks, a, b, &sum); break;
        default: add_products(p, a, b, &sum, add); break;
        }
        encode_sums(p, d.base + d.slot[0], d.base + d.slot[of_d - 1], &sum, to, is_nan);
    }
}

// A product of f64, whose registers follow each other: those of D, A, B and C, so many tiles of rows and of k.
typedef struct product64 {
    unsigned             rows, chunks;
    const unsigned char *base;
    const uint32_t      *a, *b, *c;
} product64;

INLINE product64 find_f64(unsigned rows, unsigned chunks, const unsigned char *base, const uint32_t *slot) {
    const uint32_t *a = slot + 2 * rows, *b = a + rows * chunks;
    return (product64){rows, chunks, base, a, b, b + chunks};
}

// A tile of A is its register.
INLINE const double *tile_f64(const product64 *p, unsigned row, unsigned k) {
    return (const double *)(const void *)(p->base + p->a[k * p->rows + row]);
}

static __attribute__((noinline)) void slow_f64(product64 p, unsigned row, sums *d) {
    decode_f64_sums(p.base + p.c[2 * row], p.base + p.c[2 * row + 1], d);
    for (unsigned k = 0; k < p.chunks; k++) {
        double tile[WORDS];
        turn64(p.base + p.b[k], tile);
        plain_fma(1, QUAD, tile_f64(&p, row, k), tile, d);
    }
}

// If several operands of a sum are NaN, the vectors may choose another of them than cj__element_fma: a product with a NaN is
// repeated by that.
INLINE void multiply_f64(product64 p, cj_tile_registers d, has_nan is_nan, madd add) {
    double tile[CJ_TILE_F64_CHUNKS][WORDS];
    for (unsigned k = 0; k < p.chunks; k++) turn64(p.base + p.b[k], tile[k]);
    for (unsigned row = 0; row < p.rows; row++, d.slot += 2) {
        sums sum, slow;
        decode_f64_sums(p.base + p.c[2 * row], p.base + p.c[2 * row + 1], &sum);
        for (unsigned k = 0; add && k < p.chunks; k++) add(1, QUAD, tile_f64(&p, row, k), tile[k], &sum);
        if (!add || may_have_nan(&sum, is_nan)) {
            slow_f64(p, row, &slow);
            sum = slow;
        }
        encode_f64_sums(&sum, d.base + d.slot[0], d.base + d.slot[1]);
    }
}

// Whole vectors: two lines each.
INLINE void gather(const unsigned char *base, const uint32_t *at, unsigned tiles, uint32_t *words) {
    for (unsigned i = 0; i < tiles * QUAD; i++, words += SIDE) {
        line16 low, high;
        LOAD(low, base + at[2 * i]);
        LOAD(high, base + at[2 * i + 1]);
        const words16 two = SHUFFLE(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        STORE(words, two);
    }
}

// ---- sets

// Each type: its word, elements in a word, bits, how codes of A and of B come from words.
#define EACH_TYPE(X, set, isa)                    \
    X(set, isa, tf32, TF32, 1, 32, whole, turn32) \
    X(set, isa, bf16, BF16, 2, 16, whole, turn16) \
    X(set, isa, f16, F16, 2, 16, whole, turn16)   \
    X(set, isa, e5m2, E5M2, 4, 8, whole, turn8)   \
    X(set, isa, e4m3, E4M3, 4, 8, whole, turn8)   \
    X(set, isa, u8, U8, 4, 8, whole, turn8)       \
    X(set, isa, s8, S8, 4, 8, whole, turn8)       \
    X(set, isa, u4, U4, 8, 4, split4, turn4)      \
    X(set, isa, s4, S4, 8, 4, split4, turn4)      \
    X(set, isa, b1, B1, 1, 1, whole, turn32)

#define READ(set, isa, letter, name, in_word, codes_of)                                                         \
    isa static void set##_read_##letter##_##name(cj_tile_registers from, unsigned lines, unsigned chunks,       \
                                                 double *tiles) {                                               \
        for (unsigned chunk = 0; chunk < chunks; chunk++, tiles += (in_word)*WORDS) {                           \
            for (unsigned line = 0; line < lines; line++, from.slot++) {                                        \
                unsigned char codes[CODES_MAX];                                                                 \
                decode_##name(codes_of(from.base + *from.slot, codes), tiles + line * chunks * (in_word)*WORDS, \
                              set##_from_halves, set##_from_floats);                                            \
            }                                                                                                   \
        }                                                                                                       \
    }
#define TYPE_FUNCTIONS(set, isa, name, word, in_word, bits, split, turn) \
    READ(set, isa, a, name, in_word, split)                              \
    READ(set, isa, b, name, in_word, turn)
#define TYPE_ROW(set, isa, name, word, in_word, bits, split, turn) \
    {CJ_W_##word, in_word, bits, set##_read_a_##name, set##_read_b_##name},

// The set for hosts on which set_runs() holds; `isa` is the attribute of its functions.
#define SET(set, isa, fma)                                                                                            \
    EACH_TYPE(TYPE_FUNCTIONS, set, isa)                                                                               \
    isa static void set##_multiply(const cj_tile_panel *p, const double *a, const double *b, cj_tile_registers c,     \
                                   cj_tile_registers d) {                                                             \
        multiply(p, a, b, c, d, set##_from_halves, set##_from_floats, set##_to_halves, set##_has_nan, set##_madd);    \
    }                                                                                                                 \
    isa static void set##_multiply_f64(const cj_tile_panel *p, const unsigned char *base, const uint32_t *slot,       \
                                       cj_tile_registers d) {                                                         \
        if (p->rows == 1 && p->chunks == 1)                                                                           \
            multiply_f64(find_f64(1, 1, base, slot), d, set##_has_nan, fma);                                          \
        else                                                                                                          \
            multiply_f64(find_f64(p->rows, p->chunks, base, slot), d, set##_has_nan, fma);                            \
    }                                                                                                                 \
    isa static void set##_gather(const unsigned char *base, const uint32_t *at, unsigned tiles, uint32_t *words) {    \
        gather(base, at, tiles, words);                                                                               \
    }                                                                                                                 \
    isa static bool set##_spread(const cj_tile_sparse *how, const uint32_t metadata[WORDS], cj_tile_registers stored, \
                                 uint32_t *words) {                                                                   \
        return spread(how, metadata, stored, words);                                                                  \
    }                                                                                                                 \
    static const cj_tile_set set = {.name = #set,                                                                     \
                                    .runs = set##_runs,                                                               \
                                    .type = {EACH_TYPE(TYPE_ROW, set, isa)},                                          \
                                    .multiply = set##_multiply,                                                       \
                                    .multiply_f64 = set##_multiply_f64,                                               \
                                    .gather = set##_gather,                                                           \
                                    .spread = set##_spread};

static bool plain_runs(void) { return true; }
SET(plain, , NULL)

#if defined(__x86_64__)

// Every host with AVX2 has F16C; clang knows no name for it here.
static bool avx2_runs(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool avx512_runs(void) {
    return avx2_runs() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
SET(avx2, __attribute__((target(AVX2))), avx2_madd)
SET(avx512, __attribute__((target(AVX512))), avx512_madd)
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

cj_tile_sum cj__tile_sum(uint16_t type) {
    return type == CJ_W_F64   ? CJ_TILE_SUM_F64
           : type == CJ_W_F32 ? CJ_TILE_SUM_F32
           : type == CJ_W_S32 ? CJ_TILE_SUM_S32
                              : CJ_TILE_SUM_F16;
}
