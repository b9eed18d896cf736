// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include "checks.h"

static void check_inst(const cj_values *values, const cj_ir_stmt *stmt, const cj_cause *why, cj_clusters *clusters,
                       cj_report *report) {
    cj__check_addresses(values, stmt, report);
    cj__check_divergence(values, stmt, why, report);
    cj__check_clusters_note(clusters, stmt);
}

static void walk(cj_values *values, cj_cause *why, cj_clusters *clusters, cj_report *report) {
    const cj_graph *graph = values->graph;
    for (uint32_t b = 0; b < graph->count; b++) {
        cj__values_enter(values, b);
        cj__check_divergence_enter(values, why);
        cj__check_clusters_enter(clusters);
        for (uint32_t i = graph->block[b].first; i < graph->block[b].end; i++) {
            const cj_ir_stmt *stmt = &graph->func->stmt[i];
            if (stmt->kind != CJ_STMT_INST) continue;
            const cj_op op = cj__values_op(values, stmt->inst);
            if (op < CJ_OP_PLAIN || op > CJ_OP_SETP) check_inst(values, stmt, why, clusters, report);
            cj__values_step(values, stmt->inst);
        }
        cj__check_divergence_leave(values, why);
    }
    cj__check_clusters_end(clusters);
}

void cj__check_func_paths(const cj_ir_func *func, cj_arena *arena, cj_report *report) {
    if (!func->has_body || func->broken) return;
    cj_graph  graph;
    cj_values values;
    uint32_t *home = cj__arena_take(arena, (func->reg_count + 1) * sizeof *home);
    if (home && cj__graph_build(&graph, func, arena)) cj__check_names(&graph, arena, report, home);
    if (!arena->failed && cj__values_find(&values, &graph, home, arena)) {
        cj_cause *why = cj__arena_alloc(arena, (graph.count + 1) * sizeof *why);
        cj_clusters *clusters = cj__check_clusters_begin(&values, arena, report);
        if (why && clusters) walk(&values, why, clusters, report);
    }
    if (arena->failed) report->arena.failed = true;
    cj__arena_reset(arena);
}

void cj__check_paths(const cj_ir_module *module, cj_report *report) {
    cj_arena arena = {0};
    for (size_t i = 0; i < module->item_count; i++) {
        if (module->item[i].kind == CJ_ITEM_FUNC) cj__check_func_paths(module->item[i].func, &arena, report);
    }
    cj__arena_free(&arena);
}
