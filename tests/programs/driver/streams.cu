// SPDX-License-Identifier: Apache-2.0
// The block's sum by halves.
extern "C" __global__ void block_sum(const int *x, int *sums) {
    __shared__ int part[256];
    part[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];  // found here
#ifndef FAULT
        __syncthreads();
#endif
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];  // found here
}
