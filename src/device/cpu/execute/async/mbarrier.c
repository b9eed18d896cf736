// SPDX-License-Identifier: Apache-2.0
// mbarrier instructions (PTX ISA, "mbarrier"). mbarrier.h says what an mbarrier is. Lanes execute one after another.
#include "async.h"
#include "exec.h"

// What the selector prepares for an mbarrier instruction.
typedef struct mbarrier_plan {
    cj_word  space;
    bool     own;  // the mbarrier must be in the block's own shared memory
    bool     expects, leaves, may_complete, relaxed, by_parity, polls;
    cj_scope scope;
    int      sign;     // of a transaction
    uint32_t result;   // operand: the state that an arrival returns
    uint32_t operand;  // operand: its count or bytes; or CJ_SLOT_NONE
} mbarrier_plan;

static const mbarrier_plan *plan_of(const cj_cpu_op *op) { return op->plan; }

// The place that lane i's k-th memory operand names.
static bool locate(cj_cpu_actor actor, unsigned k, const mbarrier_plan *plan, cj_cpu_spot *spot) {
    const uint64_t    address = cj__cpu_address(actor.w, actor.op, k, actor.lane);
    const cj_cpu_span span = {.bytes = CJ_MBARRIER_BYTES, .align = CJ_MBARRIER_BYTES};
    if (!cj__cpu_locate(actor.w, actor.op, actor.lane, plan->space, address, span, spot)) return false;
    if (spot->block && (spot->block == actor.w->block || !plan->own)) return true;
    cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_WRONG_WINDOW, "0x%llx is %s", (unsigned long long)address,
                   spot->block ? "an address of another block, which only arrive without a result may name"
                               : "no address of shared memory");
    return false;
}

static bool watch(cj_cpu_actor actor, unsigned flags, cj_scope scope, const cj_cpu_spot *at) {
    const cj_watch_use   use = {.flags = (uint8_t)flags, .scope = (uint8_t)scope};
    const cj_watch_place place = {at->block, at->address, CJ_MBARRIER_BYTES};
    return cj__watch_access(actor.w, actor.op, actor.lane, use, place) != CJ_STEP_STOP;
}

// The lanes from lane i on that name the same place as it does, one after another.
static uint32_t neighbours(cj_cpu_actor actor, uint32_t mask) {
    const uint64_t address = cj__cpu_address(actor.w, actor.op, 0, actor.lane);
    uint32_t       lanes = 0;
    for (unsigned i = actor.lane; i < CJ_LANES && mask >> i & 1; i++) {
        if (cj__cpu_address(actor.w, actor.op, 0, i) != address) break;
        lanes |= 1u << i;
    }
    return lanes;
}

// The mbarrier that these neighbours wait for; NULL when a hazard was reported.
static cj_cpu_mbarrier *find_together(cj_cpu_actor actor, const mbarrier_plan *plan, uint32_t lanes) {
    const cj_watch_use use = {.flags = CJ_USE_READ | CJ_USE_INIT, .scope = (uint8_t)plan->scope};
    cj_cpu_spot        spot;
    if (!locate(actor, 0, plan, &spot)) return NULL;
    cj__watch_access_together(actor.w, actor.op, lanes, use,
                              (cj_watch_place){spot.block, spot.address, CJ_MBARRIER_BYTES});
    return cj__cpu_mbarrier_at(actor, &spot);
}

// The mbarrier that lane i's operation names; NULL when a hazard was reported.
static cj_cpu_mbarrier *find(cj_cpu_actor actor, const mbarrier_plan *plan) {
    cj_cpu_spot spot;
    if (!locate(actor, 0, plan, &spot) || !watch(actor, CJ_USE_READ | CJ_USE_INIT, plan->scope, &spot)) return NULL;
    return cj__cpu_mbarrier_at(actor, &spot);
}

static cj_order order_of(const mbarrier_plan *plan) { return plan->relaxed ? CJ_ORDER_RELAXED : CJ_ORDER_FULL; }

// ---- init and inval. Slot: arrivals.

CJ_EXEC(mbarrier_init) {
    const lane_u32 *count = CJ_LANES_OF(const lane_u32, 0);
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor actor = {w, op, i};
        cj_cpu_spot        spot;
        if (!locate(actor, 0, plan_of(op), &spot)) return CJ_STEP_STOP;
        if (!watch(actor, CJ_USE_WRITE | CJ_USE_INIT, CJ_SCOPE_WEAK, &spot)) return CJ_STEP_STOP;
        if (!cj__cpu_mbarrier_init(actor, &spot, count[i])) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(mbarrier_inval) {
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor actor = {w, op, i};
        cj_cpu_spot        spot;
        if (!locate(actor, 0, plan_of(op), &spot)) return CJ_STEP_STOP;
        if (!watch(actor, CJ_USE_WRITE, CJ_SCOPE_WEAK, &spot)) return CJ_STEP_STOP;
        if (!cj__cpu_mbarrier_inval(actor, &spot)) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

// ---- arrivals. Slots: state or the sink, count or bytes or none.

static bool arrive(cj_cpu_actor actor, const mbarrier_plan *plan, cj_cpu_mbarrier *m, uint32_t operand) {
    const uint32_t count = plan->expects ? 1 : operand;
    if (plan->expects && !cj__cpu_mbarrier_transact(actor, m, operand)) return false;
    if (!plan->may_complete && count >= m->pending) {
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_MBARRIER_COUNT,
                       "%u arrivals complete the phase, which waits for %u", count, m->pending);
        return false;
    }
    cj__sync_release(actor.w, 1u << actor.lane, &m->sync, order_of(plan));
    return cj__cpu_mbarrier_arrive(actor, m, count, plan->leaves);
}

CJ_EXEC(mbarrier_arrive) {
    const mbarrier_plan *plan = plan_of(op);
    const lane_u32      *operand = plan->operand == CJ_SLOT_NONE ? NULL : CJ_LANES_OF(const lane_u32, plan->operand);
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor actor = {w, op, i};
        cj_cpu_mbarrier   *m = find(actor, plan);
        if (!m) return CJ_STEP_STOP;
        const uint64_t state = cj__cpu_mbarrier_state(m);
        if (!arrive(actor, plan, m, operand ? operand[i] : 1)) return CJ_STEP_STOP;
        if (plan->result != CJ_SLOT_NONE) CJ_LANES_OF(lane_u64, plan->result)[i] = state;
    }
    cj__watch_released(w);
    return CJ_STEP_NEXT;
}

// ---- transactions. Slot: bytes.

CJ_EXEC(mbarrier_transact) {
    const mbarrier_plan *plan = plan_of(op);
    const lane_u32      *bytes = CJ_LANES_OF(const lane_u32, 0);
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor actor = {w, op, i};
        cj_cpu_mbarrier   *m = find(actor, plan);
        if (!m || !cj__cpu_mbarrier_transact(actor, m, plan->sign * (int64_t)bytes[i])) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

// ---- waiting. Slots: result, state or parity, time limit or none.
//
// A lane whose phase is not complete waits and tries again. When nothing else can happen in the cluster, its time limit
// is over and it gets false. test_wait answers false at once the first time; a lane that asks again waits, too, so that
// a loop around it does not starve the threads that will arrive.

// Whether the phase that lane i names is complete; *sound is false when a hazard was reported.
static bool is_complete(cj_cpu_actor actor, const cj_cpu_mbarrier *m, bool *sound) {
    const mbarrier_plan *plan = plan_of(actor.op);
    const uint32_t       phases = (1u << CJ_MBARRIER_PHASE_BITS) - 1;
    const void          *given = actor.w->file + actor.op->slot[1];
    if (plan->by_parity) {
        const uint32_t parity = ((const lane_u32 *)given)[actor.lane];
        *sound = parity <= 1;
        if (!*sound)
            cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_MBARRIER_PHASE, "parity %u; it is 0 or 1", parity);
        return (m->phase & 1) != parity;
    }
    const uint32_t lag = (m->phase - (uint32_t)(((const lane_u64 *)given)[actor.lane] >> 40)) & phases;
    *sound = lag <= 1;
    if (!*sound) {
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_MBARRIER_PHASE,
                       "the state is of a phase that is neither the running one, %u, nor the one before", m->phase);
    }
    return lag == 1;
}

// Whether all lanes still have to wait: no phase that they ask about has completed since they asked last.
static bool waits_on(const cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const cj_cpu_poll *poll) {
    const cj_cpu_mbarriers *mbarriers = &w->block->cluster->async->mbarriers;
    if (poll->op != op || poll->waiting != mask) return false;
    if (poll->flips == mbarriers->flips) return true;
    return poll->one && poll->inits == mbarriers->inits && poll->one->phase == poll->phase;
}

static void keep_need(cj_cpu_actor actor, const cj_cpu_mbarrier *m) {
    cj__cpu_async_groups(actor.w, actor.lane)->need = (cj_cpu_need){
        .op = actor.op, .signal = CJ_SIGNAL_MBARRIER, .block = m->block, .offset = m->offset, .phase = m->phase};
}

static void acquire(cj_cpu_warp *w, uint32_t mask, const mbarrier_plan *plan, cj_cpu_mbarrier *m) {
    if (mask) cj__sync_acquire(w, mask, &m->sync, order_of(plan));
}

// Answers each lane; *done gets the lanes whose phase is complete. Lanes that ask about one mbarrier acquire together.
// `expired`: lanes that have asked before stop waiting.
static bool ask(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, bool expired, cj_cpu_poll *poll, uint32_t *done) {
    const mbarrier_plan *plan = plan_of(op);
    cj_cpu_mbarrier     *from = NULL, *m = NULL;
    uint32_t             acquiring = 0, found = 0;
    poll->one = NULL;
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor actor = {w, op, i};
        const uint32_t     bit = 1u << i;
        bool               sound;
        if (!(found & bit) && !(m = find_together(actor, plan, found = neighbours(actor, mask)))) return false;
        const bool complete = is_complete(actor, m, &sound);
        if (!sound) return false;
        const bool gives_up = poll->lanes & bit ? expired : plan->polls;
        if (m != from) acquire(w, acquiring, plan, from), acquiring = 0;
        poll->one = !from || poll->one == m ? m : NULL;
        from = m;
        if (complete)
            acquiring |= bit, *done |= bit;
        else if (!gives_up)
            w->waiting |= bit, keep_need(actor, m);
        if (complete || (gives_up && !plan->polls))
            poll->lanes &= ~bit;
        else
            poll->lanes |= bit;
    }
    acquire(w, acquiring, plan, from);
    return true;
}

CJ_EXEC(mbarrier_wait) {
    cj_cpu_poll *poll = cj__cpu_async_poll(w);
    const bool   expired = cj__cpu_async_timeout(w) || cj__cpu_async_tires(w);
    uint32_t     done = 0;
    w->waiting = mask;
    if (!expired && waits_on(w, op, mask, poll)) return CJ_STEP_WAIT;
    w->waiting = 0;
    if (!ask(w, op, mask, expired, poll, &done)) return CJ_STEP_STOP;
    poll->op = w->waiting == mask ? op : NULL;
    poll->waiting = mask;
    poll->phase = poll->one ? poll->one->phase : 0;
    poll->flips = w->block->cluster->async->mbarriers.flips;
    poll->inits = w->block->cluster->async->mbarriers.inits;
    cj__cpu_predicate_set(w->file + op->slot[0], mask & ~w->waiting, done);
    return w->waiting ? CJ_STEP_WAIT : CJ_STEP_NEXT;
}

// ---- states. Slots: arrivals, state.

CJ_EXEC(mbarrier_pending) {
    lane_u32       *d = CJ_LANES_OF(lane_u32, 0);
    const lane_u64 *state = CJ_LANES_OF(const lane_u64, 1);
    CJ_SOME_LANES(i, mask) d[i] = (uint32_t)state[i] & CJ_MBARRIER_COUNT_MAX;
    return CJ_STEP_NEXT;
}

// ---- cp.async.mbarrier.arrive

// The watch sees the arrival when it is made, not this instruction. A thread that waits for the arrival comes after both.
CJ_EXEC(copies_arrive) {
    const mbarrier_plan *plan = plan_of(op);
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor actor = {w, op, i};
        cj_cpu_transfer    transfer = {.actor = actor, .signal = CJ_SIGNAL_COPY_ARRIVAL};
        cj_cpu_mbarrier *m = locate(actor, 0, plan, &transfer.mbarrier) ? cj__cpu_mbarrier_at(actor, &transfer.mbarrier)
                                                                        : NULL;
        if (!m || (plan->expects && !cj__cpu_mbarrier_join(actor, m))) return CJ_STEP_STOP;
        if (cj__cpu_async_begin(transfer)) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

// ---- selectors

static cj_word space_of(const cj_cpu_prepare *p) {
    static const cj_word spaces[] = {CJ_W_SHARED_CLUSTER, CJ_W_SHARED_CTA, CJ_W_SHARED};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (cj__cpu_has(p, spaces[i])) return spaces[i];
    }
    return CJ_WORD_NONE;
}

static mbarrier_plan *select_plan(cj_cpu_prepare *p, cj_cpu_exec run) {
    mbarrier_plan *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan) return NULL;
    plan->space = space_of(p);
    plan->own = true;
    plan->may_complete = !cj__cpu_has(p, CJ_W_NOCOMPLETE);
    plan->expects = cj__cpu_has(p, CJ_W_EXPECT_TX);
    plan->leaves = cj__cpu_has(p, CJ_W_ARRIVE_DROP);
    plan->relaxed = cj__cpu_has(p, CJ_W_RELAXED);
    plan->scope = cj__cpu_has(p, CJ_W_CLUSTER) || plan->space == CJ_W_SHARED_CLUSTER ? CJ_SCOPE_CLUSTER : CJ_SCOPE_CTA;
    plan->result = plan->operand = CJ_SLOT_NONE;
    p->op.plan = plan;
    p->op.run = run;
    return plan;
}

bool cj__cpu_select_mbarrier_init(cj_cpu_prepare *p) { return select_plan(p, mbarrier_init); }
bool cj__cpu_select_mbarrier_inval(cj_cpu_prepare *p) { return select_plan(p, mbarrier_inval); }

// An arrival whose result is the sink may name an mbarrier of another block.
bool cj__cpu_select_mbarrier_arrive(cj_cpu_prepare *p) {
    mbarrier_plan *plan = select_plan(p, mbarrier_arrive);
    if (!plan) return false;
    const bool returns = p->inst->operand[0].kind != CJ_OPERAND_SINK;
    if (returns) plan->result = 0;
    if (p->slot_count > 1 && p->slot[1] != CJ_SLOT_NONE) plan->operand = 1;
    plan->own = returns;
    return true;
}

bool cj__cpu_select_mbarrier_transact(cj_cpu_prepare *p) {
    mbarrier_plan *plan = select_plan(p, mbarrier_transact);
    if (!plan) return false;
    plan->own = false;
    plan->sign = plan->expects ? 1 : -1;
    return true;
}

bool cj__cpu_select_mbarrier_wait(cj_cpu_prepare *p) {
    mbarrier_plan *plan = select_plan(p, mbarrier_wait);
    if (!plan) return false;
    plan->by_parity = cj__cpu_has(p, CJ_W_PARITY);
    plan->polls = cj__cpu_has(p, CJ_W_TEST_WAIT);
    return true;
}

bool cj__cpu_select_mbarrier_pending(cj_cpu_prepare *p) {
    p->op.run = mbarrier_pending;
    return true;
}

bool cj__cpu_select_copies_arrive(cj_cpu_prepare *p) {
    mbarrier_plan *plan = select_plan(p, copies_arrive);
    if (!plan) return false;
    plan->expects = !cj__cpu_has(p, CJ_W_NOINC);
    return true;
}
