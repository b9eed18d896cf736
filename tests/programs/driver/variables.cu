// SPDX-License-Identifier: Apache-2.0
extern "C" {
__constant__ float coefficients[4];
__device__ int     calls = 40;
__device__ float   table[64];

// A polynomial of each element of the table, by Horner's rule; the block's sum goes to calls' neighbour in time.
__global__ void evaluate(float *out) {
    __shared__ float values[64];
    const float      x = table[threadIdx.x];
    float            y = 0;
    for (int k = 3; k >= 0; k--) y = y * x + coefficients[k];
    values[threadIdx.x] = y;
#ifndef FAULT
    __syncthreads();
#endif
    out[threadIdx.x] = values[63 - threadIdx.x];  // found here
    if (threadIdx.x == 0) calls++;
}
}
