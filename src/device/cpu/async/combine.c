// SPDX-License-Identifier: Apache-2.0
#include "combine.h"

#include <string.h>

#include "flush.h"
#include "half.h"
#include "lanes.h"

typedef uint16_t lane_f16 __attribute__((__may_alias__));
typedef uint16_t lane_bf16 __attribute__((__may_alias__));

// Elements of `type`, which has the bits of `word`; the expression uses `old` and `b`.
#define COMBINE(name, type, word, expression)                                                 \
    static void name##_##type(unsigned char *to, const unsigned char *from, uint32_t bytes) { \
        for (uint32_t at = 0; at < bytes; at += (uint32_t)sizeof(lane_##word)) {              \
            lane_##type b, was;                                                               \
            memcpy(&b, from + at, sizeof b);                                                  \
            CJ_CPU_REPLACE(to + at, type, word, was, expression);                             \
            (void)was;                                                                        \
        }                                                                                     \
    }

#define INTEGERS(name, expression)      \
    COMBINE(name, u32, u32, expression) \
    COMBINE(name, u64, u64, expression)

#define SIGNED(name, expression)        \
    COMBINE(name, s32, u32, expression) \
    COMBINE(name, s64, u64, expression)

#define HALVES(name, function)                       \
    COMBINE(name, f16, u16, function(old, b, false)) \
    COMBINE(name, bf16, u16, function(old, b, true))

// Sums of bulk reductions keep subnormals; those of red.global flush them.
static float sum_f32(float a, float b) { return cj__cpu_canonical(a + b); }

double cj__cpu_global_sum(double old, double b) { return b != b ? b : old != old ? old : cj__cpu_made(old + b, false); }

INTEGERS(and, old &b)
INTEGERS(or, old | b)
INTEGERS(xor, old ^ b)
INTEGERS(add, old + b)
INTEGERS(min, old < b ? old : b)
INTEGERS(max, old > b ? old : b)
SIGNED(min, old < b ? old : b)
SIGNED(max, old > b ? old : b)
COMBINE(inc, u32, u32, old >= b ? 0 : old + 1)
COMBINE(dec, u32, u32, old == 0 || old > b ? b : old - 1)
COMBINE(add, f32, u32, sum_f32(old, b))
COMBINE(add_ftz, f32, u32, cj__cpu_flush(sum_f32(cj__cpu_flush(old), cj__cpu_flush(b))))
COMBINE(add, f64, u64, cj__cpu_global_sum(old, b))
HALVES(add, cj__half_sum)
HALVES(min, cj__half_smaller)
HALVES(max, cj__half_larger)

static const struct {
    cj_word        operation, type;
    cj_cpu_combine combine;
} combinations[] = {
    {CJ_W_AND, CJ_W_B32, and_u32}, {CJ_W_AND, CJ_W_B64, and_u64},     {CJ_W_OR, CJ_W_B32, or_u32},
    {CJ_W_OR, CJ_W_B64, or_u64},   {CJ_W_XOR, CJ_W_B32, xor_u32},     {CJ_W_XOR, CJ_W_B64, xor_u64},
    {CJ_W_ADD, CJ_W_U32, add_u32}, {CJ_W_ADD, CJ_W_S32, add_u32},     {CJ_W_ADD, CJ_W_U64, add_u64},
    {CJ_W_ADD, CJ_W_S64, add_u64}, {CJ_W_ADD, CJ_W_F16, add_f16},     {CJ_W_ADD, CJ_W_BF16, add_bf16},
    {CJ_W_ADD, CJ_W_F32, add_f32}, {CJ_W_ADD, CJ_W_F64, add_f64},     {CJ_W_MIN, CJ_W_U32, min_u32},
    {CJ_W_MIN, CJ_W_S32, min_s32}, {CJ_W_MIN, CJ_W_U64, min_u64},     {CJ_W_MIN, CJ_W_S64, min_s64},
    {CJ_W_MIN, CJ_W_F16, min_f16}, {CJ_W_MIN, CJ_W_BF16, min_bf16},   {CJ_W_MAX, CJ_W_U32, max_u32},
    {CJ_W_MAX, CJ_W_S32, max_s32}, {CJ_W_MAX, CJ_W_U64, max_u64},     {CJ_W_MAX, CJ_W_S64, max_s64},
    {CJ_W_MAX, CJ_W_F16, max_f16}, {CJ_W_MAX, CJ_W_BF16, max_bf16},   {CJ_W_INC, CJ_W_U32, inc_u32},
    {CJ_W_DEC, CJ_W_U32, dec_u32}, {CJ_W_FTZ, CJ_W_F32, add_ftz_f32},
};

cj_cpu_combine cj__cpu_combine_of(cj_word operation, cj_word type) {
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        if (combinations[i].operation == operation && combinations[i].type == type) return combinations[i].combine;
    }
    return NULL;
}

cj_cpu_combine cj__cpu_combine_in(const cj_mnemonic *mnemonic, cj_word type) {
    for (size_t i = 0; i < sizeof combinations / sizeof *combinations; i++) {
        if (combinations[i].type == type && cj__mnemonic_has(mnemonic, combinations[i].operation))
            return combinations[i].combine;
    }
    return NULL;
}
