// SPDX-License-Identifier: Apache-2.0
// The mbarrier expects 256 bytes, but the copy brings 128. Its phase never completes:
// the kernel hangs.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

#ifdef FIXED
constexpr unsigned expected = 128;
#else
constexpr unsigned expected = 256;
#endif

extern "C" __global__ void __launch_bounds__(32) kernel(unsigned *out, const unsigned *in) {
    __shared__ alignas(16) unsigned tile[32];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, expected);  // !found
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &full);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
    out[threadIdx.x] = tile[threadIdx.x];
}
