// SPDX-License-Identifier: Apache-2.0
// Each thread waits for its own copies and then reads what another thread has copied, without a barrier. On a GPU it reads
// old values, sometimes.
#include <cuda/pipeline>

extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out, const unsigned *in) {
    __shared__ unsigned tile[64];
    cuda::pipeline<cuda::thread_scope_thread> pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof *in, pipe);  // !found
    pipe.producer_commit();
    pipe.consumer_wait();
#ifdef FIXED
    __syncthreads();
#endif
    out[threadIdx.x] = tile[threadIdx.x ^ 32];  // !found
    pipe.consumer_release();
}
