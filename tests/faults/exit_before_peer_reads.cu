// SPDX-License-Identifier: Apache-2.0
// A block may exit while its neighbour still reads its shared memory: the cluster barrier at the end is missing. On a GPU
// the launch fails (719), or the neighbour reads what the next block on that SM has written.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
    cg::cluster_group cluster = cg::this_cluster();
    tile[threadIdx.x] = threadIdx.x;
    cluster.sync();
    const unsigned *peer = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);
    const unsigned value = peer[threadIdx.x];  // !found
    if (cluster.block_rank() == 0) out[threadIdx.x] = value;
#ifdef FIXED
    cluster.sync();
#endif
}
