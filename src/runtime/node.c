// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs: their parameters in the driver's form and back. Each type is added, read, changed in its graph and changed in
// an executable graph by the driver's functions of the same name.
#include <string.h>

#include "runtime.h"

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS_v1) &&
                   sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS_v1) &&
                   sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1),
               "these parameters are the driver's");

#define ADDED cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count

// Leaves a function of the API if that fails, which is the runtime's own.
#define CHECK(expression)                         \
    do {                                          \
        const cudaError_t checked = (expression); \
        if (checked) return checked;              \
    } while (0)

// ---- kernels

static cudaError_t kernel_params(const char *call, const struct cudaKernelNodeParams *given,
                                 CUDA_KERNEL_NODE_PARAMS *made) {
    if (!given) return cj__refuse(call, cudaErrorInvalidValue, "the parameters are NULL");
    memset(made, 0, sizeof *made);
    made->gridDimX = given->gridDim.x;
    made->gridDimY = given->gridDim.y;
    made->gridDimZ = given->gridDim.z;
    made->blockDimX = given->blockDim.x;
    made->blockDimY = given->blockDim.y;
    made->blockDimZ = given->blockDim.z;
    made->sharedMemBytes = given->sharedMemBytes;
    made->kernelParams = given->kernelParams;
    made->extra = given->extra;
    return cj__function_of(call, given->func, &made->func);
}

cudaError_t cudaGraphAddKernelNode(ADDED, const struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS driver;
    BEGIN();
    CHECK(kernel_params(__func__, params, &driver));
    return cj__launch_result(cuGraphAddKernelNode(node, graph, dependencies, count, &driver), params->gridDim,
                             params->blockDim);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS driver = {0};
    REQUIRE(params);
    BEGIN();
    TRY(cuGraphKernelNodeGetParams(node, &driver));
    if (!driver.func && driver.kern) TRY(cuKernelGetFunction(&driver.func, driver.kern));
    *params = (struct cudaKernelNodeParams){.func = cj__host_of(driver.func),
                                            .gridDim = {driver.gridDimX, driver.gridDimY, driver.gridDimZ},
                                            .blockDim = {driver.blockDimX, driver.blockDimY, driver.blockDimZ},
                                            .sharedMemBytes = driver.sharedMemBytes,
                                            .kernelParams = driver.kernelParams,
                                            .extra = driver.extra};
    return cudaSuccess;
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS driver;
    BEGIN();
    CHECK(kernel_params(__func__, params, &driver));
    return cj__launch_result(cuGraphKernelNodeSetParams(node, &driver), params->gridDim, params->blockDim);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS driver;
    BEGIN();
    CHECK(kernel_params(__func__, params, &driver));
    return cj__launch_result(cuGraphExecKernelNodeSetParams(exec, node, &driver), params->gridDim, params->blockDim);
}

PASS(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t to, cudaGraphNode_t from),
     cuGraphKernelNodeCopyAttributes(to, from))
PASS(cudaGraphKernelNodeGetAttribute,
     (cudaGraphNode_t node, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value),
     cuGraphKernelNodeGetAttribute(node, (CUkernelNodeAttrID)attribute, (CUkernelNodeAttrValue *)(void *)value))
PASS(cudaGraphKernelNodeSetAttribute,
     (cudaGraphNode_t node, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value),
     cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)attribute,
                                   (const CUkernelNodeAttrValue *)(const void *)value))

// ---- copies

static cudaError_t add_copy(ADDED, const CUDA_MEMCPY3D *copy) {
    CUcontext context = NULL;
    TRY(cuCtxGetCurrent(&context));
    return cj__result(cuGraphAddMemcpyNode(node, graph, dependencies, count, copy, context));
}

static cudaError_t change_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *copy) {
    CUcontext context = NULL;
    TRY(cuCtxGetCurrent(&context));
    return cj__result(exec ? cuGraphExecMemcpyNodeSetParams(exec, node, copy, context)
                           : cuGraphMemcpyNodeSetParams(node, copy));
}

// A copy to or from a variable of the program.
typedef struct symbol_copy {
    const void         *symbol, *pointer;
    size_t              bytes, offset;
    enum cudaMemcpyKind kind;
    bool                to_symbol;
} symbol_copy;

static cudaError_t describe_symbol(const char *call, symbol_copy c, CUDA_MEMCPY3D *copy) {
    CUdeviceptr at = 0;
    size_t      size = 0;
    void       *there = NULL, *other = NULL;
    CHECK(cj__symbol_of(call, c.symbol, &at, &size));
    if (c.offset > size || c.bytes > size - c.offset)
        return cj__refuse(call, cudaErrorInvalidValue, "%zu bytes at offset %zu do not fit the variable's %zu bytes",
                          c.bytes, c.offset, size);
    at += c.offset;
    memcpy(&there, &at, sizeof there);
    memcpy(&other, &c.pointer, sizeof other);
    return c.to_symbol ? cj__describe_linear(call, there, other, c.bytes, c.kind, copy)
                       : cj__describe_linear(call, other, there, c.bytes, c.kind, copy);
}

// The four functions of a form of copy: added, set in the graph, set in the executable graph.
#define COPY_NODES(suffix, describe, ...)                            \
    cudaError_t cudaGraphAddMemcpyNode##suffix(ADDED, __VA_ARGS__) { \
        CUDA_MEMCPY3D copy;                                          \
        BEGIN();                                                     \
        CHECK(describe);                                             \
        return add_copy(node, graph, dependencies, count, &copy);    \
    }                                                                \
    COPY_SETTERS(suffix, describe, __VA_ARGS__)
#define COPY_SETTERS(suffix, describe, ...)                                                                         \
    cudaError_t cudaGraphMemcpyNodeSetParams##suffix(cudaGraphNode_t node, __VA_ARGS__) {                           \
        CUDA_MEMCPY3D copy;                                                                                         \
        BEGIN();                                                                                                    \
        CHECK(describe);                                                                                            \
        return change_copy(NULL, node, &copy);                                                                      \
    }                                                                                                               \
    cudaError_t cudaGraphExecMemcpyNodeSetParams##suffix(cudaGraphExec_t exec, cudaGraphNode_t node, __VA_ARGS__) { \
        CUDA_MEMCPY3D copy;                                                                                         \
        BEGIN();                                                                                                    \
        CHECK(describe);                                                                                            \
        return change_copy(exec, node, &copy);                                                                      \
    }

COPY_NODES(, cj__describe_copy(__func__, params, &copy), const struct cudaMemcpy3DParms *params)
COPY_NODES(1D, cj__describe_linear(__func__, to, from, bytes, kind, &copy), void *to, const void *from, size_t bytes,
           enum cudaMemcpyKind kind)
COPY_NODES(ToSymbol,
           describe_symbol(__func__, (symbol_copy){symbol, from, bytes, offset, kind, .to_symbol = true}, &copy),
           const void *symbol, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
COPY_NODES(FromSymbol, describe_symbol(__func__, (symbol_copy){symbol, to, bytes, offset, kind, false}, &copy),
           void *to, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)

// A copy as it was given: an extent counts elements where an array takes part.
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params) {
    CUDA_MEMCPY3D copy;
    REQUIRE(params);
    BEGIN();
    TRY(cuGraphMemcpyNodeGetParams(node, &copy));
    return cj__copy_back(&copy, params);
}

// ---- fills

static CUresult add_fill(ADDED, const struct cudaMemsetParams *params) {
    CUcontext      context = NULL;
    const CUresult result = cuCtxGetCurrent(&context);
    return result ? result
                  : cuGraphAddMemsetNode(node, graph, dependencies, count,
                                         (const CUDA_MEMSET_NODE_PARAMS_v1 *)(const void *)params, context);
}

static CUresult change_fill(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *params) {
    CUcontext      context = NULL;
    const CUresult result = cuCtxGetCurrent(&context);
    return result ? result
                  : cuGraphExecMemsetNodeSetParams(exec, node, (const CUDA_MEMSET_NODE_PARAMS_v1 *)(const void *)params,
                                                   context);
}

PASS(cudaGraphAddMemsetNode, (ADDED, const struct cudaMemsetParams *params),
     add_fill(node, graph, dependencies, count, params))
PASS(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, struct cudaMemsetParams *params),
     cuGraphMemsetNodeGetParams(node, (CUDA_MEMSET_NODE_PARAMS_v1 *)(void *)params))
PASS(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const struct cudaMemsetParams *params),
     cuGraphMemsetNodeSetParams(node, (const CUDA_MEMSET_NODE_PARAMS_v1 *)(const void *)params))
PASS(cudaGraphExecMemsetNodeSetParams,
     (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *params),
     change_fill(exec, node, params))

// ---- the host's functions, child graphs, events, memory, and nothing

PASS(cudaGraphAddHostNode, (ADDED, const struct cudaHostNodeParams *params),
     cuGraphAddHostNode(node, graph, dependencies, count, (const CUDA_HOST_NODE_PARAMS_v1 *)(const void *)params))
PASS(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, struct cudaHostNodeParams *params),
     cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS_v1 *)(void *)params))
PASS(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const struct cudaHostNodeParams *params),
     cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS_v1 *)(const void *)params))
PASS(cudaGraphExecHostNodeSetParams,
     (cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaHostNodeParams *params),
     cuGraphExecHostNodeSetParams(exec, node, (const CUDA_HOST_NODE_PARAMS_v1 *)(const void *)params))

PASS(cudaGraphAddChildGraphNode, (ADDED, cudaGraph_t child),
     cuGraphAddChildGraphNode(node, graph, dependencies, count, child))
PASS(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph),
     cuGraphChildGraphNodeGetGraph(node, graph))
PASS(cudaGraphExecChildGraphNodeSetParams, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child),
     cuGraphExecChildGraphNodeSetParams(exec, node, child))
PASS(cudaGraphAddEmptyNode, (ADDED), cuGraphAddEmptyNode(node, graph, dependencies, count))

PASS(cudaGraphAddEventRecordNode, (ADDED, cudaEvent_t event),
     cuGraphAddEventRecordNode(node, graph, dependencies, count, event))
PASS(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event),
     cuGraphEventRecordNodeGetEvent(node, event))
PASS(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
     cuGraphEventRecordNodeSetEvent(node, event))
PASS(cudaGraphExecEventRecordNodeSetEvent, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
     cuGraphExecEventRecordNodeSetEvent(exec, node, event))
PASS(cudaGraphAddEventWaitNode, (ADDED, cudaEvent_t event),
     cuGraphAddEventWaitNode(node, graph, dependencies, count, event))
PASS(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event),
     cuGraphEventWaitNodeGetEvent(node, event))
PASS(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
     cuGraphEventWaitNodeSetEvent(node, event))
PASS(cudaGraphExecEventWaitNodeSetEvent, (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
     cuGraphExecEventWaitNodeSetEvent(exec, node, event))

PASS(cudaGraphAddMemAllocNode, (ADDED, struct cudaMemAllocNodeParams *params),
     cuGraphAddMemAllocNode(node, graph, dependencies, count, (CUDA_MEM_ALLOC_NODE_PARAMS_v1 *)(void *)params))
PASS(cudaGraphMemAllocNodeGetParams, (cudaGraphNode_t node, struct cudaMemAllocNodeParams *params),
     cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS_v1 *)(void *)params))
PASS(cudaGraphAddMemFreeNode, (ADDED, void *memory),
     cuGraphAddMemFreeNode(node, graph, dependencies, count, cj__address(memory)))
PASS(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *memory),
     cuGraphMemFreeNodeGetParams(node, (CUdeviceptr *)memory))

// ---- nodes of a type that their parameters name

_Static_assert(sizeof(struct cudaGraphNodeParams) == sizeof(CUgraphNodeParams) &&
                   (int)cudaGraphNodeTypeConditional == (int)CU_GRAPH_NODE_TYPE_CONDITIONAL,
               "the parameters of nodes are as long, and their types have the driver's numbers");

// Only those of kernels, copies, fills and conditional nodes differ from the driver's.
static cudaError_t node_params(const char *call, const struct cudaGraphNodeParams *given, CUgraphNodeParams *made) {
    if (!given) return cj__refuse(call, cudaErrorInvalidValue, "the parameters are NULL");
    memcpy(made, given, sizeof *made);
    CUcontext context = NULL;
    TRY(cuCtxGetCurrent(&context));
    if (given->type == cudaGraphNodeTypeKernel) {
        struct cudaKernelNodeParams kernel;
        _Static_assert(sizeof kernel == sizeof given->kernel, "version 2 only has another alignment");
        memcpy(&kernel, &given->kernel, sizeof kernel);
        memset(&made->kernel, 0, sizeof made->kernel);
        return kernel_params(call, &kernel, (CUDA_KERNEL_NODE_PARAMS *)(void *)&made->kernel);
    }
    if (given->type == cudaGraphNodeTypeMemcpy) {
        memset(&made->memcpy, 0, sizeof made->memcpy);
        made->memcpy.copyCtx = context;
        return cj__describe_copy(call, &given->memcpy.copyParams, &made->memcpy.copyParams);
    }
    if (given->type == cudaGraphNodeTypeMemset) made->memset.ctx = context;
    if (given->type == cudaGraphNodeTypeConditional) made->conditional.ctx = context;
    return cudaSuccess;
}

// What the driver writes there: an allocation's address, a conditional node's graphs.
static void node_results(const CUgraphNodeParams *made, struct cudaGraphNodeParams *given) {
    if (given->type == cudaGraphNodeTypeMemAlloc)
        memcpy(&given->alloc.dptr, &made->alloc.dptr, sizeof given->alloc.dptr);
    if (given->type == cudaGraphNodeTypeConditional) given->conditional.phGraph_out = made->conditional.phGraph_out;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                             const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *params) {
    CUgraphNodeParams driver;
    BEGIN();
    CHECK(node_params(__func__, params, &driver));
    TRY(cuGraphAddNode(node, graph, dependencies, (const CUgraphEdgeData *)(const void *)edges, count, &driver));
    node_results(&driver, params);
    return cudaSuccess;
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    CUgraphNodeParams driver;
    BEGIN();
    CHECK(node_params(__func__, params, &driver));
    return cj__result(cuGraphNodeSetParams(node, &driver));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    CUgraphNodeParams driver;
    BEGIN();
    CHECK(node_params(__func__, params, &driver));
    return cj__result(cuGraphExecNodeSetParams(exec, node, &driver));
}
