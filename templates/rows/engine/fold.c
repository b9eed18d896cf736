// SPDX-License-Identifier: Apache-2.0
// How the values of a row combine: partials of threads, of lanes, and of warps, which stand in slots of shared memory.
#include "engine.h"

#define LOWEST "0fFF7FFFFF"  // -FLT_MAX: what no t is below but -infinity, for which 2^(t - LOWEST) is 0

row_part cj__row_part_new(row_kernel *k, const char *name) {
    static const char *const values[][ROW_VALUES] = {
        [ROW_FOLD_SUM] = {"sum", "sum", "sum", "sum"},
        [ROW_FOLD_EXP] = {"largest", "powers", "sum", "sum"},
        [ROW_FOLD_MOMENTS] = {"count", "mean", "squares", ""},
    };
    row_part part = {0};
    for (unsigned i = 0; i < k->op->values; i++) {
        char full[32];
        snprintf(full, sizeof full, "%s_%s", name, values[k->op->fold][i]);
        part.value[i] = cj_f32(k->f, full);
    }
    return part;
}

// The partial of no elements.
void cj__row_part_clear(row_kernel *k, const row_part *part) {
    for (unsigned i = 0; i < k->op->values; i++)
        cj_set(k->f, part->value[i], k->op->fold == ROW_FOLD_EXP && !i ? LOWEST : "0f00000000");
}

// value = op over the lanes that have the row: every one gets the same bits, for the pairs that combine are the same in all.
static void across_lanes(row_kernel *k, cj_combine_op op, cj_reg value) {
    cj_warp_reduce(k->f, (cj_combine){.op = op, .type = "f32"}, value, k->s->lanes);
}

// bits = the float whose bits they are, as an integer of the same order, and back: those below 0 are turned round.
static void turn_bits(cj_func *f, cj_reg bits) {
    cj_reg sign = cj_shr(f, "sign", bits, 31);
    cj_ptx(f, "and.b32 $1, $1, 0x7fffffff;", sign);
    cj_ptx(f, "xor.b32 $1, $1, $2;", bits, sign);
}

// The hardware finds the largest integer of a warp (sm_80) in one step; fewer lanes take shuffles. No value is NaN: a
// partial's largest is at least LOWEST.
static void largest_of_lanes(row_kernel *k, cj_reg value) {
    if (k->s->lanes < ROW_WARP) {
        across_lanes(k, CJ_COMBINE_MAX, value);
        return;
    }
    cj_reg bits = cj_let(k->f, "s32", "bits", "mov.b32 $1, $2;", value);
    turn_bits(k->f, bits);
    cj_warp_reduce(k->f, (cj_combine){.op = CJ_COMBINE_MAX, .type = "s32"}, bits, ROW_WARP);
    turn_bits(k->f, bits);
    cj_ptx(k->f, "mov.b32 $1, $2;", value, bits);
}

// into = the sum of value i of all partials.
static void fold_sum(row_kernel *k, cj_reg into, unsigned i, const row_part *part, unsigned parts, bool lanes) {
    cj_reg sum = cj_mov(k->f, "f32", "sum", part[0].value[i]);
    for (unsigned p = 1; p < parts; p++) cj_update(k->f, sum, "add", part[p].value[i]);
    if (lanes) across_lanes(k, CJ_COMBINE_SUM, sum);
    cj_set(k->f, into, sum);
}

// Powers are of the distance from their partial's largest; all come to the largest of all.
static void fold_exp(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes) {
    cj_func *f = k->f;
    cj_reg   powers = cj_f32(f, "powers"), largest = cj_mov(f, "f32", "largest", part[0].value[0]);
    for (unsigned p = 1; p < parts; p++) cj_update(f, largest, "max", part[p].value[0]);
    if (lanes) largest_of_lanes(k, largest);
    for (unsigned p = 0; p < parts; p++) {
        cj_reg scale = cj_sub(f, "scale", part[p].value[0], largest);
        cj_update(f, scale, "mul", (float)k->op->base);
        cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", scale);
        cj_ptx(f, p ? "fma.rn.f32 $1, $2, $3, $1;" : "mul.f32 $1, $2, $3;", powers, part[p].value[1], scale);
    }
    if (lanes) across_lanes(k, CJ_COMBINE_SUM, powers);
    cj_set(f, into->value[0], largest);
    cj_set(f, into->value[1], powers);
    for (unsigned i = 2; i < k->op->values; i++) fold_sum(k, into->value[i], i, part, parts, lanes);
}

// Squares are of the distance from their partial's mean; that mean's distance from the mean of all is added.
static void fold_moments(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes) {
    cj_func *f = k->f;
    cj_reg   count = cj_f32(f, "count"), squares = cj_f32(f, "squares"), mean = cj_mov(f, "f32", "mean", 0.0f);
    fold_sum(k, count, 0, part, parts, lanes);
    for (unsigned p = 0; p < parts; p++)
        cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", mean, part[p].value[0], part[p].value[1]);
    if (lanes) across_lanes(k, CJ_COMBINE_SUM, mean);
    cj_reg divisor = cj_let(f, "f32", "divisor", "max.f32 $1, $2, 0f3F800000; // of none it is 0", count);
    cj_ptx(f, "div.full.f32 $1, $1, $2;", mean, divisor);
    for (unsigned p = 0; p < parts; p++) {
        cj_reg distance = cj_sub(f, "distance", part[p].value[1], mean);
        cj_reg weighted = cj_mul(f, "weighted", distance, part[p].value[0]);
        cj_ptx(f, "fma.rn.f32 $1, $1, $2, $3;", weighted, distance, part[p].value[2]);
        cj_ptx(f, p ? "add.f32 $1, $1, $2;" : "mov.f32 $1, $2;", squares, weighted);
    }
    if (lanes) across_lanes(k, CJ_COMBINE_SUM, squares);
    cj_set(f, into->value[0], count);
    cj_set(f, into->value[1], mean);
    cj_set(f, into->value[2], squares);
}

void cj__row_fold(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes) {
    switch (k->op->fold) {
    case ROW_FOLD_EXP: fold_exp(k, into, part, parts, lanes); return;
    case ROW_FOLD_MOMENTS: fold_moments(k, into, part, parts, lanes); return;
    case ROW_FOLD_SUM: break;
    }
    for (unsigned i = 0; i < k->op->values; i++) fold_sum(k, into->value[i], i, part, parts, lanes);
}

// ---- slots

void cj__row_load_slot(row_kernel *k, const row_part *part, cj_reg slot, unsigned offset, cj_reg when) {
    const unsigned words = k->s->slot_words;
    cj_reg         value[ROW_VALUES];
    for (unsigned i = 0; i < words; i++) value[i] = i < k->op->values ? part->value[i] : cj_f32(k->f, "unused");
    cj__load(k->f, when, "ld.shared", "f32", value, words, slot, offset);
}

void cj__row_slot_values(const row_kernel *k, cj_reg value[ROW_VALUES]) {
    for (unsigned i = 0; i < ROW_VALUES; i++) value[i] = k->part.value[i < k->op->values ? i : 0];
}

void cj__row_store_slot(row_kernel *k, cj_reg when, cj_reg slot) {
    cj_reg value[ROW_VALUES];
    cj__row_slot_values(k, value);
    cj__store(k->f, when, "st.shared", "f32", value, k->s->slot_words, slot, 0);
}

// The slots of a lane one by one, in a loop that ptxas does not unroll: for threads without registers for all of them.
static void fold_slots_in_turn(row_kernel *k, cj_reg slots, unsigned count) {
    const unsigned bytes = 4 * k->s->slot_words;
    cj_reg         number = cj_mov(k->f, "u32", "number", k->lane);
    cj_reg         slot = cj_mad(k->f, "slot", k->lane, bytes, slots);
    row_part       part[2] = {k->part, cj__row_part_new(k, "slot")};
    cj__row_part_clear(k, &k->part);
    cj_ptx(k->f, ".pragma \"nounroll\";");
    CJ_COUNT(k->f, "next_slot", number, ROW_WARP, cj__round_up(count, ROW_WARP)) {
        cj__row_part_clear(k, &part[1]);
        cj__row_load_slot(k, &part[1], slot, 0, cj_lt(k->f, "has_slot", number, count));
        cj__row_fold(k, &k->part, part, 2, false);
        cj_update(k->f, slot, "add", ROW_WARP * bytes);
    }
    cj__row_fold(k, &k->part, part, 1, true);
}

// A thread of more than 24 warps has 64 registers: those of all slots of a lane do not fit beside a row of many words.
static bool fits_slots(const row_kernel *k, unsigned parts) {
    const row_shape *s = k->s;
    const unsigned   words = parts * k->op->values, row = s->held * s->elements * k->op->inputs * s->in_bytes / 4;
    return words <= (s->warps > MANY_WARPS && words + row >= SLOT_ROW_WORDS ? SLOT_WORDS_MANY : SLOT_WORDS);
}

void cj__row_fold_slots(row_kernel *k, cj_reg slots, unsigned count) {
    enum { SLOTS_A_LANE = 16 };  // 16 blocks of 32 warps
    const unsigned bytes = 4 * k->s->slot_words, parts = (unsigned)cj__ceil_div(count, ROW_WARP);
    row_part       part[SLOTS_A_LANE];
    if (!fits_slots(k, parts)) {
        fold_slots_in_turn(k, slots, count);
        return;
    }
    cj_reg slot = cj_mad(k->f, "slot", k->lane, bytes, slots);
    for (unsigned p = 0; p < parts; p++) {
        const bool whole = (p + 1) * ROW_WARP <= count;
        part[p] = cj__row_part_new(k, "slot");
        if (!whole) cj__row_part_clear(k, &part[p]);
        cj_reg has = whole ? cj_always() : cj_lt(k->f, "has_slot", k->lane, count - p * ROW_WARP);
        cj__row_load_slot(k, &part[p], slot, p * ROW_WARP * bytes, has);
    }
    cj__row_fold(k, &k->part, part, parts, true);
}
