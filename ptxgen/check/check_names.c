// SPDX-License-Identifier: Apache-2.0
// Registers and labels: unused ones, and registers that a path reads before anything wrote them.
//
// Compilers leave a register unwritten on paths where its value does not matter, and hand such registers to functions.
// So of a range %r<54> only those that nothing writes are reported, and not where they are padding: where st.param reads
// them, where they are packed beside others, or where what is made of them is not read.
#include <string.h>

#include "checks.h"

enum { MANY_STEPS = 32 };  // blocks looked at, per statement of the function: then the search for unset registers stops

// A read, in a block, of a register that the block has not written before.
typedef struct exposed {
    const cj_ir_reg      *reg;
    const cj_ir_stmt     *stmt;
    const cj_ir_operand  *operand;  // NULL: the guard
    uint32_t              block;
    struct exposed       *next;     // of the same register
} exposed;

typedef struct writer {
    uint32_t       block;
    struct writer *next;
} writer;

// What is known of a register; `stamp` is of the last block that wrote it, + 1.
typedef struct reg_facts {
    bool     used, kept;  // kept: a comment says that its value does not matter
    bool     read;        // somewhere
    uint32_t stamp, read_stamp;
    writer  *writers;     // the latest first
    writer  *first;
    exposed *reads;
} reg_facts;

typedef struct names {
    const cj_graph   *graph;
    cj_arena         *arena;
    cj_report        *report;
    reg_facts        *reg;
    uint32_t *under, *past;  // the dominator tree in preorder: block a is above b if under[a] <= under[b] < past[a]
    uint32_t          block;
    const cj_ir_stmt *stmt;
    bool              has_result, is_result_read;  // of the instruction that is_idle looks at
} names;

// ---- dominance in one comparison

static bool number_tree(names *n) {
    const cj_graph *graph = n->graph;
    uint32_t *size = cj__arena_alloc(n->arena, (graph->count + 1) * sizeof *size);
    n->under = cj__arena_alloc(n->arena, (graph->count + 1) * sizeof *n->under);
    n->past = cj__arena_alloc(n->arena, (graph->count + 1) * sizeof *n->past);
    if (!size || !n->under || !n->past) return false;
    for (uint32_t b = graph->count; b-- > 0;) {  // a dominator has the lower index
        size[b]++;
        if (b) size[graph->block[b].idom] += size[b];
    }
    for (uint32_t b = 0; b < graph->count; b++) {
        uint32_t above = graph->block[b].idom;
        n->under[b] = b ? n->past[above] : 0;  // past[above] is where the next child begins, until all are placed
        n->past[b] = n->under[b] + 1;
        if (b) n->past[above] += size[b];
    }
    return true;
}

static bool dominates(const names *n, uint32_t above, uint32_t below) {
    return n->under[above] <= n->under[below] && n->under[below] < n->past[above];
}

// ---- one pass over the reads and writes

static void add_writer(names *n, reg_facts *facts) {
    writer *w = cj__arena_take(n->arena, sizeof *w);
    if (!w) return;
    *w = (writer){.block = n->block, .next = facts->writers};
    facts->writers = w;
    if (!facts->first) facts->first = w;
    facts->stamp = n->block + 1;
}

static void note(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    names *n = user;
    reg_facts *facts = &n->reg[reg->index];
    facts->used = true;
    facts->read |= !written;
    if (facts->stamp == n->block + 1) return;
    if (written) {
        add_writer(n, facts);
        return;
    }
    if (facts->read_stamp == n->block + 1) return;
    facts->read_stamp = n->block + 1;
    if (facts->first && (reg->in_range || dominates(n, facts->first->block, n->block))) return;
    exposed *read = cj__arena_take(n->arena, sizeof *read);
    if (!read) return;
    *read = (exposed){.reg = reg, .stmt = n->stmt, .operand = operand, .block = n->block, .next = facts->reads};
    facts->reads = read;
}

static void note_block(names *n) {
    const cj_block *block = &n->graph->block[n->block];
    for (uint32_t i = block->first; i < block->end; i++) {
        n->stmt = &n->graph->func->stmt[i];
        if (n->stmt->kind == CJ_STMT_INST) cj__visit_regs(n->stmt->inst, note, n);
    }
}

// ---- unset registers

static void report_unset(const names *n, const exposed *read) {
    const cj_ir_stmt *stmt = read->stmt;
    cj__report_add(n->report, "register-unset", stmt->line, read->operand ? read->operand->column : stmt->column,
                   "%s may be read here before anything has written it", read->reg->name);
    cj__report_hint(n->report, "write it on every path, or at the beginning");
}

static void note_result(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    names *n = user;
    (void)operand;
    if (!written) return;
    n->has_result = true;
    n->is_result_read |= n->reg[reg->index].read;
}

// Whether all that the instruction does is to write registers that nothing reads.
static bool is_idle(names *n, const cj_ir_inst *inst) {
    if (inst->row->effects & (CJ_READS | CJ_WRITES | CJ_ASYNC | CJ_BARRIER | CJ_BRANCH | CJ_END)) return false;
    n->has_result = n->is_result_read = false;
    cj__visit_regs(inst, note_result, n);
    return n->has_result && !n->is_result_read;
}

// Whether a read of a compiler's register is one of padding.
static bool is_padding(names *n, const cj_ir_inst *inst) {
    if (inst->operand[0].kind == CJ_OPERAND_MEMORY && cj__mnemonic_has(inst->mnemonic, CJ_W_PARAM)) return true;
    const bool is_pack = !strncmp(inst->mnemonic->text, "mov.", 4) && inst->operand_count == 2 &&
                         inst->operand[0].kind != CJ_OPERAND_VECTOR && inst->operand[1].kind == CJ_OPERAND_VECTOR;
    return is_pack || is_idle(n, inst);
}

// Whether the entry can be reached backwards from a read without passing a writer. seen: the value for which a block was looked at.
static bool reaches_entry(const names *n, const exposed *read, uint32_t *seen, uint32_t *stack, uint64_t *steps) {
    uint32_t depth = 0, mark = read->reg->index + 1;
    stack[depth++] = read->block;
    while (depth) {
        uint32_t b = stack[--depth];
        if (!b) return true;
        const cj_block *block = &n->graph->block[b];
        for (uint32_t i = 0; i < block->pred_count; i++) {
            uint32_t p = block->pred[i];
            if (!*steps) return false;
            --*steps;
            if (seen[p] == mark) continue;
            seen[p] = mark;
            stack[depth++] = p;
        }
    }
    return false;
}

// Searches backwards from every read that a writer does not dominate. Kernels that make this long are not searched to
// the end: the work stays linear.
static void find_unset(names *n) {
    const cj_ir_func *func = n->graph->func;
    uint32_t *seen = cj__arena_alloc(n->arena, (n->graph->count + 1) * sizeof *seen);
    uint32_t *stack = cj__arena_alloc(n->arena, (n->graph->count + 1) * sizeof *stack);
    uint64_t steps = (uint64_t)func->stmt_count * MANY_STEPS;
    for (uint32_t r = 0; seen && stack && r < func->reg_count && steps; r++) {
        if (!n->reg[r].reads || n->reg[r].kept || (func->reg[r]->in_range && n->reg[r].writers)) continue;
        for (const writer *w = n->reg[r].writers; w; w = w->next) seen[w->block] = r + 1;
        const exposed *first = NULL;
        for (const exposed *read = n->reg[r].reads; read; read = read->next) {  // the latest first
            if (func->reg[r]->in_range && is_padding(n, read->stmt->inst)) continue;
            if (reaches_entry(n, read, seen, stack, &steps)) first = read;
        }
        if (first) report_unset(n, first);
    }
}

// ---- what is not used

static void note_used(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    ((names *)user)->reg[reg->index].used = true;
    ((names *)user)->reg[reg->index].read |= !written;
}

// "implicit-def: %r7": how nvcc says that any value will do.
static void keep_named(names *n, cj_map *by_name, const char *text) {
    const cj_ir_func *func = n->graph->func;
    if (!by_name->arena) {
        by_name->arena = n->arena;
        for (size_t r = 0; r < func->reg_count; r++)
            if (!cj__map_put(by_name, func->reg[r]->name, strlen(func->reg[r]->name), func->reg[r])) return;
    }
    const char *name = text + sizeof CJ_IMPLICIT_DEF - 1;
    const cj_ir_reg *reg = cj__map_get(by_name, name, strcspn(name, " \t"));
    if (reg) n->reg[reg->index].kept = n->reg[reg->index].used = true;
}

static void keep_params(names *n, cj_ir_var **param, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (param[i]->reg) n->reg[param[i]->reg->index].kept = n->reg[param[i]->reg->index].used = true;
}

// What says of a register that it is used, beside the statements that are reached.
static void note_elsewhere(names *n) {
    const cj_ir_func *func = n->graph->func;
    size_t            reached = 0;
    for (uint32_t b = 0; b < n->graph->count; b++) reached += n->graph->block[b].end - n->graph->block[b].first;
    keep_params(n, func->param, func->param_count);
    keep_params(n, func->result, func->result_count);
    cj_map by_name = {0};
    for (size_t i = 0; i < func->stmt_count; i++) {
        const cj_ir_stmt *stmt = &func->stmt[i];
        if (stmt->kind == CJ_STMT_INST && reached < func->stmt_count) cj__visit_regs(stmt->inst, note_used, n);
        if (stmt->kind == CJ_STMT_COMMENT && !strncmp(stmt->text, CJ_IMPLICIT_DEF, sizeof CJ_IMPLICIT_DEF - 1))
            keep_named(n, &by_name, stmt->text);
    }
}

// Registers that nvcc declares wherever they might be needed.
static bool is_compilers(const char *name) {
    return !strcmp(name, "%SP") || !strcmp(name, "%SPL") || !strncmp(name, "temp_param_reg", 14);
}

static void find_unused(const names *n) {
    const cj_ir_func *func = n->graph->func;
    for (size_t r = 0; r < func->reg_count; r++)
        if (!n->reg[r].used && !is_compilers(func->reg[r]->name)) {
            cj__report_add(n->report, "register-unused", func->reg[r]->line, 1, "nothing uses the register %s",
                           func->reg[r]->name);
            cj__report_hint(n->report, "remove its declaration");
        }
    if (func->module->has_sections) return;  // debug sections name labels
    for (size_t i = 0; i < func->stmt_count; i++) {
        const cj_ir_stmt *stmt = &func->stmt[i];
        if (stmt->kind == CJ_STMT_LABEL && !stmt->label->uses)
            cj__report_add(n->report, "label-unused", stmt->line, stmt->column, "nothing branches to '%s'",
                           stmt->label->name);
    }
}

static uint32_t home_of(const reg_facts *facts) {
    if (!facts->writers) return 0;
    return facts->writers->next ? CJ_HOME_MANY : facts->writers->block + 1;
}

void cj__check_names(const cj_graph *graph, cj_arena *arena, cj_report *report, uint32_t *home) {
    names n = {.graph = graph, .arena = arena, .report = report};
    n.reg = cj__arena_alloc(arena, (graph->func->reg_count + 1) * sizeof *n.reg);
    if (!n.reg || !number_tree(&n)) return;
    for (n.block = 0; n.block < graph->count; n.block++) note_block(&n);
    note_elsewhere(&n);
    find_unset(&n);
    find_unused(&n);
    for (size_t r = 0; r < graph->func->reg_count; r++) home[r] = home_of(&n.reg[r]);
}
