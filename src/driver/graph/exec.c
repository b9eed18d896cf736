// SPDX-License-Identifier: Apache-2.0
// Executable graphs: a graph's work in an order of its edges, with the work of child graphs in the place of their node.
#include <stdlib.h>

#include "graph.h"

// ---- steps

static void drop_steps(cj_step *step, size_t count) {
    for (size_t i = 0; i < count; i++) cj__work_drop(&step[i].work);
    free(step);
}

static size_t steps_of(const cj_graph *graph) {
    size_t count = graph->count;
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->node[i]->work.kind == CJ_WORK_CHILD) count += steps_of(graph->node[i]->work.as.child);
    }
    return count;
}

typedef struct list {
    cj_step *step;
    size_t   count;
} list;

// A child's node is a step, too: without work, and before those of the child.
static CUresult append_graph(list *l, const cj_graph *graph, uint64_t parent) {
    cj_node **order = cj__graph_order(graph);
    CUresult  code = order ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < graph->count && !code; i++) {
        const cj_node *node = order[i];
        const bool     is_child = node->work.kind == CJ_WORK_CHILD;
        const cj_work  nothing = {.kind = CJ_WORK_EMPTY, .context = node->work.context};
        cj_step       *step = &l->step[l->count];
        code = cj__work_copy(is_child ? &nothing : &node->work, &step->work);
        if (code) break;
        step->node = node->base.handle;
        step->parent = parent;
        step->enabled = true;
        l->count++;
        if (is_child) code = append_graph(l, node->work.as.child, parent ? parent : node->base.handle);
    }
    free(order);
    return code;
}

static CUresult make_steps(const cj_graph *graph, list *made) {
    *made = (list){.step = calloc(steps_of(graph) + 1, sizeof *made->step)};
    if (!made->step) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult code = append_graph(made, graph, 0);
    if (code) drop_steps(made->step, made->count);
    return code;
}

// ---- making and running

static void release_exec(void *object) {
    cj_exec *exec = object;
    drop_steps(exec->step, exec->count);
    free(exec);
}

CUresult cj__exec_new(const cj_graph *graph, uint64_t flags, cj_exec **result) {
    list     made;
    CUresult code = make_steps(graph, &made);
    if (code) return code;
    cj_exec *exec = cj__object_new(CJ_EXEC, sizeof *exec, NULL, release_exec);
    if (!exec) {
        drop_steps(made.step, made.count);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->step = made.step;
    exec->count = made.count;
    exec->flags = flags;
    *result = exec;
    return CUDA_SUCCESS;
}

CUresult cj__exec_run(cj_exec *exec) {
    CUresult code = CUDA_SUCCESS;
    cj__keep(exec);  // the lock is given up while a step runs
    exec->running++;
    for (size_t i = 0; i < exec->count && !code; i++) {
        if (exec->step[i].enabled) code = cj__work_run(&exec->step[i].work);
    }
    exec->running--;
    cj__let(exec);
    return code;
}

// ---- updating from a graph of the same shape

// Takes the work of `made`, whose steps correspond to those from `first` on. Their nodes keep their handles.
static void take_steps(cj_exec *exec, size_t first, list *made) {
    for (size_t i = 0; i < made->count; i++) {
        cj_step *step = &exec->step[first + i];
        cj__work_drop(&step->work);
        step->work = made->step[i].work;
    }
    free(made->step);
}

static bool same_steps(const cj_step *step, const list *made) {
    for (size_t i = 0; i < made->count; i++) {
        if (step[i].work.kind != made->step[i].work.kind) return false;
    }
    return true;
}

CUresult cj__exec_take(cj_exec *exec, size_t first, size_t count, const cj_graph *graph,
                       CUgraphExecUpdateResult *result) {
    list made;
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    const CUresult code = make_steps(graph, &made);
    if (code) return code;
    *result = made.count != count                      ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
              : !same_steps(&exec->step[first], &made) ? CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
                                                       : CU_GRAPH_EXEC_UPDATE_SUCCESS;
    if (*result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
        take_steps(exec, first, &made);
    else
        drop_steps(made.step, made.count);
    return CUDA_SUCCESS;
}
