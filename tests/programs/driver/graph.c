// SPDX-License-Identifier: Apache-2.0
// A graph made of nodes: memset and copy in, kernels, a host function, copy out; launched twice, then with other parameters. The
// fault: no barrier between a read and a write.
#include "drv.h"

enum { BLOCK = 64, N = 4 * BLOCK };

static void CUDA_CB count(void *user) { ++*(int *)user; }

static CUgraphNode add_kernel(CUgraph graph, CUgraphNode after, CUDA_KERNEL_NODE_PARAMS *k) {
    CUgraphNode node;
    CHECK(cuGraphAddKernelNode(&node, graph, &after, 1, k));
    return node;
}

static void check(const float *x, float by) {
    for (int i = 0; i < N; i++) {
        const int first = i / BLOCK * BLOCK, from = first + (i - first + BLOCK - 1) % BLOCK;
        REQUIRE(x[i] == by * (float)from);
    }
}

static CUfunction kernel_of(CUmodule module, const char *name) {
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

static float in[N], out[N];

// The node that scales is *scaled, with the parameters *first.
static CUgraph build(CUmodule module, CUcontext context, CUdeviceptr *x, CUDA_KERNEL_NODE_PARAMS *first, CUgraphNode *scaled,
                     int *called) {
    CUgraph                graph;
    CUgraphNode            clear, load, rotated, store, told;
    CUDA_MEMSET_NODE_PARAMS zeros = {.dst = *x, .value = 0, .elementSize = 4, .width = N, .height = 1};
    CUDA_MEMCPY3D          up = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = *x, .WidthInBytes = sizeof in, .Height = 1, .Depth = 1};
    CUDA_MEMCPY3D          down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = *x, .dstMemoryType = CU_MEMORYTYPE_HOST,
                                   .dstHost = out, .WidthInBytes = sizeof out, .Height = 1, .Depth = 1};
    void                   *rotate_args[] = {x};
    CUDA_KERNEL_NODE_PARAMS second = *first;
    CUDA_HOST_NODE_PARAMS   call = {.fn = count, .userData = called};
    second.func = kernel_of(module, "rotate");
    second.kernelParams = rotate_args;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemsetNode(&clear, graph, NULL, 0, &zeros, context));
    CHECK(cuGraphAddMemcpyNode(&load, graph, &clear, 1, &up, context));
    *scaled = add_kernel(graph, load, first);
    rotated = add_kernel(graph, *scaled, &second);
    CHECK(cuGraphAddMemcpyNode(&store, graph, &rotated, 1, &down, context));
    CHECK(cuGraphAddHostNode(&told, graph, &store, 1, &call));
    return graph;
}

int main(int argc, char **argv) {
    int       called = 0, n = N;
    float     two = 2, three = 3;
    CUcontext context = open_device(0);
    (void)argc;
    CUmodule    module = load_kernels(argv[0]);
    CUdeviceptr x;
    CUstream    stream;
    CUgraphNode scaled;
    CUgraphExec exec;
    CHECK(cuMemAlloc(&x, sizeof in));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < N; i++) in[i] = (float)i;

    void                   *scale_args[] = {&x, &two, &n};
    CUDA_KERNEL_NODE_PARAMS first = {.func = kernel_of(module, "scale"), .gridDimX = N / BLOCK, .gridDimY = 1, .gridDimZ = 1,
                                     .blockDimX = BLOCK, .blockDimY = 1, .blockDimZ = 1, .kernelParams = scale_args};
    CUgraph                 graph = build(module, context, &x, &first, &scaled, &called);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < 2; launch++) {
        memset(out, 0, sizeof out);
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
        check(out, 2);
    }
    scale_args[1] = &three;
    CHECK(cuGraphExecKernelNodeSetParams(exec, scaled, &first));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    check(out, 3);
    REQUIRE(called == 3);

    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuMemFree(x));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("graph: passed");
    return 0;
}
