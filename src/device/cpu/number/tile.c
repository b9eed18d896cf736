// SPDX-License-Identifier: Apache-2.0
#include "tile.h"

#include "quads.h"
#include "spread.h"

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

INLINE void plain_madd(unsigned count, unsigned length, const double *a, const double *b, sums *d, sums *below) {
    plain_sum(count, length, a, b, d);
    if (below) plain_sum(count, length, a + count * SIDE * length, b, below);
}

#if defined(__x86_64__)

// The products of all types but f64 are exact in double, so an fma gives the same bits as a product and a sum.
#define MADD(name, isa, vector, lanes, load, spread, madd)                                                  \
    __attribute__((target(isa)))                                                                            \
    INLINE void name##_tile(unsigned count, unsigned length, const double *a, const double *b, sums *d) {   \
        for (unsigned part = 0; part < sizeof(doubles) / sizeof(vector); part++, b += (lanes)) {            \
            const double *x = a, *y = b;                                                                    \
            vector        sum[SIDE];                                                                        \
            for (unsigned i = 0; i < SIDE; i++) LOAD(sum[i], (char *)&d->line[i] + part * sizeof(vector));  \
            for (unsigned n = 0; n < count; n++, x += SIDE * length - length) {                             \
                for (unsigned k = 0; k < length; k++, x++, y += SIDE) {                                     \
                    const vector of_b = load(y);                                                            \
                    for (unsigned i = 0; i < SIDE; i++) sum[i] = madd(spread(x[i * length]), of_b, sum[i]); \
                }                                                                                           \
            }                                                                                               \
            for (unsigned i = 0; i < SIDE; i++) STORE((char *)&d->line[i] + part * sizeof(vector), sum[i]); \
        }                                                                                                   \
    }

MADD(avx2, AVX2, __m256d, 4, _mm256_loadu_pd, _mm256_set1_pd, _mm256_fmadd_pd)
MADD(avx512, AVX512, __m512d, 8, _mm512_loadu_pd, _mm512_set1_pd, _mm512_fmadd_pd)

__attribute__((target(AVX2))) INLINE void avx2_madd(unsigned count, unsigned length, const double *a, const double *b,
                                                    sums *d, sums *below) {
    avx2_tile(count, length, a, b, d);
    if (below) avx2_tile(count, length, a + count * SIDE * length, b, below);
}

// Two tiles at once: 16 sums are in flight instead of 8, and B is read half as often.
__attribute__((target(AVX512))) INLINE void avx512_two(unsigned count, unsigned length, const double *a,
                                                       const double *b, sums *d, sums *below) {
    const double *a_below = a + count * SIDE * length;
    __m512d       sum[SIDE], sum_below[SIDE];
    for (unsigned i = 0; i < SIDE; i++) LOAD(sum[i], &d->line[i]);
    for (unsigned i = 0; i < SIDE; i++) LOAD(sum_below[i], &below->line[i]);
    for (unsigned n = 0; n < count; n++, a += SIDE * length - length, a_below += SIDE * length - length) {
        for (unsigned k = 0; k < length; k++, a++, a_below++, b += SIDE) {
            const __m512d of_b = _mm512_loadu_pd(b);
            for (unsigned i = 0; i < SIDE; i++) sum[i] = _mm512_fmadd_pd(_mm512_set1_pd(a[i * length]), of_b, sum[i]);
            for (unsigned i = 0; i < SIDE; i++)
                sum_below[i] = _mm512_fmadd_pd(_mm512_set1_pd(a_below[i * length]), of_b, sum_below[i]);
        }
    }
    for (unsigned i = 0; i < SIDE; i++) STORE(&d->line[i], sum[i]);
    for (unsigned i = 0; i < SIDE; i++) STORE(&below->line[i], sum_below[i]);
}

__attribute__((target(AVX512))) INLINE void avx512_madd(unsigned count, unsigned length, const double *a,
                                                        const double *b, sums *d, sums *below) {
    if (below)
        avx512_two(count, length, a, b, d, below);
    else
        avx512_tile(count, length, a, b, d);
}

#endif

// ---- panels

// Adds the products of a tile, and of the one below it unless that is NULL.
typedef void (*madd)(unsigned count, unsigned length, const double *a, const double *b, sums *d, sums *below);

// The lengths are constants, so that loops are unrolled.
INLINE void add_products(const cj_tile_panel *p, const double *a, const double *b, sums *d, sums *below, madd add) {
    switch (p->length) {
    case QUAD: add(p->chunks, QUAD, a, b, d, below); break;
    case 2 * QUAD: add(p->chunks, 2 * QUAD, a, b, d, below); break;
    case 4 * QUAD: add(p->chunks, 4 * QUAD, a, b, d, below); break;
    case 8 * QUAD: add(p->chunks, 8 * QUAD, a, b, d, below); break;
    }
}

// A tile, and if `two` the one below it.
INLINE void multiply_tiles(const cj_tile_panel *p, bool two, const double *a, const double *b, cj_tile_registers c,
                           cj_tile_registers d, from_halves from, from_floats widen, to_halves to, has_nan is_nan,
                           madd add) {
    const unsigned of_c = cj__tile_sum_registers(p->c), of_d = cj__tile_sum_registers(p->d);
    sums           sum = {0}, below = {0};
    if (c.base) {
        decode_sums(p->c, c.base + c.slot[0], c.base + c.slot[of_c - 1], &sum, from, widen);
        if (two) decode_sums(p->c, c.base + c.slot[of_c], c.base + c.slot[2 * of_c - 1], &below, from, widen);
    }
    add_products(p, a, b, &sum, two ? &below : NULL, add);
    if ((p->d == CJ_TILE_SUM_F32 || p->d == CJ_TILE_SUM_F16) &&
        is_nan(two ? sum_of_all(&sum) + sum_of_all(&below) : sum_of_all(&sum))) {
        make_nans_alike(&sum);
        if (two) make_nans_alike(&below);
    }
    encode_sums(p, d.base + d.slot[0], d.base + d.slot[of_d - 1], &sum, to);
    if (two) encode_sums(p, d.base + d.slot[of_d], d.base + d.slot[2 * of_d - 1], &below, to);
}

// `two`: whether the host has registers for two tiles of sums.
INLINE void multiply(const cj_tile_panel *p, bool two, unsigned parts, const double *a, const double *b,
                     const cj_tile_registers *c, const cj_tile_registers *d, from_halves from, from_floats widen,
                     to_halves to, has_nan is_nan, madd add) {
    const unsigned of_a = (unsigned)p->chunks * SIDE * p->length, of_c = cj__tile_sum_registers(p->c),
                   of_d = cj__tile_sum_registers(p->d);
    for (unsigned i = 0; i < parts; i++) {
        cj_tile_registers to_c = c[i], to_d = d[i];
        unsigned          rows = p->rows;
        for (; two && rows >= 2; rows -= 2, a += 2 * of_a, to_c.slot += 2 * of_c, to_d.slot += 2 * of_d)
            multiply_tiles(p, true, a, b, to_c, to_d, from, widen, to, is_nan, add);
        for (; rows; rows--, a += of_a, to_c.slot += of_c, to_d.slot += of_d)
            multiply_tiles(p, false, a, b, to_c, to_d, from, widen, to, is_nan, add);
    }
}

// The same; where the host has the registers, the frequent types and lengths are constants, so that nothing is chosen for each tile.
INLINE void multiply_known(const cj_tile_panel *p, bool two, unsigned parts, const double *a, const double *b,
                           const cj_tile_registers *c, const cj_tile_registers *d, from_halves from, from_floats widen,
                           to_halves to, has_nan is_nan, madd add) {
#define KNOWN(sum, k)                                                           \
    if (two && p->c == (sum) && p->d == (sum) && p->length == (k)) {            \
        cj_tile_panel known = *p;                                               \
        known.c = known.d = (sum);                                              \
        known.length = (k);                                                     \
        multiply(&known, two, parts, a, b, c, d, from, widen, to, is_nan, add); \
        return;                                                                 \
    }
    KNOWN(CJ_TILE_SUM_F32, QUAD)
    KNOWN(CJ_TILE_SUM_F32, 2 * QUAD)
    KNOWN(CJ_TILE_SUM_F32, 4 * QUAD)
    KNOWN(CJ_TILE_SUM_F16, 2 * QUAD)
    KNOWN(CJ_TILE_SUM_F16, 4 * QUAD)
    KNOWN(CJ_TILE_SUM_S32, 4 * QUAD)
    KNOWN(CJ_TILE_SUM_S32, 8 * QUAD)
#undef KNOWN
    multiply(p, two, parts, a, b, c, d, from, widen, to, is_nan, add);
}

// Sums are of s32.
INLINE void count(const cj_tile_panel *p, unsigned parts, const double *a, const double *b, const cj_tile_registers *c,
                  const cj_tile_registers *d, from_floats widen) {
    for (unsigned i = 0; i < parts * p->rows; i++, a += p->chunks * WORDS) {
        const cj_tile_registers of_c = c[i / p->rows], of_d = d[i / p->rows];
        const unsigned          first = 2 * (i % p->rows);
        sums                    sum = {0};
        if (of_c.base) decode_s32_sums(of_c.base + of_c.slot[first], of_c.base + of_c.slot[first + 1], &sum, widen);
        if (p->how == CJ_MULTIPLY_XOR)
            count_xor(p->chunks, a, b, &sum);
        else
            count_and(p->chunks, a, b, &sum);
        encode_s32_sums(&sum, of_d.base + of_d.slot[first], of_d.base + of_d.slot[first + 1]);
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
        for (unsigned k = 0; add && k < p.chunks; k++) add(1, QUAD, tile_f64(&p, row, k), tile[k], &sum, NULL);
        if (!add || may_have_nan(&sum, is_nan)) {
            slow_f64(p, row, &slow);
            sum = slow;
        }
        encode_f64_sums(&sum, d.base + d.slot[0], d.base + d.slot[1]);
    }
}

INLINE uint32_t place(const cj_tile_pattern *how, const uint32_t *first, unsigned tiles, uint32_t *at) {
    const words32 row = {0, 16, 32, 48, 64, 80, 96, 112}, step = row << how->shift, zero = {0};
    const words32 mask = zero + how->mask, base = zero + how->base;
    words32       all = zero;
    uint32_t      each[SIDE], bits = 0;
    for (unsigned i = 0; i < tiles; i++, at += SIDE) {
        const words32 plain = (step + first[i]) & 0x3ffff, swizzled = plain ^ (((plain >> 7) - base) & mask) << 4;
        STORE(at, swizzled);
        all |= swizzled;
    }
    STORE(each, all);
    for (unsigned i = 0; i < SIDE; i++) bits |= each[i];
    return bits;
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

// ---- quads

INLINE void decode_quads(cj_tile_sum type, cj_tile_registers c, unsigned lane, sums *d, from_halves from,
                         from_floats widen) {
    for (unsigned i = 0; i < 2; i++) {
        if (type == CJ_TILE_SUM_F32)
            decode_quads_f32(c, lane + i * UPPER, d->line + i * QUAD, widen);
        else
            decode_quads_f16(c, lane + i * UPPER, d->line + i * QUAD, from);
    }
}

INLINE void encode_quads(cj_tile_sum type, const sums *of, cj_tile_registers d, unsigned lane, to_halves to) {
    for (unsigned i = 0; i < 2; i++) {
        if (type == CJ_TILE_SUM_F32)
            encode_quads_f32(of->line + i * QUAD, d, lane + i * UPPER);
        else
            encode_quads_f16(of->line + i * QUAD, d, lane + i * UPPER, to);
    }
}

INLINE void multiply_quads(const cj_tile_quads *how, unsigned char *base, const uint32_t *slot, from_halves from,
                           from_floats widen, to_halves to, has_nan is_nan, madd add) {
    const unsigned          of_a = 2, of_b = 2, of_d = how->d == CJ_TILE_SUM_F32 ? 2 * QUAD : QUAD;
    const cj_tile_registers d = {base, slot}, a = {base, slot + of_d}, b = {base, a.slot + of_a},
                            c = {base, b.slot + of_b};
    CJ_TILE_ALIGNED double x[QUADS][WORDS], y[QUADS][WORDS];
    for (unsigned p = 0; p < QUADS; p++) {
        read_quads_a(a, p * QUAD, how->a_by_rows, x[p], from);
        read_quads_b(b, p * QUAD, how->b_by_rows, y[p], from);
    }
    for (unsigned p = 0, lane = 0; p < QUADS; p += 2, lane += 2 * QUAD) {
        sums sum, next;
        decode_quads(how->c, c, lane, &sum, from, widen);
        decode_quads(how->c, c, lane + QUAD, &next, from, widen);
        add(1, QUAD, x[p], y[p], &sum, NULL);
        add(1, QUAD, x[p + 1], y[p + 1], &next, NULL);
        if (is_nan(sum_of_all(&sum) + sum_of_all(&next))) {
            make_nans_alike(&sum);
            make_nans_alike(&next);
        }
        encode_quads(how->d, &sum, d, lane, to);
        encode_quads(how->d, &next, d, lane + QUAD, to);
    }
}

// ---- sets

enum {
    plain_pairs = false,
    avx2_pairs = false,
    avx512_pairs = true
};  // whether there are registers for two tiles of sums

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
    isa INLINE void set##_tiles_##letter##_##name(cj_tile_registers from, unsigned lines, unsigned chunks,      \
                                                  double *tiles) {                                              \
        for (unsigned chunk = 0; chunk < chunks; chunk++, tiles += (in_word)*WORDS) {                           \
            for (unsigned line = 0; line < lines; line++, from.slot++) {                                        \
                unsigned char codes[CODES_MAX];                                                                 \
                decode_##name(codes_of(from.base + *from.slot, codes), tiles + line * chunks * (in_word)*WORDS, \
                              set##_from_halves, set##_from_floats);                                            \
            }                                                                                                   \
        }                                                                                                       \
    }                                                                                                           \
    isa static void set##_read_##letter##_##name(cj_tile_registers from, unsigned lines, unsigned chunks,       \
                                                 double *tiles) {                                               \
        set##_tiles_##letter##_##name(from, lines, chunks, tiles);                                              \
    }

#define PRODUCT(set, isa, name, in_word, bits)                                                                 \
    isa static void set##_product_##name(const cj_tile_panel *p, const cj_tile_operands *of) {                 \
        enum { CHUNK = (in_word)*WORDS };                                                                      \
        CJ_TILE_ALIGNED double a[CJ_TILE_PRODUCT_ROWS * CJ_TILE_PRODUCT_CHUNKS * CHUNK];                       \
        CJ_TILE_ALIGNED double b[CJ_TILE_PRODUCT_CHUNKS * CHUNK];                                              \
        if (!set##_pairs || (bits) == 1) {                                                                     \
            set##_read_a_##name(of->a, p->rows, p->chunks, a);                                                 \
            set##_read_b_##name(of->b, 1, p->chunks, b);                                                       \
            set##_multiply(p, 1, a, b, &of->c, &of->d);                                                        \
            return;                                                                                            \
        }                                                                                                      \
        cj_tile_panel panel = *p;                                                                              \
        panel.length = (in_word)*QUAD;                                                                         \
        set##_tiles_a_##name(of->a, p->rows, p->chunks, a);                                                    \
        set##_tiles_b_##name(of->b, 1, p->chunks, b);                                                          \
        multiply(&panel, true, 1, a, b, &of->c, &of->d, set##_from_halves, set##_from_floats, set##_to_halves, \
                 set##_has_nan, set##_madd);                                                                   \
    }
#define TYPE_FUNCTIONS(set, isa, name, word, in_word, bits, split, turn) \
    READ(set, isa, a, name, in_word, split)                              \
    READ(set, isa, b, name, in_word, turn)                               \
    PRODUCT(set, isa, name, in_word, bits)
#define TYPE_ROW(set, isa, name, word, in_word, bits, split, turn) \
    {CJ_W_##word, in_word, bits, set##_read_a_##name, set##_read_b_##name, set##_product_##name},

// The set for hosts on which set_runs() holds; `isa` is the attribute of its functions.
#define SET(set, isa, fma)                                                                                             \
    isa static void set##_multiply(const cj_tile_panel *p, unsigned parts, const double *a, const double *b,           \
                                   const cj_tile_registers *c, const cj_tile_registers *d) {                           \
        if (p->how == CJ_MULTIPLY_SUM)                                                                                 \
            multiply_known(p, set##_pairs, parts, a, b, c, d, set##_from_halves, set##_from_floats, set##_to_halves,   \
                           set##_has_nan, set##_madd);                                                                 \
        else                                                                                                           \
            count(p, parts, a, b, c, d, set##_from_floats);                                                            \
    }                                                                                                                  \
    EACH_TYPE(TYPE_FUNCTIONS, set, isa)                                                                                \
    isa static void set##_multiply_f64(const cj_tile_panel *p, const unsigned char *base, const uint32_t *slot,        \
                                       cj_tile_registers d) {                                                          \
        if (p->rows == 1 && p->chunks == 1)                                                                            \
            multiply_f64(find_f64(1, 1, base, slot), d, set##_has_nan, fma);                                           \
        else                                                                                                           \
            multiply_f64(find_f64(p->rows, p->chunks, base, slot), d, set##_has_nan, fma);                             \
    }                                                                                                                  \
    isa static void set##_multiply_quads(const cj_tile_quads *how, unsigned char *base, const uint32_t *slot) {        \
        multiply_quads(how, base, slot, set##_from_halves, set##_from_floats, set##_to_halves, set##_has_nan,          \
                       set##_madd);                                                                                    \
    }                                                                                                                  \
    isa static uint32_t set##_place(const cj_tile_pattern *how, const uint32_t *first, unsigned tiles, uint32_t *at) { \
        return place(how, first, tiles, at);                                                                           \
    }                                                                                                                  \
    isa static void set##_gather(const unsigned char *base, const uint32_t *at, unsigned tiles, uint32_t *words) {     \
        gather(base, at, tiles, words);                                                                                \
    }                                                                                                                  \
    isa static bool set##_spread(const cj_tile_sparse *how, const uint32_t metadata[WORDS], cj_tile_registers stored,  \
                                 uint32_t *words) {                                                                    \
        return spread(how, metadata, stored, words, set##_from_words, set##_of_lines);                                 \
    }                                                                                                                  \
    static const cj_tile_set set = {.name = #set,                                                                      \
                                    .runs = set##_runs,                                                                \
                                    .type = {EACH_TYPE(TYPE_ROW, set, isa)},                                           \
                                    .multiply = set##_multiply,                                                        \
                                    .multiply_f64 = set##_multiply_f64,                                                \
                                    .multiply_quads = set##_multiply_quads,                                            \
                                    .place = set##_place,                                                              \
                                    .gather = set##_gather,                                                            \
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

void cj__tile_read_words(cj_tile_read read, uint32_t *words, unsigned tiles, double *numbers) {
#define SLOTS(i) (i) * CJ_TILE_BYTES, ((i) + 1) * CJ_TILE_BYTES, ((i) + 2) * CJ_TILE_BYTES, ((i) + 3) * CJ_TILE_BYTES
    static const uint32_t slot[CJ_TILES_READ_MAX] = {SLOTS(0),  SLOTS(4),  SLOTS(8),  SLOTS(12),
                                                     SLOTS(16), SLOTS(20), SLOTS(24), SLOTS(28)};
#undef SLOTS
    read((cj_tile_registers){(unsigned char *)words, slot}, 1, tiles, numbers);
}

cj_tile_sum cj__tile_sum(uint16_t type) {
    return type == CJ_W_F64   ? CJ_TILE_SUM_F64
           : type == CJ_W_F32 ? CJ_TILE_SUM_F32
           : type == CJ_W_S32 ? CJ_TILE_SUM_S32
                              : CJ_TILE_SUM_F16;
}
