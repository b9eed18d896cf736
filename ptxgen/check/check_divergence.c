// SPDX-License-Identifier: Apache-2.0
// .aligned instructions in code that only a part of a warp executes. Only what is certain is reported: the code hangs
// on a comparison that tells lanes of one warp apart, and the other lanes go on to something else than their end.
#include <string.h>

#include "checks.h"

static bool needs_warp(const cj_values *values, const cj_ir_inst *inst) {
    if (cj__mnemonic_has(inst->mnemonic, CJ_W_ALIGNED)) return true;
    bool bar = cj__values_op(values, inst) == CJ_OP_BARRIER && !strcmp(cj__row_opcode(inst->row), "bar");
    return bar && !cj__mnemonic_has(inst->mnemonic, CJ_W_WARP);  // bar.sync is barrier.sync.aligned
}

static bool parts_warp(const cj_values *values, const cj_ir_inst *inst, bool taken) {
    cj_value guard = cj__values_of(values, inst->guard);
    return guard.kind == CJ_VALUE_PREDICATE && (taken != inst->guard_negated ? guard.parts : guard.parts_not);
}

// A block that does nothing but end its threads: barriers do not wait for those.
static bool only_leaves(const cj_graph *graph, uint32_t index) {
    const cj_block *block = &graph->block[index];
    for (uint32_t i = block->first; i < block->end; i++) {
        const cj_ir_stmt *stmt = &graph->func->stmt[i];
        if (stmt->kind == CJ_STMT_INST && !(stmt->inst->row->effects & CJ_END)) return false;
    }
    return block->leaves && !block->succ_count;
}

// What comes to its dominator by part comes to a block by part.
void cj__check_divergence_enter(const cj_values *values, cj_cause *why) {
    uint32_t b = values->block;
    if (b && !why[b]) why[b] = why[values->graph->block[b].idom];
}

// A guarded branch marks the side that a part of the warp takes, where nothing else leads there.
void cj__check_divergence_leave(const cj_values *values, cj_cause *why) {
    const cj_graph *graph = values->graph;
    const cj_block *block = &graph->block[values->block];
    const cj_ir_stmt *last = cj__graph_last(graph, block);
    if (!last || !last->inst->guard || block->succ_count != 2 || !(last->inst->row->effects & CJ_BRANCH)) return;
    for (unsigned side = 0; side < 2; side++) {
        uint32_t to = block->succ[side], other = block->succ[!side];
        bool taken = graph->block[to].first != block->end;
        if (graph->block[to].pred_count == 1 && !only_leaves(graph, other) && parts_warp(values, last->inst, taken))
            why[to] = last;
    }
}

static void report(const cj_ir_stmt *stmt, const cj_ir_reg *guard, uint32_t line, cj_report *to) {
    cj__report_add(
        to, "aligned-divergent", stmt->line, stmt->column,
        "'%s' must be executed by all threads of the warp together, but %s (line %u) lets only some of them come here",
        stmt->inst->mnemonic->text, guard->name, line);
    cj__report_hint(to, "move it to where the threads have converged again, or let whole warps decide");
}

void cj__check_divergence(const cj_values *values, const cj_ir_stmt *stmt, const cj_cause *why, cj_report *to) {
    if (!needs_warp(values, stmt->inst)) return;
    const cj_ir_stmt *branch = why[values->block];
    if (stmt->inst->guard && parts_warp(values, stmt->inst, true)) report(stmt, stmt->inst->guard, stmt->line, to);
    else if (branch) report(stmt, branch->inst->guard, branch->line, to);
}
