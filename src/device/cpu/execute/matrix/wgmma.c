// SPDX-License-Identifier: Apache-2.0
// Matrices of a warp group, multiplied asynchronously (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
//
// Each of the four warps multiplies its own 16 rows of A, as N / 8 products of m16n8, by itself: wgmma.mma_async only
// records the multiplication. It is executed late: when wgmma.wait_group asks for it; a random schedule may draw that it is
// executed at once, or at any commit after the instruction. Registers and shared memory are read then, and D is written then. So a kernel that does
// not wait reads old values, and a kernel that changes an operand too early gets a wrong result. In a watched launch a
// checksum of the registers in flight finds such a change.
//
// The four warps' parts are one multiplication: it has ended once any of them has passed a wait_group for it. So the
// first warp that passes executes all four parts, and every warp that passes learns of the reads of all four: each of
// them may free the shared memory for the whole warpgroup, as mainloops do by one thread's arrival at an mbarrier.
#include "wgmma.h"

#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "allocate.h"
#include "async.h"
#include "exec.h"
#include "random.h"
#include "watch.h"
#include "wgmma_parts.h"

enum { GROUP = CJ_WGMMA_WARPS, GROUP_THREADS = GROUP * CJ_LANES, ROWS = 16, PANEL = CJ_WGMMA_PANEL };
enum { A = 1, B };  // operands

// ---- registers of multiplications in flight, in watched launches

// What the multiplications in flight do with a register. In a file of marks each register of 128 bytes has its own.
struct cj_cpu_wgmma_mark {
    uint32_t written;  // one more than the number of the last one that writes it, in flight or not
    uint32_t sealed;   // so many in flight have it in their seals
};

enum {
    MARK_BYTES = CJ_LANES * 4,
    SEALS = CJ_LANES / 2  // sums beside each other: a single one would wait for each of its multiplications
};

static cj_cpu_wgmma_mark *mark_of(const cj_cpu_warp *w, uint32_t slot) { return &w->wgmma.mark[slot / MARK_BYTES]; }

static bool has_marks(cj_cpu_warp *w) {
    const size_t count = w->block->cluster->launch->program->file_bytes / MARK_BYTES + 1;
    if (!w->wgmma.mark) w->wgmma.mark = cj__calloc(count, sizeof *w->wgmma.mark);
    return w->wgmma.mark;
}

// Calls `visit` for each register in a seal: those of A and the metadata. Those of D need none: `touch` reports each instruction
// that names them.
static void visit_sealed(const cj_cpu_wgmma *it, void (*visit)(const cj_cpu_warp *w, uint32_t slot, void *context),
                         void               *context) {
    const cj_wgmma_plan *plan = it->op->plan;
    for (unsigned k = plan->a_at; !plan->a_in_memory && k < plan->b_at; k++) visit(it->w, it->op->slot[k], context);
    if (plan->metadata_at) visit(it->w, it->op->slot[plan->metadata_at], context);
}

static void add_to_seal(const cj_cpu_warp *w, uint32_t slot, void *context) {
    uint64_t       *sum = context;
    const lane_u64 *lanes = (const lane_u64 *)(const void *)(w->file + slot);
    for (unsigned i = 0; i < SEALS; i++) sum[i] = (sum[i] ^ lanes[i]) * 0x100000001b3u;
}

static uint64_t seal_of(const cj_cpu_wgmma *it) {
    uint64_t sum[SEALS] = {0}, all = 0;
    visit_sealed(it, add_to_seal, sum);
    for (unsigned i = 0; i < SEALS; i++) all = (all ^ sum[i]) * 0x100000001b3u;
    return all;
}

static void count_sealed(const cj_cpu_warp *w, uint32_t slot, void *change) {
    mark_of(w, slot)->sealed += *(const uint32_t *)change;
}

// Seals a multiplication that begins, and marks its registers.
static void mark_begun(cj_cpu_wgmma *it) {
    const cj_wgmma_plan *plan = it->op->plan;
    for (unsigned k = 0; k < plan->a_at; k++) mark_of(it->w, it->op->slot[k])->written = it->number + 1;
    visit_sealed(it, count_sealed, &(uint32_t){1});
    it->seal = seal_of(it);
}

// Whether no instruction has written its registers since it began. Only watched launches know.
static bool is_sealed(const cj_cpu_wgmma *it) {
    if (!it->w->watch || seal_of(it) == it->seal) return true;
    cj__cpu_hazard(it->w, it->op, 0, CJ_HAZARD_WGMMA_REGISTERS,
                   "registers of its operands were written while it was in flight");
    return false;
}

// A multiplication has written D, which may be operands of others in flight: the checksums of these are made anew.
static void seal_others(const cj_cpu_wgmma *it) {
    const cj_wgmma_plan *plan = it->op->plan;
    const cj_cpu_warp   *w = it->w;
    bool                 is_operand = false;
    for (unsigned k = 0; w->watch && k < plan->a_at; k++) is_operand |= mark_of(w, it->op->slot[k])->sealed > 0;
    for (cj_cpu_wgmma *other = w->wgmma.first; is_operand && other; other = other->next) other->seal = seal_of(other);
}

// ---- multiplications in flight

static void drop_first(cj_cpu_warp *w) {
    cj_cpu_wgmma *it = w->wgmma.first;
    w->wgmma.first = it->next;
    if (!it->next) w->wgmma.last = NULL;
    if (w->wgmma.pending == it) w->wgmma.pending = it->next;
    if (w->wgmma.mark) visit_sealed(it, count_sealed, &(uint32_t){UINT32_MAX});
    if (w->watch) cj__watch_end(&it->watch);
    if (w->watch) cj__sync_free(&it->ended);
    it->next = w->wgmma.spare;
    w->wgmma.spare = it;
}

// One that begins: of those that have ended, or a new one; NULL when out of memory.
static cj_cpu_wgmma *take_spare(cj_cpu_warp *w) {
    cj_cpu_wgmma *it = w->wgmma.spare;
    if (!it) return cj__malloc(sizeof *it);
    w->wgmma.spare = it->next;
    return it;
}

void cj__cpu_wgmma_drop(cj_cpu_warp *w) {
    while (w->wgmma.first) drop_first(w);
    for (cj_cpu_wgmma *it; (it = w->wgmma.spare); cj__free(it)) w->wgmma.spare = it->next;
    cj__free(w->wgmma.mark);
    w->wgmma.mark = NULL;
}

// Executes those parts of one multiplication that have not been executed; in each warp those before them have been.
static bool execute_once(cj_cpu_wgmma *const *part, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        cj_cpu_wgmma *same[GROUP];
        unsigned      found = 0;
        for (unsigned k = i; k < count && !part[i]->done; k++) {
            if (!part[k]->done && part[k]->op == part[i]->op && part[k]->b == part[i]->b) same[found++] = part[k];
        }
        if (found && !cj__wgmma_execute(same, found)) return false;
        for (unsigned k = 0; k < found; k++) seal_others(same[k]);
    }
    return true;
}

static cj_cpu_warp *warps_of(const cj_cpu_warp *w) { return &w->block->warp[w->index / GROUP * GROUP]; }

// The parts of a warp's first pending multiplication that warps have in flight: a warp may have exited without waiting for its
// own. All parts of one end together, so it is the first pending one of each warp.
static unsigned pending_parts(const cj_cpu_warp *w, cj_cpu_wgmma *part[GROUP]) {
    unsigned count = 0;
    for (unsigned i = 0; i < GROUP; i++) {
        cj_cpu_wgmma *it = warps_of(w)[i].wgmma.pending;
        if (it && it->number == w->wgmma.pending->number) part[count++] = it;
    }
    return count;
}

// Goes on to the next multiplication if it ends together with this one: in each warp both are in one group.
static bool next_parts(cj_cpu_wgmma *part[GROUP], unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (!part[i]->next || part[i]->next->group != part[i]->group) return false;
    }
    for (unsigned i = 0; i < count; i++) part[i] = part[i]->next;
    return true;
}

// Executes all four parts of the multiplications that end together with a warp's first one in flight. Each part's sync
// object then holds the reads of all.
static bool end_for_group(cj_cpu_warp *w) {
    cj_cpu_wgmma  *part[GROUP];
    const unsigned count = pending_parts(w, part);
    cj_sync        ended = {0};
    bool           ok = true;
    do {
        for (unsigned i = 0; i < count && ok; i++) ok = is_sealed(part[i]);
        ok = ok && execute_once(part, count);
        for (unsigned i = 0; i < count && ok && w->watch; i++) cj__sync_complete(&part[i]->watch, true, &ended);
    } while (ok && next_parts(part, count));
    for (unsigned i = 0; i < count && ok; i++) {
        cj_cpu_wgmma *const end = part[i]->next, *it = part[i]->w->wgmma.pending;
        for (; it != end; it = it->next) {
            it->has_ended = true;
            if (w->watch) it->ended.complete = cj__clock_hold(ended.gathering);
        }
        part[i]->w->wgmma.pending = end;
    }
    if (w->watch) cj__sync_free(&ended);
    return ok;
}

// The warp has waited for its first multiplication in flight: the reads of all parts that end with it are now ordered
// before the warp's next accesses. *last: what ended before it.
static bool finish_first(cj_cpu_warp *w, cj_sync *last) {
    cj_cpu_wgmma *it = w->wgmma.first;
    if (!is_sealed(it)) return false;
    if (!it->has_ended && !end_for_group(w)) return false;
    if (it->ended.complete != last->complete) {
        cj__sync_free(last);
        *last = it->ended;
        it->ended = (cj_sync){0};
        cj__sync_acquire(w, CJ_ALL_LANES, last, CJ_ORDER_FULL);
    }
    drop_first(w);
    return true;
}

static bool has_pace(const cj_cpu_warp *w, cj_cpu_pace pace) {
    return w->block->cluster->async->pace[CJ_KIND_WGMMA] == pace;
}

// Executes some multiplications in flight, in order, if the schedule is random.
static bool execute_some(cj_cpu_warp *w) {
    cj_cpu_cluster *cluster = w->block->cluster;
    if (!cluster->launch->options.random_schedule || !has_pace(w, CJ_PACE_ANY)) return true;
    for (cj_cpu_wgmma *it = w->wgmma.first; it && cj__cpu_draw(cluster, 2); it = it->next) {
        if (!is_sealed(it) || !execute_once(&it, 1)) return false;
    }
    return true;
}

// ---- instructions

// As cj__cpu_whole_warp, for a warpgroup: the block must have all four warps.
static cj_cpu_step whole_group(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    const uint32_t threads = w->block->cluster->launch->threads;
    if (threads >= (w->index / GROUP + 1) * GROUP_THREADS) return cj__cpu_whole_warp(w, op, mask);
    return cj__cpu_hazard(w, op, cj__cpu_first(mask), CJ_HAZARD_DIVERGENT,
                          "takes a whole warp group, %d threads, but the block's last one has %u", GROUP_THREADS,
                          threads % GROUP_THREADS);
}

CJ_EXEC(fence) {
    const cj_cpu_step step = whole_group(w, op, mask);
    w->wgmma.fenced |= !step;
    return step;
}

// Field by field: to clear the whole record first takes as long as a small product's sums.
static void begin(cj_cpu_warp *w, const cj_cpu_op *op, cj_cpu_wgmma *it) {
    const cj_wgmma_plan *plan = op->plan;
    it->next = NULL;
    it->w = w;
    it->op = op;
    it->a = plan->a_in_memory ? *CJ_LANES_OF(const lane_u64, plan->a_at) : 0;
    it->b = *CJ_LANES_OF(const lane_u64, plan->b_at);
    it->adds = *CJ_LANES_OF(const lane_u32, plan->adds_at) & 1;
    it->done = it->has_ended = false;
    it->number = w->wgmma.begun++;
    it->group = w->wgmma.groups;
    it->ended = (cj_sync){0};
    it->seal = 0;
    if (w->watch)
        it->watch = cj__watch_fork(w, op, 0);
    else
        it->watch.block = NULL;
}

CJ_EXEC(mma_async) {
    const cj_cpu_step step = whole_group(w, op, mask);
    if (step) return step;
    if (!w->wgmma.fenced) {
        return cj__cpu_hazard(w, op, 0, CJ_HAZARD_WGMMA_REGISTERS, "no wgmma.fence stands before the first one");
    }
    cj_cpu_wgmma *it = take_spare(w);
    if (!it || (w->watch && !has_marks(w))) {
        cj__free(it);
        w->block->cluster->status = CJ_OUT_OF_MEMORY;
        return CJ_STEP_STOP;
    }
    begin(w, op, it);
    *(w->wgmma.last ? &w->wgmma.last->next : &w->wgmma.first) = it;
    if (!w->wgmma.pending) w->wgmma.pending = it;
    w->wgmma.last = it;
    if (w->watch) mark_begun(it);
    return !has_pace(w, CJ_PACE_AT_ONCE) || execute_once(&it, 1) ? CJ_STEP_NEXT : CJ_STEP_STOP;
}

CJ_EXEC(commit_group) {
    const cj_cpu_step step = whole_group(w, op, mask);
    if (step) return step;
    w->wgmma.groups++;
    return execute_some(w) ? CJ_STEP_NEXT : CJ_STEP_STOP;
}

// Whether the other three warps have begun as many multiplications: one that only some warps execute never completes.
static bool group_is_here(const cj_cpu_warp *w) {
    const cj_cpu_warp *warps = warps_of(w);
    for (unsigned i = 0; i < GROUP; i++) {
        if (warps[i].wgmma.begun < w->wgmma.begun) return false;
    }
    return true;
}

// op->mode: how many of the groups may still be in flight.
CJ_EXEC(wait_group) {
    const cj_cpu_step step = whole_group(w, op, mask);
    if (step) return step;
    w->waiting = mask;
    if (!group_is_here(w)) return CJ_STEP_WAIT;
    cj_sync last = {0};
    bool    ok = true;
    while (ok && w->wgmma.first && (uint64_t)w->wgmma.first->group + op->mode < w->wgmma.groups) {
        ok = finish_first(w, &last);
    }
    if (w->watch) cj__sync_free(&last);
    return ok ? CJ_STEP_NEXT : CJ_STEP_STOP;
}

// ---- selectors

static bool select(cj_cpu_prepare *p, cj_cpu_exec run) {
    p->op.run = run;
    return p->op.aligned = true;
}

bool cj__cpu_select_wgmma_fence(cj_cpu_prepare *p) { return select(p, fence); }
bool cj__cpu_select_wgmma_commit(cj_cpu_prepare *p) { return select(p, commit_group); }

bool cj__cpu_select_wgmma_wait(cj_cpu_prepare *p) {
    p->op.mode = (uint16_t)p->inst->operand[0].bits;
    return select(p, wait_group);
}

// The value of operand k, a constant; 0 if the instruction has no such operand.
static int64_t constant(const cj_cpu_prepare *p, unsigned k) {
    return k < p->inst->operand_count ? (int64_t)p->inst->operand[k].bits : 0;
}

// `adds`: the index of the predicate among operands and slots. After it come signs of A and B, then, for the matrices
// in memory, whether they are transposed, which is not by k.
static bool finish_select(cj_cpu_prepare *p, cj_wgmma_plan *plan, unsigned adds) {
    const unsigned scale = adds + 1, transposed = adds + 3;
    plan->b_at = plan->a_at + (plan->a_in_memory ? 1 : plan->product.a.registers);
    plan->adds_at = plan->b_at + adds - B;
    plan->sign = (constant(p, scale) < 0) != (constant(p, scale + 1) < 0) ? -1 : 1;
    plan->a_by_k = !plan->a_in_memory || !constant(p, transposed);
    plan->b_by_k = !constant(p, plan->a_in_memory ? transposed + 1 : transposed);
    p->op.plan = plan;
    return select(p, mma_async) && p->slot_count > plan->adds_at;
}

static cj_wgmma_plan *begin_select(cj_cpu_prepare *p, const cj_element *type[CJ_ELEMENTS_MAX]) {
    const cj_shape all = cj__shape_of(p->mnemonic), part = {ROWS, PANEL, all.k};
    cj_wgmma_plan *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan || cj__elements_of(p->mnemonic, type) < 3) return NULL;
    plan->product = cj__product_make(p->mnemonic, part, type[0], type[1], type[2], type[0], 0);
    plan->panels = all.n / PANEL;
    plan->a_in_memory = p->inst->operand[A].kind != CJ_OPERAND_VECTOR;
    plan->a_at = plan->panels * plan->product.d.registers;
    return plan;
}

bool cj__cpu_select_wgmma(cj_cpu_prepare *p) {
    const cj_element *type[CJ_ELEMENTS_MAX];
    cj_wgmma_plan    *plan = begin_select(p, type);
    return plan && finish_select(p, plan, B + 1);
}

bool cj__cpu_select_wgmma_sparse(cj_cpu_prepare *p) {
    enum { SELECTOR = B + 2 };
    const cj_element *type[CJ_ELEMENTS_MAX];
    cj_wgmma_plan    *plan = begin_select(p, type);
    if (!plan) return false;
    cj__product_make_sparse(&plan->product);
    if (!cj__sparse_select(p, SELECTOR, &plan->product, &plan->sparse)) return false;
    if (!finish_select(p, plan, SELECTOR + 1)) return false;
    plan->metadata_at = plan->b_at + 1;
    const unsigned rows = plan->product.tiling.panel.rows, stored = plan->product.tiling.stored;
    for (unsigned i = 0; i < rows * stored; i++) plan->stored_place[i] = (i % rows * stored + i / rows) * CJ_TILE_BYTES;
    return true;
}

// ---- accumulators in flight: an instruction that reads them early reads their old values

// An op that names accumulators: its own executor, and the accumulators.
struct cj_cpu_touch {
    cj_cpu_exec run;
    uint32_t    count;
    struct {
        const cj_ir_reg *reg;
        uint32_t         slot;
    } named[];
};

// Whether one in flight writes that register: the last one that does is in flight if the first one in flight is not later.
static bool is_written(const cj_cpu_warp *w, uint32_t slot) {
    return w->wgmma.mark && w->wgmma.first && mark_of(w, slot)->written > w->wgmma.first->number;
}

static bool has_accumulator(const cj_cpu_wgmma *it, uint32_t slot) {
    const cj_wgmma_plan *plan = it->op->plan;
    for (unsigned k = 0; k < plan->a_at; k++) {
        if (it->op->slot[k] == slot) return true;
    }
    return false;
}

static cj_cpu_step report_touch(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, uint32_t named) {
    const cj_cpu_touch *touch = op->touch;
    const cj_cpu_wgmma *it = w->wgmma.first;
    while (!has_accumulator(it, touch->named[named].slot)) it = it->next;
    return cj__cpu_hazard(w, op, cj__cpu_first(mask), CJ_HAZARD_WGMMA_REGISTERS,
                          "uses %s while the wgmma.mma_async at %s is in flight, which writes it",
                          touch->named[named].reg->name, cj__hazard_line(w->block->cluster->launch, it->op->line).text);
}

CJ_EXEC(touch) {
    const cj_cpu_touch *touch = op->touch;
    for (uint32_t i = 0; w->watch && i < touch->count; i++) {
        if (is_written(w, touch->named[i].slot)) return report_touch(w, op, mask, i);
    }
    return touch->run(w, op, mask);
}

// Counts the registers of an operand, or of its elements, and lists them if `list` is given.
static uint32_t list_registers(const cj_ir_operand *operand, uint32_t count, const cj_ir_reg **list) {
    if (operand->kind == CJ_OPERAND_REG) {
        if (list) list[count] = operand->reg;
        return count + 1;
    }
    if (operand->kind == CJ_OPERAND_MEMORY) count = list_registers(operand->base, count, list);
    const bool has_list = operand->kind == CJ_OPERAND_MEMORY || operand->kind == CJ_OPERAND_VECTOR ||
                          operand->kind == CJ_OPERAND_LIST;
    for (unsigned i = 0; has_list && i < operand->count; i++) count = list_registers(&operand->list[i], count, list);
    return count;
}

// All registers that an op names; for mma_async without its accumulators, which it may share with the one before it.
static uint32_t registers_of(const cj_cpu_op *op, const cj_ir_reg **list) {
    uint32_t count = 0;
    for (unsigned i = op->run == mma_async; i < op->inst->operand_count; i++) {
        count = list_registers(&op->inst->operand[i], count, list);
    }
    return count;
}

// Wraps an op's executor if the op names an accumulator; registers are given by index.
static bool watch_op(cj_cpu_prepare *p, cj_cpu_op *op, const bool *accumulates) {
    const uint32_t    count = registers_of(op, NULL);
    const cj_ir_reg **reg = cj__cpu_keep(p, (count + 1) * sizeof *reg);
    if (!reg) return false;
    registers_of(op, reg);
    uint32_t named = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (accumulates[reg[i]->index]) reg[named++] = reg[i];
    }
    if (!named) return true;
    cj_cpu_touch *made = cj__cpu_keep(p, sizeof *made + named * sizeof *made->named);
    if (!made) return false;
    *made = (cj_cpu_touch){.run = op->run, .count = named};
    for (uint32_t i = 0; i < named; i++) {
        made->named[i].reg = reg[i];
        made->named[i].slot = p->place[reg[i]->index];
    }
    op->touch = made;
    op->run = touch;
    return true;
}

bool cj__cpu_watch_accumulators(cj_cpu_prepare *p, size_t begin) {
    cj_cpu_program *program = p->program;
    bool           *accumulates = NULL;
    for (size_t i = begin; i < program->op_count; i++) {
        if (program->op[i].run != mma_async) continue;
        if (!accumulates) accumulates = cj__cpu_keep(p, p->func->reg_count * sizeof *accumulates);
        if (!accumulates) return false;
        const cj_ir_operand *d = &program->op[i].inst->operand[0];
        for (unsigned k = 0; k < d->count; k++) {
            if (d->list[k].kind == CJ_OPERAND_REG) accumulates[d->list[k].reg->index] = true;
        }
    }
    for (size_t i = begin; accumulates && i < program->op_count; i++) {
        if (program->op[i].inst && !watch_op(p, &program->op[i], accumulates)) return false;
    }
    return true;
}
