// SPDX-License-Identifier: Apache-2.0
// Declarations for executors. An executor is a function for one instruction with its types fixed; the folders below
// define them by topic, each file with the selectors that choose among them. A row of instructions.def names its
// selector: CJ_ROW(add, …) is chosen by cj__cpu_select_add.
#ifndef CJ_CPU_EXEC_H
#define CJ_CPU_EXEC_H

#include <string.h>

#include "flush.h"
#include "hazard.h"
#include "lanes.h"
#include "prepare.h"

#define CJ_EXEC(name) static cj_cpu_step name(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask)

// Every row's selector.
#define CJ_ROW(executor, syntax, operands, ptx, target, effects, sample) \
    bool cj__cpu_select_##executor(cj_cpu_prepare *p);
#include "instructions.def"
#undef CJ_ROW

// A comparison's end: p and q of the lanes in `mask`, each combined with predicate operand 4 as op->mode says (AND, OR,
// XOR; 0: not at all). Slots: p, q, …
static inline cj_cpu_step cj__cpu_compared(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, uint32_t p, uint32_t q) {
    if (op->mode) {
        const uint32_t c = cj__cpu_predicate(w, op, 4);
        p = op->mode == CJ_W_AND ? p & c : op->mode == CJ_W_OR ? p | c : p ^ c;
        q = op->mode == CJ_W_AND ? q & c : op->mode == CJ_W_OR ? q | c : q ^ c;
    }
    cj__cpu_predicate_set(w->file + op->slot[0], mask, p);
    cj__cpu_predicate_set(w->file + op->slot[1], mask, q);
    return CJ_STEP_NEXT;
}

// The executor of an instruction that has no effect here.
cj_cpu_step cj__cpu_nothing(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// move.c: the executor that copies the low bits of slot 1, op->bytes wide, to slot 0 of op->mode bits, zeros above.
cj_cpu_step cj__cpu_resize(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// half.c: the executor of a comparison of halves, for slots p, q, a, b, with.
bool cj__cpu_choose_half_comparison(cj_cpu_prepare *p);

// The lanes in `mask` continue where `to` says; the other lanes of the running group continue with the next op.
cj_cpu_step cj__cpu_disperse(cj_cpu_warp *w, uint32_t mask, const uint32_t to[CJ_LANES]);

// How an instruction is defined for several types: one executor for each. B types share the unsigned executors.
typedef struct cj_cpu_typed {
    cj_cpu_exec u16, u32, u64, s16, s32, s64, f32, f64;
} cj_cpu_typed;

#define CJ_SIGNLESS(name) \
    .u16 = name##_u16, .u32 = name##_u32, .u64 = name##_u64, .s16 = name##_u16, .s32 = name##_u32, .s64 = name##_u64
#define CJ_SIGNED(name) .s16 = name##_s16, .s32 = name##_s32, .s64 = name##_s64
#define CJ_UNSIGNED(name) .u16 = name##_u16, .u32 = name##_u32, .u64 = name##_u64

// Sets the op's executor to the one for that type; false if there is none.
bool cj__cpu_choose(cj_cpu_prepare *p, const cj_cpu_typed *typed, uint16_t type);

// Wraps the op's executor in the rounding mode of the instruction; .rn and none need no wrapping.
void cj__cpu_round(cj_cpu_prepare *p);

#endif
