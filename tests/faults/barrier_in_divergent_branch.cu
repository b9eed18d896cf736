// SPDX-License-Identifier: Apache-2.0
// Half of a warp executes one __syncthreads, the other half another one. On a GPU the warp hangs, or both halves wait at the
// wrong barrier.
extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out) {
#ifdef FIXED
    __syncthreads();
#else
    if (threadIdx.x < 16) {
        __syncthreads();  // !found
        out[threadIdx.x] = 0;
    } else {
        __syncthreads();  // !found
    }
#endif
    out[threadIdx.x] = threadIdx.x;
}
