// SPDX-License-Identifier: Apache-2.0
// What a block is: rank and size, the cluster's place in the grid and the block's in its cluster, in 1 to 3 dimensions.
// run: rank_and_size --grid 4 --block 32 --cluster 4 --arg u32[4]=zeros --print 0
// prints: 4 65540 131076 196612
// run: rank_and_size --grid 16 --block 32 --cluster 16 --arg u32[16]=zeros --print 0:3
// prints: 16 65552 131088
// run: rank_and_size --grid 6 --block 32 --cluster 4 --arg u32[6]=zeros
// refuses: cluster-grid-multiple
// run: places --grid 4,4,2 --block 4,2 --cluster 2,1,2 --arg u32[384]=zeros --print 0:24
// prints: 0 0 0 0 0 0 2 1 2 2 4 1 0 0 0 1 0 0 2 1 2 2 4 1
// run: declared --grid 4,3 --block 8 --arg u32[12]=zeros --print 0
// prints: 2 102 2 102 2 102 2 102 2 102 2 102
// run: declared --grid 4,3 --block 8 --cluster 1,3 --arg u32[12]=zeros
// refuses: cluster-required
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ unsigned block_in_grid() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }

extern "C" __global__ void rank_and_size(unsigned *out) {
    if (threadIdx.x == 0) out[blockIdx.x] = __clusterRelativeBlockRank() << 16 | __clusterSizeInBlocks();
}

// Twelve numbers a block: the cluster's place, the block's in it, the cluster's dimensions, and clusters in the grid.
extern "C" __global__ void places(unsigned *out) {
    if (threadIdx.x || threadIdx.y) return;
    const dim3 of[4] = {__clusterIdx(), __clusterRelativeBlockIdx(), __clusterDim(), __clusterGridDimInClusters()};
    for (unsigned i = 0; i < 4; i++) {
        out[block_in_grid() * 12 + i * 3] = of[i].x;
        out[block_in_grid() * 12 + i * 3 + 1] = of[i].y;
        out[block_in_grid() * 12 + i * 3 + 2] = of[i].z;
    }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) declared(unsigned *out) {
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) out[block_in_grid()] = cluster.block_rank() * 100 + cluster.num_blocks();
}
