// SPDX-License-Identifier: Apache-2.0
// A thread of each warp adds to the block's sum, where one thread of the block should: the additions overwrite each other.
// On a GPU the result is wrong, sometimes.
extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out) {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
#ifdef FIXED
    if (threadIdx.x == 0) sum += 64;
#else
    if (threadIdx.x % 32 == 0) sum += 64;  // !found
#endif
    __syncthreads();
    out[threadIdx.x] = sum;
}
