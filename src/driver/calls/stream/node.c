// SPDX-License-Identifier: Apache-2.0
// The calls that make nodes, and that ask and change what they do.
#include <string.h>

#include "graph.h"

static CUresult add(CUgraphNode *result, CUgraph given, const CUgraphNode *after, size_t count,
                    const CUgraphNodeParams *params) {
    cj_node  *node = NULL;
    cj_graph *graph = cj__object_find(CJ_GRAPH, given);
    if (!result) return cj__refuse_null("phGraphNode");
    if (!graph) return cj__refuse_handle(CJ_GRAPH, given);
    const CUresult code = cj__node_new(graph, after, count, params, &node);
    if (!code) *result = HANDLE_OF(node);
    return code;
}

static CUresult add_alloc(CUgraphNode *result, CUgraph given, const CUgraphNode *after, size_t count,
                          CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    cj_graph *graph = cj__object_find(CJ_GRAPH, given);
    cj_node  *node = NULL;
    if (!result || !params) return cj__refuse_null("phGraphNode");
    if (!graph) return cj__refuse_handle(CJ_GRAPH, given);
    const CUresult code = cj__graph_add_memory(graph, after, count, params->bytesize, cj__current(), &node);
    if (code) return code;
    params->dptr = node->work.as.memory->address;
    *result = HANDLE_OF(node);
    return CUDA_SUCCESS;
}

// ---- one call for each type, and one for all

static CUgraphNodeParams kernel_of(const void *params, size_t bytes) {
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&all.kernel, params, bytes);  // the versions differ in their length
    return all;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = kernel_of(params, sizeof *params);
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = kernel_of(params, sizeof *params);
    LEAVE(add(node, graph, after, count, &all));
}

static CUgraphNodeParams memcpy_of(const CUDA_MEMCPY3D *params, CUcontext context) {
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                               .memcpy = {.copyCtx = context, .copyParams = *params}};
}

static CUgraphNodeParams memset_of(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context) {
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET,
                               .memset = {p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, context}};
}

static CUgraphNodeParams host_of(const CUDA_HOST_NODE_PARAMS *p) {
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST, .host = {p->fn, p->userData}};
}

static CUgraphNodeParams record_of(CUevent event) {
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};
}

static CUgraphNodeParams wait_of(CUevent event) {
    return (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_MEMCPY3D *params, CUcontext context) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = memcpy_of(params, context);
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = memset_of(params, context);
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                            const CUDA_HOST_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = host_of(params);
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                  CUgraph child) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .graph = {.graph = child}};
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                   CUevent event) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = record_of(event);
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                 CUevent event) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = wait_of(event);
    LEAVE(add(node, graph, after, count, &all));
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(add_alloc(node, graph, after, count, params));
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                               CUdeviceptr memory) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {memory}};
    LEAVE(add(node, graph, after, count, &all));
}

static CUresult add_any(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                        CUgraphNodeParams *params) {
    if (!params) return cj__refuse_null("nodeParams");
    if (params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return add(node, graph, after, count, params);
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {.bytesize = params->alloc.bytesize};
    const CUresult             code = add_alloc(node, graph, after, count, &alloc);
    params->alloc.dptr = alloc.dptr;
    return code;
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                        CUgraphNodeParams *params) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(add_any(node, graph, after, count, params));
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edge,
                           size_t count, CUgraphNodeParams *params) {
    ENTER(CJ_NEED_CONTEXT);
    (void)edge;  // a node runs to its end before the next one, whatever part of it an edge names
    LEAVE(add_any(node, graph, after, count, params));
}

// ---- asking and changing

static CUresult get(CUgraphNode given, CUgraphNodeType type, CUgraphNodeParams *params) {
    const cj_node *node = cj__object_find(CJ_NODE, given);
    if (!node) return cj__refuse_handle(CJ_NODE, given);
    if (cj__work_type(&node->work) != type) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the node is of another type");
    cj__params_of_work(&node->work, params);
    return CUDA_SUCCESS;
}

static CUresult set(CUgraphNode given, const CUgraphNodeParams *params) {
    cj_node *node = cj__object_find(CJ_NODE, given);
    return node ? cj__node_replace(&node->work, params) : cj__refuse_handle(CJ_NODE, given);
}

// Begins a call that reads the parameters of a node of a type into `all`.
#define ENTER_GET(given, type, result) \
    ENTER(CJ_NEED_CONTEXT);            \
    CUgraphNodeParams all;             \
    REQUIRE(result);                   \
    TRY(get(given, type, &all))

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_KERNEL, params);
    memcpy(params, &all.kernel, sizeof *params);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_KERNEL, params);
    memcpy(params, &all.kernel, sizeof *params);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_MEMCPY, params);
    *params = all.memcpy.copyParams;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_MEMSET, params);
    memcpy(params, &all.memset, sizeof *params);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_HOST, params);
    *params = (CUDA_HOST_NODE_PARAMS){all.host.fn, all.host.userData};
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_GRAPH, graph);
    *graph = all.graph.graph;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    *event = all.eventRecord.event;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    *event = all.eventWait.event;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params);
    *params = (CUDA_MEM_ALLOC_NODE_PARAMS){.bytesize = all.alloc.bytesize, .dptr = all.alloc.dptr};
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *memory) {
    ENTER_GET(node, CU_GRAPH_NODE_TYPE_MEM_FREE, memory);
    *memory = all.free.dptr;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = kernel_of(params, sizeof *params);
    LEAVE(set(node, &all));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = kernel_of(params, sizeof *params);
    LEAVE(set(node, &all));
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = memcpy_of(params, NULL);
    LEAVE(set(node, &all));
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = memset_of(params, NULL);
    LEAVE(set(node, &all));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = host_of(params);
    LEAVE(set(node, &all));
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = record_of(event);
    LEAVE(set(node, &all));
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = wait_of(event);
    LEAVE(set(node, &all));
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    LEAVE(set(node, params));
}
