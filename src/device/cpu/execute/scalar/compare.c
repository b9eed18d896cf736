// SPDX-License-Identifier: Apache-2.0
// Comparison and selection (PTX ISA, "Comparison and Selection Instructions").
#include "exec.h"
#include "small.h"

// Compares all lanes, active or not, so that the compiler vectorizes the loop.
static const uint32_t lane_bit[CJ_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,  1u << 8,  1u << 9,  1u << 10,
    1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
    1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

#define COMPARE(name, suffix, type, read, expression)            \
    CJ_EXEC(name##_##suffix) {                                   \
        const type *from_a = CJ_LANES_OF(const type, 2);         \
        const type *from_b = CJ_LANES_OF(const type, 3);         \
        uint32_t    bits = 0;                                    \
        for (unsigned i = 0; i < CJ_LANES; i++) {                \
            const type a = read(from_a[i]), b = read(from_b[i]); \
            bits |= (expression) ? lane_bit[i] : 0;              \
        }                                                        \
        return cj__cpu_compared(w, op, mask, bits, ~bits);       \
    }

#define UNSIGNED(name, expression)             \
    COMPARE(name, u16, lane_u16, , expression) \
    COMPARE(name, u32, lane_u32, , expression) \
    COMPARE(name, u64, lane_u64, , expression)

#define INTEGER(name, expression)              \
    UNSIGNED(name, expression)                 \
    COMPARE(name, s16, lane_s16, , expression) \
    COMPARE(name, s32, lane_s32, , expression) \
    COMPARE(name, s64, lane_s64, , expression)

#define FLOAT(name, expression)                                 \
    COMPARE(name, f32, lane_f32, , expression)                  \
    COMPARE(name, ftz_f32, lane_f32, cj__cpu_flush, expression) \
    COMPARE(name, f64, lane_f64, , expression)

UNSIGNED(eq, a == b)
UNSIGNED(ne, a != b)
INTEGER(lt, a < b)
INTEGER(le, a <= b)
INTEGER(gt, a > b)
INTEGER(ge, a >= b)

// If an operand is NaN, ordered comparisons are false and unordered ones (…u) true.
#define NANS (a != a || b != b)
FLOAT(eq, a == b)
FLOAT(ne, a<b || a> b)
FLOAT(lt, a < b)
FLOAT(le, a <= b)
FLOAT(gt, a > b)
FLOAT(ge, a >= b)
FLOAT(equ, a == b || NANS)
FLOAT(neu, a != b)
FLOAT(ltu, !(a >= b))
FLOAT(leu, !(a > b))
FLOAT(gtu, !(a <= b))
FLOAT(geu, !(a < b))
FLOAT(num, !NANS)
FLOAT(nan, NANS)

typedef struct comparison {
    cj_word      word;
    cj_cpu_typed typed;
    cj_cpu_exec  ftz;
} comparison;

#define FLOATS(name) .f32 = name##_f32, .f64 = name##_f64

static const comparison comparisons[] = {
    {CJ_W_EQ, {CJ_SIGNLESS(eq), FLOATS(eq)}, eq_ftz_f32},
    {CJ_W_NE, {CJ_SIGNLESS(ne), FLOATS(ne)}, ne_ftz_f32},
    {CJ_W_LT, {CJ_UNSIGNED(lt), CJ_SIGNED(lt), FLOATS(lt)}, lt_ftz_f32},
    {CJ_W_LE, {CJ_UNSIGNED(le), CJ_SIGNED(le), FLOATS(le)}, le_ftz_f32},
    {CJ_W_GT, {CJ_UNSIGNED(gt), CJ_SIGNED(gt), FLOATS(gt)}, gt_ftz_f32},
    {CJ_W_GE, {CJ_UNSIGNED(ge), CJ_SIGNED(ge), FLOATS(ge)}, ge_ftz_f32},
    {CJ_W_LO, {CJ_UNSIGNED(lt)}, NULL},
    {CJ_W_LS, {CJ_UNSIGNED(le)}, NULL},
    {CJ_W_HI, {CJ_UNSIGNED(gt)}, NULL},
    {CJ_W_HS, {CJ_UNSIGNED(ge)}, NULL},
    {CJ_W_EQU, {FLOATS(equ)}, equ_ftz_f32},
    {CJ_W_NEU, {FLOATS(neu)}, neu_ftz_f32},
    {CJ_W_LTU, {FLOATS(ltu)}, ltu_ftz_f32},
    {CJ_W_LEU, {FLOATS(leu)}, leu_ftz_f32},
    {CJ_W_GTU, {FLOATS(gtu)}, gtu_ftz_f32},
    {CJ_W_GEU, {FLOATS(geu)}, geu_ftz_f32},
    {CJ_W_NUM, {FLOATS(num)}, num_ftz_f32},
    {CJ_W_ISNAN, {FLOATS(nan)}, nan_ftz_f32},
};

// The executor for slots p, q, a, b, with; the compared values have the mnemonic's last type.
static bool choose_comparison(cj_cpu_prepare *p) {
    static const cj_word combining[] = {CJ_W_AND, CJ_W_OR, CJ_W_XOR};
    const uint16_t       type = p->mnemonic->type_last;
    for (size_t i = 0; i < sizeof combining / sizeof *combining; i++) {
        if (cj__cpu_has(p, combining[i])) p->op.mode = (uint16_t)combining[i];
    }
    if (cj__small_float(type)) return cj__cpu_choose_half_comparison(p);
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        if (p->mnemonic->word[0] != comparisons[i].word) continue;
        if (!cj__cpu_choose(p, &comparisons[i].typed, type)) return false;
        if (type == CJ_W_F32 && cj__cpu_has(p, CJ_W_FTZ)) p->op.run = comparisons[i].ftz;
        return true;
    }
    return false;
}

bool cj__cpu_select_setp(cj_cpu_prepare *p) { return choose_comparison(p); }

// Slots 0 and 1 become p and q; the operands after the first `results` move to slots 2, 3 and 4.
static bool arrange(cj_cpu_prepare *p, uint32_t results, uint32_t to_p, uint32_t to_q) {
    uint32_t *slot = cj__cpu_keep(p, (p->slot_count + 2) * sizeof *slot);
    if (!slot) return false;
    slot[0] = to_p;
    slot[1] = to_q;
    for (uint32_t i = results; i < p->slot_count; i++) slot[i + 2 - results] = p->slot[i];
    p->op.slot = slot;
    p->op.flip <<= 2 - results;
    return choose_comparison(p);
}

// The forms without q write p alone.
bool cj__cpu_select_setp_half(cj_cpu_prepare *p) { return arrange(p, 1, p->slot[0], p->sink_predicate); }

// ---- selection

#define SELECTION(type)                                                   \
    CJ_EXEC(selp_##type) {                                                \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);               \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);         \
        const lane_##type *b = CJ_LANES_OF(const lane_##type, 2);         \
        const uint32_t     c = cj__cpu_predicate(w, op, 3);               \
        CJ_EACH_LANE(i, mask, { d[i] = c & lane_bit[i] ? a[i] : b[i]; }); \
        return CJ_STEP_NEXT;                                              \
    }

SELECTION(u16)
SELECTION(u32)
SELECTION(u64)

bool cj__cpu_select_selp(cj_cpu_prepare *p) {
    static const cj_cpu_typed typed = {CJ_SIGNLESS(selp), .f32 = selp_u32, .f64 = selp_u64};
    return cj__cpu_choose(p, &typed, p->mnemonic->type_last);
}

// slct: selects by the sign of the third operand; NaN counts as negative.
#define SELECT_BY_SIGN(name, type, by, read)                              \
    CJ_EXEC(slct_##type##_##name) {                                       \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);               \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);         \
        const lane_##type *b = CJ_LANES_OF(const lane_##type, 2);         \
        const lane_##by   *c = CJ_LANES_OF(const lane_##by, 3);           \
        CJ_EACH_LANE(i, mask, { d[i] = read(c[i]) >= 0 ? a[i] : b[i]; }); \
        return CJ_STEP_NEXT;                                              \
    }

#define SELECTIONS_BY_SIGN(type)     \
    SELECT_BY_SIGN(s32, type, s32, ) \
    SELECT_BY_SIGN(f32, type, f32, ) \
    SELECT_BY_SIGN(ftz, type, f32, cj__cpu_flush)

SELECTIONS_BY_SIGN(u16)
SELECTIONS_BY_SIGN(u32)
SELECTIONS_BY_SIGN(u64)

bool cj__cpu_select_slct(cj_cpu_prepare *p) {
#define WIDTHS(by) \
    { slct_u16_##by, slct_u32_##by, slct_u64_##by }
    static const cj_cpu_exec by_sign[][3] = {WIDTHS(s32), WIDTHS(f32), WIDTHS(ftz)};
    const unsigned           bits = cj__words[p->mnemonic->type[0]].bits;
    const unsigned           by = p->mnemonic->type[1] == CJ_W_S32 ? 0 : cj__cpu_has(p, CJ_W_FTZ) ? 2 : 1;
    p->op.run = by_sign[by][bits / 32];
    return true;
}

// ---- set: a comparison that writes hidden predicates, then a selection by them

// Two predicates to two halves of a register. Slots: d, yes, no, p, q.
CJ_EXEC(select_pair) {
    lane_u32      *d = CJ_LANES_OF(lane_u32, 0);
    const uint32_t p = cj__cpu_predicate(w, op, 3), q = cj__cpu_predicate(w, op, 4);
    CJ_SOME_LANES(i, mask) {
        const uint32_t yes = CJ_LANES_OF(const lane_u32, 1)[i], no = CJ_LANES_OF(const lane_u32, 2)[i];
        d[i] = ((p >> i & 1 ? yes : no) & 0xffff) | ((q >> i & 1 ? yes : no) & 0xffff0000);
    }
    return CJ_STEP_NEXT;
}

// The value of true in the type: 1.0, or all ones.
static uint64_t truth(uint16_t type) {
    switch (type) {
    case CJ_W_F32: return 0x3f800000;
    case CJ_W_F16: return 0x3c00;
    case CJ_W_F16X2: return 0x3c003c00;
    case CJ_W_BF16: return 0x3f80;
    case CJ_W_BF16X2: return 0x3f803f80;
    default: return UINT64_MAX;
    }
}

bool cj__cpu_select_set(cj_cpu_prepare *p) {
    const uint16_t type = p->mnemonic->type[0], from = p->mnemonic->type_last;
    const bool     is_pair = from == CJ_W_F16X2 || from == CJ_W_BF16X2;
    const unsigned bits = cj__words[type].bits;
    const uint32_t to_p = cj__cpu_place(p, 1), to_q = cj__cpu_place(p, 1);
    const uint32_t selection[] = {p->slot[0], cj__cpu_constant(p, truth(type), bits), cj__cpu_constant(p, 0, bits),
                                  to_p, to_q};
    uint32_t      *slot = cj__cpu_keep(p, sizeof selection);
    if (!slot || !arrange(p, 1, to_p, to_q) || !cj__cpu_append(p)) return false;
    memcpy(slot, selection, sizeof selection);
    p->op.slot = slot;
    p->op.flip = 0;
    p->op.run = is_pair ? select_pair : bits == 16 ? selp_u16 : selp_u32;
    return true;
}
