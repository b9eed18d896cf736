// SPDX-License-Identifier: Apache-2.0
// A block writes into its neighbour's shared memory before the neighbour has certainly started. On a GPU the launch fails,
// or the write is lost.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
    cg::cluster_group cluster = cg::this_cluster();
#ifdef FIXED
    cluster.sync();
#endif
    cluster.map_shared_rank(tile, cluster.block_rank() ^ 1)[threadIdx.x] = cluster.block_rank();  // !found
    cluster.sync();
    if (cluster.block_rank() == 0) out[threadIdx.x] = tile[threadIdx.x];
}
