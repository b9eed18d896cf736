// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void scale(float *x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

// Rotates the block's part of x by one place.
extern "C" __global__ void rotate(float *x) {
    const int   first = blockIdx.x * blockDim.x;
    const float mine = x[first + threadIdx.x];  // found here
#ifndef FAULT
    __syncthreads();
#endif
    x[first + (threadIdx.x + 1) % blockDim.x] = mine;  // found here
}
