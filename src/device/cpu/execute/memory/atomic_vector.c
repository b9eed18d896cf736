// SPDX-License-Identifier: Apache-2.0
// Atomics of halves, of vectors, and of 128 bits (PTX ISA, "atom", "red"). A vector's elements are
// atomic one by one. Slots: d for each element, then b for each; of a red b only.
#include "address.h"
#include "exec.h"
#include "half.h"
#include "single.h"
#include "watch.h"

typedef uint16_t (*half_operation)(uint16_t a, uint16_t b, bool brain);

typedef struct element {
    half_operation of;  // NULL: the sum of two f32
    bool           brain, returns;
} element;

static uint32_t float_sum(uint32_t a, uint32_t b) {
    float x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    const float sum = cj__cpu_canonical(cj__cpu_flush(cj__cpu_flush(x) + cj__cpu_flush(y)));
    memcpy(&a, &sum, sizeof a);
    return a;
}

static uint32_t combined(const element *e, unsigned bytes, uint32_t a, uint32_t b) {
    if (!e->of) return float_sum(a, b);
    const uint16_t low = e->of((uint16_t)a, (uint16_t)b, e->brain);
    return bytes == 2 ? low : (uint32_t)e->of((uint16_t)(a >> 16), (uint16_t)(b >> 16), e->brain) << 16 | low;
}

#define UPDATE(type)                                                                                                  \
    static type update_##type(const element *e, void *cell, type b) {                                                 \
        type was = __atomic_load_n((lane_##type *)cell, __ATOMIC_RELAXED), next;                                      \
        do {                                                                                                          \
            next = (type)combined(e, sizeof was, was, b);                                                             \
        } while (                                                                                                     \
            !__atomic_compare_exchange_n((lane_##type *)cell, &was, next, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
        return was;                                                                                                   \
    }

typedef uint16_t u16;
typedef uint32_t u32;
UPDATE(u16)
UPDATE(u32)

CJ_EXEC(update_vector) {
    const element *e = op->plan;
    unsigned char *at[CJ_LANES];
    if (!op->reach(w, op, mask, at)) return CJ_STEP_STOP;
    CJ_SOME_LANES(i, mask) {
        for (unsigned k = 0; k < op->count; k++) {
            void          *cell = at[i] + k * op->bytes;
            const unsigned b = e->returns ? op->count + k : k;
            if (op->bytes == 2) {
                const uint16_t was = update_u16(e, cell, CJ_LANES_OF(const lane_u16, b)[i]);
                if (e->returns) CJ_LANES_OF(lane_u16, k)[i] = was;
            } else {
                const uint32_t was = update_u32(e, cell, CJ_LANES_OF(const lane_u32, b)[i]);
                if (e->returns) CJ_LANES_OF(lane_u32, k)[i] = was;
            }
        }
        cj__watch_atomic(w, op, i, true);
    }
    return CJ_STEP_NEXT;
}

static bool select_vector(cj_cpu_prepare *p, bool returns) {
    const uint16_t type = p->mnemonic->type_last;
    element       *e = cj__cpu_keep(p, sizeof *e);
    if (!e) return false;
    e->returns = returns;
    e->brain = type == CJ_W_BF16 || type == CJ_W_BF16X2;
    if (type != CJ_W_F32) {
        e->of = cj__cpu_has(p, CJ_W_MIN) ? cj__half_smaller : cj__cpu_has(p, CJ_W_MAX) ? cj__half_larger : cj__half_sum;
    }
    p->op.plan = e;
    p->op.reach = cj__cpu_reach_of(p->mnemonic);
    p->op.bytes = (uint8_t)(cj__words[type].bits / 8);
    p->op.count = p->mnemonic->vector;
    p->op.run = update_vector;
    if (p->elements == p->mnemonic->vector) return true;
    cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: %u elements in the vector", p->mnemonic->text, p->elements);
    return false;
}

bool cj__cpu_select_atom_vector(cj_cpu_prepare *p) { return select_vector(p, true); }
bool cj__cpu_select_red_vector(cj_cpu_prepare *p) { return select_vector(p, false); }

// ---- 128 bits

CJ_EXEC(exchange_128) {
    unsigned char *at[CJ_LANES];
    if (!op->reach(w, op, mask, at)) return CJ_STEP_STOP;
    const bool compares = op->mode;
    w->block->cluster->polls += compares;
    CJ_SOME_LANES(i, mask) {
        const lane_u128 b = CJ_LANES_OF(const lane_u128, 1)[i];
        const lane_u128 next = compares ? CJ_LANES_OF(const lane_u128, 2)[i] : b;
        lane_u128       was = compares ? b : 0;
        bool            stores = cj__single_swap_16(at[i], &was, &next);
        while (!compares && !stores) stores = cj__single_swap_16(at[i], &was, &next);
        CJ_LANES_OF(lane_u128, 0)[i] = was;
        cj__watch_atomic(w, op, i, stores);
    }
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_atom_128(cj_cpu_prepare *p) {
    p->op.reach = cj__cpu_reach_of(p->mnemonic);
    p->op.bytes = 16;
    p->op.count = 1;
    p->op.mode = cj__cpu_has(p, CJ_W_CAS);
    p->op.run = exchange_128;
    return true;
}
