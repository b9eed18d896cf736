// SPDX-License-Identifier: Apache-2.0
// flags: --default-stream per-thread
// A program whose stream 0 is the thread's own: nvcc calls other functions of the runtime then. Several threads work at once.
#include <thread>

#include "check.cuh"

__device__ int  seen[8];
__global__ void mark(int *p, int which) {
    seen[which] = which + 1;
    for (int i = 0; i < 100; i++) p[threadIdx.x] += which;
}

static void work(int which) {
    int         *p = nullptr, values[32], mine = 0;
    cudaEvent_t  event = nullptr;
    cudaStream_t stream = nullptr;
    OK(cudaMallocAsync(&p, 128, 0));
    OK(cudaMemsetAsync(p, 0, 128, 0));
    mark<<<1, 32>>>(p, which);
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, 0));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamWaitEvent(stream, event, 0));
    OK(cudaMemcpy(values, p, 128, cudaMemcpyDeviceToHost));
    OK(cudaMemcpyFromSymbol(&mine, seen, 4, which * 4));
    IS(values[31] == 100 * which && mine == which + 1);
    cudaGraph_t graph = nullptr;
    OK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    mark<<<1, 32>>>(p, which);
    OK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    size_t nodes = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    IS(nodes == 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeAsync(p, 0));
    OK(cudaStreamSynchronize(0));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) threads.emplace_back(work, i);
    for (std::thread &thread : threads) thread.join();
    return report();
}
