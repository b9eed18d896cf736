// SPDX-License-Identifier: Apache-2.0
// Graphs, executable graphs and user objects, which are the driver's.
#include "runtime.h"

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) &&
                   sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo) &&
                   sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData),
               "the structures of graphs are the driver's");

#define EDGES(edges) ((CUgraphEdgeData *)(void *)(edges))
#define READ_EDGES(edges) ((const CUgraphEdgeData *)(const void *)(edges))

// ---- graphs

PASS(cudaGraphCreate, (cudaGraph_t * graph, unsigned flags), cuGraphCreate(graph, flags))
PASS(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy(graph))
PASS(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), cuGraphClone(clone, graph))
PASS(cudaGraphNodeFindInClone, (cudaGraphNode_t * found, cudaGraphNode_t node, cudaGraph_t clone),
     cuGraphNodeFindInClone(found, node, clone))
PASS(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
     cuGraphGetNodes(graph, nodes, count))
PASS(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
     cuGraphGetRootNodes(graph, nodes, count))
PASS(cudaGraphGetEdges,
     (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges, size_t *count),
     cuGraphGetEdges(graph, from, to, EDGES(edges), count))
PASS(cudaGraphAddDependencies,
     (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
      size_t count),
     cuGraphAddDependencies(graph, from, to, READ_EDGES(edges), count))
PASS(cudaGraphRemoveDependencies,
     (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
      size_t count),
     cuGraphRemoveDependencies(graph, from, to, READ_EDGES(edges), count))
PASS(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *file, unsigned flags),
     cuGraphDebugDotPrint(graph, file, flags))

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned value,
                                             unsigned flags) {
    CUcontext context = NULL;
    BEGIN();
    TRY(cuCtxGetCurrent(&context));
    return cj__result(cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, graph, context, value, flags));
}

// ---- nodes, whatever their type

PASS(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
     cuGraphNodeGetType(node, (CUgraphNodeType *)type))
PASS(cudaGraphNodeGetDependencies,
     (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count),
     cuGraphNodeGetDependencies(node, nodes, EDGES(edges), count))
PASS(cudaGraphNodeGetDependentNodes,
     (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count),
     cuGraphNodeGetDependentNodes(node, nodes, EDGES(edges), count))
PASS(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode(node))
PASS(cudaGraphNodeSetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled),
     cuGraphNodeSetEnabled(exec, node, enabled))
PASS(cudaGraphNodeGetEnabled, (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *enabled),
     cuGraphNodeGetEnabled(exec, node, enabled))

// ---- executable graphs

PASS(cudaGraphInstantiate, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
     cuGraphInstantiateWithFlags(exec, graph, flags))
PASS(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
     cuGraphInstantiateWithFlags(exec, graph, flags))
PASS(cudaGraphInstantiateWithParams, (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
     cuGraphInstantiateWithParams(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)params))
PASS(cudaGraphInstantiateWithParams_ptsz,
     (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
     cuGraphInstantiateWithParams(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)(void *)params))
PASS(cudaGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long *flags),
     cuGraphExecGetFlags(exec, (cuuint64_t *)flags))
PASS(cudaGraphExecUpdate, (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
     cuGraphExecUpdate(exec, graph, (CUgraphExecUpdateResultInfo *)(void *)info))
PASS(cudaGraphExecDestroy, (cudaGraphExec_t exec), cuGraphExecDestroy(exec))
PASS_STREAM(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphUpload(exec, stream))
PASS_STREAM(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphLaunch(exec, stream))

// ---- memory of graphs

PASS(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim(device))
PASS(cudaDeviceGetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attribute, void *value),
     cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value))
PASS(cudaDeviceSetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attribute, void *value),
     cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value))

// ---- user objects

PASS(cudaUserObjectCreate,
     (cudaUserObject_t * object, void *data, cudaHostFn_t destroy, unsigned count, unsigned flags),
     cuUserObjectCreate(object, data, destroy, count, flags))
PASS(cudaUserObjectRetain, (cudaUserObject_t object, unsigned count), cuUserObjectRetain(object, count))
PASS(cudaUserObjectRelease, (cudaUserObject_t object, unsigned count), cuUserObjectRelease(object, count))
PASS(cudaGraphRetainUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
     cuGraphRetainUserObject(graph, object, count, flags))
PASS(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned count),
     cuGraphReleaseUserObject(graph, object, count))
