// SPDX-License-Identifier: Apache-2.0
// The threads read what asynchronous copies bring without waiting for them: __syncthreads does not. On a GPU they read old
// values.
#include <cuda_pipeline.h>

extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out, const unsigned *in) {
    __shared__ unsigned tile[32];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof *in);  // !found
    __pipeline_commit();
#ifdef FIXED
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];  // !found
}
