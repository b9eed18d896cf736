// SPDX-License-Identifier: Apache-2.0
// A relaxed arrive at the cluster barrier publishes nothing, but the neighbour reads what was written before it. On a GPU
// it may read the old value.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
    const unsigned rank = ptx::get_sreg_cluster_ctarank();
    tile[threadIdx.x] = threadIdx.x;  // !found
#ifdef FIXED
    ptx::barrier_cluster_arrive(ptx::sem_release);
#else
    ptx::barrier_cluster_arrive(ptx::sem_relaxed);
#endif
    ptx::barrier_cluster_wait();
    const unsigned *peer = static_cast<unsigned *>(__cluster_map_shared_rank(tile, rank ^ 1));
    const unsigned value = peer[threadIdx.x];  // !found
    if (rank == 0) out[threadIdx.x] = value;
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}
