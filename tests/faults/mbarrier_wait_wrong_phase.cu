// SPDX-License-Identifier: Apache-2.0
// A loop keeps the state of its first arrival, and waits for that phase in every round. The wait of the third round names a
// phase that is neither the running one nor the one before: on a GPU its answer is undefined.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out) {
    __shared__ uint64_t round;
    if (threadIdx.x == 0) ptx::mbarrier_init(&round, 64);
    __syncthreads();
    uint64_t state = 0;
    unsigned i = 0;
    for (; i < 4; i++) {
        const uint64_t arrived = ptx::mbarrier_arrive(&round);
#ifdef FIXED
        state = arrived;
#else
        if (i == 0) state = arrived;
#endif
        while (!ptx::mbarrier_try_wait(&round, state)) {}  // !found
        __syncthreads();
    }
    out[threadIdx.x] = i;
}
