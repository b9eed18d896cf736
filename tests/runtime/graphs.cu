// SPDX-License-Identifier: Apache-2.0
// Graphs: captured, built of nodes of each type, changed, cloned, launched.
#include "check.cuh"

__device__ int variable[4];

__global__ void add(int *to, int value) { *to += value; }
__global__ void triple(int *to) { *to *= 3; }

static int *p;

static void captured() {
    cudaStream_t            stream = nullptr, other = nullptr;
    cudaEvent_t             forked = nullptr, joined = nullptr;
    cudaGraph_t             graph = nullptr;
    cudaGraphExec_t         exec = nullptr;
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    size_t                  nodes = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));
    OK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    OK(cudaMemset(p, 0, 4));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaStreamIsCapturing(stream, &status));
    IS(status == cudaStreamCaptureStatusActive);
    add<<<1, 1, 0, stream>>>(p, 2);
    OK(cudaEventRecord(forked, stream));
    OK(cudaStreamWaitEvent(other, forked, 0));
    add<<<1, 1, 0, other>>>(p + 1, 5);
    OK(cudaEventRecord(joined, other));
    triple<<<1, 1, 0, stream>>>(p);
    OK(cudaStreamWaitEvent(stream, joined, 0));
    OK(cudaMemcpyAsync(p + 2, p, 4, cudaMemcpyDeviceToDevice, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    IS(to_host(p, 1)[0] == 0);  // nothing has run
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    IS(nodes == 4);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaMemset(p, 0, 12));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    IS(to_host(p, 3) == (std::vector<int>{24, 10, 24}));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    EXPECT(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaEventDestroy(forked));
    OK(cudaEventDestroy(joined));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

static void count_up(void *user) { ++*(int *)user; }

// The node of a clone that `copy` became: it copies to `back`.
static void check_clone(cudaGraph_t clone, cudaGraphNode_t copy, const int *back) {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    cudaGraphNode_t   same = nullptr;
    OK(cudaGraphNodeFindInClone(&same, copy, clone));
    OK(cudaGraphNodeGetType(same, &type));
    IS(type == cudaGraphNodeTypeMemcpy);
    cudaMemcpy3DParms params;
    OK(cudaGraphMemcpyNodeGetParams(same, &params));
    IS(params.dstPtr.ptr == back && params.extent.width == 4 && params.kind == cudaMemcpyDeviceToHost);
    OK(cudaGraphDestroy(clone));
}

static void refused(cudaGraph_t graph, cudaGraphNode_t first, cudaGraphNode_t second, cudaKernelNodeParams kernel) {
    cudaGraphNode_t node = nullptr;
    kernel.func = (void *)refused;
    EXPECT(cudaErrorInvalidDeviceFunction, cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, nullptr, p, 4, cudaMemcpyDefault));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
}

static void built_of_nodes() {
    cudaGraph_t     graph = nullptr, clone = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaGraphNode_t fill = nullptr, first = nullptr, second = nullptr, copy = nullptr, host = nullptr, to = nullptr;
    int             five = 5, called = 0, back = 0, table[4] = {0, 0, 0, 9};
    size_t          count = 0;
    OK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams zero = {};
    zero.dst = p;
    zero.elementSize = 4;
    zero.width = 1;
    zero.height = 1;
    OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
    void                *arguments[] = {&p, &five}, *second_arguments[] = {&p};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)add;
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&first, graph, &fill, 1, &kernel));
    kernel.func = (void *)triple;
    kernel.kernelParams = second_arguments;
    OK(cudaGraphAddKernelNode(&second, graph, &first, 1, &kernel));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &second, 1, &back, p, 4, cudaMemcpyDeviceToHost));
    OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, variable, table + 3, 4, 8, cudaMemcpyHostToDevice));
    cudaHostNodeParams function = {count_up, &called};
    OK(cudaGraphAddHostNode(&host, graph, &copy, 1, &function));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
    IS(count == 4);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    IS(back == 15 && called == 1);
    OK(cudaMemcpyFromSymbol(table, variable, 16));
    IS(table[2] == 9);

    OK(cudaGraphKernelNodeGetParams(first, &kernel));
    IS(kernel.func == (void *)add && kernel.gridDim.x == 1);
    int seven = 7;
    arguments[1] = &seven;
    kernel.kernelParams = arguments;
    OK(cudaGraphExecKernelNodeSetParams(exec, first, &kernel));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    IS(back == 21 && called == 2);
    OK(cudaGraphExecDestroy(exec));
    check_clone(clone, copy, &back);
    refused(graph, first, second, kernel);
    OK(cudaGraphDestroy(graph));
}

static void with_children_and_types() {
    cudaGraph_t         graph = nullptr, child = nullptr;
    cudaGraphExec_t     exec = nullptr;
    cudaGraphNode_t     node = nullptr, inner = nullptr;
    cudaGraphNodeParams params = {};
    int                 one = 1;
    void               *arguments[] = {&p, &one};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&child, 0));
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)add;
    params.kernel.gridDim = params.kernel.blockDim = dim3(1);
    params.kernel.kernelParams = arguments;
    OK(cudaGraphAddNode(&inner, child, nullptr, nullptr, 0, &params));
    OK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
    OK(cudaGraphAddChildGraphNode(&node, graph, &node, 1, child));
    OK(cudaMemset(p, 0, 4));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaDeviceSynchronize());
    IS(to_host(p, 1)[0] == 2);
    cudaGraphExecUpdateResultInfo result;
    OK(cudaGraphExecUpdate(exec, graph, &result));
    IS(result.result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphCreate(nullptr, 0));
}

int main() {
    p = to_device<int>({0, 0, 0, 0});
    captured();
    built_of_nodes();
    with_children_and_types();
    OK(cudaFree(p));
    return report();
}
