// SPDX-License-Identifier: Apache-2.0
// Every thread initializes the barrier, not one of them. On a GPU a late initialization takes back arrivals that have been
// counted: the kernel hangs, sometimes.
#include <cuda/barrier>

extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> round;
#ifdef FIXED
    if (threadIdx.x == 0)
#endif
        init(&round, 64);  // !found
    __syncthreads();
    round.arrive_and_wait();
    out[threadIdx.x] = threadIdx.x;
}
