// SPDX-License-Identifier: Apache-2.0
// The other file of separate.cu. `hidden` is a variable of its own in each.
__device__ int        counter;
static __device__ int hidden = 100;

__device__ __noinline__ int scaled(int value) { return value * 2; }

__global__ void other(int *to) { *to = hidden + counter; }
