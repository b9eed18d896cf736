// SPDX-License-Identifier: Apache-2.0
// Halo exchange: each block reads its right neighbour's slots, arriving early and waiting late.
// run: halo --grid 4 --block 4 --arg u32[16]=zeros --print 0
// prints: 1000 1001 1002 1003 2000 2001 2002 2003 3000 3001 3002 3003 0 1 2 3
// run: halo --grid 8 --block 256 --arg u32[2048]=zeros --print 0:3
// prints: 1000 1001 1002
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
