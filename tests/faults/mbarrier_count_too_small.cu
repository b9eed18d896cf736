// SPDX-License-Identifier: Apache-2.0
// The barrier counts 32 threads, but all 64 of the block arrive: its phase completes before the other warp has written. On a
// GPU threads read old values, sometimes.
#include <cuda/barrier>

#ifdef FIXED
constexpr int expected = 64;
#else
constexpr int expected = 32;
#endif

extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out) {
    __shared__ unsigned tile[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> round;
    if (threadIdx.x == 0) init(&round, expected);
    __syncthreads();
    tile[threadIdx.x] = threadIdx.x;  // !found
    round.arrive_and_wait();
    out[threadIdx.x] = tile[threadIdx.x ^ 32];  // !found
}
