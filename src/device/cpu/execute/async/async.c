// SPDX-License-Identifier: Apache-2.0
// Asynchronous stores, copies and reductions without a tensor map, their groups, and the fences that go with them (PTX
// ISA, "st.async", "red.async", "cp.async", "cp.async.bulk", "cp.reduce.async.bulk"). async.h says when they happen.
#include <inttypes.h>
#include <string.h>

#include "combine.h"
#include "exec.h"

enum { BULK_ALIGN = 16 };

// What the selector prepares for an asynchronous instruction. Its memory operands are the destination, then, if it has
// them, the source and the mbarrier.
typedef struct async_plan {
    cj_cpu_transfer transfer;  // the fields that are the same in all lanes
    cj_word         to, from;  // spaces
    // Operands, or CJ_SLOT_NONE:
    uint32_t multicast, byte_mask;
    uint32_t less;  // the source's size, or (may_ignore) the predicate that ignores it
    bool     may_ignore;
} async_plan;

static const async_plan *plan_of(const cj_cpu_op *op) { return op->plan; }

static bool locate(cj_cpu_actor actor, cj_word space, uint64_t address, cj_cpu_span span, cj_cpu_spot *spot) {
    return cj__cpu_locate(actor.w, actor.op, actor.lane, space, address, span, spot);
}

bool cj__cpu_async_mbarrier(cj_cpu_transfer *t, cj_word space, uint64_t address) {
    const cj_cpu_span span = {.bytes = CJ_MBARRIER_BYTES, .align = CJ_MBARRIER_BYTES};
    if (!locate(t->actor, space, address, span, &t->mbarrier)) return false;
    if (t->mbarrier.block && t->mbarrier.block == t->to.block) return true;
    cj__cpu_hazard(t->actor.w, t->actor.op, t->actor.lane, CJ_HAZARD_WRONG_WINDOW,
                   "the mbarrier at 0x%llx is not in the block of the destination", (unsigned long long)address);
    return false;
}

cj_cpu_step cj__cpu_async_multicast(cj_cpu_transfer t, uint32_t ranks) {
    const cj_cpu_launch *launch = t.actor.w->block->cluster->launch;
    const cj_cpu_span    span = {.bytes = t.bytes, .align = 1, .writes = true};
    const uint64_t       to = t.to.address, mbarrier = t.mbarrier.address;
    if (ranks >> launch->ranks) {
        return cj__cpu_hazard(t.actor.w, t.actor.op, t.actor.lane, CJ_HAZARD_MULTICAST_MASK,
                              "mask 0x%x in a cluster of %u blocks", ranks, launch->ranks);
    }
    CJ_SOME_LANES(rank, ranks) {
        const uint64_t window = (uint64_t)(rank + 1) << CJ_RANK_SHIFT;
        if (!locate(t.actor, CJ_W_SHARED_CLUSTER, window | to, span, &t.to)) return CJ_STEP_STOP;
        if (!cj__cpu_async_mbarrier(&t, CJ_W_SHARED_CLUSTER, window | mbarrier)) return CJ_STEP_STOP;
        if (cj__cpu_async_begin(t)) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

// ---- stores and reductions of registers. Slots: the elements.

CJ_EXEC(store_async) {
    const async_plan *plan = plan_of(op);
    CJ_SOME_LANES(i, mask) {
        cj_cpu_transfer t = plan->transfer;
        t.actor = (cj_cpu_actor){w, op, i};
        for (unsigned k = 0; k < op->count; k++) {
            const unsigned char *element = CJ_LANES_OF(const unsigned char, k) + i * op->bytes;
            memcpy(t.small + k * op->bytes, element, op->bytes);
        }
        const cj_cpu_span span = {.bytes = t.bytes, .align = t.bytes, .writes = true};
        if (!locate(t.actor, plan->to, cj__cpu_address(w, op, 0, i), span, &t.to)) return CJ_STEP_STOP;
        if (!cj__cpu_async_mbarrier(&t, plan->to, cj__cpu_address(w, op, 1, i))) return CJ_STEP_STOP;
        if (cj__cpu_async_begin(t)) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

// ---- copies of a few bytes. Slots: size (an immediate), size of the source or predicate, policy.

CJ_EXEC(copy_small) {
    const async_plan *plan = plan_of(op);
    CJ_SOME_LANES(i, mask) {
        cj_cpu_transfer t = plan->transfer;
        t.actor = (cj_cpu_actor){w, op, i};
        t.group = cj__cpu_async_groups(w, i)->copy;
        if (plan->less != CJ_SLOT_NONE && plan->may_ignore)
            t.from_bytes = cj__cpu_predicate(w, op, plan->less) >> i & 1 ? 0 : t.bytes;
        else if (plan->less != CJ_SLOT_NONE)
            t.from_bytes = CJ_LANES_OF(const lane_u32, plan->less)[i];
        if (t.from_bytes > t.bytes) {
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_BULK_SIZE, "%u bytes of source for a copy of %u", t.from_bytes,
                                  t.bytes);
        }
        const cj_cpu_span to = {.bytes = t.bytes, .align = t.bytes, .writes = true};
        const cj_cpu_span from = {.bytes = t.from_bytes, .align = t.bytes};
        if (!locate(t.actor, plan->to, cj__cpu_address(w, op, 0, i), to, &t.to)) return CJ_STEP_STOP;
        if (t.from_bytes && !locate(t.actor, plan->from, cj__cpu_address(w, op, 1, i), from, &t.from))
            return CJ_STEP_STOP;
        if (cj__cpu_async_begin(t)) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

// ---- bulk copies and reductions. Slots: size, then by form multicast mask, policy, byte mask.

CJ_EXEC(copy_bulk) {
    const async_plan *plan = plan_of(op);
    const lane_u32   *size = CJ_LANES_OF(const lane_u32, 0);
    CJ_SOME_LANES(i, mask) {
        cj_cpu_transfer t = plan->transfer;
        t.actor = (cj_cpu_actor){w, op, i};
        t.bytes = t.from_bytes = size[i];
        if (size[i] % BULK_ALIGN) {
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_BULK_SIZE, "%u bytes; a bulk copy's size is a multiple of %d",
                                  size[i], BULK_ALIGN);
        }
        if (plan->byte_mask != CJ_SLOT_NONE) t.byte_mask = CJ_LANES_OF(const lane_u16, plan->byte_mask)[i];
        const cj_cpu_span to = {.bytes = size[i], .align = BULK_ALIGN, .writes = true};
        const cj_cpu_span from = {.bytes = size[i], .align = BULK_ALIGN};
        if (!locate(t.actor, plan->to, cj__cpu_address(w, op, 0, i), to, &t.to)) return CJ_STEP_STOP;
        if (!locate(t.actor, plan->from, cj__cpu_address(w, op, 1, i), from, &t.from)) return CJ_STEP_STOP;
        if (t.signal == CJ_SIGNAL_BULK_GROUP)
            t.group = cj__cpu_async_groups(w, i)->bulk;
        else if (!cj__cpu_async_mbarrier(&t, plan->to, cj__cpu_address(w, op, 2, i)))
            return CJ_STEP_STOP;
        const cj_cpu_step step = plan->multicast == CJ_SLOT_NONE
                                     ? cj__cpu_async_begin(t)
                                     : cj__cpu_async_multicast(t, CJ_LANES_OF(const lane_u16, plan->multicast)[i]);
        if (step) return step;
    }
    return CJ_STEP_NEXT;
}

// A prefetch moves nothing here; but a GPU faults where it begins or ends beside a multiple of 16 bytes. Slots: size.
CJ_EXEC(prefetch_bulk) {
    const lane_u32 *size = CJ_LANES_OF(const lane_u32, 0);
    CJ_SOME_LANES(i, mask) {
        const uint64_t address = cj__cpu_address(w, op, 0, i);
        if (size[i] % BULK_ALIGN)
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_BULK_SIZE, "%u bytes; a bulk prefetch's size is a multiple of %d", size[i],
                                  BULK_ALIGN);
        if (address % BULK_ALIGN)
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_MISALIGNED, "address 0x%" PRIx64 " is no multiple of %d", address, BULK_ALIGN);
    }
    return CJ_STEP_NEXT;
}

// ---- groups: a thread's transfers between two commits. op->mode: how many groups may still be pending.

static cj_cpu_step commit(cj_cpu_warp *w, uint32_t mask, bool bulk) {
    CJ_SOME_LANES(i, mask) {
        cj_cpu_groups *groups = cj__cpu_async_groups(w, i);
        ++*(bulk ? &groups->bulk : &groups->copy);
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(commit_copies) {
    (void)op;
    return commit(w, mask, false);
}

CJ_EXEC(commit_bulk) {
    (void)op;
    return commit(w, mask, true);
}

// What the selector prepares for a wait.
typedef struct wait_plan {
    cj_cpu_signal signal;
    uint64_t      allowed;     // groups that may still be pending
    bool          everything;  // those not committed, too
    bool          read_only;
} wait_plan;

// *last: the wait is for all groups up to it; false: there is no group to wait for.
static bool last_group(const wait_plan *plan, const cj_cpu_groups *groups, uint32_t *last) {
    const uint32_t committed = plan->signal == CJ_SIGNAL_BULK_GROUP ? groups->bulk : groups->copy;
    *last = plan->everything ? committed : committed - 1 - (uint32_t)plan->allowed;
    return plan->everything || plan->allowed < committed;
}

CJ_EXEC(wait_groups) {
    const wait_plan *plan = op->plan;
    w->waiting = 0;
    CJ_SOME_LANES(i, mask) {
        uint32_t last;
        if (!last_group(plan, cj__cpu_async_groups(w, i), &last)) continue;
        if (cj__cpu_async_pending(w, i, plan->signal, last, plan->read_only)) {
            w->waiting |= 1u << i;
            cj__cpu_async_groups(w, i)->need = (cj_cpu_need){
                .op = op, .signal = plan->signal, .read_only = plan->read_only, .last = last};
        } else {
            cj__cpu_async_join(w, i, plan->signal, last, plan->read_only);
        }
    }
    return w->waiting ? CJ_STEP_WAIT : CJ_STEP_NEXT;
}

// ---- fences of the async proxy, and st.bulk

typedef struct fence_plan {
    unsigned fences;
    cj_scope scope;
} fence_plan;

CJ_EXEC(fence_async) {
    const fence_plan *plan = op->plan;
    cj__watch_fence(w, mask, plan->fences, plan->scope);
    return CJ_STEP_NEXT;
}

// Slots: size, the value 0.
CJ_EXEC(store_bulk) {
    const lane_u64 *size = CJ_LANES_OF(const lane_u64, 0);
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor  actor = {w, op, i};
        const cj_cpu_span span = {.bytes = size[i], .align = 8, .writes = true};
        cj_cpu_spot       to;
        if (size[i] % 8)
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_BULK_SIZE, "%llu bytes; the size is a multiple of 8",
                                  (unsigned long long)size[i]);
        if (!locate(actor, CJ_W_SHARED_CTA, cj__cpu_address(w, op, 0, i), span, &to)) return CJ_STEP_STOP;
        const cj_watch_place place = {to.block, to.address, size[i]};
        if (cj__watch_access(w, op, i, (cj_watch_use){.flags = CJ_USE_WRITE}, place)) return CJ_STEP_STOP;
        memset(to.host, 0, size[i]);
    }
    return CJ_STEP_NEXT;
}

// ---- selectors

static async_plan *select_plan(cj_cpu_prepare *p, cj_cpu_exec run, cj_cpu_signal signal) {
    async_plan *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan) return NULL;
    cj_word *next = &plan->to;
    for (unsigned i = 0; i < p->mnemonic->word_count; i++) {
        const cj_word word = p->mnemonic->word[i];
        const bool    is_space = word == CJ_W_GLOBAL || word == CJ_W_SHARED || word == CJ_W_SHARED_CTA ||
                              word == CJ_W_SHARED_CLUSTER;
        if (!is_space) continue;
        *next = word;
        next = &plan->from;
    }
    plan->transfer = (cj_cpu_transfer){.signal = signal, .byte_mask = UINT16_MAX};
    plan->multicast = plan->byte_mask = plan->less = CJ_SLOT_NONE;
    p->op.plan = plan;
    p->op.run = run;
    return plan;
}

static async_plan *select_registers(cj_cpu_prepare *p) {
    async_plan *plan = select_plan(p, store_async, CJ_SIGNAL_MBARRIER);
    if (!plan) return NULL;
    p->op.bytes = (uint8_t)(cj__words[p->mnemonic->type_last].bits / 8);
    p->op.count = (uint8_t)p->slot_count;
    plan->transfer.bytes = (uint32_t)p->op.bytes * p->op.count;
    plan->transfer.is_read = true;
    return plan;
}

bool cj__cpu_select_st_async(cj_cpu_prepare *p) { return select_registers(p); }

bool cj__cpu_select_red_async(cj_cpu_prepare *p) {
    async_plan *plan = select_registers(p);
    if (!plan) return false;
    plan->transfer.scope = CJ_SCOPE_CLUSTER;
    plan->transfer.combine = cj__cpu_combine_in(p->mnemonic, p->mnemonic->type_last);
    return plan->transfer.combine;
}

// The value of operand k, an immediate.
static uint64_t immediate(const cj_cpu_prepare *p, unsigned k) {
    return p->inst->operand[k].kind == CJ_OPERAND_INT ? p->inst->operand[k].bits : 0;
}

bool cj__cpu_select_cp_async(cj_cpu_prepare *p) {
    const uint64_t bytes = immediate(p, 2);
    const bool     is_size = bytes == 16 || (cj__cpu_has(p, CJ_W_CA) && (bytes == 4 || bytes == 8));
    async_plan    *plan = select_plan(p, copy_small, CJ_SIGNAL_COPY_GROUP);
    if (!plan) return false;
    if (!is_size) {
        cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: a size of %llu bytes; .ca takes 4, 8 or 16, .cg 16",
                       p->mnemonic->text, (unsigned long long)bytes);
        return false;
    }
    plan->transfer.bytes = plan->transfer.from_bytes = (uint32_t)bytes;
    plan->may_ignore = p->slot_count > 1 && p->type[1] == CJ_W_PRED;
    if (p->slot_count > 1 && (plan->may_ignore || p->type[1] == CJ_W_U32)) plan->less = 1;
    return true;
}

static uint32_t given(const cj_cpu_prepare *p, uint32_t k) {
    return k < p->slot_count && p->slot[k] != CJ_SLOT_NONE ? k : CJ_SLOT_NONE;
}

bool cj__cpu_select_cp_bulk(cj_cpu_prepare *p) {
    const bool  grouped = cj__cpu_has(p, CJ_W_BULK_GROUP);
    async_plan *plan = select_plan(p, copy_bulk, grouped ? CJ_SIGNAL_BULK_GROUP : CJ_SIGNAL_MBARRIER);
    if (!plan) return false;
    plan->transfer.is_proxy = true;
    if (cj__cpu_has(p, CJ_W_MULTICAST_CLUSTER)) plan->multicast = given(p, 1);
    if (cj__cpu_has(p, CJ_W_CP_MASK)) plan->byte_mask = given(p, p->slot_count - 1);
    return true;
}

bool cj__cpu_select_cp_reduce_bulk(cj_cpu_prepare *p) {
    if (!cj__cpu_select_cp_bulk(p)) return false;
    async_plan *plan = (async_plan *)(uintptr_t)p->op.plan;
    plan->transfer.scope = CJ_SCOPE_GPU;
    plan->transfer.combine = cj__cpu_combine_in(p->mnemonic, p->mnemonic->type_last);
    return plan->transfer.combine;
}

static bool select_wait(cj_cpu_prepare *p, cj_cpu_signal signal, bool everything) {
    wait_plan *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan) return false;
    *plan = (wait_plan){.signal = signal, .everything = everything, .read_only = cj__cpu_has(p, CJ_W_READ)};
    if (!everything) plan->allowed = immediate(p, 0);
    p->op.plan = plan;
    p->op.run = wait_groups;
    return true;
}

bool cj__cpu_select_copy_wait(cj_cpu_prepare *p) { return select_wait(p, CJ_SIGNAL_COPY_GROUP, false); }
bool cj__cpu_select_copy_wait_all(cj_cpu_prepare *p) { return select_wait(p, CJ_SIGNAL_COPY_GROUP, true); }
bool cj__cpu_select_bulk_wait(cj_cpu_prepare *p) { return select_wait(p, CJ_SIGNAL_BULK_GROUP, false); }

bool cj__cpu_select_copy_commit(cj_cpu_prepare *p) {
    p->op.run = commit_copies;
    return true;
}

bool cj__cpu_select_bulk_commit(cj_cpu_prepare *p) {
    p->op.run = commit_bulk;
    return true;
}

bool cj__cpu_select_prefetch_bulk(cj_cpu_prepare *p) {
    p->op.run = prefetch_bulk;
    return true;
}

bool cj__cpu_select_st_bulk(cj_cpu_prepare *p) {
    p->op.run = store_bulk;
    return true;
}

// Each word of the mnemonic adds an effect to a fence. A proxy fence that names no space is for both.
bool cj__cpu_select_fence_async(cj_cpu_prepare *p) {
    static const struct {
        cj_word  word;
        unsigned fences;
    } fences[] = {
        {CJ_W_MBARRIER_INIT, CJ_FENCE_INIT},
        {CJ_W_ASYNC, CJ_FENCE_PROXY_SHARED | CJ_FENCE_PROXY_GLOBAL},
        {CJ_W_ASYNC_GENERIC, CJ_FENCE_PROXY_SHARED},
        {CJ_W_TENSORMAP_GENERIC, CJ_FENCE_TENSORMAP},
        {CJ_W_ACQUIRE, CJ_FENCE_ACQUIRE},
        {CJ_W_RELEASE, CJ_FENCE_RELEASE},
    };
    fence_plan *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan) return false;
    for (size_t i = 0; i < sizeof fences / sizeof *fences; i++) {
        if (cj__cpu_has(p, fences[i].word)) plan->fences |= fences[i].fences;
    }
    if (cj__cpu_has(p, CJ_W_MBARRIER_INIT)) plan->fences = CJ_FENCE_INIT;
    if (!cj__cpu_has(p, CJ_W_ACQUIRE)) plan->fences &= ~(unsigned)CJ_FENCE_TENSORMAP;
    if (cj__cpu_has(p, CJ_W_GLOBAL)) plan->fences &= ~(unsigned)CJ_FENCE_PROXY_SHARED;
    if (cj__cpu_has(p, CJ_W_SHARED) || cj__cpu_has(p, CJ_W_SHARED_CTA) || cj__cpu_has(p, CJ_W_SHARED_CLUSTER))
        plan->fences &= ~(unsigned)CJ_FENCE_PROXY_GLOBAL;
    plan->scope = cj__watch_scope(p->mnemonic, CJ_SCOPE_CLUSTER);
    p->op.plan = plan;
    p->op.run = fence_async;
    return true;
}
