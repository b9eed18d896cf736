// SPDX-License-Identifier: Apache-2.0
// Variables by their symbols, managed memory, a struct by value, memory in the order of a stream. The fault: the last element reads
// after the end of its array.
#include "check.h"

struct window {
    int first, count;
};

__constant__ float weights[3];
__device__ int     calls;
__managed__ int    managed[4] = {1, 2, 3, 4};

__global__ void smooth(const float *x, float *y, window w) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) atomicAdd(&calls, managed[3]);
    if (i >= w.count) return;
    const int at = w.first + i;
#ifdef FAULT
    y[i] = weights[0] * x[at - 1] + weights[1] * x[at] + weights[2] * x[at + 2];  // found here
#else
    y[i] = weights[0] * x[at - 1] + weights[1] * x[at] + weights[2] * x[at + 1];
#endif
}

int main() {
    const int    n = 300;
    const float  host_weights[3] = {1, 2, 1};
    const window w = {1, n - 2};
    float       *x, *y, got[n];
    int          count = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
    CHECK(cudaMemcpyToSymbol(calls, &count, sizeof count));
    CHECK(cudaMallocManaged(&x, n * sizeof *x));
    CHECK(cudaMallocAsync(&y, n * sizeof *y, stream));
    for (int i = 0; i < n; i++) x[i] = (float)i;
    managed[3] = 5;
    smooth<<<3, 100, 0, stream>>>(x, y, w);
    smooth<<<3, 100, 0, stream>>>(x, y, w);
    CHECK(cudaMemcpyAsync(got, y, w.count * sizeof *y, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(y, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < w.count; i++) REQUIRE(got[i] == 4 * (float)(i + 1));
    CHECK(cudaMemcpyFromSymbol(&count, calls, sizeof count));
    REQUIRE(count == 10);
    cudaPointerAttributes about;
    CHECK(cudaPointerGetAttributes(&about, x));
    REQUIRE(about.type == cudaMemoryTypeManaged);
    CHECK(cudaFree(x));
    CHECK(cudaStreamDestroy(stream));
    puts("symbols: passed");
    return 0;
}
