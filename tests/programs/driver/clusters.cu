// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Each block sums its part in shared memory; the cluster's first block adds the sums of its peers.
extern "C" __global__ void cluster_sum(const int *x, int *sums, int per_block) {
    __shared__ int    part;
    cg::cluster_group cluster = cg::this_cluster();
    const int        *from = x + blockIdx.x * per_block;
    if (threadIdx.x == 0) part = 0;
    __syncthreads();
    int sum = 0;
    for (int i = threadIdx.x; i < per_block; i += blockDim.x) sum += from[i];
    atomicAdd(&part, sum);
#ifndef FAULT
    cluster.sync();
#endif
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        int total = 0;
        for (unsigned r = 0; r < cluster.num_blocks(); r++) total += *cluster.map_shared_rank(&part, r);  // found here
        sums[blockIdx.x / cluster.num_blocks()] = total;
    }
    cluster.sync();
}
