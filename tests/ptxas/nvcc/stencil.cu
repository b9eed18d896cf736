// SPDX-License-Identifier: Apache-2.0
// A three-point stencil, weights 0.25, 0.5, 0.25 from constant memory: halos from the neighbour blocks of the cluster,
// beyond the cluster from global memory. Bounds for the launch stand in the source.
// run: stencil --grid 6 --block 4 --cluster 2 --arg f32[22]=mod:5:4 --arg f32[22]=zeros --arg s32=22 --print 1
// prints: 1.0 4.0 8.0 12.0 11.0 5.0 4.0 8.0 12.0 11.0 5.0 4.0 8.0 12.0 11.0 5.0 4.0 8.0 12.0 11.0 5.0 2.0
// run: stencil --grid 8 --block 256 --cluster 4 --arg f32[2000]=iota --arg f32[2000]=zeros --arg s32=2000 --print 1:4
// prints: 0.25 1.0 2.0 3.0
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__constant__ float weight[3] = {0.25f, 0.5f, 0.25f};

extern "C" __global__ void __launch_bounds__(256, 2) stencil(const float *__restrict__ in, float *__restrict__ out,
                                                             int n) {
    __shared__ float tile[256];
    cg::cluster_group cluster = cg::this_cluster();
    int  i = blockIdx.x * blockDim.x + threadIdx.x, rank = cluster.block_rank(), last = cluster.num_blocks() - 1;
    tile[threadIdx.x] = i < n ? in[i] : 0.0f;
    cluster.sync();
    float left = 0, right = 0;
    if (threadIdx.x > 0) left = tile[threadIdx.x - 1];
    else if (rank > 0) left = cluster.map_shared_rank(tile, rank - 1)[blockDim.x - 1];
    else if (i > 0 && i <= n) left = in[i - 1];
    if (threadIdx.x < blockDim.x - 1) right = tile[threadIdx.x + 1];
    else if (rank < last) right = cluster.map_shared_rank(tile, rank + 1)[0];
    else if (i + 1 < n) right = in[i + 1];
    cluster.sync();
    if (i < n) out[i] = weight[0] * left + weight[1] * tile[threadIdx.x] + weight[2] * right;
}
