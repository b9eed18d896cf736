// SPDX-License-Identifier: Apache-2.0
// The calls that make graphs, and that ask of their nodes and edges.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

CUresult cuGraphCreate(CUgraph *result, unsigned flags) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(result);
    if (flags) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x, and must be 0", flags));
    const cj_graph *made = cj__graph_new();
    if (!made) LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    *result = HANDLE_OF(made);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    if (graph->is_child || graph->captured)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph is a node's child, or is being captured"));
    cj__graph_destroy(graph);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphClone(CUgraph *result, CUgraph given) {
    ENTER(CJ_NEED_CONTEXT);
    cj_graph *made = NULL;
    REQUIRE(result);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    TRY(cj__graph_clone(graph, &made));
    *result = HANDLE_OF(made);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphNodeFindInClone(CUgraphNode *result, CUgraphNode original, CUgraph given) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(result);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    for (size_t i = 0; i < graph->count; i++) {
        if (!original || graph->node[i]->origin != (uintptr_t)original) continue;
        *result = HANDLE_OF(graph->node[i]);
        LEAVE(CUDA_SUCCESS);
    }
    LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph has no clone of that node"));
}

CUresult cuGraphNodeGetType(CUgraphNode given, CUgraphNodeType *type) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(type);
    FIND(cj_node, node, CJ_NODE, given);
    *type = cj__work_type(&node->work);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphDestroyNode(CUgraphNode given) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_node, node, CJ_NODE, given);
    cj__node_destroy(node);
    LEAVE(CUDA_SUCCESS);
}

// ---- lists
//
// A list is asked for with an array and its length, or with none, for the length alone. What is left of the array is NULL.

typedef struct list {
    CUgraphNode *node, *other;
    size_t       room, count;
} list;

static list list_of(CUgraphNode *node, CUgraphNode *other, const size_t *room) {
    return (list){node, other, node && room ? *room : 0, 0};
}

static void list_add(list *l, const cj_node *node, const cj_node *other) {
    if (l->count < l->room) {
        l->node[l->count] = HANDLE_OF(node);
        if (l->other && other) l->other[l->count] = HANDLE_OF(other);
    }
    l->count++;
}

static CUresult list_end(const list *l, CUgraphEdgeData *edge, size_t *count) {
    for (size_t i = l->count; i < l->room; i++) {
        l->node[i] = NULL;
        if (l->other) l->other[i] = NULL;
    }
    if (edge && l->room) memset(edge, 0, (l->count < l->room ? l->count : l->room) * sizeof *edge);
    *count = l->node && l->count > l->room ? l->room : l->count;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph given, CUgraphNode *nodes, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(count);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    list l = list_of(nodes, NULL, count);
    for (size_t i = 0; i < graph->count; i++) list_add(&l, graph->node[i], NULL);
    LEAVE(list_end(&l, NULL, count));
}

CUresult cuGraphGetRootNodes(CUgraph given, CUgraphNode *nodes, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(count);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    list l = list_of(nodes, NULL, count);
    for (size_t i = 0; i < graph->count; i++) {
        if (!graph->node[i]->count) list_add(&l, graph->node[i], NULL);
    }
    LEAVE(list_end(&l, NULL, count));
}

static CUresult edges(CUgraph given, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edge, size_t *count) {
    const cj_graph *graph = cj__object_find(CJ_GRAPH, given);
    if (!count) return cj__refuse_null("numEdges");
    if (!graph) return cj__refuse_handle(CJ_GRAPH, given);
    if (!from != !to) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "one of `from` and `to` is NULL");
    list l = list_of(from, to, count);
    for (size_t i = 0; i < graph->count; i++) {
        for (size_t k = 0; k < graph->node[i]->count; k++) list_add(&l, graph->node[i]->after[k], graph->node[i]);
    }
    return list_end(&l, edge, count);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(edges(graph, from, to, NULL, count));
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edge, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(edges(graph, from, to, edge, count));
}

static CUresult before(CUgraphNode given, CUgraphNode *nodes, CUgraphEdgeData *edge, size_t *count) {
    const cj_node *node = cj__object_find(CJ_NODE, given);
    if (!count) return cj__refuse_null("numDependencies");
    if (!node) return cj__refuse_handle(CJ_NODE, given);
    list l = list_of(nodes, NULL, count);
    for (size_t i = 0; i < node->count; i++) list_add(&l, node->after[i], NULL);
    return list_end(&l, edge, count);
}

static CUresult after(CUgraphNode given, CUgraphNode *nodes, CUgraphEdgeData *edge, size_t *count) {
    const cj_node *node = cj__object_find(CJ_NODE, given);
    if (!count) return cj__refuse_null("numDependentNodes");
    if (!node) return cj__refuse_handle(CJ_NODE, given);
    list l = list_of(nodes, NULL, count);
    for (size_t i = 0; i < node->graph->count; i++) {
        const cj_node *other = node->graph->node[i];
        for (size_t k = 0; k < other->count; k++) {
            if (other->after[k] == node) list_add(&l, other, NULL);
        }
    }
    return list_end(&l, edge, count);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(before(node, nodes, NULL, count));
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edge, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(before(node, nodes, edge, count));
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(after(node, nodes, NULL, count));
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edge, size_t *count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(after(node, nodes, edge, count));
}

// ---- edges

static CUresult each_edge(CUgraph given, const CUgraphNode *from, const CUgraphNode *to, size_t count, bool link) {
    const cj_graph *graph = cj__object_find(CJ_GRAPH, given);
    CUresult        code = CUDA_SUCCESS;
    if (!graph) return cj__refuse_handle(CJ_GRAPH, given);
    if (count && (!from || !to)) return cj__refuse_null("from or to");
    for (size_t i = 0; i < count && !code; i++) {
        cj_node *first = cj__object_find(CJ_NODE, from[i]), *second = cj__object_find(CJ_NODE, to[i]);
        if (!first || !second) return cj__refuse_handle(CJ_NODE, first ? to[i] : from[i]);
        if (first->graph != graph || second->graph != graph)
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a node is of another graph");
        if (link)
            code = cj__node_link(first, second);
        else
            cj__node_unlink(first, second);
    }
    return code;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(each_edge(graph, from, to, count, true));
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edge, size_t count) {
    ENTER(CJ_NEED_CONTEXT);
    (void)edge;
    LEAVE(each_edge(graph, from, to, count, true));
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(each_edge(graph, from, to, count, false));
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edge, size_t count) {
    ENTER(CJ_NEED_CONTEXT);
    (void)edge;
    LEAVE(each_edge(graph, from, to, count, false));
}

// ---- attributes of kernel nodes

static CUresult kernel_node(CUgraphNode given, cj_launch_work **launch) {
    cj_node *node = cj__object_find(CJ_NODE, given);
    if (!node) return cj__refuse_handle(CJ_NODE, given);
    if (node->work.kind != CJ_WORK_LAUNCH) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the node launches no kernel");
    *launch = &node->work.as.launch;
    return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id, CUkernelNodeAttrValue *value) {
    ENTER(CJ_NEED_CONTEXT);
    cj_launch_work *launch = NULL;
    REQUIRE(value);
    TRY(kernel_node(node, &launch));
    if ((unsigned)id >= CU_LAUNCH_ATTRIBUTE_MAX)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "launch attribute %d is not known", (int)id));
    memset(value, 0, sizeof *value);
    for (unsigned i = 0; i < launch->attributes; i++) {
        if (launch->attribute[i].id == id) *value = launch->attribute[i].value;
    }
    LEAVE(CUDA_SUCCESS);
}

static CUresult replace_attributes(cj_launch_work *launch, const CUlaunchAttribute *from, unsigned count) {
    CUlaunchAttribute *made = malloc((count + 1) * sizeof *made);
    if (!made) return CUDA_ERROR_OUT_OF_MEMORY;
    if (count) memcpy(made, from, count * sizeof *made);
    free((void *)(uintptr_t)launch->attribute);
    launch->attribute = made;
    launch->attributes = count;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(cj_launch_work *launch, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value) {
    CUlaunchAttribute all[CU_LAUNCH_ATTRIBUTE_MAX + 1];
    unsigned          count = 0;
    for (unsigned i = 0; i < launch->attributes && count < CU_LAUNCH_ATTRIBUTE_MAX; i++) {
        if (launch->attribute[i].id != id) all[count++] = launch->attribute[i];
    }
    all[count++] = (CUlaunchAttribute){.id = id, .value = *value};
    cj_launch_work changed = *launch;
    changed.attribute = all;
    changed.attributes = count;
    const CUresult code = cj__launch_check(&changed);
    return code ? code : replace_attributes(launch, all, count);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value) {
    ENTER(CJ_NEED_CONTEXT);
    cj_launch_work *launch = NULL;
    REQUIRE(value);
    TRY(kernel_node(node, &launch));
    LEAVE(set_attribute(launch, id, value));
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
    ENTER(CJ_NEED_CONTEXT);
    cj_launch_work *target = NULL, *source = NULL;
    TRY(kernel_node(to, &target));
    TRY(kernel_node(from, &source));
    LEAVE(target == source ? CUDA_SUCCESS : replace_attributes(target, source->attribute, source->attributes));
}

// ---- for people

CUresult cuGraphDebugDotPrint(CUgraph given, const char *path, unsigned flags) {
    static const char *const names[] = {
#define CJ_X(name) #name,
        CJ_WORKS(CJ_X)
#undef CJ_X
    };
    ENTER(CJ_NEED_CONTEXT);
    (void)flags;
    REQUIRE(path);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    FILE *file = fopen(path, "w");
    if (!file) LEAVE(cj__refuse(CUDA_ERROR_OPERATING_SYSTEM, "%.300s cannot be written", path));
    fputs("digraph graph_ {\n", file);
    for (size_t i = 0; i < graph->count; i++) {
        const cj_node *node = graph->node[i];
        const char *name = node->work.kind == CJ_WORK_LAUNCH ? node->work.as.launch.fun->name : names[node->work.kind];
        fprintf(file, "  n%llx [label=\"%s\"];\n", (unsigned long long)node->base.handle, name);
        for (size_t k = 0; k < node->count; k++)
            fprintf(file, "  n%llx -> n%llx;\n", (unsigned long long)node->after[k]->base.handle,
                    (unsigned long long)node->base.handle);
    }
    fputs("}\n", file);
    LEAVE(fclose(file) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS);
}

// ---- user objects

CUresult cuUserObjectCreate(CUuserObject *result, void *pointer, CUhostFn destroy, unsigned references,
                            unsigned flags) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(result);
    REQUIRE(destroy);
    REQUIRE(references);
    if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x", flags));
    cj_user *made = cj__object_new(CJ_USER, sizeof *made, NULL, free);
    if (!made) LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    made->pointer = pointer;
    made->destroy = destroy;
    made->references = references;
    *result = HANDLE_OF(made);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuUserObjectRetain(CUuserObject given, unsigned count) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(count);
    FIND(cj_user, user, CJ_USER, given);
    user->references += count;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuUserObjectRelease(CUuserObject given, unsigned count) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(count);
    FIND(cj_user, user, CJ_USER, given);
    if (count > user->references)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "%u references of %u", count, user->references));
    cj__user_release(user, count);
    LEAVE(CUDA_SUCCESS);
}

// A graph holds each reference as an entry of its list.
CUresult cuGraphRetainUserObject(CUgraph given, CUuserObject given_user, unsigned count, unsigned flags) {
    ENTER(CJ_NEED_INIT);
    REQUIRE(count);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    FIND(cj_user, user, CJ_USER, given_user);
    if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE || count > 1u << 20)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%x, references %u", flags, count));
    cj_user **grown = realloc(graph->user, (graph->users + count) * sizeof *grown);
    if (!grown) LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    graph->user = grown;
    for (unsigned i = 0; i < count; i++) graph->user[graph->users++] = cj__keep(user);
    if (!flags) user->references += count;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphReleaseUserObject(CUgraph given, CUuserObject given_user, unsigned count) {
    ENTER(CJ_NEED_INIT);
    unsigned released = 0;
    size_t   kept = 0;
    REQUIRE(count);
    FIND(cj_graph, graph, CJ_GRAPH, given);
    FIND(cj_user, user, CJ_USER, given_user);
    for (size_t i = 0; i < graph->users; i++) {
        if (graph->user[i] == user && released < count)
            released++;
        else
            graph->user[kept++] = graph->user[i];
    }
    graph->users = kept;
    if (released < count) cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph has %u references of %u", released, count);
    cj__user_release(user, released);
    for (unsigned i = 0; i < released; i++) cj__let(user);
    LEAVE(released < count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}
