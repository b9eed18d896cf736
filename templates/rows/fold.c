// SPDX-License-Identifier: Apache-2.0
// How the values of a row come together: parts of threads, of lanes, and of warps that stand in slots of shared memory.
#include <stdio.h>

#include "row.h"
#include "whole.h"

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

// The part of no elements.
void cj__row_part_clear(row_kernel *k, const row_part *part) {
    for (unsigned i = 0; i < k->op->values; i++)
        cj_ptx(k->f, "mov.f32 $1, $2;", part->value[i], k->op->fold == ROW_FOLD_EXP && !i ? LOWEST : "0f00000000");
}

// value = value op that of all lanes: every lane gets the same bits, for the pairs that meet are the same whoever adds.
static void across_lanes(row_kernel *k, const char *operation, cj_reg value) {
    cj_reg other = cj_f32(k->f, "other");
    for (unsigned distance = ROW_WARP / 2; distance; distance /= 2) {
        cj_ptx(k->f, "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", other, value, distance);
        cj_ptx(k->f, "$1.f32 $2, $2, $3;", operation, value, other);
    }
}

// Bits of floats, those below 0 turned round, are in the floats' order as integers, of which the hardware finds the
// largest (sm_80) in one step. No value is NaN: what a part has as its largest is at least LOWEST.
static void largest_of_lanes(row_kernel *k, cj_reg value) {
    cj_func *f = k->f;
    cj_reg   bits = cj_s32(f, "bits"), sign = cj_s32(f, "sign");
    cj_ptx(f, "mov.b32 $1, $2;", bits, value);
    cj_ptx(f, "shr.s32 $1, $2, 31;", sign, bits);
    cj_ptx(f, "and.b32 $1, $1, 0x7fffffff;", sign);
    cj_ptx(f, "xor.b32 $1, $1, $2;", bits, sign);
    cj_warp_reduce(f, (cj_combine){.op = CJ_COMBINE_MAX, .type = "s32"}, bits, ROW_WARP);
    cj_ptx(f, "shr.s32 $1, $2, 31;", sign, bits);
    cj_ptx(f, "and.b32 $1, $1, 0x7fffffff;", sign);
    cj_ptx(f, "xor.b32 $1, $1, $2;", bits, sign);
    cj_ptx(f, "mov.b32 $1, $2;", value, bits);
}

// into = the sum of value i of all parts.
static void fold_sum(row_kernel *k, cj_reg into, unsigned i, const row_part *part, unsigned parts, bool lanes) {
    cj_reg sum = cj_f32(k->f, "sum");
    cj_ptx(k->f, "mov.f32 $1, $2;", sum, part[0].value[i]);
    for (unsigned p = 1; p < parts; p++) cj_ptx(k->f, "add.f32 $1, $1, $2;", sum, part[p].value[i]);
    if (lanes) across_lanes(k, "add", sum);
    cj_ptx(k->f, "mov.f32 $1, $2;", into, sum);
}

// Powers are of the distance from their part's largest t; all come to the largest of all.
static void fold_exp(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes) {
    cj_func *f = k->f;
    cj_reg   largest = cj_f32(f, "largest"), powers = cj_f32(f, "powers"), scale = cj_f32(f, "scale");
    cj_ptx(f, "mov.f32 $1, $2;", largest, part[0].value[0]);
    for (unsigned p = 1; p < parts; p++) cj_ptx(f, "max.f32 $1, $1, $2;", largest, part[p].value[0]);
    if (lanes) largest_of_lanes(k, largest);
    for (unsigned p = 0; p < parts; p++) {
        cj_ptx(f, "sub.f32 $1, $2, $3;", scale, part[p].value[0], largest);
        cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", scale);
        if (p)
            cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", powers, part[p].value[1], scale);
        else
            cj_ptx(f, "mul.f32 $1, $2, $3;", powers, part[p].value[1], scale);
    }
    if (lanes) across_lanes(k, "add", powers);
    cj_ptx(f, "mov.f32 $1, $2;", into->value[0], largest);
    cj_ptx(f, "mov.f32 $1, $2;", into->value[1], powers);
    for (unsigned i = 2; i < k->op->values; i++) fold_sum(k, into->value[i], i, part, parts, lanes);
}

// Squares are of the distance from their part's mean; that mean's distance from the mean of all is added.
static void fold_moments(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes) {
    cj_func *f = k->f;
    cj_reg   count = cj_f32(f, "count"), mean = cj_f32(f, "mean"), squares = cj_f32(f, "squares");
    cj_reg   distance = cj_f32(f, "distance"), weighted = cj_f32(f, "weighted");
    cj_ptx(f, "mov.f32 $1, 0f00000000;", mean);
    fold_sum(k, count, 0, part, parts, lanes);
    for (unsigned p = 0; p < parts; p++)
        cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", mean, part[p].value[0], part[p].value[1]);
    if (lanes) across_lanes(k, "add", mean);
    cj_ptx(f, "max.f32 $1, $2, 0f3F800000; // of none it is 0", distance, count);
    cj_ptx(f, "div.full.f32 $1, $1, $2;", mean, distance);
    for (unsigned p = 0; p < parts; p++) {
        cj_ptx(f, "sub.f32 $1, $2, $3;", distance, part[p].value[1], mean);
        cj_ptx(f, "mul.f32 $1, $2, $3;", weighted, distance, part[p].value[0]);
        cj_ptx(f, "fma.rn.f32 $1, $2, $3, $4;", weighted, weighted, distance, part[p].value[2]);
        cj_ptx(f, p ? "add.f32 $1, $1, $2;" : "mov.f32 $1, $2;", squares, weighted);
    }
    if (lanes) across_lanes(k, "add", squares);
    cj_ptx(f, "mov.f32 $1, $2;", into->value[0], count);
    cj_ptx(f, "mov.f32 $1, $2;", into->value[1], mean);
    cj_ptx(f, "mov.f32 $1, $2;", into->value[2], squares);
}

void cj__row_fold(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes) {
    switch (k->op->fold) {
    case ROW_FOLD_EXP: fold_exp(k, into, part, parts, lanes); return;
    case ROW_FOLD_MOMENTS: fold_moments(k, into, part, parts, lanes); return;
    case ROW_FOLD_SUM: break;
    }
    for (unsigned i = 0; i < k->op->values; i++) fold_sum(k, into->value[i], i, part, parts, lanes);
}

enum { SLOTS_A_LANE = 16 };  // 16 blocks of 32 warps

void cj__row_load_slot(row_kernel *k, const row_part *part, cj_reg slot, unsigned offset, cj_reg when) {
    static const char *const lines[] = {"", "@$6 ld.shared.f32 $1, [$5 + $7];",
                                        "@$6 ld.shared.v2.f32 {$1, $2}, [$5 + $7];", "",
                                        "@$6 ld.shared.v4.f32 {$1, $2, $3, $4}, [$5 + $7];"};
    const unsigned           words = cj__row_slot_words(k->op);
    cj_reg                   value[ROW_VALUES];
    for (unsigned i = 0; i < words; i++) value[i] = i < k->op->values ? part->value[i] : cj_f32(k->f, "unused");
    cj_ptx(k->f, lines[words] + (when.id ? 0 : 4), value[0], value[words > 1 ? 1 : 0], value[words > 2 ? 2 : 0],
           value[words > 2 ? 3 : 0], slot, when, offset);
}

void cj__row_slot_values(const row_kernel *k, cj_reg value[ROW_VALUES]) {
    for (unsigned i = 0; i < ROW_VALUES; i++) value[i] = k->part.value[i < k->op->values ? i : 0];
}

void cj__row_store_slot(row_kernel *k, cj_reg when, cj_reg slot) {
    static const char *const lines[] = {"", "@$6 st.shared.f32 [$5], $1;", "@$6 st.shared.v2.f32 [$5], {$1, $2};", "",
                                        "@$6 st.shared.v4.f32 [$5], {$1, $2, $3, $4};"};
    cj_reg                   value[ROW_VALUES];
    cj__row_slot_values(k, value);
    cj_ptx(k->f, lines[cj__row_slot_words(k->op)], value[0], value[1], value[2], value[3], slot, when);
}

// The slots of a lane one by one, in a loop that ptxas does not unroll: for threads without registers for all of them.
static void fold_slots_in_turn(row_kernel *k, cj_reg slots, unsigned count) {
    cj_func       *f = k->f;
    const unsigned bytes = 4 * cj__row_slot_words(k->op);
    cj_reg         number = cj_mov(f, "u32", "number", k->lane), more = cj_pred(f, "more_slots");
    cj_reg         slot = cj_mad(f, "slot", k->lane, bytes, slots);
    row_part       part[2] = {k->part, cj__row_part_new(k, "slot")};
    cj__row_part_clear(k, &k->part);
    cj_ptx(f, ".pragma \"nounroll\";");
    CJ_DO(f, "next_slot", more) {
        cj__row_part_clear(k, &part[1]);
        cj__row_load_slot(k, &part[1], slot, 0, cj_lt(f, "has_slot", number, count));
        cj__row_fold(k, &k->part, part, 2, false);
        cj_update(f, slot, "add", ROW_WARP * bytes);
        cj_update(f, number, "add", ROW_WARP);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, number, round_up(count, ROW_WARP));
    }
    cj__row_fold(k, &k->part, part, 1, true);
}

// A thread of more than 24 warps has 64 registers: those of all slots of a lane do not fit beside a row of many words.
static bool fits_slots(const row_kernel *k, unsigned parts) {
    enum { WARPS = 24, FEW = 16, FIT = 40, FIT_ALONE = 32 };
    const row_shape *s = k->s;
    const unsigned   words = parts * k->op->values, row = s->held * s->elements * k->op->inputs * s->in_bytes / 4;
    return words <= (s->warps > WARPS && words + row >= FIT ? FEW : FIT_ALONE);
}

void cj__row_fold_slots(row_kernel *k, cj_reg slots, unsigned count) {
    const unsigned bytes = 4 * cj__row_slot_words(k->op), parts = (unsigned)ceil_div(count, ROW_WARP);
    row_part       part[SLOTS_A_LANE];
    if (!fits_slots(k, parts)) {
        fold_slots_in_turn(k, slots, count);
        return;
    }
    cj_reg slot = cj_mad(k->f, "slot", k->lane, bytes, slots), has = cj_pred(k->f, "has_slot");
    for (unsigned p = 0; p < parts; p++) {
        const bool whole = (p + 1) * ROW_WARP <= count;
        part[p] = cj__row_part_new(k, "slot");
        if (!whole) {
            cj__row_part_clear(k, &part[p]);
            cj_ptx(k->f, "setp.lt.u32 $1, $2, $3;", has, k->lane, count - p * ROW_WARP);
        }
        cj__row_load_slot(k, &part[p], slot, p * ROW_WARP * bytes, whole ? cj_always() : has);
    }
    cj__row_fold(k, &k->part, part, parts, true);
}
