// SPDX-License-Identifier: Apache-2.0
// Two copies of 128 bytes signal an mbarrier that expects 128 bytes: the phase completes with the first copy. On a GPU
// threads read the other half before it has arrived, sometimes.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

#ifdef FIXED
constexpr unsigned expected = 256;
#else
constexpr unsigned expected = 128;
#endif

extern "C" __global__ void __launch_bounds__(64) kernel(unsigned *out, const unsigned *in) {
    __shared__ alignas(16) unsigned tile[64];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, expected);  // !found
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, 128, &full);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile + 32, in + 32, 128, &full);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
    out[threadIdx.x] = tile[threadIdx.x];
}
