// SPDX-License-Identifier: Apache-2.0
// The control-flow graph of a function, and bit masks that flow along it.
#ifndef CJ_PTXGEN_GRAPH_H
#define CJ_PTXGEN_GRAPH_H

#include "arena.h"
#include "ir.h"

// Statements that run one after the other. A guarded branch, ret or exit ends a block and lets it go on below.
typedef struct cj_block {
    uint32_t  first, end;         // its statements: [first, end)
    uint32_t *succ, *pred;        // blocks after and before
    uint32_t  succ_count, pred_count;
    uint32_t  idom;               // its immediate dominator; of block 0: 0
    bool      leaves;             // ret, exit or the end of the body may end the function here
} cj_block;

// The blocks that can be reached, in reverse postorder: block 0 is the entry, and a dominator stands before what it
// dominates.
typedef struct cj_graph {
    const cj_ir_func *func;
    cj_block         *block;
    uint32_t          count;
} cj_graph;

// False when the arena is out of memory.
bool cj__graph_build(cj_graph *graph, const cj_ir_func *func, cj_arena *arena);

// The instruction that ends the block, or NULL when it just goes on.
const cj_ir_stmt *cj__graph_last(const cj_graph *graph, const cj_block *block);

// Masks at the start (forward) or the end (backward) of every block: the union over all paths. `through` gives what a
// block makes of a mask. False when they do not settle in a fair number of rounds: what depends on them is then left
// unchecked.
typedef uint64_t cj_through(void *user, uint32_t block, uint64_t mask);
bool cj__flow_forward(const cj_graph *graph, uint64_t at_entry, cj_through *through, void *user, uint64_t *start);
bool cj__flow_backward(const cj_graph *graph, uint64_t at_leave, cj_through *through, void *user, uint64_t *end);

// The registers that an instruction reads, its guard included, then those that it writes.
typedef void cj_visit_reg(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written);
static inline void cj__visit_regs(const cj_ir_inst *inst, cj_visit_reg *visit, void *user);

// The parts of an operand that is more than a register.
void cj__visit_parts(const cj_ir_operand *operand, bool written, cj_visit_reg *visit, void *user);

static inline void cj__visit_operand(const cj_ir_operand *operand, bool written, cj_visit_reg *visit, void *user) {
    if (operand->kind == CJ_OPERAND_REG) visit(user, operand, operand->reg, written);
    if (operand->kind == CJ_OPERAND_MEMORY || operand->predicate || operand->count)
        cj__visit_parts(operand, written, visit, user);
}

static inline void cj__visit_regs(const cj_ir_inst *inst, cj_visit_reg *visit, void *user) {
    const unsigned written = inst->shape->written, count = inst->operand_count;
    if (inst->guard) visit(user, NULL, inst->guard, false);
    for (unsigned i = 0; i < count; i++)
        if (!(written >> i & 1)) cj__visit_operand(&inst->operand[i], false, visit, user);
    for (unsigned i = 0; written >> i && i < count; i++)
        if (written >> i & 1) cj__visit_operand(&inst->operand[i], true, visit, user);
}

#endif
