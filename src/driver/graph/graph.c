// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <stdlib.h>
#include <string.h>

// ---- work that is kept: it owns what it points to, and keeps the objects that it names

// Pointers to the arguments, and after them their values.
static void **copy_arguments(const cj_launch_work *launch) {
    const cj_function *code = launch->fun->code;
    const uint32_t     count = cj_function_param_count(code);
    size_t             bytes = (count + 1) * sizeof(void *);
    for (uint32_t i = 0; i < count; i++) bytes += cj_function_param_bytes(code, i);
    void         **argument = malloc(bytes);
    unsigned char *at = (unsigned char *)(argument + count + 1);
    for (uint32_t i = 0; argument && i < count; i++) {
        argument[i] = memcpy(at, launch->argument[i], cj_function_param_bytes(code, i));
        at += cj_function_param_bytes(code, i);
    }
    return argument;
}

static CUresult copy_launch(cj_launch_work *launch) {
    void             **argument = copy_arguments(launch);
    const size_t       bytes = launch->attributes * sizeof *launch->attribute;
    CUlaunchAttribute *attribute = malloc(bytes + 1);
    if (!argument || !attribute) {
        free(argument);
        free(attribute);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (bytes) memcpy(attribute, launch->attribute, bytes);
    launch->argument = argument;
    launch->attribute = attribute;
    cj__keep(launch->fun);
    return CUDA_SUCCESS;
}

CUresult cj__work_copy(const cj_work *from, cj_work *to) {
    CUresult code = CUDA_SUCCESS;
    *to = *from;
    switch (from->kind) {
    case CJ_WORK_LAUNCH: code = copy_launch(&to->as.launch); break;
    case CJ_WORK_COPY:
        if (to->as.copy.to.array) cj__keep(to->as.copy.to.array);
        if (to->as.copy.from.array) cj__keep(to->as.copy.from.array);
        break;
    case CJ_WORK_RECORD:
    case CJ_WORK_WAIT: cj__keep(to->as.event); break;
    case CJ_WORK_ALLOC: cj__keep(to->as.memory); break;
    case CJ_WORK_CHILD:
        code = cj__graph_clone(from->as.child, &to->as.child);
        if (!code) to->as.child->is_child = true;
        break;
    default: break;
    }
    if (code) {
        *to = (cj_work){.kind = CJ_WORK_EMPTY};
        return code;
    }
    cj__keep(to->context);
    return CUDA_SUCCESS;
}

void cj__work_drop(cj_work *work) {
    switch (work->kind) {
    case CJ_WORK_LAUNCH:
        free(work->as.launch.argument);
        free((void *)(uintptr_t)work->as.launch.attribute);
        cj__let(work->as.launch.fun);
        break;
    case CJ_WORK_COPY:
        cj__let(work->as.copy.to.array);
        cj__let(work->as.copy.from.array);
        break;
    case CJ_WORK_RECORD:
    case CJ_WORK_WAIT: cj__let(work->as.event); break;
    case CJ_WORK_ALLOC: cj__let(work->as.memory); break;
    case CJ_WORK_CHILD: cj__graph_destroy(work->as.child); break;
    default: break;
    }
    cj__let(work->context);
    *work = (cj_work){.kind = CJ_WORK_EMPTY};
}

// ---- nodes

static void release_node(void *object) {
    cj_node *node = object;
    cj__work_drop(&node->work);
    free(node->after);
    free(node);
}

static CUresult append_node(cj_graph *graph, cj_node *node) {
    if (graph->count == graph->room) {
        const size_t room = 2 * graph->room + 16;
        cj_node    **grown = realloc(graph->node, room * sizeof *grown);
        if (!grown) return CUDA_ERROR_OUT_OF_MEMORY;
        graph->node = grown;
        graph->room = room;
    }
    graph->node[graph->count++] = node;
    return CUDA_SUCCESS;
}

static bool comes_after(const cj_node *node, const cj_node *other) {
    for (size_t i = 0; i < node->count; i++) {
        if (node->after[i] == other) return true;
    }
    return false;
}

CUresult cj__node_link(cj_node *from, cj_node *to) {
    if (from->graph != to->graph) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "two nodes of different graphs");
    if (from == to) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a node comes after itself");
    if (comes_after(to, from)) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph has this edge already");
    cj_node **grown = realloc(to->after, (to->count + 1) * sizeof *grown);
    if (!grown) return CUDA_ERROR_OUT_OF_MEMORY;
    to->after = grown;
    to->after[to->count++] = from;
    return CUDA_SUCCESS;
}

void cj__node_unlink(const cj_node *from, cj_node *to) {
    size_t kept = 0;
    for (size_t i = 0; i < to->count; i++) {
        if (to->after[i] != from) to->after[kept++] = to->after[i];
    }
    to->count = kept;
}

void cj__node_destroy(cj_node *node) {
    cj_graph *graph = node->graph;
    size_t    kept = 0;
    for (size_t i = 0; i < graph->count; i++) {
        cj__node_unlink(node, graph->node[i]);
        if (graph->node[i] != node) graph->node[kept++] = graph->node[i];
    }
    graph->count = kept;
    cj__object_destroy(node);
}

CUresult cj__graph_add(cj_graph *graph, const CUgraphNode *after, size_t count, const cj_work *work, cj_node **made) {
    if (count && !after) return cj__refuse_null("dependencies");
    cj_node *node = cj__object_new(CJ_NODE, sizeof *node, NULL, release_node);
    if (!node) return CUDA_ERROR_OUT_OF_MEMORY;
    node->graph = graph;
    node->work = (cj_work){.kind = CJ_WORK_EMPTY};
    CUresult code = cj__work_copy(work, &node->work);
    for (size_t i = 0; i < count && !code; i++) {
        cj_node *before = cj__object_find(CJ_NODE, after[i]);
        code = before ? cj__node_link(before, node) : cj__refuse_handle(CJ_NODE, after[i]);
    }
    if (!code) code = append_node(graph, node);
    if (code)
        cj__object_destroy(node);
    else
        *made = node;
    return code;
}

// ---- graphs

static void release_graph(void *object) {
    cj_graph *graph = object;
    free(graph->node);
    free(graph->user);
    free(graph);
}

cj_graph *cj__graph_new(void) { return cj__object_new(CJ_GRAPH, sizeof(cj_graph), NULL, release_graph); }

void cj__graph_destroy(cj_graph *graph) {
    if (!graph) return;
    cj_user    **user = graph->user;
    const size_t users = graph->users;
    graph->user = NULL;
    for (size_t i = 0; i < graph->count; i++) cj__object_destroy(graph->node[i]);
    graph->count = 0;
    cj__object_destroy(graph);
    // Last, because the lock is given up while a program's function runs.
    for (size_t i = 0; i < users; i++) {
        cj__user_release(user[i], 1);
        cj__let(user[i]);
    }
    free(user);
}

static size_t index_of(const cj_graph *graph, const cj_node *node) {
    size_t i = 0;
    while (i < graph->count && graph->node[i] != node) i++;
    return i;
}

static CUresult clone_nodes(const cj_graph *graph, cj_graph *made) {
    CUresult code = CUDA_SUCCESS;
    for (size_t i = 0; i < graph->count && !code; i++) {
        cj_node *node = NULL;
        code = cj__graph_add(made, NULL, 0, &graph->node[i]->work, &node);
        if (!code) node->origin = graph->node[i]->base.handle;
    }
    for (size_t i = 0; i < graph->count && !code; i++) {
        const cj_node *node = graph->node[i];
        for (size_t k = 0; k < node->count && !code; k++)
            code = cj__node_link(made->node[index_of(graph, node->after[k])], made->node[i]);
    }
    return code;
}

CUresult cj__graph_clone(const cj_graph *graph, cj_graph **made) {
    cj_graph *clone = cj__graph_new();
    if (!clone) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult code = clone_nodes(graph, clone);
    if (code)
        cj__graph_destroy(clone);
    else
        *made = clone;
    return code;
}

// Takes again and again the first node whose edges all come from nodes that were taken.
cj_node **cj__graph_order(const cj_graph *graph) {
    cj_node **order = malloc((graph->count + 1) * sizeof *order);
    size_t    taken = 0;
    for (size_t i = 0; i < graph->count; i++) graph->node[i]->mark = graph->node[i]->count;
    if (!order) return NULL;
    // A node's mark counts the nodes that it waits for; SIZE_MAX: it was taken.
    for (size_t i = 0; i < graph->count;) {
        cj_node *node = graph->node[i];
        if (node->mark) {
            i++;
            continue;
        }
        node->mark = SIZE_MAX;
        order[taken++] = node;
        size_t first = i + 1;
        for (size_t k = 0; k < graph->count; k++) {
            cj_node *other = graph->node[k];
            if (other->mark == SIZE_MAX || !comes_after(other, node)) continue;
            if (!--other->mark && k < first) first = k;
        }
        i = first;
    }
    if (taken == graph->count) return order;
    free(order);
    cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph's edges form a circle");
    return NULL;
}
