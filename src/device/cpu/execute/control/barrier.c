// SPDX-License-Identifier: Apache-2.0
// Named barriers of a block and the barrier of a cluster (PTX ISA, "bar, barrier", "barrier.cluster").
//
// bar.sync is lowered into an arrival and a wait, so that a wait can be tried again without arriving again. A lane
// waits for the phase in which it arrived: a hidden register holds that phase for a named barrier; two masks of the
// warp hold it for the cluster's barrier, of which a thread has one at most. No barrier waits for threads that have
// exited.
#include "barrier.h"

#include "async.h"
#include "exec.h"
#include "watch.h"

// Lanes that reach an .aligned instruction without the rest of their warp wait for the rest.
static bool apart(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    w->waiting = mask;
    return op->aligned && mask != w->live;
}

// ---- named barriers. Slots: barrier, threads or none, phase (hidden); and predicate and result, or none.

enum { BARRIER, THREADS, PHASE, PREDICATE, RESULT, SLOTS };

static void complete_if_full(cj_cpu_block *block, cj_cpu_barrier *barrier) {
    uint32_t threads = 0;
    bool     everyone = true;
    for (uint32_t i = 0; i < block->cluster->launch->warps; i++) {
        const uint32_t here = barrier->lanes[i], missing = block->warp[i].live & ~here;
        if (missing) everyone = false;
        if (here) threads += missing ? cj__cpu_count(here) : CJ_LANES;
    }
    if (!barrier->used || (barrier->expected ? threads < barrier->expected : !everyone)) return;
    cj__watch_barrier(block, barrier);
    const cj_cpu_barrier full = *barrier;
    *barrier = (cj_cpu_barrier){.phase = full.phase + 1, .before = {full.before[0], full.before[1]}};
    barrier->before[full.phase % 2] = full.tally;
}

static void vote(const cj_cpu_warp *w, const cj_cpu_op *op, uint32_t lanes, cj_cpu_tally *tally) {
    if (op->slot[PREDICATE] == CJ_SLOT_NONE) return;
    const uint32_t yes = lanes & cj__cpu_predicate(w, op, PREDICATE);
    tally->yes += cj__cpu_count(yes);
    tally->no += cj__cpu_count(lanes & ~yes);
}

// op->mode: whether the instruction also waits.
static cj_cpu_step arrive(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t lanes, uint32_t index, uint32_t expected) {
    const uint32_t lane = cj__cpu_first(lanes);
    if (index >= CJ_BARRIERS) {
        return cj__cpu_hazard(w, op, lane, CJ_HAZARD_BARRIER_NUMBER, "barrier %u; there are 0 to %d", index,
                              CJ_BARRIERS - 1);
    }
    cj_cpu_barrier *barrier = &w->block->barrier[index];
    if (expected % CJ_LANES) {
        return cj__cpu_hazard(w, op, lane, CJ_HAZARD_BARRIER_COUNT,
                              "a count of %u threads; it must be a multiple of %d", expected, CJ_LANES);
    }
    if (barrier->used && barrier->expected != expected) {
        return cj__cpu_hazard(w, op, lane, CJ_HAZARD_BARRIER_COUNT,
                              "barrier %u for %u threads, but others have arrived there for %u (0: the block)", index,
                              expected, barrier->expected);
    }
    if (barrier->lanes[w->index] & lanes) {
        return cj__cpu_hazard(w, op, cj__cpu_first(barrier->lanes[w->index] & lanes), CJ_HAZARD_DOUBLE_ARRIVE,
                              "arrives again at barrier %u, which has not completed since", index);
    }
    if (expected && !cj__watch_gather(w, lanes, index)) {
        return cj__cpu_hazard(
            w, op, lane, CJ_HAZARD_BARRIER_SHARED,
            "arrives at barrier %u, at which other threads have synchronized, and nothing orders the two: it "
            "could have arrived with them",
            index);
    }
    barrier->used = true;
    barrier->expected = expected;
    barrier->lanes[w->index] |= lanes;
    if (op->mode) barrier->waits[w->index] |= lanes;
    vote(w, op, lanes, &barrier->tally);
    cj__sync_release(w, lanes, &barrier->sync, CJ_ORDER_FULL);
    cj__watch_released(w);
    complete_if_full(w->block, barrier);
    return CJ_STEP_NEXT;
}

CJ_EXEC(bar_arrive) {
    if (apart(w, op, mask)) return CJ_STEP_WAIT;
    const lane_u32 *index = CJ_LANES_OF(const lane_u32, BARRIER);
    const lane_u32 *expected = op->slot[THREADS] == CJ_SLOT_NONE ? NULL : CJ_LANES_OF(const lane_u32, THREADS);
    lane_u32       *phase = CJ_LANES_OF(lane_u32, PHASE);
    for (uint32_t rest = mask, lanes; rest; rest &= ~lanes) {  // lanes that name the same barrier arrive at once
        const uint32_t first = cj__cpu_first(rest), threads = expected ? expected[first] : 0;
        lanes = 0;
        CJ_SOME_LANES(i, rest) {
            if (index[i] != index[first] || (expected && expected[i] != threads)) continue;
            lanes |= 1u << i;
            phase[i] = index[i] < CJ_BARRIERS ? w->block->barrier[index[i]].phase : 0;
        }
        if (arrive(w, op, lanes, index[first], threads)) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(bar_wait) {
    const lane_u32 *index = CJ_LANES_OF(const lane_u32, BARRIER), *phase = CJ_LANES_OF(const lane_u32, PHASE);
    w->waiting = 0;
    CJ_SOME_LANES(i, mask) {
        if (w->block->barrier[index[i]].phase == phase[i]) w->waiting |= 1u << i;
    }
    return w->waiting ? CJ_STEP_WAIT : CJ_STEP_NEXT;
}

// op->mode: POPC, AND, OR.
CJ_EXEC(bar_red_wait) {
    const lane_u32   *index = CJ_LANES_OF(const lane_u32, BARRIER), *phase = CJ_LANES_OF(const lane_u32, PHASE);
    const cj_cpu_step step = bar_wait(w, op, mask);
    CJ_SOME_LANES(i, mask & ~w->waiting) {
        const cj_cpu_tally all = w->block->barrier[index[i]].before[phase[i] % 2];
        const bool         holds = op->mode == CJ_W_AND ? !all.no : all.yes;
        if (op->mode == CJ_W_POPC)
            CJ_LANES_OF(lane_u32, RESULT)[i] = all.yes;
        else
            cj__cpu_predicate_set(w->file + op->slot[RESULT], 1u << i, holds ? CJ_ALL_LANES : 0);
    }
    return step;
}

// bar.… is always aligned, barrier.… if it says .aligned.
static bool set_aligned(cj_cpu_prepare *p) {
    p->op.aligned = (p->inst->row->effects & CJ_CONVERGENT) || cj__cpu_has(p, CJ_W_ALIGNED);
    return true;
}

static bool set_arrive(cj_cpu_prepare *p, const uint32_t operand[SLOTS]) {
    uint32_t *slot = cj__cpu_keep(p, SLOTS * sizeof *slot);
    if (!slot) return false;
    memcpy(slot, operand, SLOTS * sizeof *slot);
    slot[PHASE] = cj__cpu_place(p, 32);
    p->op.slot = slot;
    p->op.run = bar_arrive;
    return set_aligned(p);
}

static bool set_wait(cj_cpu_prepare *p, cj_cpu_exec wait) {
    if (!cj__cpu_append(p)) return false;
    p->op.run = wait;
    p->op.aligned = false;
    return true;
}

bool cj__cpu_select_bar_arrive(cj_cpu_prepare *p) {
    return set_arrive(p, (uint32_t[SLOTS]){p->slot[0], p->slot[1], 0, CJ_SLOT_NONE, CJ_SLOT_NONE});
}

bool cj__cpu_select_bar_sync(cj_cpu_prepare *p) {
    p->op.mode = true;
    return cj__cpu_select_bar_arrive(p) && set_wait(p, bar_wait);
}

// Operands: d, barrier, threads if they are written, predicate.
bool cj__cpu_select_bar_red(cj_cpu_prepare *p) {
    const uint32_t last = p->slot_count - 1, threads = last == 3 ? p->slot[2] : CJ_SLOT_NONE;
    p->op.mode = cj__cpu_has(p, CJ_W_POPC) ? CJ_W_POPC : cj__cpu_has(p, CJ_W_AND) ? CJ_W_AND : CJ_W_OR;
    p->op.flip = p->op.flip >> last << PREDICATE;
    return set_arrive(p, (uint32_t[SLOTS]){p->slot[1], threads, 0, p->slot[last], p->slot[0]}) &&
           set_wait(p, bar_red_wait);
}

// ---- the cluster's barrier

static void complete_cluster_if_full(cj_cpu_cluster *cluster) {
    if (!cluster->arrived || cluster->arrived < cluster->live) return;
    cluster->phase++;
    cluster->arrived = 0;
    cj__sync_flip(&cluster->sync);
}

// The lanes of `mask` that arrived in the phase that has not completed yet.
static uint32_t pending(const cj_cpu_warp *w, uint32_t mask) {
    const uint32_t phase = w->block->cluster->phase & 1 ? CJ_ALL_LANES : 0;
    return mask & w->cluster_arrived & ~(w->cluster_parity ^ phase);
}

CJ_EXEC(cluster_arrive) {
    if (apart(w, op, mask)) return CJ_STEP_WAIT;
    cj_cpu_cluster *cluster = w->block->cluster;
    const uint32_t  again = w->cluster_arrived & mask;
    if (again)
        return cj__cpu_hazard(w, op, cj__cpu_first(again), CJ_HAZARD_DOUBLE_ARRIVE,
                              "arrives a second time without a wait");
    w->cluster_arrived |= mask;
    w->cluster_parity = (w->cluster_parity & ~mask) | (cluster->phase & 1 ? mask : 0);
    cluster->arrived += cj__cpu_count(mask);
    cj__sync_release(w, mask, &cluster->sync, (cj_order)op->mode);
    cj__watch_released(w);
    complete_cluster_if_full(cluster);
    return CJ_STEP_NEXT;
}

CJ_EXEC(cluster_wait) {
    if (apart(w, op, mask)) return CJ_STEP_WAIT;
    cj_cpu_cluster *cluster = w->block->cluster;
    const uint32_t  early = mask & ~w->cluster_arrived;
    if (early)
        return cj__cpu_hazard(w, op, cj__cpu_first(early), CJ_HAZARD_WAIT_WITHOUT_ARRIVE,
                              "waits without having arrived");
    const uint32_t wait = pending(w, mask);
    w->waiting = wait && op->aligned ? mask : wait;
    w->cluster_arrived &= ~(mask & ~w->waiting);
    cj__sync_acquire(w, mask & ~w->waiting, &cluster->sync, CJ_ORDER_FULL);
    return w->waiting ? CJ_STEP_WAIT : CJ_STEP_NEXT;
}

bool cj__cpu_select_cluster_arrive(cj_cpu_prepare *p) {
    p->op.run = cluster_arrive;
    p->op.mode = cj__cpu_has(p, CJ_W_RELAXED) ? CJ_ORDER_RELAXED : CJ_ORDER_FULL;
    return set_aligned(p);
}

bool cj__cpu_select_cluster_wait(cj_cpu_prepare *p) {
    p->op.run = cluster_wait;
    return set_aligned(p);
}

// ---- exit

void cj__cpu_barriers_leave(cj_cpu_warp *w, uint32_t mask) {
    cj_cpu_block   *block = w->block;
    cj_cpu_cluster *cluster = block->cluster;
    cluster->arrived -= cj__cpu_count(pending(w, mask));
    block->live -= cj__cpu_count(mask);
    if (!block->live) cj__cpu_async_leave(block);
    cluster->live -= cj__cpu_count(mask);
    for (unsigned i = 0; i < CJ_BARRIERS; i++) {
        if (block->barrier[i].used) complete_if_full(block, &block->barrier[i]);
    }
    complete_cluster_if_full(cluster);
    cj__watch_exit(w, mask);
}
