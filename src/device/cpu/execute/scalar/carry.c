// SPDX-License-Identifier: Apache-2.0
// Integers of several words (PTX ISA, "Extended-Precision Integer Arithmetic Instructions"): .cc writes each lane's
// carry flag; addc, subc and madc read it. A subtraction adds the complement, as the hardware does: the flag is set if
// nothing was borrowed. Slots: d, a, b, (c,) the flag.
#include "exec.h"

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128          int128;

enum { CARRY_IN = 1, CARRY_OUT = 2, BORROW = 4 };  // op->mode

// d = x + y + the carry, where x is a, or a part of a * b.
#define CARRYING(name, type, wide, last, x, y)                                                      \
    CJ_EXEC(name##_##type) {                                                                        \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);                                         \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);                                   \
        const lane_##type *b = CJ_LANES_OF(const lane_##type, 2);                                   \
        const lane_##type *c = CJ_LANES_OF(const lane_##type, last);                                \
        const uint32_t     none = op->mode & BORROW ? UINT32_MAX : 0;                               \
        const uint32_t     in = op->mode & CARRY_IN ? cj__cpu_predicate(w, op, (last) + 1) : none;  \
        uint32_t           out = 0;                                                                 \
        (void)b, (void)c;                                                                           \
        CJ_SOME_LANES(i, mask) {                                                                    \
            const wide sum = (wide)(lane_##type)(x) + (lane_##type)(y) + (in >> i & 1);             \
            out |= (uint32_t)(sum >> (sizeof *d * 8)) << i;                                         \
            d[i] = (lane_##type)sum;                                                                \
        }                                                                                           \
        if (op->mode & CARRY_OUT) cj__cpu_predicate_set(w->file + op->slot[(last) + 1], mask, out); \
        return CJ_STEP_NEXT;                                                                        \
    }

#define CARRYING_ALL(type, wide, signed_type, signed_wide, bits)       \
    CARRYING(add, type, wide, 2, a[i], b[i])                           \
    CARRYING(sub, type, wide, 2, a[i], ~b[i])                          \
    CARRYING(mad_lo, type, wide, 3, a[i] * b[i], c[i])                 \
    CARRYING(mad_hi, type, wide, 3, (wide)a[i] * b[i] >> (bits), c[i]) \
    CARRYING(mad_hi_signed, type, wide, 3, (signed_wide)(signed_type)a[i] * (signed_type)b[i] >> (bits), c[i])

CARRYING_ALL(u32, uint64_t, int32_t, int64_t, 32)
CARRYING_ALL(u64, uint128, int64_t, int128, 64)

// ---- selection

static bool select_carrying(cj_cpu_prepare *p, const cj_cpu_typed *typed, uint16_t mode) {
    cj__cpu_add_slot(p, p->carry, 1, CJ_W_PRED);
    if (mode & CARRY_IN) cj__cpu_add_flow(p, p->carry, 1, CJ_ROLE_SOURCE);
    if (cj__cpu_has(p, CJ_W_CC)) cj__cpu_add_flow(p, p->carry, 1, CJ_ROLE_RESULT);
    p->op.mode = (uint16_t)(mode | (cj__cpu_has(p, CJ_W_CC) ? CARRY_OUT : 0));
    return cj__cpu_choose(p, typed, p->mnemonic->type_last);
}

#define WIDTHS(name) .u32 = name##_u32, .s32 = name##_u32, .u64 = name##_u64, .s64 = name##_u64

static const cj_cpu_typed add = {WIDTHS(add)}, sub = {WIDTHS(sub)}, mad_lo = {WIDTHS(mad_lo)};
static const cj_cpu_typed mad_hi = {
    .u32 = mad_hi_u32, .s32 = mad_hi_signed_u32, .u64 = mad_hi_u64, .s64 = mad_hi_signed_u64};

// madc.hi.sat does not saturate: ptxas compiles it like madc.hi.
static const cj_cpu_typed *mad_of(const cj_cpu_prepare *p) { return cj__cpu_has(p, CJ_W_HI) ? &mad_hi : &mad_lo; }

bool cj__cpu_select_add_cc(cj_cpu_prepare *p) { return select_carrying(p, &add, 0); }
bool cj__cpu_select_addc(cj_cpu_prepare *p) { return select_carrying(p, &add, CARRY_IN); }
bool cj__cpu_select_sub_cc(cj_cpu_prepare *p) { return select_carrying(p, &sub, BORROW); }
bool cj__cpu_select_subc(cj_cpu_prepare *p) { return select_carrying(p, &sub, CARRY_IN); }
bool cj__cpu_select_mad_cc(cj_cpu_prepare *p) { return select_carrying(p, mad_of(p), 0); }
bool cj__cpu_select_madc(cj_cpu_prepare *p) { return select_carrying(p, mad_of(p), CARRY_IN); }
