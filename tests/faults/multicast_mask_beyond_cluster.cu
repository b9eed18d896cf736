// SPDX-License-Identifier: Apache-2.0
// The multicast mask names four ranks, but the cluster has two. On a GPU the copy stops the launch with an error, or hangs
// it.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

#ifdef FIXED
constexpr uint16_t mask = 0b11;
#else
constexpr uint16_t mask = 0b1111;
#endif

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out, const unsigned *in) {
    __shared__ alignas(16) unsigned tile[32];
    __shared__ uint64_t full;
    const unsigned rank = ptx::get_sreg_cluster_ctarank();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof tile);
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    if (rank == 0 && threadIdx.x == 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &full, mask);  // !found
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &full, 0)) {}
    out[rank * 32 + threadIdx.x] = tile[threadIdx.x];
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}
