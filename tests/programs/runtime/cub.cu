// SPDX-License-Identifier: Apache-2.0
// CUB's device-wide sum, and its block-wide one in a kernel of ours. The fault: the block-wide sum's memory is used again without
// a barrier.
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_reduce.cuh>
#include <vector>

#include "check.h"

// The sums of x and of x * x, of each block.
__global__ void sums(const int *x, int *out) {
    using block_reduce = cub::BlockReduce<int, 128>;
    __shared__ typename block_reduce::TempStorage memory;
    const int                                     mine = x[blockIdx.x * 128 + threadIdx.x];
    const int                                     sum = block_reduce(memory).Sum(mine);  // found here
#ifndef FAULT
    __syncthreads();
#endif
    const int squares = block_reduce(memory).Sum(mine * mine);  // found here
    if (threadIdx.x == 0) out[2 * blockIdx.x] = sum, out[2 * blockIdx.x + 1] = squares;
}

int main() {
    const int        n = 1024, blocks = n / 128;
    std::vector<int> x(n), got(2 * blocks);
    int             *in, *out, *total, all = 0, want = 0;
    size_t           bytes = 0;
    void            *memory = nullptr;
    for (int i = 0; i < n; i++) want += x[i] = i % 31;
    CHECK(cudaMalloc(&in, n * sizeof *in));
    CHECK(cudaMalloc(&out, 2 * blocks * sizeof *out));
    CHECK(cudaMalloc(&total, sizeof *total));
    CHECK(cudaMemcpy(in, x.data(), n * sizeof *in, cudaMemcpyHostToDevice));
    CHECK(cub::DeviceReduce::Sum(memory, bytes, in, total, n));
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cub::DeviceReduce::Sum(memory, bytes, in, total, n));
    CHECK(cudaMemcpy(&all, total, sizeof all, cudaMemcpyDeviceToHost));
    REQUIRE(all == want);

    sums<<<blocks, 128>>>(in, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (int b = 0; b < blocks; b++) {
        int sum = 0, squares = 0;
        for (int i = 0; i < 128; i++) sum += x[b * 128 + i], squares += x[b * 128 + i] * x[b * 128 + i];
        REQUIRE(got[2 * b] == sum && got[2 * b + 1] == squares);
    }
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFree(total));
    CHECK(cudaFree(memory));
    puts("cub: passed");
    return 0;
}
