// SPDX-License-Identifier: Apache-2.0
// Counting, finding and moving bits and bytes (PTX ISA, popc to dp2a in "Integer Arithmetic Instructions", lop3 and shf
// in "Logic and Shift Instructions", prmt in "Data Movement").
#include "exec.h"

static inline uint32_t low_mask(uint32_t width) { return width < 32 ? ~(UINT32_MAX << width) : UINT32_MAX; }
static inline uint64_t low_mask_64(uint32_t width) { return width < 64 ? ~(UINT64_MAX << width) : UINT64_MAX; }

// An executor: its result of type `to` is computed from x, of type `from`, and up to three further u32 sources a, b, c.
#define BITS(name, to, from, sources, expression)                                       \
    CJ_EXEC(name##_##from) {                                                            \
        lane_##to         *d = CJ_LANES_OF(lane_##to, 0);                               \
        const lane_##from *from_x = CJ_LANES_OF(const lane_##from, 1);                  \
        const lane_u32    *from_a = CJ_LANES_OF(const lane_u32, (sources) > 0 ? 2 : 1); \
        const lane_u32    *from_b = CJ_LANES_OF(const lane_u32, (sources) > 1 ? 3 : 1); \
        const lane_u32    *from_c = CJ_LANES_OF(const lane_u32, (sources) > 2 ? 4 : 1); \
        CJ_EACH_LANE(i, mask, {                                                         \
            const lane_##from x = from_x[i];                                            \
            const uint32_t    a = from_a[i], b = from_b[i], c = from_c[i];              \
            (void)a, (void)b, (void)c;                                                  \
            d[i] = (lane_##to)(expression);                                             \
        });                                                                             \
        return CJ_STEP_NEXT;                                                            \
    }

// ---- counting and finding

BITS(popc, u32, u32, 0, __builtin_popcount(x))
BITS(popc, u32, u64, 0, __builtin_popcountll(x))
BITS(clz, u32, u32, 0, x ? __builtin_clz(x) : 32)
BITS(clz, u32, u64, 0, x ? __builtin_clzll(x) : 64)

// The highest bit that differs from the sign; .shiftamt: the left shift that moves it to the top.
static inline uint32_t highest(uint64_t bits) { return bits ? 63 - (uint32_t)__builtin_clzll(bits) : UINT32_MAX; }
static inline uint32_t distance(uint64_t bits, uint32_t top) { return bits ? top - highest(bits) : UINT32_MAX; }

#define FIND(type, top, bits)                \
    BITS(bfind, u32, type, 0, highest(bits)) \
    BITS(bfind_shift, u32, type, 0, distance(bits, top))

FIND(u32, 31, x)
FIND(u64, 63, x)
FIND(s32, 31, (uint32_t)(x < 0 ? ~x : x))
FIND(s64, 63, (uint64_t)(x < 0 ? ~x : x))

// The |offset|-th set bit from `base` on, upwards or downwards; offset 0 means base itself.
static inline uint32_t nth_set(uint32_t bits, uint32_t base, int32_t offset) {
    if (offset == INT32_MIN) return 0;  // -INT32_MIN overflows; measured on an H200
    if (base > 31) return UINT32_MAX;
    if (!offset) return bits >> base & 1 ? base : UINT32_MAX;
    uint32_t left = offset < 0 ? 0 - (uint32_t)offset : (uint32_t)offset;
    for (int32_t at = (int32_t)base; at >= 0 && at < 32; at += offset < 0 ? -1 : 1) {
        if (bits >> at & 1 && !--left) return (uint32_t)at;
    }
    return UINT32_MAX;
}

BITS(fns, u32, u32, 2, nth_set(x, a, (int32_t)b))

// ---- moving bits

static inline uint32_t reversed(uint32_t x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}

BITS(brev, u32, u32, 0, reversed(x))
BITS(brev, u64, u64, 0, (uint64_t)reversed((uint32_t)x) << 32 | reversed((uint32_t)(x >> 32)))

// A field of `length` bits at `at`; bits beyond the register are its sign, or 0. 32-bit forms use the low 8 bits of both amounts;
// 64-bit forms, which ptxas emulates, use all bits.
static inline int64_t field(int64_t x, uint32_t at, uint32_t length, bool is_signed) {
    x = at > 63 ? (is_signed && x < 0 ? -1 : 0) : is_signed ? x >> at : (int64_t)((uint64_t)x >> at);
    if (!length) return 0;
    if (length > 63) return x;
    const unsigned unused = 64 - length;
    return is_signed ? (int64_t)((uint64_t)x << unused) >> unused : (int64_t)((uint64_t)x << unused >> unused);
}

BITS(bfe, u32, u32, 2, field(x, a & 0xff, b & 0xff, false))
BITS(bfe, s32, s32, 2, field(x, a & 0xff, b & 0xff, true))
BITS(bfe, u64, u64, 2, field((int64_t)x, a, b, false))
BITS(bfe, s64, s64, 2, field(x, a, b, true))

// The sources are of one type here: insert x into y.
#define INSERT(type, bits, mask_of, counts)                                                                \
    CJ_EXEC(bfi_##type) {                                                                                  \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);                                                \
        const lane_##type *x = CJ_LANES_OF(const lane_##type, 1);                                          \
        const lane_##type *y = CJ_LANES_OF(const lane_##type, 2);                                          \
        const lane_u32    *at = CJ_LANES_OF(const lane_u32, 3);                                            \
        const lane_u32    *length = CJ_LANES_OF(const lane_u32, 4);                                        \
        CJ_EACH_LANE(i, mask, {                                                                            \
            const uint32_t    shift = at[i] & (counts);                                                    \
            const lane_##type hole = shift < (bits) ? mask_of(length[i] & (counts)) << shift % (bits) : 0; \
            d[i] = (y[i] & ~hole) | (x[i] << shift % (bits)&hole);                                         \
        });                                                                                                \
        return CJ_STEP_NEXT;                                                                               \
    }

INSERT(u32, 32, low_mask, 0xff)
INSERT(u64, 64, low_mask_64, UINT32_MAX)

// bmsk: the mask begins at bit x and is a bits wide.
BITS(bmsk_clamp, u32, u32, 1, x < 32 ? low_mask(a) << x % 32 : 0)
BITS(bmsk_wrap, u32, u32, 1, low_mask(a % 32) << x % 32)

#define EXTEND(mode, is_whole)                                                           \
    BITS(szext_##mode, u32, u32, 1, (is_whole) ? x : x &low_mask(a % 32))                \
    BITS(szext_##mode, s32, s32, 1,                                                      \
         (is_whole) ? x                                                                  \
         : a % 32   ? (int32_t)((uint32_t)x << (32 - a % 32) % 32) >> (32 - a % 32) % 32 \
                    : 0)

EXTEND(clamp, a > 31)
EXTEND(wrap, false)

// Funnel shifts of a:x by b bits: a left shift gives the upper half, a right shift the lower half.
#define PAIR (((uint64_t)a << 32) | x)
BITS(shf_l_clamp, u32, u32, 2, b < 32 ? PAIR << b % 32 >> 32 : x)
BITS(shf_r_clamp, u32, u32, 2, b < 32 ? PAIR >> b % 32 : a)
BITS(shf_l_wrap, u32, u32, 2, PAIR << b % 32 >> 32)
BITS(shf_r_wrap, u32, u32, 2, PAIR >> b % 32)

// ---- lop3: for each bit, the table's entry at the index that the three sources' bits form

static inline uint32_t look_up(uint32_t x, uint32_t a, uint32_t b, uint32_t table) {
    uint32_t result = 0;
    for (unsigned k = 0; k < 8; k++) {
        const uint32_t here = (k & 4 ? x : ~x) & (k & 2 ? a : ~a) & (k & 1 ? b : ~b);
        result |= here & (0u - (table >> k & 1));
    }
    return result;
}

BITS(lop3, u32, u32, 3, look_up(x, a, b, c))

// Slots: d, p, then the sources, the table and the predicate that p is combined with.
CJ_EXEC(lop3_pred) {
    lane_u32      *d = CJ_LANES_OF(lane_u32, 0);
    const uint32_t with = cj__cpu_predicate(w, op, 6);
    uint32_t       bits = 0;
    CJ_SOME_LANES(i, mask) {
        d[i] = look_up(CJ_LANES_OF(const lane_u32, 2)[i], CJ_LANES_OF(const lane_u32, 3)[i],
                       CJ_LANES_OF(const lane_u32, 4)[i], CJ_LANES_OF(const lane_u32, 5)[i]);
        bits |= (uint32_t)(d[i] != 0) << i;
    }
    cj__cpu_predicate_set(w->file + op->slot[1], mask, op->mode == CJ_W_AND ? bits & with : bits | with);
    return CJ_STEP_NEXT;
}

// ---- prmt: bytes of a:x. Three bits of a selector's nibble name a byte; the fourth replaces the byte by its sign.

static inline uint32_t permuted(uint64_t bytes, uint32_t selector) {
    uint32_t result = 0;
    for (unsigned k = 0; k < 4; k++) {
        const uint32_t nibble = selector >> 4 * k & 15, byte = (uint32_t)(bytes >> 8 * (nibble & 7)) & 0xff;
        result |= (nibble & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << 8 * k;
    }
    return result;
}

BITS(prmt, u32, u32, 2, permuted(PAIR, b))

// What the modes select, by the low 2 bits of the selector.
static const struct {
    cj_word  word;
    uint16_t selector[4];
} permutations[] = {
    {CJ_W_F4E, {0x3210, 0x4321, 0x5432, 0x6543}}, {CJ_W_B4E, {0x5670, 0x6701, 0x7012, 0x0123}},
    {CJ_W_RC8, {0x0000, 0x1111, 0x2222, 0x3333}}, {CJ_W_ECL, {0x3210, 0x3211, 0x3222, 0x3333}},
    {CJ_W_ECR, {0x0000, 0x1110, 0x2210, 0x3210}}, {CJ_W_RC16, {0x1010, 0x3232, 0x1010, 0x3232}},
};

CJ_EXEC(prmt_mode) {
    const uint16_t *selector = op->plan;
    CJ_SOME_LANES(i, mask) {
        const uint64_t bytes = (uint64_t)CJ_LANES_OF(const lane_u32, 2)[i] << 32 | CJ_LANES_OF(const lane_u32, 1)[i];
        CJ_LANES_OF(lane_u32, 0)[i] = permuted(bytes, selector[CJ_LANES_OF(const lane_u32, 3)[i] & 3]);
    }
    return CJ_STEP_NEXT;
}

// ---- dot products of bytes with bytes, or with the halves of a word

#define DOT(name, from_x, from_a, parts, x_bits, expression_a)                                       \
    static inline uint32_t dot_##name(uint32_t x, uint32_t a, uint32_t sum) {                        \
        for (unsigned k = 0; k < (parts); k++)                                                       \
            sum += (uint32_t)((int32_t)(from_x)(x >> (x_bits)*k) * (int32_t)(from_a)(expression_a)); \
        return sum;                                                                                  \
    }                                                                                                \
    BITS(name, u32, u32, 2, dot_##name(x, a, b))

#define DOTS(suffix, x8, x16, a8)                     \
    DOT(dp4a_##suffix, x8, a8, 4, 8, a >> 8 * k)      \
    DOT(dp2a_lo_##suffix, x16, a8, 2, 16, a >> 8 * k) \
    DOT(dp2a_hi_##suffix, x16, a8, 2, 16, a >> (16 + 8 * k))

DOTS(uu, uint8_t, uint16_t, uint8_t)
DOTS(us, uint8_t, uint16_t, int8_t)
DOTS(su, int8_t, int16_t, uint8_t)
DOTS(ss, int8_t, int16_t, int8_t)

// ---- selection

#define SELECT(name, ...)                                         \
    bool cj__cpu_select_##name(cj_cpu_prepare *p) {               \
        static const cj_cpu_typed typed = {__VA_ARGS__};          \
        return cj__cpu_choose(p, &typed, p->mnemonic->type_last); \
    }
#define SELECT_BY(name, word, first, ...)                                                       \
    bool cj__cpu_select_##name(cj_cpu_prepare *p) {                                             \
        static const cj_cpu_typed one = {__VA_ARGS__}, other = {first};                         \
        return cj__cpu_choose(p, cj__cpu_has(p, word) ? &one : &other, p->mnemonic->type_last); \
    }
#define UNSIGNED(name) .u32 = name##_u32, .u64 = name##_u64
#define SIGNED(name) .s32 = name##_s32, .s64 = name##_s64
#define EITHER(name) .u32 = name##_u32, .s32 = name##_s32
#define ALL(name) .u32 = name##_u32, .s32 = name##_s32, .u64 = name##_u64, .s64 = name##_s64

SELECT(popc, UNSIGNED(popc))
SELECT(clz, UNSIGNED(clz))
SELECT_BY(bfind, CJ_W_SHIFTAMT, ALL(bfind), ALL(bfind_shift))
SELECT(fns, .u32 = fns_u32)
SELECT(brev, UNSIGNED(brev))
SELECT(bfe, UNSIGNED(bfe), SIGNED(bfe))
SELECT(bfi, UNSIGNED(bfi))
SELECT_BY(bmsk, CJ_W_WRAP, .u32 = bmsk_clamp_u32, .u32 = bmsk_wrap_u32)
SELECT_BY(szext, CJ_W_WRAP, EITHER(szext_clamp), EITHER(szext_wrap))
SELECT(lop3, .u32 = lop3_u32)

bool cj__cpu_select_lop3_pred(cj_cpu_prepare *p) {
    p->op.run = lop3_pred;
    p->op.mode = cj__cpu_has(p, CJ_W_AND) ? CJ_W_AND : CJ_W_OR;
    return true;
}

bool cj__cpu_select_shf(cj_cpu_prepare *p) {
    static const cj_cpu_exec by[2][2] = {{shf_r_clamp_u32, shf_r_wrap_u32}, {shf_l_clamp_u32, shf_l_wrap_u32}};
    p->op.run = by[cj__cpu_has(p, CJ_W_LEFT)][cj__cpu_has(p, CJ_W_WRAP)];
    return true;
}

bool cj__cpu_select_prmt(cj_cpu_prepare *p) {
    p->op.run = prmt_u32;
    for (size_t i = 0; i < sizeof permutations / sizeof *permutations; i++) {
        if (!cj__cpu_has(p, permutations[i].word)) continue;
        p->op.run = prmt_mode;
        p->op.plan = permutations[i].selector;
    }
    return true;
}

static bool select_dot(cj_cpu_prepare *p, const cj_cpu_exec by_sign[2][2]) {
    const uint16_t *type = p->mnemonic->type;
    p->op.run = by_sign[type[0] == CJ_W_S32][type[1] == CJ_W_S32];
    return true;
}

#define BY_SIGN(name)                                                    \
    {                                                                    \
        {name##_uu_u32, name##_us_u32}, { name##_su_u32, name##_ss_u32 } \
    }

bool cj__cpu_select_dp4a(cj_cpu_prepare *p) {
    static const cj_cpu_exec by_sign[2][2] = BY_SIGN(dp4a);
    return select_dot(p, by_sign);
}

bool cj__cpu_select_dp2a(cj_cpu_prepare *p) {
    static const cj_cpu_exec lo[2][2] = BY_SIGN(dp2a_lo), hi[2][2] = BY_SIGN(dp2a_hi);
    return select_dot(p, cj__cpu_has(p, CJ_W_HI) ? hi : lo);
}
