// SPDX-License-Identifier: Apache-2.0
// Loads, stores and fences (PTX ISA, "ld", "st", "membar/fence"). Caches, eviction and .nc make no difference here.
// Every access is made at once and in program order. An aligned access of up to 16 bytes, vectors included, is a single
// copy. A strong access is single for other host threads, too, and acquires or releases on the host even if it is
// relaxed: so a fence needs nothing more than a host fence.
#include <stdatomic.h>

#include "address.h"
#include "exec.h"
#include "single.h"
#include "watch.h"

// ---- single copies

// The kind of an access, in op->mode: 0 is a weak access of a single element, which needs no more than the element's
// own copy. A WHOLE access is made in one copy of all its elements, or in copies of 16 bytes; a STRONG one also for
// other host threads.
enum { WHOLE = 1, STRONG = 2 };

enum { VECTOR_BYTES = 32 };  // of the longest vector

typedef struct piece {
    _Alignas(CJ_SINGLE_BYTES) unsigned char byte[VECTOR_BYTES];
} piece;

// Local memory and parameters may have any host address: movdqu, which at a multiple of 16 is one copy like movdqa.
typedef uint64_t lane_pair __attribute__((__vector_size__(16), __may_alias__, __aligned__(1)));

// A copy of constant size: the compiler makes one instruction of it, if the host has one.
static void copy_weak(void *to, const void *from, unsigned bytes) {
    switch (bytes) {
    case 2: *(lane_u16 *)to = *(const lane_u16 *)from; break;
    case 4: *(lane_u32 *)to = *(const lane_u32 *)from; break;
    case 8: *(lane_u64 *)to = *(const lane_u64 *)from; break;
    default: *(lane_pair *)to = *(const lane_pair *)from;
    }
}

// Copies the bytes that the lanes read; executors read the copies.
static void take(const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES], piece copy[CJ_LANES]) {
    const unsigned bytes = (unsigned)op->bytes * op->count, part = bytes < CJ_SINGLE_BYTES ? bytes : CJ_SINGLE_BYTES;
    CJ_SOME_LANES(i, mask) {
        for (unsigned k = 0; k < bytes; k += part) {
            if (op->mode & STRONG)
                cj__single_load(copy[i].byte + k, at[i] + k, part);
            else
                copy_weak(copy[i].byte + k, at[i] + k, part);
        }
        at[i] = copy[i].byte;
    }
}

// Copies back. If several lanes have one address, the last lane's value stays.
static void give(const cj_cpu_op *op, uint32_t mask, unsigned char *const at[CJ_LANES], const piece copy[CJ_LANES]) {
    const unsigned bytes = (unsigned)op->bytes * op->count, part = bytes < CJ_SINGLE_BYTES ? bytes : CJ_SINGLE_BYTES;
    CJ_SOME_LANES(i, mask) {
        for (unsigned k = 0; k < bytes; k += part) {
            if (op->mode & STRONG)
                cj__single_store(at[i] + k, copy[i].byte + k, part);
            else
                copy_weak(at[i] + k, copy[i].byte + k, part);
        }
    }
}

// Loads elements of type `memory` into registers of type `wide`, which extends by the sign of `memory`.
#define LOAD(memory, wide)                                                                             \
    CJ_EXEC(ld_##memory##_##wide) {                                                                    \
        unsigned char *at[CJ_LANES];                                                                   \
        piece          copy[CJ_LANES];                                                                 \
        if (!op->reach(w, op, mask, at)) return CJ_STEP_STOP;                                          \
        if (op->mode) take(op, mask, at, copy);                                                        \
        if (op->mode & STRONG) w->block->cluster->polls++;                                             \
        for (unsigned k = 0; k < op->count; k++) {                                                     \
            lane_##wide *d = CJ_LANES_OF(lane_##wide, k);                                              \
            CJ_EACH_LANE(i, mask, { d[i] = (lane_##wide)((const lane_##memory *)(void *)at[i])[k]; }); \
        }                                                                                              \
        return CJ_STEP_NEXT;                                                                           \
    }

#define STORE(memory, wide)                                                                                       \
    CJ_EXEC(st_##memory##_##wide) {                                                                               \
        unsigned char *at[CJ_LANES];                                                                              \
        piece          copy[CJ_LANES];                                                                            \
        if (!op->reach(w, op, mask, at)) return CJ_STEP_STOP;                                                     \
        CJ_SOME_LANES(i, mask) {                                                                                  \
            lane_##memory *cell = (lane_##memory *)(void *)(op->mode ? copy[i].byte : at[i]);                     \
            for (unsigned k = 0; k < op->count; k++) { cell[k] = (lane_##memory)CJ_LANES_OF(lane_##wide, k)[i]; } \
        }                                                                                                         \
        if (op->mode) give(op, mask, at, copy);                                                                   \
        return CJ_STEP_NEXT;                                                                                      \
    }

// Combinations of memory types and register types (of 16, 32, 64 bits).
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
LOAD(u128, u128)
WIDTHS(STORE, u8)
WIDTHS(STORE, u16)
STORE(u32, u32)
STORE(u32, u64)
STORE(u64, u64)
STORE(u128, u128)

// Index: the logarithm of an element's bytes in memory, then of the register's.
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

static cj_cpu_exec executor_of(const cj_cpu_prepare *p, const by_width table, cj_cpu_exec widest) {
    const unsigned bits = cj__words[p->mnemonic->type_last].bits;
    if (bits == 128) return p->bits[0] == 128 ? widest : NULL;
    return p->bits[0] <= 64 ? table[width_index(bits)][width_index(p->bits[0])] : NULL;
}

static bool is_strong(const cj_cpu_prepare *p) {
    static const cj_word words[] = {CJ_W_RELAXED, CJ_W_ACQUIRE, CJ_W_RELEASE, CJ_W_VOLATILE};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (cj__cpu_has(p, words[i])) return true;
    }
    return false;
}

// Slots: the elements, then, if the row has one, a cache policy, which makes no difference here.
static bool select_access(cj_cpu_prepare *p, const by_width table, cj_cpu_exec widest) {
    const cj_word_info *type = &cj__words[p->mnemonic->type_last];
    const unsigned      count = p->mnemonic->vector;
    if (p->slot_count < count || p->elements != count) {
        cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: %u elements in the vector", p->mnemonic->text, p->elements);
        return false;
    }
    for (uint32_t i = 1; i < count; i++) {
        if (p->bits[i] == p->bits[0]) continue;
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s: registers of %u and %u bits in one vector", p->mnemonic->text,
                       p->bits[0], p->bits[i]);
    }
    p->any_width = true;
    p->op.reach = cj__cpu_is_stack(p) ? cj__cpu_reach_in(CJ_W_LOCAL) : cj__cpu_reach_of(p->mnemonic);
    p->op.bytes = (uint8_t)(type->bits / 8);
    p->op.count = (uint8_t)count;
    p->op.run = executor_of(p, table, widest);
    p->op.mode = is_strong(p) ? WHOLE | STRONG : count > 1 || type->bits > 64 ? WHOLE : 0;
    return p->op.run != NULL;
}

bool cj__cpu_select_ld(cj_cpu_prepare *p) {
    const bool is_signed = cj__words[p->mnemonic->type_last].class == CJ_CLASS_SIGNED;
    return select_access(p, is_signed ? sign_extending : zero_extending, ld_u128_u128);
}

bool cj__cpu_select_st(cj_cpu_prepare *p) { return select_access(p, storing, st_u128_u128); }

// ---- hints for caches, which have no effect here

bool cj__cpu_select_hint(cj_cpu_prepare *p) {
    p->op.run = cj__cpu_nothing;
    return true;
}

// createpolicy returns a number that no instruction interprets.
CJ_EXEC(create_policy) {
    CJ_SOME_LANES(i, mask) CJ_LANES_OF(lane_u64, 0)[i] = 0;
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_createpolicy(cj_cpu_prepare *p) {
    p->op.run = create_policy;
    return true;
}

// ---- fences

// op->mode: the fence's effects (cj_fence), and its scope in the bits above.
enum { FENCE_SCOPE = 8 };

CJ_EXEC(fence) {
    atomic_thread_fence(memory_order_seq_cst);
    cj__watch_fence(w, mask, op->mode & ((1u << FENCE_SCOPE) - 1), (cj_scope)(op->mode >> FENCE_SCOPE));
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_fence(cj_cpu_prepare *p) {
    const unsigned one = (cj__cpu_has(p, CJ_W_ACQUIRE) ? CJ_FENCE_ACQUIRE : 0u) |
                         (cj__cpu_has(p, CJ_W_RELEASE) ? CJ_FENCE_RELEASE : 0u);
    const unsigned both = CJ_FENCE_ACQUIRE | CJ_FENCE_RELEASE;
    p->op.run = fence;
    p->op.mode = (uint16_t)((one ? one : both) | (unsigned)cj__watch_scope(p->mnemonic, CJ_SCOPE_SYS) << FENCE_SCOPE);
    return true;
}
