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
#include "async.h"
#include "exec.h"
#include "fragment.h"
#include "random.h"
#include "sparse.h"
#include "watch.h"

enum {
    GROUP = 4,
    GROUP_THREADS = GROUP * CJ_LANES,
    ROWS = 16,
    PANEL = CJ_TILE,
    CHUNK_BYTES = 16,
    TILES = 4
};                  // TILES: of a panel, along k, at most
enum { A = 1, B };  // operands

// What the selector prepares for an instruction. Slots: the registers of D, panel after panel; A's or its descriptor;
// B's descriptor; if A is sparse its metadata and selector; the predicate whether D is added; constants.
typedef struct wgmma_plan {
    cj_product product;  // of one warp and one panel, 8 columns of B
    unsigned   panels;
    unsigned   a_at, b_at, adds_at;
    unsigned   metadata_at;  // 0: A is dense
    cj_sparse  sparse;
    bool       a_in_memory, a_by_k, b_by_k;  // by_k: neighbours in memory are neighbours along k
    double     sign;
} wgmma_plan;

struct cj_cpu_wgmma {
    cj_cpu_wgmma    *next;
    const cj_cpu_op *op;
    uint64_t         a, b;                   // descriptors
    bool             adds, done, has_ended;  // done: this part; has_ended: all parts
    uint32_t         number;                 // among its warp's multiplications, from 0: the same in all four warps
    uint32_t         group;
    cj_sync          ended;  // the accesses of all four parts, once one of the warps has waited for the multiplication
    uint64_t         seal;   // a checksum of the registers of A and D
    cj_watch_async   watch;
};

// ---- matrices in shared memory

// A matrix descriptor, taken apart: all offsets in bytes.
typedef struct descriptor {
    uint32_t start, leading, stride, base;
    uint32_t width;  // chunks in a row of the swizzled pattern: 1 (no swizzle), 2, 4, 8
} descriptor;

static descriptor describe(uint64_t bits) {
    static const uint8_t width[] = {1, 8, 4, 2};
    return (descriptor){.start = (uint32_t)(bits & 0x3fff) * CHUNK_BYTES,
                        .leading = (uint32_t)(bits >> 16 & 0x3fff) * CHUNK_BYTES,
                        .stride = (uint32_t)(bits >> 32 & 0x3fff) * CHUNK_BYTES,
                        .base = (uint32_t)(bits >> 49 & 7),
                        .width = width[bits >> 62]};
}

// The address of a chunk of 16 bytes. A panel has 8 by 2 chunks (B with a sparse A: 8 by 4), in row i and column j. If
// by_k, its rows are the panel's lines; else a row is one k of all 8 lines.
static uint32_t chunk_address(const descriptor *d, bool by_k, unsigned panel, unsigned i, unsigned j) {
    uint32_t address = d->start + i * d->width * CHUNK_BYTES;
    if (by_k)
        address += panel * d->stride + j / d->width * d->leading + j % d->width * CHUNK_BYTES;
    else if (d->width == 1)
        address += panel * d->stride + j * d->leading;
    else
        address += panel % d->width * CHUNK_BYTES + panel / d->width * d->leading + j * d->stride;
    address &= 0x3ffff;
    return address ^ (((address >> 7) - d->base) & (d->width - 1)) * CHUNK_BYTES;
}

// Reads a chunk; false when a hazard was reported.
static inline bool read_chunk(cj_cpu_warp *w, const cj_cpu_wgmma *it, uint32_t address, void *chunk) {
    const cj_cpu_span  span = {.bytes = CHUNK_BYTES, .align = CHUNK_BYTES};
    const cj_watch_use use = {.flags = CJ_USE_READ | CJ_USE_ASYNC_PROXY};
    cj_cpu_spot        spot = {.host = w->block->shared + address, .block = w->block, .address = address};
    if (address + CHUNK_BYTES > w->block->cluster->launch->shared_bytes &&
        !cj__cpu_locate(w, it->op, 0, CJ_W_SHARED_CTA, address, span, &spot)) {
        return false;
    }
    memcpy(chunk, spot.host, CHUNK_BYTES);
    return !w->watch ||
           !cj__watch_async_access(&it->watch, use, (cj_watch_place){spot.block, address, CHUNK_BYTES}, NULL);
}

// Reads the words of a panel's tiles, as registers hold them. Without by_k, which elements of 16 bits alone may lack, a
// chunk is one k of all 8 lines.
static bool read_panel(cj_cpu_warp *w, const cj_cpu_wgmma *it, uint64_t bits, bool by_k, unsigned panel, unsigned tiles,
                       uint32_t (*word)[CJ_TILE_WORDS]) {
    const descriptor d = describe(bits);
    for (unsigned j = 0; j < tiles; j++) {
        uint16_t  half[PANEL][PANEL];
        uint32_t *line = word[j];
        for (unsigned i = 0; i < PANEL; i++) {
            void *to = by_k ? (void *)(line + i * 4) : half[i];
            if (!read_chunk(w, it, chunk_address(&d, by_k, panel, i, j), to)) return false;
        }
        for (unsigned i = 0; !by_k && i < CJ_TILE_WORDS; i++) {
            line[i] = half[i % 4 * 2][i / 4] | (uint32_t)half[i % 4 * 2 + 1][i / 4] << 16;
        }
    }
    return true;
}

// ---- executing

static bool read_stored(cj_cpu_warp *w, const cj_cpu_wgmma *it, double *a) {
    const wgmma_plan *plan = it->op->plan;
    const cj_tiling  *t = &plan->product.tiling;
    const unsigned    first = w->index % GROUP * t->rows;
    uint32_t          word[TILES][CJ_TILE_WORDS];
    if (!plan->a_in_memory) {
        cj__product_get_a(w, it->op->slot + plan->a_at, &plan->product, a);
        return true;
    }
    for (unsigned i = 0; i < t->rows; i++) {
        if (!read_panel(w, it, it->a, plan->a_by_k, first + i, t->stored, word)) return false;
        for (unsigned j = 0; j < t->stored; j++, a += cj__tiling_numbers(t)) cj__tile_read_a(t->a, word[j], a);
    }
    return true;
}

static bool read_a(cj_cpu_warp *w, const cj_cpu_wgmma *it, double *a) {
    const wgmma_plan      *plan = it->op->plan;
    const cj_tiling       *t = &plan->product.tiling;
    CJ_TILE_ALIGNED double stored[CJ_A_MAX];
    if (!read_stored(w, it, plan->metadata_at ? stored : a)) return false;
    if (plan->metadata_at && !cj__sparse_spread(w, it->op, &plan->sparse, it->op->slot[plan->metadata_at], stored, a)) {
        return false;
    }
    for (unsigned i = 0; plan->sign < 0 && i < t->rows * t->chunks * cj__tiling_numbers(t); i++) a[i] = -a[i];
    return true;
}

static bool execute(cj_cpu_warp *w, const cj_cpu_wgmma *it) {
    const wgmma_plan      *plan = it->op->plan;
    const cj_product      *product = &plan->product;
    const cj_tiling       *t = &product->tiling;
    CJ_TILE_ALIGNED double a[CJ_A_MAX], b[CJ_B_MAX], d[ROWS * PANEL];
    uint32_t               word[TILES][CJ_TILE_WORDS];
    if (!read_a(w, it, a)) return false;
    for (unsigned panel = 0; panel < plan->panels; panel++) {
        const uint32_t *slot = it->op->slot + panel * product->d.registers;
        if (!read_panel(w, it, it->b, plan->b_by_k, panel, t->chunks, word)) return false;
        for (unsigned j = 0; j < t->chunks; j++) cj__tile_read_b(t->b, word[j], b + j * cj__tiling_numbers(t));
        memset(d, 0, sizeof d);
        if (it->adds) cj__tiling_get_sums(w, slot, t, d);
        cj__tiling_multiply(product, a, b, d);
        cj__tiling_put_sums(w, slot, product, d);
    }
    return true;
}

// ---- multiplications in flight

enum { SEALS = CJ_LANES / 2 };  // sums beside each other: a single one would wait for each of its multiplications

static void add_to_seal(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned k, uint64_t sum[SEALS]) {
    const lane_u64 *lanes = CJ_LANES_OF(const lane_u64, k);
    for (unsigned i = 0; i < SEALS; i++) sum[i] = (sum[i] ^ lanes[i]) * 0x100000001b3u;
}

// A checksum of the registers that the instruction uses.
static uint64_t seal_of(const cj_cpu_warp *w, const cj_cpu_op *op) {
    const wgmma_plan *plan = op->plan;
    uint64_t          sum[SEALS] = {0}, all = 0;
    for (unsigned k = 0; k < (plan->a_in_memory ? plan->a_at : plan->b_at); k++) add_to_seal(w, op, k, sum);
    if (plan->metadata_at) add_to_seal(w, op, plan->metadata_at, sum);
    for (unsigned i = 0; i < SEALS; i++) all = (all ^ sum[i]) * 0x100000001b3u;
    return all;
}

static void drop_first(cj_cpu_warp *w) {
    cj_cpu_wgmma *it = w->wgmma.first;
    w->wgmma.first = it->next;
    if (!it->next) w->wgmma.last = NULL;
    cj__watch_end(&it->watch);
    cj__sync_free(&it->ended);
    free(it);
}

void cj__cpu_wgmma_drop(cj_cpu_warp *w) {
    while (w->wgmma.first) drop_first(w);
}

// Whether no instruction has written its registers since it began. Only watched launches know.
static bool is_sealed(cj_cpu_warp *w, const cj_cpu_wgmma *it) {
    if (!w->watch || seal_of(w, it->op) == it->seal) return true;
    cj__cpu_hazard(w, it->op, 0, CJ_HAZARD_WGMMA_REGISTERS,
                   "registers of its operands were written while it was in flight");
    return false;
}

// Executes one multiplication; those before it have been executed. Its result may be an operand of later ones, so their
// checksums are made anew.
static bool execute_once(cj_cpu_warp *w, cj_cpu_wgmma *it) {
    if (it->done) return true;
    if (!execute(w, it)) return false;
    it->done = true;
    for (it = w->wgmma.first; w->watch && it; it = it->next) it->seal = seal_of(w, it->op);
    return true;
}

static cj_cpu_warp *warps_of(const cj_cpu_warp *w) { return &w->block->warp[w->index / GROUP * GROUP]; }

// A warp's part of a multiplication; NULL: the warp has exited without waiting for it.
static cj_cpu_wgmma *part_of(const cj_cpu_warp *w, uint32_t number) {
    cj_cpu_wgmma *it = w->wgmma.first;
    while (it && it->number != number) it = it->next;
    return it;
}

// Executes all four parts of the first multiplication that a warp has in flight. Each part's sync object then holds the
// reads of all four.
static bool end_for_group(cj_cpu_warp *w) {
    cj_cpu_warp   *warps = warps_of(w);
    const uint32_t number = w->wgmma.first->number;
    cj_cpu_wgmma  *part[GROUP];
    cj_sync        ended = {0};
    bool           ok = true;
    for (unsigned i = 0; i < GROUP && ok; i++) {
        part[i] = part_of(&warps[i], number);
        if (!part[i]) continue;
        ok = is_sealed(&warps[i], part[i]) && execute_once(&warps[i], part[i]);
        cj__sync_complete(&part[i]->watch, true, &ended);
    }
    for (unsigned i = 0; i < GROUP && ok; i++) {
        if (!part[i]) continue;
        part[i]->has_ended = true;
        part[i]->ended.complete = cj__clock_hold(ended.gathering);
    }
    cj__sync_free(&ended);
    return ok;
}

// The warp has waited for its first multiplication in flight: the reads of all four parts are now ordered before the
// warp's next accesses.
static bool finish_first(cj_cpu_warp *w) {
    cj_cpu_wgmma *it = w->wgmma.first;
    if (!is_sealed(w, it)) return false;
    if (!it->has_ended && !end_for_group(w)) return false;
    cj__sync_acquire(w, CJ_ALL_LANES, &it->ended, CJ_ORDER_FULL);
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
        if (!is_sealed(w, it) || !execute_once(w, it)) return false;
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

CJ_EXEC(mma_async) {
    const wgmma_plan *plan = op->plan;
    const cj_cpu_step step = whole_group(w, op, mask);
    if (step) return step;
    if (!w->wgmma.fenced) {
        return cj__cpu_hazard(w, op, 0, CJ_HAZARD_WGMMA_REGISTERS, "no wgmma.fence stands before the first one");
    }
    cj_cpu_wgmma *it = calloc(1, sizeof *it);
    if (!it) {
        w->block->cluster->status = CJ_OUT_OF_MEMORY;
        return CJ_STEP_STOP;
    }
    it->op = op;
    it->a = plan->a_in_memory ? *CJ_LANES_OF(const lane_u64, plan->a_at) : 0;
    it->b = *CJ_LANES_OF(const lane_u64, plan->b_at);
    it->adds = *CJ_LANES_OF(const lane_u32, plan->adds_at) & 1;
    it->number = w->wgmma.begun;
    it->group = w->wgmma.groups;
    it->watch = cj__watch_fork(w, op, 0);
    if (w->watch) it->seal = seal_of(w, op);
    *(w->wgmma.last ? &w->wgmma.last->next : &w->wgmma.first) = it;
    w->wgmma.last = it;
    w->wgmma.begun++;
    return !has_pace(w, CJ_PACE_AT_ONCE) || execute_once(w, it) ? CJ_STEP_NEXT : CJ_STEP_STOP;
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
    while (w->wgmma.first && (uint64_t)w->wgmma.first->group + op->mode < w->wgmma.groups) {
        if (!finish_first(w)) return CJ_STEP_STOP;
    }
    return CJ_STEP_NEXT;
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
static bool finish_select(cj_cpu_prepare *p, wgmma_plan *plan, unsigned adds) {
    const unsigned scale = adds + 1, transposed = adds + 3;
    plan->b_at = plan->a_at + (plan->a_in_memory ? 1 : plan->product.a.registers);
    plan->adds_at = plan->b_at + adds - B;
    plan->sign = (constant(p, scale) < 0) != (constant(p, scale + 1) < 0) ? -1 : 1;
    plan->a_by_k = !plan->a_in_memory || !constant(p, transposed);
    plan->b_by_k = !constant(p, plan->a_in_memory ? transposed + 1 : transposed);
    p->op.plan = plan;
    return select(p, mma_async) && p->slot_count > plan->adds_at;
}

static wgmma_plan *begin_select(cj_cpu_prepare *p, const cj_element *type[CJ_ELEMENTS_MAX]) {
    const cj_shape all = cj__shape_of(p->mnemonic), part = {ROWS, PANEL, all.k};
    wgmma_plan    *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan || cj__elements_of(p->mnemonic, type) < 3) return NULL;
    plan->product = cj__product_make(p->mnemonic, part, type[0], type[1], type[2], type[0], 0);
    plan->panels = all.n / PANEL;
    plan->a_in_memory = p->inst->operand[A].kind != CJ_OPERAND_VECTOR;
    plan->a_at = plan->panels * plan->product.d.registers;
    return plan;
}

bool cj__cpu_select_wgmma(cj_cpu_prepare *p) {
    const cj_element *type[CJ_ELEMENTS_MAX];
    wgmma_plan       *plan = begin_select(p, type);
    return plan && finish_select(p, plan, B + 1);
}

bool cj__cpu_select_wgmma_sparse(cj_cpu_prepare *p) {
    enum { SELECTOR = B + 2 };
    const cj_element *type[CJ_ELEMENTS_MAX];
    wgmma_plan       *plan = begin_select(p, type);
    if (!plan) return false;
    cj__product_make_sparse(&plan->product);
    if (!cj__sparse_select(p, SELECTOR, type[1]->bits, plan->product.shape.k, &plan->sparse)) return false;
    if (!finish_select(p, plan, SELECTOR + 1)) return false;
    plan->metadata_at = plan->b_at + 1;
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

static bool has_accumulator(const cj_cpu_wgmma *it, uint32_t slot) {
    const wgmma_plan *plan = it->op->plan;
    for (unsigned k = 0; k < plan->a_at; k++) {
        if (it->op->slot[k] == slot) return true;
    }
    return false;
}

CJ_EXEC(touch) {
    const cj_cpu_touch *touch = op->touch;
    for (const cj_cpu_wgmma *it = w->watch ? w->wgmma.first : NULL; it; it = it->next) {
        for (uint32_t i = 0; i < touch->count; i++) {
            if (!has_accumulator(it, touch->named[i].slot)) continue;
            return cj__cpu_hazard(w, op, cj__cpu_first(mask), CJ_HAZARD_WGMMA_REGISTERS,
                                  "uses %s while the wgmma.mma_async at %s is in flight, which writes it",
                                  touch->named[i].reg->name,
                                  cj__hazard_line(w->block->cluster->launch, it->op->line).text);
        }
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
