// SPDX-License-Identifier: Apache-2.0
// Loads, stores and fences (PTX ISA, "ld", "st", "membar/fence"). Caches, eviction and .nc make no difference here.
// Every access is made at once and in program order; between host threads the fences and the atomics order them.
#include <stdatomic.h>

#include "address.h"
#include "exec.h"

// Loads elements of type `memory` into registers of type `wide`, which extends by the sign of `memory`.
#define LOAD(memory, wide)                                                                             \
    CJ_EXEC(ld_##memory##_##wide) {                                                                    \
        unsigned char *at[CJ_LANES];                                                                   \
        if (!op->reach(w, op, mask, at)) return CJ_STEP_STOP;                                          \
        for (unsigned k = 0; k < op->count; k++) {                                                     \
            lane_##wide *d = CJ_LANES_OF(lane_##wide, k);                                              \
            CJ_EACH_LANE(i, mask, { d[i] = (lane_##wide)((const lane_##memory *)(void *)at[i])[k]; }); \
        }                                                                                              \
        return CJ_STEP_NEXT;                                                                           \
    }

#define STORE(memory, wide)                                                                          \
    CJ_EXEC(st_##memory##_##wide) {                                                                  \
        unsigned char *at[CJ_LANES];                                                                 \
        if (!op->reach(w, op, mask, at)) return CJ_STEP_STOP;                                        \
        CJ_SOME_LANES(i, mask) {                                                                     \
            for (unsigned k = 0; k < op->count; k++) {                                               \
                ((lane_##memory *)(void *)at[i])[k] = (lane_##memory)CJ_LANES_OF(lane_##wide, k)[i]; \
            }                                                                                        \
        }                                                                                            \
        return CJ_STEP_NEXT;                                                                         \
    }

// Which types in memory go to and from which registers: (of 16, 32, 64 bits).
#define WIDTHS(X, memory) X(memory, u16) X(memory, u32) X(memory, u64)
WIDTHS(LOAD, u8)
WIDTHS(LOAD, s8)
WIDTHS(LOAD, u16)
LOAD(s16, u32)
LOAD(s16, u64)
LOAD(u32, u32)
LOAD(u32, u64)
LOAD(s32, u64)
LOAD(u64, u64)
WIDTHS(STORE, u8)
WIDTHS(STORE, u16)
STORE(u32, u32)
STORE(u32, u64)
STORE(u64, u64)

// By element: bytes in memory, then the register's.
typedef cj_cpu_exec by_width[4][4];

static const by_width zero_extending = {{ld_u8_u16, ld_u8_u16, ld_u8_u32, ld_u8_u64},
                                        {NULL, ld_u16_u16, ld_u16_u32, ld_u16_u64},
                                        {NULL, NULL, ld_u32_u32, ld_u32_u64},
                                        {NULL, NULL, NULL, ld_u64_u64}};
static const by_width sign_extending = {{ld_s8_u16, ld_s8_u16, ld_s8_u32, ld_s8_u64},
                                        {NULL, ld_u16_u16, ld_s16_u32, ld_s16_u64},
                                        {NULL, NULL, ld_u32_u32, ld_s32_u64},
                                        {NULL, NULL, NULL, ld_u64_u64}};
static const by_width storing = {{st_u8_u16, st_u8_u16, st_u8_u32, st_u8_u64},
                                 {NULL, st_u16_u16, st_u16_u32, st_u16_u64},
                                 {NULL, NULL, st_u32_u32, st_u32_u64},
                                 {NULL, NULL, NULL, st_u64_u64}};

static unsigned width_index(unsigned bits) { return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3; }

static bool select_access(cj_cpu_prepare *p, const by_width table) {
    const cj_word_info *type = &cj__words[p->mnemonic->type_last];
    for (uint32_t i = 1; i < p->slot_count; i++) {
        if (p->bits[i] == p->bits[0]) continue;
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s: registers of %u and %u bits in one vector", p->mnemonic->text,
                       p->bits[0], p->bits[i]);
    }
    p->any_width = true;
    p->op.reach = cj__cpu_reach_of(p->mnemonic);
    p->op.bytes = (uint8_t)(type->bits / 8);
    p->op.count = (uint8_t)p->slot_count;
    p->op.run = type->bits <= 64 && p->bits[0] <= 64 ? table[width_index(type->bits)][width_index(p->bits[0])] : NULL;
    if (p->slot_count != p->mnemonic->vector) {
        cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: %u elements in the vector", p->mnemonic->text, p->slot_count);
    }
    return p->op.run != NULL;
}

bool cj__cpu_select_ld(cj_cpu_prepare *p) {
    const bool is_signed = cj__words[p->mnemonic->type_last].class == CJ_CLASS_SIGNED;
    return select_access(p, is_signed ? sign_extending : zero_extending);
}

bool cj__cpu_select_st(cj_cpu_prepare *p) { return select_access(p, storing); }

CJ_EXEC(fence) {
    (void)w, (void)op, (void)mask;
    atomic_thread_fence(memory_order_seq_cst);
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_fence(cj_cpu_prepare *p) {
    p->op.run = fence;
    return true;
}
