// SPDX-License-Identifier: Apache-2.0
// Webs by union of values. A value is a write, or what a register holds at a block's start; that is one with what each block
// before leaves in the register, where it is live. A guarded write is one with what the register held: threads whose guard
// does not hold keep that.
//
//   value:  | register r at the start of block b: b * registers + r | writes, in the order of the text |
#include "webs.h"

#include <string.h>

#include "graph.h"
#include "test.h"

struct cj_webs {
    const cj_ir_func *func;
    cj_graph          graph;
    uint32_t         *block_at;        // statement -> its block + 1; 0: never reached
    uint32_t         *parent;          // of a value
    uint32_t         *read, *written;  // a register's value before the statement, and after it
    uint32_t          regs, starts, values;
    uint32_t          write;  // the next write's value
    uint64_t         *live, *used,
        *killed;     // of each block a mask of registers: live at its start; read before a write; written
    uint32_t words;  // of a mask
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

static const cj_ir_inst *inst_at(const cj_webs *w, size_t stmt) {
    return w->func->stmt[stmt].kind == CJ_STMT_INST ? w->func->stmt[stmt].inst : NULL;
}

// ---- liveness

typedef struct noting {
    uint64_t *used, *killed;
    bool      guarded;
} noting;

static void note(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    noting        *n = user;
    const uint64_t bit = UINT64_C(1) << reg->index % 64, word = reg->index / 64;
    if ((!written || n->guarded) && !(n->killed[word] & bit)) n->used[word] |= bit;
    if (written && !n->guarded) n->killed[word] |= bit;
}

static void find_uses(cj_webs *w) {
    for (uint32_t b = 0; b < w->graph.count; b++) {
        const cj_block *block = &w->graph.block[b];
        noting          n = {.used = w->used + b * w->words, .killed = w->killed + b * w->words};
        for (uint32_t i = block->first; i < block->end; i++) {
            const cj_ir_inst *inst = inst_at(w, i);
            n.guarded = inst && inst->guard;
            if (inst) cj__visit_regs(inst, note, &n);
        }
    }
}

static bool flow(cj_webs *w, uint32_t b) {
    const cj_block *block = &w->graph.block[b];
    bool            changed = false;
    for (uint32_t word = 0; word < w->words; word++) {
        const size_t at = b * w->words + word;
        uint64_t     behind = 0;
        for (uint32_t s = 0; s < block->succ_count; s++) behind |= w->live[block->succ[s] * w->words + word];
        const uint64_t live = w->used[at] | (behind & ~w->killed[at]);
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

// ---- the walk

static void enter_block(cj_webs *w, uint32_t block) {
    for (uint32_t r = 0; r < w->regs; r++) w->read[r] = w->written[r] = block * w->regs + r;
}

static void write_value(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    cj_webs *w = user;
    if (written) w->written[reg->index] = w->write++;
}

static void pass_value(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    cj_webs *w = user;
    if (written) w->read[reg->index] = w->written[reg->index];
}

void cj_test_webs_enter(cj_webs *w, size_t stmt) {
    const cj_ir_inst *inst = inst_at(w, stmt), *before = stmt ? inst_at(w, stmt - 1) : NULL;
    const uint32_t    block = w->block_at[stmt];
    if (before) cj__visit_regs(before, pass_value, w);
    if (block && w->graph.block[block - 1].first == stmt) enter_block(w, block - 1);
    if (inst) cj__visit_regs(inst, write_value, w);
}

uint32_t cj_test_web(cj_webs *w, const cj_ir_reg *reg, bool written) {
    return web_of(w, written ? w->written[reg->index] : w->read[reg->index]);
}

size_t cj_test_webs_count(const cj_webs *w) { return w->values; }

static void begin_walk(cj_webs *w) {
    w->write = w->starts;
    enter_block(w, 0);
}

// ---- unions

static void keep_old(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    cj_webs *w = user;
    if (written) join(w, w->written[reg->index], w->read[reg->index]);
}

// What the block leaves in its registers, to those after it. The walk is past its last statement but for pass_value.
static void leave_block(cj_webs *w, const cj_block *block) {
    for (uint32_t s = 0; s < block->succ_count; s++) {
        const uint32_t to = block->succ[s];
        for (uint32_t r = 0; r < w->regs; r++)
            if (w->live[to * w->words + r / 64] >> r % 64 & 1) join(w, to * w->regs + r, w->written[r]);
    }
}

static void unite(cj_webs *w) {
    for (uint32_t v = 0; v < w->values; v++) w->parent[v] = v;
    begin_walk(w);
    for (size_t i = 0; i < w->func->stmt_count; i++) {
        const cj_ir_inst *inst = inst_at(w, i);
        cj_test_webs_enter(w, i);
        if (inst && inst->guard) cj__visit_regs(inst, keep_old, w);
        const cj_block *block = w->block_at[i] ? &w->graph.block[w->block_at[i] - 1] : NULL;
        if (block && block->end == i + 1) leave_block(w, block);
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
    w->read = take(arena, w->regs, sizeof *w->read);
    w->written = take(arena, w->regs, sizeof *w->written);
    w->live = take(arena, w->graph.count * w->words, sizeof *w->live);
    w->used = take(arena, w->graph.count * w->words, sizeof *w->used);
    w->killed = take(arena, w->graph.count * w->words, sizeof *w->killed);
    for (uint32_t b = 0; b < w->graph.count; b++)
        for (uint32_t i = w->graph.block[b].first; i < w->graph.block[b].end; i++) w->block_at[i] = b + 1;
    find_live(w);
    unite(w);
    return w;
}
