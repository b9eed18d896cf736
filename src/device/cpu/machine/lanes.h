// SPDX-License-Identifier: Apache-2.0
// Helpers for C code on the lanes of a warp: the register file's lanes as typed arrays, loops over lanes, predicates.
#ifndef CJ_CPU_LANES_H
#define CJ_CPU_LANES_H

#include "machine.h"

// Lanes of a register as an instruction sees them: any type of the slot's width.
__extension__ typedef unsigned __int128 lane_u128 __attribute__((__may_alias__));
typedef uint8_t                         lane_u8 __attribute__((__may_alias__));
typedef int8_t                          lane_s8 __attribute__((__may_alias__));
typedef uint16_t                        lane_u16 __attribute__((__may_alias__));
typedef int16_t                         lane_s16 __attribute__((__may_alias__));
typedef uint32_t                        lane_u32 __attribute__((__may_alias__));
typedef int32_t                         lane_s32 __attribute__((__may_alias__));
typedef uint64_t                        lane_u64 __attribute__((__may_alias__));
typedef int64_t                         lane_s64 __attribute__((__may_alias__));
typedef float                           lane_f32 __attribute__((__may_alias__));
typedef double                          lane_f64 __attribute__((__may_alias__));

#define CJ_ALL_LANES UINT32_MAX

// The lanes of operand k.
#define CJ_LANES_OF(type, k) ((type *)(void *)(w->file + op->slot[k]))

// A loop over 32 lanes whose iterations are independent: slots are the same or disjoint. The compiler
// vectorizes it where it can; clang's warning where it cannot is switched off.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define CJ_EVERY_LANE(i) _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < CJ_LANES; i++)
#else
#define CJ_EVERY_LANE(i) _Pragma("GCC ivdep") for (unsigned i = 0; i < CJ_LANES; i++)
#endif

// A loop over the lanes in `mask`.
#define CJ_SOME_LANES(i, mask) \
    for (uint32_t rest_ = (mask), i; rest_ && ((i = cj__cpu_first(rest_)), true); rest_ &= rest_ - 1)

// Executes the statement for each lane i in `mask`; without tests if all lanes are in it.
#define CJ_EACH_LANE(i, mask, ...)                                                                       \
    do {                                                                                                 \
        if ((mask) == CJ_ALL_LANES) CJ_EVERY_LANE(i) __VA_ARGS__ else CJ_SOME_LANES(i, mask) __VA_ARGS__ \
    } while (0)

static inline uint32_t cj__cpu_first(uint32_t mask) { return (uint32_t)__builtin_ctz(mask); }
static inline uint32_t cj__cpu_count(uint32_t mask) { return (uint32_t)__builtin_popcount(mask); }

// Predicate operand k, `!` applied, of all lanes.
static inline uint32_t cj__cpu_predicate(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned k) {
    return *(const lane_u32 *)(const void *)(w->file + op->slot[k]) ^ (0u - (op->flip >> k & 1));
}

// Writes a predicate's lanes in `mask`.
static inline void cj__cpu_predicate_set(void *slot, uint32_t mask, uint32_t value) {
    lane_u32 *predicate = slot;
    *predicate = (*predicate & ~mask) | (value & mask);
}

#endif
