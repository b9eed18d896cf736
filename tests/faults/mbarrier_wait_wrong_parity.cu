// SPDX-License-Identifier: Apache-2.0
// The first wait on a fresh mbarrier asks for parity 1: that is the phase before the first one, and the wait ends at once.
// On a GPU the loads read what was there before the copy.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

#ifdef FIXED
constexpr unsigned parity = 0;
#else
constexpr unsigned parity = 1;
#endif

extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out, const unsigned *in) {
    __shared__ alignas(16) unsigned tile[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &full);  // !found
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, parity)) {}  // !found
    out[threadIdx.x] = tile[threadIdx.x];  // !found
}
