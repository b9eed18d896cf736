// SPDX-License-Identifier: Apache-2.0
// Each device sums a part; device 0 gets the parts by copies between devices. The fault: no barrier before the block's sum is read.
#include <vector>

#include "check.h"

__global__ void part_sum(const int *x, int n, int *sum) {
    __shared__ int block;
    if (threadIdx.x == 0) block = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&block, x[i]);
#ifndef FAULT
    __syncthreads();
#endif
    if (threadIdx.x == 0) *sum = block;  // found here
}

int main() {
    int devices, want = 0, got = 0;
    CHECK(cudaGetDeviceCount(&devices));
    REQUIRE(devices >= 2);
    const int          n = 640, each = n / devices;
    std::vector<int>   x(n), parts(devices);
    std::vector<int *> in(devices), sum(devices);
    int               *all;
    for (int i = 0; i < n; i++) x[i] = i % 13;
    for (int i = 0; i < each * devices; i++) want += x[i];
    for (int d = 0; d < devices; d++) {
        cudaDeviceProp about;
        CHECK(cudaSetDevice(d));
        CHECK(cudaGetDeviceProperties(&about, d));
        REQUIRE(about.major >= 9);
        CHECK(cudaMalloc(&in[d], each * sizeof(int)));
        CHECK(cudaMalloc(&sum[d], sizeof(int)));
        CHECK(cudaMemcpy(in[d], &x[d * each], each * sizeof(int), cudaMemcpyHostToDevice));
        part_sum<<<1, 64>>>(in[d], each, sum[d]);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&all, devices * sizeof(int)));
    for (int d = 0; d < devices; d++) CHECK(cudaMemcpyPeer(all + d, 0, sum[d], d, sizeof(int)));
    CHECK(cudaMemcpy(parts.data(), all, devices * sizeof(int), cudaMemcpyDeviceToHost));
    for (int part : parts) got += part;
    REQUIRE(got == want);
    CHECK(cudaFree(all));
    for (int d = 0; d < devices; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaFree(in[d]));
        CHECK(cudaFree(sum[d]));
    }
    puts("devices: passed");
    return 0;
}
