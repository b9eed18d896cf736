// SPDX-License-Identifier: Apache-2.0
// Halo exchange: each block reads its right neighbour's slots, arriving early and waiting late.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(4, 1, 1) halo(unsigned *out) {
    __shared__ unsigned slot[256];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), thread = threadIdx.x;
    slot[thread] = rank * 1000 + thread;
    auto token = cluster.barrier_arrive();
    unsigned next = (rank + 1) % cluster.num_blocks();
    cluster.barrier_wait(static_cast<decltype(token) &&>(token));
    out[blockIdx.x * blockDim.x + thread] = cluster.map_shared_rank(slot, next)[thread];
    cluster.sync();
}
