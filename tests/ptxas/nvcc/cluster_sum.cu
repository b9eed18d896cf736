// SPDX-License-Identifier: Apache-2.0
// The sum of a cluster: a tree in each block, then one thread reads its peers' results through distributed shared
// memory.
// run: cluster_sum --grid 4 --block 256 --arg f32[1024]=iota --arg f32[1]=zeros --arg s32=1024 --print 1
// prints: 523776.0
// run: cluster_sum --grid 8 --block 256 --arg f32[2048]=const:1 --arg f32[2]=zeros --arg s32=1500 --print 1
// prints: 1024.0 476.0
// run: cluster_sum --grid 6 --block 256 --arg f32[1536]=iota --arg f32[2]=zeros --arg s32=1536
// refuses: cluster-grid-multiple
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(const float *in, float *out, int n) {
    __shared__ float tree[256];
    cg::cluster_group cluster = cg::this_cluster();
    int               i = blockIdx.x * blockDim.x + threadIdx.x;
    tree[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) tree[threadIdx.x] += tree[threadIdx.x + half];
        __syncthreads();
    }
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float sum = 0;
        for (unsigned rank = 0; rank < cluster.num_blocks(); rank++) sum += *cluster.map_shared_rank(tree, rank);
        out[blockIdx.x / cluster.num_blocks()] = sum;
    }
    cluster.sync();
}
