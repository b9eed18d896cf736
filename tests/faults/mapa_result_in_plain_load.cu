// SPDX-License-Identifier: Apache-2.0
// An address of the neighbour's shared memory is used with plain ld.shared, which reaches the block's own memory only. On a
// GPU the launch fails (719).
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
    cg::cluster_group cluster = cg::this_cluster();
    tile[threadIdx.x] = threadIdx.x;
    cluster.sync();
    const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(&tile[threadIdx.x]));
    unsigned       peer, value;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(own), "r"(cluster.block_rank() ^ 1));
#ifdef FIXED
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(peer) : "memory");
#else
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(peer) : "memory");  // !found
#endif
    if (cluster.block_rank() == 0) out[threadIdx.x] = value;
    cluster.sync();
}
