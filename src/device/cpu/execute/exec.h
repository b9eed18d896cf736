// SPDX-License-Identifier: Apache-2.0
// What executors are written with. An executor is a function for one instruction with its types fixed; the files
// exec_*.c define them by topic, each with the selectors that choose among them. A row of instructions.def names its
// selector: CJ_ROW(add, …) is chosen by cj__cpu_select_add.
#ifndef CJ_CPU_EXEC_H
#define CJ_CPU_EXEC_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "machine.h"
#include "prepare.h"

// Lanes of a register as an instruction sees them: any type of the slot's width.
__extension__ typedef unsigned __int128 lane_u128 __attribute__((__may_alias__));
typedef uint8_t  lane_u8 __attribute__((__may_alias__));
typedef int8_t   lane_s8 __attribute__((__may_alias__));
typedef uint16_t lane_u16 __attribute__((__may_alias__));
typedef int16_t  lane_s16 __attribute__((__may_alias__));
typedef uint32_t lane_u32 __attribute__((__may_alias__));
typedef int32_t  lane_s32 __attribute__((__may_alias__));
typedef uint64_t lane_u64 __attribute__((__may_alias__));
typedef int64_t  lane_s64 __attribute__((__may_alias__));
typedef float    lane_f32 __attribute__((__may_alias__));
typedef double   lane_f64 __attribute__((__may_alias__));

#define CJ_ALL_LANES UINT32_MAX

// The lanes of operand k.
#define CJ_LANES_OF(type, k) ((type *)(void *)(w->file + op->slot[k]))

// A loop over 32 lanes whose iterations do not depend on each other: slots are the same or apart. That the compiler may
// vectorize it is a wish: clang would warn where it cannot.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define CJ_EVERY_LANE(i) _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < CJ_LANES; i++)
#else
#define CJ_EVERY_LANE(i) _Pragma("GCC ivdep") for (unsigned i = 0; i < CJ_LANES; i++)
#endif

// A loop over the lanes in `mask`.
#define CJ_SOME_LANES(i, mask) \
    for (uint32_t rest_ = (mask), i; rest_ && ((i = cj__cpu_first(rest_)), true); rest_ &= rest_ - 1)

// Does it for each lane i in `mask`: without tests where all are.
#define CJ_EACH_LANE(i, mask, ...)                                                                       \
    do {                                                                                                 \
        if ((mask) == CJ_ALL_LANES) CJ_EVERY_LANE(i) __VA_ARGS__ else CJ_SOME_LANES(i, mask) __VA_ARGS__ \
    } while (0)

#define CJ_EXEC(name) static cj_cpu_step name(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask)

static inline uint32_t cj__cpu_first(uint32_t mask) { return (uint32_t)__builtin_ctz(mask); }
static inline uint32_t cj__cpu_count(uint32_t mask) { return (uint32_t)__builtin_popcount(mask); }

// .ftz: a subnormal becomes zero.
static inline float cj__cpu_flush(float x) { return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x; }

// The hardware rounds as if exponents went on below and then looks whether the result is subnormal: what the exact
// result would round to the smallest normal number from below is flushed too.
static inline float cj__cpu_flush_result(float x, double exact) {
    if (fabsf(x) != FLT_MIN) return cj__cpu_flush(x);
    return fabsf((float)(exact * 0x1p64)) < FLT_MIN * 0x1p64f ? copysignf(0.0f, x) : x;
}

// Predicate operand k, `!` applied, of all lanes.
static inline uint32_t cj__cpu_predicate(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned k) {
    return *(const lane_u32 *)(const void *)(w->file + op->slot[k]) ^ (0u - (op->flip >> k & 1));
}

// Writes a predicate's lanes in `mask`.
static inline void cj__cpu_predicate_set(void *slot, uint32_t mask, uint32_t value) {
    lane_u32 *predicate = slot;
    *predicate = (*predicate & ~mask) | (value & mask);
}

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

// An f32 result as the hardware gives it: NaN is 0x7fffffff.
static inline float cj__cpu_canonical(float x) {
    const uint32_t bits = 0x7fffffff;
    float          nan;
    memcpy(&nan, &bits, sizeof nan);
    return x != x ? nan : x;
}

// The executor of what has no effect here.
cj_cpu_step cj__cpu_nothing(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// exec_move.c: the executor that copies the low bits of slot 1, op->bytes wide, to slot 0 of op->mode bits, zeros above.
cj_cpu_step cj__cpu_resize(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// hazard.c: the executor of what the CPU device cannot execute; op->plan says why. It ends the launch.
cj_cpu_step cj__cpu_unsupported(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask);

// exec_half.c: the executor of a comparison of halves, for slots p, q, a, b, with.
bool cj__cpu_choose_half_comparison(cj_cpu_prepare *p);

// The lanes in `mask` go where `to` says, those of the running group that are not go on below.
cj_cpu_step cj__cpu_disperse(cj_cpu_warp *w, uint32_t mask, const uint32_t to[CJ_LANES]);

// The ways in which an instruction is defined: one executor for each type. B types go with the unsigned ones.
typedef struct cj_cpu_typed {
    cj_cpu_exec u16, u32, u64, s16, s32, s64, f32, f64;
} cj_cpu_typed;

#define CJ_SIGNLESS(name) \
    .u16 = name##_u16, .u32 = name##_u32, .u64 = name##_u64, .s16 = name##_u16, .s32 = name##_u32, .s64 = name##_u64
#define CJ_SIGNED(name) .s16 = name##_s16, .s32 = name##_s32, .s64 = name##_s64
#define CJ_UNSIGNED(name) .u16 = name##_u16, .u32 = name##_u32, .u64 = name##_u64

// Sets the op's executor to the one for that type; false where there is none.
bool cj__cpu_choose(cj_cpu_prepare *p, const cj_cpu_typed *typed, uint16_t type);

// Wraps the op's executor in the rounding mode of the instruction; .rn and none need no wrapping.
void cj__cpu_round(cj_cpu_prepare *p);

#endif
