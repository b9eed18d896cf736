// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <typename T>
__global__ void cluster_sum(const T *x, T *sums) {
    __shared__ T part[64];
    auto         cluster = cg::this_cluster();
    part[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
#ifndef FAULT
    cluster.sync();
#endif
    if (cluster.block_rank() == 0) {
        T sum = 0;
        for (unsigned r = 0; r < cluster.num_blocks(); r++) sum += cluster.map_shared_rank(part, r)[threadIdx.x];  // found here
        sums[blockIdx.x / cluster.num_blocks() * 64 + threadIdx.x] = sum;
    }
    cluster.sync();
}
