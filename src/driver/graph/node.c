// SPDX-License-Identifier: Apache-2.0
// Nodes of the parameters that a call gives.
#include <stdlib.h>

#include "graph.h"

static CUresult make_work(const CUgraphNodeParams *params, cj_work *work, void ***scratch) {
    const CUresult code = cj__work_of_params(params, work, scratch);
    return code ? code : cj__work_check(work);
}

CUresult cj__node_new(cj_graph *graph, const CUgraphNode *after, size_t count, const CUgraphNodeParams *params,
                      cj_node **made) {
    void   **scratch = NULL;
    cj_work  work;
    CUresult code = make_work(params, &work, &scratch);
    if (!code && work.kind == CJ_WORK_CHILD && work.as.child == graph)
        code = cj__refuse(CUDA_ERROR_INVALID_VALUE, "a graph is its own child");
    if (!code) code = cj__graph_add(graph, after, count, &work, made);
    free(scratch);
    return code;
}

CUresult cj__node_replace(cj_work *held, const CUgraphNodeParams *params) {
    void  **scratch = NULL;
    cj_work work, copy;
    if (params->type != cj__work_type(held)) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "the node is of another type");
    CUresult code = make_work(params, &work, &scratch);
    if (!code && work.kind == CJ_WORK_LAUNCH) {  // attributes stay
        work.as.launch.attribute = held->as.launch.attribute;
        work.as.launch.attributes = held->as.launch.attributes;
    }
    if (!code) code = cj__work_copy(&work, &copy);
    free(scratch);
    if (code) return code;
    cj__work_drop(held);
    *held = copy;
    return CUDA_SUCCESS;
}
