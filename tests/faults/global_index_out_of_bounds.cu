// SPDX-License-Identifier: Apache-2.0
// The buffer has 60 elements, the block 64 threads. On a GPU other data change, or the launch fails (700).
extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out) {
#ifdef FIXED
    if (threadIdx.x >= 60) return;
#endif
    out[threadIdx.x] = threadIdx.x;  // !found
}
