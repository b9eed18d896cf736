// SPDX-License-Identifier: Apache-2.0
// A block reads its neighbour's shared memory before the neighbour has certainly written it: __syncthreads waits for the
// block, not for the cluster. On a GPU it reads the old value, sometimes.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(32) kernel(unsigned *out) {
    __shared__ unsigned tile[32];
    cg::cluster_group cluster = cg::this_cluster();
    tile[threadIdx.x] = 0;
    cluster.sync();
    tile[threadIdx.x] = threadIdx.x;  // !found
#ifdef FIXED
    cluster.sync();
#else
    __syncthreads();
#endif
    const unsigned value = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1)[threadIdx.x];  // !found
    if (cluster.block_rank() == 0) out[threadIdx.x] = value;
    cluster.sync();
}
