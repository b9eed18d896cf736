// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, logic and shifts (PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift Instructions").
// Operations that do not depend on the sign are computed unsigned: they wrap as the hardware does.
#include "exec.h"

// An executor with up to three sources A, B, C of one type. Missing ones repeat the first.
#define INTEGER(name, type, sources, expression)                                       \
    CJ_EXEC(name##_##type) {                                                           \
        typedef lane_##type lane;                                                      \
        lane_##type        *d = CJ_LANES_OF(lane_##type, 0);                           \
        const lane_##type  *a = CJ_LANES_OF(const lane_##type, 1);                     \
        const lane_##type  *b = CJ_LANES_OF(const lane_##type, (sources) > 1 ? 2 : 1); \
        const lane_##type  *c = CJ_LANES_OF(const lane_##type, (sources) > 2 ? 3 : 1); \
        (void)b, (void)c;                                                              \
        CJ_EACH_LANE(i, mask, { d[i] = (lane)(expression); });                         \
        return CJ_STEP_NEXT;                                                           \
    }

// Wider copies of the sources for the expression: a product of two uint16_t could overflow int.
#define A(type) ((type)a[i])
#define B(type) ((type)b[i])
#define C(type) ((type)c[i])

#define SIGNLESS(name, sources, expression32, expression64) \
    INTEGER(name, u16, sources, expression32)               \
    INTEGER(name, u32, sources, expression32)               \
    INTEGER(name, u64, sources, expression64)

#define UNSIGNED(name, sources, expression) \
    INTEGER(name, u16, sources, expression) \
    INTEGER(name, u32, sources, expression) \
    INTEGER(name, u64, sources, expression)

#define SIGNED(name, sources, expression)   \
    INTEGER(name, s16, sources, expression) \
    INTEGER(name, s32, sources, expression) \
    INTEGER(name, s64, sources, expression)

// ---- add, subtract, multiply

SIGNLESS(add, 2, A(uint32_t) + B(uint32_t), a[i] + b[i])
SIGNLESS(sub, 2, A(uint32_t) - B(uint32_t), a[i] - b[i])
SIGNLESS(mul_lo, 2, A(uint32_t) * B(uint32_t), a[i] * b[i])
SIGNLESS(mad_lo, 3, A(uint32_t) * B(uint32_t) + C(uint32_t), a[i] * b[i] + c[i])

static int32_t saturated(int64_t value) {
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

INTEGER(add_sat, s32, 2, saturated(A(int64_t) + B(int64_t)))
INTEGER(sub_sat, s32, 2, saturated(A(int64_t) - B(int64_t)))

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128          int128;

INTEGER(mul_hi, u16, 2, A(uint32_t) * B(uint32_t) >> 16)
INTEGER(mul_hi, u32, 2, A(uint64_t) * B(uint64_t) >> 32)
INTEGER(mul_hi, u64, 2, A(uint128) * B(uint128) >> 64)
INTEGER(mul_hi, s16, 2, A(int32_t) * B(int32_t) >> 16)
INTEGER(mul_hi, s32, 2, A(int64_t) * B(int64_t) >> 32)
INTEGER(mul_hi, s64, 2, A(int128) * B(int128) >> 64)

// The sum with the high half wraps, so it is computed unsigned.
INTEGER(mad_hi, u16, 3, (A(uint32_t) * B(uint32_t) >> 16) + C(uint32_t))
INTEGER(mad_hi, u32, 3, (A(uint64_t) * B(uint64_t) >> 32) + C(uint64_t))
INTEGER(mad_hi, u64, 3, (uint64_t)(A(uint128) * B(uint128) >> 64) + c[i])
INTEGER(mad_hi, s16, 3, (A(int32_t) * B(int32_t) >> 16) + C(int32_t))
INTEGER(mad_hi, s32, 3, (A(int64_t) * B(int64_t) >> 32) + C(int64_t))
INTEGER(mad_hi, s64, 3, (uint64_t)(A(int128) * B(int128) >> 64) + C(uint64_t))

INTEGER(mad_hi_sat, s32, 3, saturated((A(int64_t) * B(int64_t) >> 32) + C(int64_t)))

// The low 24 bits of each source; .hi is the upper 32 of the product's 48.
static inline uint64_t product24_u(uint32_t a, uint32_t b) { return (uint64_t)(a & 0xffffff) * (b & 0xffffff); }
static inline int64_t  product24_s(int32_t a, int32_t b) {
     return (int64_t)((int32_t)((uint32_t)a << 8) >> 8) * ((int32_t)((uint32_t)b << 8) >> 8);
}

INTEGER(mul24_lo, u32, 2, product24_u(a[i], b[i]))
INTEGER(mul24_hi, u32, 2, product24_u(a[i], b[i]) >> 16)
INTEGER(mul24_lo, s32, 2, product24_s(a[i], b[i]))
INTEGER(mul24_hi, s32, 2, product24_s(a[i], b[i]) >> 16)
INTEGER(mad24_lo, u32, 3, product24_u(a[i], b[i]) + c[i])
INTEGER(mad24_hi, u32, 3, (product24_u(a[i], b[i]) >> 16) + c[i])
INTEGER(mad24_lo, s32, 3, product24_s(a[i], b[i]) + c[i])
INTEGER(mad24_hi, s32, 3, (product24_s(a[i], b[i]) >> 16) + c[i])
INTEGER(mad24_hi_sat, s32, 3, saturated((product24_s(a[i], b[i]) >> 16) + c[i]))

// Twice as wide as its sources; `more` is the third source of mad.wide, as wide as the result.
#define WIDE(name, type, wide, sources, expression)                                   \
    CJ_EXEC(name##_##type) {                                                          \
        lane_##wide       *d = CJ_LANES_OF(lane_##wide, 0);                           \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);                     \
        const lane_##type *b = CJ_LANES_OF(const lane_##type, 2);                     \
        const lane_##wide *c = CJ_LANES_OF(const lane_##wide, (sources) > 2 ? 3 : 0); \
        (void)c;                                                                      \
        CJ_EACH_LANE(i, mask, { d[i] = (lane_##wide)(expression); });                 \
        return CJ_STEP_NEXT;                                                          \
    }

WIDE(mul_wide, u16, u32, 2, A(uint32_t) * B(uint32_t))
WIDE(mul_wide, u32, u64, 2, A(uint64_t) * B(uint64_t))
WIDE(mul_wide, s16, u32, 2, A(int32_t) * B(int32_t))
WIDE(mul_wide, s32, u64, 2, A(int64_t) * B(int64_t))
WIDE(mad_wide, u16, u32, 3, A(uint32_t) * B(uint32_t) + c[i])
WIDE(mad_wide, u32, u64, 3, A(uint64_t) * B(uint64_t) + c[i])
WIDE(mad_wide, s16, u32, 3, (uint32_t)(A(int32_t) * B(int32_t)) + c[i])
WIDE(mad_wide, s32, u64, 3, (uint64_t)(A(int64_t) * B(int64_t)) + c[i])

// ---- divide. PTX does not define division by zero; the hardware's quotient and remainder are all ones.

UNSIGNED(div, 2, b[i] ? (lane)(a[i] / b[i]) : (lane)-1)
UNSIGNED(rem, 2, b[i] ? (lane)(a[i] % b[i]) : (lane)-1)
INTEGER(div, s16, 2, b[i] ? a[i] / b[i] : -1)
INTEGER(div, s32, 2, b[i] ? A(int64_t) / B(int64_t) : -1)
INTEGER(div, s64, 2, !b[i] ? -1 : b[i] == -1 ? (int64_t)(0 - A(uint64_t)) : a[i] / b[i])
INTEGER(rem, s16, 2, b[i] ? a[i] % b[i] : -1)
INTEGER(rem, s32, 2, b[i] ? A(int64_t) % B(int64_t) : -1)
INTEGER(rem, s64, 2, !b[i] ? -1 : b[i] == -1 ? 0 : a[i] % b[i])

// ---- smaller, larger, sign

UNSIGNED(min, 2, a[i] < b[i] ? a[i] : b[i])
SIGNED(min, 2, a[i] < b[i] ? a[i] : b[i])
UNSIGNED(max, 2, a[i] > b[i] ? a[i] : b[i])
SIGNED(max, 2, a[i] > b[i] ? a[i] : b[i])
SIGNED(neg, 1, 0 - A(uint64_t))
SIGNED(abs, 1, a[i] < 0 ? 0 - A(uint64_t) : A(uint64_t))

INTEGER(min_relu, s32, 2, a[i] < b[i] ? (a[i] > 0 ? a[i] : 0) : (b[i] > 0 ? b[i] : 0))
INTEGER(max_relu, s32, 2, a[i] > b[i] ? (a[i] > 0 ? a[i] : 0) : (b[i] > 0 ? b[i] : 0))
UNSIGNED(sad, 3, c[i] + (a[i] < b[i] ? b[i] - a[i] : a[i] - b[i]))
SIGNED(sad, 3, C(uint64_t) + (a[i] < b[i] ? B(uint64_t) - A(uint64_t) : A(uint64_t) - B(uint64_t)))

// ---- two of 16 bits in one register

#define PAIR(name, type, expression)                                     \
    CJ_EXEC(name##_##type##x2) {                                         \
        lane_u32       *d = CJ_LANES_OF(lane_u32, 0);                    \
        const lane_u32 *from_a = CJ_LANES_OF(const lane_u32, 1);         \
        const lane_u32 *from_b = CJ_LANES_OF(const lane_u32, 2);         \
        CJ_EACH_LANE(i, mask, {                                          \
            uint32_t pair = 0;                                           \
            for (unsigned shift = 0; shift < 32; shift += 16) {          \
                const lane_##type a = (lane_##type)(from_a[i] >> shift); \
                const lane_##type b = (lane_##type)(from_b[i] >> shift); \
                pair |= (uint32_t)(uint16_t)(expression) << shift;       \
            }                                                            \
            d[i] = pair;                                                 \
        });                                                              \
        return CJ_STEP_NEXT;                                             \
    }

PAIR(add, u16, a + b)
PAIR(min, u16, a < b ? a : b)
PAIR(min, s16, a < b ? a : b)
PAIR(max, u16, a > b ? a : b)
PAIR(max, s16, a > b ? a : b)
PAIR(min_relu, s16, a < b ? (a > 0 ? a : 0) : (b > 0 ? b : 0))
PAIR(max_relu, s16, a > b ? (a > 0 ? a : 0) : (b > 0 ? b : 0))

// ---- logic and shifts

UNSIGNED(cnot, 1, a[i] == 0)
UNSIGNED(and, 2, a[i] & b[i])
UNSIGNED(or, 2, a[i] | b[i])
UNSIGNED(xor, 2, a[i] ^ b[i])
UNSIGNED(not, 1, ~a[i])

// The amount is a u32 for every type; amounts beyond the width shift all bits out.
#define SHIFT(name, type, expression)                                 \
    CJ_EXEC(name##_##type) {                                          \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);           \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);     \
        const lane_u32    *b = CJ_LANES_OF(const lane_u32, 2);        \
        const uint32_t     bits = sizeof *d * 8;                      \
        CJ_EACH_LANE(i, mask, { d[i] = (lane_##type)(expression); }); \
        return CJ_STEP_NEXT;                                          \
    }

#define SHIFTS(type, left, signed_type)                                \
    SHIFT(shl, type, b[i] < bits ? A(left) << (b[i] & (bits - 1)) : 0) \
    SHIFT(shr, type, b[i] < bits ? a[i] >> (b[i] & (bits - 1)) : 0)    \
    SHIFT(shr, signed_type, a[i] >> (b[i] < bits ? b[i] : bits - 1))

SHIFTS(u16, uint32_t, s16)
SHIFTS(u32, uint32_t, s32)
SHIFTS(u64, uint64_t, s64)

// ---- predicates

#define PREDICATE(name, last, expression)                                                   \
    CJ_EXEC(name##_pred) {                                                                  \
        const uint32_t a = cj__cpu_predicate(w, op, 1), b = cj__cpu_predicate(w, op, last); \
        cj__cpu_predicate_set(w->file + op->slot[0], mask, expression);                     \
        return CJ_STEP_NEXT;                                                                \
    }                                                                                       \
    bool cj__cpu_select_##name##_pred(cj_cpu_prepare *p) {                                  \
        p->op.run = name##_pred;                                                            \
        return true;                                                                        \
    }

PREDICATE(and, 2, a &b)
PREDICATE(or, 2, a | b)
PREDICATE(xor, 2, a ^ b)
PREDICATE(not, 1, ~(a | b))

// ---- selection

// Instructions whose executor depends on their last type alone.
#define SELECT(name, ...)                                         \
    bool cj__cpu_select_##name(cj_cpu_prepare *p) {               \
        static const cj_cpu_typed typed = {__VA_ARGS__};          \
        return cj__cpu_choose(p, &typed, p->mnemonic->type_last); \
    }

// Instructions whose executor also depends on .hi, .lo or .sat: with `word` the first of the two.
#define SELECT_BY(name, word, with, ...)                                                        \
    bool cj__cpu_select_##name(cj_cpu_prepare *p) {                                             \
        static const cj_cpu_typed one = {with}, other = {__VA_ARGS__};                          \
        return cj__cpu_choose(p, cj__cpu_has(p, word) ? &one : &other, p->mnemonic->type_last); \
    }

#define NARROW24(name) .u32 = name##_u32, .s32 = name##_s32
#define NARROW(name) .u16 = name##_u16, .u32 = name##_u32, .s16 = name##_s16, .s32 = name##_s32

// Instructions on one or two values in a register, with .relu.
#define SELECT_PAIR(name)                                                                                          \
    bool cj__cpu_select_##name##_pair(cj_cpu_prepare *p) {                                                         \
        static const cj_cpu_typed plain = {.u16 = name##_u16x2, .s16 = name##_s16x2};                              \
        static const cj_cpu_typed relu = {.s16 = name##_relu_s16x2, .s32 = name##_relu_s32};                       \
        const cj_cpu_typed       *typed = cj__cpu_has(p, CJ_W_RELU) ? &relu : &plain;                              \
        const uint16_t            type = p->mnemonic->type_last;                                                   \
        return cj__cpu_choose(p, typed, type == CJ_W_U16X2 ? CJ_W_U16 : type == CJ_W_S16X2 ? CJ_W_S16 : CJ_W_S32); \
    }

SELECT_PAIR(min)
SELECT_PAIR(max)

bool cj__cpu_select_add_pair(cj_cpu_prepare *p) {
    p->op.run = add_u16x2;
    return true;
}

SELECT_BY(mul24, CJ_W_LO, NARROW24(mul24_lo), NARROW24(mul24_hi))
SELECT_BY(mad24, CJ_W_LO, NARROW24(mad24_lo), NARROW24(mad24_hi))
SELECT(mad24_sat, .s32 = mad24_hi_sat_s32)
SELECT(mad_sat, .s32 = mad_hi_sat_s32)
SELECT(sad, CJ_UNSIGNED(sad), CJ_SIGNED(sad))
SELECT(cnot, CJ_SIGNLESS(cnot))
SELECT_BY(add, CJ_W_SAT, .s32 = add_sat_s32, CJ_SIGNLESS(add))
SELECT_BY(sub, CJ_W_SAT, .s32 = sub_sat_s32, CJ_SIGNLESS(sub))
SELECT_BY(mul, CJ_W_LO, CJ_SIGNLESS(mul_lo), CJ_UNSIGNED(mul_hi), CJ_SIGNED(mul_hi))
SELECT_BY(mad, CJ_W_LO, CJ_SIGNLESS(mad_lo), CJ_UNSIGNED(mad_hi), CJ_SIGNED(mad_hi))
SELECT(mul_wide, NARROW(mul_wide))
SELECT(mad_wide, NARROW(mad_wide))
SELECT(div, CJ_UNSIGNED(div), CJ_SIGNED(div))
SELECT(rem, CJ_UNSIGNED(rem), CJ_SIGNED(rem))
SELECT(min, CJ_UNSIGNED(min), CJ_SIGNED(min))
SELECT(max, CJ_UNSIGNED(max), CJ_SIGNED(max))
SELECT(neg, CJ_SIGNED(neg))
SELECT(abs, CJ_SIGNED(abs))
SELECT(and, CJ_SIGNLESS(and))
SELECT(or, CJ_SIGNLESS(or))
SELECT(xor, CJ_SIGNLESS(xor))
SELECT(not, CJ_SIGNLESS(not ))
SELECT(shl, CJ_SIGNLESS(shl))
SELECT(shr, CJ_UNSIGNED(shr), CJ_SIGNED(shr))
