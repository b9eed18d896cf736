// SPDX-License-Identifier: Apache-2.0
// Computes webs by union of values. A value is a write, or the contents of a register at a block's start; the latter is
// united with what each preceding block leaves in the register, if the register is live.
//
//   value:  | register r at the start of block b: b * registers + r | writes, in the order of the text |
//
// After a guarded write a register has one of two values: the new one or, in threads whose guard does not hold, the old
// one. Instructions with the same guard, and blocks that a branch on it leads to, read only the new one. For all others
// the two are one web.
#include "webs.h"

#include <string.h>

#include "graph.h"
#include "test.h"

// A guard: a predicate's value, and whether it must not hold. 0: none.
typedef struct guard {
    uint32_t value;  // + 1
    bool     negated;
} guard;

typedef struct held {
    uint32_t read, written;  // the register's value before the statement, and after it
    uint32_t old;            // if `under` is a guard: the value without the write
    guard    under;
} held;

struct cj_webs {
    const cj_ir_func *func;
    cj_graph          graph;
    uint32_t         *block_at;  // statement -> its block + 1; 0: never reached
    uint32_t         *parent;    // of a value
    held             *reg;
    guard             now;  // of the statement
    uint32_t          regs, starts, values;
    uint32_t          write;         // the next write's value
    uint64_t *live, *used, *killed;  // of each block a mask of registers: live at its start; read first; written
    uint32_t  words;                 // of a mask
};

static void *take(cj_arena *arena, size_t count, size_t size) {
    void *memory = cj__arena_alloc(arena, (count + 1) * size);
    assert_non_null(memory);
    return memory;
}

static uint32_t web_of(cj_webs *w, uint32_t value) {
    while (w->parent[value] != value) value = w->parent[value] = w->parent[w->parent[value]];
    return value;
}

static void join(cj_webs *w, uint32_t a, uint32_t b) { w->parent[web_of(w, a)] = web_of(w, b); }

static bool is_same(guard a, guard b) { return a.value && a.value == b.value && a.negated == b.negated; }
static bool is_other(guard a, guard b) { return a.value && a.value == b.value && a.negated != b.negated; }

static const cj_ir_inst *inst_at(const cj_webs *w, size_t stmt) {
    return w->func->stmt[stmt].kind == CJ_STMT_INST ? w->func->stmt[stmt].inst : NULL;
}

// ---- the walk

// The condition on the way from a block to a later one: the guard of a guarded branch, or its opposite.
static guard way_to(const cj_webs *w, const cj_block *block, uint32_t to) {
    const cj_ir_inst *last = inst_at(w, block->end - 1);
    if (!last || !last->guard || block->succ_count < 2) return (guard){0};
    guard          way = w->now;
    const uint32_t next = block->end < w->func->stmt_count ? w->block_at[block->end] : 0;
    if (to + 1 == next) way.negated = !way.negated;
    return way;
}

// Whether a block begins where another one ends, and follows only that one: then the contents of registers are known.
static bool goes_on(const cj_webs *w, uint32_t block) {
    const cj_block *b = &w->graph.block[block];
    return b->pred_count == 1 && w->graph.block[b->pred[0]].end == b->first;
}

static void go_on(cj_webs *w, uint32_t block) {
    const guard way = way_to(w, &w->graph.block[w->graph.block[block].pred[0]], block);
    for (uint32_t r = 0; r < w->regs; r++) {
        held *h = &w->reg[r];
        if (is_other(h->under, way)) h->read = h->written = h->old;
        if (is_other(h->under, way) || is_same(h->under, way)) h->under = (guard){0};
    }
}

static void enter_block(cj_webs *w, uint32_t block) {
    if (goes_on(w, block)) {
        go_on(w, block);
        return;
    }
    for (uint32_t r = 0; r < w->regs; r++) {
        const uint32_t value = block * w->regs + r;
        w->reg[r] = (held){.read = value, .written = value};
    }
}

static void write_value(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    cj_webs *w = user;
    if (written) w->reg[reg->index].written = w->write++;
}

// At the end of a statement registers hold what it wrote; after a guarded write they may hold the old values, too.
static void pass_value(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    cj_webs *w = user;
    held    *h = &w->reg[reg->index];
    if (!written || h->read == h->written) return;
    if (w->now.value && !is_same(h->under, w->now)) h->old = h->read;
    h->under = is_other(h->under, w->now) ? (guard){0} : w->now;
    h->read = h->written;
}

void cj_test_webs_enter(cj_webs *w, size_t stmt) {
    const cj_ir_inst *inst = inst_at(w, stmt), *before = stmt ? inst_at(w, stmt - 1) : NULL;
    const uint32_t    block = w->block_at[stmt];
    if (before) cj__visit_regs(before, pass_value, w);
    if (block && w->graph.block[block - 1].first == stmt) enter_block(w, block - 1);
    w->now = (guard){0};
    if (inst && inst->guard) w->now = (guard){w->reg[inst->guard->index].read + 1, inst->guard_negated};
    if (inst) cj__visit_regs(inst, write_value, w);
}

uint32_t cj_test_web(cj_webs *w, const cj_ir_reg *reg, bool written) {
    return web_of(w, written ? w->reg[reg->index].written : w->reg[reg->index].read);
}

size_t cj_test_webs_count(const cj_webs *w) { return w->values; }

static void begin_walk(cj_webs *w) {
    w->write = w->starts;
    enter_block(w, 0);
}

// ---- liveness. A guarded write does not kill the register in its block, but reads under the same guard after it do
// not read older values.

typedef struct noting {
    cj_webs  *w;
    uint64_t *used, *killed;
} noting;

static void note(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    noting        *n = user;
    const held    *h = &n->w->reg[reg->index];
    const uint64_t bit = UINT64_C(1) << reg->index % 64, word = reg->index / 64;
    if (!written && !(n->killed[word] & bit) && !is_same(h->under, n->w->now)) n->used[word] |= bit;
    if (written && (!n->w->now.value || is_other(h->under, n->w->now))) n->killed[word] |= bit;
}

static void find_uses(cj_webs *w) {
    begin_walk(w);
    for (size_t i = 0; i < w->func->stmt_count; i++) {
        const cj_ir_inst *inst = inst_at(w, i);
        const uint32_t    block = w->block_at[i];
        cj_test_webs_enter(w, i);
        if (!inst || !block) continue;
        noting n = {w, w->used + (block - 1) * w->words, w->killed + (block - 1) * w->words};
        cj__visit_regs(inst, note, &n);
    }
}

static bool flow(cj_webs *w, uint32_t b) {
    const cj_block *block = &w->graph.block[b];
    bool            changed = false;
    for (uint32_t word = 0; word < w->words; word++) {
        const size_t at = b * w->words + word;
        uint64_t     after = 0;
        for (uint32_t s = 0; s < block->succ_count; s++) after |= w->live[block->succ[s] * w->words + word];
        const uint64_t live = w->used[at] | (after & ~w->killed[at]);
        changed |= live != w->live[at];
        w->live[at] = live;
    }
    return changed;
}

static void find_live(cj_webs *w) {
    bool changed = true;
    find_uses(w);
    while (changed) {
        changed = false;
        for (uint32_t b = w->graph.count; b-- > 0;) changed |= flow(w, b);
    }
}

// ---- unions

static void read_value(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    cj_webs    *w = user;
    const held *h = &w->reg[reg->index];
    if (!written && h->under.value && !is_same(h->under, w->now)) join(w, h->read, h->old);
    if (!written || !h->under.value || is_same(h->under, w->now)) return;
    if (is_other(h->under, w->now))
        join(w, h->written, h->read);  // one of the two wrote it: the old value is gone
    else if (w->now.value)
        join(w, h->read, h->old);
}

// Passes the value of a register at the end of a block to the next one.
static void leave(cj_webs *w, uint32_t to, guard way, uint32_t r) {
    const held    *h = &w->reg[r];
    const uint32_t start = to * w->regs + r;
    if (!is_other(h->under, way)) join(w, start, h->written);
    if (h->under.value && !is_same(h->under, way)) join(w, start, h->old);
}

static void leave_block(cj_webs *w, size_t stmt) {
    const uint32_t b = w->block_at[stmt];
    if (!b || w->graph.block[b - 1].end != stmt + 1) return;
    const cj_block   *block = &w->graph.block[b - 1];
    const cj_ir_inst *inst = inst_at(w, stmt);
    if (inst) cj__visit_regs(inst, pass_value, w);
    for (uint32_t s = 0; s < block->succ_count; s++) {
        const guard way = way_to(w, block, block->succ[s]);
        if (goes_on(w, block->succ[s])) continue;
        for (uint32_t r = 0; r < w->regs; r++)
            if (w->live[block->succ[s] * w->words + r / 64] >> r % 64 & 1) leave(w, block->succ[s], way, r);
    }
}

static void unite(cj_webs *w) {
    for (uint32_t v = 0; v < w->values; v++) w->parent[v] = v;
    begin_walk(w);
    for (size_t i = 0; i < w->func->stmt_count; i++) {
        const cj_ir_inst *inst = inst_at(w, i);
        cj_test_webs_enter(w, i);
        if (inst) cj__visit_regs(inst, read_value, w);
        leave_block(w, i);
    }
    begin_walk(w);
}

static void count_write(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand, (void)reg;
    cj_webs *w = user;
    w->values += written;
}

cj_webs *cj_test_webs(const cj_ir_func *func, cj_arena *arena) {
    cj_webs *w = take(arena, 1, sizeof *w);
    *w = (cj_webs){.func = func, .regs = (uint32_t)func->reg_count, .words = (uint32_t)func->reg_count / 64 + 1};
    assert_true(cj__graph_build(&w->graph, func, arena));
    w->values = w->starts = w->graph.count * w->regs;
    for (size_t i = 0; i < func->stmt_count; i++)
        if (inst_at(w, i)) cj__visit_regs(inst_at(w, i), count_write, w);
    w->block_at = take(arena, func->stmt_count, sizeof *w->block_at);
    w->parent = take(arena, w->values, sizeof *w->parent);
    w->reg = take(arena, w->regs, sizeof *w->reg);
    w->live = take(arena, w->graph.count * w->words, sizeof *w->live);
    w->used = take(arena, w->graph.count * w->words, sizeof *w->used);
    w->killed = take(arena, w->graph.count * w->words, sizeof *w->killed);
    for (uint32_t b = 0; b < w->graph.count; b++)
        for (uint32_t i = w->graph.block[b].first; i < w->graph.block[b].end; i++) w->block_at[i] = b + 1;
    find_live(w);
    unite(w);
    return w;
}
