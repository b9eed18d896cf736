// SPDX-License-Identifier: Apache-2.0
// Atomics and reductions (PTX ISA, "atom", "red"): lane after lane, each one atomic for other host threads too.
#include "address.h"
#include "combine.h"
#include "exec.h"
#include "watch.h"

// Replaces `old` by the expression of old and b (and c). A compare-and-swap that finds another value counts as a read only.
#define ATOMIC(name, type, word, is_cas, expression)                    \
    CJ_EXEC(name##_##type) {                                            \
        unsigned char *at[CJ_LANES];                                    \
        if (!op->reach(w, op, mask, at)) return CJ_STEP_STOP;           \
        w->block->cluster->polls += is_cas;                             \
        CJ_SOME_LANES(i, mask) {                                        \
            const lane_##type b = CJ_LANES_OF(const lane_##type, 1)[i]; \
            lane_##type       was;                                      \
            CJ_CPU_REPLACE(at[i], type, word, was, expression);         \
            CJ_LANES_OF(lane_##type, 0)[i] = was;                       \
            cj__watch_atomic(w, op, i, !is_cas || was == b);            \
        }                                                               \
        return CJ_STEP_NEXT;                                            \
    }

#define BITS(name, expression)                \
    ATOMIC(name, u32, u32, false, expression) \
    ATOMIC(name, u64, u64, false, expression)

BITS(add, old + b)
BITS(and, old &b)
BITS(or, old | b)
BITS(xor, old ^ b)
BITS(exch, ((void)old, b))
BITS(min, old < b ? old : b)
BITS(max, old > b ? old : b)
ATOMIC(min, s32, u32, false, old < b ? old : b)
ATOMIC(min, s64, u64, false, old < b ? old : b)
ATOMIC(max, s32, u32, false, old > b ? old : b)
ATOMIC(max, s64, u64, false, old > b ? old : b)
ATOMIC(inc, u32, u32, false, old >= b ? 0 : old + 1)
ATOMIC(dec, u32, u32, false, old == 0 || old > b ? b : old - 1)

static bool is_shared(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane) {
    return op->mode || cj__cpu_address(w, op, 0, lane) >> 48 == CJ_SHARED_BASE >> 48;
}

// Sums in shared memory are those of add, of b and the old value; in global memory sums of f32 flush subnormals, and
// sums of f64 keep NaNs as they are.
static float sum_f32(bool is_shared, float old, float b) {
    return cj__cpu_canonical(is_shared ? old + b : cj__cpu_flush(cj__cpu_flush(old) + cj__cpu_flush(b)));
}

static double sum_f64(bool is_shared, double old, double b) {
    return !is_shared ? cj__cpu_global_sum(old, b) : old != old ? old + old : cj__cpu_made(old + b, false);
}

ATOMIC(add, f32, u32, false, sum_f32(is_shared(w, op, i), old, b))
ATOMIC(add, f64, u64, false, sum_f64(is_shared(w, op, i), old, b))

ATOMIC(cas, u16, u16, true, old == b ? CJ_LANES_OF(const lane_u16, 2)[i] : old)
ATOMIC(cas, u32, u32, true, old == b ? CJ_LANES_OF(const lane_u32, 2)[i] : old)
ATOMIC(cas, u64, u64, true, old == b ? CJ_LANES_OF(const lane_u64, 2)[i] : old)

static const struct {
    cj_word      word;
    cj_cpu_typed typed;
} operations[] = {
    {CJ_W_ADD, {.u32 = add_u32, .u64 = add_u64, .s32 = add_u32, .s64 = add_u64, .f32 = add_f32, .f64 = add_f64}},
    {CJ_W_MIN, {.u32 = min_u32, .u64 = min_u64, .s32 = min_s32, .s64 = min_s64}},
    {CJ_W_MAX, {.u32 = max_u32, .u64 = max_u64, .s32 = max_s32, .s64 = max_s64}},
    {CJ_W_INC, {.u32 = inc_u32}},
    {CJ_W_DEC, {.u32 = dec_u32}},
    {CJ_W_EXCH, {.u32 = exch_u32, .u64 = exch_u64, .s32 = exch_u32, .s64 = exch_u64, .f32 = exch_u32, .f64 = exch_u64}},
    {CJ_W_AND, {.u32 = and_u32, .u64 = and_u64}},
    {CJ_W_OR, {.u32 = or_u32, .u64 = or_u64}},
    {CJ_W_XOR, {.u32 = xor_u32, .u64 = xor_u64}},
    {CJ_W_CAS, {.u16 = cas_u16, .u32 = cas_u32, .u64 = cas_u64}},
};

bool cj__cpu_select_atom(cj_cpu_prepare *p) {
    const uint16_t type = p->mnemonic->type_last;
    p->op.reach = cj__cpu_reach_of(p->mnemonic);
    p->op.bytes = (uint8_t)(cj__words[type].bits / 8);
    p->op.count = 1;
    p->op.mode = cj__cpu_has(p, CJ_W_SHARED) || cj__cpu_has(p, CJ_W_SHARED_CTA) || cj__cpu_has(p, CJ_W_SHARED_CLUSTER);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (cj__cpu_has(p, operations[i].word)) return cj__cpu_choose(p, &operations[i].typed, type);
    }
    return false;
}

bool cj__cpu_select_atom_cas(cj_cpu_prepare *p) { return cj__cpu_select_atom(p); }

// A red is an atom without a result.
bool cj__cpu_select_red(cj_cpu_prepare *p) {
    uint32_t *slot = cj__cpu_keep(p, 2 * sizeof *slot);
    if (!slot) return false;
    slot[0] = p->program->sink;
    slot[1] = p->slot[0];
    p->op.slot = slot;
    return cj__cpu_select_atom(p);
}
