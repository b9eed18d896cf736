// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <string.h>

// ---- blocks in the order of the text

#define NO_BLOCK UINT32_MAX

// What is known while the graph is made.
typedef struct building {
    const cj_ir_func *func;
    cj_arena         *arena;
    cj_block         *raw;       // in the order of the text
    uint32_t          count;
    uint32_t         *block_at;  // statement -> block that begins there or before it
} building;

static const cj_ir_inst *inst_at(const cj_ir_func *func, size_t stmt) {
    return func->stmt[stmt].kind == CJ_STMT_INST ? func->stmt[stmt].inst : NULL;
}

static bool ends_block(const cj_ir_inst *inst) { return inst && inst->row->effects & (CJ_BRANCH | CJ_END); }

// Counts the blocks and says where each statement lies, then gives each block its statements.
static bool split(building *b) {
    const cj_ir_func *func = b->func;
    uint32_t count = (uint32_t)func->stmt_count;
    b->block_at = cj__arena_take(b->arena, count * sizeof *b->block_at);
    if (!b->block_at) return false;
    bool ended = true;
    for (uint32_t i = 0; i < count; i++) {
        b->count += ended || func->stmt[i].kind == CJ_STMT_LABEL;
        b->block_at[i] = b->count - 1;
        ended = ends_block(inst_at(func, i));
    }
    b->raw = cj__arena_alloc(b->arena, b->count * sizeof *b->raw);
    for (uint32_t i = 0; b->raw && i < count; i++) {
        cj_block *block = &b->raw[b->block_at[i]];
        if (!block->end) block->first = i;
        block->end = i + 1;
    }
    return b->raw;
}

// ---- edges

static bool add_edge(building *b, cj_block *block, size_t *capacity, uint32_t to) {
    if (to == NO_BLOCK) return true;
    for (uint32_t i = 0; i < block->succ_count && i < 2; i++)
        if (block->succ[i] == to) return true;
    uint32_t *grown = cj__arena_grow(b->arena, block->succ, block->succ_count, capacity, sizeof *grown);
    if (!grown) return false;
    block->succ = grown;
    grown[block->succ_count++] = to;
    return true;
}

static uint32_t block_of_label(const building *b, const cj_ir_label *label) {
    return label && label->stmt < b->func->stmt_count ? b->block_at[label->stmt] : NO_BLOCK;
}

// brx.idx %r, table: to every label of `table: .branchtargets a, b;`
static bool add_table(building *b, cj_block *block, size_t *capacity, const cj_ir_label *table) {
    const cj_ir_targets *targets = table->targets;
    for (unsigned i = 0; targets && !targets->calls && i < targets->count; i++)
        if (!add_edge(b, block, capacity, block_of_label(b, targets->list[i].label))) return false;
    return true;
}

static bool connect(building *b, uint32_t index) {
    cj_block *block = &b->raw[index];
    const cj_ir_inst *last = inst_at(b->func, block->end - 1);
    uint32_t effects = ends_block(last) ? last->row->effects : 0;
    bool goes_on = !effects || last->guard, is_last = index + 1 == b->count;
    size_t capacity = 0;
    block->leaves = (effects & CJ_END && strcmp(cj__row_opcode(last->row), "trap")) || (goes_on && is_last);
    if (goes_on && !is_last && !add_edge(b, block, &capacity, index + 1)) return false;
    for (unsigned i = 0; effects & CJ_BRANCH && i < last->operand_count; i++) {
        const cj_ir_operand *operand = &last->operand[i];
        if (operand->kind != CJ_OPERAND_LABEL || !operand->label) continue;
        bool done = i ? add_table(b, block, &capacity, operand->label)
                      : add_edge(b, block, &capacity, block_of_label(b, operand->label));
        if (!done) return false;
    }
    return true;
}

// ---- order and dominators (Lengauer and Tarjan, with path compression)

typedef struct ordering {
    uint32_t  count;      // blocks reached
    uint32_t *number;     // raw block -> its preorder number + 1; 0: not reached
    uint32_t *vertex;     // preorder number -> raw block
    uint32_t *parent;     // in the depth-first tree; here and below by preorder number
    uint32_t *post;       // postorder position -> preorder number
    uint32_t *semi, *ancestor, *best, *idom, *bucket, *next, *stack;
} ordering;

static bool walk(const building *b, ordering *o) {
    uint32_t *at = cj__arena_alloc(b->arena, b->count * sizeof *at);  // preorder number -> next successor
    uint32_t depth = 0, left = 0;
    if (!at) return false;
    o->number[0] = 1;
    o->count = 1;
    o->stack[depth++] = 0;
    while (depth) {
        uint32_t v = o->stack[depth - 1];
        const cj_block *block = &b->raw[o->vertex[v]];
        if (at[v] == block->succ_count) {
            o->post[left++] = v;
            depth--;
            continue;
        }
        uint32_t to = block->succ[at[v]++];
        if (o->number[to]) continue;
        uint32_t w = o->count++;
        o->number[to] = w + 1;
        o->vertex[w] = to;
        o->parent[w] = v;
        o->stack[depth++] = w;
    }
    return true;
}

// The vertex of least semidominator on the linked path above v. ancestor: number + 1, 0 for none.
static uint32_t evaluate(ordering *o, uint32_t v) {
    if (!o->ancestor[v]) return v;
    uint32_t depth = 0, at = v;
    for (; o->ancestor[at] && o->ancestor[o->ancestor[at] - 1]; at = o->ancestor[at] - 1) o->stack[depth++] = at;
    while (depth) {
        uint32_t below = o->stack[--depth], above = o->ancestor[below] - 1;
        if (o->semi[o->best[above]] < o->semi[o->best[below]]) o->best[below] = o->best[above];
        o->ancestor[below] = o->ancestor[above];
    }
    return o->best[v];
}

static void dominate(const building *b, ordering *o) {
    for (uint32_t v = 0; v < o->count; v++) o->semi[v] = o->best[v] = v;
    for (uint32_t w = o->count; w-- > 1;) {
        const cj_block *block = &b->raw[o->vertex[w]];
        for (uint32_t i = 0; i < block->pred_count; i++) {
            uint32_t v = o->number[block->pred[i]];
            if (!v) continue;
            uint32_t u = evaluate(o, v - 1);
            if (o->semi[u] < o->semi[w]) o->semi[w] = o->semi[u];
        }
        o->next[w] = o->bucket[o->semi[w]];
        o->bucket[o->semi[w]] = w;
        uint32_t p = o->parent[w];
        o->ancestor[w] = p + 1;
        for (uint32_t v = o->bucket[p]; v; v = o->next[v]) {
            uint32_t u = evaluate(o, v);
            o->idom[v] = o->semi[u] < o->semi[v] ? u : p;
        }
        o->bucket[p] = 0;
    }
    for (uint32_t w = 1; w < o->count; w++)
        if (o->idom[w] != o->semi[w]) o->idom[w] = o->idom[o->idom[w]];
}

static bool order(building *b, ordering *o) {
    uint32_t **array[] = {&o->number, &o->vertex, &o->parent, &o->post, &o->semi, &o->ancestor,
                          &o->best,   &o->idom,   &o->bucket, &o->next, &o->stack};
    for (size_t i = 0; i < sizeof array / sizeof *array; i++)
        if (!(*array[i] = cj__arena_alloc(b->arena, b->count * sizeof **array[i]))) return false;
    return true;
}

// ---- the graph

// Gives every block room for its predecessors, and fills them in.
static bool add_preds(building *b) {
    for (uint32_t i = 0; i < b->count; i++)
        for (uint32_t k = 0; k < b->raw[i].succ_count; k++) b->raw[b->raw[i].succ[k]].pred_count++;
    for (uint32_t i = 0; i < b->count; i++) {
        cj_block *block = &b->raw[i];
        block->pred = cj__arena_alloc(b->arena, (block->pred_count + 1) * sizeof *block->pred);
        if (!block->pred) return false;
        block->pred_count = 0;
    }
    for (uint32_t i = 0; i < b->count; i++)
        for (uint32_t k = 0; k < b->raw[i].succ_count; k++) {
            cj_block *to = &b->raw[b->raw[i].succ[k]];
            to->pred[to->pred_count++] = i;
        }
    return true;
}

// Copies the reached blocks in reverse postorder and renames their neighbours.
static bool arrange(cj_graph *graph, const building *b, ordering *o) {
    uint32_t *name = o->best;  // preorder number -> index in the graph; `best` is done with
    graph->count = o->count;
    graph->block = cj__arena_alloc(b->arena, o->count * sizeof *graph->block);
    if (!graph->block) return false;
    for (uint32_t i = 0; i < o->count; i++) name[o->post[i]] = o->count - 1 - i;
    for (uint32_t v = 0; v < o->count; v++) {
        cj_block *block = &graph->block[name[v]];
        *block = b->raw[o->vertex[v]];
        block->idom = name[o->idom[v]];
        for (uint32_t k = 0; k < block->succ_count; k++) block->succ[k] = name[o->number[block->succ[k]] - 1];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < block->pred_count; k++)
            if (o->number[block->pred[k]]) block->pred[kept++] = name[o->number[block->pred[k]] - 1];
        block->pred_count = kept;
    }
    return true;
}

bool cj__graph_build(cj_graph *graph, const cj_ir_func *func, cj_arena *arena) {
    *graph = (cj_graph){.func = func};
    if (!func->stmt_count) return true;
    building b = {.func = func, .arena = arena};
    ordering o = {0};
    if (!split(&b)) return false;
    for (uint32_t i = 0; i < b.count; i++)
        if (!connect(&b, i)) return false;
    if (!add_preds(&b) || !order(&b, &o) || !walk(&b, &o)) return false;
    dominate(&b, &o);
    return arrange(graph, &b, &o);
}

const cj_ir_stmt *cj__graph_last(const cj_graph *graph, const cj_block *block) {
    return ends_block(inst_at(graph->func, block->end - 1)) ? &graph->func->stmt[block->end - 1] : NULL;
}

// ---- masks along the graph

enum { ROUNDS_MAX = 64 };

bool cj__flow_forward(const cj_graph *graph, uint64_t at_entry, cj_through *through, void *user, uint64_t *start) {
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        bool changed = false;
        start[0] |= at_entry;
        for (uint32_t b = 0; b < graph->count; b++) {
            uint64_t out = through(user, b, start[b]);
            for (uint32_t i = 0; i < graph->block[b].succ_count; i++) {
                uint64_t *to = &start[graph->block[b].succ[i]];
                changed |= (*to | out) != *to;
                *to |= out;
            }
        }
        if (!changed) return true;
    }
    return false;
}

bool cj__flow_backward(const cj_graph *graph, uint64_t at_leave, cj_through *through, void *user, uint64_t *end) {
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        bool changed = false;
        for (uint32_t b = graph->count; b-- > 0;) {
            if (graph->block[b].leaves) end[b] |= at_leave;
            uint64_t in = through(user, b, end[b]);
            for (uint32_t i = 0; i < graph->block[b].pred_count; i++) {
                uint64_t *to = &end[graph->block[b].pred[i]];
                changed |= (*to | in) != *to;
                *to |= in;
            }
        }
        if (!changed) return true;
    }
    return false;
}

// ---- registers of an instruction

void cj__visit_parts(const cj_ir_operand *operand, bool written, cj_visit_reg *visit, void *user) {
    if (operand->kind == CJ_OPERAND_MEMORY) cj__visit_operand(operand->base, false, visit, user);
    if (operand->predicate) cj__visit_operand(operand->predicate, written, visit, user);
    for (unsigned i = 0; i < operand->count; i++) cj__visit_operand(&operand->list[i], written, visit, user);
}

static void note_use(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    bool *used = user;
    (void)operand, (void)written;
    used[reg->index] = true;
}

void cj__ir_used_regs(const cj_ir_stmt *stmt, size_t count, bool *used) {
    for (size_t i = 0; i < count; i++)
        if (stmt[i].kind == CJ_STMT_INST) cj__visit_regs(stmt[i].inst, note_use, used);
}
