// SPDX-License-Identifier: Apache-2.0
// Rank 1 loads at the address of rank 0's array. A generic address of shared memory means the loading block's own array, so
// on a GPU rank 1 silently reads its own shared memory, which nothing has written.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
    cg::cluster_group cluster = cg::this_cluster();
    if (cluster.block_rank() == 0) tile[threadIdx.x] = threadIdx.x;
    cluster.sync();
#ifdef FIXED
    const unsigned *from = cluster.map_shared_rank(tile, 0);
#else
    const unsigned *from = tile;
#endif
    if (cluster.block_rank() == 1) out[threadIdx.x] = from[threadIdx.x];  // !found
    cluster.sync();
}
