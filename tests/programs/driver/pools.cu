// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void increment(int *x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i]++;  // found here
}
