// SPDX-License-Identifier: Apache-2.0
// The calls that make, launch and change executable graphs.
#include <string.h>

#include "submit.h"

static CUresult instantiate(CUgraphExec *result, CUgraph given, uint64_t flags) {
    const cj_graph *graph = cj__object_find(CJ_GRAPH, given);
    cj_exec        *exec = NULL;
    const uint64_t  known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                           CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if (!result) return cj__refuse_null("phGraphExec");
    if (!graph) return cj__refuse_handle(CJ_GRAPH, given);
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "graphs that kernels launch are missing here");
    if (flags & ~known) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "flags are 0x%llx", (unsigned long long)flags);
    const CUresult code = cj__exec_new(graph, flags, &exec);
    if (!code) *result = HANDLE_OF(exec);
    return code;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(instantiate(exec, graph, flags));
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUresult code = instantiate(exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = code ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    LEAVE(code);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t bytes) {
    ENTER(CJ_NEED_CONTEXT);
    if (error_node) *error_node = NULL;
    if (log && bytes) *log = 0;
    LEAVE(instantiate(exec, graph, 0));
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t bytes) {
    return cuGraphInstantiate_v2(exec, graph, error_node, log, bytes);
}

CUresult cuGraphExecGetFlags(CUgraphExec given, cuuint64_t *flags) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(flags);
    FIND(cj_exec, exec, CJ_EXEC, given);
    *flags = exec->flags;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec given) {
    ENTER(CJ_NEED_INIT);
    FIND(cj_exec, exec, CJ_EXEC, given);
    cj__object_destroy(exec);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphUpload(CUgraphExec given, CUstream stream_given) {
    ENTER(CJ_NEED_CONTEXT);
    cj_stream_object *stream = NULL;
    FIND(cj_exec, exec, CJ_EXEC, given);
    (void)exec;
    LEAVE(cj__stream_of(stream_given, &stream));
}

CUresult cuGraphLaunch(CUgraphExec given, CUstream stream) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_exec, exec, CJ_EXEC, given);
    LEAVE(cj__submit_graph(stream, exec));
}

// ---- changing

static CUresult step_of(CUgraphExec given, CUgraphNode node, cj_step **step) {
    cj_exec *exec = cj__object_find(CJ_EXEC, given);
    if (!exec) return cj__refuse_handle(CJ_EXEC, given);
    if (exec->running) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph runs now, in another thread");
    for (size_t i = 0; i < exec->count; i++) {
        if (exec->step[i].node != (uintptr_t)node) continue;
        *step = &exec->step[i];
        return CUDA_SUCCESS;
    }
    return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the executable graph has no such node");
}

static CUresult set(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *params) {
    cj_step       *step = NULL;
    const CUresult code = step_of(exec, node, &step);
    return code ? code : cj__node_replace(&step->work, params);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    LEAVE(set(exec, node, params));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params) {
    ENTER(CJ_NEED_CONTEXT);
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    REQUIRE(params);
    memcpy(&all.kernel, params, sizeof *params);
    LEAVE(set(exec, node, &all));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    REQUIRE(params);
    memcpy(&all.kernel, params, sizeof *params);
    LEAVE(set(exec, node, &all));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params,
                                        CUcontext context) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEMCPY,
                                   .memcpy = {.copyCtx = context, .copyParams = *params}};
    LEAVE(set(exec, node, &all));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p,
                                        CUcontext context) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(p);
    const CUgraphNodeParams all = {
        .type = CU_GRAPH_NODE_TYPE_MEMSET,
        .memset = {p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, context}};
    LEAVE(set(exec, node, &all));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(params);
    const CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_HOST, .host = {params->fn, params->userData}};
    LEAVE(set(exec, node, &all));
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord = {event}};
    LEAVE(set(exec, node, &all));
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
    ENTER(CJ_NEED_CONTEXT);
    const CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait = {event}};
    LEAVE(set(exec, node, &all));
}

static CUresult can_enable(const cj_step *step) {
    const cj_work_kind kind = step->work.kind;
    if (kind == CJ_WORK_LAUNCH || kind == CJ_WORK_COPY || kind == CJ_WORK_SET) return CUDA_SUCCESS;
    return cj__refuse(CUDA_ERROR_INVALID_VALUE, "only kernel, copy and fill nodes can be disabled");
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
    ENTER(CJ_NEED_CONTEXT);
    cj_step *step = NULL;
    TRY(step_of(exec, node, &step));
    TRY(can_enable(step));
    step->enabled = enabled != 0;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled) {
    ENTER(CJ_NEED_CONTEXT);
    cj_step *step = NULL;
    REQUIRE(enabled);
    TRY(step_of(exec, node, &step));
    TRY(can_enable(step));
    *enabled = step->enabled;
    LEAVE(CUDA_SUCCESS);
}

// ---- updating from a graph of the same shape

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec given, CUgraphNode node, CUgraph given_child) {
    ENTER(CJ_NEED_CONTEXT);
    cj_step                *step = NULL;
    CUgraphExecUpdateResult result;
    FIND(cj_graph, child, CJ_GRAPH, given_child);
    TRY(step_of(given, node, &step));
    cj_exec     *exec = cj__object_find(CJ_EXEC, given);
    const size_t first = (size_t)(step - exec->step) + 1;
    size_t       count = 0;
    while (first + count < exec->count && exec->step[first + count].parent == step->node) count++;
    TRY(cj__exec_take(exec, first, count, child, &result));
    if (!count || result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph has another shape than the node's"));
    LEAVE(CUDA_SUCCESS);
}

static CUresult update(CUgraphExec given, CUgraph given_graph, CUgraphExecUpdateResultInfo *info) {
    cj_exec        *exec = cj__object_find(CJ_EXEC, given);
    const cj_graph *graph = cj__object_find(CJ_GRAPH, given_graph);
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    if (!exec) return cj__refuse_handle(CJ_EXEC, given);
    if (!graph) return cj__refuse_handle(CJ_GRAPH, given_graph);
    if (exec->running) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the graph runs now, in another thread");
    const CUresult code = cj__exec_take(exec, 0, exec->count, graph, &info->result);
    if (code || info->result == CU_GRAPH_EXEC_UPDATE_SUCCESS) return code;
    return cj__refuse(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph has another shape than the executable one");
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(info);
    LEAVE(update(exec, graph, info));
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, CUgraphExecUpdateResult *result) {
    ENTER(CJ_NEED_CONTEXT);
    CUgraphExecUpdateResultInfo info;
    const CUresult              code = update(exec, graph, &info);
    if (error_node) *error_node = NULL;
    if (result) *result = info.result;
    LEAVE(code);
}
