// SPDX-License-Identifier: Apache-2.0
// A thread reads what a thread of another warp has written, without __syncthreads. On a GPU it reads the old value,
// sometimes.
extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out) {
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = threadIdx.x;  // !found
#ifdef FIXED
    __syncthreads();
#endif
    out[threadIdx.x] = tile[threadIdx.x ^ 32];  // !found
}
