// SPDX-License-Identifier: Apache-2.0
// Work of two streams, ordered by events, captured into a graph that is launched three times. The fault: a barrier is missing in one
// of its kernels.
#include "check.h"

__global__ void scale(float *x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

// The sum of each block of 128.
__global__ void block_sum(const float *x, float *sums) {
    __shared__ float part[128];
    part[threadIdx.x] = x[blockIdx.x * 128 + threadIdx.x];  // found here
#ifndef FAULT
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < 128; i++) sum += part[i];  // found here
        sums[blockIdx.x] = sum;
    }
}

const int n = 512, blocks = n / 128;

// After each launch the sums are those of x, and of 2x.
static void launch_three_times(cudaGraphExec_t exec, cudaStream_t stream, float *host_x, const float *host_sums) {
    for (int launch = 1; launch <= 3; launch++) {
        for (int i = 0; i < n; i++) host_x[i] = (float)(i % 10 * launch);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int b = 0; b < blocks; b++) {
            float sum = 0;
            for (int i = 0; i < 128; i++) sum += host_x[b * 128 + i];
            REQUIRE(host_sums[b] == sum && host_sums[blocks + b] == 2 * sum);
        }
    }
}

int main() {
    float       *x, *sums, *host_x, *host_sums;
    cudaStream_t stream, side;
    cudaEvent_t  loaded, joined;
    CHECK(cudaMallocHost(&host_x, n * sizeof *x));
    CHECK(cudaMallocHost(&host_sums, 2 * blocks * sizeof *sums));
    CHECK(cudaMalloc(&x, n * sizeof *x));
    CHECK(cudaMalloc(&sums, 2 * blocks * sizeof *sums));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&loaded, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));

    cudaGraph_t     graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(x, host_x, n * sizeof *x, cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(loaded, stream));
    CHECK(cudaStreamWaitEvent(side, loaded, 0));
    block_sum<<<blocks, 128, 0, side>>>(x, sums);
    CHECK(cudaEventRecord(joined, side));
    CHECK(cudaStreamWaitEvent(stream, joined, 0));
    CHECK(cudaStreamDestroy(side));
    scale<<<4, 128, 0, stream>>>(x, 2, n);
    block_sum<<<blocks, 128, 0, stream>>>(x, sums + blocks);
    CHECK(cudaMemcpyAsync(host_sums, sums, 2 * blocks * sizeof *sums, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    size_t nodes;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    REQUIRE(nodes == 5);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    launch_three_times(exec, stream, host_x, host_sums);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(loaded));
    CHECK(cudaEventDestroy(joined));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(sums));
    CHECK(cudaFreeHost(host_x));
    CHECK(cudaFreeHost(host_sums));
    puts("capture: passed");
    return 0;
}
