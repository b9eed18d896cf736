// SPDX-License-Identifier: Apache-2.0
// Rank 1 arrives at the mbarrier of rank 0 after a relaxed cluster barrier: without fence.mbarrier_init it need not see the
// initialization. On a GPU the arrival may be lost, and rank 0 hangs, once in many launches.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ uint64_t ready;
    const unsigned rank = ptx::get_sreg_cluster_ctarank();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&ready, 32);  // !found
#ifdef FIXED
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
#endif
    }
    ptx::barrier_cluster_arrive(ptx::sem_relaxed);
    ptx::barrier_cluster_wait();
    if (rank == 1) {
        uint64_t *remote = static_cast<uint64_t *>(__cluster_map_shared_rank(&ready, 0));
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, remote);  // !found
    } else {
        while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &ready, 0)) {}  // !found
        out[threadIdx.x] = threadIdx.x;
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}
