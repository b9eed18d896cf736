// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparison of f16 and bf16, one or two to a register (PTX ISA, "Half Precision Floating Point
// Instructions" and "Half Precision Comparison Instructions"): computed in double, exactly or rounded to odd, then
// rounded once. A register of pairs is treated as twice as many lanes of 16 bits. NaN is 0x7fff in both formats.
#include "half.h"
#include "exec.h"
#include "small.h"

// ---- executors: slots d, a, b(, c)

// `parts` elements to a lane; missing sources repeat the first.
#define EACH_PART(parts, ...)                                                        \
    CJ_SOME_LANES(lane, mask) {                                                      \
        for (unsigned i = lane * (parts); i < (lane + 1) * (parts); i++) __VA_ARGS__ \
    }

#define ELEMENTWISE(name, k, parts)                                               \
    CJ_EXEC(fma_##name) {                                                         \
        lane_u16       *d = CJ_LANES_OF(lane_u16, 0);                             \
        const lane_u16 *a = CJ_LANES_OF(const lane_u16, 1);                       \
        const lane_u16 *b = CJ_LANES_OF(const lane_u16, 2);                       \
        const lane_u16 *c = CJ_LANES_OF(const lane_u16, 3);                       \
        EACH_PART(parts, { d[i] = cj__half_fma(a[i], b[i], c[i], op->mode, k); }) \
        return CJ_STEP_NEXT;                                                      \
    }                                                                             \
    CJ_EXEC(extreme_##name) {                                                     \
        lane_u16       *d = CJ_LANES_OF(lane_u16, 0);                             \
        const lane_u16 *a = CJ_LANES_OF(const lane_u16, 1);                       \
        const lane_u16 *b = CJ_LANES_OF(const lane_u16, 2);                       \
        EACH_PART(parts, { d[i] = cj__half_extreme(a[i], b[i], op->mode, k); })   \
        return CJ_STEP_NEXT;                                                      \
    }

ELEMENTWISE(f16, CJ_HALF_F16, 1)
ELEMENTWISE(f16x2, CJ_HALF_F16, 2)
ELEMENTWISE(bf16, CJ_HALF_BF16, 1)
ELEMENTWISE(bf16x2, CJ_HALF_BF16, 2)

typedef struct by_format {
    cj_cpu_exec f16, f16x2, bf16, bf16x2;
} by_format;

#define FORMATS(name) \
    { name##_f16, name##_f16x2, name##_bf16, name##_bf16x2 }

static bool choose(cj_cpu_prepare *p, const by_format *forms) {
    switch (p->mnemonic->type_last) {
    case CJ_W_F16: p->op.run = forms->f16; break;
    case CJ_W_F16X2: p->op.run = forms->f16x2; break;
    case CJ_W_BF16: p->op.run = forms->bf16; break;
    default: p->op.run = forms->bf16x2; break;
    }
    return true;
}

static const struct {
    cj_word  word;
    uint16_t mode;
} modes[] = {{CJ_W_FTZ, CJ_HALF_FLUSH},    {CJ_W_SAT, CJ_HALF_SATURATE},  {CJ_W_RELU, CJ_HALF_RELU},
             {CJ_W_OOB, CJ_HALF_OOB},      {CJ_W_ABS, CJ_HALF_MAGNITUDE}, {CJ_W_XORSIGN, CJ_HALF_XORSIGN},
             {CJ_W_NAN, CJ_HALF_PROPAGATE}};

static uint16_t mode_of(const cj_cpu_prepare *p) {
    uint16_t mode = 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) mode |= cj__cpu_has(p, modes[i].word) ? modes[i].mode : 0;
    return mode;
}

// a * b + c. Each of the three is the number of a source slot, or 0: then it is the constant.
typedef struct product {
    uint8_t a, b, c;
    int8_t  constant;  // 1 or -1; 0 stands for -0
} product;

static uint32_t constant_slot(cj_cpu_prepare *p, int8_t value) {
    const cj_small_float *format = cj__small_float(p->mnemonic->type_last);
    const uint32_t        code = cj__small_pack(format, value ? (double)value : -0.0, CJ_W_RN, false);
    const unsigned        bits = cj__words[p->mnemonic->type_last].bits;
    return cj__cpu_constant(p, bits == 32 ? code << 16 | code : code, bits);
}

static bool select_product(cj_cpu_prepare *p, product which, uint16_t mode) {
    static const by_format forms = FORMATS(fma);
    const uint8_t          source[] = {which.a, which.b, which.c};
    uint32_t              *slot = cj__cpu_keep(p, 4 * sizeof *slot);
    if (!slot) return false;
    slot[0] = p->slot[0];
    for (unsigned i = 0; i < 3; i++) {
        slot[i + 1] = source[i] ? p->slot[source[i]] : constant_slot(p, i < 2 ? which.constant : 0);
    }
    p->op.slot = slot;
    p->op.mode = mode_of(p) | mode;
    return choose(p, &forms);
}

bool cj__cpu_select_add_half(cj_cpu_prepare *p) { return select_product(p, (product){1, 0, 2, 1}, 0); }
bool cj__cpu_select_sub_half(cj_cpu_prepare *p) { return select_product(p, (product){2, 0, 1, -1}, 0); }
bool cj__cpu_select_mul_half(cj_cpu_prepare *p) { return select_product(p, (product){1, 2, 0, 0}, 0); }
bool cj__cpu_select_fma_half(cj_cpu_prepare *p) { return select_product(p, (product){1, 2, 3, 0}, 0); }
bool cj__cpu_select_neg_half(cj_cpu_prepare *p) { return select_product(p, (product){1, 0, 0, -1}, 0); }
bool cj__cpu_select_abs_half(cj_cpu_prepare *p) { return select_product(p, (product){1, 0, 0, 1}, CJ_HALF_MAGNITUDE); }

static bool select_extreme(cj_cpu_prepare *p, uint16_t mode) {
    static const by_format forms = FORMATS(extreme);
    p->op.mode = mode_of(p) | mode;
    return choose(p, &forms);
}

bool cj__cpu_select_min_half(cj_cpu_prepare *p) { return select_extreme(p, 0); }
bool cj__cpu_select_max_half(cj_cpu_prepare *p) { return select_extreme(p, CJ_HALF_LARGER); }

// ---- comparison: the set of outcomes (less, equal, greater, unordered) for which the predicate is true

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

static const struct {
    cj_word word;
    uint8_t holds;
} relations[] = {
    {CJ_W_EQ, EQUAL},
    {CJ_W_NE, LESS | GREATER},
    {CJ_W_EQU, EQUAL | UNORDERED},
    {CJ_W_LT, LESS},
    {CJ_W_LE, LESS | EQUAL},
    {CJ_W_NEU, LESS | GREATER | UNORDERED},
    {CJ_W_GT, GREATER},
    {CJ_W_GE, GREATER | EQUAL},
    {CJ_W_LTU, LESS | UNORDERED},
    {CJ_W_NUM, LESS | EQUAL | GREATER},
    {CJ_W_LEU, LESS | EQUAL | UNORDERED},
    {CJ_W_ISNAN, UNORDERED},
    {CJ_W_GTU, GREATER | UNORDERED},
    {CJ_W_GEU, GREATER | EQUAL | UNORDERED},
};

typedef struct comparison {
    uint8_t holds;
    bool    flush;
} comparison;

static inline bool compared(uint16_t a, uint16_t b, const comparison *c, cj_half_kind k) {
    const float x = cj__half_value(c->flush ? cj__half_flushed(a, k) : a, k),
                y = cj__half_value(c->flush ? cj__half_flushed(b, k) : b, k);
    return c->holds & (x < y ? LESS : x == y ? EQUAL : x > y ? GREATER : UNORDERED);
}

// Slots p, q, a, b, with. For a pair, q is the result of the upper elements; else the opposite of p.
#define COMPARE(name, k, parts)                                                                              \
    CJ_EXEC(setp_##name) {                                                                                   \
        const comparison *c = op->plan;                                                                      \
        const lane_u16   *a = CJ_LANES_OF(const lane_u16, 2);                                                \
        const lane_u16   *b = CJ_LANES_OF(const lane_u16, 3);                                                \
        uint32_t          low = 0, high = 0;                                                                 \
        CJ_SOME_LANES(i, mask) {                                                                             \
            low |= (uint32_t)compared(a[i * (parts)], b[i * (parts)], c, k) << i;                            \
            if ((parts) == 2) high |= (uint32_t)compared(a[i * (parts) + 1], b[i * (parts) + 1], c, k) << i; \
        }                                                                                                    \
        return cj__cpu_compared(w, op, mask, low, (parts) == 2 ? high : ~low);                               \
    }

COMPARE(f16, CJ_HALF_F16, 1)
COMPARE(f16x2, CJ_HALF_F16, 2)
COMPARE(bf16, CJ_HALF_BF16, 1)
COMPARE(bf16x2, CJ_HALF_BF16, 2)

bool cj__cpu_choose_half_comparison(cj_cpu_prepare *p) {
    static const by_format forms = FORMATS(setp);
    comparison            *c = cj__cpu_keep(p, sizeof *c);
    if (!c) return false;
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        if (p->mnemonic->word[0] == relations[i].word) c->holds = relations[i].holds;
    }
    c->flush = cj__cpu_has(p, CJ_W_FTZ);
    p->op.plan = c;
    return choose(p, &forms);
}
